/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common part of all warps: interpolation between points, and values outside the field.
 *
 * Inputs and targets that are quantities are interpolated linearly; class labels and the mask are
 * taken from the nearest point. A point that takes any part from an invalid point is invalid.
 * Positions are rounded to 2^-16 of a point, so that grid points are met exactly. If a crop follows
 * a warp, only its window is computed.
 *
 * A core makes 540 samples (3, 256, 256) with labels a second of rotate or zoom, 250 of elastic and
 * as many of all three; most of the time is spent on finding the corners. Of windows of 64 x 64 it
 * makes 4100 by rotate, and 510 before the crop was combined with it. */
#include "data/transform_warp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

enum { FILL, EDGE, REFLECT, WRAP };
const char *const warp_outside_names[] = { "fill", "edge", "reflect", "wrap", NULL };

#define CORNERS 8
#define POSITIVE ((int64_t)1 << 50)     /* added: conversions round down positive numbers only */
#define FAR      1e10                   /* positions farther outside are clamped to this distance */

/* The grid points around a position and their weights. An index is -1 if the point is outside. */
struct corners {
	int n;
	int64_t at[CORNERS], nearest;
	float weight[CORNERS];
};

/* --- planning --- */

enum target_word { TARGET_AUTO, TARGET_IGNORE, TARGET_SAME, TARGET_NUMBER, TARGET_UNKNOWN };

static enum target_word read_target(const char *text, double *number)
{
	char *end;
	if (strcmp(text, "auto") == 0)
		return TARGET_AUTO;
	if (strcmp(text, "ignore") == 0)
		return TARGET_IGNORE;
	if (strcmp(text, "same") == 0)
		return TARGET_SAME;
	*number = strtod(text, &end);
	return *text && !*end ? TARGET_NUMBER : TARGET_UNKNOWN;
}

int warp_check(const struct warp_options *o, const struct loc *loc)
{
	double number;
	const enum target_word word = read_target(o->target, &number);
	if (word == TARGET_UNKNOWN)
		return ERR(E_CONFIG, loc, "unknown 'target' '%s'; expected auto, ignore, same or a number",
		           o->target);
	if (word == TARGET_SAME && o->outside == FILL)
		return ERR(E_CONFIG, loc, "'target: same' repeats targets as inputs are repeated, and "
		           "'outside: fill' repeats none; expected outside: edge, reflect or wrap");
	return 0;
}

/* The value of class labels outside, unless they repeat as the inputs do. */
static int label_outside(const struct chain_state *p, const struct step *s, enum target_word word,
                         double number, int32_t *out)
{
	const int64_t ignore = p->info->target_ignore;
	if (word == TARGET_NUMBER) {
		if (number != floor(number) || fabs(number) > INT32_MAX)
			return ERR(E_CONFIG, &s->loc, "'target: %g' is no class label", number);
		*out = (int32_t)number;
		return step_check_label(p, s, *out, "'target':");
	}
	if (ignore == RECORD_NO_IGNORE)
		return ERR(E_CONFIG, &s->loc, "class labels outside the field need an ignore value, and "
		           "the data records none (dlx-convert --ignore); or say 'target': a class, or "
		           "same with outside: edge, reflect or wrap");
	if (ignore < INT32_MIN || ignore > INT32_MAX)
		return ERR(E_CONFIG, &s->loc, "the ignore value %lld of the data does not fit 32 bits",
		           (long long)ignore);
	*out = (int32_t)ignore;
	return step_check_label(p, s, ignore, "the ignore value of the data,");
}

static int plan_target(const struct chain_state *p, struct step *s)
{
	const struct warp_options *o = s->options;
	double number = 0;
	const enum target_word word = read_target(o->target, &number);
	const float value = (float)number;
	int32_t label = 0;
	s->target_linear = p->o->target_dtype != DTYPE_I32;
	if (!p->g.paired)
		return 0;
	if (s->target_linear && word == TARGET_IGNORE)
		return ERR(E_CONFIG, &s->loc, "'target: ignore' is for class labels; these targets are "
		           "values");
	s->target_repeats = word == TARGET_SAME ||
	                    (word == TARGET_AUTO && s->target_linear && o->outside != FILL);
	if (s->target_repeats)
		return 0;
	if (s->target_linear) {
		memcpy(&s->target_fill, &value, sizeof value);
		return 0;
	}
	TRY(label_outside(p, s, word, number, &label));
	s->target_fill = (uint32_t)label;
	return 0;
}

