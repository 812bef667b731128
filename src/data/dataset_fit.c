/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that files and sets match: files of one set must agree on everything except the number of
 * samples and the extents of maps; a set for evaluation or prediction must agree with the training
 * set on all metadata that both have. */
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/shown.h"
#include "data/axes_agree.h"
#include "data/dataset_files.h"
#include "data/units.h"

/* One side of a comparison: a file or a set, and its name in messages, with or without quotes. */
struct party {
	const char *name;
	const struct record_info *info;
	const char *quote;
};

static struct party party_of_file(const struct record *r)
{
	return (struct party){ record_path(r), record_info(r), "'" };
}

static struct party party_of_set(const struct dataset *d)
{
	return d->n ? (struct party){ record_path(d->file[0]), &d->whole, "'" } :
	              (struct party){ d->name, &d->whole, "" };
}

static int misfit_text(struct party x, struct party y, const char *text)
{
	return ERR(E_DATA, NULL, "%s%s%s does not fit %s%s%s: %s", x.quote, x.name, x.quote, y.quote,
	           y.name, y.quote, text);
}

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
static bool channels_fit(const struct record_array *a, const struct record_array *b, int64_t n)
{
	return a->named_by_file || b->named_by_file || names_equal(a->channels, b->channels, n);
}

static int misfit(struct party x, struct party y, const char *what)
{
	struct buf text = BUF_INIT;
	buf_printf(&text, "other %s", what);
	const int rc = misfit_text(x, y, text.data);
	buf_release(&text);
	return rc;
}

/* what: "input channel", ...; option: of dlx-convert, which gives names. */
static int misfit_names(struct party x, struct party y, const char *what,
                        const char *const *have, const char *const *want, const char *option)
{
	struct buf text = BUF_INIT;
	int64_t c = 0;
	while (strcmp(have[c], want[c]) == 0)
		c++;
	buf_printf(&text, "%s %lld is '%s', expected '%s' (dlx-convert %s)", what, (long long)c,
	           shown(have[c]), shown(want[c]), option);
	const int rc = misfit_text(x, y, text.data);
	buf_release(&text);
	return rc;
}

/* Array k of x in samples of a size, and of those that y begins with. */
static int misfit_shape(struct party x, int size, struct party y, int k)
{
	const struct record_array *a = record_array_get(x.info, k), *b = record_array_get(y.info, k);
	char ta[SHAPE_TEXT], tb[SHAPE_TEXT];
	struct buf text = BUF_INIT;
	buf_printf(&text, "%s is %s %s, expected %s %s", k ? "target" : "input", dtype_name(a->dtype),
	           shape_text(record_shape(x.info, size, k), ta), dtype_name(b->dtype),
	           shape_text(&b->shape, tb));
	const int rc = misfit_text(x, y, text.data);
	buf_release(&text);
	return rc;
}

/* Equal but for the extents of places. */
static bool same_input(const struct record_array *a, const struct record_array *b)
{
	return a->dtype == b->dtype && a->shape.nd == b->shape.nd && a->shape.d[0] == b->shape.d[0];
}

/* Equal but for the extents of places; types are not compared. */
static bool same_target_shape(const struct record_info *a, int size, const struct record_info *b)
{
	const struct shape *s = record_shape(a, size, 1), *t = &b->target.shape;
	const int lead = s->nd - (a->input.shape.nd - 1);
	if (s->nd != t->nd)
		return false;
	if (!record_target_is_map(record_shape(a, size, 0), s, a->target.dtype) ||
	    !record_target_is_map(&b->input.shape, t, b->target.dtype))
		return shape_equal(s, t);
	for (int k = 0; k < lead; k++)
		if (s->d[k] != t->d[k])
			return false;
	return true;
}

/* Of array k, whose channels are the same. */
static int fit_units(struct party x, struct party y, int k)
{
	const struct record_array *a = record_array_get(x.info, k), *b = record_array_get(y.info, k);
	struct buf text = BUF_INIT;
	int64_t c = 0, n = record_names(x.info, k);
	if (!a->units || !b->units || n != record_names(y.info, k))
		return 0;
	while (c < n && (!*a->units[c] || !*b->units[c] || units_same(a->units[c], b->units[c])))
		c++;
	if (c == n)
		return 0;
	buf_printf(&text, "%s channel %lld", k ? "target" : "input", (long long)c);
	if (a->channels)
		buf_printf(&text, " '%s'", shown(a->channels[c]));
	buf_printf(&text, " has the units '%s', expected '%s'; convert the values, or correct the "
	           "attribute 'units' of the file", shown(a->units[c]), shown(b->units[c]));
	const int rc = misfit_text(x, y, text.data);
	buf_release(&text);
	return rc;
}

static bool by_index;

void dataset_match_by_index(void)
{
	by_index = true;
}

bool dataset_matches_by_index(void)
{
	return by_index;
}

static bool is_by_index(struct party x)
{
	return x.info->pairing && strcmp(x.info->pairing, RECORD_BY_INDEX) == 0;
}

