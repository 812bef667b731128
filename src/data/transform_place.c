/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The warps rotate, zoom and elastic: they compute the input position of each output point.
 * Positions are in grid points, relative to the centre of the field.
 *
 * elastic draws a random displacement for each point of a coarse grid and interpolates it by Keys'
 * cubic (a = -1/2), as Ronneberger et al. (2015) do; the field is smooth and has the given standard
 * deviation at the grid points. */
#include <math.h>

#include "base/err.h"
#include "base/rng.h"
#include "data/transform_warp.h"

static const char *const about_names[] = { "depth", "height", "width", NULL };

#define WARP_FIELDS(type)                                                                    \
	FIELD_AT("probability", FT_FLOAT, offsetof(type, warp.probability), .dflt = "1",         \
	         .min = 0, .max = 1, .doc = "probability that a sample is transformed"),               \
	FIELD_AT("outside", FT_ENUM, offsetof(type, warp.outside), .dflt = "fill",               \
	         .choices = warp_outside_names,                                                  \
	         .doc = "what inputs are outside the field: fill: one number; edge: the border " \
	                "repeats; reflect: mirrored at the border's points; wrap: periodic"),    \
	FIELD_AT("fill", FT_FLOAT, offsetof(type, warp.fill), .dflt = "0", .min = -1e30,         \
	         .max = 1e30,                                                                          \
	         .doc = "the number for fill, in the units that values have at this step"),            \
	FIELD_AT("target", FT_STRING, offsetof(type, warp.target), .dflt = "auto",               \
	         .doc = "what targets are there: ignore: the data's ignore value; same: as the " \
	                "inputs do; a number (nan: missing); auto: class labels ignore, values " \
	                "same, 0 with fill")

const struct field transform_rotate_fields[] = {
	FIELD(struct rotate_options, degrees, FT_FLOATS, .dflt = "", .min = -360, .max = 360,
	      .flags = FIELD_SHORTHAND,
	      .doc = "smallest and largest angle, counter-clockwise; one number: to both sides"),
	FIELD_ENUM(struct rotate_options, about, "depth", about_names,
	           "axis that is rotated about; depth turns height and width"),
	WARP_FIELDS(struct rotate_options),
	FIELD_END
};

const struct field transform_zoom_fields[] = {
	FIELD(struct zoom_options, scale, FT_FLOATS, .dflt = "", .min = 0.01, .max = 100,
	      .flags = FIELD_SHORTHAND,
	      .doc = "smallest and largest factor, above 1 enlarges; one number: the smallest is its "
	             "inverse; uniform in the logarithm"),
	WARP_FIELDS(struct zoom_options),
	FIELD_END
};

const struct field transform_elastic_fields[] = {
	FIELD_SHORT(struct elastic_options, magnitude, FT_FLOAT, "", 0, 1e4,
	            "standard deviation of the displacements, in points"),
	FIELD_INT(struct elastic_options, spacing, "32", 2, 1 << 20,
	          "distance of the points of the coarse grid that are displaced, in points of "
	          "the field"),
	WARP_FIELDS(struct elastic_options),
	FIELD_END
};

static double middle(const struct step *s, int axis)
{
	return (double)(s->before.d[axis] - 1) / 2;
}

/* --- rotate --- */

int range_check(const struct floats *v, const char *key, const struct loc *loc)
{
	if (v->n != 1 && v->n != 2)
		return ERR(E_CONFIG, loc, "'%s' takes one number, or the smallest and the largest", key);
	if (v->n == 2 && v->v[0] > v->v[1])
		return ERR(E_CONFIG, loc, "'%s': the smallest, %g, is above the largest, %g", key, v->v[0],
		           v->v[1]);
	return 0;
}

int rotate_check(const void *options, const struct loc *loc)
{
	const struct rotate_options *o = options;
	TRY(range_check(&o->degrees, "degrees", loc));
	return warp_check(&o->warp, loc);
}

int rotate_plan(struct chain_state *p, struct step *s)
{
	const struct rotate_options *o = s->options;
	TRY(rotate_check(o, &s->loc));
	if (p->g.nspatial < 2)
		return ERR(E_SHAPE, &s->loc, "rotate needs two spatial axes; the inputs have %d",
		           p->g.nspatial);
	if (p->g.nspatial == 2 && o->about != 0)
		return ERR(E_SHAPE, &s->loc, "'about: %s' is for volumes; the inputs have two spatial axes",
		           about_names[o->about]);
	return warp_plan(p, s);
}

/* Axis a points down and axis b to the right. */
void rotate_place(const struct step *s, const struct frame *f, double *const place[3], int64_t n)
{
	const struct rotate_options *o = s->options;
	const double high = o->degrees.v[o->degrees.n - 1];
	const double low = o->degrees.n == 2 ? o->degrees.v[0] : -high;
	const double angle = (low + frame_uniform(f, s, 0) * (high - low)) / 180 * acos(-1);
	const double c = cos(angle), si = sin(angle);
	const int a = o->about == 0 ? 1 : 0, b = o->about == 2 ? 1 : 2;
	const double ma = middle(s, a), mb = middle(s, b);
	for (int64_t i = 0; i < n; i++) {
		const double y = place[a][i] - ma, x = place[b][i] - mb;

		place[a][i] = ma + x * si + y * c;
		place[b][i] = mb + x * c - y * si;
	}
}

