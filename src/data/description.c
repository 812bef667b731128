/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parses the description of a record file. The text is not trusted: types, ranges and the numbers
 * of names and statistics are all checked against the shapes. Unknown keys are skipped, so that a
 * minor addition to the format does not need a new version. */
#include "data/description.h"

#include <math.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/json.h"
#include "data/axes_parts.h"

/* The first fault is kept; after it the functions continue without effect. */
struct reader {
	struct arena *a;
	const char *why;
	size_t at;                   /* in the file */
	struct record_array *extra;  /* the same as the info's, to be filled */
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

/* list: NULL where parent has none. */
static void read_shape(struct reader *r, const struct json *list, const struct json *parent,
                       struct shape *s)
{
	s->nd = 0;
	if (!list || list->kind != JSON_ARRAY || list->n > 4) {
		fault(r, list ? list : parent, "expected a shape of at most four axes");
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

/* An array's object as a whole, but for what depends on its shape. */
static const struct json *read_array(struct reader *r, const struct json *root, const char *name,
                                     struct record_array *a)
{
	const struct json *j = json_find(root, name);
	if (!j || j->kind != JSON_OBJECT) {
		fault(r, j ? j : root, "no description of 'input' or 'target'");
		return NULL;
	}
	read_dtype(r, j, a);
	read_shape(r, read_list(r, j, "shape", -1), j, &a->shape);
	return j;
}

/* What depends on the shapes, once they are known to be sound. */
static void read_names(struct reader *r, const struct json *j, struct record_info *i, int k)
{
	struct record_array *a =
	    k == 0 ? &i->input : k == 1 ? &i->target : &r->extra[k - 2];
	const bool stats = k == 0 || dtype_is_float(a->dtype);
	const struct json *by_file = json_find(j, "named_by_file");
	a->channels = read_strings(r, j, "channels", record_names(i, k), NULL);
	a->units = read_strings(r, j, "units", record_names(i, k), NULL);
	a->named_by_file = by_file && by_file->kind == JSON_TRUE;
	if (stats && record_channels(i, k) > INT32_MAX) {
		fault(r, j, "too many channels");
		return;
	}
	a->nstats = stats ? (int)record_channels(i, k) : 0;
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
	int64_t extent[MAXD] = { i->samples };
	const char *why;
	for (int k = 1; k < i->input.shape.nd; k++)
		extent[k] = i->input.shape.d[k];
	why = axes_read(r->a, json_find(root, "axes"), extent, i->input.shape.nd, &i->axes);
	if (!why)
		why = axes_read_fields(r->a, root, &i->axes);
	if (why)
		fault(r, json_find(root, "axes"), why);
}

/* --- arrays with sizes --- */

static enum record_role read_role(struct reader *r, const struct json *j)
{
	static const char *const roles[RECORD_ROLES] = { "input", "target", "weight", "extra" };
	const struct json *role = json_find(j, "role");
	for (int k = 0; role && role->kind == JSON_STRING && k < RECORD_ROLES; k++)
		if (strcmp(role->text, roles[k]) == 0)
			return (enum record_role)k;
	fault(r, role ? role : j, "expected a role: input, target, weight or extra");
	return RECORD_EXTRA;
}

static void read_named(struct reader *r, const struct json *j, struct record_array *a)
{
	const struct json *name = json_find(j, "name");
	a->role = read_role(r, j);
	a->name = name && name->kind == JSON_STRING ? name->text : NULL;
	if (!a->name)
		fault(r, name ? name : j, "an array without a name");
	read_dtype(r, j, a);
}

/* The list's members are the input, the target if there is one, and the others; object: of each
 * array, NULL of a target that is not there. */
static void read_arrays(struct reader *r, const struct json *list, struct record_info *i,
                        const struct json **object)
{
	struct record_array *all = ARENA_ARRAY(r->a, struct record_array, list->n + 1);
	int n;
	for (n = 0; n < list->n; n++)
		read_named(r, list->item[n], &all[n]);
	if (n < 1 || all[0].role != RECORD_INPUT) {
		fault(r, list, "no description of 'input' in front");
		return;
	}
	const int first = n > 1 && all[1].role == RECORD_TARGET ? 2 : 1;
	i->input = all[0];
	i->target = first == 2 ? all[1] : record_no_target();
	i->nextra = n - first;
	i->extra = r->extra = all + first;
	object[0] = list->item[0];
	object[1] = first == 2 ? list->item[1] : NULL;
	for (int k = first; k < n; k++)
		object[2 + k - first] = list->item[k];
}

static void read_size(struct reader *r, const struct json *j, const struct record_info *i,
                      const struct json *const *object, struct record_size *out)
{
	const int n = record_arrays(i), given = n - !object[1];
	const struct json *shapes = read_list(r, j, "shapes", given),
	                  *rows = read_list(r, j, "rows", given);
	struct shape *shape = ARENA_ARRAY(r->a, struct shape, n);
	int64_t *of_chunk = ARENA_ARRAY(r->a, int64_t, n);
	*out = (struct record_size){ 0, shape, of_chunk };
	out->samples = read_int(r, j, "samples", 1, INT64_MAX, "bad number of samples of a size");
	if (!shapes || !rows) {
		fault(r, j, "no shapes and rows of a size");
		return;
	}
	for (int k = 0, at = 0; k < n; k++) {
		if (!object[k]) {
			shape[k] = record_no_target().shape;
			continue;
		}
		read_shape(r, shapes->item[at], shapes, &shape[k]);
		if (!json_int(rows->item[at], &of_chunk[k]))
			fault(r, rows->item[at], "expected a number of rows");
		at++;
	}
}

static void read_sizes(struct reader *r, const struct json *root, struct record_info *i,
                       const struct json *const *object)
{
	const struct json *list = read_list(r, root, "sizes", -1);
	struct record_size *all;
	if (r->why || !list || list->n < 1) {
		fault(r, list ? list : root, "no sizes of samples");
		return;
	}
	i->size = all = ARENA_ARRAY(r->a, struct record_size, list->n);
	for (int k = 0; k < list->n; k++)
		read_size(r, list->item[k], i, object, &all[k]);
	i->nsizes = list->n;
	i->input.shape = all[0].shape[0];
	i->target.shape = all[0].shape[1];
	for (int k = 0; k < i->nextra; k++)
		r->extra[k].shape = all[0].shape[2 + k];
}

/* --- all --- */

/* Objects of the arrays, without sizes: of a set. */
static void read_two(struct reader *r, const struct json *root, struct record_info *i,
                     const struct json **object)
{
	object[0] = read_array(r, root, "input", &i->input);
	i->target = record_no_target();
	if (json_find(root, "target"))
		object[1] = read_array(r, root, "target", &i->target);
}

/* Reads the hash of each sample. The number of samples is not trusted until the text has proved
 * long enough. */
static const uint64_t *read_hashes(struct reader *r, const struct json *root, int64_t samples)
{
	const struct json *j = json_find(root, "hashes");
	const size_t room = j && j->kind == JSON_STRING ? strlen(j->text) / sizeof(uint64_t) : 0;
	uint64_t *v;
	if (!j)
		return NULL;
	v = (uint64_t)samples <= room ? ARENA_ARRAY(r->a, uint64_t, samples) : NULL;
	if (v && base64_read(j->text, (uint8_t *)v, (size_t)samples * sizeof *v))
		return v;
	fault(r, j, "expected a hash of each sample");
	return NULL;
}

static void read_contents(struct reader *r, const struct json *root, struct record_info *i,
                          const struct json *const *object)
{
	const struct json *command = json_find(root, "command"),
	                  *pairing = json_find(root, "pairing");
	for (int k = 0; k < record_arrays(i); k++)
		if (object[k])
			read_names(r, object[k], i, k);
	if (i->nsizes > 1 && json_find(root, "axes"))
		fault(r, root, "axes of samples of several sizes");
	read_axes(r, root, i);
	i->sources = read_strings(r, root, "sources", -1, &i->nsources);
	i->target_names = read_strings(r, root, "target_names", i->samples, NULL);
	i->hashes = read_hashes(r, root, i->samples);
	if (command && command->kind == JSON_STRING)
		i->command = command->text;
	if (pairing && pairing->kind == JSON_STRING)
		i->pairing = pairing->text;
}

static void read_root(struct reader *r, const struct json *root, struct record_info *i)
{
	const struct json *list = read_list(r, root, "arrays", -1);
	const struct json **object = ARENA_ARRAY(r->a, const struct json *, 3 + (list ? list->n : 0));
	i->ignore = RECORD_NO_IGNORE;
	i->mask = -1;
	if (list) {
		read_arrays(r, list, i, object);
		read_sizes(r, root, i, object);
	} else {
		read_two(r, root, i, object);
	}
	if (r->why)
		return;
	i->samples = read_int(r, root, "samples", 1, INT64_MAX, "bad number of samples");
	if (json_find(object[0], "mask"))
		i->mask = (int)read_int(r, object[0], "mask", 0, INT32_MAX, "bad 'mask'");
	if (object[1])
		read_classes(r, object[1], i);
	if (!r->why && record_info_fault(i))
		fault(r, root, record_info_fault(i));
	if (!r->why)
		read_contents(r, root, i, object);
}

int description_read(struct arena *a, const char *file, size_t base, const char *text, size_t n,
                     struct record_info *i)
{
	struct reader r = { .a = a, .at = base };
	struct json *root;
	memset(i, 0, sizeof(*i));
	TRY(json_parse(&root, a, file, base, text, n));
	read_root(&r, root, i);
	if (r.why)
		return ERR(E_DATA, NULL, "'%s': byte %zu: %s", file, r.at, r.why);
	return 0;
}
