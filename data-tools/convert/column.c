/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finds the file and row of a sample, reads it, turns missing values into NaN. One file is open
 * at a time, and each is checked against the first: a set of thousands may have one odd file. */
#include "data-tools/convert/column.h"

#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "data-tools/convert/guard.h"
#include "base/io.h"
#include "base/mem.h"

#define LIBRARY_SECONDS 4     /* of processor time, far beyond what opening a file takes */

static void add_file(struct column *c, const char *path)
{
	c->file = mem_realloc(c->file, ((size_t)c->nfiles + 1) * sizeof(*c->file));
	c->file[c->nfiles++] = mem_strdup(path);
}

static int expand(struct column *c, const char *path, bool *is_glob)
{
	struct io_paths found;
	int rc = io_expand(&found, path);
	*is_glob = found.is_pattern;
	for (size_t i = 0; i < found.n; i++)
		add_file(c, found.v[i]);
	io_paths_release(&found);
	return rc;
}

static struct shape without_first(const struct shape *s)
{
	return s->nd ? shape_of(s->nd - 1, s->d + 1) : *s;
}

static bool is_packed(const struct source *s)
{
	return s->scale != 1 || s->offset != 0 || s->npacking;
}

static int packing_fault(const struct column *c, int f)
{
	const struct source *s = c->source;
	return ERR(E_DATA, NULL, "'%s': '%s' is packed (scale_factor %g, add_offset %g), but not in "
	           "'%s', whose integers are values: name the packed file first, or convert them apart",
	           c->file[f], c->name, s->scale, s->offset, c->file[0]);
}

/* A sample of file f must have the type of the first file's, and its shape; where a file is a
 * sample as many axes, of which side.c knows more. */
static int check_like_first(const struct column *c, int f)
{
	const struct source *s = c->source;
	const struct shape sample = c->file_a_sample ? c->shape : without_first(&c->shape);
	char got[SHAPE_TEXT], want[SHAPE_TEXT];
	if (!c->stem && strcmp(s->name, c->name) != 0)
		return ERR(E_DATA, NULL, "'%s' has '%s', but '%s' has '%s': which are other variables; "
		           "name the one that is meant, as in PATTERN:NAME", c->file[f], s->name,
			c->file[0],
		           c->name);
	if (s->dtype != c->dtype)
		return ERR(E_DATA, NULL, "'%s': '%s' is %s, but %s in '%s'", c->file[f], c->name,
		           dtype_name(s->dtype), dtype_name(c->dtype), c->file[0]);
	if (!c->packed && is_packed(s) && !dtype_is_float(s->dtype))
		return packing_fault(c, f);
	if (!c->repeated &&
	    (c->file_a_sample ? sample.nd != c->sample.nd : !shape_equal(&sample, &c->sample)))
		return ERR(E_DATA, NULL, "'%s': a sample of '%s' is %s, but %s in '%s'%s", c->file[f],
		           c->name, shape_text(&sample, got), shape_text(&c->sample, want), c->file[0],
		           c->file_a_sample ? "" : "; samples of several sizes come from a file each");
	return 0;
}

/* A file that is compressed as a whole is inflated when it is opened. */
static int64_t file_bytes(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : 0;
}

static int check_missing(const struct column *c)
{
	if (c->source->more_missing && c->o->nmissing < 0)
		return source_bad(c->source, "it has more missing values than are read; say which of them "
		                  "count, as in --missing=-999,1e20");
	return c->source->text_missing && c->o->nmissing < 0 ? source_no_missing(c->source) : 0;
}

/* The array of file f as it is read. */
static struct shape shape_as_read(const struct column *c, int f)
{
	const struct source_view *v = &c->of[f].view;
	return v->nd ? shape_of(v->nd, v->n) : c->source->shape;
}

static int open_file(struct column *c, int f)
{
	if (c->source && c->open_file == f)
		return 0;
	source_close(c->source);
	c->source = NULL;
	c->open_file = f;
	guard_begin(LIBRARY_SECONDS, file_bytes(c->file[f]));
	const int rc = source_open(&c->source, c->file[f], c->o->format, c->variable, c->o->numbers);
	guard_end();
	TRY(rc);
	TRY(check_missing(c));
	c->shape = shape_as_read(c, f);
	return c->name ? check_like_first(c, f) : 0;
}

/* The names and roles of the sample's axes: the first file's from `first` on. */
static void take_axes(struct column *c, int first)
{
	const struct column_file *of = &c->of[0];
	for (int i = 0; i < MAXD; i++) {
		const int k = first + i;

		c->axis[i] = k < of->axes.n ? of->axes.axis[k].name : NULL;
		c->kind[i] = k < of->axes.n ? of->role[k] : 0;
	}
}

/* The pages of a picture are samples if requested. */
static bool has_pages_apart(const struct column *c, bool concatenate)
{
	return concatenate && c->source->pages > 0;
}

