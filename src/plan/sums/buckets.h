/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buckets of gradients, each all-reduced in one message. They are computed once, when the graph is
 * planned: the predicted times of the backward nodes give the time at which each gradient is ready,
 * and the link model gives the cost of a message. A solver then finds the buckets with which the
 * step ends earliest. Laanait et al. (2019, arXiv:1909.11150) chose theirs from the graph as
 * well. */
#ifndef DLX_PLAN_BUCKETS_H
#define DLX_PLAN_BUCKETS_H

#include "backend/node_time.h"
#include "comm/linkmodel.h"
#include "optim/optim.h"
#include "plan/sums/step_mean.h"

enum grouping_kind { GROUPING_AUTO, GROUPING_NONE, GROUPING_SIZE, GROUPING_COUNT };
struct grouping {
	enum grouping_kind kind;
	int64_t value;               /* SIZE: bytes; COUNT: buckets */
};
/* "auto", "none", "size:25MiB", "count:4". E_CONFIG at loc. */
int grouping_parse(const char *text, const struct loc *loc, struct grouping *out);

/* The ranks and links for which all-reduces are planned. */
struct ranks_plan {
	int ranks;
	bool summed;                 /* gradients are all-reduced over all ranks */
	struct grouping grouping;
	int sync_group;              /* ranks that share their batch statistics; 0 or 1: each rank has
	                              * its own */
	int lag;                     /* 1: updates use the sums of the step before */
	int wire;                    /* index in all_reduce_wires */
	const struct linkmodel *link;
	struct node_rates rates;     /* rates of the ranks' devices, from which the times at which
	                              * gradients are ready are predicted */
	const struct buckets *given; /* buckets of the plan for another batch size or of another rank,
	                              * which must be reused; or NULL */
};

struct buckets {
	int n;                       /* number of buckets */
	int *first;                  /* n + 1 positions: bucket k holds the parameters at positions
	                              * first[k] to first[k + 1] - 1 of `order` */
	int params, *order;          /* number of parameters; their order, as in the bundles
	                              * (optim/optim.h) */
	int64_t *bytes;              /* bytes that the all-reduce of each bucket sends */
	tid *wait;                   /* tensors that buckets_emit hands to buckets_emit_lagged */
};

/* Divides b's parameters into buckets. The result is in the graph's arena. Call after the backward
 * nodes were emitted. at_once: no update begins before all sums are done. */
struct buckets *buckets_solve(struct graph *g, const struct bundles *b, const struct ranks_plan *r,
                              bool at_once);
/* Copies the buckets and the order, for another plan that must have the same. */
struct buckets *buckets_copy(struct arena *a, const struct buckets *k);
/* The gradients that the solver divides, in the order in which they are ready. */
struct gradients {
	int n;
	const double *ready;         /* seconds, ascending */
	const double *update;        /* seconds of the update that follows each one's all-reduce; NULL:
	                              * the updates follow all of them, or take no time */
	const int64_t *bytes;
};
/* The solver alone: divides gradients into buckets. first has room for n + 1. Returns the number of
 * buckets. */
int buckets_cut(const struct grouping *how, const struct linkmodel *link, const struct gradients *g,
                int *first);

/* Emits the all-reduces. Afterwards b->grad are the sums over all ranks, divided by `divided`, and
 * m->terms is the sum of all ranks' terms. With a gradient lag these are the sums of the previous
 * step; buckets_emit_lagged, called after the updates, then starts the all-reduces of this step. */
int buckets_emit(struct graph *g, struct bundles *b, struct buckets *k, struct mean *m,
                 const struct ranks_plan *r, double divided);
/* Emits the all-reduce of an additional bucket, number `bucket`, of n tensors. Each value[i] is
 * replaced by its sum in this step, which has the name and shape of base[i]. */
int buckets_emit_more(struct graph *g, int bucket, int n, const tid *base, tid *value);
int buckets_emit_lagged(struct graph *g, const struct bundles *b, struct buckets *k,
                        const struct ranks_plan *r, double divided);

#endif
