/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes over several tensors at once: after a fixed head of inputs, groups of tensors of one shape
 * each, (w, g, m), (w, g, m), ... A network has hundreds of parameters, most of them tiny, and an
 * update of each by itself costs more in calls than in arithmetic. All elements count as one row
 * that is cut evenly among the threads, whatever tensors the cuts fall into. */
#ifndef DLX_OP_UPDATE_BUNDLE_H
#define DLX_OP_UPDATE_BUNDLE_H

#include "graph/op.h"

/* How the inputs and outputs of a node are grouped: input `head + t * in + i` is member i of group
 * t, output `t * out + i` belongs to it. */
struct bundle_form {
	int head, in, out;
	const char *const *member;   /* what the inputs of a group are, for messages */
	struct ints copy_of;         /* after the groups: for each copy of a first output the group
	                              * that it is of, in order */
	int gradient;                /* the member that may be of 16 bits on a GPU, if the kernel says
	                              * that any may (takes_narrow in graph/op.h) */
};

/* Copies of new weights in another type or layout, which follow all groups, as inputs and as
 * outputs: a kernel reads them in the next step instead of making them. On the CPU they are
 * rewritten while what they are copies of is in the cache. */

int bundle_groups(const struct node *n, struct bundle_form f);
/* Shape rule: inputs form complete groups, at least one, and all members of a group are float32 of
 * one shape. */
int bundle_check(struct graph *g, const struct node *n, struct bundle_form f);

/* KL_CHOOSE: all members of a group get the layout that its first member has, else one that any
 * has, else row-major; the head is row-major. Zero must stay zero: padding is walked too. */
int bundle_choose(struct kplan *k, struct bundle_form f, struct layout *in, struct layout *out);

/* Whether input i is the gradient of a group. */
bool bundle_is_gradient(const struct node *n, struct bundle_form f, int i);

/* Which input (output) copy i is. */
int bundle_copy_in(const struct node *n, struct bundle_form f, int i);
int bundle_copy_out(const struct node *n, struct bundle_form f, int i);

/* Counts elements, for the walk; kept in k->state. */
int bundle_plan(struct kplan *k, struct bundle_form f);

/* Calls range on pieces of the groups, in parallel if there is enough to do: elements [lo, hi) of
 * group t. Pieces start at multiples of 16. */
typedef void bundle_range(const struct kplan *k, const struct kargs *a, int t, int64_t lo,
                          int64_t hi);
void bundle_run(const struct kplan *k, const struct kargs *a, bundle_range *range);

/* The same in pieces of BUNDLE_PIECE elements of one tensor, numbered through, for sums that must
 * not depend on the number of threads. */
#define BUNDLE_PIECE 16384
int64_t bundle_pieces(const struct kplan *k);
void bundle_run_pieces(const struct kplan *k, const struct kargs *a,
                       void (*piece)(const struct kplan *k, const struct kargs *a, int t,
                                     int64_t lo, int64_t hi, int64_t number));
/* The first piece of group t; for one past the last group: the number of pieces. */
int64_t bundle_first_piece(const struct kplan *k, int t);

#endif
