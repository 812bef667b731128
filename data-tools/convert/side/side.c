/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joins the variables named on the command line as channels. */
#include "data-tools/convert/side/side.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "data-tools/inspect/select.h"
#include "data-tools/convert/side/side_state.h"

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
	s->column = mem_realloc(s->column, ((size_t)s->n + 1) * sizeof(*s->column));
	return column_open(&s->column[s->n++], path, name, &s->o->read);
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
	if (!s->shared)
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

const char *const *side_channel_units(const struct side *s)
{
	for (int64_t i = 0; i < s->channels; i++)
		if (*s->channel_units[i])
			return s->channel_units;
	return NULL;
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
	return c->file[column_file_of(c, i)];
}

static int size_fault(const struct side *s, const struct column *c, int64_t i,
                      const struct shape *got, const struct shape *want)
{
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	return ERR(E_DATA, NULL, "sample %lld of the %s: '%s' is %s, but '%s' %s", (long long)i,
	           s->o->read.role, file_name(c, i), shape_text(got, a), file_name(s->column, i),
	           shape_text(want, b));
}

int side_size(struct side *s, int64_t i, struct shape *out)
{
	struct shape places = { 0 };
	for (int k = 0; k < s->n; k++) {
		struct column *c = &s->column[k];
		struct shape sample, rest;

		TRY(column_shape(c, i, &sample));
		if (side_split_shape(s, (enum layout)c->layout, &sample, &rest) != c->channels)
			return size_fault(s, c, i, &sample, &c->sample);
		if (k == 0)
			places = rest;
		if (!shape_equal(&rest, &places))
			return size_fault(s, c, i, &rest, &places);
	}
	*out = side_with_channels(s, &places);
	return 0;
}

struct column *side_first_moving(const struct side *s)
{
	struct column *c = s->column;
	while (c->repeated && c + 1 < s->column + s->n)
		c++;
	return c;
}

const char *side_name(const struct side *s, int64_t i)
{
	return file_name(side_first_moving(s), i);
}

/* Opening each of many files takes long, so those of a glob have parts if the open one has. */
static uint64_t stamp_parts(struct column *c, uint64_t seed)
{
	const bool parts = c->source->format->stamp_parts(c->source, seed) != seed;
	for (int f = 0; f < c->nfiles && parts; f++) {
		const int mark = err_count();

		if (column_file(c, f) == 0)
			seed = c->source->format->stamp_parts(c->source, seed);
		err_truncate(mark);
	}
	return seed;
}

static uint64_t stamp_file(const struct column *c, int f, uint64_t seed)
{
	const char *content = c->source->format->content;
	char *in = content ? io_join(c->file[f], content) : NULL;
	seed = io_stamp(in && io_exists(in) ? in : c->file[f], seed);
	mem_free(in);
	for (const char *const *end = c->source->format->beside; end && *end; end++) {
		struct buf path = BUF_INIT;

		buf_printf(&path, "%s%s", c->file[f], *end);
		if (io_exists(path.data))
			seed = io_stamp(path.data, seed);
		buf_release(&path);
	}
	return seed;
}

uint64_t side_stamp(struct side *s, uint64_t seed)
{
	for (int k = 0; k < s->n; k++) {
		struct column *c = &s->column[k];

		for (int f = 0; f < c->nfiles; f++)
			seed = stamp_file(c, f, seed);
		if (c->source->format->stamp_parts)
			seed = stamp_parts(c, seed);
	}
	return seed;
}

struct side_origin side_origin(const struct side *s, int64_t i)
{
	const struct column *c = side_first_moving(s);
	const int f = column_file_of(c, i);
	return (struct side_origin){ c->file[f], c->file_a_sample ? -1 : column_row(c, i) };
}

const char *side_key(const struct side *s, int64_t i)
{
	const char *name = side_name(s, i), *slash = strrchr(name, '/');
	if (!side_first_moving(s)->file_a_sample)
		return NULL;
	return slash ? slash + 1 : name;
}
