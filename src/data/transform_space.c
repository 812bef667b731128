/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transforms of positions: roll, flip, crop, pad. Each is separable: three tables, one for each
 * axis, give the input index of each output index (-1: none, fill). The same tables are applied to
 * the target. */
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "data/transform_step.h"

static const char *const axis_names[] = { "depth", "height", "width", NULL };
static const char *const mode_names[] = { "zeros", "edge", "wrap", NULL };
enum { ZEROS, EDGE, WRAP };
static const char *const seen_names[] = { "auto", "whole", "centre", NULL };
enum { SEEN_AUTO, SEEN_WHOLE, SEEN_CENTRE };

#define MAX_SAMPLE ((int64_t)1 << 40)

const struct field transform_roll_fields[] = {
	FIELD(struct roll_options, axis, FT_STRINGS, .dflt = "", .flags = FIELD_SHORTHAND,
	      .doc = "depth, height or width, or a list of them"),
	FIELD_END
};

const struct field transform_flip_fields[] = {
	FIELD(struct flip_options, axis, FT_STRINGS, .dflt = "", .flags = FIELD_SHORTHAND,
	      .doc = "depth, height or width, or a list of them; each is flipped on its own"),
	FIELD_FLOAT(struct flip_options, probability, "0.5", 0, 1,
	           "probability of a flip, for each axis by itself"),
	FIELD_END
};

const struct field transform_crop_fields[] = {
	FIELD(struct crop_options, size, FT_INTS, .dflt = "", .min = 1, .max = 1 << 30,
	      .flags = FIELD_SHORTHAND,
	      .doc = "extents of the window: one number, or one for each of [depth,] height, width"),
	FIELD_ENUM(struct crop_options, validation, "auto", seen_names,
	           "what validation and prediction see: the whole field, padded to "
	           "what the network needs, or "
	           "the window in its centre; auto: whole where targets have the "
	           "input's extents, else centre; in validation_transforms centre"),
	FIELD_INT(struct crop_options, per_sample, "1", 1, 1 << 20,
	          "windows of each sample in an epoch of training, each at a place of its own"),
	FIELD_END
};

const struct field transform_pad_fields[] = {
	FIELD(struct pad_options, multiple, FT_INTS, .dflt = "", .min = 1, .max = 1 << 20,
	      .flags = FIELD_SHORTHAND,
	      .doc = "extents after padding are multiples of this: one number, or one for "
	             "each of [depth,] height, width"),
	FIELD_STRINGS(struct pad_options, mode, "zeros",
	              "zeros, edge (repeat the border) or wrap (periodic); one, or one for each axis; "
	              "class labels get the ignore value"),
	FIELD_END
};

/* --- planning --- */

int step_check_spatial(const struct chain_state *p, const struct step *s)
{
	if (p->g.nspatial == 0)
		return ERR(E_SHAPE, &s->loc, "the inputs have no spatial axes");
	for (int k = 0; k < 3; k++)
		if (p->g.d[k] > INT32_MAX)
			return ERR(E_SHAPE, &s->loc, "an extent of %lld is too large", (long long)p->g.d[k]);
	return 0;
}

int step_check_label(const struct chain_state *p, const struct step *s, int64_t label,
                     const char *what)
{
	const int64_t classes = p->o->classes;
	if (classes == 0 || label == p->o->ignore || (label >= 0 && label < classes))
		return 0;
	return ERR(E_CONFIG, &s->loc, "%s %lld is no class label: the classes are 0..%lld, and the "
	           "loss does not ignore it", what, (long long)label, (long long)classes - 1);
}

static int find(const char *s, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], s) == 0)
			return i;
	return -1;
}

static int choose_axes(const struct chain_state *p, struct step *s, const struct strings *axes)
{
	const int first = 3 - p->g.nspatial;
	int rc = axes->n ? 0 : ERR(E_CONFIG, &s->loc, "'axis' names no axis; expected depth, height or "
	                           "width");
	for (int i = 0; i < axes->n; i++) {
		const struct loc *loc = axes->loc ? &axes->loc[i] : &s->loc;
		const char *name = axes->v[i], *guess = did_you_mean(name, axis_names);
		const int k = find(name, axis_names);

		if (k < 0)
			rc = ERR(E_CONFIG, loc, "unknown axis '%s'%s%s%s; expected depth, height or width",
			         name, guess ? " (did you mean '" : "", guess ? guess : "",
			         guess ? "'?)" : "");
		else if (k < first)
			rc = ERR(E_SHAPE, loc, "the inputs have no axis '%s', only %d spatial axes", name,
			         p->g.nspatial);
		else if (s->on[k])
			rc = ERR(E_CONFIG, loc, "axis '%s' is named twice", name);
		else
			s->on[k] = true;
	}
	return rc;
}

