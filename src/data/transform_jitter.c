/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random changes of values: noise, brightness and contrast. They act only in training, and the
 * channels' statistics, which `normalize` uses, remain those of the data without them. Invalid
 * points are not changed. */
#include <math.h>

#include "base/err.h"
#include "base/rng.h"
#include "data/transform_step.h"

#define RUN 512   /* normal numbers at a time */

static const char *const per_names[] = { "sample", "channel", NULL };
enum { PER_SAMPLE, PER_CHANNEL };
static const char *const about_names[] = { "mean", "zero", NULL };
enum { ABOUT_MEAN, ABOUT_ZERO };

#define JITTER_FIELDS(type)                                                                \
	FIELD_STRINGS(type, channels, NULL,                                                    \
	              "names or numbers of the channels; absent: all but the mask"),           \
	FIELD_FLOAT(type, probability, "1", 0, 1, "probability that a sample is changed")

const struct field transform_noise_fields[] = {
	FIELD_SHORT(struct noise_options, deviation, FT_FLOAT, "", 0, 1e30,
	            "standard deviation, in the units that values have at this step"),
	JITTER_FIELDS(struct noise_options),
	FIELD_END
};

const struct field transform_brightness_fields[] = {
	FIELD_SHORT(struct brightness_options, shift, FT_FLOATS, "", -1e30, 1e30,
	            "smallest and largest number that is added, in the units that values have at this "
	            "step; one number: to both sides"),
	FIELD_ENUM(struct brightness_options, per, "sample", per_names,
	           "one number for all channels of a sample, or one for each"),
	JITTER_FIELDS(struct brightness_options),
	FIELD_END
};

const struct field transform_contrast_fields[] = {
	FIELD_SHORT(struct contrast_options, factor, FT_FLOATS, "", 0, 1e6,
	            "smallest and largest factor; one number r below 1: from 1 - r to 1 + r"),
	FIELD_ENUM(struct contrast_options, about, "mean", about_names,
	           "the value that stays: the mean of each channel in the sample, or zero"),
	FIELD_ENUM(struct contrast_options, per, "sample", per_names,
	           "one factor for all channels of a sample, or one for each"),
	JITTER_FIELDS(struct contrast_options),
	FIELD_END
};

static int begin(struct chain_state *p, struct step *s, const struct strings *channels)
{
	step_begin_values(p, s, p->mask);
	return step_choose_channels(p, s, channels);
}

static int64_t points(const struct step *s)
{
	return s->before.d[0] * s->before.d[1] * s->before.d[2];
}

static const float *mask_of(const struct step *s, const struct frame *f)
{
	return s->mask >= 0 ? (const float *)f->x + s->mask * points(s) : NULL;
}

static bool applies(const struct step *s, const struct frame *f, double probability)
{
	return probability == 1 || frame_uniform(f, s, 3) < probability;
}

/* A random number in [low, high), for the sample or for channel c. */
static double draw(const struct step *s, const struct frame *f, int per, int64_t c, double low,
                   double high)
{
	const double u = per == PER_SAMPLE ? frame_uniform(f, s, 0)
	                                   : rng_uniform(f->seed, frame_stream(f, s),
	                                                 (uint64_t)f->epoch, (uint64_t)c);
	return low + u * (high - low);
}

/* --- noise --- */

int noise_plan(struct chain_state *p, struct step *s)
{
	const struct noise_options *o = s->options;
	return begin(p, s, &o->channels);
}

int noise_run(const struct step *s, struct frame *f)
{
	const struct noise_options *o = s->options;
	const int64_t n = points(s);
	const float *mask = mask_of(s, f);
	double normal[RUN];
	if (!applies(s, f, o->probability))
		return 0;
	for (int64_t c = 0; c < s->before.c; c++) {
		float *x = (float *)f->x + c * n;

		for (int64_t from = 0; s->active[c] && from < n; from += RUN) {
			const int64_t count = n - from < RUN ? n - from : RUN;

			/* Each channel begins at an even index. */
			rng_normals(f->seed, frame_stream(f, s), (uint64_t)f->epoch,
			            c * (n + n % 2) + from, count, normal);
			for (int64_t i = 0; i < count; i++)
				if (!mask || mask[from + i] != 0)
					x[from + i] += (float)(o->deviation * normal[i]);
		}
	}
	return 0;
}

/* --- brightness --- */

int brightness_check(const void *options, const struct loc *loc)
{
	return range_check(&((const struct brightness_options *)options)->shift, "shift", loc);
}

int brightness_plan(struct chain_state *p, struct step *s)
{
	const struct brightness_options *o = s->options;
	TRY(brightness_check(o, &s->loc));
	return begin(p, s, &o->channels);
}

/* x = centre + (x - centre) * factor + shift at valid points. */
static void change(const struct step *s, struct frame *f, int64_t c, double centre, double factor,
                   double shift)
{
	const int64_t n = points(s);
	const float *mask = mask_of(s, f);
	float *x = (float *)f->x + c * n;
	for (int64_t i = 0; i < n; i++)
		if (!mask || mask[i] != 0)
			x[i] = (float)(centre + ((double)x[i] - centre) * factor + shift);
}

int brightness_run(const struct step *s, struct frame *f)
{
	const struct brightness_options *o = s->options;
	const double high = o->shift.v[o->shift.n - 1], low = o->shift.n == 2 ? o->shift.v[0] : -high;
	if (!applies(s, f, o->probability))
		return 0;
	for (int64_t c = 0; c < s->before.c; c++)
		if (s->active[c])
			change(s, f, c, 0, 1, draw(s, f, o->per, c, low, high));
	return 0;
}

/* --- contrast --- */

int contrast_check(const void *options, const struct loc *loc)
{
	const struct contrast_options *o = options;
	TRY(range_check(&o->factor, "factor", loc));
	if (o->factor.n == 1 && o->factor.v[0] >= 1)
		return ERR(E_CONFIG, loc, "'factor: %g': one number must be below 1, for factors from "
		           "1 - r to 1 + r; a range is two numbers", o->factor.v[0]);
	return 0;
}

int contrast_plan(struct chain_state *p, struct step *s)
{
	const struct contrast_options *o = s->options;
	TRY(contrast_check(o, &s->loc));
	return begin(p, s, &o->channels);
}

/* The mean of the finite values at valid points; 0 if there are none. */
static double mean_of(const struct step *s, const struct frame *f, int64_t c)
{
	const int64_t n = points(s);
	const float *mask = mask_of(s, f), *x = (const float *)f->x + c * n;
	double sum = 0;
	int64_t count = 0;
	for (int64_t i = 0; i < n; i++) {
		const bool counts = isfinite(x[i]) && (!mask || mask[i] != 0);

		sum += counts ? (double)x[i] : 0;
		count += counts;
	}
	return count ? sum / (double)count : 0;
}

int contrast_run(const struct step *s, struct frame *f)
{
	const struct contrast_options *o = s->options;
	const double r = o->factor.v[0];
	const bool range = o->factor.n == 2;
	const double low = range ? r : 1 - r, high = range ? o->factor.v[1] : 1 + r;
	if (!applies(s, f, o->probability))
		return 0;
	for (int64_t c = 0; c < s->before.c; c++)
		if (s->active[c])
			change(s, f, c, o->about == ABOUT_MEAN ? mean_of(s, f, c) : 0,
			       draw(s, f, o->per, c, low, high), 0);
	return 0;
}
