/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank evaluates the residual for a part of the candidates. The results are summed over ranks,
 * so all ranks choose the same points. */
#include "train/run/resample.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "comm/comm.h"
#include "plan/physics/physics.h"
#include "plan/program.h"

struct resample {
	const struct session *s;
	const struct point_set *set;
	int k;                           /* the set's number */
	int64_t drawn, rows;             /* which draw the candidates are of, or -1; of a piece */
	/* Of all candidates: */
	double *coordinates, *normals, *values, *score;
	struct point_key *work;
	int64_t *chosen;
	double *kept;                    /* the store's values */
	struct store_entry *state;
	/* A piece of them, an array for each axis, array of values and normals. */
	int narrays;
	struct batch_array *array;
	int components;                  /* of the residual, summed up */
	double *output;
};

static void add_array(struct resample *r, struct arena *a, const char *name, int64_t each)
{
	r->array[r->narrays++] = (struct batch_array){ arena_printf(a, "%s.%s", r->set->name, name),
		DTYPE_F64, each, ARENA_ARRAY(a, double, each * r->rows) };
}

struct resample *resample_new(struct arena *a, const struct session *s, int k)
{
	const struct point_set *p = &s->config->physics->points.set[k];
	struct resample *r = ARENA_NEW(a, struct resample);
	*r = (struct resample){ .s = s, .set = p, .k = k, .drawn = -1,
		.rows = p->of < PHYSICS_ROWS ? p->of : PHYSICS_ROWS,
		.coordinates = ARENA_ARRAY(a, double, p->of * p->naxes),
		.normals = p->normals ? ARENA_ARRAY(a, double, p->of * p->naxes) : NULL,
		.values = ARENA_ARRAY(a, double, p->of * p->nvalues + 1),
		.score = ARENA_ARRAY(a, double, p->of),
		.work = ARENA_ARRAY(a, struct point_key, p->of),
		.chosen = ARENA_ARRAY(a, int64_t, p->count),
		.kept = ARENA_ARRAY(a, double, p->count + 1),
		.array = ARENA_ARRAY(a, struct batch_array, p->naxes + p->nvalues + 1) };
	for (int i = 0; i < p->naxes; i++)
		add_array(r, a, p->axis[i], 1);
	for (int i = 0; i < p->nvalues; i++)
		add_array(r, a, p->values[i].name, 1);
	if (p->normals)
		add_array(r, a, "normal", physics_spatial_axes(p));
	return r;
}

/* What needs the plans and the store, which are made after the sets. */
static void open_plan(struct resample *r, struct arena *a)
{
	const struct plan *p = session_plan_scoring(r->s, r->k);
	const struct shape *s = &graph_t(p->g, plan_out(p, "score"))->shape;
	char name[512];
	snprintf(name, sizeof name, PHYSICS_PICKS "%s", r->set->name);
	r->state = store_find(r->s->store, name);
	r->components = (int)s->d[1];
	r->output = ARENA_ARRAY(a, double, shape_count(s));
}

static int draw_candidates(struct resample *r, int64_t number)
{
	const struct point_set *p = r->set;
	const uint64_t seed = (uint64_t)r->s->config->run.seed;
	if (r->drawn == number)
		return 0;
	r->drawn = number;
	for (int k = 0; k < p->nvalues; k++)
		points_values(p, k, seed, number, 0, p->of, r->values + k * p->of);
	return points_draw(p, seed, number, 0, p->of, r->coordinates, r->normals);
}

/* --- scores --- */

/* The arrays of the candidates from `first` on; the last piece repeats the last one. */
static void gather(struct resample *r, int64_t first)
{
	const struct point_set *p = r->set;
	for (int64_t i = 0; i < r->rows; i++) {
		const int64_t from = first + i < p->of ? first + i : p->of - 1;
		double *normal = p->normals ? (double *)r->array[r->narrays - 1].data +
		                 i * r->array[r->narrays - 1].each : NULL;
		for (int k = 0; k < p->naxes; k++) {
			((double *)r->array[k].data)[i] = r->coordinates[from * p->naxes + k];
			if (normal && physics_is_spatial(p->axis[k]))
				*normal++ = r->normals[from * p->naxes + k];
		}
		for (int k = 0; k < p->nvalues; k++)
			((double *)r->array[p->naxes + k].data)[i] = r->values[k * p->of + from];
	}
}

static int score_piece(struct resample *r, struct plan *plan, int64_t first)
{
	const struct batch b = { .n = r->rows, .more = r->array, .nmore = r->narrays };
	gather(r, first);
	TRY(plan_feed(plan, r->s->config, &b, NULL));
	TRY(exec_run(plan->exec, ~0u));
	TRY(exec_read(plan->exec, plan_out(plan, "score"), DTYPE_F64, r->output));
	for (int64_t i = 0; i < r->rows && first + i < r->set->of; i++) {
		r->score[first + i] = 0;
		for (int k = 0; k < r->components; k++)
			r->score[first + i] += fabs(r->output[i * r->components + k]);
	}
	return 0;
}

static int score(struct resample *r)
{
	struct plan *plan = session_plan_scoring(r->s, r->k);
	const int ranks = comm_count(r->s->comm), rank = r->s->comm ? r->s->comm->rank : 0;
	memset(r->score, 0, sizeof *r->score * (size_t)r->set->of);
	for (int64_t first = rank * r->rows; first < r->set->of; first += ranks * r->rows)
		TRY(score_piece(r, plan, first));
	if (ranks > 1)
		comm_sum(r->s->comm, r->score, r->set->of, "the residuals of candidates");
	return 0;
}

/* --- picks --- */

static int pick(struct resample *r, int64_t number)
{
	const struct point_set *p = r->set;
	TRY(score(r));
	TRY(points_pick(p, r->score, (uint64_t)r->s->config->run.seed, number, r->work, r->chosen));
	r->kept[0] = (double)number + 1;
	for (int64_t i = 0; i < p->count; i++)
		r->kept[1 + i] = (double)r->chosen[i];
	store_meet_update(r->s->store);
	return store_set(r->state, DTYPE_F64, r->kept);
}

/* Of a checkpoint, which may be damaged or of another count of candidates. */
static int restore(struct resample *r)
{
	const struct point_set *p = r->set;
	for (int64_t i = 0; i < p->count; i++) {
		const double at = r->kept[1 + i];
		if (!(at >= 0 && at < (double)p->of && at == floor(at)))
			return ERR(E_DATA, &p->by_loc, "the checkpoint has picked candidate %g of '%s', which "
			           "has %lld", at, p->name, (long long)p->of);
		r->chosen[i] = (int64_t)at;
	}
	return 0;
}

int resample_draw(struct resample *r, int64_t number, int64_t first, int64_t n, double *coordinates,
                  double *normals, double *values)
{
	const struct point_set *p = r->set;
	if (!r->state)
		open_plan(r, r->s->config->arena);
	TRY(draw_candidates(r, number));
	TRY(store_get(r->state, DTYPE_F64, r->kept));
	TRY(r->kept[0] == (double)number + 1 ? restore(r) : pick(r, number));
	for (int64_t i = 0; i < n; i++) {
		const int64_t from = r->chosen[first + i];
		const size_t row = sizeof(double) * (size_t)p->naxes;
		memcpy(coordinates + i * p->naxes, r->coordinates + from * p->naxes, row);
		if (normals)
			memcpy(normals + i * p->naxes, r->normals + from * p->naxes, row);
		for (int k = 0; k < p->nvalues; k++)
			values[k * n + i] = r->values[k * p->of + from];
	}
	return 0;
}
