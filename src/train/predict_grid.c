/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict_grid.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/shown.h"
#include "comm/comm.h"
#include "plan/physics.h"
#include "plan/program.h"
#include "report/csv.h"
#include "report/netcdf_file.h"
#include "report/npy_file.h"
#include "train/predict_array.h"
#include "yaml/ytree.h"

#define MOST_POINTS ((int64_t)1 << 28)

struct grid {
	struct session *s;
	struct arena *a;
	int naxes;
	struct grid_axis {
		int coordinate;                  /* its number among those of the networks */
		struct axis axis;
		double *values;
	} axis[MAXD];
	int64_t points;
	int nchannels;                       /* outputs of all networks */
	const char **channel;
	float *value;                        /* (channels, points) */
};

/* --- the grid --- */

static int read_range(const struct ypair *p, const struct points *points, double *low, double *high,
                      int64_t *n)
{
	const struct ynode *v = p->value;
	if (v->kind == Y_SEQ && v->n == 3 && y_float(v->item[0], low) && y_float(v->item[1], high) &&
	    y_int(v->item[2], n) && *n > 0)
		return 0;
	if (v->kind != Y_SCALAR || !y_int(v, n) || *n < 1)
		return ERR(E_USAGE, &v->loc, "'%s' must be a number of points, or [LOW, HIGH, POINTS]",
		           p->key);
	if (!points_reach(points, p->key, low, high))
		return ERR(E_USAGE, &v->loc, "no set of points says how far '%s' reaches; give [LOW, HIGH, "
		           "POINTS]", p->key);
	return 0;
}

static int read_axis(struct grid *g, const struct ypair *p)
{
	const struct physics *physics = g->s->config->physics;
	struct grid_axis *x = &g->axis[g->naxes];
	double low, high;
	int64_t n;
	int k = 0;
	while (k < physics->coordinates.n && strcmp(physics->coordinates.v[k], p->key) != 0)
		k++;
	if (k == physics->coordinates.n)
		return ERR(E_USAGE, &p->key_loc, "'%s' is no coordinate", p->key);
	TRY(read_range(p, &physics->points, &low, &high, &n));
	if (n > MOST_POINTS / g->points)
		return ERR(E_USAGE, &p->value->loc, "the grid has more than %lld points",
		           (long long)MOST_POINTS);
	x->coordinate = k;
	x->values = ARENA_ARRAY(g->a, double, n);
	for (int64_t i = 0; i < n; i++)
		x->values[i] = n == 1 ? low : low + (high - low) * (double)i / (double)(n - 1);
	x->axis = (struct axis){ .name = physics->coordinates.v[k], .n = n, .values = x->values };
	g->points *= n;
	g->naxes++;
	return 0;
}

static bool has_any(const struct physics *p)
{
	for (int i = 0; i < p->net.n; i++)
		if (physics_is_field(p, &p->net.v[i]))
			return true;
	return false;
}

static int read_grid(struct grid *g, const char *given)
{
	struct ynode *root;
	const struct strings *coordinates = &g->s->config->physics->coordinates;
	TRY(ytree_parse(g->a, "--predict", given, &root));
	const struct ynode *map = root && root->kind == Y_MAP && root->n == 1 ?
	                          ytree_find(root, "grid") : NULL;
	if (!has_any(g->s->config->physics))
		return ERR(E_USAGE, NULL, "no network is a function of coordinates, so that there is none "
		           "to evaluate on a grid");
	if (!map || map->kind != Y_MAP || map->n != coordinates->n || map->n > MAXD - 2)
		return ERR(E_USAGE, root ? &root->loc : NULL, "networks of equations are evaluated on "
		           "'grid: {%s: POINTS%s}', which names each coordinate once", coordinates->v[0],
		           coordinates->n > 1 ? ", ..." : "");
	g->points = 1;
	for (int i = 0; i < map->n; i++)
		TRY(read_axis(g, &map->pair[i]));
	return 0;
}

/* --- values --- */

static void name_channels(struct grid *g)
{
	const struct physics *p = g->s->config->physics;
	const struct networks_read *net = &p->net;
	for (int i = 0; i < net->n; i++)
		g->nchannels += physics_is_field(p, &net->v[i]) ? (int)net->v[i].c.outputs : 0;
	g->channel = ARENA_ARRAY(g->a, const char *, g->nchannels + 1);
	for (int i = 0, k = 0; i < net->n; i++)
		for (int64_t c = 0; c < net->v[i].c.outputs && physics_is_field(p, &net->v[i]); c++)
			g->channel[k++] = net->v[i].c.outputs == 1 ? net->v[i].name :
			                  arena_printf(g->a, "%s.%lld", net->v[i].name, (long long)c);
}

/* The coordinates of the ROWS points from `first` on; after the last one it is repeated. */
static void gather(const struct grid *g, int64_t first, double *const *at)
{
	for (int64_t i = 0; i < PHYSICS_ROWS; i++) {
		int64_t rest = first + i < g->points ? first + i : g->points - 1;
		for (int k = g->naxes - 1; k >= 0; k--) {
			at[g->axis[k].coordinate][i] = g->axis[k].values[rest % g->axis[k].axis.n];
			rest /= g->axis[k].axis.n;
		}
	}
}

static int take(struct grid *g, struct plan *p, int64_t first, float *output)
{
	const struct networks_read *net = &g->s->config->physics->net;
	const int64_t n = g->points - first < PHYSICS_ROWS ? g->points - first : PHYSICS_ROWS;
	float *to = g->value + first;
	for (int i = 0; i < net->n; i++) {
		const int64_t wide = net->v[i].c.outputs;
		if (!physics_is_field(g->s->config->physics, &net->v[i]))
			continue;
		TRY(exec_read(p->exec, plan_out(p, net->v[i].name), DTYPE_F32, output));
		for (int64_t c = 0; c < wide; c++, to += g->points)
			for (int64_t k = 0; k < n; k++)
				to[k] = output[k * wide + c];
	}
	return 0;
}

