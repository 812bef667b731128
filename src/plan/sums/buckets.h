/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buckets of gradients, each all-reduced in one message. They are computed once, when
 * the graph is planned: backward gives the time at which each gradient is ready, the link model the
 * cost of a message, so the best cut can be solved for. Laanait et al. (2019, arXiv:1909.11150)
 * chose theirs from the graph as well. */
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

/* What all-reduces are planned for. */
struct ranks_plan {
	int ranks;
	bool summed;                 /* gradients are, over all ranks */
	struct grouping grouping;
	int sync_group;              /* of these, how many have their batch
	                              * statistics together; 0 or 1: none */
	int lag;                     /* 1: updates use the sums of the step before */
	int wire;                    /* index in all_reduce_wires */
	const struct linkmodel *link;
	struct node_rates rates;     /* of the ranks' devices: ready times follow from them */
	const struct buckets *given; /* those of another batch size's or rank's plan,
	                              * which these must match; or NULL */
};

struct buckets {
	int n;                       /* of gradients */
	int *first;                  /* n + 1: bucket k is first[k] .. first[k + 1]
	                              * - 1 of the bundles' order */
	int params, *order;          /* the bundles' (optim/optim.h) */
	int64_t *bytes;              /* that an all-reduce of each bucket sends */
	tid *wait;                   /* for the lagged part; the emission's own */
};

/* Cuts b's parameters. In the graph's arena. Call after backward was emitted. */
struct buckets *buckets_solve(struct graph *g, const struct bundles *b, const struct ranks_plan *r);
/* A copy of the cuts and the order, for plans that must have the same. */
struct buckets *buckets_copy(struct arena *a, const struct buckets *k);
/* Only the cut: of n sizes (bytes) that are ready at these seconds, ascending. first: room for n +
 * 1; returns the number of buckets. */
int buckets_cut(const struct grouping *how, const struct linkmodel *link, int n,
                const double *ready, const int64_t *bytes, int *first);

/* b->grad become the sums over all ranks, divided by `divided`, and m->terms the sum of all ranks'
 * terms. With a lag they are the sums of the step before, and buckets_emit_lagged, after the
 * updates, starts the all-reduces of this step. */
int buckets_emit(struct graph *g, struct bundles *b, struct buckets *k, struct mean *m,
                 const struct ranks_plan *r, double divided);
/* Emits one more bucket, number `bucket`, of n values, which become the sums of this step; base:
 * the tensors whose names and shapes the values have. */
int buckets_emit_more(struct graph *g, int bucket, int n, const tid *base, tid *value);
int buckets_emit_lagged(struct graph *g, const struct bundles *b, struct buckets *k,
                        const struct ranks_plan *r, double divided);

#endif
