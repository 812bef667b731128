/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Carries out a planned conversion: reads each sample as doubles with NaN where values are
 * missing, makes the validity mask, the fill values and the classes, and hands it to the record
 * writer. */
#include <math.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "convert.h"
#include "convert_files.h"
#include "target_seen.h"

struct run {
	struct conversion *c;
	struct files *files;
	struct shape shape[2];         /* of the sample's input and target */
	double *input, *target;        /* (C, ...), NaN where missing */
	void *input_out, *target_out;
	int64_t room, target_room;     /* values of these */
	int64_t filled_input, filled_target, rounded;
	struct target_seen *target_seen;
};

/* The last channel: 1 where all others have a value. */
static void add_mask(const struct run *r)
{
	const struct shape *s = &r->shape[0];
	const int64_t channels = s->d[0] - 1, points = shape_count(s) / s->d[0];
	double *mask = r->input + channels * points;
	for (int64_t i = 0; i < points; i++)
		mask[i] = 1;
	for (int64_t c = 0; c < channels; c++)
		for (int64_t i = 0; i < points; i++)
			if (isnan(r->input[c * points + i]))
				mask[i] = 0;
}

static int64_t fill(double *v, int64_t n, double value)
{
	int64_t filled = 0;
	for (int64_t i = 0; i < n; i++) {
		if (!isnan(v[i]))
			continue;
		v[i] = value;
		filled++;
	}
	return filled;
}

/* Class k has edge[k-1] <= v < edge[k]. */
static double class_of(const struct conversion *c, double v)
{
	int k = 0;
	while (k < c->nedges && v >= c->edges[k])
		k++;
	return k;
}

/* A label is a class or the value that is ignored; nothing else could ever be trained with. */
static int check_label(const struct run *r, int64_t sample, int64_t at, double v)
{
	const struct conversion *c = r->c;
	const int64_t most = c->info.nclasses ? c->info.nclasses : RECORD_MAX_CLASSES;
	char place[SHAPE_TEXT];
	if ((v >= 0 && v < (double)most) || (c->ignore != RECORD_NO_IGNORE && v == (double)c->ignore))
		return 0;
	return ERR(E_DATA, NULL, "sample %lld of the target has the label %.19g at (%s), which is no "
	           "class 0..%lld; a label that counts as none is named by --ignore", (long long)sample,
	           v, shape_place(&r->shape[1], at, place), (long long)most - 1);
}

static int make_labels(const struct run *r, int64_t sample, int64_t n)
{
	const struct conversion *c = r->c;
	int64_t missing = 0;
	for (int64_t i = 0; i < n; i++) {
		if (isnan(r->target[i])) {
			missing++;
			r->target[i] = (double)c->ignore;
		} else if (c->nedges) {
			r->target[i] = class_of(c, r->target[i]);
		} else {
			TRY(check_label(r, sample, i, r->target[i]));
		}
	}
	if (missing && c->ignore == RECORD_NO_IGNORE)
		return ERR(E_DATA, NULL,
		           "sample %lld of the target has %lld missing values; say what label they "
		           "get, as in --ignore 255",
		           (long long)sample, (long long)missing);
	return 0;
}

/* Converts a value to a narrower type: rounding is counted, another number is an error. */
static int narrow(struct run *r, const struct record_array *a, void *to, const double *v, int64_t n,
                  int64_t sample)
{
	char place[SHAPE_TEXT];
	const bool target = a == &r->c->info.target, integer = !dtype_is_float(a->dtype),
	           labels = integer && target;
	dtype_convert(a->dtype, to, DTYPE_F64, v, n);
	for (int64_t i = 0; i < n; i++) {
		const double is = dtype_get(a->dtype, to, i);

		if (is == v[i] || isnan(v[i]))
			continue;
		if (isinf(is) || (integer && (fabs(is - v[i]) >= 1 || labels)))
			return ERR(E_DATA, NULL, "sample %lld of the %s has a value %g at (%s), "
			           "which does not fit %s; see %s", (long long)sample,
			           target ? "target" : "input", v[i],
			           shape_place(&r->shape[target], i, place), dtype_name(a->dtype),
			           target ? "--target-dtype" : "--dtype");
		r->rounded += integer;
	}
	return 0;
}

/* --- samples --- */

static void make_room(double **v, void **out, int64_t *room, int64_t n, enum dtype t)
{
	if (n <= *room)
		return;
	mem_free(*v);
	mem_free(*out);
	*v = mem_calloc((size_t)n, sizeof(double));
	*out = mem_calloc((size_t)n, dtype_size(t));
	*room = n;
}

/* Samples that have other sizes than the first: where its target is a map all are, and otherwise
 * all targets have the shape of its. */
