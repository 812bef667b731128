/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transform normalize_sample: scales each sample by its own statistics, of each channel or of
 * all chosen channels together. It is for fields whose absolute level has no meaning, such as
 * counts of simulated particles or exposures of a detector. Only finite values at valid points
 * count, as in the statistics of a record.
 *
 * Sums are computed in double, in an order that depends only on the shape: element i of a channel
 * is added to lane i mod LANES, so that the compiler can use vectors. */
#include <float.h>
#include <math.h>

#include "base/err.h"
#include "data/transform_step.h"

#define LANES 8

static const char *const methods[] = { "standard", "min_max", "mean", NULL };
enum { STANDARD, MIN_MAX, MEAN };
static const char *const per_names[] = { "channel", "sample", NULL };
enum { PER_CHANNEL, PER_SAMPLE };

const struct field transform_normalize_sample_fields[] = {
	FIELD(struct normalize_sample_options, method, FT_ENUM, .dflt = "", .choices = methods,
	      .flags = FIELD_SHORTHAND,
	      .doc = "standard: (x - mean) / std; min_max: (x - min) / (max - min); mean: x / mean"),
	FIELD_ENUM(struct normalize_sample_options, per, "channel", per_names,
	           "statistics of each channel by itself, or of all that are chosen together"),
	FIELD_STRINGS(struct normalize_sample_options, channels, NULL,
	              "names or numbers of the channels; absent: all but the mask"),
	FIELD(struct normalize_sample_options, mask, FT_STRING, .dflt = "auto",
	      .flags = FIELD_NULLABLE,
	      .doc = "channel that is 0 where the others are missing; they do not "
	      "count and become 0 there; "
	             "auto: as the record says"),
	FIELD_END
};

int normalize_sample_plan(struct chain_state *p, struct step *s)
{
	const struct normalize_sample_options *o = s->options;
	int mask;
	TRY(step_find_mask(p, s, o->mask, &mask));
	step_begin_values(p, s, mask);
	TRY(step_choose_channels(p, s, &o->channels));
	for (int64_t c = 0; c < p->g.c; c++) {
		if (!s->active[c])
			continue;
		p->stats[c].min = p->stats[c].max = NAN;
		step_lose_moments(p, c, "normalize_sample");
	}
	return 0;
}

/* --- running --- */

struct totals {
	double count, sum, squares;
	float min, max;
};

/* Adds the n values of a channel to t; squares are those of the distance from centre. */
static void add_up(const float *x, const float *mask, int64_t n, double centre, struct totals *t)
{
	double count[LANES] = { 0 }, sum[LANES] = { 0 }, squares[LANES] = { 0 };
	for (int64_t i = 0; i < n; i++) {
		const bool valid = isfinite(x[i]) && (!mask || mask[i] != 0);
		const double v = valid ? (double)x[i] : 0, d = valid ? v - centre : 0;

		count[i % LANES] += valid;
		sum[i % LANES] += v;
		squares[i % LANES] += d * d;
		t->min = valid && x[i] < t->min ? x[i] : t->min;
		t->max = valid && x[i] > t->max ? x[i] : t->max;
	}
	for (int k = 0; k < LANES; k++) {
		t->count += count[k];
		t->sum += sum[k];
		t->squares += squares[k];
	}
}

/* The totals of the active channels among first .. end - 1. */
static struct totals totals_of(const struct step *s, const float *x, int64_t first, int64_t end,
                               double centre)
{
	const int64_t n = s->before.d[0] * s->before.d[1] * s->before.d[2];
	const float *mask = s->mask >= 0 ? x + s->mask * n : NULL;
	struct totals t = { .min = INFINITY, .max = -INFINITY };
	for (int64_t c = first; c < end; c++)
		if (s->active[c])
			add_up(x + c * n, mask, n, centre, &t);
	return t;
}

static int mean_is_zero(const struct step *s, int64_t c)
{
	const struct normalize_sample_options *o = s->options;
	if (o->per == PER_SAMPLE)
		return ERR(E_DATA, NULL, "the mean of the sample is 0, by which nothing can be divided");
	return ERR(E_DATA, NULL, "the mean of channel %lld is 0, by which nothing can be divided",
	           (long long)c);
}

/* What x = (x - centre) * scale does to these channels. Nothing is scaled where there is no
 * value, or one throughout, which becomes 0 exactly: a mean may be rounded. */
static int learn(const struct step *s, const float *x, int64_t first, int64_t end, double *centre,
                 double *scale)
{
	const struct normalize_sample_options *o = s->options;
	const struct totals t = totals_of(s, x, first, end, 0);
	const double mean = t.sum / t.count;
	double width = (double)t.max - (double)t.min;
	*centre = 0;
	*scale = 1;
	if (t.count == 0)
		return 0;
	if (o->method == MEAN) {
		if (mean == 0)
			return mean_is_zero(s, first);
		width = mean;
	} else {
		*centre = o->method == STANDARD && width > 0 ? mean : (double)t.min;
		if (width == 0)
			return 0;
		if (o->method == STANDARD)
			width = sqrt(totals_of(s, x, first, end, mean).squares / t.count);
	}
	*scale = fmax(-FLT_MAX, fmin(1 / width, FLT_MAX));
	return 0;
}

static void change(const struct step *s, float *all, int64_t c, double centre, double scale)
{
	const int64_t n = s->before.d[0] * s->before.d[1] * s->before.d[2];
	const float *mask = s->mask >= 0 ? all + s->mask * n : NULL;
	float *x = all + c * n;
	for (int64_t i = 0; i < n; i++)
		x[i] = mask && mask[i] == 0 ? 0 : (float)(((double)x[i] - centre) * scale);
}

int normalize_sample_run(const struct step *s, struct frame *f)
{
	const struct normalize_sample_options *o = s->options;
	const int64_t group = o->per == PER_SAMPLE ? s->before.c : 1;
	double centre, scale;
	for (int64_t first = 0; first < s->before.c; first += group) {
		TRY(learn(s, f->x, first, first + group, &centre, &scale));
		for (int64_t c = first; c < first + group; c++)
			if (s->active[c])
				change(s, f->x, c, centre, scale);
	}
	return 0;
}
