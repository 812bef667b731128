/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Single values: one reader for each field type, found by table. A reader says what it found and
 * what it wanted, at the value's own place. */
#include "yaml/schema_value.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"
#include "yaml/schema_units.h"
#include "yaml/synonym.h"

#define EXCERPT 60

const char *value_excerpt(struct arena *a, const char *s)
{
	size_t n = 0;
	while (s[n] && n < EXCERPT) {
		int k = utf8_length(s + n);
		n += k ? (size_t)k : 1;
	}
	if (!s[n])
		return s;
	return arena_printf(a, "%.*s...", (int)n, s);
}

const char *value_describe(struct arena *a, const struct ynode *n)
{
	switch (n->kind) {
	case Y_NULL: return "null";
	case Y_SEQ: return n->n ? "a list" : "an empty list";
	case Y_MAP: return n->n ? "a map" : "an empty map";
	case Y_SCALAR: break;
	}
	return arena_printf(a, n->quoted ? "the quoted string '%s'" : "'%s'",
	                    value_excerpt(a, n->text));
}

static bool has_limits(const struct field *f)
{
	return f->min != 0 || f->max != 0;
}

static const char *number(struct arena *a, double v)
{
	struct buf b = BUF_INIT;
	const char *s;
	buf_json_double(&b, v);
	s = arena_strdup(a, b.data);
	buf_release(&b);
	return s;
}

/* Limits this large are mentioned only in messages about a value beyond them. */
#define VAST 0x1p62

const char *value_range(struct arena *a, const struct field *f)
{
	bool below = f->min > -VAST && isfinite(f->min), above = f->max < VAST && isfinite(f->max);
	if (!has_limits(f) || (!below && !above))
		return "";
	if (below && above)
		return arena_printf(a, " from %s to %s", number(a, f->min), number(a, f->max));
	if (below)
		return arena_printf(a, " of at least %s", number(a, f->min));
	return arena_printf(a, " of at most %s", number(a, f->max));
}

static int wrong_type(struct arena *a, const struct field *f, const struct ynode *n,
                      const char *wanted)
{
	const char *cure = "";
	if (n->kind == Y_SCALAR && n->text[0] == '(')
		cure = "; a list has square brackets: [3, 3]";
	else if (n->kind == Y_SCALAR && f->flags & FIELD_SHORTHAND && strstr(n->text, "epoch"))
		cure = "; epochs are given as {epochs: N}";
	else if (n->kind == Y_SCALAR && n->quoted && n->text[0] &&
	         n->text[strspn(n->text, "0123456789+-.eE")] == '\0')
		cure = "; a number has no quotes";
	return ERR(E_CONFIG, &n->loc, "'%s' must be %s%s, not %s%s", f->name, wanted,
	           f->flags & FIELD_NULLABLE ? " or null" : "", value_describe(a, n), cure);
}

static int out_of_range(struct arena *a, const struct field *f, const struct ynode *n,
                        const char *wanted)
{
	const char *range = value_range(a, f);
	double v;
	if (y_float(n, &v) && v > f->max && f->max >= VAST)
		range = arena_printf(a, " of at most %s", number(a, f->max));
	return ERR(E_CONFIG, &n->loc, "'%s' is out of range: %s, must be %s%s", f->name,
	           value_excerpt(a, n->text), wanted, range);
}

static bool within(const struct field *f, double v)
{
	return !has_limits(f) || (v >= f->min && v <= f->max);
}

static int read_bool(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	if (!y_bool(n, out))
		return wrong_type(a, f, n, "true or false");
	return 0;
}

static int one_int(struct arena *a, const struct field *f, const struct ynode *n, int64_t *out)
{
	static const char wanted[] = "an integer";
	const char *digits = n->text + (n->text[0] == '-' || n->text[0] == '+');
	double v;
	if (y_int(n, out))
		return within(f, (double)*out) ? 0 : out_of_range(a, f, n, wanted);
	if (y_float(n, &v) && strspn(digits, "0123456789") == strlen(digits))
		return out_of_range(a, f, n, wanted);   /* beyond 64 bits */
	return wrong_type(a, f, n, wanted);
}

static int read_int(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	return one_int(a, f, n, out);
}

