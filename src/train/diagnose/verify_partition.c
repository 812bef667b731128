/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In float64 results agree to rounding. In float32 they do so unless rounding changes the sign of
 * an element that a ReLU reads, or the larger of two elements that a max-pool reads, which changes
 * a gradient by far more. That is rare, and depends on the batch, so other batches are tried then;
 * a mistake in a partition is in all of them. */
#include "train/diagnose/verify_partition.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "plan/spatial/plan_cut.h"
#include "train/diagnose/verify_nodes.h"
#include "train/diagnose/verify_size.h"
#include "train/run/ranks.h"

#define DRAWS 8                      /* batches that are tried in float32 */

/* Limits of relative differences. */
struct limits {
	double of[VERIFY_KINDS], node;
	double nothing;                  /* a gradient that is smaller, relative to the largest, may be
	                                  * 0 but for rounding, as that of a bias before a norm: its
	                                  * difference is relative to this part of the largest */
};

struct figure {
	double by;
	const char *name;
	struct loc loc;
};

struct comparison {
	struct figure most[VERIFY_KINDS];
	bool agrees;
};

static struct limits limits_of(const struct session *s, bool reference)
{
	const enum dtype type = config_compute(s->config);
	if (reference || type == DTYPE_F64)
		return (struct limits){ { 1e-12, 1e-12, 1e-12, 1e-12 }, 1e-12, 1e-2 };
	if (type != DTYPE_F32)
		return (struct limits){ { 1e-2, 1e-1, 1e-2, 1e-1 }, 1e-1, 1e-1 };
	return (struct limits){ { 1e-6, s->config->precision.winograd ? 1e-4 : 1e-5, 1e-5, 1e-3 },
		1e-4, 1e-1 };
}

/* --- comparing --- */

static double norm(const struct verify_value *x)
{
	double sum = 0;
	for (int64_t i = 0; i < x->n; i++)
		sum += x->v[i] * x->v[i];
	return sqrt(sum);
}

static double distance(const struct verify_value *x, const struct verify_value *y)
{
	double sum = 0;
	if (!y || x->n != y->n)
		return INFINITY;
	for (int64_t i = 0; i < x->n; i++)
		sum += (x->v[i] - y->v[i]) * (x->v[i] - y->v[i]);
	return sqrt(sum);
}

/* Whether `by` is larger than the largest so far; NaN is larger than any number. */
static bool exceeds(double by, double most)
{
	return !isnan(most) && !(by <= most);
}

static double largest_gradient(const struct verify_values *v)
{
	double most = 0;
	for (int i = 0; i < v->n; i++)
		if (v->value[i].kind == VERIFY_GRADIENT)
			most = fmax(most, norm(&v->value[i]));
	return most;
}

static const struct verify_value *find(const struct verify_values *v, const struct verify_value *x)
{
	for (int i = 0; i < v->n; i++)
		if (v->value[i].kind == x->kind && strcmp(v->value[i].name, x->name) == 0)
			return &v->value[i];
	return NULL;
}

/* The counts of all ranks; the loss of an evaluation is the mean of the ranks' losses. */
static double metric_distance(const struct verify_value *x, const struct verify_values *part,
                              int parts)
{
	const bool mean = x->n == 1 && strcmp(x->name, VERIFY_MEAN) == 0;
	double *sum = mem_calloc((size_t)x->n + 1, sizeof *sum), weight = 0;
	struct verify_value all = { .n = x->n, .v = sum };
	bool missing = false;
	for (int r = 0; r < parts; r++) {
		const struct verify_value *y = find(&part[r], x);
		missing |= !y || y->n != x->n;
		for (int64_t i = 0; i < x->n && !missing; i++)
			sum[i] += y->v[i] * (mean ? part[r].weight : 1);
		weight += part[r].weight;
	}
	if (mean)
		sum[0] /= weight;
	const double by = missing ? INFINITY : distance(x, &all);
	mem_free(sum);
	return by;
}

static double difference(const struct verify_value *x, const struct verify_values *part, int parts,
                         double nothing)
{
	double size = norm(x), by = 0;
	if (x->kind == VERIFY_GRADIENT)
		size = fmax(size, nothing);
	if (x->kind == VERIFY_METRIC)
		by = metric_distance(x, part, parts);
	for (int r = 0; r < parts && x->kind != VERIFY_METRIC; r++) {
		const double d = distance(x, find(&part[r], x));
		by = exceeds(d, by) ? d : by;
	}
	return by == 0 ? 0 : by / size;
}

static struct comparison compare(const struct verify_values *whole,
                                 const struct verify_values *part, int parts,
                                 const struct limits *limits)
{
	struct comparison c = { .agrees = true };
	const double nothing = limits->nothing * largest_gradient(whole);
	for (int i = 0; i < whole->n; i++) {
		const struct verify_value *x = &whole->value[i];
		const double by = difference(x, part, parts, nothing);
		struct figure *most = &c.most[x->kind];
		if (!most->name || exceeds(by, most->by))
			*most = (struct figure){ by, x->name, x->loc };
		c.agrees &= by <= limits->of[x->kind];
	}
	return c;
}

/* --- reporting --- */

/* The names are used until the next comparison. */
static void write_line(const struct verify_run *r, const struct comparison *c,
                       const struct limits *l, struct buf *out)
{
	static const char *const names[] = { "loss", "gradients", "statistics", "metrics" };
	buf_puts(out, r->device);
	if (r->rest.values)
		buf_printf(out, ", samples in %s", dtype_name(r->rest.input));
	buf_putc(out, ':');
	for (int k = 0; k < VERIFY_KINDS; k++) {
		if (!c->most[k].name)
			continue;
		buf_printf(out, "%s %s %.2g", k ? "," : "", names[k], c->most[k].by);
		if (k == VERIFY_GRADIENT && c->most[k].by > 0)
			buf_printf(out, " (%s)", c->most[k].name);
	}
	buf_printf(out, "; limits %g, %g, %g, %g: %s", l->of[0], l->of[1], l->of[2], l->of[3],
	           c->agrees ? "agrees" : "differs");
	if (r->draw)
		buf_printf(out, " (batch %d of %d)", (int)r->draw + 1, DRAWS);
	buf_putc(out, '\n');
}

