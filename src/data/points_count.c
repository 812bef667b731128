/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The number of points of a set. A grid has the number of points along each axis that `count`
 * gives, or a single number is divided over the axes as evenly as possible; a number that is no
 * such product is refused, not rounded. */
#include <math.h>

#include "base/err.h"
#include "data/points_parts.h"
#include "yaml/schema_value.h"

static int whole_number(const struct ynode *n, const char *what, int64_t *out)
{
	if (n->kind == Y_SCALAR && y_int(n, out) && *out >= 1 && *out <= POINTS_MOST)
		return 0;
	*out = 1;
	return ERR(E_CONFIG, &n->loc, "%s must be an integer from 1 to %d%s%s%s", what, POINTS_MOST,
	           n->kind == Y_SCALAR ? ", not '" : "", n->kind == Y_SCALAR ? n->text : "",
	           n->kind == Y_SCALAR ? "'" : "");
}

/* The count of a grid whose first `more` intervals have m + 1 points, the others m. */
static double grid_points(const struct points_geometry *g, int64_t m, int more)
{
	double n = 1;
	for (int i = 0; i < g->body.nfactors; i++)
		if (g->body.factor[i].kind == FACTOR_INTERVAL)
			n *= (double)(more-- > 0 ? m + 1 : m);
		else if (g->body.factor[i].kind == FACTOR_ENDS)
			n *= 2;
	return n;
}

/* As many along each interval as the count allows, one more along the first ones. */
static int even_grid(const struct ynode *count, int64_t wanted, struct points_geometry *g)
{
	int axes = 0, more = 0, d = 0;
	int64_t m;
	for (int i = 0; i < g->body.nfactors; i++)
		axes += g->body.factor[i].kind == FACTOR_INTERVAL;
	m = (int64_t)pow((double)wanted / grid_points(g, 1, 0), 1.0 / axes) - 1;
	m = m < 1 ? 1 : m;
	while (grid_points(g, m, axes) <= (double)wanted)
		m++;
	while (grid_points(g, m, more + 1) <= (double)wanted)
		more++;
	if (grid_points(g, m, more) != (double)wanted)
		return ERR(E_CONFIG, &count->loc, "a grid of %d axes has %.0f or %.0f points, not %lld, or "
		           "as many along each axis as in 'count: {%s: 31}'", axes,
		           grid_points(g, m, more), grid_points(g, m, more + 1), (long long)wanted,
		           g->body.axis[0]);
	for (int i = 0; i < g->body.nfactors; i++)
		if (g->body.factor[i].kind == FACTOR_INTERVAL)
			g->grid[d++] = more-- > 0 ? m + 1 : m;
		else if (g->body.factor[i].kind == FACTOR_ENDS)
			g->grid[d++] = 2;
	return 0;
}

/* {x: 31, t: 11} */
static int grid_by_axis(struct arena *a, const struct ynode *count, struct points_geometry *g,
                        int64_t *out)
{
	int rc = 0, d = 0, found = 0;
	double all = 1;
	for (int i = 0; i < g->body.nfactors; i++) {
		const struct points_factor *f = &g->body.factor[i];
		const char *axis = g->body.axis[f->axis[0]];
		const struct ynode *n = ytree_find(count, axis);
		if (f->kind == FACTOR_ENDS)
			g->grid[d++] = 2;
		if (f->kind == FACTOR_INTERVAL && !n)
			rc = first_code(rc, ERR(E_CONFIG, &count->loc, "'count' lacks axis '%s'", axis));
		if (f->kind == FACTOR_INTERVAL && n) {
			rc = first_code(rc, whole_number(n, arena_printf(a, "'%s'", axis), &g->grid[d++]));
			found++;
		}
		all *= d > 0 && f->kind != FACTOR_VALUE ? (double)g->grid[d - 1] : 1;
	}
	TRY(rc);
	if (found < count->n)
		return ERR(E_CONFIG, &count->loc, "'count' names what is no interval of 'box'");
	if (all > POINTS_MOST)
		return ERR(E_CONFIG, &count->loc, "'count' is %.0f points; expected at most %d", all,
		           POINTS_MOST);
	*out = (int64_t)all;
	return 0;
}

int points_read_count(struct arena *a, const struct ynode *count, struct point_set *s,
                      struct points_geometry *g)
{
	const bool grid = s->draw == POINTS_GRID && !s->record;
	bool box = grid && !g->on_faces && !g->rejects;
	for (int i = 0; grid && i < g->body.nfactors; i++)
		box &= g->body.factor[i].kind != FACTOR_DISK && g->body.factor[i].kind != FACTOR_POLYGON;
	if (grid && !box && g->distinct == 0)
		return ERR(E_CONFIG, &s->loc, "'grid' is for a box alone; '%s' may be drawn by 'sobol'",
		           s->name);
	if (!count) {
		s->count = s->record ? 0 : g->distinct;
		return 0;
	}
	if (count->kind == Y_MAP && grid && g->distinct == 0)
		return grid_by_axis(a, count, g, &s->count);
	if (count->kind == Y_MAP)
		return ERR(E_CONFIG, &count->loc, "'count' by axes is for 'draw: grid' of a box alone; "
		           "expected an integer");
	TRY(whole_number(count, "'count'", &s->count));
	return grid && g->distinct == 0 ? even_grid(count, s->count, g) : 0;
}
