/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Vertical lines through all corners cut a polygon into trapezoids: between two neighbouring lines
 * no edges cross, and those that reach from one to the other bound trapezoids in pairs. The area
 * left of x is then a monotonic function, and inverting it maps the unit square to the polygon
 * without a rejection; points that lie evenly in the square do so in the polygon. */
#include "data/points_polygon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Twice the area of the triangle a, b, c; positive: counter-clockwise. */
static double turn(const double *a, const double *b, const double *c)
{
	return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
}

static int sign(double x)
{
	return (x > 0) - (x < 0);
}

static bool within(double a, double b, double x)
{
	return x >= fmin(a, b) && x <= fmax(a, b);
}

/* Whether c, which lies on the line through a and b, is between them. */
static bool between(const double *a, const double *b, const double *c)
{
	return within(a[0], b[0], c[0]) && within(a[1], b[1], c[1]);
}

static bool segments_touch(const double *a, const double *b, const double *c, const double *d)
{
	const int ca = sign(turn(a, b, c)), da = sign(turn(a, b, d)), ac = sign(turn(c, d, a)),
	          bc = sign(turn(c, d, b));
	if (ca * da < 0 && ac * bc < 0)
		return true;
	return (ca == 0 && between(a, b, c)) || (da == 0 && between(a, b, d)) ||
	       (ac == 0 && between(c, d, a)) || (bc == 0 && between(c, d, b));
}

/* Neighbouring edges share a corner; they also touch elsewhere if the second one turns back. */
static bool goes_back(const double *a, const double *b, const double *c)
{
	return turn(a, b, c) == 0 &&
	       (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]) <= 0;
}

bool points_polygon_crosses(int n, const double (*corner)[2], int edge[2])
{
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++) {
			const double *a = corner[i], *b = corner[i + 1], *c = corner[j],
			             *d = corner[(j + 1) % n];
			bool touch;
			if (j == i + 1)
				touch = goes_back(a, b, d);
			else if (i == 0 && j == n - 1)
				touch = goes_back(c, d, b);
			else
				touch = segments_touch(a, b, c, d);
			if (touch) {
				edge[0] = i;
				edge[1] = j;
				return true;
			}
		}
	return false;
}

/* --- trapezoids --- */

/* An edge between two lines. */
struct crossing {
	double y[2];                         /* at the lines */
};

static int by_height(const void *x, const void *y)
{
	const struct crossing *a = x, *b = y;
	return sign(a->y[0] + a->y[1] - b->y[0] - b->y[1]);
}

static int by_value(const void *x, const void *y)
{
	return sign(*(const double *)x - *(const double *)y);
}

static double height_at(const double *a, const double *b, double x)
{
	if (x == a[0])
		return a[1];
	if (x == b[0])
		return b[1];
	return a[1] + (b[1] - a[1]) * ((x - a[0]) / (b[0] - a[0]));
}

static int find_crossings(const struct points_polygon *p, double left, double right,
                          struct crossing *out)
{
	int n = 0;
	for (int i = 0; i < p->n; i++) {
		const double *a = p->corner[i], *b = p->corner[(i + 1) % p->n];
		if (fmin(a[0], b[0]) <= left && fmax(a[0], b[0]) >= right)
			out[n++] = (struct crossing){ { height_at(a, b, left), height_at(a, b, right) } };
	}
	qsort(out, (size_t)n, sizeof *out, by_height);
	return n;
}

/* Appends the trapezoids between two lines; out NULL: counts them. */
static int cut_slab(struct points_polygon *p, double left, double right, struct crossing *c,
                    struct trapezoid *out)
{
	const int n = find_crossings(p, left, right, c) / 2;
	for (int i = 0; i < n && out; i++) {
		const struct crossing *low = &c[2 * i], *high = &c[2 * i + 1];
		p->area += (right - left) *
		           (high->y[0] - low->y[0] + high->y[1] - low->y[1]) / 2;
		out[i] = (struct trapezoid){ left, right, { low->y[0], low->y[1] },
			{ high->y[0], high->y[1] }, p->area };
	}
	return n;
}

