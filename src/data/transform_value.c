/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transforms of values by constants: cast and normalize, x = (x - centre) * scale per channel.
 * Where a mask channel says that a point is not valid, the result is 0 whatever was there, so
 * that missing points are neutral after standardising. The subtraction comes first: folded into
 * one multiply-add it would lose digits of quantities such as pressure, whose mean is large
 * against their deviation. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "data/transform_step.h"

static const char *const methods[] = { "standard", "min_max", NULL };
enum { STANDARD, MIN_MAX };

const struct field transform_cast_fields[] = {
	FIELD(struct cast_options, divide, FT_FLOAT, .dflt = "null", .min = 1e-300, .max = 1e300,
	      .flags = FIELD_NULLABLE | FIELD_SHORTHAND,
	      .doc = "the divisor; null: the largest value of the integer type that the training set "
	      "is stored in, 1 for floats"),
	FIELD_END
};

#define NORMALIZE_METHOD \
	FIELD(struct normalize_options, method, FT_ENUM, .dflt = "", .choices = methods, \
	      .flags = FIELD_SHORTHAND, \
	      .doc = "standard: (x - mean) / std; min_max: (x - min) / (max - min)")
#define NORMALIZE_STATISTICS \
	FIELD_FLOATS(struct normalize_options, mean, NULL, -1e300, 1e300, \
	             "instead of the training set's: one for each channel, or one for all"), \
	FIELD_FLOATS(struct normalize_options, std, NULL, 1e-300, 1e300, "deviations, as mean"), \
	FIELD_FLOATS(struct normalize_options, min, NULL, -1e300, 1e300, "smallest values, as mean"), \
	FIELD_FLOATS(struct normalize_options, max, NULL, -1e300, 1e300, "largest values, as mean")

const struct field transform_normalize_fields[] = {
	NORMALIZE_METHOD,
	FIELD_STRINGS(struct normalize_options, channels, NULL,
	              "names or numbers of the channels; absent: all but the mask"),
	FIELD(struct normalize_options, mask, FT_STRING, .dflt = "auto", .flags = FIELD_NULLABLE,
	      .doc = "channel that is 0 where the others are missing; they "
	      "become 0 there; auto: as the "
	             "record says"),
	NORMALIZE_STATISTICS,
	FIELD_END
};

const struct field target_normalize_fields[] = {
	NORMALIZE_METHOD,
	FIELD_STRINGS(struct normalize_options, channels, NULL,
	              "names or numbers of the target's channels; absent: all"),
	NORMALIZE_STATISTICS,
	FIELD_END
};

/* Updates the statistics of a channel for x = (x - centre) * scale. */
static void carry_affine(struct channel_stats *st, double centre, double scale)
{
	st->min = (st->min - centre) * scale;
	st->max = (st->max - centre) * scale;
	st->mean = (st->mean - centre) * scale;
	st->std *= scale;
}

static void set_affine(struct chain_state *p, struct step *s, int64_t c, double centre,
                       double scale)
{
	s->centre[c] = (float)centre;
	s->scale[c] = (float)scale;
	carry_affine(&p->stats[c], centre, scale);
}

/* --- cast --- */

static double largest(enum dtype t)
{
	switch (t) {
	case DTYPE_I8: return INT8_MAX;
	case DTYPE_U8: return UINT8_MAX;
	case DTYPE_I16: return INT16_MAX;
	case DTYPE_U16: return UINT16_MAX;
	case DTYPE_I32: return INT32_MAX;
	case DTYPE_I64: return (double)INT64_MAX;
	default: return 1;
	}
}

int cast_plan(struct chain_state *p, struct step *s)
{
	const struct cast_options *o = s->options;
	const double d = isnan(o->divide) ? largest(p->stored) : o->divide;
	static const struct strings all;
	if (isnan(o->divide) && d != largest(p->info->input_dtype))
		note("'cast' divides by %g, as for the training set, which is stored as %s; these "
		     "data are %s", d, dtype_name(p->stored), dtype_name(p->info->input_dtype));
	step_begin_values(p, s, p->mask);
	TRY(step_choose_channels(p, s, &all));
	for (int64_t c = 0; c < p->g.c; c++)
		if (s->active[c])
			set_affine(p, s, c, 0, 1 / d);
	return 0;
}

/* --- normalize --- */

