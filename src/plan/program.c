/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A run's programs follow from the purpose for which the session was opened, and from the sizes of
 * its loaders' batches. */
#include "plan/program.h"

#include <string.h>

#include "base/err.h"
#include "comm/comm.h"
#include "plan/physics/physics.h"

bool run_is_export(const struct session *s)
{
	return s->need & SESSION_PREDICT && s->need & SESSION_NO_DATA;
}

/* Whether predictions are of one sample at a time, whatever the batch size. */
static bool predicts_one(const struct session *s)
{
	return run_is_export(s) || s->tiles;
}

/* Where nothing is run, an evaluation is planned without its data too. */
static bool evaluates(const struct session *s)
{
	return s->need & SESSION_EVALUATE &&
	       (s->validation || (!(s->need & SESSION_RUN) && s->config->data.validation.n));
}

static bool predicts(const struct session *s)
{
	return predicts_one(s) || (s->validation && s->need & SESSION_PREDICT);
}

struct loader *program_loader(const struct session *s, const struct program *p)
{
	if (p->mode == PLAN_TRAIN)
		return s->train;
	if (p->mode == PLAN_PREDICT && predicts_one(s))
		return NULL;
	return p->size ? s->size[p->size - 1].loader : s->validation;
}

struct plan_data program_data(const struct session *s, const struct program *p)
{
	struct plan_data d = s->data;
	if (p->mode == PLAN_TRAIN)
		return session_train_data(s, p->size);
	if (p->size == 0)
		return d;
	d.field = s->size[p->size - 1].field;
	if (d.rest[PLAN_EVALUATE])
		d.rest[PLAN_EVALUATE] = loader_rest(program_loader(s, p));
	return d;
}

static void add(struct program *list, int *n, struct program p, int64_t batch, bool short_batch)
{
	if (batch == 0)
		return;
	p.batch = batch;
	p.short_batch = short_batch;
	list[(*n)++] = p;
}

/* Adds the programs of full batches and of a short one. Several ranks always begin with a full
 * batch's training plan, so that all have its buckets of gradients and its layouts: shares of fewer
 * samples differ. */
static void add_both(const struct session *s, const struct run_config *c, struct program p,
                     struct program *list, int *n)
{
	const struct loader *l = program_loader(s, &p);
	const int k = p.mode == PLAN_TRAIN ? p.size : 0;
	const bool micros = c->micros.all && p.mode != PLAN_PREDICT,
	           first = p.mode == PLAN_TRAIN && k == 0;
	struct loader_batch b = { p.mode == PLAN_PREDICT && predicts_one(s) ? 1 : c->train.batch_size,
		0 };
	if (l)
		b = loader_batch_of(l, k, p.mode == PLAN_PREDICT ? c->train.batch_size :
		                    config_rank_batch(c), s->team, s->parts > 1 ? s->nteams : 0);
	p.filled = !l || loader_size(l, k).samples >= b.size * s->nteams;
	const bool full = p.filled || micros || (first && (b.short_batch == 0 || s->nranks > 1));
	const int64_t rest = micros ? b.short_batch % b.size : b.short_batch;
	add(list, n, p, full ? b.size : rest, false);
	add(list, n, p, full && rest != b.size ? rest : 0, true);
}

/* Candidates are scored some rows at a time. */
static void add_scoring(const struct points *p, struct program *list, int *n)
{
	for (int i = 0; i < p->n; i++) {
		const struct program score = { .mode = PLAN_PREDICT, .scored = i + 1, .filled = true };
		if (p->set[i].by)
			add(list, n, score, p->set[i].of < PHYSICS_ROWS ? p->set[i].of : PHYSICS_ROWS, false);
	}
}

static void add_balancing(const struct objectives *o, struct program *list, int *n)
{
	for (int k = 0; k < o->n; k++) {
		const struct program p = { .mode = PLAN_PREDICT, .objective = k, .gradients = true,
			.filled = true };
		if (o->v[k].balance && !o->v[k].continues)
			add(list, n, p, 1, false);
	}
}

int programs_list(const struct session *s, const struct run_config *c,
                  struct program list[PROGRAMS_MOST])
{
	const bool shown = s->compares || (s->need & SESSION_PREDICT && !run_is_export(s));
	const int64_t at = c->physics && shown ? physics_rows(c->physics) : 0;
	const int sizes[PLAN_MODES] = {
		[PLAN_TRAIN] = s->need & SESSION_TRAIN ? 1 + s->ntrain_size : 0,
		[PLAN_EVALUATE] = evaluates(s) ? 1 + s->nsize : 0, [PLAN_PREDICT] = predicts(s) };
	int n = 0;
	for (int mode = 0; mode < PLAN_MODES; mode++)
		for (int o = 0; o < (mode == PLAN_TRAIN ? c->objectives.n : 1); o++)
			for (int k = 0; k < sizes[mode]; k++)
				add_both(s, c, (struct program){ .mode = (enum plan_mode)mode, .objective = o,
				                                 .size = k }, list, &n);
	add(list, &n, (struct program){ .mode = PLAN_PREDICT, .filled = true }, at, false);
	if (c->physics && s->need & SESSION_TRAIN) {
		add_scoring(&c->physics->points, list, &n);
		add_balancing(&c->objectives, list, &n);
	}
	return n;
}

void session_list_programs(struct session *s)
{
	struct program list[PROGRAMS_MOST];
	s->nprogram = programs_list(s, s->config, list);
	s->program = ARENA_ARRAY(s->config->arena, struct program, s->nprogram + 1);
	memcpy(s->program, list, sizeof *list * (size_t)s->nprogram);
}

struct plan *session_plan(const struct session *s, enum plan_mode mode)
{
	for (int i = 0; i < s->nprogram; i++)
		if (s->program[i].mode == mode && !s->program[i].scored && !s->program[i].gradients)
			return s->program[i].plan;
	return NULL;
}

struct plan *session_plan_scoring(const struct session *s, int k)
{
	int i = 0;
	while (s->program[i].scored != k + 1)
		BUG_IF(++i == s->nprogram, "no plan scores set %d", k);
	return s->program[i].plan;
}

struct plan *session_plan_balancing(const struct session *s, int k)
{
	int i = 0;
	while (!s->program[i].gradients || s->program[i].objective != k)
		BUG_IF(++i == s->nprogram, "no plan balances objective %d", k);
	return s->program[i].plan;
}

struct plan *session_plan_of_size(const struct session *s, enum plan_mode mode, int size)
{
	for (int i = 0; i < s->nprogram; i++)
		if (s->program[i].mode == mode && s->program[i].size == size && s->program[i].plan)
			return s->program[i].plan;
	return NULL;
}

struct plan *session_plan_for(const struct session *s, enum plan_mode mode, int objective, int size,
                              int64_t n)
{
	for (int i = 0; i < s->nprogram; i++) {
		const struct program *p = &s->program[i];
		if (p->plan && p->mode == mode && p->objective == objective && p->size == size &&
		    p->batch == n)
			return p->plan;
	}
	BUG("no plan for a batch of %lld", (long long)n);
}
