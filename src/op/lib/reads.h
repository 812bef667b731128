/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the callbacks `reads` of ops (graph/op.h). */
#ifndef DLX_OP_LIB_READS_H
#define DLX_OP_LIB_READS_H

#include "graph/op.h"

/* Of ops that compute each place from the same place: an axis of in[i] that is as long as the
 * output's is read there, one of extent 1 that is repeated is read at 0. */
bool reads_point(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                 int64_t *hi);
/* Entry k of the list v, which has one for each axis, one for all of them, or none: then it is
 * dflt. */
static inline int64_t reads_entry(const struct ints *v, int k, int64_t dflt)
{
	return v->n == 0 ? dflt : v->v[v->n == 1 ? 0 : k];
}
/* Entry k of such a list of n becomes x; the list is made anew in g's arena. */
void reads_set(struct graph *g, struct ints *v, int n, int k, int64_t dflt, int64_t x);
/* The callback `part` of ops with attributes pad_lo and pad_hi of zeros, or of what does not count,
 * around a window. */
bool reads_window_part(struct graph *g, struct node *n, const struct op_part *p);
/* Output o reads from o * stride - pad on, and `reach` elements more. */
static inline bool reads_window(int64_t stride, int64_t pad, int64_t reach, int64_t *lo,
                                int64_t *hi)
{
	*lo = *lo * stride - pad;
	*hi = *hi * stride - pad + reach;
	return true;
}

#endif
