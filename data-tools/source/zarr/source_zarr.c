/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays of Zarr stores that are folders or ZIP files, in version 2 or 3; names are paths inside
 * the store. An array that is named as its only axis has the coordinates of that axis; consolidated
 * metadata are a copy of what the folders have, and not needed. Attributes mean what they do in
 * NetCDF. */

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "data-tools/source/source.h"
#include "data-tools/source/zarr/zarr_array.h"

#define DEPTH_MOST 8             /* of groups */
#define NAMES_MOST 4096

struct handle {
	struct zarr_store *store;
	struct zarr_array *array;
	char *parent;                /* the folder around the array's */
};

/* Of a ZIP file one level of folders counts too: it may have been made of the store's folder. */
static bool has_node(const struct zarr_store *st, const char *folder, int depth)
{
	const int mark = err_count();
	enum zarr_node node = ZARR_NONE;
	const bool damaged = zarr_node(st, folder, &node) < 0;
	bool has = damaged || node != ZARR_NONE;
	int n = 0;
	char **names = depth > 0 && !has ? zarr_store_list(st, folder, &n) : NULL;
	for (int i = 0; i < n; i++) {
		char *below = io_join(folder, names[i]);

		has = has || has_node(st, below, depth - 1);
		mem_free(below);
		mem_free(names[i]);
	}
	mem_free(names);
	err_truncate(mark);
	return has;
}

bool source_is_zarr(const char *path)
{
	const int mark = err_count();
	struct zarr_store *st;
	const bool is = zarr_store_open(&st, path) == 0 && has_node(st, path, zarr_store_is_zip(st));
	zarr_store_close(st);
	err_truncate(mark);
	return is;
}

/* --- the arrays of a group --- */

struct names {
	char **v;
	int n;
};

