/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Points are drawn by the host in float64, for this rank's share alone, when a step's draw is
 * another than the last step's; where there are realizations, all of them are at the same points.
 * Networks are compared with known values in pieces of ROWS points, of which the last repeats its
 * last point. */
#include "train/equations.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "plan/physics.h"
#include "plan/program.h"
#include "train/balance.h"
#include "train/opening.h"
#include "train/resample.h"

#define ROWS PHYSICS_ROWS

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
	/* Known values. */
	struct points known;             /* one set; n 0: none */
	int ncompared;
	struct compared {
		const char *network;
		const double *value;
		double error2, value2, most, absolute;
	} *compared;
	struct batch_array *at;          /* coordinates of a piece */
	double *output, *metric;
	struct metric_value *result;
};

/* --- opening --- */

/* data.validation as a set of points: {validation: {record: FILE}}. */
static int open_known(struct equations *e, const struct strings *coordinates)
{
	const struct strings *files = &e->config->data.validation;
	struct ynode *path = ARENA_NEW(e->a, struct ynode), *set = ARENA_NEW(e->a, struct ynode),
	             *map = ARENA_NEW(e->a, struct ynode);
	if (files->n == 0)
		return 0;
	if (coordinates->n == 0)
		return ERR(E_CONFIG, &files->loc[0], "a validation compares networks at coordinates, and "
		           "there are none; a term of weight 0, on a set of other samples, is only "
		           "reported");
	if (e->config->physics->net.nnoise)
		return ERR(E_UNSUPPORTED, &files->loc[0], "networks of noise cannot be validated yet");
	if (files->n > 1)
		return ERR(E_CONFIG, &files->loc[1], "networks of equations are compared with one record");
	*path = (struct ynode){ .kind = Y_SCALAR, .loc = files->loc[0], .text = files->v[0] };
	*set = (struct ynode){ .kind = Y_MAP, .loc = files->loc[0], .text = "", .n = 1,
		.pair = ARENA_NEW(e->a, struct ypair) };
	*map = *set;
	map->pair = ARENA_NEW(e->a, struct ypair);
	set->pair[0] = (struct ypair){ "record", files->loc[0], path };
	map->pair[0] = (struct ypair){ "validation", files->loc[0], set };
	TRY(points_read(e->a, map, &e->known));
	return points_open(e->a, &e->known, coordinates);
}

static int find_compared(struct equations *e, const struct physics *p)
{
	const struct point_set *s = &e->known.set[0];
	e->compared = ARENA_ARRAY(e->a, struct compared, p->net.n);
	for (int i = 0; i < p->net.n; i++)
		for (int k = 0; k < s->nvalues; k++)
			if (strcmp(s->values[k].name, p->net.v[i].name) == 0 &&
			    physics_is_field(p, &p->net.v[i]))
				e->compared[e->ncompared++] = (struct compared){ .network = p->net.v[i].name,
					.value = s->values[k].v };
	if (e->ncompared == 0)
		return ERR(E_DATA, &e->config->data.validation.loc[0], "'%s' has no array of the name of a "
		           "network to compare with", e->config->data.validation.v[0]);
	for (int k = 0; k < p->coordinates.n; k++) {
		int axis = 0;
		while (axis < s->naxes && strcmp(s->axis[axis], p->coordinates.v[k]) != 0)
			axis++;
		if (axis == s->naxes)
			return ERR(E_DATA, &e->config->data.validation.loc[0], "'%s' does not say '%s' of its "
			           "points", e->config->data.validation.v[0], p->coordinates.v[k]);
	}
	return 0;
}

