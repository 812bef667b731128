/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transforms of values: cast, normalize, log1p. The first two are x = (x - centre) * scale per
 * channel; where a mask channel says that a point is not valid, the result is 0 whatever stood
 * there, so that missing points are neutral after standardising. The subtraction comes first:
 * folded into one multiply-add it would lose digits of quantities such as pressure, whose mean
 * is large against their deviation. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "data/transform_step.h"

#define LISTED 20   /* channel names in a message */

static const char *const methods[] = {"standard", "min_max", NULL};
enum { STANDARD, MIN_MAX };

const struct field transform_cast_fields[] = {
	FIELD_(struct cast_options, divide, FT_FLOAT, "null", 1e-300, 1e300, NULL, NULL, NULL,
	       FIELD_NULLABLE | FIELD_SHORTHAND,
	       "the divisor; null: the largest value of the stored integer type, 1 for floats"),
	FIELD_END
};

const struct field transform_normalize_fields[] = {
	FIELD_(struct normalize_options, method, FT_ENUM, "", 0, 0, methods, NULL, NULL,
	       FIELD_SHORTHAND, "standard: (x - mean) / std; min_max: (x - min) / (max - min)"),
	FIELD_STRINGS(struct normalize_options, channels, NULL,
	              "names or numbers of the channels; absent: all but the mask"),
	FIELD_(struct normalize_options, mask, FT_STRING, "auto", 0, 0, NULL, NULL, NULL,
	       FIELD_NULLABLE,
	       "channel that is 0 where the others are missing; they become 0 there; auto: as the "
	       "record says"),
	FIELD_FLOATS(struct normalize_options, mean, NULL, -1e300, 1e300,
	             "instead of the training set's: one for each channel, or one for all"),
	FIELD_FLOATS(struct normalize_options, std, NULL, 1e-300, 1e300, "likewise"),
	FIELD_FLOATS(struct normalize_options, min, NULL, -1e300, 1e300, "likewise"),
	FIELD_FLOATS(struct normalize_options, max, NULL, -1e300, 1e300, "likewise"),
	FIELD_END
};

const struct field transform_log1p_fields[] = {
	FIELD_(struct log1p_options, channels, FT_STRINGS, NULL, 0, 0, NULL, NULL, NULL,
	       FIELD_SHORTHAND, "names or numbers of the channels; absent: all but the mask"),
	FIELD_END
};

/* --- channels --- */

static int no_channel(const struct plan *p, const char *text, const struct loc *loc)
{
	const char *guess = did_you_mean(text, p->channel_names);
	struct buf names = BUF_INIT;
	int rc;

	for (int64_t c = 0; p->info->input_channels && c < p->g.c && c < LISTED; c++)
		buf_printf(&names, "%s %s", c ? "," : ":", p->channel_names[c]);
	rc = ERR(E_CONFIG, loc, "no input channel '%s'%s%s%s; there are %lld%s%s", text,
	         guess ? " (did you mean '" : "", guess ? guess : "", guess ? "'?)" : "",
	         (long long)p->g.c, names.data, names.len && p->g.c > LISTED ? ", ..." : "");
	buf_release(&names);
	return rc;
}

/* The channel called text, or numbered so; or an error at loc. */
static int channel_find(const struct plan *p, const char *text, const struct loc *loc)
{
	char *end;
	long long v;

	for (int c = 0; c < p->g.c; c++)
		if (strcmp(p->channel_names[c], text) == 0)
			return c;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (*text && !*end && errno == 0 && v >= 0 && v < p->g.c)
		return (int)v;
	return no_channel(p, text, loc);
}

static void start_value_step(struct plan *p, struct step *s, int mask)
{
	s->mask = mask;
	s->centre = ARENA_ARRAY(p->a, float, p->g.c);
	s->scale = ARENA_ARRAY(p->a, float, p->g.c);
	s->active = ARENA_ARRAY(p->a, bool, p->g.c);
	for (int64_t c = 0; c < p->g.c; c++)
		s->scale[c] = 1;
}

/* Fills s->active; returns how many channels it chose, or an error. */
static int choose_channels(struct plan *p, struct step *s, const struct strings *names)
{
	int n = 0, rc = 0;

	for (int64_t c = 0; names->n == 0 && c < p->g.c; c++)
		s->active[c] = c != s->mask;
	for (int i = 0; i < names->n; i++) {
		const struct loc *loc = names->loc ? &names->loc[i] : &s->loc;
		const int c = channel_find(p, names->v[i], loc);

		if (c < 0)
			rc = c;
		else if (c == s->mask)
			rc = ERR(E_CONFIG, loc, "channel '%s' is the mask", names->v[i]);
		else
			s->active[c] = true;
	}
	for (int64_t c = 0; c < p->g.c; c++)
		n += s->active[c];
	return rc < 0 ? rc : n;
}

