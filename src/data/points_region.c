/* SPDX-License-Identifier: BSD-3-Clause
 *
 * To decide whether a point of a face belongs to the boundary of a difference, both sides are
 * tested: a small step out along the normal and one back, of which exactly one must be in the
 * region. This needs no rules for holes in holes, holes at the border, or common faces. */
#include "data/points_region.h"

#include <math.h>
#include <string.h>

#include "base/err.h"

#define PI 3.14159265358979323846
#define STEP 1e-8                        /* of the extent of the region along each axis */

static int factor_axes(const struct points_factor *f)
{
	return f->kind == FACTOR_DISK || f->kind == FACTOR_POLYGON ? 2 : 1;
}

/* --- regions --- */

int points_region_axis(const struct points_region *r, const char *name)
{
	for (int i = 0; i < r->naxes; i++)
		if (strcmp(r->axis[i], name) == 0)
			return i;
	return -1;
}

static void factor_reach(const struct points_factor *f, int side, double *low, double *high)
{
	*low = f->low;
	*high = f->kind == FACTOR_VALUE ? f->low : f->high;
	if (f->kind == FACTOR_DISK) {
		*low = f->center[side] - f->radius;
		*high = f->center[side] + f->radius;
	} else if (f->kind == FACTOR_POLYGON) {
		*low = f->polygon->low[side];
		*high = f->polygon->high[side];
	}
}

void points_region_reach(const struct points_region *r, int axis, double *low, double *high)
{
	for (int i = 0; i < r->nfactors; i++)
		for (int side = 0; side < factor_axes(&r->factor[i]); side++)
			if (r->factor[i].axis[side] == axis)
				factor_reach(&r->factor[i], side, low, high);
}

struct points_region *points_region_extend(struct arena *a, const struct points_region *r,
                                           const struct points_region *whole)
{
	struct points_region *e = arena_copy(a, r, sizeof *r);
	e->naxes = whole->naxes;
	memcpy(e->axis, whole->axis, sizeof e->axis);
	for (int i = 0; i < e->nfactors; i++)
		for (int side = 0; side < factor_axes(&e->factor[i]); side++)
			e->factor[i].axis[side] = points_region_axis(whole, r->axis[r->factor[i].axis[side]]);
	for (int i = 0; i < whole->naxes; i++)
		if (points_region_axis(r, whole->axis[i]) < 0) {
			struct points_factor *f = &e->factor[e->nfactors++];
			*f = (struct points_factor){ .kind = FACTOR_FREE, .axis = { i } };
			points_region_reach(whole, i, &f->low, &f->high);
		}
	e->minus = ARENA_ARRAY(a, const struct points_region *, r->nminus + 1);
	for (int i = 0; i < r->nminus; i++)
		e->minus[i] = points_region_extend(a, r->minus[i], whole);
	return e;
}

/* But for the rounding of a point on the edge of a polygon. */
static bool equals(double x, double value)
{
	return fabs(x - value) <= 1e-14 * fabs(value);
}

static bool factor_contains(const struct points_factor *f, const double *x)
{
	const double p[2] = { x[f->axis[0]], x[f->axis[1]] };
	double dx, dy;
	switch (f->kind) {
	case FACTOR_INTERVAL:
		return p[0] >= f->low && p[0] <= f->high;
	case FACTOR_VALUE:
		return equals(p[0], f->low);
	case FACTOR_ENDS:
		return equals(p[0], f->low) || equals(p[0], f->high);
	case FACTOR_DISK:
		dx = p[0] - f->center[0];
		dy = p[1] - f->center[1];
		return dx * dx + dy * dy <= f->radius * f->radius;
	case FACTOR_POLYGON:
		return points_polygon_contains(f->polygon, p);
	default:
		return true;
	}
}

static bool shape_contains(const struct points_region *r, const double *x)
{
	for (int i = 0; i < r->nfactors; i++)
		if (!factor_contains(&r->factor[i], x))
			return false;
	return true;
}

