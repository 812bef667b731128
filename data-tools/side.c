/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Puts the variables named on the command line side by side as channels. */
#include "side.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"
#include "column.h"
#include "select.h"

struct side {
	struct arena *a;
	const struct side_options *o;
	int n;
	struct column *column;
	int nfiles;
	const char **file;
	struct shape spatial, shape;
	int64_t channels;
	const char **channel_names;
	enum dtype dtype;
	struct layout_hints hints;
	enum layout placed;        /* of the first column */
	enum layout alike;         /* with options.like: of all */
	double *values;            /* one sample of one column, of `room` values at most */
	int64_t room;
};

/* --- specifications --- */

/* "PATH:A,B" in two; names is NULL if there are none. A path that exists as it is has no
 * names. */
static void split_spec(struct arena *a, const char *spec, const char **path, const char **names)
{
	const char *colon = io_exists(spec) ? NULL : strrchr(spec, ':');
	*path = spec;
	*names = NULL;
	if (!colon || colon == spec || !colon[1])
		return;
	*path = arena_printf(a, "%.*s", (int)(colon - spec), spec);
	*names = colon + 1;
}

static int add_column(struct side *s, const char *path, const char *name)
{
	const struct side_options *o = s->o;
	s->column = mem_realloc(s->column, ((size_t)s->n + 1) * sizeof(*s->column));
	return column_open(&s->column[s->n++], path, name, o->format, o->concatenate, o->nmissing,
	                   o->missing);
}

/* Of a file with several variables, those that the network's channels are named by. */
static int add_alike(struct side *s, const char *path)
{
	const char **name;
	const int mark = err_count(), n = like_variables(s->o->like, s->a, &name);
	int rc = add_column(s, path, NULL);
	if (rc != E_USAGE || n == 0)
		return rc;
	err_truncate(mark);
	column_release(&s->column[--s->n]);
	for (rc = 0; rc == 0 && s->n < n;)
		rc = add_column(s, path, name[s->n]);
	if (rc == 0)
		return 0;
	if (rc != E_NOINPUT || s->n > 1)
		return err_context(rc, "the network's channels have this name; %s:NAME,NAME names others "
		                   "for them, and 'dlx-convert -i FILE -i FILE -o RECORD' joins those of "
		                   "several files", path);
	err_truncate(mark);                /* none of its names is there: say what there is */
	column_release(&s->column[--s->n]);
	return add_column(s, path, NULL);
}

static int add_spec(struct side *s, const char *spec)
{
	const char *path, *names, **name;
	int n, rc = 0;
	split_spec(s->a, spec, &path, &names);
	s->file[s->nfiles++] = arena_strdup(s->a, path);
	if (!names)
		return s->o->like ? add_alike(s, path) : add_column(s, path, NULL);
	n = split_names(names, &name);
	for (int i = 0; rc == 0 && i < n; i++)
		rc = add_column(s, path, name[i]);
	mem_free(name);
	return rc;
}

/* --- channels --- */

static int find_layout(const struct side *s, const struct column *c, enum layout *out)
{
	struct buf text = BUF_INIT;
	const char *why;
	*out = s->o->like ? s->alike : s->o->layout;
	if (*out != LAYOUT_AUTO)
		return 0;
	if (s->o->labels && s->n == 1) {
		*out = LAYOUT_NONE;
		return 0;
	}
	TRY(layout_find(c, &s->hints, out, &why));
	if (!why || s->o->quiet)
		return 0;
	layout_reading(c, *out, &text);
	note("%s '%s': %s, %s", s->o->role, shown(c->name), text.data, why);
	buf_release(&text);
	return 0;
}

static int column_fault(const struct side *s, const struct column *c, const char *what)
{
	char text[SHAPE_TEXT];
	return ERR(E_DATA, NULL, "'%s', '%s': %s; a sample is %s (--%s-layout)", c->file[0], c->name,
	           what, shape_text(&c->sample, text), s->o->role);
}

/* The channels of a column's sample of this shape, and the rest of it. */
static int64_t split_shape(enum layout l, const struct shape *sample, struct shape *rest)
{
	const int nd = sample->nd;
	*rest = *sample;
	if (l == LAYOUT_FIRST) {
		*rest = shape_of(nd - 1, sample->d + 1);
		return sample->d[0];
	}
	if (l == LAYOUT_LAST) {
		*rest = shape_of(nd - 1, sample->d);
		return sample->d[nd - 1];
	}
	if (l == LAYOUT_NONE && (nd == 1 || nd >= 3) && sample->d[0] == 1)
		*rest = shape_of(nd - 1, sample->d + 1);   /* labels as (n, 1) or (n, 1, H, W) */
	return 1;
}

