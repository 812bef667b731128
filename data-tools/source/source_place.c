/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The coordinates are variables of the same file, which are read like any other. If they have a
 * time axis but are the same at each time, like WRF's XLAT and XLONG, one copy is kept. */
#include "data-tools/source/source.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/shown.h"

static const char blanks[] = " \t\n";

static const char *text_of(struct axis_attributes all, const char *name)
{
	for (int i = 0; i < all.n; i++)
		if (all.v[i].text && strcmp(all.v[i].name, name) == 0)
			return all.v[i].text;
	return NULL;
}

/* The next word of *text, in a, and *text after it; NULL: there is none. */
static char *next_word(struct arena *a, const char **text)
{
	const char *p = *text ? *text + strspn(*text, blanks) : "";
	const size_t n = strcspn(p, blanks);
	*text = p + n;
	return n ? arena_printf(a, "%.*s", (int)n, p) : NULL;
}

/* --- a variable of coordinates --- */

/* In the group of the variable, else in the file's. */
static struct source *open_named(const struct source *s, const char *variable, const char *name)
{
	const char *slash = variable ? strrchr(variable, '/') : NULL;
	const int mark = err_count();
	struct arena *a = arena_new();
	struct source *out = NULL;
	if (slash && slash != variable)
		(void)source_open(&out, s->path, s->format->name,
		                  arena_printf(a, "%.*s/%s", (int)(slash - variable), variable, name),
		                  false);
	if (!out)
		(void)source_open(&out, s->path, s->format->name, name, false);
	err_truncate(mark);
	arena_free(a);
	return out;
}

/* The axis of s that axis i of c is: the one of its name; without names the one as far from the
 * last. -1: none. */
static int axis_of(const struct source *s, const struct source *c, int i)
{
	const int last = s->shape.nd - c->shape.nd + i;
	for (int k = 0; c->axis[i] && k < s->shape.nd; k++)
		if (s->axis[k] && strcmp(s->axis[k], c->axis[i]) == 0)
			return s->shape.d[k] == c->shape.d[i] ? k : -1;
	return !c->axis[i] && last >= 0 && !s->axis[last] && s->shape.d[last] == c->shape.d[i] ?
	       last : -1;
}

static bool find_axes(const struct source *s, const struct source *c, struct axis_field *f)
{
	f->nd = c->shape.nd;
	for (int i = 0; i < f->nd; i++) {
		f->on[i] = axis_of(s, c, i);
		for (int k = 0; k < i; k++)
			if (f->on[k] == f->on[i])
				return false;
		if (f->on[i] < 0)
			return false;
	}
	return true;
}

/* Rows of the first axis, or all of it where first is -1, as doubles: `count` of them. */
static bool read_rows(struct source *c, int64_t first, int64_t n, int64_t count, double *out)
{
	void *raw = mem_alloc((size_t)count * sizeof(double));
	const bool ok = (first < 0 ? source_read_all(c, raw) : source_read(c, first, n, raw)) == 0;
	for (int64_t i = 0; ok && i < count; i++) {
		const double v = dtype_get(c->dtype, raw, i);
		bool missing = false;

		for (int k = 0; k < c->nmissing; k++)
			missing |= (double)c->missing[k] == v;
		out[i] = missing ? (double)NAN : v * c->scale + c->offset;
	}
	mem_free(raw);
	return ok;
}

/* Whether all n rows of `each` values are the same. */
static bool is_repeated(struct source *c, int64_t n, int64_t each)
{
	double *row = mem_alloc((size_t)each * sizeof *row),
	       *other = mem_alloc((size_t)each * sizeof *other);
	bool same = read_rows(c, 0, 1, each, row);
	for (int64_t i = 1; same && i < n; i++)
		same = read_rows(c, i, 1, each, other) &&
		       memcmp(other, row, (size_t)each * sizeof *row) == 0;
	mem_free(other);
	mem_free(row);
	return same;
}

/* In the narrowest type that has all of them. */
static void keep_values(struct arena *a, const double *v, int64_t n, struct axis_field *f)
{
	bool narrow = true;
	for (int64_t i = 0; narrow && i < n; i++)
		narrow = isnan(v[i]) || (double)(float)v[i] == v[i];
	f->dtype = narrow ? DTYPE_F32 : DTYPE_F64;
	void *to = arena_alloc(a, (size_t)n * dtype_size(f->dtype));
	dtype_convert(f->dtype, to, DTYPE_F64, v, n);
	f->values = to;
}