struct pair {
	const struct floats *low, *high;        /* as given: mean and std, or min and max */
	const char *low_name, *high_name;
};

static int check_given(const struct step *s, const struct pair *given, const struct pair *other,
                       int n)
{
	const struct normalize_options *o = s->options;
	if (other->low->n || other->high->n)
		return ERR(E_CONFIG, &s->loc, "'%s' does not belong to method '%s'",
		           other->low->n ? other->low_name : other->high_name, methods[o->method]);
	if (given->low->n == 0 && given->high->n == 0)
		return 0;
	if (given->low->n != given->high->n || (given->low->n != 1 && given->low->n != n))
		return ERR(E_CONFIG, &s->loc, "'%s' and '%s' must be given together, one number or %d each "
		           "(got %d and %d)", given->low_name, given->high_name, n, given->low->n,
		           given->high->n);
	return 0;
}

static int unknown(const struct chain_state *p, const struct step *s, int64_t c)
{
	const struct normalize_options *o = s->options;
	const char *after = p->lost_after[c];
	return ERR(E_CONFIG, &s->loc, "%s of channel %lld '%s' %s not known%s%s; say %s",
	           o->method == STANDARD ? "mean and deviation" : "the range", (long long)c,
	           p->channel_names[c], o->method == STANDARD ? "are" : "is",
	           after ? " after " : "", after ? after : "",
	           o->method == STANDARD ? "'mean' and 'std'" : "'min' and 'max'");
}

/* centre and scale of one channel from the statistics; a constant channel becomes 0. */
static int from_stats(const struct chain_state *p, const struct step *s, int64_t c, double *centre,
                      double *scale)
{
	const struct normalize_options *o = s->options;
	const struct channel_stats *st = &p->stats[c];
	const double width = o->method == STANDARD ? st->std : st->max - st->min;
	*centre = o->method == STANDARD ? st->mean : st->min;
	if (st->count == 0) {
		*centre = 0;
		*scale = 1;
		return 0;
	}
	if (!isfinite(*centre) || !isfinite(width))
		return unknown(p, s, c);
	*scale = width > 0 ? 1 / width : 1;
	return 0;
}

static int normalize_channel(struct chain_state *p, struct step *s, const struct pair *given,
                             int64_t c, int k)
{
	const struct normalize_options *o = s->options;
	const int i = given->low->n == 1 ? 0 : k;
	double centre = 0, scale = 1;
	if (given->low->n == 0) {
		TRY(from_stats(p, s, c, &centre, &scale));
	} else {
		const double high = given->high->v[i];

		centre = given->low->v[i];
		if (o->method == MIN_MAX && !(high > centre))
			return ERR(E_CONFIG, &s->loc, "'max' (%g) must be above 'min' (%g)", high, centre);
		scale = 1 / (o->method == STANDARD ? high : high - centre);
	}
	set_affine(p, s, c, centre, scale);
	return 0;
}

int normalize_plan(struct chain_state *p, struct step *s)
{
	const struct normalize_options *o = s->options;
	const struct pair moments = { &o->mean, &o->std, "mean", "std" };
	const struct pair range = { &o->min, &o->max, "min", "max" };
	const struct pair *given = o->method == STANDARD ? &moments : &range;
	int mask, n, k = 0;
	TRY(step_find_mask(p, s, o->mask, &mask));
	step_begin_values(p, s, mask);
	n = step_choose_channels(p, s, &o->channels);
	TRY(n);
	TRY(check_given(s, given, given == &moments ? &range : &moments, n));
	for (int64_t c = 0; c < p->g.c; c++)
		if (s->active[c])
			TRY(normalize_channel(p, s, given, c, k++));
	return 0;
}

int affine_run(const struct step *s, struct frame *f)
{
	const struct geometry *g = &s->before;
	const int64_t n = g->d[0] * g->d[1] * g->d[2];
	const float *mask = s->mask >= 0 ? (const float *)f->x + s->mask * n : NULL;
	for (int64_t c = 0; c < g->c; c++) {
		float *x = (float *)f->x + c * n;
		const float centre = s->centre[c], scale = s->scale[c];

		if (!s->active[c])
			continue;
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			x[i] = (x[i] - centre) * scale;
		if (!mask)
			continue;
#pragma omp simd
		for (int64_t i = 0; i < n; i++)
			x[i] = mask[i] != 0 ? x[i] : 0;
	}
	return 0;
}