/* Takes type and shape of the column from the first file. */
static int take_first(struct column *c)
{
	const struct source *s;
	TRY(open_file(c, 0));
	s = c->source;
	c->file_a_sample |= s->format->picture && !has_pages_apart(c, c->o->concatenate);
	c->file_a_sample &= !s->format->rows;
	if (!c->file_a_sample && s->shape.nd < 1)
		return source_bad(s, "a single value; not enough axes, the first must be the samples");
	column_look(c);
	TRY(column_find_samples(c));
	c->name = mem_strdup(s->name);
	c->stem = s->stem;
	c->dtype = s->dtype;
	c->packed = is_packed(s);
	if (s->shape.nd - !c->file_a_sample > 4)
		return source_bad(s, "more than four axes a sample");
	return 0;
}

static int count_samples(struct column *c)
{
	const int64_t picked = c->samples;
	if (c->file_a_sample) {
		c->samples = c->pick ? picked : c->nfiles;
		return 0;
	}
	mem_free(c->first);
	c->first = mem_calloc((size_t)c->nfiles + 1, sizeof(*c->first));
	for (int f = 0; f < c->nfiles; f++) {
		const struct source_view *v = &c->of[f].view;

		if (!v->nd)
			TRY(open_file(c, f));
		c->first[f + 1] = c->first[f] + (v->nd ? v->n[0] : c->shape.d[0]);
	}
	c->samples = c->pick ? picked : c->first[c->nfiles];
	return 0;
}

static void take_sample(struct column *c)
{
	const struct shape first = shape_as_read(c, 0);
	c->sample = c->file_a_sample ? first : without_first(&first);
	if (c->source)
		c->shape = shape_as_read(c, c->open_file);
	take_axes(c, c->file_a_sample ? 0 : 1);
}

int column_settle(struct column *c)
{
	take_sample(c);
	return count_samples(c);
}

/* What formats know of axes is compared before anything is converted; pictures, which may be many
 * and say little, as they are read. */
static int look_at_all(struct column *c)
{
	char *name = c->name;
	int rc = 0;
	if (!column_says_axes(c))
		return 0;
	for (int f = 1; f < c->nfiles && rc == 0; f++) {
		c->name = NULL;
		rc = open_file(c, f);
		c->name = name;
		if (rc == 0) {
			column_look(c);
			c->packed |= is_packed(c->source);
		}
		rc = rc == 0 ? column_meet_first(c) : rc;
		c->shape = c->source ? shape_as_read(c, f) : c->shape;
		rc = rc == 0 ? check_like_first(c, f) : rc;
	}
	return rc;
}

int column_open(struct column *c, const char *path, const char *variable,
                const struct column_options *o)
{
	bool is_glob;
	memset(c, 0, sizeof(*c));
	c->o = o;
	c->a = arena_new();
	c->variable = variable ? mem_strdup(variable) : NULL;
	TRY(expand(c, path, &is_glob));
	c->of = mem_calloc((size_t)c->nfiles, sizeof *c->of);
	c->file_a_sample = is_glob && !o->concatenate;
	TRY(take_first(c));
	take_sample(c);
	TRY(look_at_all(c));
	return count_samples(c);
}

int column_file(struct column *c, int f)
{
	return open_file(c, f);
}

int column_read_as(struct column *c, bool file_a_sample)
{
	if (c->file_a_sample == file_a_sample)
		return 0;
	c->file_a_sample = file_a_sample;
	return column_settle(c);
}

void column_release(struct column *c)
{
	source_close(c->source);
	if (c->shared)
		return;
	for (int i = 0; i < c->nfiles; i++)
		mem_free(c->file[i]);
	mem_free(c->file);
	mem_free(c->of);
	mem_free(c->variable);
	mem_free(c->name);
	mem_free(c->first);
	arena_free(c->a);
}

void column_repeat(struct column *c, int64_t n)
{
	const struct shape all = shape_as_read(c, 0);
	const int64_t rows = all.nd ? all.d[0] : 1;
	c->repeated = true;
	c->samples = n;
	if (rows == 1 && c->sample.nd + 1 == all.nd)
		return;
	c->sample = all;
	take_axes(c, 0);
}

void column_pick(struct column *c, const int64_t *sample, int64_t n)
{
	int64_t *pick = ARENA_ARRAY(c->a, int64_t, n + 1);
	for (int64_t i = 0; i < n; i++)
		pick[i] = c->pick ? c->pick[sample[i]] : sample[i];
	c->pick = pick;
	c->samples = n;
}