static void rows_text(const struct verify_run *r, const struct verify_node *n, struct buf *out)
{
	for (int k = 0; k < r->grid.axes && n->rows; k++)
		buf_printf(out, "%s%" PRId64 " to %" PRId64, k ? " x " : " rows ", n->off[k].lo,
		           n->off[k].hi - 1);
	for (int k = 0; k < r->grid.axes && n->rows; k++)
		buf_printf(out, "%s%" PRId64 " to %" PRId64, k ? " x " : " of its rows ", n->has[k].lo,
		           n->has[k].hi - 1);
	buf_puts(out, n->rows ? "" : " the whole output");
}

static int report_node(const struct verify_run *r, const struct verify_node *n)
{
	struct buf rows = BUF_INIT;
	rows_text(r, n, &rows);
	const int rc = ERR(E_BUG, &n->loc, "'parallel.spatial': layer '%s' (%s) is the first to "
	                   "compute other values: in subdomain %d,%s differ by %.2g from those of a "
	                   "whole sample (%s)", n->layer, n->op, n->subdomain, rows.data, n->by,
	                   r->device);
	buf_release(&rows);
	return rc;
}

/* No node of the forward pass differs. */
static int report_values(const struct verify_run *r, const struct comparison *c,
                         const struct limits *l)
{
	static const char *const kinds[] = { "the loss", "the gradient", "the running statistic",
		"the metric" };
	int k = 0;
	while (k + 1 < VERIFY_KINDS && c->most[k].by <= l->of[k])
		k++;
	return ERR(E_BUG, c->most[k].loc.file ? &c->most[k].loc :
	           config_place(&r->config, "parallel", "spatial"), "'parallel.spatial': the nodes of "
	           "the forward pass compute the same values, but %s '%s' differs by %.2g from that "
	           "of whole samples (%s)", kinds[k], c->most[k].name, c->most[k].by, r->device);
}

static int report(struct verify_run *r, const struct comparison *c, const struct limits *l)
{
	struct verify_node n;
	TRY(verify_nodes(r, l->node, &n));
	return n.found ? report_node(r, &n) : report_values(r, c, l);
}

/* --- running --- */

/* Frees the results of all runs. */
static void release(struct verify_values *v, int n)
{
	for (int i = 0; i < n; i++)
		verify_values_release(&v[i]);
}

static int verify_draws(struct verify_run *r, bool exact, const struct limits *l,
                        struct verify_values *v, struct buf *out)
{
	struct comparison c;
	for (r->draw = 0;; r->draw++) {
		TRY(verify_whole(r, &v[0]));
		TRY(verify_cut(r, v + 1));
		c = compare(&v[0], v + 1, r->parts, l);
		if (c.agrees || exact || r->draw + 1 == DRAWS)
			break;
		release(v, 1 + r->parts);
	}
	write_line(r, &c, l, out);
	return c.agrees ? 0 : report(r, &c, l);
}

int verify_partition_on(const struct session *s, const char *device, const int64_t *extent,
                        struct buf *out)
{
	const bool reference = strcmp(device, "reference") == 0;
	const struct limits l = limits_of(s, reference);
	struct verify_run r;
	verify_begin(&r, s, device, extent);
	struct verify_values *v = mem_calloc((size_t)r.parts + 1, sizeof *v);
	const int rc = verify_draws(&r, l.node < 1e-9, &l, v, out);
	release(v, 1 + r.parts);
	mem_free(v);
	verify_end(&r);
	return rc;
}

static void write_head(const struct session *s, const int64_t *extent, struct buf *out)
{
	buf_puts(out, "parallel.spatial ");
	spatial_text(&s->cut.grid, out);
	buf_puts(out, " against whole samples of ");
	for (int k = 0; k < s->cut.grid.axes; k++)
		buf_printf(out, "%s%" PRId64, k ? " x " : "", extent[k]);
	buf_puts(out, ", largest relative differences:\n");
}

static int verify_all(const struct session *s, const char *size, struct buf *out)
{
	int64_t extent[CUT_AXES];
	TRY(verify_size(s, size, extent));
	write_head(s, extent, out);
	TRY(verify_partition_on(s, "reference", extent, out));
	return s->dev->backend == BACKEND_REFERENCE ? 0 :
	       verify_partition_on(s, s->dev->name, extent, out);
}

int verify_partition(const struct session *s, const char *size)
{
	struct buf out = BUF_INIT;
	if (comm_many(s->comm))
		return ranks_agree(s->comm, ERR(E_USAGE, NULL, "'--verify-partition' has all ranks in one "
		                   "process; start it without mpiexec or srun"), "verifying");
	if (s->dev->driver)
		return ERR(E_UNSUPPORTED, config_place(s->config, "parallel", "spatial"),
		           "'--verify-partition' runs on the CPU and the reference device, since ranks "
		           "of one process cannot share a GPU; give '--device cpu'");
	if (s->cut.grid.axes == 0)
		return ERR(E_CONFIG, config_place(s->config, "parallel", "spatial"), "'--verify-partition' "
		           "is of samples that are cut, as by '--set parallel.spatial=[2, 1]'");
	const int rc = verify_all(s, size, &out);
	fputs(out.len ? out.data : "", stdout);
	buf_release(&out);
	return rc;
}
