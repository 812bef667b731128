/* SPDX-License-Identifier: BSD-3-Clause */
#include "op/lib/reads.h"

#include "graph/attr.h"
#include "op/lib/emit.h"

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

void reads_set(struct graph *g, struct ints *v, int n, int k, int64_t dflt, int64_t x)
{
	int64_t all[2 * MAXD];
	for (int i = 0; i < n; i++)
		all[i] = i == k ? x : reads_entry(v, i, dflt);
	*v = ints_make(g, n, all);
}

bool reads_window_part(struct graph *g, struct node *n, const struct op_part *p)
{
	const int axes = node_out_shape(g, n, 0)->nd - 2;
	reads_set(g, attr_find(n->op, n->attr, "pad_lo", FT_INTS), axes, p->axis - 2, 0, p->before);
	reads_set(g, attr_find(n->op, n->attr, "pad_hi", FT_INTS), axes, p->axis - 2, 0, p->after);
	return true;
}