/* One number, or one for each spatial axis, to out[3]; axes that are not there get `absent`. */
static int per_axis(const struct chain_state *p, const struct step *s, const struct ints *v,
                    const char *key, int64_t absent, int64_t out[3])
{
	const int first = 3 - p->g.nspatial;
	if (v->n != 1 && v->n != p->g.nspatial)
		return ERR(E_SHAPE, &s->loc, "'%s' has %d numbers; the inputs have %d spatial axes", key,
		           v->n, p->g.nspatial);
	for (int k = 0; k < 3; k++)
		out[k] = k < first ? absent : v->v[v->n == 1 ? 0 : k - first];
	return 0;
}

int roll_plan(struct chain_state *p, struct step *s)
{
	const struct roll_options *o = s->options;
	TRY(step_check_spatial(p, s));
	return choose_axes(p, s, &o->axis);
}

int flip_plan(struct chain_state *p, struct step *s)
{
	const struct flip_options *o = s->options;
	TRY(step_check_spatial(p, s));
	return choose_axes(p, s, &o->axis);
}

/* Random windows are used only in training: a network that was trained on windows is applied to
 * whole fields. */
static bool leaves_whole(const struct chain_state *p, const struct crop_options *o)
{
	return !p->o->training && (o->validation == SEEN_WHOLE ||
	                           (o->validation == SEEN_AUTO && p->maps && !p->o->own_list));
}

int crop_plan(struct chain_state *p, struct step *s)
{
	const struct crop_options *o = s->options;
	int64_t size[3];
	TRY(step_check_spatial(p, s));
	TRY(per_axis(p, s, &o->size, "size", 1, size));
	s->idle = leaves_whole(p, o);
	if (s->idle)
		return 0;
	for (int k = 0; k < 3; k++) {
		if (size[k] > p->g.d[k])
			return ERR(E_SHAPE, &s->loc, "a crop of %s %lld does not fit into %lld", axis_names[k],
			           (long long)size[k], (long long)p->g.d[k]);
		p->g.d[k] = size[k];
	}
	s->joins = p->previous && p->previous->op->place && !p->previous->crop;
	if (p->o->training && __builtin_mul_overflow(p->windows, o->per_sample, &p->windows))
		return ERR(E_CONFIG, &s->loc, "more windows of a sample than can be counted");
	return 0;
}

static int pad_modes(struct chain_state *p, struct step *s, const struct strings *mode)
{
	const int first = 3 - p->g.nspatial;
	if (mode->n != 1 && mode->n != p->g.nspatial)
		return ERR(E_SHAPE, &s->loc, "'mode' has %d entries; the inputs have %d spatial axes",
		           mode->n, p->g.nspatial);
	for (int i = 0; i < mode->n; i++) {
		const struct loc *loc = mode->loc ? &mode->loc[i] : &s->loc;
		const int m = find(mode->v[i], mode_names);

		if (m < 0)
			return ERR(E_CONFIG, loc, "unknown mode '%s'; expected zeros, edge or wrap",
			           mode->v[i]);
		for (int k = first; k < 3; k++)
			if (mode->n == 1 || k == first + i)
				s->pad_mode[k] = m;
	}
	return 0;
}

/* Labels are padded with the ignore value, so that padding is not learned; fields are padded in the
 * same mode as the input. */