/* The last file that begins at sample i or before it. */
int column_file_of(const struct column *c, int64_t i)
{
	int low = 0, high = c->nfiles - 1;
	if (c->repeated)
		return 0;
	i = c->pick ? c->pick[i] : i;
	if (c->file_a_sample)
		return (int)i;
	while (low < high) {
		const int middle = low + (high - low + 1) / 2;

		if (c->first[middle] <= i)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

int64_t column_row(const struct column *c, int64_t i)
{
	if (c->repeated)
		return i;
	return c->file_a_sample ? 0 : (c->pick ? c->pick[i] : i) - c->first[column_file_of(c, i)];
}

int column_shape(struct column *c, int64_t i, struct shape *out)
{
	if (c->file_a_sample && !c->repeated)
		TRY(open_file(c, column_file_of(c, i)));
	*out = c->file_a_sample && !c->repeated ? c->shape : c->sample;
	return 0;
}

struct column column_share(const struct column *c)
{
	struct column out = *c;
	out.source = NULL;
	out.shared = true;
	return out;
}

/* --- values --- */

static int make_room(const struct column *c, struct column_raw *raw, int64_t n)
{
	const size_t bytes = (size_t)n * dtype_size(c->dtype);
	if (n > (int64_t)1 << 40)
		return source_bad(c->source, "more than 2^40 values a sample");
	if (bytes > raw->room) {
		mem_free(raw->v);
		raw->v = mem_alloc(bytes);
		raw->room = bytes;
	}
	raw->n = n;
	return 0;
}

/* What the file says of each value of its own: whether it is there, and how it is packed, of those
 * that were fetched of the last axis. */
static void take_packing(const struct source *s, int64_t first, int64_t n, struct column_raw *out)
{
	out->npacking = s->npacking ? (int)n : 0;
	if (!s->npacking)
		return;
	out->packing = mem_realloc(out->packing, (size_t)n * sizeof *out->packing);
	memcpy(out->packing, s->packing + first, (size_t)n * sizeof *out->packing);
}

static void make_valid_room(const struct source *s, struct column_raw *out)
{
	out->masked = s->masked;
	if (!s->masked || (size_t)out->n <= out->valid_room)
		return;
	mem_free(out->valid);
	out->valid = mem_alloc((size_t)out->n);
	out->valid_room = (size_t)out->n;
}

/* The box of the open file's array as it is read, by way of that as it is stored. */
static int read_viewed(struct column *c, const int64_t *start, const int64_t *count,
                       struct column_raw *out)
{
	const struct source_view *v = &c->of[c->open_file].view;
	const size_t size = dtype_size(c->dtype);
	int64_t from[MAXD], many[MAXD], n = 1;
	source_view_box(v, start, count, from, many);
	for (int i = 0; i < v->nd; i++)
		n *= many[i];
	uint8_t *stored = mem_alloc((size_t)n * size);
	int rc = source_read_box(c->source, from, many, stored);
	if (rc == 0)
		source_view_gather(v, start, count, from, many, stored, size, out->v);
	if (rc == 0 && c->source->masked)
		rc = c->source->format->read_valid(c->source, from, many, stored);
	if (rc == 0 && c->source->masked)
		source_view_gather(v, start, count, from, many, stored, 1, out->valid);
	mem_free(stored);
	return rc;
}

static int read_all(struct column *c, const int64_t *start, const int64_t *count,
                    struct column_raw *out)
{
	const struct source_view *v = &c->of[c->open_file].view;
	struct source *s = c->source;
	const int last = s->shape.nd - 1;
	make_valid_room(s, out);
	take_packing(s, last < 0 ? 0 : start[last], last < 0 ? 1 : count[last], out);
	if (v->nd && !source_view_is_plain(v))
		return read_viewed(c, start, count, out);
	TRY(source_read_box(s, start, count, out->v));
	return s->masked ? s->format->read_valid(s, start, count, out->valid) : 0;
}

void column_raw_release(struct column_raw *raw)
{
	mem_free(raw->v);
	mem_free(raw->packing);
	mem_free(raw->valid);
}

int column_fetch(struct column *c, int64_t i, int axis, int64_t first, int64_t rows,
                 struct column_raw *out)
{
	const int f = column_file_of(c, i);
	int64_t start[MAXD] = { 0 }, count[MAXD], n = 1;
	TRY(open_file(c, f));
	const struct source *s = c->source;
	const bool file = c->file_a_sample && !c->repeated;
	const int before = file ? 0 : c->shape.nd - c->sample.nd;      /* the axis of samples */
	for (int k = 0; k < c->shape.nd; k++) {
		count[k] = k < before ? 1 : c->shape.d[k];
		if (axis >= 0 && k == before + axis) {
			start[k] = first;
			count[k] = rows;
		}
		n *= count[k];
	}
	if (before > 0 && !c->repeated)
		start[0] = column_row(c, i);
	TRY(make_room(c, out, n));
	out->nmissing = c->o->nmissing >= 0 ? 0 : s->nmissing;
	for (int k = 0; k < out->nmissing; k++)
		out->missing[k] = s->missing[k];
	out->stored = s->stored;
	out->scale = s->scale;
	out->offset = s->offset;
	if (s->format->ends)
		return read_all(c, start, count, out);
	/* of a picture, rows before those that are requested may have to be decoded */
	const int64_t most = s->format->picture ? shape_count(&s->shape) : n;
	guard_begin(LIBRARY_SECONDS, most * (int64_t)sizeof(double));
	const int rc = read_all(c, start, count, out);
	guard_end();
	return rc;
}
