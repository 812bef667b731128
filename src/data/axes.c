/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/axes.h"

#include <string.h>

#include "data/axes_parts.h"

/* --- comparing --- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

bool axis_attributes_equal(struct axis_attributes x, struct axis_attributes y)
{
	if (x.n != y.n)
		return false;
	for (int i = 0; i < x.n; i++) {
		const struct axis_attribute *p = &x.v[i], *q = &y.v[i];

		if (strcmp(p->name, q->name) != 0 || !same_text(p->text, q->text) || p->n != q->n ||
		    (!p->text && memcmp(p->values, q->values, (size_t)p->n * sizeof *p->values) != 0))
			return false;
	}
	return true;
}

bool axis_equal(const struct axis *x, const struct axis *y)
{
	const struct axis_attributes p = { x->nattributes, x->attribute },
	                             q = { y->nattributes, y->attribute };
	if (x->n != y->n || !same_text(x->name, y->name) || !x->values != !y->values)
		return false;
	return !x->values || (axis_attributes_equal(p, q) &&
	                      memcmp(x->values, y->values, (size_t)x->n * sizeof *x->values) == 0);
}

int64_t axis_field_count(const struct axes *axes, const struct axis_field *f)
{
	int64_t n = 1;
	for (int i = 0; i < f->nd; i++)
		n *= axes->axis[f->on[i]].n;
	return n;
}

bool axis_field_equal(const struct axes *x, const struct axis_field *f, const struct axes *y,
                      const struct axis_field *g)
{
	const int64_t n = axis_field_count(x, f);
	if (strcmp(f->name, g->name) != 0 || f->nd != g->nd || f->dtype != g->dtype ||
	    memcmp(f->on, g->on, (size_t)f->nd * sizeof *f->on) != 0 || n != axis_field_count(y, g) ||
	    !axis_attributes_equal(f->attributes, g->attributes))
		return false;
	return memcmp(f->values, g->values, (size_t)n * dtype_size(f->dtype)) == 0;
}

const struct axis_field *axes_field(const struct axes *axes, const char *name)
{
	for (int i = 0; i < axes->nfields; i++)
		if (strcmp(axes->field[i].name, name) == 0)
			return &axes->field[i];
	return NULL;
}

bool axes_say_anything(const struct axes *axes)
{
	for (int k = 0; k < axes->n; k++)
		if (axes->axis[k].name)
			return true;
	return axes->nfields || axes->nmappings;
}

/* --- copying --- */

static struct axis_attributes copy_attributes(struct arena *a, struct axis_attributes from)
{
	struct axis_attribute *copy = ARENA_ARRAY(a, struct axis_attribute, from.n + 1);
	for (int i = 0; i < from.n; i++) {
		const struct axis_attribute *x = &from.v[i];

		copy[i] = *x;
		copy[i].name = arena_strdup(a, x->name);
		if (x->text)
			copy[i].text = arena_strdup(a, x->text);
		else
			copy[i].values = arena_copy(a, x->values, (size_t)x->n * sizeof *x->values);
	}
	return (struct axis_attributes){ from.n, copy };
}

static struct axis copy_axis(struct arena *a, const struct axis *x)
{
	struct axis copy = *x;
	copy.name = x->name ? arena_strdup(a, x->name) : NULL;
	if (x->values)
		copy.values = arena_copy(a, x->values, (size_t)x->n * sizeof *x->values);
	copy.attribute = copy_attributes(a, (struct axis_attributes){ x->nattributes,
	                                                                 x->attribute }).v;
	return copy;
}

static struct axis_field copy_field(struct arena *a, const struct axes *of,
                                    const struct axis_field *f)
{
	struct axis_field copy = *f;
	copy.name = arena_strdup(a, f->name);
	copy.values = arena_copy(a, f->values,
	                         (size_t)axis_field_count(of, f) * dtype_size(f->dtype));
	copy.attributes = copy_attributes(a, f->attributes);
	return copy;
}

static void copy_mappings(struct arena *a, const struct axes *from, struct axes *out)
{
	struct axis_mapping *copy = ARENA_ARRAY(a, struct axis_mapping, from->nmappings + 1);
	for (int i = 0; i < from->nmappings; i++)
		copy[i] = (struct axis_mapping){ arena_strdup(a, from->mapping[i].name),
			copy_attributes(a, from->mapping[i].attributes) };
	out->mapping = copy;
	out->nmappings = from->nmappings;
	out->grid_mapping = from->grid_mapping ? arena_strdup(a, from->grid_mapping) : NULL;
}

struct axes axes_copy_thrifty(struct arena *a, const struct axes *from, const struct axes *like)
{
	struct axis *axis = ARENA_ARRAY(a, struct axis, from->n + 1);
	struct axis_field *field = ARENA_ARRAY(a, struct axis_field, from->nfields + 1);
	struct axes out = { .n = from->n, .axis = axis, .nfields = from->nfields, .field = field };
	for (int k = 0; k < from->n; k++) {
		const bool same = like && k < like->n && axis_equal(&from->axis[k], &like->axis[k]);

		axis[k] = same ? like->axis[k] : copy_axis(a, &from->axis[k]);
	}
	for (int k = 0; k < from->nfields; k++) {
		const struct axis_field *f = &from->field[k],
		                        *other = like ? axes_field(like, f->name) : NULL;

		field[k] = other && axis_field_equal(from, f, like, other) ? *other :
		           copy_field(a, from, f);
	}
	copy_mappings(a, from, &out);
	return out;
}

struct axes axes_copy(struct arena *a, const struct axes *from)
{
	return axes_copy_thrifty(a, from, NULL);
}
