/* SPDX-License-Identifier: BSD-3-Clause */
#include "op/lib/reads.h"

bool reads_point(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                 int64_t *hi)
{
	const struct shape *x = node_in_shape(g, n, i), *y = node_out_shape(g, n, 0);
	if (x->nd != y->nd)
		return false;
	if (x->d[axis] == 1 && y->d[axis] > 1)
		*lo = *hi = 0;
	return x->d[axis] == 1 || x->d[axis] == y->d[axis];
}
