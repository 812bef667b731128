/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions for both the writer and the reader of record files: sizes of a sample's parts and
 * checks of a description. Extents may come from a file, so every product is checked for overflow
 * before it is used. */
#include "data/record.h"

#include "base/round.h"

#define MAX_ELEMENTS ((int64_t)1 << 40)

struct record_array record_no_target(void)
{
	return (struct record_array){ .dtype = DTYPE_U8, .shape = { .nd = 1, .d = { 0 } } };
}

bool record_has_target(const struct record_info *i)
{
	return shape_count(&i->target.shape) > 0;
}

bool record_target_is_map(const struct shape *input, const struct shape *target, enum dtype type)
{
	const int n = input->nd - 1, lead = target->nd - n;
	if (target->nd == 1 && dtype_is_float(type))
		return false;
	for (int k = 0; k < n && lead >= 0; k++)
		if (target->d[lead + k] != input->d[1 + k])
			return false;
	return n > 0 && lead >= 0;
}

/* --- arrays --- */

int record_arrays(const struct record_info *i)
{
	return 2 + i->nextra;
}

const struct record_array *record_array_get(const struct record_info *i, int k)
{
	return k == 0 ? &i->input : k == 1 ? &i->target : &i->extra[k - 2];
}

const char *record_array_name(const struct record_info *i, int k)
{
	const char *name = record_array_get(i, k)->name;
	return name ? name : k == 0 ? "input" : "target";
}

const struct shape *record_shape(const struct record_info *i, int size, int k)
{
	return i->nsizes ? &i->size[size].shape[k] : &record_array_get(i, k)->shape;
}

/* A target that is a field has channels always, other arrays where they have as many axes as the
 * input. */
static bool has_channels(const struct record_info *i, int k)
{
	const struct record_array *a = record_array_get(i, k);
	const bool field = k == 1 && dtype_is_float(a->dtype);
	return a->shape.nd > 0 && (field || a->shape.nd >= i->input.shape.nd);
}

int64_t record_channels(const struct record_info *i, int k)
{
	return has_channels(i, k) ? record_array_get(i, k)->shape.d[0] : 1;
}

/* Version 1 let a target of labels have as many names as its first extent. */
int64_t record_names(const struct record_info *i, int k)
{
	const struct shape *s = &record_array_get(i, k)->shape;
	return k == 1 ? (s->nd ? s->d[0] : 1) : record_channels(i, k);
}

int record_axis(const struct record_info *i, int k)
{
	const int axis = has_channels(i, k);
	return axis < record_array_get(i, k)->shape.nd ? axis : -1;
}

/* --- bytes --- */

size_t record_array_bytes(const struct record_info *i, int size, int k)
{
	const int64_t n = shape_count(record_shape(i, size, k));
	return (size_t)n * dtype_size(record_array_get(i, k)->dtype);
}

size_t record_array_at(const struct record_info *i, int size, int k)
{
	size_t at = 0;
	for (int j = 0; j < k; j++)
		at += round_up(record_array_bytes(i, size, j), 8);
	return at;
}

size_t record_size_bytes(const struct record_info *i, int size)
{
	const int last = record_arrays(i) - 1;
	return record_array_at(i, size, last) + record_array_bytes(i, size, last);
}

size_t record_raw_bytes(const struct record_info *i)
{
	size_t most = record_size_bytes(i, 0);
	for (int k = 1; k < i->nsizes; k++)
		most = record_size_bytes(i, k) > most ? record_size_bytes(i, k) : most;
	return most;
}

double record_all_bytes(const struct record_info *i)
{
	double sum = 0;
	for (int k = 0; k < i->nsizes; k++)
		sum += (double)i->size[k].samples * (double)record_size_bytes(i, k);
	return sum;
}

int64_t record_elements(const struct record_info *i, int k)
{
	int64_t sum = 0;
	for (int size = 0; size < i->nsizes; size++)
		sum += i->size[size].samples * shape_count(record_shape(i, size, k));
	return sum;
}

/* --- faults --- */

static bool is_no_target(const struct record_array *a)
{
	const struct record_array none = record_no_target();
	return a->dtype == none.dtype && shape_equal(&a->shape, &none.shape);
}

static const char *shape_fault(const struct shape *s, int min_axes, int max_axes)
{
	int64_t n = 1;
	if (s->nd < min_axes || s->nd > max_axes)
		return "wrong number of axes";
	for (int i = 0; i < s->nd; i++) {
		if (s->d[i] < 1)
			return "an extent below 1";
		if (s->d[i] > MAX_ELEMENTS / n)
			return "a sample of more than 2^40 values";
		n *= s->d[i];
	}
	return NULL;
}

static const char *array_fault(const struct record_array *a, int min_axes)
{
	if ((int)a->dtype < 0 || a->dtype >= DTYPE_COUNT)
		return "unknown dtype";
	return shape_fault(&a->shape, min_axes, 4);
}

static const char *size_fault(const struct record_info *i, const struct record_size *size)
{
	for (int k = 0; k < record_arrays(i); k++) {
		const struct shape *first = &record_array_get(i, k)->shape, *s = &size->shape[k];
		const int axis = record_axis(i, k);
		const bool none = k == 1 && !record_has_target(i);
		const char *why = none ? NULL : shape_fault(s, first->nd, first->nd);

		if (why)
			return why;
		if (size->rows[k] < 0 ||
		    (size->rows[k] > 0 && (none || axis < 0 || size->rows[k] > s->d[axis])))
			return "chunks of other rows than an array has";
		if (none ? !shape_equal(s, first) : has_channels(i, k) && s->d[0] != first->d[0])
			return "samples with other numbers of channels";
	}
	return NULL;
}

static const char *extra_fault(const struct record_array *a)
{
	if (a->role != RECORD_WEIGHT && a->role != RECORD_EXTRA)
		return "a second input or target";
	if (!a->name || !*a->name)
		return "an array without a name";
	return array_fault(a, 0);
}

static const char *arrays_fault(const struct record_info *i)
{
	const char *why = array_fault(&i->input, 1);
	if (!why && !is_no_target(&i->target))
		why = array_fault(&i->target, 0);
	if (!why && i->nextra > RECORD_MAX_ARRAYS - 2)
		why = "too many arrays";
	for (int k = 0; k < i->nextra && !why; k++)
		why = extra_fault(&i->extra[k]);
	for (int k = 0; k < i->nsizes && !why; k++)
		why = size_fault(i, &i->size[k]);
	return why;
}

const char *record_info_fault(const struct record_info *i)
{
	const bool integer = !dtype_is_float(i->target.dtype);
	const char *why = arrays_fault(i);
	if (why)
		return why;
	if (i->mask < -1 || i->mask >= i->input.shape.d[0])
		return "no such mask channel";
	if (i->nclasses < 0 || i->nclasses > RECORD_MAX_CLASSES)
		return "too many classes";
	if (!integer && (i->nclasses > 0 || i->ignore != RECORD_NO_IGNORE))
		return "classes for a target that is not an integer";
	if (i->classes && i->nclasses == 0)
		return "names of no classes";
	return NULL;
}