static int one_float(struct arena *a, const struct field *f, const struct ynode *n, double *out)
{
	static const char wanted[] = "a number";
	if (!y_float(n, out) && y_float_form(n))
		return ERR(E_CONFIG, &n->loc, "'%s' is %s, which is beyond what a number of 64 bits holds",
		           f->name, value_excerpt(a, n->text));
	if (!y_float(n, out) || isnan(*out))
		return wrong_type(a, f, n, wanted);
	if (!within(f, *out))
		return out_of_range(a, f, n, wanted);
	/* Refused, since kernels compute in single precision, where the value would be 0. */
	if (*out != 0 && fabs(*out) < FLT_MIN)
		return ERR(E_CONFIG, &n->loc,
		           "'%s' is %s, which is below %.2g, the smallest number of single precision",
		           f->name, value_excerpt(a, n->text), (double)FLT_MIN);
	return 0;
}

/* NaN is refused: it stands for null internally, and no limit can be checked against it. */
static int read_float(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	if (f->flags & FIELD_NULLABLE && y_float(n, out) && isnan(*(double *)out))
		return 0;
	return one_float(a, f, n, out);
}

static int read_string(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	if (n->kind != Y_SCALAR)
		return wrong_type(a, f, n, "a string");
	*(const char **)out = n->text;
	return 0;
}

static int read_path(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	if (n->kind != Y_SCALAR)
		return wrong_type(a, f, n, "a path");
	return path_expand(a, n, out);
}

