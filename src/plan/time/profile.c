/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes and kinds of ops have rows of the same form: a kind is the sum of its nodes. */
#include "plan/time/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

#define WORST 15      /* nodes in the text */

static void begin(const struct plan *p, struct profile *out)
{
	memset(out, 0, sizeof *out);
	out->seconds = mem_calloc((size_t)p->g->nnode, sizeof *out->seconds);
}

static void add_up(const struct plan *p, struct profile *f)
{
	for (int i = 0; i < p->g->nnode; i++) {
		f->phase[p->g->node[i]->phase] += f->seconds[i];
		f->nodes += f->seconds[i];
	}
}

int profile_run(struct plan *p, int runs, struct profile *out)
{
	begin(p, out);
	TRY(exec_run(p->exec, ~0u));
	exec_profile(p->exec, true);
	double t0 = io_seconds();
	for (int i = 0; i < runs; i++)
		TRY(exec_run(p->exec, ~0u));
	out->step = (io_seconds() - t0) / runs;
	for (int i = 0; i < p->g->nnode; i++)
		out->seconds[i] = exec_profile_seconds(p->exec)[i] / runs;
	add_up(p, out);
	out->between = out->step - out->nodes;
	return 0;
}

int profile_replays(struct plan *p, int runs, struct profile *out)
{
	begin(p, out);
	TRY(exec_watch_replays(p->exec, runs, &out->replay));
	const struct replay *r = &out->replay;
	for (int i = 0; i < r->nkernel; i++)
		if (r->kernel[i].node != NONE)
			out->seconds[r->kernel[i].node] += r->kernel[i].seconds;
	out->step = r->span;
	out->between = r->span - r->busy;
	add_up(p, out);
	return 0;
}

void profile_release(struct profile *f)
{
	replay_release(&f->replay);
	mem_free(f->seconds);
	f->seconds = NULL;
}

/* --- rows --- */

struct row {
	const struct node *n;               /* of a kind: the first one */
	int nodes;
	double seconds, flops, bytes, bound;
};

static double lost(const struct row *r)
{
	return r->seconds - r->bound;
}

static int by_loss(const void *a, const void *b)
{
	double x = lost(a), y = lost(b);
	return (x < y) - (x > y);
}

static struct row *node_rows(const struct plan *p, const struct node_rates *rates,
                             const struct profile *f, struct arena *a)
{
	struct row *r = ARENA_ARRAY(a, struct row, p->g->nnode);
	for (int i = 0; i < p->g->nnode; i++) {
		const struct node *n = p->g->node[i];
		struct cost c = op_cost(p->g, n);
		r[i] = (struct row){ n, 1, f->seconds[i], c.flops, c.bytes,
			node_seconds(rates, p->g, n) };
	}
	return r;
}

/* Sums the rows of nodes into one row for each kind of op. */
static struct row *kind_rows(const struct row *node, int n, int *nkind, struct arena *a)
{
	struct row *kind = ARENA_ARRAY(a, struct row, n);
	*nkind = 0;
	for (int i = 0; i < n; i++) {
		int k = 0;
		while (k < *nkind && kind[k].n->op != node[i].n->op)
			k++;
		if (k == *nkind)
			kind[(*nkind)++].n = node[i].n;
		kind[k].nodes++;
		kind[k].seconds += node[i].seconds;
		kind[k].flops += node[i].flops;
		kind[k].bytes += node[i].bytes;
		kind[k].bound += node[i].bound;
	}
	return kind;
}

/* Over the kinds whose name begins so: "conv" is convolutions and their gradients. */
static double kind_seconds(const struct row *kind, int n, const char *prefix, int *nodes)
{
	double sum = 0;
	*nodes = 0;
	for (int i = 0; i < n; i++)
		if (strncmp(kind[i].n->op->name, prefix, strlen(prefix)) == 0) {
			sum += kind[i].seconds;
			*nodes += kind[i].nodes;
		}
	return sum;
}

struct table {
	struct arena *arena;
	struct row *node, *kind;
	int nnode, nkind, convolutions, reorders;
	double convolution_seconds, reorder_seconds;
};

