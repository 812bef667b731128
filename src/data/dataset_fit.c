/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of a set must agree on: all but the number of samples, and the extents of maps. */
#include "data/dataset.h"

#include <string.h>

#include "base/err.h"

static bool names_equal(const char *const *a, const char *const *b, int64_t n)
{
	if (!a || !b)
		return a == b;
	for (int64_t i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

/* Channels that have only their file's name may be those of any other file. */
static bool channels_fit(const struct record_array *a, const struct record_array *b)
{
	return a->named_by_file || b->named_by_file ||
	       names_equal(a->channels, b->channels, a->shape.d[0]);
}

static int misfit(const struct record *r, const struct record *first, const char *what)
{
	return ERR(E_DATA, NULL, "'%s' does not fit '%s': other %s", record_path(r), record_path(first),
	           what);
}

static int misfit_names(const struct record *r, const struct record *first)
{
	const char *const *have = record_info(r)->input.channels,
	*const *want = record_info(first)->input.channels;
	int64_t c = 0;
	if (!have || !want)
		return misfit(r, first, "input channels");
	while (strcmp(have[c], want[c]) == 0)
		c++;
	return ERR(E_DATA, NULL, "'%s' does not fit '%s': input channel %lld is '%s', expected '%s' "
	           "(dlx-convert --channel-names)", record_path(r), record_path(first), (long long)c,
	           have[c], want[c]);
}

/* Array k of r in samples of a size, and of those that the first file begins with. */
static int misfit_shape(const struct record *r, int size, const struct record *first, int k)
{
	const struct record_array *a = record_array_get(record_info(r), k),
	                          *b = record_array_get(record_info(first), k);
	char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
	return ERR(E_DATA, NULL, "'%s' does not fit '%s': %s is %s %s, expected %s %s", record_path(r),
	           record_path(first), k ? "target" : "input", dtype_name(a->dtype),
	           shape_text(record_shape(record_info(r), size, k), ta), dtype_name(b->dtype),
	           shape_text(&b->shape, tb));
}

/* Equal but for the extents of places. */
static bool same_input(const struct record_array *a, const struct record_array *b)
{
	return a->dtype == b->dtype && a->shape.nd == b->shape.nd && a->shape.d[0] == b->shape.d[0];
}

static bool same_target(const struct record_info *a, int size, const struct record_info *b)
{
	const struct shape *s = record_shape(a, size, 1), *t = &b->target.shape;
	const int lead = s->nd - (a->input.shape.nd - 1);
	if (a->target.dtype != b->target.dtype || s->nd != t->nd)
		return false;
	if (!record_target_is_map(record_shape(a, size, 0), s, a->target.dtype) ||
	    !record_target_is_map(&b->input.shape, t, b->target.dtype))
		return shape_equal(s, t);
	for (int k = 0; k < lead; k++)
		if (s->d[k] != t->d[k])
			return false;
	return true;
}

int dataset_fit(const struct record *r, const struct record *first)
{
	const struct record_info *i = record_info(r), *f = record_info(first);
	if (!same_input(&i->input, &f->input))
		return misfit_shape(r, 0, first, 0);
	for (int k = 0; k < i->nsizes; k++)
		if (!same_target(i, k, f))
			return misfit_shape(r, k, first, 1);
	if (i->mask != f->mask)
		return misfit(r, first, "mask channel");
	if (i->ignore != f->ignore)
		return misfit(r, first, "ignore value");
	if ((i->classes || f->classes) &&
	    (i->nclasses != f->nclasses || !names_equal(i->classes, f->classes, i->nclasses)))
		return misfit(r, first, "classes");
	return 0;
}

int dataset_fit_names(const struct record *r, const struct record *named)
{
	const bool fits = channels_fit(&record_info(r)->input, &record_info(named)->input);
	return fits ? 0 : misfit_names(r, named);
}