static int bad_choice(struct arena *a, const struct field *f, const struct ynode *n)
{
	struct buf names = BUF_INIT, hint = BUF_INIT;
	int rc;
	for (int i = 0; f->choices[i]; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", f->choices[i]);
	if (f->flags & FIELD_NULLABLE)
		buf_puts(&names, ", null");
	if (n->kind == Y_SCALAR)
		hint_of(&hint, n->text, f->choices);
	rc = ERR(E_CONFIG, &n->loc, "'%s' must be one of %s, not %s%s", f->name, names.data,
	         value_describe(a, n), hint.data);
	buf_release(&hint);
	buf_release(&names);
	return rc;
}

static int read_enum(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	for (int i = 0; n->kind == Y_SCALAR && f->choices[i]; i++) {
		if (!strcmp(n->text, f->choices[i])) {
			*(int *)out = i;
			return 0;
		}
	}
	return bad_choice(a, f, n);
}

/* The list types take one value for a list of one. */
static int items(const struct ynode *n)
{
	return n->kind == Y_SEQ ? n->n : 1;
}

static const struct ynode *item(const struct ynode *n, int i)
{
	return n->kind == Y_SEQ ? n->item[i] : n;
}

static int read_ints(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	struct ints *list = out;
	int count = items(n), rc = 0;
	int64_t *v = ARENA_ARRAY(a, int64_t, count);
	for (int i = 0; i < count; i++)
		rc = first_code(rc, one_int(a, f, item(n, i), &v[i]));
	*list = (struct ints){ count, v };
	return rc;
}

static int read_floats(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	struct floats *list = out;
	int count = items(n), rc = 0;
	double *v = ARENA_ARRAY(a, double, count);
	for (int i = 0; i < count; i++)
		rc = first_code(rc, one_float(a, f, item(n, i), &v[i]));
	*list = (struct floats){ count, v };
	return rc;
}

/* what: its items, for people. */
typedef int read_fn(struct arena *a, const struct field *f, const struct ynode *n, void *out);
static int read_list(struct arena *a, const struct field *f, const struct ynode *n, void *out,
                     read_fn *read, const char *what)
{
	struct strings *list = out;
	int count = items(n), rc = 0;
	const char **v = ARENA_ARRAY(a, const char *, count);
	struct loc *loc = ARENA_ARRAY(a, struct loc, count);
	if (n->kind == Y_MAP)
		return wrong_type(a, f, n, what);
	for (int i = 0; i < count; i++) {
		rc = first_code(rc, read(a, f, item(n, i), &v[i]));
		loc[i] = item(n, i)->loc;
	}
	*list = (struct strings){ count, v, loc };
	return rc;
}

static int read_strings(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	return read_list(a, f, n, out, read_string, "a string or a list of them");
}

static int read_paths(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	return read_list(a, f, n, out, read_path, "a path or a list of them");
}

static int read_bytes(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	static const char wanted[] = "a size such as 4096, 512KiB or 1.5GB";
	double v;
	if (n->kind != Y_SCALAR || !units_bytes(n->text, &v))
		return wrong_type(a, f, n, wanted);
	if (!within(f, v) || v >= 0x1p63)
		return out_of_range(a, f, n, "a size");
	*(int64_t *)out = y_int(n, out) ? *(int64_t *)out : (int64_t)llround(v);
	return 0;
}

static int read_seconds(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	static const char wanted[] = "a time such as 90, 90s, 10m, 2h or {minutes: 10}";
	double *v = out;
	if (n->kind == Y_MAP && n->n > 0) {
		TRY(units_seconds_map(f->name, n, v));
	} else if (n->kind != Y_SCALAR || !units_seconds(n->text, v)) {
		return wrong_type(a, f, n, wanted);
	}
	if (within(f, *v))
		return 0;
	return ERR(E_CONFIG, &n->loc, "'%s' is out of range: %g seconds, must be a time%s", f->name, *v,
	           value_range(a, f));
}

static const struct {
	int (*read)(struct arena *, const struct field *, const struct ynode *, void *);
	size_t size;
} types[] = {
	[FT_BOOL] = { read_bool, sizeof(bool) },
	[FT_INT] = { read_int, sizeof(int64_t) },
	[FT_FLOAT] = { read_float, sizeof(double) },
	[FT_STRING] = { read_string, sizeof(const char *) },
	[FT_PATH] = { read_path, sizeof(const char *) },
	[FT_ENUM] = { read_enum, sizeof(int) },
	[FT_INTS] = { read_ints, sizeof(struct ints) },
	[FT_FLOATS] = { read_floats, sizeof(struct floats) },
	[FT_STRINGS] = { read_strings, sizeof(struct strings) },
	[FT_PATHS] = { read_paths, sizeof(struct strings) },
	[FT_BYTES] = { read_bytes, sizeof(int64_t) },
	[FT_SECONDS] = { read_seconds, sizeof(double) },
	[FT_SECTION] = { NULL, 0 },
	[FT_NODE] = { NULL, sizeof(struct ynode *) },
	[FT_VARIANT] = { NULL, sizeof(struct variant_value) },
	[FT_SECTIONS] = { NULL, sizeof(struct sections) },
};

void value_zero(const struct field *f, void *out)
{
	memset(out, 0, types[f->type].size);
}

bool value_is_zero(const struct field *f, const void *in)
{
	static const char zero[sizeof(struct variant_value) + sizeof(struct strings)];
	if (f->type == FT_INTS)
		return ((const struct ints *)in)->n == 0;
	if (f->type == FT_FLOATS)
		return ((const struct floats *)in)->n == 0;
	if (f->type == FT_STRINGS || f->type == FT_PATHS)
		return ((const struct strings *)in)->n == 0;
	if (f->type == FT_SECTIONS)
		return ((const struct sections *)in)->n == 0;
	if (f->type == FT_VARIANT)
		return ((const struct variant_value *)in)->v == NULL;
	return f->type != FT_SECTION && !memcmp(in, zero, types[f->type].size);
}

static void set_null(const struct field *f, void *out)
{
	value_zero(f, out);
	if (f->type == FT_INT || f->type == FT_BYTES)
		*(int64_t *)out = INT64_MIN;
	else if (f->type == FT_FLOAT || f->type == FT_SECONDS)
		*(double *)out = NAN;
	else if (f->type == FT_ENUM)
		*(int *)out = -1;
}

int value_read(struct arena *a, const struct field *f, const struct ynode *n, void *out)
{
	BUG_IF((size_t)f->type >= sizeof types / sizeof types[0] || !types[f->type].read,
	       "field '%s' has type %d", f->name, (int)f->type);
	if (y_is_null(n) && f->flags & FIELD_NULLABLE) {
		set_null(f, out);
		return 0;
	}
	return types[f->type].read(a, f, n, out);
}