static struct table table_new(const struct plan *p, const struct node_rates *rates,
                              const struct profile *f)
{
	struct table t = { .arena = arena_new(), .nnode = p->g->nnode };
	t.node = node_rows(p, rates, f, t.arena);
	t.kind = kind_rows(t.node, t.nnode, &t.nkind, t.arena);
	t.convolution_seconds = kind_seconds(t.kind, t.nkind, "conv", &t.convolutions);
	t.reorder_seconds = kind_seconds(t.kind, t.nkind, "reorder", &t.reorders);
	qsort(t.node, (size_t)t.nnode, sizeof *t.node, by_loss);
	qsort(t.kind, (size_t)t.nkind, sizeof *t.kind, by_loss);
	return t;
}

/* --- text --- */

static void print_row(const char *name, const struct row *r, double step, struct buf *out)
{
	buf_printf(out, "%10.3f %6.1f %9.1f %8.1f %6.0f %10.3f  %s", 1e3 * r->seconds,
	           100 * r->seconds / step, r->flops / r->seconds / 1e9, r->bytes / r->seconds / 1e9,
	           100 * r->bound / r->seconds, 1e3 * lost(r), name);
}

static const char header[] = "        ms      %   GFLOP/s     GB/s  roof%    lost ms";

static void print_totals(const struct plan *p, const struct table *t, const struct node_rates *r,
                         const struct profile *f, struct buf *out)
{
	const tid output = plan_out(p, "output");
	const bool wide = graph_t(p->g, output == NONE ? plan_out(p, "loss") : output)->dtype ==
	                  DTYPE_F64;
	buf_printf(out, "rates       %.4g GB/s through memory, %.4g GFLOP/s in %s", r->bytes / 1e9,
	           r->f32 / 1e9, dtype_name(wide ? DTYPE_F64 : DTYPE_F32));
	if (r->bits16 != r->f32)
		buf_printf(out, ", %.4g in bf16", r->bits16 / 1e9);
	if (f->replay.arena)
		buf_printf(out, "\nstep        %.3f ms as one graph: busy %.3f, idle %.3f (the median of "
		           "%d, watched by CUPTI)\n", 1e3 * f->step, 1e3 * f->replay.busy, 1e3 * f->between,
		           f->replay.replays);
	else
		buf_printf(out, "\nstep        %.3f ms with timers: nodes %.3f, between them %.3f\n",
		           1e3 * f->step, 1e3 * f->nodes, 1e3 * f->between);
	if (f->why_not[0])
		buf_printf(out, "            the host has timed node by node, which adds a launch and a "
		           "wait to each:\n            %s\n", f->why_not);
	buf_printf(out, "            %d convolutions %.1f %%, %d reorders %.1f %%\n", t->convolutions,
	           100 * t->convolution_seconds / f->step, t->reorders,
	           100 * t->reorder_seconds / f->step);
}

static int by_seconds(const void *a, const void *b)
{
	double x = ((const struct replay_kernel *)a)->seconds;
	double y = ((const struct replay_kernel *)b)->seconds;
	return (x < y) - (x > y);
}

static void print_kernels(const struct plan *p, const struct profile *f, struct arena *a,
                          struct buf *out)
{
	const int n = f->replay.nkernel;
	struct replay_kernel *k = ARENA_ARRAY(a, struct replay_kernel, n);
	if (n == 0)
		return;
	memcpy(k, f->replay.kernel, (size_t)n * sizeof *k);
	qsort(k, (size_t)n, sizeof *k, by_seconds);
	buf_printf(out, "\n        us      %%  kernel (%d a step) and its node\n", n);
	for (int i = 0; i < n && i < WORST; i++) {
		const struct node *node = k[i].node == NONE ? NULL : p->g->node[k[i].node];
		buf_printf(out, "%10.1f %6.1f  %s of ", 1e6 * k[i].seconds,
		           100 * k[i].seconds / f->step, k[i].name);
		if (node)
			buf_printf(out, "%s %d '%s'\n", node->op->name, node->id, node->name);
		else
			buf_puts(out, "no node\n");
	}
}

