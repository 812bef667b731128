/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How often labels occur in a set, and how many target values are missing: from the files'
 * statistics, or by counting. */
#include <string.h>

#include "base/err.h"
#include "data/dataset_files.h"

static void add_counts(const struct record_info *i, int nclasses, int64_t *counts)
{
	for (int k = 0; k < nclasses && k < i->nclasses; k++)
		counts[k] += i->class_counts[k];
}

/* What was counted once goes into the set's description. */
static void keep_counts(struct dataset *d, int nclasses, const int64_t *counts)
{
	struct record_info *w = &d->whole;
	if (w->class_counts || (w->nclasses && w->nclasses != nclasses))
		return;
	w->class_counts = arena_copy(d->a, counts, (size_t)nclasses * sizeof(*counts));
	w->nclasses = nclasses;
}

static int count_file(struct dataset *d, int f, int nclasses, int64_t *counts)
{
	struct dataset_scratch *s = dataset_borrow(d);
	const void *in, *tg;
	int rc = 0;
	for (int64_t i = d->first[f]; rc == 0 && i < d->first[f + 1]; i++) {
		const int64_t n = shape_count(&dataset_info_of(d, dataset_size_of(d, i))->target);

		rc = dataset_decode(d, s, i, &in, &tg);
		for (int64_t k = 0; rc == 0 && k < n; k++) {
			const double v = dtype_get(d->info.target_dtype, tg, k);

			if (v >= 0 && v < nclasses && v != (double)d->info.target_ignore)
				counts[(int)v]++;
		}
	}
	dataset_give_back(d, s);
	return rc;
}

int dataset_class_counts(struct dataset *d, int nclasses, int64_t *counts)
{
	int64_t within;
	memset(counts, 0, (size_t)nclasses * sizeof(*counts));
	if (dtype_is_float(d->info.target_dtype))
		return ERR(E_DATA, NULL, "'%s': targets are %s, not class labels",
		           dataset_locate(d, 0, &within), dtype_name(d->info.target_dtype));
	if (d->n == 0 && !d->whole.class_counts)
		return ERR(E_DATA, NULL, "how often each class occurs in the training set is not known");
	if (d->n == 0)
		add_counts(&d->whole, nclasses, counts);
	for (int f = 0; f < d->n; f++) {
		if (record_info(d->file[f])->class_counts)
			add_counts(record_info(d->file[f]), nclasses, counts);
		else
			TRY(count_file(d, f, nclasses, counts));
	}
	keep_counts(d, nclasses, counts);
	return 0;
}

static int64_t labels_of(const struct record_info *i)
{
	return record_elements(i, 1);
}

int64_t dataset_missing_targets(const struct dataset *d, const char **file)
{
	int64_t all = 0, within;
	for (int f = 0; f < d->n; f++) {
		const struct record_info *i = record_info(d->file[f]);
		int64_t missing = i->target.nstats ? labels_of(i) : 0;

		for (int c = 0; c < i->target.nstats; c++)
			missing -= i->target.stats[c].count;
		if (missing > 0 && all == 0)
			*file = dataset_locate(d, d->first[f], &within);
		all += missing > 0 ? missing : 0;
	}
	return all;
}

int64_t dataset_counted_labels(const struct dataset *d, int64_t nclasses, int64_t ignore)
{
	int64_t sum = 0;
	for (int f = 0; f < d->n; f++) {
		const struct record_info *i = record_info(d->file[f]);

		if (!i->class_counts && !(i->ignore == ignore && i->ignored == labels_of(i)))
			return -1;
		for (int64_t k = 0; i->class_counts && k < i->nclasses && k < nclasses; k++)
			sum += k == ignore ? 0 : i->class_counts[k];
	}
	return sum;
}

struct foreign {
	int64_t nclasses, ignore;            /* of the run */
	int64_t sum, label;
	const char *file;
};

static void add_label(struct foreign *x, const struct record *r, int64_t label, int64_t n)
{
	if ((label >= 0 && label < x->nclasses) || label == x->ignore || n == 0)
		return;
	if (x->sum == 0 || label < x->label) {
		x->label = label;
		x->file = record_path(r);
	}
	x->sum += n;
}

int64_t dataset_foreign_labels(const struct dataset *d, int64_t nclasses, int64_t ignore,
                               int64_t *label, const char **file)
{
	struct foreign x = { .nclasses = nclasses, .ignore = ignore };
	for (int f = 0; f < d->n; f++) {
		const struct record_info *i = record_info(d->file[f]);

		for (int64_t k = nclasses; i->class_counts && k < i->nclasses; k++)
			add_label(&x, d->file[f], k, i->class_counts[k]);
		if (i->ignore != RECORD_NO_IGNORE)       /* which need not be what the loss ignores */
			add_label(&x, d->file[f], i->ignore, i->ignored);
	}
	*label = x.label;
	*file = x.file;
	return x.sum;
}