int equations_open(struct session *s, const struct session_options *o)
{
	struct equations *e = mem_calloc(1, sizeof *e);
	s->equations = e;
	e->a = arena_new();
	e->config = s->config;
	TRY(physics_open(s->config));
	if (!(o->need & SESSION_EVALUATE))
		return 0;
	TRY(open_known(e, &s->config->physics->coordinates));
	s->compares = e->known.n > 0;
	return s->compares ? find_compared(e, s->config->physics) : 0;
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

static int spatial_axes(const struct point_set *p)
{
	int n = 0;
	for (int k = 0; k < p->naxes; k++)
		n += physics_is_spatial(p->axis[k]);
	return n;
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
		add_array(e, d, "normal", spatial_axes(p), &at);
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
	if (e)
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

/* The coordinates of ROWS known points from `first` on. */
static void gather(struct equations *e, const struct strings *coordinates, int64_t first)
{
	const struct point_set *p = &e->known.set[0];
	for (int k = 0; k < coordinates->n; k++) {
		double *to = (double *)e->at[k].data;
		int axis = 0;
		while (strcmp(p->axis[axis], coordinates->v[k]) != 0)
			axis++;
		for (int64_t i = 0; i < ROWS; i++) {
			const int64_t at = first + i < p->stored ? first + i : p->stored - 1;
			to[i] = p->coordinate[axis][at];
		}
	}
}

static int compare_piece(struct session *s, struct plan *plan, int64_t first)
{
	struct equations *e = s->equations;
	const struct strings *coordinates = &s->config->physics->coordinates;
	struct batch b = { .n = ROWS, .more = e->at, .nmore = coordinates->n };
	gather(e, coordinates, first);
	TRY(plan_feed(plan, s->config, &b, NULL));
	TRY(exec_run(plan->exec, ~0u));
	for (int k = 0; k < e->ncompared; k++) {
		struct compared *c = &e->compared[k];
		TRY(exec_read(plan->exec, plan_out(plan, c->network), DTYPE_F64, e->output));
		for (int64_t i = 0; i < ROWS && first + i < e->known.set[0].stored; i++) {
			const double v = c->value[first + i], d = e->output[i] - v;
			c->error2 += d * d;
			c->value2 += v * v;
			c->absolute += fabs(d);
			c->most = fmax(c->most, fabs(d));
		}
	}
	return 0;
}

static void make_room(struct equations *e, const struct run_config *c)
{
	const struct strings *coordinates = &c->physics->coordinates;
	e->at = ARENA_ARRAY(e->a, struct batch_array, coordinates->n);
	for (int k = 0; k < coordinates->n; k++)
		e->at[k] = (struct batch_array){ arena_printf(e->a, PHYSICS_AT ".%s", coordinates->v[k]),
			DTYPE_F64, 1, ARENA_ARRAY(e->a, double, ROWS) };
	e->output = ARENA_ARRAY(e->a, double, ROWS);
	e->metric = ARENA_ARRAY(e->a, double, e->ncompared * (c->metrics.n + 1));
	e->result = ARENA_ARRAY(e->a, struct metric_value, e->ncompared * (c->metrics.n + 1));
}

static double value_of(const struct compared *c, const char *metric, int64_t n)
{
	if (strcmp(metric, "relative_l2") == 0)
		return sqrt(c->error2 / c->value2);
	if (strcmp(metric, "max_error") == 0)
		return c->most;
	if (strcmp(metric, "mae") == 0)
		return c->absolute / (double)n;
	return strcmp(metric, "mse") == 0 ? c->error2 / (double)n : sqrt(c->error2 / (double)n);
}

/* Of several networks metrics are called METRIC.NETWORK, and METRIC is the largest. */
static void finish(struct equations *e, const struct run_config *config, struct evaluation *out)
{
	const int64_t points = e->known.set[0].stored;
	double sum = 0;
	int n = 0;
	for (int m = 0; m < config->metrics.n; m++) {
		double largest = 0;
		const int at = n++;
		for (int k = 0; k < e->ncompared; k++) {
			const double v = value_of(&e->compared[k], config->metrics.v[m], points);
			largest = v > largest || isnan(v) ? v : largest;
			if (e->ncompared == 1)
				continue;
			e->metric[n] = v;
			e->result[n] = (struct metric_value){ .name = arena_printf(e->a, "%s.%s",
				config->metrics.v[m], e->compared[k].network), .n = 1, .v = &e->metric[n] };
			n++;
		}
		e->metric[at] = largest;
		e->result[at] = (struct metric_value){ .name = config->metrics.v[m], .n = 1,
			.v = &e->metric[at] };
	}
	for (int k = 0; k < e->ncompared; k++)
		sum += e->compared[k].error2;
	out->loss = sum / (double)(points * e->ncompared);
	out->metric = e->result;
	out->nmetric = n;
}

int equations_evaluate(struct session *s, struct evaluation *out)
{
	struct equations *e = s->equations;
	struct plan *plan = session_plan(s, PLAN_PREDICT);
	const double start = io_seconds();
	if (!e->at)
		make_room(e, s->config);
	for (int k = 0; k < e->ncompared; k++)
		e->compared[k].error2 = e->compared[k].value2 = e->compared[k].most =
			e->compared[k].absolute = 0;
	for (int64_t first = 0; first < e->known.set[0].stored; first += ROWS)
		TRY(compare_piece(s, plan, first));
	finish(e, s->config, out);
	out->seconds = io_seconds() - start;
	return 0;
}
