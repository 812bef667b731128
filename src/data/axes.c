/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/axes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

static const struct axis_attribute *copy_attributes(struct arena *a, const struct axis *from)
{
	struct axis_attribute *copy = ARENA_ARRAY(a, struct axis_attribute, from->nattributes + 1);

	for (int i = 0; i < from->nattributes; i++) {
		const struct axis_attribute *x = &from->attribute[i];

		copy[i] = *x;
		copy[i].name = arena_strdup(a, x->name);
		if (x->text)
			copy[i].text = arena_strdup(a, x->text);
		else
			copy[i].values = arena_copy(a, x->values, (size_t)x->n * sizeof *x->values);
	}
	return copy;
}

struct axes axes_copy(struct arena *a, const struct axes *from)
{
	struct axis *copy = ARENA_ARRAY(a, struct axis, from->n + 1);

	for (int i = 0; i < from->n; i++) {
		const struct axis *x = &from->axis[i];

		copy[i] = *x;
		copy[i].name = x->name ? arena_strdup(a, x->name) : NULL;
		if (x->values)
			copy[i].values = arena_copy(a, x->values, (size_t)x->n * sizeof *x->values);
		copy[i].attribute = copy_attributes(a, x);
	}
	return (struct axes){from->n, copy};
}

/* --- joining --- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

static bool same_attributes(const struct axis *x, const struct axis *y)
{
	if (x->nattributes != y->nattributes)
		return false;
	for (int i = 0; i < x->nattributes; i++) {
		const struct axis_attribute *p = &x->attribute[i], *q = &y->attribute[i];

		if (strcmp(p->name, q->name) != 0 || !same_text(p->text, q->text) || p->n != q->n ||
		    (!p->text && memcmp(p->values, q->values, (size_t)p->n * sizeof *p->values) != 0))
			return false;
	}
	return true;
}

static bool same_values(const struct axis *x, const struct axis *y)
{
	return x->n == y->n && memcmp(x->values, y->values, (size_t)x->n * sizeof *x->values) == 0;
}

static const double *join_values(struct arena *a, const struct axis *x, const struct axis *y)
{
	double *v = ARENA_ARRAY(a, double, x->n + y->n);

	memcpy(v, x->values, (size_t)x->n * sizeof *v);
	memcpy(v + x->n, y->values, (size_t)y->n * sizeof *v);
	return v;
}

static struct axis join_axis(struct arena *a, const struct axis *x, const struct axis *y,
                             bool samples)
{
	struct axis j = *x;
	const bool alike = x->values && y->values && same_attributes(x, y) &&
	                   (samples ? x->n + y->n <= AXIS_VALUES_MOST : same_values(x, y));

	if (samples)
		j.n = x->n + y->n;
	if (!same_text(x->name, y->name))
		j.name = NULL;
	if (j.name && alike) {
		j.values = samples ? join_values(a, x, y) : x->values;
		return j;
	}
	j.values = NULL;
	j.nattributes = 0;
	return j;
}

struct axes axes_join(struct arena *a, const struct axes *x, const struct axes *y)
{
	struct axis *joined = ARENA_ARRAY(a, struct axis, x->n + 1);

	if (x->n != y->n)
		return (struct axes){0};
	for (int i = 0; i < x->n; i++)
		joined[i] = join_axis(a, &x->axis[i], &y->axis[i], i == 0);
	return (struct axes){x->n, joined};
}

/* --- as JSON --- */

static void write_numbers(struct buf *out, const double *v, int64_t n)
{
	buf_putc(out, '[');
	for (int64_t i = 0; i < n; i++) {
		buf_puts(out, i ? ", " : "");
		buf_json_double(out, v[i]);
	}
	buf_putc(out, ']');
}

static void write_axis(struct buf *out, const struct axis *x)
{
	buf_puts(out, "{\"name\": ");
	if (x->name)
		buf_json_string(out, x->name);
	else
		buf_puts(out, "null");
	if (x->values) {
		buf_puts(out, ", \"values\": ");
		write_numbers(out, x->values, x->n);
		buf_puts(out, ", \"attributes\": {");
		for (int i = 0; i < x->nattributes; i++) {
			buf_puts(out, i ? ", " : "");
			buf_json_string(out, x->attribute[i].name);
			buf_puts(out, ": ");
			if (x->attribute[i].text)
				buf_json_string(out, x->attribute[i].text);
			else
				write_numbers(out, x->attribute[i].values, x->attribute[i].n);
		}
		buf_putc(out, '}');
	}
	buf_putc(out, '}');
}

void axes_write(struct buf *out, const struct axes *axes)
{
	buf_putc(out, '[');
	for (int i = 0; i < axes->n; i++) {
		buf_puts(out, i ? ",\n    " : "");
		write_axis(out, &axes->axis[i]);
	}
	buf_putc(out, ']');
}

static const double *read_numbers(struct arena *a, const struct json *list)
{
	double *v = ARENA_ARRAY(a, double, list->n + 1);

	for (int i = 0; i < list->n; i++)
		if (!json_double(list->item[i], &v[i]))
			v[i] = NAN;
	return v;
}

static void read_attributes(struct arena *a, const struct json *all, struct axis *out)
{
	struct axis_attribute *v;

	if (!all || all->kind != JSON_OBJECT)
		return;
	out->attribute = v = ARENA_ARRAY(a, struct axis_attribute, all->n + 1);
	for (int i = 0; i < all->n; i++) {
		const struct json *j = all->item[i];

		if (j->kind == JSON_STRING)
			v[out->nattributes++] = (struct axis_attribute){.name = j->key, .text = j->text};
		else if (j->kind == JSON_ARRAY && j->n > 0 && j->n <= AXIS_ATTRIBUTE_MOST)
			v[out->nattributes++] = (struct axis_attribute){
				.name = j->key, .n = j->n, .values = read_numbers(a, j)};
	}
}

static const char *read_axis(struct arena *a, const struct json *j, int64_t extent,
                             struct axis *out)
{
	const struct json *name = json_find(j, "name"), *values = json_find(j, "values");

	out->n = extent;
	if (name && name->kind == JSON_STRING)
		out->name = name->text;
	if (!values)
		return NULL;
	if (values->kind != JSON_ARRAY || values->n != extent || !out->name)
		return "an axis whose coordinates are not as many as it is long";
	out->values = read_numbers(a, values);
	read_attributes(a, json_find(j, "attributes"), out);
	return NULL;
}

const char *axes_read(struct arena *a, const struct json *list, const int64_t *extent, int rank,
                      struct axes *out)
{
	struct axis *v = ARENA_ARRAY(a, struct axis, rank + 1);
	const char *why = NULL;

	*out = (struct axes){0};
	if (!list)
		return NULL;
	if (list->kind != JSON_ARRAY || list->n != rank)
		return "a list of another number of axes than samples have";
	for (int i = 0; i < rank && !why; i++)
		why = read_axis(a, list->item[i], extent[i], &v[i]);
	if (!why)
		*out = (struct axes){rank, v};
	return why;
}
