/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host draws points in float64, only for this rank's share, whenever the number of the draw
 * changes between steps. All realizations of a set use the same points. */
#include "train/run/equations.h"

#include "base/err.h"
#include "base/mem.h"
#include "plan/physics/physics.h"
#include "train/run/balance.h"
#include "train/predict/known.h"
#include "train/predict/predict_request.h"
#include "train/run/opening.h"
#include "train/run/resample.h"

/* The arrays of one set, in the order of batch.more. */
struct drawn {
	const struct point_set *set;
	int64_t draw;                    /* -1: none yet */
	int64_t realizations, points, n; /* this rank's: n rows, of each realization all its points */
	int64_t first, first_point;      /* of all: realizations, points */
	double *coordinates, *normals;   /* (points, axes) */
	int narrays;
	struct batch_array *array;       /* in the list of all sets */
	double *values;                  /* all arrays, one after the other */
	struct resample *resample;       /* NULL: not by a residual */
};

struct equations {
	const struct run_config *config;
	struct arena *a;
	int nset, narrays;
	struct drawn *set;
	struct batch_array *array;
	struct balance **balance;        /* of the objectives; NULL: no weight of it is balanced */
	struct known *known;             /* known values; NULL: none */
};

/* --- opening --- */

/* The record of which networks of samples are evaluated. */
static int find_record(const struct session *s, const struct session_options *o,
                       struct physics_record *out)
{
	const struct strings *files = &s->config->data.validation;
	struct predict_request r;
	*out = (struct physics_record){ 0 };
	if (s->compares)
		*out = (struct physics_record){ .path = files->v[0], .loc = files->loc[0] };
	if (!(o->need & SESSION_PREDICT) || !o->data)
		return 0;
	TRY(predict_request_read(s->equations->a, o->data->v[0], &r));
	*out = (struct physics_record){ .path = r.record, .given = true };
	return 0;
}

int equations_open(struct session *s, const struct session_options *o)
{
	struct equations *e = mem_calloc(1, sizeof *e);
	struct physics_record record;
	s->equations = e;
	e->a = arena_new();
	e->config = s->config;
	s->compares = o->need & SESSION_EVALUATE && s->config->data.validation.n > 0;
	TRY(find_record(s, o, &record));
	TRY(physics_open(s->config, &record));
	return s->compares ? known_open(&e->known, s->config) : 0;
}

static int check_share(const struct session *s, const struct point_set *p)
{
	const int64_t n = p->realizations ? p->realizations : p->count;
	if (n % s->nranks == 0)
		return 0;
	return ERR(E_CONFIG, &p->loc, "'%s' has %lld %s, which %d ranks cannot share evenly; %lld "
	           "can be", p->name, (long long)n, p->realizations ? "realizations" : "points",
	           s->nranks, (long long)(n + s->nranks - n % s->nranks));
}

static void add_array(struct equations *e, struct drawn *d, const char *name, int64_t each,
                      double **at)
{
	struct batch_array *b = &d->array[d->narrays++];
	*b = (struct batch_array){ arena_printf(e->a, "%s.%s", d->set->name, name), DTYPE_F64, each,
		*at };
	*at += each * d->n;
	e->narrays++;
}

static void add_set(struct equations *e, const struct point_set *p, int rank, int ranks)
{
	struct drawn *d = &e->set[e->nset++];
	*d = (struct drawn){ .set = p, .draw = -1, .n = physics_share(p, ranks) };
	d->points = p->realizations ? p->count : d->n;
	d->realizations = d->n / d->points;
	d->first = rank * d->realizations;
	d->first_point = p->realizations ? 0 : rank * d->points;
	d->array = e->array + e->narrays;
	int64_t each = 2 * p->naxes;
	for (int k = 0; k < p->nvalues; k++)
		each += p->values[k].each;
	d->coordinates = ARENA_ARRAY(e->a, double, d->points * p->naxes);
	d->normals = p->normals ? ARENA_ARRAY(e->a, double, d->points * p->naxes) : NULL;
	d->values = ARENA_ARRAY(e->a, double, d->n * each);
	double *at = d->values;
	for (int k = 0; k < p->naxes; k++)
		add_array(e, d, p->axis[k], 1, &at);
	for (int k = 0; k < p->nvalues; k++)
		add_array(e, d, p->values[k].name, p->values[k].each, &at);
	if (p->normals)
		add_array(e, d, "normal", physics_spatial_axes(p), &at);
}

