/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Transforms by a function of each value: log1p and sqrt, for quantities of many orders of
 * magnitude. Both functions are increasing, so minimum and maximum can be transformed; mean and
 * deviation are unknown afterwards. A value outside the function's domain is an error with its
 * location. */
#include <math.h>
#include <stdio.h>

#include "base/err.h"
#include "data/transform_step.h"

static const char *const negative_names[] = { "error", "zero", NULL };
enum { NEGATIVE_ERROR, NEGATIVE_ZERO };

const struct field transform_log1p_fields[] = {
	FIELD(struct log1p_options, channels, FT_STRINGS, .flags = FIELD_SHORTHAND,
	      .doc = "names or numbers of the channels; absent: all but the mask"),
	FIELD_END
};

const struct field target_log1p_fields[] = {
	FIELD(struct log1p_options, channels, FT_STRINGS, .flags = FIELD_SHORTHAND,
	      .doc = "names or numbers of the target's channels; absent: all"),
	FIELD_END
};

const struct field transform_sqrt_fields[] = {
	FIELD(struct sqrt_options, channels, FT_STRINGS, .flags = FIELD_SHORTHAND,
	      .doc = "names or numbers of the channels; absent: all but the mask"),
	FIELD_ENUM(struct sqrt_options, negative, "error", negative_names,
	           "what a value below 0 is: a mistake in the data, or noise about 0 that becomes 0"),
	FIELD_END
};

/* --- planning --- */

static int begin(struct chain_state *p, struct step *s, const struct strings *channels)
{
	step_begin_values(p, s, p->mask);
	return step_choose_channels(p, s, channels);
}

int log1p_plan(struct chain_state *p, struct step *s)
{
	const struct log1p_options *o = s->options;
	TRY(begin(p, s, &o->channels));
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
		step_lose_moments(p, c, "log1p");
	}
	return 0;
}

static double root(double v)
{
	return v < 0 ? 0 : sqrt(v);
}

int sqrt_plan(struct chain_state *p, struct step *s)
{
	const struct sqrt_options *o = s->options;
	TRY(begin(p, s, &o->channels));
	for (int64_t c = 0; c < p->g.c; c++) {
		struct channel_stats *st = &p->stats[c];

		if (!s->active[c])
			continue;
		if (o->negative == NEGATIVE_ERROR && st->count > 0 && st->min < 0)
			return ERR(E_CONFIG, &s->loc, "sqrt needs values from 0; channel %lld '%s' goes down "
			           "to %g; if that is noise, say 'negative: zero'",
			           (long long)c, p->channel_names[c], st->min);
		st->min = root(st->min);
		st->max = root(st->max);
		step_lose_moments(p, c, "sqrt");
	}
	return 0;
}

/* --- running --- */

/* Reports a value at point i of channel c outside the domain of the function. */
static int refused(const struct step *s, const char *function, float v, int64_t c, int64_t i)
{
	const int64_t *d = s->before.d;
	const int64_t at[3] = { i / (d[1] * d[2]), i / d[2] % d[1], i % d[2] };
	char place[64] = "";
	int n = 0;
	for (int k = 3 - s->before.nspatial; k < 3; k++)
		n += snprintf(place + n, sizeof place - (size_t)n, "%s%lld", n ? ", " : " at (",
		              (long long)at[k]);
	return ERR(E_DATA, NULL, "%s of %g in channel %lld%s%s", function, (double)v, (long long)c,
	           place, n ? ")" : "");
}

/* Inlined into its callers, so that the functions are known at compile time. */
static inline int apply(const struct step *s, struct frame *f, const char *function,
                        bool (*takes)(float), float (*of)(float))
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
			else if (takes(x[i]))
				x[i] = of(x[i]);
			else
				return refused(s, function, x[i], c, i);
		}
	}
	return 0;
}

/* NaN is accepted and stays NaN. */
static bool log1p_takes(float v)
{
	return !(v <= -1);
}

static bool sqrt_takes(float v)
{
	return !(v < 0);
}

static bool takes_all(float v)
{
	return true;
}

static float sqrt_or_zero(float v)
{
	return v < 0 ? 0 : sqrtf(v);
}

int log1p_run(const struct step *s, struct frame *f)
{
	return apply(s, f, "log1p", log1p_takes, log1pf);
}

int sqrt_run(const struct step *s, struct frame *f)
{
	const struct sqrt_options *o = s->options;
	if (o->negative == NEGATIVE_ZERO)
		return apply(s, f, "sqrt", takes_all, sqrt_or_zero);
	return apply(s, f, "sqrt", sqrt_takes, sqrtf);
}