void profile_text(const struct plan *p, const struct node_rates *r, const struct profile *f,
                  struct buf *out)
{
	struct table t = table_new(p, r, f);
	print_totals(p, &t, r, f, out);
	buf_printf(out, "\n%s  op (nodes)\n", header);
	for (int i = 0; i < t.nkind; i++) {
		if (t.kind[i].seconds == 0)
			continue;
		print_row(t.kind[i].n->op->name, &t.kind[i], f->step, out);
		buf_printf(out, " (%d)\n", t.kind[i].nodes);
	}
	buf_printf(out, "\n%s  node\n", header);
	for (int i = 0; i < t.nnode && i < WORST; i++) {
		const struct node *n = t.node[i].n;
		if (t.node[i].seconds == 0)
			continue;
		const char *impl = exec_impl(p->exec, n->id);
		print_row(n->op->name, &t.node[i], f->step, out);
		buf_printf(out, " %d '%s'%s%s\n", n->id, n->name, impl ? " " : "", impl ? impl : "");
	}
	print_kernels(p, f, t.arena, out);
	arena_free(t.arena);
}

/* --- JSON --- */

static void json_row(const struct row *r, struct buf *out)
{
	buf_json_member(out, "seconds", r->seconds);
	buf_json_member(out, "flops", r->flops);
	buf_json_member(out, "bytes", r->bytes);
	buf_json_member(out, "bound", r->bound);
	buf_json_member(out, "lost", lost(r));
	buf_putc(out, '}');
}

static void json_nodes(const struct plan *p, const struct table *t, struct buf *out)
{
	static const char *const phase[] = { "forward", "backward", "update" };
	for (int i = 0; i < t->nnode; i++) {
		const struct node *n = t->node[i].n;
		const char *impl = exec_impl(p->exec, n->id);
		buf_printf(out, "%s{\"node\": %d, \"op\": \"%s\", \"phase\": \"%s\", \"name\": ",
		           i ? ", " : "", n->id, n->op->name, phase[n->phase]);
		buf_json_string(out, n->name);
		buf_puts(out, ", \"kernel\": ");
		buf_json_string(out, impl ? impl : "");
		json_row(&t->node[i], out);
	}
}

/* "timed" says by what; kernels are in order of their start. */
static void json_kernels(const struct profile *f, struct buf *out)
{
	const struct replay *r = &f->replay;
	buf_printf(out, ", \"timed\": \"%s\"", r->arena ? "replays" : "nodes");
	if (f->why_not[0]) {
		buf_puts(out, ", \"no_replays\": ");
		buf_json_string(out, f->why_not);
	}
	if (!r->arena)
		return;
	buf_printf(out, ", \"replays\": %d", r->replays);
	buf_json_member(out, "busy", r->busy);
	buf_puts(out, ", \"kernels\": [");
	for (int i = 0; i < r->nkernel; i++) {
		buf_printf(out, "%s{\"node\": %d, \"name\": ", i ? ", " : "", r->kernel[i].node);
		buf_json_string(out, r->kernel[i].name);
		buf_json_member(out, "start", r->kernel[i].start);
		buf_json_member(out, "seconds", r->kernel[i].seconds);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}

void profile_json(const struct plan *p, const struct node_rates *r, const struct profile *f,
                  struct buf *out)
{
	struct table t = table_new(p, r, f);
	buf_puts(out, "{\"rates\": {\"bytes\": ");
	buf_json_double(out, r->bytes);
	buf_json_member(out, "f32", r->f32);
	buf_json_member(out, "bf16", r->bits16);
	buf_putc(out, '}');
	double roofline = 0;
	for (int i = 0; i < t.nkind; i++)
		roofline += t.kind[i].bound;
	buf_json_member(out, "roofline", roofline);
	buf_json_member(out, "step", f->step);
	buf_json_member(out, "between_nodes", f->between);
	buf_json_member(out, "convolutions", t.convolution_seconds);
	buf_json_member(out, "reorders", t.reorder_seconds);
	buf_puts(out, ", \"ops\": [");
	for (int i = 0; i < t.nkind; i++) {
		buf_printf(out, "%s{\"op\": \"%s\", \"nodes\": %d", i ? ", " : "", t.kind[i].n->op->name,
		           t.kind[i].nodes);
		json_row(&t.kind[i], out);
	}
	buf_puts(out, "], \"nodes\": [");
	json_nodes(p, &t, out);
	buf_puts(out, "]");
	json_kernels(f, out);
	buf_puts(out, "}");
	arena_free(t.arena);
}