static int compute(struct grid *g)
{
	struct session *s = g->s;
	struct plan *p = session_plan(s, PLAN_PREDICT);
	const struct strings *c = &s->config->physics->coordinates;
	struct batch_array *array = ARENA_ARRAY(g->a, struct batch_array, c->n);
	double **at = ARENA_ARRAY(g->a, double *, c->n);
	float *output = ARENA_ARRAY(g->a, float, (int64_t)PHYSICS_ROWS * g->nchannels);
	const struct batch b = { .n = PHYSICS_ROWS, .more = array, .nmore = c->n };
	for (int k = 0; k < c->n; k++) {
		at[k] = ARENA_ARRAY(g->a, double, PHYSICS_ROWS);
		array[k] = (struct batch_array){ arena_printf(g->a, PHYSICS_AT ".%s", c->v[k]), DTYPE_F64,
			1, at[k] };
	}
	g->value = ARENA_ARRAY(g->a, float, g->points * g->nchannels);
	for (int64_t first = 0; first < g->points; first += PHYSICS_ROWS) {
		gather(g, first, at);
		TRY(plan_feed(p, s->config, &b, NULL));
		TRY(exec_run(p->exec, ~0u));
		TRY(take(g, p, first, output));
	}
	return 0;
}

/* --- files --- */

/* The extents, after the channels where there are several. */
static struct shape shape_of_grid(const struct grid *g)
{
	struct shape s = { 0 };
	if (g->nchannels > 1)
		s.d[s.nd++] = g->nchannels;
	for (int k = 0; k < g->naxes; k++)
		s.d[s.nd++] = g->axis[k].axis.n;
	return s;
}

static int write_netcdf(const struct grid *g, const char *path)
{
	const struct shape s = shape_of_grid(g);
	struct axis *axis = ARENA_ARRAY(g->a, struct axis, g->naxes + 1);
	struct netcdf_file *f;
	axis[0] = (struct axis){ .n = 1 };
	for (int k = 0; k < g->naxes; k++)
		axis[1 + k] = g->axis[k].axis;
	const struct axes axes = { .n = 1 + g->naxes, .axis = axis };
	const struct netcdf_array array = { .name = g->nchannels > 1 ? "networks" : g->channel[0],
		.dtype = DTYPE_F32, .samples = 1, .shape = &s, .has_channels = g->nchannels > 1,
		.channels = g->nchannels > 1 ? g->channel : NULL, .nchannels = g->nchannels,
		.axes = &axes };
	TRY(netcdf_create(&f, path, &array));
	int rc = netcdf_write(f, 0, g->value);
	if (rc < 0)
		netcdf_discard(f);
	return rc < 0 ? rc : netcdf_commit(f);
}

static void put_table(const struct grid *g, struct buf *out)
{
	for (int k = 0; k < g->naxes; k++) {
		csv_text(out, g->axis[k].axis.name);
		buf_putc(out, ',');
	}
	for (int c = 0; c < g->nchannels; c++) {
		csv_text(out, g->channel[c]);
		buf_putc(out, c + 1 < g->nchannels ? ',' : '\n');
	}
	for (int64_t i = 0; i < g->points; i++) {
		int64_t below = g->points, rest = i;
		for (int k = 0; k < g->naxes; k++) {
			below /= g->axis[k].axis.n;
			buf_printf(out, "%.9g,", g->axis[k].values[rest / below]);
			rest %= below;
		}
		for (int c = 0; c < g->nchannels; c++)
			buf_printf(out, "%.9g%c", (double)g->value[c * g->points + i],
			           c + 1 < g->nchannels ? ',' : '\n');
	}
}

static int write_file(const struct grid *g, const char *path)
{
	const struct shape s = shape_of_grid(g);
	struct buf out = BUF_INIT;
	if (predict_is_netcdf(path))
		return write_netcdf(g, path);
	if (io_ends_in(path, ".csv")) {
		put_table(g, &out);
	} else {
		npy_array_header(&out, DTYPE_F32, &s);
		buf_add(&out, g->value, sizeof *g->value * (size_t)shape_count(&s));
	}
	int rc = io_write_file(path, out.data, out.len);
	buf_release(&out);
	return rc;
}

int predict_grid_check(const char *path)
{
	if (predict_is_netcdf(path) || io_ends_in(path, ".npy") || io_ends_in(path, ".csv"))
		return 0;
	return ERR(E_USAGE, NULL, "'-o %s': networks of equations are written as .nc, .h5, .npy or "
	           ".csv", shown(path));
}

int predict_grid(struct session *s, const char *given, const char *path, int64_t *written)
{
	struct grid g = { .s = s };
	if (s->config->physics->net.nnoise)
		return ERR(E_UNSUPPORTED, &s->config->physics->net.noise[0].loc, "evaluating networks of "
		           "noise is not there yet");
	g.a = arena_new();
	int rc = read_grid(&g, given);
	if (rc == 0 && predict_is_netcdf(path) && g.naxes > 3)
		rc = ERR(E_USAGE, NULL, "a grid of %d axes is written as .npy or .csv", g.naxes);
	name_channels(&g);
	if (rc == 0)
		rc = compute(&g);
	if (rc == 0 && comm_first(s->comm))
		rc = write_file(&g, path);
	*written = g.points;
	arena_free(g.a);
	return rc;
}
