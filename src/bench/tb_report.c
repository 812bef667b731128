/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What Task Bench prints about its graphs and about a run. */
#include <inttypes.h>

#include "bench/tb_app.h"
#include "bench/tb_kernel.h"

/* --- the configuration --- */

static void print_list(int64_t i, struct tb_list l, struct tb_range among, FILE *out)
{
	fprintf(out, "          Point %" PRId64 ":", i);
	for (int64_t k = 0; k < l.n; k++)
		if (tb_within(among, l.v[k]))
			fprintf(out, " %" PRId64, l.v[k]);
	fputc('\n', out);
}

static void print_step(const struct tb_graph *g, const struct tb_edges *e, int64_t t, int verbose,
                       FILE *out)
{
	const struct tb_range now = tb_active(g, t), last = tb_active(g, t - 1);
	const int64_t set = tb_set(g, t);
	fprintf(out, "      Timestep %" PRId64 " (offset %" PRId64 ", width %" PRId64 ", last offset %"
	        PRId64 ", last width %" PRId64 "):\n        Points:", t, now.first, now.end - now.first,
	        last.first, last.end - last.first);
	for (int64_t i = now.first; i < now.end; i++)
		fprintf(out, " %" PRId64, i);
	fputs("\n        Dependencies:\n", out);
	for (int64_t i = now.first; i < now.end; i++)
		print_list(i, tb_inputs(e, set, i), last, out);
	if (verbose < 2)
		return;
	fputs("        Reverse Dependencies:\n", out);
	for (int64_t i = last.first; i < last.end; i++)
		print_list(i, tb_readers(e, set, i), now, out);
}

static void print_graph(const struct tb_graph *g, FILE *out)
{
	fprintf(out, "    Task Graph %" PRId64 ":\n", g->index + 1);
	fprintf(out, "      Time Steps: %" PRId64 "\n", g->steps);
	fprintf(out, "      Max Width: %" PRId64 "\n", g->width);
	fprintf(out, "      Dependence Type: %s\n", tb_pattern_name(g->pattern));
	fprintf(out, "      Radix: %" PRId64 "\n", g->radix);
	fprintf(out, "      Period: %" PRId64 "\n", g->period);
	fprintf(out, "      Fraction Connected: %f\n", g->fraction);
	fprintf(out, "      Kernel:\n        Type: %s\n", g->kernel->name);
	fprintf(out, "        Iterations: %" PRId64 "\n", g->iterations);
	fprintf(out, "        Samples: %" PRId64 "\n", g->samples);
	fprintf(out, "        Imbalance: %f\n", g->imbalance);
	fprintf(out, "      Output Bytes: %" PRId64 "\n", g->output_bytes);
	fprintf(out, "      Scratch Bytes: %" PRId64 "\n", g->scratch_bytes);
}

void tb_app_display(const struct tb_app *a, FILE *out)
{
	fputs("Running Task Benchmark\n  Configuration:\n", out);
	for (int k = 0; k < a->ngraph; k++) {
		const struct tb_graph *g = &a->graph[k];
		struct tb_edges *e = a->verbose ? tb_edges_new(g) : NULL;
		print_graph(g, out);
		for (int64_t t = 0; e && t < g->steps; t++)
			print_step(g, e, t, a->verbose, out);
		tb_edges_free(e);
	}
}

/* --- a run --- */

/* The edges of step t, of which those within one of the nodes are local. */
static void count_edges(const struct tb_app *a, const struct tb_graph *g, const struct tb_edges *e,
                        int64_t t, struct tb_totals *n)
{
	const struct tb_range now = tb_active(g, t), last = tb_active(g, t - 1);
	for (int64_t i = now.first; i < now.end; i++) {
		const struct tb_list l = tb_inputs(e, tb_set(g, t), i);
		const struct tb_range home = tb_share(g, a->nodes ? i * a->nodes / g->width : 0,
		                                      a->nodes ? a->nodes : 1);
		for (int64_t k = 0; k < l.n; k++) {
			const bool exists = tb_within(last, l.v[k]), here = tb_within(home, l.v[k]);
			n->dependences += exists;
			n->local += exists && a->nodes && here;
			n->nonlocal += exists && a->nodes && !here;
		}
	}
}

static void count_graph(const struct tb_app *a, const struct tb_graph *g, struct tb_totals *n)
{
	struct tb_edges *e = tb_edges_new(g);
	const struct tb_totals before = *n;
	for (int64_t t = 0; t < g->steps; t++) {
		const struct tb_range now = tb_active(g, t);
		n->tasks += now.end - now.first;
		for (int64_t i = now.first; i < now.end; i++) {
			n->flops += g->kernel->flops ? g->kernel->flops(g, t, i) : 0;
			n->bytes += g->kernel->bytes ? g->kernel->bytes(g) : 0;
		}
		count_edges(a, g, e, t, n);
	}
	n->local_bytes += (n->local - before.local) * g->output_bytes;
	n->nonlocal_bytes += (n->nonlocal - before.nonlocal) * g->output_bytes;
	tb_edges_free(e);
}

struct tb_totals tb_app_totals(const struct tb_app *a)
{
	struct tb_totals n = { 0 };
	for (int k = 0; k < a->ngraph; k++)
		count_graph(a, &a->graph[k], &n);
	return n;
}

void tb_app_report(const struct tb_app *a, const struct tb_totals *n, double seconds, FILE *out)
{
	fprintf(out, "Total Tasks %" PRId64 "\nTotal Dependencies %" PRId64 "\n", n->tasks,
	        n->dependences);
	if (a->nodes)
		fprintf(out, "  Local Dependencies %" PRId64 " (estimated)\n  Nonlocal Dependencies "
		        "%" PRId64 " (estimated)\n  Number of Nodes (used for estimate) %" PRId64 "\n",
		        n->local, n->nonlocal, a->nodes);
	else
		fputs("  Unable to estimate local/nonlocal dependencies\n", out);
	fprintf(out, "Total FLOPs %" PRId64 "\nTotal Bytes %" PRId64 "\n", n->flops, n->bytes);
	fprintf(out, "Elapsed Time %e seconds\nFLOP/s %e\nB/s %e\nTransfer (estimated):\n", seconds,
	        (double)n->flops / seconds, (double)n->bytes / seconds);
	if (a->nodes)
		fprintf(out, "  Local Bytes %" PRId64 "\n  Nonlocal Bytes %" PRId64 "\n  Local Bandwidth "
		        "%e B/s\n  Nonlocal Bandwidth %e B/s\n", n->local_bytes, n->nonlocal_bytes,
		        (double)n->local_bytes / seconds, (double)n->nonlocal_bytes / seconds);
	else
		fputs("  Unable to estimate local/nonlocal transfer\n", out);
}