bool points_region_lacks(const struct points_region *r, const double *x)
{
	for (int i = 0; i < r->nminus; i++)
		if (points_region_contains(r->minus[i], x))
			return true;
	return false;
}

bool points_region_contains(const struct points_region *r, const double *x)
{
	return shape_contains(r, x) && !points_region_lacks(r, x);
}

/* --- maps --- */

int points_factor_dims(const struct points_factor *f)
{
	return f->kind == FACTOR_VALUE ? 0 : factor_axes(f);
}

int points_region_dims(const struct points_region *r)
{
	int n = 0;
	for (int i = 0; i < r->nfactors; i++)
		n += points_factor_dims(&r->factor[i]);
	return n;
}

/* Exact at both ends. */
static double from_to(double low, double high, double u)
{
	return (1 - u) * low + u * high;
}

static void map_factor(const struct points_factor *f, const double *u, double *x)
{
	double p[2], radius;
	if (f->kind == FACTOR_DISK) {
		radius = f->radius * sqrt(u[0]);
		x[f->axis[0]] = f->center[0] + radius * cos(2 * PI * u[1]);
		x[f->axis[1]] = f->center[1] + radius * sin(2 * PI * u[1]);
	} else if (f->kind == FACTOR_POLYGON) {
		points_polygon_map(f->polygon, u, p);
		x[f->axis[0]] = p[0];
		x[f->axis[1]] = p[1];
	} else if (f->kind == FACTOR_VALUE) {
		x[f->axis[0]] = f->low;
	} else if (f->kind == FACTOR_ENDS) {
		x[f->axis[0]] = u[0] < 0.5 ? f->low : f->high;
	} else {
		x[f->axis[0]] = from_to(f->low, f->high, u[0]);
	}
}

void points_region_map(const struct points_region *r, const double *u, double *x)
{
	for (int i = 0; i < r->nfactors; i++) {
		map_factor(&r->factor[i], u, x);
		u += points_factor_dims(&r->factor[i]);
	}
}

/* --- faces --- */

int points_region_shapes(const struct points_region *r)
{
	int n = 1;
	for (int i = 0; i < r->nminus; i++)
		n += points_region_shapes(r->minus[i]);
	return n;
}

static int list_shapes(const struct points_region *r, const struct points_region **out)
{
	int n = 0;
	out[n++] = r;
	for (int i = 0; i < r->nminus; i++)
		n += list_shapes(r->minus[i], out + n);
	return n;
}

static int factor_faces(const struct points_factor *f)
{
	return f->kind == FACTOR_POLYGON ? f->polygon->n : f->kind == FACTOR_DISK ? 1 :
	       f->kind == FACTOR_INTERVAL ? 2 : 0;
}

static double factor_area(const struct points_factor *f)
{
	return f->kind == FACTOR_POLYGON ? f->polygon->area :
	       f->kind == FACTOR_DISK ? PI * f->radius * f->radius : f->high - f->low;
}

static double face_area(const struct points_region *shape, int factor, int part)
{
	const struct points_factor *f = &shape->factor[factor];
	double area = f->kind == FACTOR_POLYGON ? points_polygon_edge(f->polygon, part) :
	              f->kind == FACTOR_DISK ? 2 * PI * f->radius : 1;
	for (int i = 0; i < shape->nfactors; i++)
		if (i != factor)
			area *= factor_area(&shape->factor[i]);
	return area;
}

/* Appends the faces of shape number `order`; out NULL: counts them. */
static int list_faces(const struct points_region *shape, int order, double *until,
                      struct points_face *out)
{
	int n = 0;
	for (int i = 0; i < shape->nfactors; i++)
		for (int part = 0; part < factor_faces(&shape->factor[i]); part++, n++)
			if (out) {
				*until += face_area(shape, i, part);
				out[n] = (struct points_face){ shape, order, i, part, *until };
			}
	return n;
}