static void cut(struct arena *a, struct points_polygon *p)
{
	double *line = mem_calloc((size_t)p->n, sizeof *line);
	struct crossing *c = mem_calloc((size_t)p->n, sizeof *c);
	struct trapezoid *t = NULL;
	for (int i = 0; i < p->n; i++)
		line[i] = p->corner[i][0];
	qsort(line, (size_t)p->n, sizeof *line, by_value);
	for (int fills = 0; fills < 2; fills++) {
		int n = 0;
		for (int i = 0; i + 1 < p->n; i++)
			if (line[i] < line[i + 1])
				n += cut_slab(p, line[i], line[i + 1], c, t ? t + n : NULL);
		if (!t)
			t = ARENA_ARRAY(a, struct trapezoid, n + 1);
		p->ntrapezoids = n;
	}
	p->trapezoid = t;
	mem_free(line);
	mem_free(c);
}

struct points_polygon *points_polygon_new(struct arena *a, int n, const double (*corner)[2])
{
	struct points_polygon *p = ARENA_NEW(a, struct points_polygon);
	double (*own)[2] = arena_alloc(a, sizeof *own * (size_t)n), twice = 0;
	for (int i = 0; i < n; i++)
		twice += turn(corner[0], corner[i], corner[(i + 1) % n]);
	for (int i = 0; i < n; i++)
		memcpy(own[i], corner[twice > 0 ? i : n - 1 - i], sizeof *own);
	p->n = n;
	p->corner = (const double (*)[2])own;
	for (int d = 0; d < 2; d++) {
		p->low[d] = INFINITY;
		p->high[d] = -INFINITY;
		for (int i = 0; i < n; i++) {
			p->low[d] = fmin(p->low[d], own[i][d]);
			p->high[d] = fmax(p->high[d], own[i][d]);
		}
	}
	cut(a, p);
	return p;
}

/* --- points --- */

/* Crossings of edges by the ray from x upwards: an odd number inside. */
bool points_polygon_contains(const struct points_polygon *p, const double x[2])
{
	bool inside = false;
	for (int i = 0; i < p->n; i++) {
		const double *a = p->corner[i], *b = p->corner[(i + 1) % p->n];
		if ((a[0] > x[0]) != (b[0] > x[0]) && x[1] < height_at(a, b, x[0]))
			inside = !inside;
	}
	return inside;
}

static const struct trapezoid *find_trapezoid(const struct points_polygon *p, double area)
{
	int from = 0, to = p->ntrapezoids - 1;
	while (from < to) {
		const int middle = (from + to) / 2;
		if (p->trapezoid[middle].until > area)
			to = middle;
		else
			from = middle + 1;
	}
	return &p->trapezoid[from];
}

/* The fraction f of a trapezoid's width that has the fraction w of its area to the left of it: the
 * solution of a quadratic equation, in the form without cancellation. */
static double width_of(double h0, double h1, double w)
{
	const double root = sqrt(fmax(0, h0 * h0 + w * (h1 * h1 - h0 * h0)));
	return h0 + root > 0 ? w * (h0 + h1) / (h0 + root) : 0;
}

void points_polygon_map(const struct points_polygon *p, const double u[2], double x[2])
{
	const double area = u[0] * p->area;
	const struct trapezoid *t = find_trapezoid(p, area);
	const double before = t == p->trapezoid ? 0 : t[-1].until;
	const double w = fmin(1, fmax(0, (area - before) / (t->until - before)));
	const double f = width_of(t->high[0] - t->low[0], t->high[1] - t->low[1], w);
	const double low = t->low[0] + f * (t->low[1] - t->low[0]),
	             high = t->high[0] + f * (t->high[1] - t->high[0]);
	x[0] = t->left + f * (t->right - t->left);
	x[1] = low + u[1] * (high - low);
}

double points_polygon_edge(const struct points_polygon *p, int e)
{
	const double *a = p->corner[e], *b = p->corner[(e + 1) % p->n];
	return hypot(b[0] - a[0], b[1] - a[1]);
}

void points_polygon_on_edge(const struct points_polygon *p, int e, double u, double x[2],
                            double normal[2])
{
	const double *a = p->corner[e], *b = p->corner[(e + 1) % p->n];
	const double length = points_polygon_edge(p, e);
	for (int d = 0; d < 2; d++)
		x[d] = (1 - u) * a[d] + u * b[d];
	normal[0] = (b[1] - a[1]) / length;
	normal[1] = (a[0] - b[0]) / length;
}
