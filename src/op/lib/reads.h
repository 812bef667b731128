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
/* Output o reads from o * stride - pad on, and `reach` elements more. */
static inline bool reads_window(int64_t stride, int64_t pad, int64_t reach, int64_t *lo,
                                int64_t *hi)
{
	*lo = *lo * stride - pad;
	*hi = *hi * stride - pad + reach;
	return true;
}

#endif