/* What is known of a channel after x = (x - centre) * scale. */
static void carry_affine(struct channel_stats *st, double centre, double scale)
{
	st->min = (st->min - centre) * scale;
	st->max = (st->max - centre) * scale;
	st->mean = (st->mean - centre) * scale;
	st->std *= scale;
}

static void set_affine(struct plan *p, struct step *s, int64_t c, double centre, double scale)
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

int cast_plan(struct plan *p, struct step *s)
{
	const struct cast_options *o = s->options;
	const double d = isnan(o->divide) ? largest(p->info->input_dtype) : o->divide;
	static const struct strings all;

	start_value_step(p, s, p->info->mask);
	TRY(choose_channels(p, s, &all));
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

/* The mask channel, -1 for none, or an error. */
static int normalize_mask(struct plan *p, const struct step *s, int *mask)
{
	const struct normalize_options *o = s->options;

	*mask = -1;
	if (!o->mask)
		return 0;
	if (strcmp(o->mask, "auto") == 0)
		*mask = p->info->mask;
	else
		TRY(*mask = channel_find(p, o->mask, &s->loc));
	return 0;
}

/* centre and scale of one channel from the statistics; a constant channel becomes 0. */
static int from_stats(const struct plan *p, const struct step *s, int64_t c, double *centre,
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
		return ERR(E_CONFIG, &s->loc, "%s of channel %lld '%s' %s; say %s",
		           o->method == STANDARD ? "mean and deviation" : "the range", (long long)c,
		           p->channel_names[c],
		           o->method == STANDARD ? "are not known after log1p" : "is not known",
		           o->method == STANDARD ? "'mean' and 'std'" : "'min' and 'max'");
	*scale = width > 0 ? 1 / width : 1;
	return 0;
}

static int normalize_channel(struct plan *p, struct step *s, const struct pair *given, int64_t c,
                             int k)
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

int normalize_plan(struct plan *p, struct step *s)
{
	const struct normalize_options *o = s->options;
	const struct pair moments = {&o->mean, &o->std, "mean", "std"};
	const struct pair range = {&o->min, &o->max, "min", "max"};
	const struct pair *given = o->method == STANDARD ? &moments : &range;
	int mask, n, k = 0;

	TRY(normalize_mask(p, s, &mask));
	start_value_step(p, s, mask);
	n = choose_channels(p, s, &o->channels);
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
	float *all = f->x;
	const float *mask = s->mask >= 0 ? all + s->mask * n : NULL;

	for (int64_t c = 0; c < g->c; c++) {
		float *x = all + c * n;
		const float centre = s->centre[c], scale = s->scale[c];

		if (!s->active[c])
			continue;
		for (int64_t i = 0; i < n; i++)
			x[i] = (x[i] - centre) * scale;
		for (int64_t i = 0; mask && i < n; i++)
			x[i] = mask[i] != 0 ? x[i] : 0;
	}
	return 0;
}

/* --- log1p --- */

int log1p_plan(struct plan *p, struct step *s)
{
	const struct log1p_options *o = s->options;

	start_value_step(p, s, p->info->mask);
	TRY(choose_channels(p, s, &o->channels));
	for (int64_t c = 0; c < p->g.c; c++) {
		struct channel_stats *st = &p->stats[c];

		if (!s->active[c])
			continue;
		if (st->count > 0 && st->min <= -1)
			return ERR(E_CONFIG, &s->loc,
			           "log1p needs values above -1; channel %lld '%s' goes down to %g",
			           (long long)c, p->channel_names[c], st->min);
		st->min = log1p(st->min);
		st->max = log1p(st->max);
		st->mean = st->std = NAN;
	}
	return 0;
}

int log1p_run(const struct step *s, struct frame *f)
{
	const struct geometry *g = &s->before;
	const int64_t n = g->d[0] * g->d[1] * g->d[2];
	float *all = f->x;
	const float *mask = s->mask >= 0 ? all + s->mask * n : NULL;

	for (int64_t c = 0; c < g->c; c++) {
		float *x = all + c * n;

		for (int64_t i = 0; s->active[c] && i < n; i++) {
			if (mask && mask[i] == 0)
				x[i] = 0;
			else if (x[i] <= -1)
				return ERR(E_DATA, NULL, "log1p of %g in channel %lld", (double)x[i], (long long)c);
			else
				x[i] = log1pf(x[i]);
		}
	}
	return 0;
}
