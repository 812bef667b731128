/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/axes.h"

#include <math.h>
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
	return (struct axes){ from->n, copy };
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

bool axis_equal(const struct axis *x, const struct axis *y)
{
	if (x->n != y->n || !same_text(x->name, y->name) || !x->values != !y->values)
		return false;
	return !x->values || (same_attributes(x, y) &&
	                      memcmp(x->values, y->values, (size_t)x->n * sizeof *x->values) == 0);
}

/* An axis of places: the first set's, if all have it, else no more than its name. */
static struct axis join_places(const struct axes *all, int n, int k)
{
	struct axis out = all[0].axis[k];
	for (int i = 1; i < n; i++) {
		const struct axis *x = &all[i].axis[k];

		if (!same_text(out.name, x->name))
			out.name = NULL;
		if (!axis_equal(&all[0].axis[k], x))
			out.values = NULL;
	}
	out.nattributes = out.values ? out.nattributes : 0;
	return out;
}

static struct axis join_samples(struct arena *a, const struct axes *all, int n)
{
	struct axis out = all[0].axis[0];
	bool known = out.name && out.values;
	int64_t total = out.n;
	double *v;
	for (int i = 1; i < n; i++) {
		const struct axis *x = &all[i].axis[0];

		total += x->n;
		if (!same_text(out.name, x->name))
			out.name = NULL;
		known = known && out.name && x->values && same_attributes(&all[0].axis[0], x);
	}
	out.n = total;
	out.values = NULL;
	out.nattributes = 0;
	if (!known || total > AXIS_VALUES_MOST)
		return out;
	out.nattributes = all[0].axis[0].nattributes;
	out.values = v = ARENA_ARRAY(a, double, total + 1);
	for (int i = 0; i < n; v += all[i++].axis[0].n)
		memcpy(v, all[i].axis[0].values, (size_t)all[i].axis[0].n * sizeof *v);
	return out;
}

struct axes axes_join(struct arena *a, const struct axes *all, int n)
{
	struct axis *joined;
	for (int i = 0; i < n; i++)
		if (all[i].n != all[0].n || all[i].n == 0)
			return (struct axes){ 0 };
	joined = ARENA_ARRAY(a, struct axis, all[0].n + 1);
	joined[0] = join_samples(a, all, n);
	for (int k = 1; k < all[0].n; k++)
		joined[k] = join_places(all, n, k);
	return (struct axes){ all[0].n, joined };
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
			v[out->nattributes++] = (struct axis_attribute){ .name = j->key, .text = j->text };
		else if (j->kind == JSON_ARRAY && j->n > 0 && j->n <= AXIS_ATTRIBUTE_MOST)
			v[out->nattributes++] = (struct axis_attribute){
				.name = j->key, .n = j->n, .values = read_numbers(a, j) };
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
	*out = (struct axes){ 0 };
	if (!list)
		return NULL;
	if (list->kind != JSON_ARRAY || list->n != rank)
		return "a list of another number of axes than samples have";
	for (int i = 0; i < rank && !why; i++)
		why = read_axis(a, list->item[i], extent[i], &v[i]);
	if (!why)
		*out = (struct axes){ rank, v };
	return why;
}