static int check_sizes(const struct run *r, int64_t sample)
{
	const struct record_info *i = &r->c->info;
	const bool maps = record_target_is_map(&i->input.shape, &i->target.shape);
	char got[SHAPE_TEXT], want[SHAPE_TEXT];
	if (!r->c->target || (maps ? record_target_is_map(&r->shape[0], &r->shape[1])
	                           : shape_equal(&r->shape[1], &i->target.shape)))
		return 0;
	return ERR(E_DATA, NULL, "sample %lld: the target '%s' is %s, but %s %s", (long long)sample,
	           side_name(r->c->target, sample), shape_text(&r->shape[1], got),
	           maps ? "the input is" : "the first target",
	           shape_text(maps ? &r->shape[0] : &i->target.shape, want));
}

static int begin_sample(struct run *r, int64_t sample)
{
	const struct conversion *c = r->c;
	const struct record_info *i = &c->info;
	r->shape[1] = i->target.shape;
	TRYC(side_size(c->input, sample, &r->shape[0]), "in --input");
	if (c->target)
		TRYC(side_size(c->target, sample, &r->shape[1]), "in --target");
	r->shape[0].d[0] += c->validity_mask;
	TRY(check_sizes(r, sample));
	make_room(&r->input, &r->input_out, &r->room, shape_count(&r->shape[0]), i->input.dtype);
	make_room(&r->target, &r->target_out, &r->target_room, shape_count(&r->shape[1]),
	          i->target.dtype);
	return 0;
}

static int read_sample(struct run *r, int64_t sample)
{
	const struct conversion *c = r->c;
	TRYC(side_read(c->input, sample, r->input), "in --input");
	if (!c->target)
		return 0;
	TRYC(side_read(c->target, sample, r->target), "in --target");
	target_seen_add(r->target_seen, r->target, shape_count(&r->shape[1]));
	return 0;
}

/* at: the sample's place among those chosen. */
static int convert_sample(struct run *r, int64_t at)
{
	const struct conversion *c = r->c;
	const struct record_info *i = &c->info;
	const int64_t sample = c->sample[at];
	struct record_writer *w;
	TRY(begin_sample(r, sample));
	const int64_t n = shape_count(&r->shape[0]), tn = shape_count(&r->shape[1]);
	TRY(read_sample(r, sample));
	if (c->validity_mask)
		add_mask(r);
	r->filled_input += fill(r->input, n, c->fill);
	if (dtype_is_float(i->target.dtype))
		r->filled_target += fill(r->target, tn, c->fill);
	else
		TRY(make_labels(r, sample, tn));
	TRY(narrow(r, &i->input, r->input_out, r->input, n, sample));
	TRY(narrow(r, &i->target, r->target_out, r->target, tn, sample));
	TRY(files_next(r->files, at, &w));
	return record_add(w, &(struct record_sample){
		.data = (const void *const[]){ r->input_out, r->target_out }, .shape = r->shape,
		.key = side_key(c->input, sample),
		.group = c->split.group ? c->split.group[sample] : NULL });
}

static void warn_of_values(const struct run *r)
{
	const struct conversion *c = r->c;
	if (!c)
		return;
	if (r->filled_input && !c->validity_mask && !isnan(c->fill))
		warn("%lld missing input values became %g and count in the statistics; --validity-mask "
		     "keeps them "
		     "apart",
		     (long long)r->filled_input, c->fill);
	if (r->rounded)
		warn("%lld values were rounded to whole numbers", (long long)r->rounded);
	if (c->labels && !c->nedges && !c->class_names && c->ignore == RECORD_NO_IGNORE)
		target_seen_tell_labels(r->target_seen);
	else if (!c->labels && c->info.target.shape.d[0] == 1)
		target_seen_tell_field(r->target_seen);
	if (r->filled_target)
		warn("%lld missing target values became %g%s", (long long)r->filled_target, c->fill,
		     isnan(c->fill) ? "" : "; with --fill nan they stay apart, and a loss with 'mask: nan' "
		                           "leaves them out");
}

struct run *run_new(const struct conversion *c, const char *path)
{
	struct run *r = mem_calloc(1, sizeof *r);
	r->files = files_new(c, path);
	r->target_seen = mem_calloc(1, sizeof(*r->target_seen));
	return r;
}

int run_add(struct run *r, struct conversion *c)
{
	r->c = c;
	files_use(r->files, c);
	for (int64_t k = 0; k < c->nsamples; k++)
		TRY(convert_sample(r, k));
	return 0;
}

int run_close(struct run *r, int rc, bool tell)
{
	if (!r)
		return rc;
	rc = files_commit(r->files, rc);
	if (rc == 0)
		warn_of_values(r);
	if (rc == 0 && tell)
		rc = files_tell(r->files);
	files_free(r->files);
	mem_free(r->input);
	mem_free(r->target);
	mem_free(r->input_out);
	mem_free(r->target_out);
	mem_free(r->target_seen);
	mem_free(r);
	return rc;
}

int convert_run(struct conversion *c)
{
	struct run *r = run_new(c, c->output);
	return run_close(r, run_add(r, c), !c->quiet);
}
