/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The description of a record file, written and read. The reader treats the text as hostile:
 * kinds, ranges and the numbers of names and statistics are all checked against the shapes.
 * Keys it does not know are skipped, so that a later minor addition does not need a new
 * version. */
#include "data/description.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"

/* --- writing --- */

static void write_strings(struct buf *out, const char *key, const char *const *v, int64_t n)
{
	if (!v)
		return;
	buf_printf(out, ",\n  \"%s\": [", key);
	for (int64_t i = 0; i < n; i++) {
		buf_puts(out, i ? ", " : "");
		buf_json_string(out, v[i]);
	}
	buf_putc(out, ']');
}

static void write_stats(struct buf *out, const struct record_array *a)
{
	if (a->nstats == 0)
		return;
	buf_puts(out, ",\n  \"statistics\": [");
	for (int i = 0; i < a->nstats; i++) {
		const struct channel_stats *s = &a->stats[i];

		buf_printf(out, "%s\n    {\"count\": %lld", i ? "," : "", (long long)s->count);
		buf_json_member(out, "min", s->min);
		buf_json_member(out, "max", s->max);
		buf_json_member(out, "mean", s->mean);
		buf_json_member(out, "std", s->std);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}

static void write_array(struct buf *out, const char *name, const struct record_array *a)
{
	buf_printf(out, "\"%s\": {\n  \"dtype\": \"%s\",\n  \"shape\": [", name, dtype_name(a->dtype));
	for (int i = 0; i < a->shape.nd; i++)
		buf_printf(out, "%s%lld", i ? ", " : "", (long long)a->shape.d[i]);
	buf_putc(out, ']');
	write_strings(out, "channels", a->channels, a->shape.nd ? a->shape.d[0] : 1);
	if (a->channels && a->named_by_file)
		buf_puts(out, ",\n  \"named_by_file\": true");
	write_stats(out, a);
}

static void write_classes(struct buf *out, const struct record_info *i)
{
	if (i->ignore != RECORD_NO_IGNORE)
		buf_printf(out, ",\n  \"ignore\": %lld,\n  \"ignored\": %lld", (long long)i->ignore,
		           (long long)i->ignored);
	if (i->nclasses == 0)
		return;
	buf_printf(out, ",\n  \"classes\": %d", i->nclasses);
	write_strings(out, "class_names", i->classes, i->nclasses);
	if (!i->class_counts)
		return;
	buf_puts(out, ",\n  \"class_counts\": [");
	for (int k = 0; k < i->nclasses; k++)
		buf_printf(out, "%s%lld", k ? ", " : "", (long long)i->class_counts[k]);
	buf_putc(out, ']');
}

void description_write(struct buf *out, const struct record_info *i)
{
	buf_printf(out, "{\"samples\": %lld,\n", (long long)i->samples);
	write_array(out, "input", &i->input);
	if (i->mask >= 0)
		buf_printf(out, ",\n  \"mask\": %d", i->mask);
	buf_puts(out, "}");
	if (record_has_target(i)) {
		buf_puts(out, ",\n");
		write_array(out, "target", &i->target);
		write_classes(out, i);
		buf_puts(out, "}");
	}
	write_strings(out, "sources", i->sources, i->nsources);
	if (i->command) {
		buf_puts(out, ",\n  \"command\": ");
		buf_json_string(out, i->command);
	}
	if (i->axes.n) {
		buf_puts(out, ",\n  \"axes\": ");
		axes_write(out, &i->axes);
	}
	buf_puts(out, "}\n");
}

/* --- reading --- */

/* The first fault sticks; readers go on harmlessly after it. */
struct reader {
	struct arena *a;
	const char *why;
	size_t at;                   /* in the file */
};

static void fault(struct reader *r, const struct json *j, const char *why)
{
	if (r->why)
		return;
	r->why = why;
	if (j)
		r->at = j->at;
}

static int64_t read_int(struct reader *r, const struct json *parent, const char *key, int64_t lo,
                        int64_t hi, const char *why)
{
	const struct json *j = json_find(parent, key);
	int64_t v;

	if (!j || !json_int(j, &v) || v < lo || v > hi) {
		fault(r, j ? j : parent, why);
		return lo;
	}
	return v;
}

/* A list under key: absent gives NULL; present, it must be an array of n members (any number if
 * n < 0). */
static const struct json *read_list(struct reader *r, const struct json *parent, const char *key,
                                    int64_t n)
{
	const struct json *j = json_find(parent, key);

	if (!j)
		return NULL;
	if (j->kind != JSON_ARRAY || (n >= 0 && j->n != n)) {
		fault(r, j, "a list of the wrong length");
		return NULL;
	}
	return j;
}

static const char *const *read_strings(struct reader *r, const struct json *parent,
                                       const char *key, int64_t n, int *count)
{
	const struct json *list = read_list(r, parent, key, n);
	const char **v;

	if (!list)
		return NULL;
	v = ARENA_ARRAY(r->a, const char *, list->n + 1);
	for (int i = 0; i < list->n; i++) {
		v[i] = list->item[i]->text;
		if (list->item[i]->kind != JSON_STRING)
			fault(r, list->item[i], "expected a string");
	}
	if (count)
		*count = list->n;
	return v;
}

static double read_value(struct reader *r, const struct json *parent, const char *key)
{
	const struct json *j = json_find(parent, key);

	double v;

	if (j && json_double(j, &v) && isfinite(v))
		return v;
	if (!j || j->kind != JSON_NULL)
		fault(r, j ? j : parent, "expected a number or null in the statistics");
	return NAN;
}

static void read_stats(struct reader *r, const struct json *j, struct record_array *a)
{
	const struct json *list;
	struct channel_stats *s;

	if (a->nstats == 0)
		return;
	list = read_list(r, j, "statistics", a->nstats);
	if (!list) {
		fault(r, j, "no statistics");
		a->nstats = 0;
		return;
	}
	a->stats = s = ARENA_ARRAY(r->a, struct channel_stats, a->nstats);
	for (int i = 0; i < a->nstats; i++, s++) {
		const struct json *e = list->item[i];

		s->count = read_int(r, e, "count", 0, INT64_MAX, "no count in the statistics");
		s->min = read_value(r, e, "min");
		s->max = read_value(r, e, "max");
		s->mean = read_value(r, e, "mean");
		s->std = read_value(r, e, "std");
		if ((s->count > 0 && !(s->min <= s->max)) || s->std < 0)
			fault(r, e, "impossible statistics");
	}
}

static void read_shape(struct reader *r, const struct json *j, struct shape *s)
{
	const struct json *list = read_list(r, j, "shape", -1);

	s->nd = 0;
	if (!list || list->n > 4) {
		fault(r, list ? list : j, "expected a shape of at most four axes");
		return;
	}
	for (int i = 0; i < list->n; i++)
		if (!json_int(list->item[i], &s->d[s->nd++]))
			fault(r, list->item[i], "expected an extent");
}

static void read_dtype(struct reader *r, const struct json *j, struct record_array *a)
{
	const struct json *t = json_find(j, "dtype");
	const int found = t && t->kind == JSON_STRING ? dtype_find(t->text) : -1;

	a->dtype = found < 0 ? DTYPE_F32 : (enum dtype)found;
	if (found < 0)
		fault(r, t ? t : j, "expected a dtype");
}

static const struct json *read_array(struct reader *r, const struct json *root, const char *name,
                                     struct record_array *a)
{
	const struct json *j = json_find(root, name);

	if (!j || j->kind != JSON_OBJECT) {
		fault(r, j ? j : root, "no description of 'input' or 'target'");
		return NULL;
	}
	read_dtype(r, j, a);
	read_shape(r, j, &a->shape);
	return j;
}

/* What depends on the shapes, once they are known to be sound. */
static void read_names(struct reader *r, const struct json *j, struct record_array *a, bool stats)
{
	const int64_t n = a->shape.nd ? a->shape.d[0] : 1;
	const struct json *by_file = json_find(j, "named_by_file");

	a->channels = read_strings(r, j, "channels", n, NULL);
	a->named_by_file = by_file && by_file->kind == JSON_TRUE;
	if (stats && n > INT32_MAX) {
		fault(r, j, "too many channels");
		return;
	}
	a->nstats = stats ? (int)n : 0;
	read_stats(r, j, a);
}

static void read_classes(struct reader *r, const struct json *j, struct record_info *i)
{
	const struct json *list;
	int64_t *counts;

	i->ignore = RECORD_NO_IGNORE;
	if (json_find(j, "ignore")) {
		i->ignore = read_int(r, j, "ignore", INT64_MIN + 1, INT64_MAX, "bad 'ignore'");
		i->ignored = read_int(r, j, "ignored", 0, INT64_MAX, "bad 'ignored'");
	}
	if (!json_find(j, "classes"))
		return;
	i->nclasses = (int)read_int(r, j, "classes", 1, RECORD_MAX_CLASSES, "bad 'classes'");
	i->classes = read_strings(r, j, "class_names", i->nclasses, NULL);
	list = read_list(r, j, "class_counts", i->nclasses);
	if (!list)
		return;
	i->class_counts = counts = ARENA_ARRAY(r->a, int64_t, i->nclasses);
	for (int k = 0; k < i->nclasses; k++)
		if (!json_int(list->item[k], &counts[k]) || counts[k] < 0)
			fault(r, list->item[k], "bad class count");
}

static void read_axes(struct reader *r, const struct json *root, struct record_info *i)
{
	int64_t extent[MAXD] = {i->samples};
	const char *why;

	for (int k = 1; k < i->input.shape.nd; k++)
		extent[k] = i->input.shape.d[k];
	why = axes_read(r->a, json_find(root, "axes"), extent, i->input.shape.nd, &i->axes);
	if (why)
		fault(r, json_find(root, "axes"), why);
}

static void read_root(struct reader *r, const struct json *root, struct record_info *i)
{
	const struct json *input = read_array(r, root, "input", &i->input);
	const bool any = json_find(root, "target");
	const struct json *target = any ? read_array(r, root, "target", &i->target) : NULL;
	const struct json *command = json_find(root, "command");

	if (!input || (any && !target))
		return;
	i->ignore = RECORD_NO_IGNORE;
	if (!any)
		i->target = record_no_target();
	i->samples = read_int(r, root, "samples", 1, INT64_MAX, "bad number of samples");
	i->mask =
	    json_find(input, "mask") ? (int)read_int(r, input, "mask", 0, INT32_MAX, "bad 'mask'") : -1;
	if (target)
		read_classes(r, target, i);
	if (!r->why && record_info_fault(i))
		fault(r, root, record_info_fault(i));
	if (r->why)
		return;
	read_names(r, input, &i->input, true);
	if (target)
		read_names(r, target, &i->target, dtype_is_float(i->target.dtype));
	read_axes(r, root, i);
	i->sources = read_strings(r, root, "sources", -1, &i->nsources);
	if (command && command->kind == JSON_STRING)
		i->command = command->text;
}

int description_read(struct arena *a, const char *file, size_t base, const char *text, size_t n,
                     struct record_info *i)
{
	struct reader r = {.a = a, .at = base};
	struct json *root;

	memset(i, 0, sizeof(*i));
	TRY(json_parse(&root, a, file, base, text, n));
	read_root(&r, root, i);
	if (r.why)
		return ERR(E_DATA, NULL, "'%s': byte %zu: %s", file, r.at, r.why);
	return 0;
}