struct points_faces points_faces_of(struct arena *a, const struct points_region *r)
{
	struct points_faces f = { .region = r, .nshapes = points_region_shapes(r) };
	struct points_face *face;
	double until = 0;
	f.shape = ARENA_ARRAY(a, const struct points_region *, f.nshapes);
	list_shapes(r, f.shape);
	for (int i = 0; i < f.nshapes; i++)
		f.n += list_faces(f.shape[i], i, &until, NULL);
	face = ARENA_ARRAY(a, struct points_face, f.n + 1);
	f.face = face;
	for (int i = 0; i < f.nshapes; i++)
		face += list_faces(f.shape[i], i, &until, face);
	return f;
}

/* Converts u in [0, 1) to a face and the remaining coordinate on it. */
static int choose_face(const struct points_faces *f, double *u)
{
	const double area = *u * f->face[f->n - 1].until;
	int from = 0, to = f->n - 1;
	double before;
	while (from < to) {
		const int middle = (from + to) / 2;
		if (f->face[middle].until > area)
			to = middle;
		else
			from = middle + 1;
	}
	before = from > 0 ? f->face[from - 1].until : 0;
	*u = fmin(1, fmax(0, (area - before) / (f->face[from].until - before)));
	return from;
}

/* The boundary of a factor; u: as many coordinates as it has axes, less one. */
static void map_face(const struct points_factor *f, int part, const double *u, double *x,
                     double *normal)
{
	double p[2], out[2];
	if (f->kind == FACTOR_INTERVAL) {
		x[f->axis[0]] = part ? f->high : f->low;
		normal[f->axis[0]] = part ? 1 : -1;
		return;
	}
	if (f->kind == FACTOR_DISK) {
		out[0] = cos(2 * PI * u[0]);
		out[1] = sin(2 * PI * u[0]);
		for (int d = 0; d < 2; d++)
			p[d] = f->center[d] + f->radius * out[d];
	} else {
		points_polygon_on_edge(f->polygon, part, u[0], p, out);
	}
	for (int d = 0; d < 2; d++) {
		x[f->axis[d]] = p[d];
		normal[f->axis[d]] = out[d];
	}
}

int points_faces_dims(const struct points_faces *f)
{
	return f->region->naxes > 1 ? f->region->naxes - 1 : 1;
}

int points_faces_map(const struct points_faces *f, const double *u, double *x, double *normal)
{
	double own[POINTS_DIMS], *at = own;
	const struct points_face *face;
	int number;
	for (int i = 0; i < f->region->naxes; i++)
		normal[i] = 0;
	memcpy(own, u, sizeof *u * (size_t)points_faces_dims(f));
	number = choose_face(f, own);
	face = &f->face[number];
	for (int i = 0; i < face->shape->nfactors; i++) {
		const struct points_factor *of = &face->shape->factor[i];
		if (i == face->factor)
			map_face(of, face->part, at, x, normal);
		else
			map_factor(of, at, x);
		at += factor_axes(of) - (i == face->factor);
	}
	return number;
}

bool points_faces_hold(const struct points_faces *f, int number, const double *x, double *normal)
{
	double out[POINTS_DIMS], in[POINTS_DIMS];
	const int n = f->region->naxes;
	bool inside;
	if (f->nshapes == 1)
		return true;
	for (int i = 0; i < n; i++) {
		double low = 0, high = 0;
		points_region_reach(f->region, i, &low, &high);
		out[i] = x[i] + STEP * (high - low) * normal[i];
		in[i] = x[i] - STEP * (high - low) * normal[i];
	}
	inside = points_region_contains(f->region, in);
	if (inside == points_region_contains(f->region, out))
		return false;
	for (int k = 0; k < f->face[number].order; k++)
		if (shape_contains(f->shape[k], in) != shape_contains(f->shape[k], out))
			return false;
	for (int i = 0; i < n && !inside; i++)
		normal[i] = -normal[i];
	return true;
}