/* Splits the sample's axes into channels and the rest. */
static int place_column(struct side *s, struct column *c, struct shape *rest)
{
	const int nd = c->sample.nd;
	enum layout l;
	TRY(find_layout(s, c, &l));
	s->placed = c == s->column ? l : s->placed;
	if ((l == LAYOUT_FIRST || l == LAYOUT_LAST) && nd < 1)
		return column_fault(s, c, "not enough axes for channels");
	if (l == LAYOUT_NONE && s->n > 1)
		return column_fault(s, c, "several variables need a channel axis");
	c->channels = split_shape(l, &c->sample, rest);
	c->transpose = l == LAYOUT_LAST;
	c->layout = (int)l;
	if (l != LAYOUT_NONE && rest->nd > 3)
		return column_fault(s, c, "more than three axes besides channels");
	c->channel = s->channels;
	s->channels += c->channels;
	return 0;
}

/* The variable with most axes: that of the others which have one less is places alone. */
static const struct column *fullest(const struct side *s)
{
	const struct column *best = &s->column[0];
	for (int i = 1; i < s->n; i++)
		if (s->column[i].sample.nd > best->sample.nd ||
		    (s->column[i].sample.nd == best->sample.nd && s->column[i].samples > best->samples))
			best = &s->column[i];
	return best;
}

/* A field without the others' axis of samples, or with one sample, stands for each of theirs. */
static void repeat_static(struct side *s)
{
	const struct column *like = fullest(s);
	for (int i = 0; i < s->n; i++) {
		struct column *c = &s->column[i];
		const bool one = c->samples == 1 && like->samples > 1 &&
		                 shape_equal(&c->sample, &like->sample);

		if (c == like || c->file_a_sample ||
		    (!one && !shape_equal(&c->source->shape, &like->sample)))
			continue;
		column_repeat(c, like->samples);
		if (!s->o->quiet)
			note("%s '%s' is the same in each of %lld samples", s->o->role, shown(c->name),
			     (long long)like->samples);
	}
}

static int settle_alike(struct side *s)
{
	TRY(like_settle(s->o->like, s->column, s->n, fullest(s)->source, s->o->layout, &s->alike));
	like_sort(s->o->like, s->column, s->n);
	return 0;
}

/* The shape of a sample with these places. */
static struct shape with_channels(const struct side *s, const struct shape *places)
{
	struct shape out = *places;
	if (s->placed == LAYOUT_NONE)
		return out;
	out.nd++;
	out.d[0] = s->channels;
	for (int i = 0; i < places->nd; i++)
		out.d[i + 1] = places->d[i];
	return out;
}

static int place_columns(struct side *s)
{
	if (s->o->like)
		TRY(settle_alike(s));
	repeat_static(s);
	for (int i = 0; i < s->n; i++) {
		struct column *c = &s->column[i];
		char got[SHAPE_TEXT], want[SHAPE_TEXT];
		struct shape rest;

		TRY(place_column(s, c, &rest));
		if (i == 0)
			s->spatial = rest;
		if (!shape_equal(&rest, &s->spatial))
			return ERR(E_DATA, NULL, "shapes disagree: a sample of '%s' is %s, of '%s' %s",
			           s->column[0].name, shape_text(&s->spatial, want), c->name,
			           shape_text(&rest, got));
		if (c->samples != s->column[0].samples)
			return ERR(E_DATA, NULL, "'%s' has %lld samples, '%s' has %lld", s->column[0].name,
			           (long long)s->column[0].samples, c->name, (long long)c->samples);
	}
	s->shape = with_channels(s, &s->spatial);
	return 0;
}

/* A record keeps a name for each channel. A damaged file can have any number of them. */
#define MAX_CHANNELS (1 << 20)

static int check_channels(const struct side *s)
{
	if (s->channels <= MAX_CHANNELS)
		return 0;
	return ERR(E_DATA,
	           NULL, "'%s' and what follows it have %lld channels, more than the %d of a record",
	           s->column[0].name, (long long)s->channels, MAX_CHANNELS);
}

static void name_channels(struct side *s)
{
	int64_t k = 0;
	s->channel_names = ARENA_ARRAY(s->a, const char *, s->channels + 1);
	for (int i = 0; i < s->n; i++) {
		const struct column *c = &s->column[i];

		for (int64_t j = 0; j < c->channels; j++)
			s->channel_names[k++] = c->channels == 1 ? c->name
			                        : arena_printf(s->a, "%s[%lld]", c->name, (long long)j);
	}
}

/* Columns of one type keep it; packed, mixed and double values become f32, which training uses
 * anyway. */
