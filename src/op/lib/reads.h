/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by implementations of the op callback `reads` (graph/op.h). */
#ifndef DLX_OP_LIB_READS_H
#define DLX_OP_LIB_READS_H

#include "graph/op.h"

/* For ops that compute each output element from the same place of the inputs: if the axis of in[i]
 * is as long as the output's, the range stays; if its extent is 1 (broadcast), the range is index
 * 0. */
bool reads_point(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                 int64_t *hi);
/* Entry k of the list v, which has one entry for each axis, one for all axes, or none; an empty
 * list gives dflt. */
static inline int64_t reads_entry(const struct ints *v, int k, int64_t dflt)
{
	return v->n == 0 ? dflt : v->v[v->n == 1 ? 0 : k];
}
/* Sets entry k of such a list for n axes to x. The list is expanded to n entries in g's arena. */
void reads_set(struct graph *g, struct ints *v, int n, int k, int64_t dflt, int64_t x);
/* The op callback `part` of ops that pad a window by pad_lo and pad_hi, with zeros or with places
 * that do not count. */
bool reads_window_part(struct graph *g, struct node *n, const struct op_part *p);
/* Maps a range of outputs to the range of inputs: output o reads the elements from o * stride - pad
 * to o * stride - pad + reach. */
static inline bool reads_window(int64_t stride, int64_t pad, int64_t reach, int64_t *lo,
                                int64_t *hi)
{
	*lo = *lo * stride - pad;
	*hi = *hi * stride - pad + reach;
	return true;
}

#endif