/* --- zoom --- */

int zoom_check(const void *options, const struct loc *loc)
{
	const struct zoom_options *o = options;
	TRY(range_check(&o->scale, "scale", loc));
	return warp_check(&o->warp, loc);
}

int zoom_plan(struct chain_state *p, struct step *s)
{
	TRY(zoom_check(s->options, &s->loc));
	return warp_plan(p, s);
}

void zoom_place(const struct step *s, const struct frame *f, double *const place[3], int64_t n)
{
	const struct zoom_options *o = s->options;
	const double high = log(o->scale.v[o->scale.n - 1]);
	const double low = o->scale.n == 2 ? log(o->scale.v[0]) : -high;
	const double inverse = exp(-(low + frame_uniform(f, s, 0) * (high - low)));
	for (int k = 3 - s->before.nspatial; k < 3; k++) {
		const double m = middle(s, k);

		for (int64_t i = 0; i < n; i++)
			place[k][i] = m + (place[k][i] - m) * inverse;
	}
}

/* --- elastic --- */

/* Points of the coarse grid along an axis: one before the field, and two after it at least. Point
 * j is at (j - 1) * spacing. */
static int64_t coarse(const struct step *s, int axis)
{
	const struct elastic_options *o = s->options;
	return axis < 3 - s->before.nspatial ? 1 : (s->before.d[axis] - 1) / o->spacing + 4;
}

static int64_t coarse_points(const struct step *s)
{
	return coarse(s, 0) * coarse(s, 1) * coarse(s, 2);
}

int elastic_check(const void *options, const struct loc *loc)
{
	const struct elastic_options *o = options;
	return warp_check(&o->warp, loc);
}

int elastic_plan(struct chain_state *p, struct step *s)
{
	TRY(elastic_check(s->options, &s->loc));
	TRY(warp_plan(p, s));
	s->displacement = p->displacements;
	p->displacements += coarse_points(s) * s->before.nspatial;
	return 0;
}

void elastic_draw(const struct step *s, struct frame *f)
{
	const struct elastic_options *o = s->options;
	double *v = f->displacements + s->displacement;
	const int64_t n = coarse_points(s) * s->before.nspatial;
	if (!warp_applies(s, f))
		return;
	rng_normals(f->seed, frame_stream(f, s), (uint64_t)f->epoch, 0, n, v);
	for (int64_t i = 0; i < n; i++)
		v[i] *= o->magnitude;
}

/* Keys' weights of the four points around t, which is in [0, 1] between the middle two. */
static void cubic(double t, double w[4])
{
	w[0] = ((-0.5 * t + 1) * t - 0.5) * t;
	w[1] = (1.5 * t - 2.5) * t * t + 1;
	w[2] = ((-1.5 * t + 2) * t + 0.5) * t;
	w[3] = (0.5 * t - 0.5) * t * t;
}

/* The points of the coarse grid around a place: 4 along each axis that there is. */
struct around {
	int64_t stride[3], first;
	int n[3];
	double w[3][4];
};

static struct around around_any(const struct step *s)
{
	struct around a = { .n = { 1, 1, 1 }, .w = { { 1 }, { 1 }, { 1 } } };
	a.stride[2] = 1;
	a.stride[1] = coarse(s, 2);
	a.stride[0] = a.stride[1] * coarse(s, 1);
	for (int k = 3 - s->before.nspatial; k < 3; k++)
		a.n[k] = 4;
	return a;
}

/* Outside the field the displacement is that of its border. */
static inline void move_to(struct around *a, const struct step *s, const double place[3])
{
	const struct elastic_options *o = s->options;
	a->first = 0;
	for (int k = 3 - s->before.nspatial; k < 3; k++) {
		const double last = (double)(s->before.d[k] - 1), p = place[k] > 0 ? place[k] : 0;
		const double q = (p < last ? p : last) / (double)o->spacing;
		const int64_t i = (int64_t)q;

		a->first += i * a->stride[k];
		cubic(q - (double)i, a->w[k]);
	}
}

static inline double displacement_at(const struct around *a, const double *v)
{
	double sum = 0;
	for (int z = 0; z < a->n[0]; z++)
		for (int y = 0; y < a->n[1]; y++) {
			const double *row = v + a->first + z * a->stride[0] + y * a->stride[1];
			double line = 0;

			for (int x = 0; x < a->n[2]; x++)
				line += a->w[2][x] * row[x];
			sum += a->w[0][z] * a->w[1][y] * line;
		}
	return sum;
}

void elastic_place(const struct step *s, const struct frame *f, double *const place[3], int64_t n)
{
	const int64_t points = coarse_points(s);
	const int first = 3 - s->before.nspatial;
	struct around a = around_any(s);
	for (int64_t i = 0; i < n; i++) {
		const double at[3] = { place[0][i], place[1][i], place[2][i] };
		const double *v = f->displacements + s->displacement;

		move_to(&a, s, at);
		for (int k = first; k < 3; k++, v += points)
			place[k][i] += displacement_at(&a, v);
	}
}
