/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Coordinate fields as JSON. Their values, which may be millions, are stored in base64 as
 * little-endian floats, which NumPy can read directly. */
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/json.h"
#include "data/axes_parts.h"

static void write_field(struct buf *out, const struct axes *axes, const struct axis_field *f)
{
	buf_puts(out, "{\"name\": ");
	buf_json_string(out, f->name);
	buf_puts(out, ", \"axes\": [");
	for (int i = 0; i < f->nd; i++)
		buf_printf(out, "%s%d", i ? ", " : "", f->on[i]);
	buf_printf(out, "], \"dtype\": \"%s\", \"values\": \"", dtype_name(f->dtype));
	base64_write(out, f->values, (size_t)axis_field_count(axes, f) * dtype_size(f->dtype));
	buf_puts(out, "\", \"attributes\": ");
	axis_attributes_write(out, f->attributes);
	buf_putc(out, '}');
}

void axes_write_fields(struct buf *out, const struct axes *axes)
{
	for (int i = 0; i < axes->nfields; i++) {
		buf_puts(out, i ? ",\n    " : ",\n  \"coordinates\": [");
		write_field(out, axes, &axes->field[i]);
		buf_puts(out, i + 1 < axes->nfields ? "" : "]");
	}
	if (!axes->grid_mapping)
		return;
	buf_puts(out, ",\n  \"grid_mapping\": {\"attribute\": ");
	buf_json_string(out, axes->grid_mapping);
	buf_puts(out, ", \"variables\": {");
	for (int i = 0; i < axes->nmappings; i++) {
		buf_puts(out, i ? ", " : "");
		buf_json_string(out, axes->mapping[i].name);
		buf_puts(out, ": ");
		axis_attributes_write(out, axes->mapping[i].attributes);
	}
	buf_puts(out, "}}");
}

/* --- reading --- */

static bool read_on(const struct json *list, int naxes, struct axis_field *f)
{
	bool seen[MAXD + 1] = { false };
	if (!list || list->kind != JSON_ARRAY || list->n > MAXD)
		return false;
	for (f->nd = 0; f->nd < list->n; f->nd++) {
		int64_t k;

		if (!json_int(list->item[f->nd], &k) || k < 0 || k >= naxes || k > MAXD || seen[k])
			return false;
		f->on[f->nd] = (int)k;
		seen[k] = true;
	}
	return true;
}

/* Checked step by step: extents come from the file. */
static bool is_kept(const struct axes *axes, const struct axis_field *f)
{
	int64_t n = 1;
	for (int i = 0; i < f->nd; i++) {
		const int64_t extent = axes->axis[f->on[i]].n;

		if (extent < 1 || extent > FIELD_VALUES_MOST / n)
			return false;
		n *= extent;
	}
	return true;
}

static const char *read_field(struct arena *a, const struct json *j, const struct axes *axes,
                              struct axis_field *f)
{
	const struct json *name = json_find(j, "name"), *dtype = json_find(j, "dtype"),
	                  *values = json_find(j, "values");
	const int found = dtype && dtype->kind == JSON_STRING ? dtype_find(dtype->text) : -1;
	uint8_t *v;
	size_t bytes;
	if (!name || name->kind != JSON_STRING || !*name->text)
		return "coordinates without a name";
	if (!read_on(json_find(j, "axes"), axes->n, f) || !is_kept(axes, f))
		return "coordinates on axes that there are not";
	if ((found != DTYPE_F32 && found != DTYPE_F64) || !values || values->kind != JSON_STRING)
		return "coordinates without values";
	f->name = name->text;
	f->dtype = (enum dtype)found;
	f->attributes = axis_attributes_read(a, json_find(j, "attributes"));
	bytes = (size_t)axis_field_count(axes, f) * dtype_size(f->dtype);
	f->values = v = arena_alloc(a, bytes);
	return base64_read(values->text, v, bytes) ? NULL :
	       "coordinates of another number of values than the axes have";
}

static const char *read_mappings(struct arena *a, const struct json *j, struct axes *out)
{
	const struct json *text = json_find(j, "attribute"), *all = json_find(j, "variables");
	struct axis_mapping *v;
	if (!text || text->kind != JSON_STRING || !all || all->kind != JSON_OBJECT)
		return "a grid mapping without 'attribute' and 'variables'";
	out->grid_mapping = text->text;
	out->nmappings = all->n;
	out->mapping = v = ARENA_ARRAY(a, struct axis_mapping, all->n + 1);
	for (int i = 0; i < all->n; i++)
		v[i] = (struct axis_mapping){ all->item[i]->key, axis_attributes_read(a, all->item[i]) };
	return NULL;
}

const char *axes_read_fields(struct arena *a, const struct json *root, struct axes *out)
{
	const struct json *list = json_find(root, "coordinates"),
	                  *mapping = json_find(root, "grid_mapping");
	struct axis_field *v;
	const char *why = NULL;
	if (out->n == 0)
		return list || mapping ? "coordinates of axes that are not described" : NULL;
	if (list && list->kind != JSON_ARRAY)
		return "'coordinates' is no list";
	out->field = v = ARENA_ARRAY(a, struct axis_field, list ? list->n + 1 : 1);
	for (int i = 0; list && i < list->n && !why; i++)
		why = read_field(a, list->item[i], out, &v[out->nfields++]);
	if (!why && mapping)
		why = read_mappings(a, mapping, out);
	return why;
}
