/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transforms symmetry and rotate90: one of the 48 symmetries of a cube, or of the 8 of a
 * square, at random; one of the 4 rotations about an axis. Each is a permutation of the axes and
 * a choice of those that are mirrored; half of them, those whose signs and permutation have the
 * determinant 1, are rotations. Output (z, y, x) is read at steps of plus or minus the input's
 * strides, so an element moves once whatever the symmetry is. */
#include <string.h>

#include "base/err.h"
#include "data/transform_step.h"

#define TILE 32   /* side of the square that is transposed at a time: its lines stay in the cache */

const struct field transform_symmetry_fields[] = {
	FIELD_BOOL(struct symmetry_options, reflections, "true",
	           "mirror images too; false: rotations alone, 24 of a cube and 4 of a square"),
	FIELD_END
};

static const char *const about_names[] = { "depth", "height", "width", NULL };

const struct field transform_rotate90_fields[] = {
	FIELD(struct rotate90_options, about, FT_ENUM, .dflt = "depth", .choices = about_names,
	      .flags = FIELD_SHORTHAND,
	      .doc = "axis that is rotated about; depth turns height and width"),
	FIELD_END
};

/* Where output axis k comes from: input axis[k], backwards if mirrored[k]. */
struct symmetry {
	int axis[3];
	bool mirrored[3];
};

/* Even permutations first. Those of a square are of the last two axes. */
static const struct {
	int axis[3];
	bool odd;
} of_cube[] = { { { 0, 1, 2 }, false }, { { 1, 2, 0 }, false }, { { 2, 0, 1 }, false },
               { { 0, 2, 1 }, true },  { { 2, 1, 0 }, true },  { { 1, 0, 2 }, true } },
  of_square[] = { { { 0, 1, 2 }, false }, { { 0, 2, 1 }, true } };

int symmetry_plan(struct chain_state *p, struct step *s)
{
	const int64_t *d = p->g.d;
	TRY(step_check_spatial(p, s));
	if (p->g.nspatial < 2)
		return ERR(E_SHAPE, &s->loc,
		           "symmetry needs a square or a cube; the inputs have one spatial axis");
	if (d[1] != d[2] || (p->g.nspatial == 3 && d[0] != d[1]))
		return ERR(E_SHAPE, &s->loc, "symmetry needs equal extents; the inputs have %s%lld x %lld",
		           p->g.nspatial == 3 ? arena_printf(p->a, "%lld x ", (long long)d[0]) : "",
		           (long long)d[1], (long long)d[2]);
	return 0;
}

/* The number'th symmetry: permutations, and for each of them mirrored axes as a binary number. For
 * a rotation the last axis has the sign that the others and the permutation leave. */
static struct symmetry symmetry_of(int nspatial, bool reflections, int number)
{
	const int bits = reflections ? nspatial : nspatial - 1, first = 3 - nspatial;
	const int permutation = number >> bits;
	const bool cube = nspatial == 3;
	struct symmetry y = { .axis = { 0, 1, 2 } };
	bool odd = cube ? of_cube[permutation].odd : of_square[permutation].odd;
	memcpy(y.axis, cube ? of_cube[permutation].axis : of_square[permutation].axis, sizeof y.axis);
	for (int k = 0; k < bits; k++) {
		y.mirrored[first + k] = number >> k & 1;
		odd ^= y.mirrored[first + k];
	}
	if (!reflections)
		y.mirrored[2] = odd;
	return y;
}

static inline void turn_tile(char *out, const char *in, size_t size, const int64_t n[2],
                             const int64_t out_step, const int64_t in_step[2])
{
	for (int64_t j = 0; j < n[0]; j++)
		for (int64_t i = 0; i < n[1]; i++)
			memcpy(out + (j * out_step + i) * (int64_t)size,
			       in + (j * in_step[0] + i * in_step[1]) * (int64_t)size, size);
}

/* Each element size has a loop of its own, so that the size is a compile-time constant. */
static void turn_tile_of(size_t size, char *out, const char *in, const int64_t n[2],
                         int64_t out_step, const int64_t in_step[2])
{
	switch (size) {
	case 1: turn_tile(out, in, 1, n, out_step, in_step); break;
	case 2: turn_tile(out, in, 2, n, out_step, in_step); break;
	default: turn_tile(out, in, 4, n, out_step, in_step); break;
	}
}