static int pad_target(struct chain_state *p, struct step *s)
{
	s->target_repeats = p->o->target_dtype != DTYPE_I32;
	if (s->target_repeats || !p->g.paired)
		return 0;
	if (p->info->target_ignore == RECORD_NO_IGNORE)
		return ERR(E_CONFIG, &s->loc,
		           "pad needs class labels with an ignore value, and the data records "
		           "none (dlx-convert --ignore)");
	if (p->info->target_ignore < INT32_MIN || p->info->target_ignore > INT32_MAX)
		return ERR(E_CONFIG, &s->loc, "the ignore value %lld of the data does not fit 32 bits",
		           (long long)p->info->target_ignore);
	s->target_fill = (uint32_t)(int32_t)p->info->target_ignore;
	return step_check_label(p, s, p->info->target_ignore, "the ignore value of the data,");
}

int pad_plan(struct chain_state *p, struct step *s)
{
	const struct pad_options *o = s->options;
	int64_t multiple[3], total = p->g.c > p->g.tc ? p->g.c : p->g.tc;
	TRY(step_check_spatial(p, s));
	TRY(per_axis(p, s, &o->multiple, "multiple", 1, multiple));
	TRY(pad_modes(p, s, &o->mode));
	TRY(pad_target(p, s));
	for (int k = 0; k < 3; k++) {
		const int64_t n = p->g.d[k], to = (n + multiple[k] - 1) / multiple[k] * multiple[k];

		if (to > INT32_MAX || __builtin_mul_overflow(total, to, &total) || total > MAX_SAMPLE)
			return ERR(E_SHAPE, &s->loc, "padded to multiples of %lld the sample is too large",
			           (long long)multiple[k]);
		s->pad[k] = (to - n) / 2;
		p->g.d[k] = to;
	}
	return 0;
}

/* --- running --- */

/* A run: consecutive outputs of a row whose sources are neighbours. */
struct run {
	int64_t n;
	int32_t from;                  /* source of the first position; -1: none, all are filled */
	int step;                      /* difference of consecutive sources: 1, -1, or 0 (a repeated
	                                * element) */
};

#define MOST_RUNS 8                /* of a roll, a flip, a window and edges that are repeated */

/* The first run of a map of n positions. */
static struct run run_of(const int32_t *map, int64_t n)
{
	struct run r = { 1, map[0] < 0 ? -1 : map[0], 0 };
	if (n > 1 && map[0] >= 0 && map[1] >= 0 && (map[1] == map[0] + 1 || map[1] == map[0] - 1))
		r.step = map[1] - map[0];
	while (r.n < n && (r.from < 0) == (map[r.n] < 0) &&
	       (r.from < 0 || map[r.n] == map[r.n - 1] + r.step))
		r.n++;
	return r;
}

/* The number of runs of a map; 0: more than there is room for. */
static int runs_of(const int32_t *map, int64_t n, struct run run[MOST_RUNS])
{
	int count = 0;
	for (int64_t at = 0; at < n; at += run[count++].n) {
		if (count == MOST_RUNS)
			return 0;
		run[count] = run_of(map + at, n - at);
	}
	return count;
}

static inline void copy_run(char *dst, const char *src, const struct run *r, const void *fill,
                            size_t size)
{
	const char *from = r->from < 0 ? fill : src + (size_t)r->from * size;
	if (r->step == 1) {
		memcpy(dst, from, (size_t)r->n * size);
		return;
	}
	for (int64_t i = 0; i < r->n; i++)
		memcpy(dst + (size_t)i * size, r->step ? from - (size_t)i * size : from, size);
}

static inline void gather_row(char *dst, const char *src, const int32_t *map, int64_t n,
                              const void *fill, size_t size)
{
	for (int64_t i = 0; i < n; i++)
		memcpy(dst + (size_t)i * size, map[i] >= 0 ? src + (size_t)map[i] * size : fill, size);
}

/* Data that all rows of a step share. */
struct rows {
	const int32_t *map;
	const void *fill;
	int64_t n;
	int runs;                      /* number of runs; 0: too many, so each position is copied by
	                                * itself */
	struct run run[MOST_RUNS];
};

static inline void make_row(char *dst, const char *src, const struct rows *r, size_t size)
{
	if (r->runs == 0)
		gather_row(dst, src, r->map, r->n, r->fill, size);
	for (int i = 0; i < r->runs; dst += (size_t)r->run[i++].n * size)
		copy_run(dst, src, &r->run[i], r->fill, size);
}

