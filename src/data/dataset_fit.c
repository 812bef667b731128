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

static int misfit_shape(const struct record *r, const struct record *first, const char *name,
                        const struct record_array *a, const struct record_array *b)
{
	char ta[SHAPE_TEXT], tb[SHAPE_TEXT];

	return ERR(E_DATA, NULL, "'%s' does not fit '%s': %s is %s %s, expected %s %s", record_path(r),
	           record_path(first), name, dtype_name(a->dtype), shape_text(&a->shape, ta),
	           dtype_name(b->dtype), shape_text(&b->shape, tb));
}

/* Whether the last axes of the target are those of the input behind its channels. */
static bool is_map(const struct record_info *i)
{
	const int n = i->input.shape.nd - 1, lead = i->target.shape.nd - n;

	for (int k = 0; k < n && lead >= 0; k++)
		if (i->target.shape.d[lead + k] != i->input.shape.d[1 + k])
			return false;
	return n > 0 && lead >= 0;
}

/* Equal but for the extents of places. */
static bool same_input(const struct record_array *a, const struct record_array *b)
{
	return a->dtype == b->dtype && a->shape.nd == b->shape.nd && a->shape.d[0] == b->shape.d[0];
}

static bool same_target(const struct record_info *a, const struct record_info *b)
{
	const int lead = a->target.shape.nd - (a->input.shape.nd - 1);

	if (a->target.dtype != b->target.dtype || a->target.shape.nd != b->target.shape.nd)
		return false;
	if (!is_map(a) || !is_map(b))
		return shape_equal(&a->target.shape, &b->target.shape);
	for (int k = 0; k < lead; k++)
		if (a->target.shape.d[k] != b->target.shape.d[k])
			return false;
	return true;
}

int dataset_fit(const struct record *r, const struct record *first)
{
	const struct record_info *i = record_info(r), *f = record_info(first);

	if (!same_input(&i->input, &f->input))
		return misfit_shape(r, first, "input", &i->input, &f->input);
	if (!same_target(i, f))
		return misfit_shape(r, first, "target", &i->target, &f->target);
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