int equations_begin(struct session *s)
{
	struct equations *e = s->equations;
	const struct points *p = &s->config->physics->points;
	const struct objectives *o = &s->config->objectives;
	int most = o->n * TERMS_MOST;
	if (s->nranks > 1 && s->config->objectives.n > 1 && s->dev->driver)
		return ERR(E_UNSUPPORTED, config_place(s->config, "objective", NULL), "several objectives, "
		           "or phases, are trained by one GPU; there are %d ranks", s->nranks);
	s->train = loader_new_steps(s->config->train.steps, s->comm ? s->comm->rank : 0, s->nranks);
	for (int i = 0; i < p->n; i++) {
		TRY(check_share(s, &p->set[i]));
		most += p->set[i].naxes + p->set[i].nvalues + 1;
	}
	e->set = ARENA_ARRAY(e->a, struct drawn, p->n + 1);
	e->array = ARENA_ARRAY(e->a, struct batch_array, most + 1);
	for (int i = 0; i < p->n; i++) {
		if (p->set[i].count)
			add_set(e, &p->set[i], s->comm ? s->comm->rank : 0, s->nranks);
		if (p->set[i].by)
			e->set[e->nset - 1].resample = resample_new(e->a, s, i);
	}
	e->balance = ARENA_ARRAY(e->a, struct balance *, o->n);
	for (int k = 0; k < o->n; k++)
		if (o->v[k].balance && !o->v[k].continues)
			e->balance[k] = balance_new(e->a, s, k, e->array, &e->narrays);
		else if (o->v[k].balance)
			e->balance[k] = e->balance[k - 1];
	return 0;
}

void equations_free(struct equations *e)
{
	if (!e)
		return;
	known_free(e->known);
	arena_free(e->a);
	mem_free(e);
}

/* --- points of a step --- */

/* From rows of all axes to an array for each, repeated for each realization. */
static void spread(const struct drawn *d)
{
	const struct point_set *p = d->set;
	double *at = d->values, *normal = at + d->n * (p->naxes + p->nvalues);
	for (int k = 0; k < p->naxes; k++)
		for (int64_t r = 0; r < d->realizations; r++)
			for (int64_t i = 0; i < d->points; i++)
				*at++ = d->coordinates[i * p->naxes + k];
	for (int64_t i = 0; p->normals && i < d->n; i++)
		for (int k = 0; k < p->naxes; k++)
			if (physics_is_spatial(p->axis[k]))
				*normal++ = d->normals[i % d->points * p->naxes + k];
}

static int draw(struct equations *e, struct drawn *d, int64_t number)
{
	const uint64_t seed = (uint64_t)e->config->run.seed;
	const struct point_set *p = d->set;
	if (d->draw == number)
		return 0;
	if (d->resample) {
		d->draw = number;
		TRY(resample_draw(d->resample, number, d->first_point, d->n, d->coordinates, d->normals,
		                  d->values + d->n * p->naxes));
		spread(d);
		return 0;
	}
	if (d->draw < 0 || !(p->record && p->realizations)) {
		TRY(points_draw(p, seed, number, d->first_point, d->points, d->coordinates, d->normals));
		spread(d);
	}
	d->draw = number;
	double *at = d->values + d->n * p->naxes;
	for (int k = 0; k < p->nvalues; at += d->n * p->values[k++].each)
		points_values(p, k, seed, number, p->realizations ? d->first : d->first_point,
		              p->realizations ? d->realizations : d->points, at);
	return 0;
}

/* The step whose points a step has: a search keeps those with which it began. */
static int64_t draw_step(const struct objectives *o, struct turn turn, int64_t step)
{
	return o->v[turn.objective].lbfgs ? step - turn.step : step;
}

int equations_fill(struct equations *e, int64_t step, struct batch *b)
{
	const struct objectives *o = &e->config->objectives;
	const struct turn turn = objective_turn(o, step);
	for (int i = 0; i < e->nset; i++)
		TRY(draw(e, &e->set[i], points_draw_at(e->set[i].set, draw_step(o, turn, step))));
	b->more = e->array;
	b->nmore = e->narrays;
	return e->balance[turn.objective] ? balance_update(e->balance[turn.objective], turn, b) : 0;
}

/* --- known values --- */

int equations_evaluate(struct session *s, struct evaluation *out)
{
	return known_compare(s->equations->known, s, out);
}