/* Each element size has a loop of its own, so that the size is a compile-time constant. */
static void make_row_of(size_t size, char *dst, const char *src, const struct rows *r)
{
	switch (size) {
	case 1: make_row(dst, src, r, 1); break;
	case 2: make_row(dst, src, r, 2); break;
	default: make_row(dst, src, r, 4); break;
	}
}

static void gather(void *out, const void *in, size_t size, int64_t channels, const int64_t from[3],
                   const int64_t to[3], int32_t *const map[3], const void *fill)
{
	const struct rows empty = { .fill = fill, .n = to[2], .runs = 1, .run = { { to[2], -1, 0 } } };
	struct rows rows = { .map = map[2], .fill = fill, .n = to[2] };
	const char *src = in;
	char *dst = out;
	rows.runs = runs_of(map[2], to[2], rows.run);
	for (int64_t row = 0; row < channels * to[0] * to[1]; row++, dst += (size_t)to[2] * size) {
		const int64_t c = row / (to[0] * to[1]);
		const int32_t z = map[0][row / to[1] % to[0]], y = map[1][row % to[1]];

		if (z < 0 || y < 0)
			make_row_of(size, dst, NULL, &empty);
		else
			make_row_of(size, dst, src + (size_t)(((c * from[0] + z) * from[1] + y) * from[2]) *
			            size, &rows);
	}
}

static void move(const struct step *s, struct frame *f, int32_t *const target_map[3])
{
	const struct geometry *b = &s->before, *a = &s->after;
	const uint32_t zero = 0;
	gather(f->spare_x, f->x, f->size, b->c, b->d, a->d, f->map, &zero);
	frame_swap_input(f);
	if (!b->paired)
		return;
	gather(f->spare_t, f->t, f->target_size, b->tc, b->d, a->d, target_map, &s->target_fill);
	frame_swap_target(f);
}

static void map_shift(int32_t *map, int64_t from, int64_t to, int64_t start)
{
	for (int64_t i = 0; i < to; i++)
		map[i] = (int32_t)((i + start) % from);
}

int roll_run(const struct step *s, struct frame *f)
{
	for (int k = 0; k < 3; k++) {
		const int64_t n = s->before.d[k];

		map_shift(f->map[k], n, n, s->on[k] ? frame_below(f, s, k, n) : 0);
	}
	move(s, f, f->map);
	return 0;
}

int flip_run(const struct step *s, struct frame *f)
{
	const struct flip_options *o = s->options;
	for (int k = 0; k < 3; k++) {
		const int64_t n = s->before.d[k];
		const bool flip = s->on[k] && frame_uniform(f, s, k) < o->probability;

		for (int64_t i = 0; i < n; i++)
			f->map[k][i] = (int32_t)(flip ? n - 1 - i : i);
	}
	move(s, f, f->map);
	return 0;
}

void crop_start(const struct step *s, const struct frame *f, int64_t start[3])
{
	for (int k = 0; k < 3; k++) {
		const int64_t room = s->before.d[k] - s->after.d[k];

		start[k] = s->training ? frame_below(f, s, k, room + 1) : room / 2;
	}
}

int crop_run(const struct step *s, struct frame *f)
{
	int64_t start[3];
	crop_start(s, f, start);
	for (int k = 0; k < 3; k++)
		map_shift(f->map[k], s->before.d[k], s->after.d[k], start[k]);
	move(s, f, f->map);
	return 0;
}

bool pad_is_zeros(const struct step *s, int k)
{
	return s->pad_mode[k] == ZEROS;
}

static int32_t padded_source(int64_t i, int64_t n, int mode)
{
	if (i >= 0 && i < n)
		return (int32_t)i;
	switch (mode) {
	case EDGE:
		return (int32_t)(i < 0 ? 0 : n - 1);
	case WRAP:
		return (int32_t)((i % n + n) % n);
	default:
		return -1;
	}
}

int pad_run(const struct step *s, struct frame *f)
{
	for (int k = 0; k < 3; k++) {
		for (int64_t i = 0; i < s->after.d[k]; i++) {
			const int64_t j = i - s->pad[k];

			f->map[k][i] = padded_source(j, s->before.d[k], s->pad_mode[k]);
			f->target_map[k][i] = s->target_repeats ? f->map[k][i]
			                                        : padded_source(j, s->before.d[k], ZEROS);
		}
	}
	move(s, f, f->target_map);
	return 0;
}
