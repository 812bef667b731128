/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Axes as JSON. */
#include <math.h>

#include "base/buf.h"
#include "base/json.h"
#include "data/axes_parts.h"

static void write_numbers(struct buf *out, const double *v, int64_t n)
{
	buf_putc(out, '[');
	for (int64_t i = 0; i < n; i++) {
		buf_puts(out, i ? ", " : "");
		buf_json_double(out, v[i]);
	}
	buf_putc(out, ']');
}

void axis_attributes_write(struct buf *out, struct axis_attributes x)
{
	buf_putc(out, '{');
	for (int i = 0; i < x.n; i++) {
		buf_puts(out, i ? ", " : "");
		buf_json_string(out, x.v[i].name);
		buf_puts(out, ": ");
		if (x.v[i].text)
			buf_json_string(out, x.v[i].text);
		else
			write_numbers(out, x.v[i].values, x.v[i].n);
	}
	buf_putc(out, '}');
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
		buf_puts(out, ", \"attributes\": ");
		axis_attributes_write(out, (struct axis_attributes){ x->nattributes, x->attribute });
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

struct axis_attributes axis_attributes_read(struct arena *a, const struct json *all)
{
	struct axis_attributes out = { 0 };
	struct axis_attribute *v;
	if (!all || all->kind != JSON_OBJECT)
		return out;
	out.v = v = ARENA_ARRAY(a, struct axis_attribute, all->n + 1);
	for (int i = 0; i < all->n; i++) {
		const struct json *j = all->item[i];

		if (j->kind == JSON_STRING)
			v[out.n++] = (struct axis_attribute){ .name = j->key, .text = j->text };
		else if (j->kind == JSON_ARRAY && j->n > 0 && j->n <= AXIS_ATTRIBUTE_MOST)
			v[out.n++] = (struct axis_attribute){
				.name = j->key, .n = j->n, .values = read_numbers(a, j) };
	}
	return out;
}

static const char *read_axis(struct arena *a, const struct json *j, int64_t extent,
                             struct axis *out)
{
	const struct json *name = json_find(j, "name"), *values = json_find(j, "values");
	struct axis_attributes attributes;
	out->n = extent;
	if (name && name->kind == JSON_STRING)
		out->name = name->text;
	if (!values)
		return NULL;
	if (values->kind != JSON_ARRAY || values->n != extent || !out->name)
		return "an axis whose coordinates are not as many as it is long";
	out->values = read_numbers(a, values);
	attributes = axis_attributes_read(a, json_find(j, "attributes"));
	out->nattributes = attributes.n;
	out->attribute = attributes.v;
	return NULL;
}

const char *axes_read(struct arena *a, const struct json *list, const int64_t *extent, int rank,
                      struct axes *out)
{
	struct axis *v = ARENA_ARRAY(a, struct axis, rank + 1);
	const char *why = NULL;
	*out = (struct axes){ 0 };
	if (!list)
		return NULL;
	if (list->kind != JSON_ARRAY || list->n != rank)
		return "a list of another number of axes than samples have";
	for (int i = 0; i < rank && !why; i++)
		why = read_axis(a, list->item[i], extent[i], &v[i]);
	if (!why)
		*out = (struct axes){ .n = rank, .axis = v };
	return why;
}