static enum dtype common_dtype(const struct side *s)
{
	const enum dtype t = s->column[0].dtype;
	for (int i = 0; i < s->n; i++)
		if (s->column[i].dtype != t || s->column[i].packed)
			return DTYPE_F32;
	return t == DTYPE_F64 ? DTYPE_F32 : t;
}

int side_open(struct side **out, const struct side_options *o)
{
	struct side *s = mem_calloc(1, sizeof(*s));
	int rc = 0;
	*out = NULL;
	s->a = arena_new();
	s->o = o;
	s->file = ARENA_ARRAY(s->a, const char *, o->specs->n + 1);
	for (int i = 0; rc == 0 && i < o->specs->n; i++)
		rc = add_spec(s, o->specs->v[i]);
	if (rc < 0) {
		side_close(s);
		return rc;
	}
	s->dtype = common_dtype(s);
	*out = s;
	return 0;
}

int side_place(struct side *s, const struct shape *other, bool other_is_places)
{
	s->hints = (struct layout_hints){ s->o->role, s->n == 1, *other, other_is_places };
	TRY(place_columns(s));
	TRY(check_channels(s));
	name_channels(s);
	return 0;
}

/* The chosen ones of an axis of samples. */
static struct axis choose_samples(struct arena *a, const struct axis *all, const int64_t *sample,
                                  int64_t n)
{
	struct axis out = *all;
	double *v = ARENA_ARRAY(a, double, n + 1);
	out.n = n;
	for (int64_t i = 0; all->values && i < n; i++)
		v[i] = all->values[sample[i]];
	out.values = all->values ? v : NULL;
	return out;
}

/* What the open file says, whose samples are its first axis or which is one. */
static struct axes file_axes(const struct side *s, const struct column *c, struct arena *a)
{
	struct axis *out = ARENA_ARRAY(a, struct axis, MAXD + 1);
	const int first = c->file_a_sample ? 0 : 1, last = c->sample.nd - 1,
	          channels = s->placed == LAYOUT_FIRST ? 0 : s->placed == LAYOUT_LAST ? last : -1;
	struct axes axes = { 1, out };
	out[0] = c->file_a_sample ? (struct axis){ .n = 1 } : source_axis(c->source, 0, a);
	for (int i = 0; i <= last; i++)
		if (i != channels)
			out[axes.n++] = source_axis(c->source, first + i, a);
	return axes;
}

/* A copy in a, which borrows from `like` what is the same there. */
static struct axes thrifty_copy(struct arena *a, const struct axes *from, const struct axes *like)
{
	struct axis *copy = ARENA_ARRAY(a, struct axis, from->n + 1);
	for (int k = 0; k < from->n; k++) {
		const struct axes one = { 1, &from->axis[k] };

		copy[k] = like && k < like->n && axis_equal(&from->axis[k], &like->axis[k])
		          ? like->axis[k] : *axes_copy(a, &one).axis;
	}
	return (struct axes){ from->n, copy };
}

static bool says_anything(const struct axes *axes)
{
	for (int k = 0; k < axes->n; k++)
		if (axes->axis[k].name)
			return true;
	return false;
}

/* Of all its files. */
static int column_axes(const struct side *s, struct column *c, struct arena *a, struct axes *out)
{
	struct axes *of = mem_calloc((size_t)c->nfiles, sizeof *of);
	int rc = 0, n = 0;
	for (; n < c->nfiles && rc == 0; n++) {
		struct arena *own = arena_new();

		rc = column_file(c, n);
		if (rc == 0) {
			const struct axes said = file_axes(s, c, own);

			of[n] = thrifty_copy(a, &said, n ? &of[0] : NULL);
		}
		arena_free(own);
		if (n == 0 && !says_anything(&of[0]))
			break;
	}
	*out = rc == 0 && n == c->nfiles ? axes_join(a, of, n) : (struct axes){ 0 };
	mem_free(of);
	return rc;
}

int side_axes(struct side *s, struct arena *a, const int64_t *sample, int64_t n, struct axes *out)
{
	struct column *c = s->column;
	struct axis *chosen;
	while (c->repeated && c + 1 < s->column + s->n)
		c++;
	*out = (struct axes){ 0 };
	if (c->repeated || c->source->format->picture)
		return 0;
	TRY(column_axes(s, c, a, out));
	if (out->n == 0 || !says_anything(out))
		return 0;
	chosen = ARENA_ARRAY(a, struct axis, out->n);
	for (int k = 0; k < out->n; k++)
		chosen[k] = out->axis[k];
	chosen[0] = choose_samples(a, &out->axis[0], sample, n);
	out->axis = chosen;
	return 0;
}

