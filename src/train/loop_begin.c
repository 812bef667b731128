/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Before the first step. Rank 0 opens files and reads the
 * state, and all ranks agree on the outcome. */
#include <inttypes.h>
#include <math.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "graph/cost.h"
#include "plan/describe_seen.h"
#include "plan/describe_sources.h"
#include "plan/reduction.h"
#include "train/changes.h"
#include "train/loop_state.h"
#include "train/ranks.h"

int64_t loop_global_batch(const struct loop *l)
{
	return config_rank_batch(l->c) * comm_count(l->comm);
}

int64_t loop_epoch_samples(const struct loop *l)
{
	return loader_samples_before(l->s->train, 0, l->batches);
}

/* id: the checkpoint that the run goes on from, "" if none. */
static int resume_or_start(struct loop *l, const struct train_options *o, const char *dir,
                           char id[64])
{
	struct ckpt_version *v = NULL;
	bool found = false;
	id[0] = '\0';
	if (o->resume) {
		TRY(state_load(l->s, dir, o->resume, &l->clock, &found, id));
		l->safe = found;
		l->saved_step = found ? l->clock.step : -1;
		resume_point_set(&l->durable, id, l->clock.step);
		if (found)
			TRY(reduction_resume(&l->s->reduction, l->s->store, l->s->train_plan[0]));
		if (found)
			progress_say(l->progress, "resuming from checkpoint %s (step %" PRId64 ")", id,
			             l->clock.step);
		else
			progress_say(l->progress, "no checkpoint in '%s' yet: starting from the beginning",
			             dir);
		return found ? 0 : state_begin_averages(l->s->store);
	}
	if (l->first)
		TRY(ckpt_load(&v, dir, "auto"));
	if (!v)
		return state_begin_averages(l->s->store);
	int64_t at = ckpt_version_state(v)->step;
	ckpt_version_free(v);
	return ERR(E_CANTCREATE, NULL, "'%s' holds a run already, with a checkpoint of step %" PRId64
	           "; continue it with --resume, choose another folder with --set "
	           "run.dir=DIR, or remove it", l->c->run.dir, at);
}

/* id: as of resume_or_start. */
static int open_files(struct loop *l, const char *dir, const char *id)
{
	const struct run_config *c = l->c;
	/* refuses a folder that another process trains in */
	TRY(ckpt_open(&l->ckpt, dir, &c->checkpoint));
	TRY(changes_finish(c, *id));
	ckpt_set_parent(l->ckpt, id);
	return journal_open(&l->journal, c->run.dir, c->report.tensorboard, l->clock.step);
}

static int open_run(struct loop *l, const struct train_options *o)
{
	const struct run_config *c = l->c;
	char *dir = io_join(c->run.dir, "checkpoints"), id[64];
	int rc = ranks_agree(l->comm, l->first ? io_mkdirs(c->run.dir) : 0, "making the run's folder");
	if (rc == 0)
		rc = ranks_agree(l->comm, resume_or_start(l, o, dir, id), "the checkpoint to go on from");
	if (rc == 0)
		rc = ranks_agree(l->comm, l->first ? open_files(l, dir, id) : 0, "opening the run's files");
	mem_free(dir);
	return rc;
}

int loop_plan_length(struct loop *l)
{
	const struct train_section *t = &l->c->train;
	l->batches = loader_batches(l->s->train);
	int64_t per_epoch = loader_steps(l->s->train);
	l->schedule.base_rate = optim_learning_rate(&l->c->optimizer);
	l->schedule.steps_per_epoch = per_epoch;
	l->schedule.total_steps = t->steps;
	if (t->epochs && (!t->steps || t->epochs * per_epoch < t->steps))
		l->schedule.total_steps = t->epochs * per_epoch;
	l->epochs = t->epochs;
	return config_check_length(l->c);
}

/* Prints the device, if the config leaves it open, and the ranks. */
static void say_place(const struct loop *l)
{
	struct buf text = BUF_INIT;
	if (l->s->dev->why)
		progress_say(l->progress, "%s (%s)", l->s->dev->why, l->s->dev->description);
	rank_grid_text(&l->s->grid, &text);
	if (comm_many(l->comm))
		progress_say(l->progress, "%s", text.data);
	buf_release(&text);
}

static double flops_of(const struct loop *l, int size)
{
	struct plan *const *plans = session_train_plans(l->s, size);
	const struct plan *p = plans[0] ? plans[0] : plans[1];
	return p ? graph_cost(p->g, ~0u).flops / (double)p->batch : 0;   /* NULL: all are left out */
}

static void count_flops(struct loop *l)
{
	double sum = 0, samples = 0;
	l->size_flops = ARENA_ARRAY(l->c->arena, double, 1 + l->s->ntrain_size);
	for (int k = 0; k <= l->s->ntrain_size; k++) {
		const double n = (double)loader_size(l->s->train, k).samples;
		l->size_flops[k] = flops_of(l, k);
		samples += n;
		sum += n * l->size_flops[k];
	}
	l->sample_flops = l->s->ntrain_size ? sum / samples : l->size_flops[0];
}

double loop_work(const struct loop *l, const struct submitted *g)
{
	return l->s->ntrain_size && l->sample_flops > 0 ?
	       (double)g->samples * l->size_flops[g->size] / l->sample_flops : (double)g->samples;
}

static void say_sizes(const struct loop *l)
{
	struct buf text = BUF_INIT;
	describe_train_sizes(l->s, &text);
	if (l->s->ntrain_size)
		progress_say(l->progress, "batches of one size each: %s", text.data);
	buf_release(&text);
}

static void say_sources(const struct loop *l)
{
	struct buf text = BUF_INIT;
	describe_sources(l->s, 2, &text);
	if (text.len)
		progress_say(l->progress, "%s", text.data);
	buf_release(&text);
}

int loop_prepare(struct loop *l, const struct train_options *o)
{
	say_place(l);
	say_sizes(l);
	say_sources(l);
	l->began = ranks_began(l->comm);
	l->s->threads = ranks_threads(l->comm, l->s->dev->threads, l->c->arena);
	TRY(ranks_agree(l->comm, loop_plan_length(l), "the length of the run"));
	TRY(open_run(l, o));
	TRY(ranks_agree(l->comm, left_out_read(l->s, l->guard), "the steps left out so far"));
	l->seconds_before = l->clock.seconds;
	l->schedule.reductions = l->clock.validations.plateau.reductions;
	if (!isnan(l->clock.metric))
		l->watched_step = l->clock.step;
	count_flops(l);
	if (l->first)
		journal_begin(l->journal, l->s, &(struct journal_begin){ l->clock.step,
			loop_global_batch(l) * config_step_batches(l->c),
			loop_epoch_samples(l), l->sample_flops });
	return loader_seek(l->s->train, l->clock.epoch, l->clock.batch);
}
