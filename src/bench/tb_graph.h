/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Task Bench's graphs (Slaughter et al., SC20): tasks (t, i) at step t and column i, each of which
 * depends on tasks at step t - 1 only. The dependences of a pattern come in sets that repeat with a
 * period: at step t set tb_set applies, of which the edges from tasks that do not exist are left
 * out. Patterns, defaults and limits are those of the original. */
#ifndef DLX_BENCH_TB_GRAPH_H
#define DLX_BENCH_TB_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

struct tb_pattern;
struct tb_kernel;

struct tb_graph {
	int64_t index;               /* among the graphs of the command line */
	int64_t steps, width;
	const struct tb_pattern *pattern;
	int64_t radix;
	int64_t period;              /* of spread and random_nearest, else 0; below 0: not given */
	double fraction;             /* of random_nearest: the share of edges that exist */
	const struct tb_kernel *kernel;
	int64_t iterations, samples;
	double imbalance;
	int64_t output_bytes, scratch_bytes;     /* of a task */
	int64_t fields;
};

/* The graph of a command line without flags. */
struct tb_graph tb_graph_default(int64_t index);
/* Completes a graph that flags describe, and refuses it (E_USAGE) where the original does: a wrong
 * period, or an edge that occurs twice. */
int tb_graph_finish(struct tb_graph *g);

/* NULL for an unknown name; the i-th of all, NULL at the end. */
const struct tb_pattern *tb_pattern_find(const char *name);
const char *tb_pattern_name(const struct tb_pattern *p);
const struct tb_pattern *tb_pattern_at(int i);

/* The columns that exist at step t: first .. end - 1. None before step 0. */
struct tb_range {
	int64_t first, end;
};
struct tb_range tb_active(const struct tb_graph *g, int64_t t);
/* Whether all columns exist at all steps. */
bool tb_is_even(const struct tb_graph *g);

int64_t tb_sets(const struct tb_graph *g);
int64_t tb_set(const struct tb_graph *g, int64_t t);
/* The columns that column i depends on in a set, in the order in which a task validates its inputs.
 * Returns their number, at most tb_most(g). */
int64_t tb_dependences(const struct tb_graph *g, int64_t set, int64_t i, int64_t *from);
int64_t tb_most(const struct tb_graph *g);

/* All dependences of a graph, and their inverse. */
struct tb_list {
	int64_t n;
	const int64_t *v;
};
struct tb_edges;
struct tb_edges *tb_edges_new(const struct tb_graph *g);
void tb_edges_free(struct tb_edges *e);
/* What column i depends on in a set; the columns that depend on column i, in ascending order. */
struct tb_list tb_inputs(const struct tb_edges *e, int64_t set, int64_t i);
struct tb_list tb_readers(const struct tb_edges *e, int64_t set, int64_t i);

/* The columns of rank r of n. */
static inline struct tb_range tb_share(const struct tb_graph *g, int64_t r, int64_t n)
{
	return (struct tb_range){ r * g->width / n, (r + 1) * g->width / n };
}

static inline bool tb_within(struct tb_range r, int64_t i)
{
	return i >= r.first && i < r.end;
}

#endif