static bool take_values(struct arena *a, struct source *c, struct axis_field *f)
{
	const int64_t rows = f->nd > 1 && f->on[0] == 0 ? c->shape.d[0] : 1,
	              each = shape_count(&c->shape) / rows;
	int64_t n = rows * each;
	bool one = false;
	if (rows > 1 && each <= FIELD_VALUES_MOST && is_repeated(c, rows, each)) {
		f->nd--;
		memmove(f->on, f->on + 1, (size_t)f->nd * sizeof *f->on);
		one = true;
		n = each;
	}
	if (n > FIELD_VALUES_MOST) {
		warn("'%s': the record does not keep the coordinates '%s', which are %lld values; the "
		     "limit is %lld", shown(c->path), shown(f->name), (long long)n,
		     (long long)FIELD_VALUES_MOST);
		return false;
	}
	double *v = mem_alloc((size_t)n * sizeof *v);
	const bool ok = read_rows(c, one ? 0 : -1, 1, n, v);
	if (ok)
		keep_values(a, v, n, f);
	mem_free(v);
	return ok;
}

/* Whether it is an axis's own coordinates, which source_axis has. */
static bool is_of_axis(const struct source *s, const char *name)
{
	for (int i = 0; i < s->shape.nd; i++)
		if (s->axis[i] && strcmp(s->axis[i], name) == 0)
			return true;
	return false;
}

static bool take_field(struct source *s, const char *variable, const char *name, struct arena *a,
                       struct axis_field *f)
{
	struct source *c = is_of_axis(s, name) ? NULL : open_named(s, variable, name);
	const int mark = err_count();
	bool ok = false;
	*f = (struct axis_field){ .name = name };
	if (c && c->format->attributes && find_axes(s, c, f) && take_values(a, c, f))
		ok = c->format->attributes(c, NULL, a, &f->attributes);
	source_close(c);
	err_truncate(mark);
	return ok;
}

/* What packing says of the values, which are kept unpacked, and names of what is not kept. */
static struct axis_attributes left_over(struct arena *a, struct axis_attributes all)
{
	static const char *const out[] = { "scale_factor", "add_offset", "missing_value",
		"valid_range", "valid_min", "valid_max", "coordinates", "grid_mapping" };
	struct axis_attribute *v = ARENA_ARRAY(a, struct axis_attribute, all.n + 1);
	int n = 0;
	for (int i = 0; i < all.n; i++) {
		size_t k = 0;

		while (k < sizeof out / sizeof *out && strcmp(all.v[i].name, out[k]) != 0)
			k++;
		if (k == sizeof out / sizeof *out)
			v[n++] = all.v[i];
	}
	return (struct axis_attributes){ n, v };
}

/* --- both attributes --- */

static int count_words(const char *text)
{
	struct arena *a = arena_new();
	int n = 0;
	while (next_word(a, &text))
		n++;
	arena_free(a);
	return n;
}

static void take_fields(struct source *s, const char *variable, const char *text, struct arena *a,
                        struct axes *out)
{
	struct axis_field *v = ARENA_ARRAY(a, struct axis_field, count_words(text) + 1);
	out->field = v;
	for (const char *name; (name = next_word(a, &text));) {
		bool twice = false;

		for (int i = 0; i < out->nfields; i++)
			twice |= strcmp(v[i].name, name) == 0;
		if (twice || !take_field(s, variable, name, a, &v[out->nfields]))
			continue;
		v[out->nfields].attributes = left_over(a, v[out->nfields].attributes);
		out->nfields++;
	}
}

/* "NAME", or "NAME: COORDINATE COORDINATE NAME: COORDINATE ...". */
static void take_mappings(struct source *s, const char *text, struct arena *a, struct axes *out)
{
	struct axis_mapping *v = ARENA_ARRAY(a, struct axis_mapping, count_words(text) + 1);
	const bool many = text && strchr(text, ':');
	const char *rest = text;
	out->mapping = v;
	for (char *name; (name = next_word(a, &rest));) {
		const size_t n = strlen(name);

		if (many && name[n - 1] != ':')
			continue;
		name[n - many] = '\0';
		v[out->nmappings].name = name;
		out->nmappings += s->format->attributes(s, name, a, &v[out->nmappings].attributes);
	}
	out->grid_mapping = out->nmappings ? text : NULL;
}

void source_place(struct source *s, const char *variable, struct arena *a, struct axes *out)
{
	struct axis_attributes own = { 0 };
	if (!s->format->attributes || !s->format->attributes(s, NULL, a, &own))
		return;
	take_fields(s, variable, text_of(own, "coordinates"), a, out);
	take_mappings(s, text_of(own, "grid_mapping"), a, out);
}