static bool equal(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool joins(const struct step *before, const struct step *s)
{
	const struct warp_options *a, *b = s->options;
	if (!before || !before->op->place || before->crop)
		return false;
	a = before->options;
	return a->outside == b->outside && equal(a->fill, b->fill) &&
	       before->target_repeats == s->target_repeats && before->target_fill == s->target_fill;
}

int warp_plan(struct chain_state *p, struct step *s)
{
	TRY(step_check_spatial(p, s));
	TRY(warp_check(s->options, &s->loc));
	TRY(plan_target(p, s));
	s->mask = p->mask;
	s->joins = joins(p->previous, s);
	if (s->joins)
		s->inner = arena_copy(p->a, p->previous, sizeof *s);
	return 0;
}

/* --- the points around a place --- */

static int64_t reflected(int64_t i, int64_t n)
{
	const int64_t period = n > 1 ? 2 * (n - 1) : 1, r = (i % period + period) % period;
	return r < n ? r : period - r;
}

/* The point of an axis that stands for point i, or -1. */
static inline int64_t point_of(int64_t i, int64_t n, int outside)
{
	if (i >= 0 && i < n)
		return i;
	switch (outside) {
	case EDGE: return i < 0 ? 0 : n - 1;
	case REFLECT: return reflected(i, n);
	case WRAP: return (i % n + n) % n;
	default: return -1;
	}
}

static inline int64_t index_of(int64_t line, int64_t n, int64_t point)
{
	return line < 0 || point < 0 ? -1 : line * n + point;
}

/* Every corner so far becomes one or two, along one more axis. */
static inline void add_axis(struct corners *c, double place, int64_t n, int outside)
{
	const double bounded = place > -FAR ? place < FAR ? place : FAR : -FAR;
	const int64_t p = (int64_t)(bounded * 65536 + POSITIVE + 0.5) - POSITIVE, i = p >> 16;
	const float upper = (float)(p & 65535) / 65536;
	const int64_t a = point_of(i, n, outside), b = point_of(i + 1, n, outside);
	const int had = c->n;
	c->nearest = index_of(c->nearest, n, upper < 0.5F ? a : b);
	for (int k = 0; k < had; k++) {
		if (upper > 0) {
			c->at[c->n] = index_of(c->at[k], n, b);
			c->weight[c->n++] = c->weight[k] * upper;
		}
		c->at[k] = index_of(c->at[k], n, a);
		c->weight[k] *= 1 - upper;
	}
}

static inline void find_corners(const struct step *s, const double *const place[3], int64_t i,
                                struct corners *c)
{
	const struct warp_options *o = s->options;
	const struct geometry *g = &s->before;
	c->n = 1;
	c->at[0] = c->nearest = 0;
	c->weight[0] = 1;
	for (int k = 3 - g->nspatial; k < 3; k++)
		add_axis(c, place[k][i], g->d[k], o->outside);
}

/* --- values there --- */

static inline float linear(const struct corners *c, const float *x, float fill)
{
	float sum = 0;
	for (int k = 0; k < c->n; k++)
		sum += c->weight[k] * (c->at[k] < 0 ? fill : x[c->at[k]]);
	return sum;
}

static bool all_valid(const struct corners *c, const float *mask)
{
	for (int k = 0; k < c->n; k++)
		if (c->at[k] < 0 || mask[c->at[k]] == 0)
			return false;
	return true;
}

static int64_t points(const struct geometry *g)
{
	return g->d[0] * g->d[1] * g->d[2];
}

static void put_input(const struct step *s, const struct frame *f, const struct corners *c,
                      int64_t to)
{
	const struct warp_options *o = s->options;
	const struct geometry *g = &s->before;
	const int64_t n = points(g), m = points(&s->after);
	const float fill = (float)o->fill, *x = f->x;
	const float *mask = s->mask >= 0 ? x + s->mask * n : NULL;
	const bool valid = !mask || all_valid(c, mask);
	float *out = f->spare_x;
	for (int64_t k = 0; k < g->c; k++)
		out[k * m + to] = valid ? linear(c, x + k * n, fill) : 0;
	if (mask && valid)
		out[s->mask * m + to] = mask[c->nearest];
}

static void put_label(const struct step *s, const struct frame *f, int64_t from, int64_t to)
{
	const struct geometry *g = &s->before;
	const int64_t n = points(g), m = points(&s->after);
	const size_t size = f->target_size;
	for (int64_t k = 0; k < g->tc; k++) {
		const void *value = from < 0 ? (const char *)&s->target_fill
		                             : (const char *)f->t + (size_t)(k * n + from) * size;

		memcpy((char *)f->spare_t + (size_t)(k * m + to) * size, value, size);
	}
}

static void put_field(const struct step *s, const struct frame *f, const struct corners *c,
                      int64_t to)
{
	const struct geometry *g = &s->before;
	const int64_t n = points(g), m = points(&s->after);
	const float *t = f->t;
	float *out = f->spare_t, fill;
	memcpy(&fill, &s->target_fill, sizeof fill);
	for (int64_t k = 0; k < g->tc; k++)
		out[k * m + to] = linear(c, t + k * n, fill);
}

/* Inputs may repeat outside where targets do not. */
static void put_target(const struct step *s, const struct frame *f, struct corners *c, bool inside,
                       int64_t to)
{
	for (int k = 0; k < c->n && !inside && !s->target_repeats; k++)
		c->at[k] = -1;
	if (s->target_linear)
		put_field(s, f, c, to);
	else
		put_label(s, f, inside || s->target_repeats ? c->nearest : -1, to);
}

/* --- running --- */

bool warp_applies(const struct step *s, const struct frame *f)
{
	const struct warp_options *o = s->options;
	return o->probability == 1 || frame_uniform(f, s, 3) < o->probability;
}

/* Whether the grid point nearest to position i is inside the field. */
static bool is_inside(const struct geometry *g, const double *const place[3], int64_t i)
{
	for (int k = 3 - g->nspatial; k < 3; k++)
		if (!(place[k][i] >= -0.5 && place[k][i] < (double)g->d[k] - 0.5))
			return false;
	return true;
}

static void run_row(const struct step *s, struct frame *f, const int64_t start[3], int64_t row)
{
	const struct geometry *g = &s->before;
	const int64_t *d = s->after.d, n = d[2];
	struct corners c;
	double *const place[3] = { f->row, f->row + n, f->row + 2 * n };
	for (int64_t i = 0; i < n; i++) {
		place[0][i] = (double)(start[0] + row / d[1]);
		place[1][i] = (double)(start[1] + row % d[1]);
		place[2][i] = (double)(start[2] + i);
	}
	for (const struct step *w = s; w; w = w->inner)
		if (warp_applies(w, f))
			w->op->place(w, f, place, n);
	for (int64_t i = 0; i < n; i++) {
		find_corners(s, (const double *const *)place, i, &c);
		put_input(s, f, &c, row * n + i);
		if (g->paired)
			put_target(s, f, &c, is_inside(g, (const double *const *)place, i), row * n + i);
	}
}

int warp_run(const struct step *s, struct frame *f)
{
	const struct geometry *g = &s->after;
	int64_t start[3] = { 0 };
	bool any = false;
	for (const struct step *w = s; w; w = w->inner) {
		any |= warp_applies(w, f);
		if (w->op->draw)
			w->op->draw(w, f);
	}
	if (!any)
		return s->crop ? crop_run(s->crop, f) : 0;
	if (s->crop)
		crop_start(s->crop, f, start);
	for (int64_t row = 0; row < g->d[0] * g->d[1]; row++)
		run_row(s, f, start, row);
	frame_swap_input(f);
	if (g->paired)
		frame_swap_target(f);
	return 0;
}
