/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nodes over several tensors at once. After a fixed number of head inputs come groups of tensors,
 * all of a group having one shape: (w, g, m), (w, g, m), ... A network has hundreds of parameters,
 * most of them tiny, and separate updates would cost more in calls than in arithmetic. The elements
 * of all groups count as one row, which is divided evenly among the threads wherever the borders
 * between tensors are. */
#ifndef DLX_OP_UPDATE_BUNDLE_H
#define DLX_OP_UPDATE_BUNDLE_H

#include "graph/op.h"

/* How the inputs and outputs of a node are grouped: input `head + t * in + i` is member i of group
 * t, output `t * out + i` belongs to it. */
struct bundle_form {
	int head, in, out;
	const char *const *member;   /* roles of a group's inputs, for messages */
	struct ints copy_of;         /* one entry for each copy of a group's first output, in order: the
	                              * number of the group. The copies follow the groups. */
	int gradient;                /* the member that may be 16-bit on a GPU, if the kernel supports
	                              * it (takes_narrow in graph/op.h) */
};

/* Copies of new weights in another type or layout are additional inputs and outputs that follow all
 * groups. In the next step a kernel reads the copy instead of converting the weights. On the CPU a
 * copy is rewritten while the new weights are in the cache. */

int bundle_groups(const struct node *n, struct bundle_form f);
/* Shape rule: inputs form complete groups, at least one, and all members of a group are float32 of
 * one shape. */
int bundle_check(struct graph *g, const struct node *n, struct bundle_form f);

/* KL_CHOOSE: all members of a group get the layout of the first member, if it has one, else of any
 * other member, else row-major. The head is row-major. The loop includes padding, so the op must
 * map zero to zero. */
int bundle_choose(struct kplan *k, struct bundle_form f, struct layout *in, struct layout *out);

/* Whether input i is the gradient of a group. */
bool bundle_is_gradient(const struct node *n, struct bundle_form f, int i);

/* The index of copy number i among the node's inputs (outputs). */
int bundle_copy_in(const struct node *n, struct bundle_form f, int i);
int bundle_copy_out(const struct node *n, struct bundle_form f, int i);

/* Counts the elements for bundle_run and stores the result in k->state. */
int bundle_plan(struct kplan *k, struct bundle_form f);

/* Calls range for pieces of the groups, elements [lo, hi) of group t, in parallel if there is
 * enough work. Pieces start at multiples of 16. */
typedef void bundle_range(const struct kplan *k, const struct kargs *a, int t, int64_t lo,
                          int64_t hi);
void bundle_run(const struct kplan *k, const struct kargs *a, bundle_range *range);

/* The same in pieces of BUNDLE_PIECE elements of one tensor, which are numbered consecutively. For
 * sums that must not depend on the number of threads. */
#define BUNDLE_PIECE 16384
int64_t bundle_pieces(const struct kplan *k);
void bundle_run_pieces(const struct kplan *k, const struct kargs *a,
                       void (*piece)(const struct kplan *k, const struct kargs *a, int t,
                                     int64_t lo, int64_t hi, int64_t number));
/* The number of the first piece of group t; if t is the number of groups, the number of all
 * pieces. */
int64_t bundle_first_piece(const struct kplan *k, int t);

#endif
