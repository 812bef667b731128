/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Index arithmetic for ops with batch, channel and spatial axes. */
#include "op/lib/grid.h"

#include "backend/device.h"
#include "base/err.h"
#include "op/lib/check.h"

struct grid grid_of(const struct shape *s)
{
	struct grid g = { s->nd - 2, s->d[0], s->d[1], { 1, 1, 1 } };
	BUG_IF(s->nd < 2 || s->nd > 5, "grid of %d axes", s->nd);
	for (int i = 0; i < g.axes; i++)
		g.d[3 - g.axes + i] = s->d[2 + i];
	return g;
}

struct shape grid_shape(const struct grid *g)
{
	struct shape s = { .nd = 2 + g->axes, .d = { g->n, g->c } };
	for (int i = 0; i < g->axes; i++)
		s.d[2 + i] = g->d[3 - g->axes + i];
	return s;
}

int64_t grid_points(const struct grid *g)
{
	return g->d[0] * g->d[1] * g->d[2];
}

int grid_ints(const struct loc *loc, const struct node *n, const char *what, const struct ints *a,
              int axes, int64_t dflt, int64_t out[3])
{
	if (a->n > 1 && a->n != axes)
		return ERR(E_CONFIG, loc,
		           "layer '%s': '%s' of '%s' has %d entries, expected 1 or %d",
		           check_layer(n), what, n->op->name, a->n, axes);
	for (int i = 0; i < 3; i++) {
		int j = i - (3 - axes);
		out[i] = j < 0 || a->n == 0 ? dflt : a->v[a->n == 1 ? 0 : j];
	}
	return 0;
}

void grid_split(const struct shape *s, int64_t flat, int64_t *i)
{
	for (int a = s->nd - 1; a >= 0; a--) {
		i[a] = flat % s->d[a];
		flat /= s->d[a];
	}
}

int64_t grid_join(const struct shape *s, const int64_t *i)
{
	int64_t flat = 0;
	for (int a = 0; a < s->nd; a++)
		flat = flat * s->d[a] + i[a];
	return flat;
}

void grid_memory_order(const struct kplan *k, const struct shape *s, int order[MAXD])
{
	const bool plain = s->nd < 3 || k->dev->backend == BACKEND_DOUBLE;
	for (int a = 0; a < s->nd; a++)
		order[a] = plain || a == 0 ? a : a == s->nd - 1 ? 1 : a + 1;
}