void side_reading(const struct side *s, struct buf *out)
{
	const struct column *c = s->column;
	char text[SHAPE_TEXT];
	if (s->n == 1 && c->sample.nd < 3 && c->file_a_sample && s->placed == LAYOUT_STACK)
		return;
	if (!c->file_a_sample)
		buf_puts(out, "the first axis counts samples");
	if (s->placed == LAYOUT_FIRST || s->placed == LAYOUT_LAST)
		buf_printf(out, "%s%lld channel%s (the %s axis) of %s", out->len ? ", " : "",
		           (long long)c->channels, c->channels == 1 ? "" : "s",
		           s->placed == LAYOUT_LAST ? "last" : c->file_a_sample ? "first" : "second",
		           shape_text(&s->spatial, text));
	for (int i = 0; s->n > 1 && i < s->n; i++) {
		const struct like *l = s->o->like;
		const char *as = l && l->names && l->channels == s->n ? l->names[i] : c[i].name;
		const bool other = strcmp(as, c[i].name) != 0;

		buf_printf(out, "%s%s%s%s", i ? ", " : out->len ? "; channels: " : "channels: ", c[i].name,
		           other ? " as " : "", other ? as : "");
	}
}

const struct shape *side_sample(const struct side *s)
{
	return &s->column[0].sample;
}

const struct shape *side_places(const struct side *s)
{
	return &s->spatial;
}

void side_close(struct side *s)
{
	if (!s)
		return;
	for (int i = 0; i < s->n; i++)
		column_release(&s->column[i]);
	mem_free(s->column);
	mem_free(s->values);
	arena_free(s->a);
	mem_free(s);
}

int64_t side_samples(const struct side *s)
{
	return s->column[0].samples;
}

const struct shape *side_shape(const struct side *s)
{
	return &s->shape;
}

int64_t side_channels(const struct side *s)
{
	return s->channels;
}

const char *const *side_channel_names(const struct side *s)
{
	return s->channel_names;
}

bool side_named_by_file(const struct side *s)
{
	return s->n == 1 && s->column[0].stem;
}

enum dtype side_dtype(const struct side *s)
{
	return s->dtype;
}

int side_files(const struct side *s, const char *const **paths)
{
	*paths = s->file;
	return s->nfiles;
}

static const char *file_name(const struct column *c, int64_t i)
{
	return c->file[c->file_a_sample && !c->repeated ? i : 0];
}

static int size_fault(const struct side *s, const struct column *c, int64_t i,
                      const struct shape *got, const struct shape *want)
{
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	return ERR(E_DATA, NULL, "sample %lld of the %s: '%s' is %s, but '%s' %s", (long long)i,
	           s->o->role, file_name(c, i), shape_text(got, a), file_name(s->column, i),
	           shape_text(want, b));
}

int side_size(struct side *s, int64_t i, struct shape *out)
{
	struct shape places = { 0 };
	for (int k = 0; k < s->n; k++) {
		struct column *c = &s->column[k];
		struct shape sample, rest;

		TRY(column_shape(c, i, &sample));
		if (split_shape((enum layout)c->layout, &sample, &rest) != c->channels)
			return size_fault(s, c, i, &sample, &c->sample);
		if (k == 0)
			places = rest;
		if (!shape_equal(&rest, &places))
			return size_fault(s, c, i, &rest, &places);
	}
	*out = with_channels(s, &places);
	return 0;
}

int side_read(struct side *s, int64_t i, double *values)
{
	struct shape shape;
	int64_t points;
	TRY(side_size(s, i, &shape));
	points = shape_count(&shape) / (s->placed == LAYOUT_NONE ? 1 : s->channels);
	for (int k = 0; k < s->n; k++) {
		struct column *c = &s->column[k];
		double *out = values + c->channel * points;

		if (c->transpose && c->channels * points > s->room) {
			s->room = c->channels * points;
			mem_free(s->values);
			s->values = mem_alloc((size_t)s->room * sizeof(double));
		}
		TRYC(column_read(c, i, c->transpose ? s->values : out), "reading sample %lld",
		     (long long)i);
		for (int64_t p = 0; c->transpose && p < points; p++)
			for (int64_t j = 0; j < c->channels; j++)
				out[j * points + p] = s->values[p * c->channels + j];
	}
	return 0;
}

/* The first that is no field for all samples. */
static const struct column *first_moving(const struct side *s)
{
	const struct column *c = s->column;
	while (c->repeated && c + 1 < s->column + s->n)
		c++;
	return c;
}

const char *side_name(const struct side *s, int64_t i)
{
	return file_name(first_moving(s), i);
}

const char *side_key(const struct side *s, int64_t i)
{
	const char *name = side_name(s, i), *slash = strrchr(name, '/');
	if (!first_moving(s)->file_a_sample)
		return NULL;
	return slash ? slash + 1 : name;
}