/* A note says where they agree less than `enough`. */
static int fit_axes(struct party x, struct party y, enum axes_agreement enough)
{
	struct buf why = BUF_INIT;
	int rc = 0;
	if (by_index || is_by_index(x) || is_by_index(y))
		return 0;
	const enum axes_agreement agree = axes_agree(&y.info->axes, &x.info->axes, &why);
	if (agree == AXES_TURNED) {
		buf_puts(&why, "; turn one of them before it is converted (--match index: the order "
		         "counts)");
		rc = misfit_text(x, y, why.data);
	} else if (agree > enough) {
		note("%s%s%s has other places than %s%s%s: %s", x.quote, x.name, x.quote, y.quote, y.name,
		     y.quote, why.data);
	}
	buf_release(&why);
	return rc;
}

/* --- the files of a set --- */

/* Target channels that both name. */
static int fit_target_names(struct party x, struct party y)
{
	const struct record_array *a = &x.info->target, *b = &y.info->target;
	const int64_t n = record_names(x.info, 1);
	if (!a->channels || !b->channels || n != record_names(y.info, 1) || channels_fit(a, b, n))
		return 0;
	return misfit_names(x, y, "target channel", a->channels, b->channels, "-t FILE:NAME,NAME");
}

static int fit_classes(struct party x, struct party y)
{
	const char *const *a = x.info->classes, *const *b = y.info->classes;
	if (!a && !b)
		return 0;
	if (!a || !b || x.info->nclasses != y.info->nclasses)
		return misfit(x, y, "classes");
	return names_equal(a, b, x.info->nclasses) ? 0 :
	       misfit_names(x, y, "class", a, b, "--class-names");
}

int dataset_fit(const struct record *r, const struct record *first)
{
	const struct party x = party_of_file(r), y = party_of_file(first);
	if (!same_input(&x.info->input, &y.info->input))
		return misfit_shape(x, 0, y, 0);
	for (int k = 0; k < x.info->nsizes; k++)
		if (x.info->target.dtype != y.info->target.dtype ||
		    !same_target_shape(x.info, k, y.info))
			return misfit_shape(x, k, y, 1);
	if (x.info->mask != y.info->mask)
		return misfit(x, y, "mask channel");
	if (x.info->ignore != y.info->ignore)
		return misfit(x, y, "ignore value");
	TRY(fit_classes(x, y));
	TRY(fit_target_names(x, y));
	TRY(fit_units(x, y, 1));
	return fit_axes(x, y, AXES_ELSEWHERE);
}

int dataset_fit_names(const struct record *r, const struct record *named)
{
	const struct party x = party_of_file(r), y = party_of_file(named);
	const struct record_array *a = &x.info->input, *b = &y.info->input;
	if (channels_fit(a, b, a->shape.d[0]))
		return fit_units(x, y, 0);
	return a->channels && b->channels ?
	       misfit_names(x, y, "input channel", a->channels, b->channels, "--channel-names") :
	       misfit(x, y, "input channels");
}

/* --- another set --- */

/* Targets of the same kind, which are meant to be the same quantities. */
static int fit_target(struct party x, struct party y, bool needed)
{
	const bool has = record_has_target(x.info) && record_has_target(y.info);
	const bool kind = dtype_is_float(x.info->target.dtype) == dtype_is_float(y.info->target.dtype);
	if (!has || !kind)
		return 0;                        /* the reader of the targets checks what it needs */
	for (int k = 0; k < x.info->nsizes; k++)
		if (!same_target_shape(x.info, k, y.info))
			return needed ? misfit_shape(x, k, y, 1) : 0;
	if (x.info->classes && y.info->classes)
		TRY(fit_classes(x, y));
	if (needed && x.info->ignore != y.info->ignore && x.info->ignore != RECORD_NO_IGNORE &&
	    y.info->ignore != RECORD_NO_IGNORE)
		return misfit(x, y, "ignore value");
	TRY(fit_target_names(x, y));
	return fit_units(x, y, 1);
}

/* What either does not say is no difference, nor is the type of values; shapes are compared after
 * the transforms. */
static int fit_other(struct party x, struct party y, bool needed, bool notes)
{
	const struct record_array *a = &x.info->input, *b = &y.info->input;
	if (a->shape.nd != b->shape.nd || a->shape.d[0] != b->shape.d[0])
		return 0;
	if (a->channels && b->channels && !channels_fit(a, b, a->shape.d[0]))
		return misfit_names(x, y, "input channel", a->channels, b->channels, "--channel-names");
	if (x.info->mask != y.info->mask)
		return misfit(x, y, "mask channel");
	TRY(fit_units(x, y, 0));
	TRY(fit_target(x, y, needed));
	return fit_axes(x, y, notes ? AXES_AGREE : AXES_OTHER_WAY);
}

int dataset_agree(const struct dataset *d, const struct dataset *trained, struct dataset_use use)
{
	for (int f = 0; f < d->n; f++) {
		struct party x = party_of_file(d->file[f]);

		if (use.converted && x.info->nsources)
			x.name = x.info->sources[0];
		TRY(fit_other(x, party_of_set(trained), use.target, use.notes && f == 0));
	}
	return 0;
}

int dataset_agree_sets(const struct dataset *now, const struct dataset *then)
{
	return fit_other(party_of_set(now), party_of_set(then), true, false);
}
