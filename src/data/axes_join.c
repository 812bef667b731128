/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Axes of several sets in a row, and of some samples of one. */
#include <string.h>

#include "data/axes_parts.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* An axis of positions: the first set's if it is equal in all sets, else only its name. */
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

static bool same_attributes(const struct axis *x, const struct axis *y)
{
	return axis_attributes_equal((struct axis_attributes){ x->nattributes, x->attribute },
	                             (struct axis_attributes){ y->nattributes, y->attribute });
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

/* --- fields --- */

/* Whether the field's outermost axis is that of samples, so that each sample's values are
 * contiguous. */
static bool is_of_samples(const struct axis_field *f)
{
	return f->nd > 0 && f->on[0] == 0;
}

/* Whether the field depends on the axis of samples, but each sample's values are not contiguous. */
static bool is_across_samples(const struct axis_field *f)
{
	for (int i = 1; i < f->nd; i++)
		if (f->on[i] == 0)
			return true;
	return false;
}

/* Concatenates the values of all sets. */
static bool join_of_samples(struct arena *a, const struct axes *all, int n,
                            const struct axis_field *f, struct axis_field *out)
{
	int64_t total = 0;
	char *to;
	for (int i = 0; i < n; i++) {
		const struct axis_field *g = axes_field(&all[i], f->name);

		if (!g || g->nd != f->nd || g->dtype != f->dtype ||
		    memcmp(f->on, g->on, (size_t)f->nd * sizeof *f->on) != 0 ||
		    !axis_attributes_equal(f->attributes, g->attributes))
			return false;
		for (int k = 1; k < f->nd; k++)
			if (all[i].axis[f->on[k]].n != all[0].axis[f->on[k]].n)
				return false;
		total += axis_field_count(&all[i], g);
	}
	if (total > FIELD_VALUES_MOST)
		return false;
	to = arena_alloc(a, (size_t)total * dtype_size(f->dtype) + 1);
	*out = *f;
	out->values = to;
	for (int i = 0; i < n; i++) {
		const struct axis_field *g = axes_field(&all[i], f->name);
		const size_t bytes = (size_t)axis_field_count(&all[i], g) * dtype_size(f->dtype);

		memcpy(to, g->values, bytes);
		to += bytes;
	}
	return true;
}

static bool join_field(struct arena *a, const struct axes *all, int n, const struct axis_field *f,
                       struct axis_field *out)
{
	if (is_of_samples(f) && n > 1)
		return join_of_samples(a, all, n, f, out);
	*out = *f;
	for (int i = 1; i < n; i++) {
		const struct axis_field *g = axes_field(&all[i], f->name);

		if (!g || is_across_samples(f) || !axis_field_equal(&all[0], f, &all[i], g))
			return false;
	}
	return true;
}

static bool same_mappings(const struct axes *x, const struct axes *y)
{
	bool same = same_text(x->grid_mapping, y->grid_mapping) && x->nmappings == y->nmappings;
	for (int i = 0; same && i < x->nmappings; i++)
		same = same_text(x->mapping[i].name, y->mapping[i].name) &&
		       axis_attributes_equal(x->mapping[i].attributes, y->mapping[i].attributes);
	return same;
}

struct axes axes_join(struct arena *a, const struct axes *all, int n)
{
	struct axis *axis = ARENA_ARRAY(a, struct axis, all[0].n + 1);
	struct axis_field *field = ARENA_ARRAY(a, struct axis_field, all[0].nfields + 1);
	struct axes out = { .n = all[0].n, .axis = axis, .field = field };
	bool same = true;
	for (int i = 0; i < n; i++) {
		if (all[i].n != all[0].n || all[i].n == 0)
			return (struct axes){ 0 };
		same &= same_mappings(&all[0], &all[i]);
	}
	axis[0] = join_samples(a, all, n);
	for (int k = 1; k < all[0].n; k++)
		axis[k] = join_places(all, n, k);
	for (int k = 0; k < all[0].nfields; k++)
		out.nfields += join_field(a, all, n, &all[0].field[k], &field[out.nfields]);
	if (same) {
		out.grid_mapping = all[0].grid_mapping;
		out.nmappings = all[0].nmappings;
		out.mapping = all[0].mapping;
	}
	return out;
}

/* --- choosing --- */

static struct axis_field choose_field(struct arena *a, const struct axes *all,
                                      const struct axis_field *f, const int64_t *sample, int64_t n)
{
	struct axis_field out = *f;
	const int64_t rows = all->axis[0].n;
	const size_t row = rows ? (size_t)(axis_field_count(all, f) / rows) * dtype_size(f->dtype) : 0;
	char *to = arena_alloc(a, (size_t)n * row + 1);
	for (int64_t i = 0; i < n; i++)
		memcpy(to + (size_t)i * row, (const char *)f->values + (size_t)sample[i] * row, row);
	out.values = to;
	return out;
}

struct axes axes_choose(struct arena *a, const struct axes *all, const int64_t *sample, int64_t n)
{
	struct axis *axis = ARENA_ARRAY(a, struct axis, all->n + 1);
	struct axis_field *field = ARENA_ARRAY(a, struct axis_field, all->nfields + 1);
	struct axes out = *all;
	double *v = ARENA_ARRAY(a, double, n + 1);
	if (all->n == 0)
		return out;
	memcpy(axis, all->axis, (size_t)all->n * sizeof *axis);
	for (int64_t i = 0; all->axis[0].values && i < n; i++)
		v[i] = all->axis[0].values[sample[i]];
	axis[0].n = n;
	axis[0].values = all->axis[0].values ? v : NULL;
	out.axis = axis;
	out.field = field;
	out.nfields = 0;
	for (int k = 0; k < all->nfields; k++) {
		const struct axis_field *f = &all->field[k];

		if (!is_across_samples(f))
			field[out.nfields++] = is_of_samples(f) ? choose_field(a, all, f, sample, n) : *f;
	}
	return out;
}

struct axes axes_of_places(struct arena *a, const struct axes *all)
{
	struct axis *axis = ARENA_ARRAY(a, struct axis, all->n + 1);
	for (int k = 0; k < all->n; k++) {
		axis[k] = all->axis[k];
		if (k == 0 || axis[k].n > AXIS_VALUES_SHORT)
			axis[k] = (struct axis){ .name = axis[k].name, .n = axis[k].n };
	}
	return (struct axes){ .n = all->n, .axis = axis };
}