/* One channel. Tiles are of the width and of the axis that the input's width becomes, or of the
 * height if it stays the width. */
static void turn_channel(const struct symmetry *y, const int64_t d[3], size_t size, char *out,
                         const char *in)
{
	const int64_t stride[3] = { d[1] * d[2], d[2], 1 };
	const int across = y->axis[0] == 2 ? 0 : 1, other = 1 - across;
	int64_t step[3], start = 0;
	for (int k = 0; k < 3; k++) {
		step[k] = y->mirrored[k] ? -stride[y->axis[k]] : stride[y->axis[k]];
		start += y->mirrored[k] ? (d[k] - 1) * stride[y->axis[k]] : 0;
	}
	for (int64_t o = 0; o < d[other]; o++)
		for (int64_t j = 0; j < d[across]; j += TILE)
			for (int64_t i = 0; i < d[2]; i += TILE) {
				const int64_t n[2] = { d[across] - j < TILE ? d[across] - j : TILE,
				                      d[2] - i < TILE ? d[2] - i : TILE };
				const int64_t in_step[2] = { step[across], step[2] };
				const int64_t to = o * stride[other] + j * stride[across] + i;
				const int64_t from = start + o * step[other] + j * step[across] + i * step[2];

				turn_tile_of(size, out + to * (int64_t)size, in + from * (int64_t)size, n,
				             stride[across], in_step);
			}
}

static void turn(const struct symmetry *y, const struct geometry *g, int64_t channels, size_t size,
                 void *out, const void *in)
{
	const int64_t bytes = g->d[0] * g->d[1] * g->d[2] * (int64_t)size;
	for (int64_t c = 0; c < channels; c++)
		turn_channel(y, g->d, size, (char *)out + c * bytes, (const char *)in + c * bytes);
}

static void move(const struct symmetry *y, const struct geometry *g, struct frame *f)
{
	turn(y, g, g->c, f->size, f->spare_x, f->x);
	frame_swap_input(f);
	if (g->paired) {
		turn(y, g, g->tc, f->target_size, f->spare_t, f->t);
		frame_swap_target(f);
	}
}

int symmetry_run(const struct step *s, struct frame *f)
{
	const struct symmetry_options *o = s->options;
	const struct geometry *g = &s->before;
	const int64_t all = g->nspatial == 3 ? 48 : 8;
	const int number = (int)frame_below(f, s, 0, o->reflections ? all : all / 2);
	const struct symmetry y = symmetry_of(g->nspatial, o->reflections, number);
	move(&y, g, f);
	return 0;
}

/* --- rotate90 --- */

/* The two axes that turn about a third one. */
static void plane_about(int about, int plane[2])
{
	plane[0] = about == 0 ? 1 : 0;
	plane[1] = about == 2 ? 1 : 2;
}

int rotate90_plan(struct chain_state *p, struct step *s)
{
	const struct rotate90_options *o = s->options;
	const char *name = about_names[o->about];
	int plane[2];
	TRY(step_check_spatial(p, s));
	plane_about(o->about, plane);
	if (p->g.nspatial < 2)
		return ERR(E_SHAPE, &s->loc, "rotate90 needs two spatial axes; the inputs have one");
	if (p->g.nspatial == 2 && o->about != 0)
		return ERR(E_SHAPE, &s->loc, "'about: %s' is for volumes; the inputs have two spatial axes",
		           name);
	if (p->g.d[plane[0]] != p->g.d[plane[1]])
		return ERR(E_SHAPE, &s->loc, "rotate90 needs equal extents; the inputs have %lld x %lld "
		           "about the axis %s", (long long)p->g.d[plane[0]],
		           (long long)p->g.d[plane[1]], name);
	return 0;
}

/* Counter-clockwise, if the plane's first axis points down and its second one to the right. */
int rotate90_run(const struct step *s, struct frame *f)
{
	const struct rotate90_options *o = s->options;
	const int turns = (int)frame_below(f, s, 0, 4);
	struct symmetry y = { .axis = { 0, 1, 2 } };
	int plane[2];
	plane_about(o->about, plane);
	if (turns % 2) {
		y.axis[plane[0]] = plane[1];
		y.axis[plane[1]] = plane[0];
	}
	y.mirrored[plane[0]] = turns == 1 || turns == 2;
	y.mirrored[plane[1]] = turns == 2 || turns == 3;
	move(&y, &s->before, f);
	return 0;
}