static int compare(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static void names_release(struct names *names)
{
	for (int i = 0; i < names->n; i++)
		mem_free(names->v[i]);
	mem_free(names->v);
}

/* Whether the array is a coordinate: named as its only axis. One that cannot be read is none. */
static bool is_coordinate(const struct zarr_store *st, const char *folder)
{
	const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
	const int mark = err_count();
	struct arena *a = arena_new();
	struct zarr_meta m;
	bool is = zarr_meta_read(&m, a, st, folder) == 0 && m.shape.nd == 1 && m.axis[0] &&
	          strcmp(m.axis[0], name) == 0;
	err_truncate(mark);
	arena_free(a);
	return is;
}

static void list_folder(const struct zarr_store *st, const char *root, const char *below, int depth,
                        struct names *out);

static void list_entry(const struct zarr_store *st, const char *root, const char *below,
                       const char *name, int depth, struct names *out)
{
	char *path = *below ? io_join(below, name) : mem_strdup(name), *folder = io_join(root, path);
	const int mark = err_count();
	enum zarr_node node;
	if (zarr_store_has_folder(st, folder) && zarr_node(st, folder, &node) == 0) {
		if (node == ZARR_ARRAY && !is_coordinate(st, folder) && out->n < NAMES_MOST) {
			out->v = mem_realloc(out->v, ((size_t)out->n + 1) * sizeof *out->v);
			out->v[out->n++] = mem_strdup(path);
		} else if (node == ZARR_GROUP && depth > 0) {
			list_folder(st, root, path, depth - 1, out);
		}
	}
	err_truncate(mark);
	mem_free(folder);
	mem_free(path);
}

static void list_folder(const struct zarr_store *st, const char *root, const char *below, int depth,
                        struct names *out)
{
	char *folder = *below ? io_join(root, below) : mem_strdup(root);
	int n;
	char **names = zarr_store_list(st, folder, &n);
	for (int i = 0; i < n; i++) {
		list_entry(st, root, below, names[i], depth, out);
		mem_free(names[i]);
	}
	mem_free(names);
	mem_free(folder);
}

/* The folder of the array that is wanted; mem_free. */
static int find_array(struct source *s, const struct zarr_store *st, const char *variable,
                      char **out)
{
	enum zarr_node node = ZARR_NONE;
	struct names names = { 0 };
	int rc = 0;
	if (variable) {
		*out = io_join(s->path, variable);
		TRY(zarr_node(st, *out, &node));
		if (node == ZARR_ARRAY && *variable != '/') {
			s->name = mem_strdup(variable);
			return 0;
		}
		mem_free(*out);
		*out = NULL;
	}
	list_folder(st, s->path, "", DEPTH_MOST, &names);
	qsort(names.v, (size_t)names.n, names.n ? sizeof *names.v : 1, compare);
	if (variable || names.n != 1) {
		rc = source_no_variable(s->path, variable, (const char *const *)names.v, names.n);
	} else {
		s->name = mem_strdup(names.v[0]);
		*out = io_join(s->path, s->name);
	}
	names_release(&names);
	return rc;
}

/* --- opening --- */

/* How many values an attribute has; 0 if there is none. */
static int values_of(const struct zarr_meta *m, const char *attribute)
{
	const struct json *v = m->attributes ? json_find(m->attributes, attribute) : NULL;
	return !v || v->kind == JSON_NULL ? 0 : v->kind == JSON_ARRAY ? v->n : 1;
}

static void add_missing(struct source *s, const struct zarr_meta *m, const char *attribute)
{
	const int n = values_of(m, attribute);
	long double v;
	for (int i = 0; i < n; i++)
		if (zarr_attribute(m, attribute, i, &v))
			source_add_missing(s, v);
		else
			s->text_missing = attribute;
}

/* Changes *out where the attribute is there. */
static int take_number(const struct source *s, const struct zarr_meta *m, const char *name,
                       double *out)
{
	long double number, more;
	if (!m->attributes || !json_find(m->attributes, name))
		return 0;
	if (!zarr_attribute(m, name, 0, &number) || zarr_attribute(m, name, 1, &more))
		return source_no_number(s, name);
	*out = (double)number;
	return 0;
}

/* What the values of a chunk are that is not there. */
static long double fill_of(const struct zarr_meta *m)
{
	uint32_t wide;
	int64_t whole;
	memcpy(&wide, m->fill, sizeof wide);
	memcpy(&whole, m->fill, sizeof whole);
	return m->element.wide ? wide :
	       m->element.dtype == DTYPE_I64 ? (long double)whole :
	       dtype_get(m->element.dtype, m->fill, 0);
}

static int take_attributes(struct source *s, const struct zarr_meta *m)
{
	add_missing(s, m, "_FillValue");
	add_missing(s, m, "missing_value");
	if (m->turned)
		source_turn_missing(s, m->element.size, m->sign);
	TRY(take_number(s, m, "scale_factor", &s->scale));
	TRY(take_number(s, m, "add_offset", &s->offset));
	/* xarray keeps _FillValue there */
	if (m->version == 2 && m->has_fill && m->attributes &&
	    json_find(m->attributes, "_ARRAY_DIMENSIONS"))
		source_add_missing(s, fill_of(m));
	return 0;
}

/* The array of that name in the same group, or NULL; zarr_close. */
static struct zarr_array *open_beside(const struct handle *h, const char *name)
{
	char *folder = io_join(h->parent, name);
	const int mark = err_count();
	enum zarr_node node = ZARR_NONE;
	struct zarr_array *z = NULL;
	if (*name != '/' && zarr_store_has_folder(h->store, folder) &&
	    zarr_node(h->store, folder, &node) == 0 && node == ZARR_ARRAY)
		(void)zarr_open(&z, h->store, folder);
	err_truncate(mark);
	mem_free(folder);
	return z;
}

/* The one that has the coordinates of an axis. */
static struct zarr_array *open_axis(const struct handle *h, const char *axis)
{
	struct zarr_array *z = open_beside(h, axis);
	if (!z || zarr_meta(z)->shape.nd == 1)
		return z;
	zarr_close(z);
	return NULL;
}

/* By their names and the attribute `axis` of the coordinates. */
static void name_axes(struct source *s, const struct handle *h, const struct zarr_meta *m)
{
	for (int i = 0; i < s->shape.nd; i++) {
		struct zarr_array *z = m->axis[i] ? open_axis(h, m->axis[i]) : NULL;
		const struct json *said = z ? zarr_meta(z)->attributes : NULL,
		                  *kind = said ? json_find(said, "axis") : NULL;

		s->axis[i] = m->axis[i] ? mem_strdup(m->axis[i]) : NULL;
		if (kind && kind->kind == JSON_STRING && *kind->text && strchr("XYZT", *kind->text))
			s->kind[i] = *kind->text;
		zarr_close(z);
	}
}

static int open_in(struct source *s, struct handle *h, const char *folder)
{
	const struct zarr_meta *m;
	const char *slash = strrchr(folder, '/');
	TRY(zarr_open(&h->array, h->store, folder));
	h->parent = mem_strdup(slash ? folder : ".");
	if (slash)
		h->parent[slash == folder ? 1 : slash - folder] = '\0';
	m = zarr_meta(h->array);
	s->dtype = m->element.dtype;
	s->unsigned64 = m->element.unsigned64;
	s->shape = m->shape;
	TRY(take_attributes(s, m));
	name_axes(s, h, m);
	return 0;
}

static int open_zarr(struct source *s, const char *variable)
{
	struct handle *h;
	enum zarr_node node;
	char *folder = NULL;
	int rc;
	s->handle = h = mem_calloc(1, sizeof *h);
	TRY(zarr_store_open(&h->store, s->path));
	TRY(zarr_node(h->store, s->path, &node));
	if (node == ZARR_NONE && has_node(h->store, s->path, zarr_store_is_zip(h->store)))
		node = ZARR_GROUP;
	if (node == ZARR_NONE)
		return source_bad(s, "zarr: neither .zarray, .zgroup nor zarr.json is in this folder");
	if (node == ZARR_GROUP) {
		rc = find_array(s, h->store, variable, &folder);
		if (rc == 0)
			rc = open_in(s, h, folder);
		mem_free(folder);
		return rc;
	}
	if (variable)
		return ERR(E_USAGE, NULL, "'%s' is one array without a name; '%s' cannot be chosen",
		           s->path, variable);
	source_take_stem(s);
	return open_in(s, h, s->path);
}

static int read_zarr(struct source *s, int64_t first, int64_t n, void *out)
{
	const struct handle *h = s->handle;
	if (first < 0)
		return zarr_read(h->array, 0, s->shape.nd ? s->shape.d[0] : 1, out);
	return zarr_read(h->array, first, n, out);
}

static int read_zarr_box(struct source *s, const int64_t *start, const int64_t *count, void *out)
{
	const struct handle *h = s->handle;
	return zarr_read_box(h->array, start, count, out);
}

static void close_zarr(struct source *s)
{
	struct handle *h = s->handle;
	zarr_close(h->array);
	zarr_store_close(h->store);
	mem_free(h->parent);
	mem_free(h);
}

/* --- coordinates --- */

static bool read_attribute(const struct json *v, struct arena *a, struct axis_attribute *out)
{
	double one;
	const int n = v->kind == JSON_ARRAY ? v->n : 1;
	double *values;
	*out = (struct axis_attribute){ .name = arena_strdup(a, v->key) };
	if (v->kind == JSON_STRING) {
		out->text = arena_strdup(a, v->text);
		return true;
	}
	if (n < 1 || n > AXIS_ATTRIBUTE_MOST)
		return false;
	values = ARENA_ARRAY(a, double, n);
	for (int i = 0; i < n; i++) {
		if (!json_double(v->kind == JSON_ARRAY ? v->item[i] : v, &one))
			return false;
		values[i] = one;
	}
	out->values = values;
	out->n = n;
	return true;
}

static struct axis_attributes read_attributes(const struct json *all, struct arena *a)
{
	struct axis_attributes out = { 0 };
	struct axis_attribute *list;
	if (!all || all->kind != JSON_OBJECT)
		return out;
	out.v = list = ARENA_ARRAY(a, struct axis_attribute, all->n + 1);
	for (int i = 0; i < all->n; i++)
		if (*all->item[i]->key != '_' && strcmp(all->item[i]->key, "bounds") != 0 &&
		    read_attribute(all->item[i], a, &list[out.n]))
			out.n++;
	return out;
}

static bool attributes_of(struct source *s, const char *name, struct arena *a,
                          struct axis_attributes *out)
{
	const struct handle *h = s->handle;
	struct zarr_array *z = name ? open_beside(h, name) : NULL;
	if (name && !z)
		return false;
	*out = read_attributes(zarr_meta(z ? z : h->array)->attributes, a);
	zarr_close(z);
	return true;
}

static void coordinates(struct source *s, int i, struct arena *a, struct axis *out)
{
	struct zarr_array *z = open_axis(s->handle, s->axis[i]);
	const int mark = err_count();
	void *raw;
	if (!z || zarr_meta(z)->shape.d[0] != out->n) {
		zarr_close(z);
		return;
	}
	raw = mem_alloc((size_t)out->n * sizeof(double));
	if (zarr_read(z, 0, out->n, raw) == 0) {
		double *values = ARENA_ARRAY(a, double, out->n);

		dtype_convert(DTYPE_F64, values, zarr_meta(z)->element.dtype, raw, out->n);
		out->values = values;
		const struct axis_attributes said = read_attributes(zarr_meta(z)->attributes, a);
		out->nattributes = said.n;
		out->attribute = said.v;
	}
	err_truncate(mark);
	mem_free(raw);
	zarr_close(z);
}

static const char *const extensions[] = { ".zarr", ".zarr.zip", NULL };

const struct source_format source_zarr = {
	"zarr", extensions, open_zarr, read_zarr, close_zarr, read_zarr_box, coordinates,
	.attributes = attributes_of,
	.folder = true, .apart = true,
};
