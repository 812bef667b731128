/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank computes gradients at its own points. The mean over ranks is the gradient of all points,
 * so gradients are summed over ranks, not their norms. */
#include "train/run/balance.h"

#include <math.h>

#include "base/err.h"
#include "comm/comm.h"
#include "plan/physics/physics.h"
#include "plan/program.h"

struct balance {
	const struct session *s;
	const struct objective *objective;
	int k;                           /* its number */
	double *weight;                  /* of each term */
	double *norm;                    /* likewise, of its gradient */
	double *kept;                    /* the store's: updates made so far, and the weights */
	struct store_entry *state;
	double *gradient;                /* room for one */
};

struct balance *balance_new(struct arena *a, const struct session *s, int k,
                            struct batch_array *array, int *n)
{
	const struct objective *o = &s->config->objectives.v[k];
	struct balance *w = ARENA_NEW(a, struct balance);
	*w = (struct balance){ .s = s, .objective = o, .k = k,
		.weight = ARENA_ARRAY(a, double, o->nterm), .norm = ARENA_ARRAY(a, double, o->nterm),
		.kept = ARENA_ARRAY(a, double, o->nterm + 1) };
	for (int i = 0; i < o->nterm; i++)
		if (o->term[i].balanced)
			array[(*n)++] = (struct batch_array){ arena_printf(a, PHYSICS_WEIGHT, o->name,
				o->term[i].name), DTYPE_F64, 1, &w->weight[i] };
	return w;
}

static tid gradient_of(const struct plan *p, const struct term *t)
{
	char name[512];
	snprintf(name, sizeof name, PHYSICS_GRADIENT "%s", t->name);
	return plan_out(p, name);
}

/* What needs the plan and the store, which are made after the arrays. */
static void open_plan(struct balance *w)
{
	const struct plan *p = session_plan_balancing(w->s, w->k);
	const struct objective *o = w->objective;
	int64_t most = 0;
	char name[512];
	snprintf(name, sizeof name, BALANCE_STATE ".%s", o->name);
	w->state = store_find(w->s->store, name);
	for (int i = 0; i < o->nterm; i++) {
		const int64_t n = o->term[i].balanced ?
		                  shape_count(&graph_t(p->g, gradient_of(p, &o->term[i]))->shape) : 0;
		most = n > most ? n : most;
	}
	w->gradient = ARENA_ARRAY(w->s->config->arena, double, most);
}

/* Of the mean over ranks of a term's gradient. */
static int measure(struct balance *w, const struct plan *p, int i)
{
	const tid t = gradient_of(p, &w->objective->term[i]);
	const int64_t n = shape_count(&graph_t(p->g, t)->shape);
	double sum = 0;
	TRY(exec_read(p->exec, t, DTYPE_F64, w->gradient));
	if (comm_many(w->s->comm))
		comm_sum(w->s->comm, w->gradient, n, "the gradients of balanced terms");
	for (int64_t j = 0; j < n; j++)
		sum += w->gradient[j] * w->gradient[j];
	w->norm[i] = sqrt(sum) / comm_count(w->s->comm);
	return 0;
}

static int measure_all(struct balance *w, const struct batch *b)
{
	struct plan *p = session_plan_balancing(w->s, w->k);
	TRY(plan_feed(p, w->s->config, b, NULL));
	TRY(exec_run(p->exec, ~0u));
	for (int i = 0; i < w->objective->nterm; i++)
		if (w->objective->term[i].balanced)
			TRY(measure(w, p, i));
	return 0;
}

/* keep: 0 in the first update. */
static void average(struct balance *w, double keep)
{
	double sum = 0;
	for (int i = 0; i < w->objective->nterm; i++)
		sum += w->norm[i];
	for (int i = 0; i < w->objective->nterm; i++) {
		const double now = sum / w->norm[i];
		if (w->norm[i] > 0 && isfinite(now))
			w->kept[1 + i] = keep * w->kept[1 + i] + (1 - keep) * now;
	}
}

static int update(struct balance *w, const struct batch *b)
{
	const bool first = w->kept[0] == 0;
	for (int i = 0; first && i < w->objective->nterm; i++)
		w->kept[1 + i] = 1;
	TRY(measure_all(w, b));
	average(w, first ? 0 : w->objective->balance->keep);
	w->kept[0]++;
	store_meet_update(w->s->store);
	return store_set(w->state, DTYPE_F64, w->kept);
}

int balance_update(struct balance *w, struct turn turn, const struct batch *b)
{
	const struct objective *now = &w->s->config->objectives.v[turn.objective];
	if (!w->state)
		open_plan(w);
	TRY(store_get(w->state, DTYPE_F64, w->kept));
	if (w->kept[0] == 0 || (!now->lbfgs && turn.step % w->objective->balance->every == 0))
		TRY(update(w, b));
	for (int i = 0; i < w->objective->nterm; i++)
		w->weight[i] = w->kept[1 + i];
	return 0;
}
