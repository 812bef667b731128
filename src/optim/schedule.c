/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rate(t) = base * decay(t) * warm(t), a pure function of the step t = 0, 1, ...
 *
 *   warm         start + (1 - start) * t / W while t < W, then 1
 *   constant     1
 *   step         factor ^ floor(t / every)
 *   multistep    factor ^ (milestones reached: m <= t)
 *   exponential  rate ^ (t / every)
 *   polynomial   end + (1 - end) * (1 - u)^power         u = (t - W) / (total - W), within 0..1
 *   cosine       end + (1 - end) * (1 + cos(pi u)) / 2
 *
 * Milestones and periods count from the start of the run; polynomial and cosine begin where the
 * warm-up ends, so that the peak is the base rate. Without warm-up these are PyTorch's schedulers
 * stepped once each step. */
#include "optim/schedule.h"

#include <math.h>

#include "base/err.h"

/* --- tables --- */

/* A length: a number of steps, or {steps: N} or {epochs: X}. 0 and NaN where absent. */
struct length {
	int64_t steps;
	double epochs;
};
static const struct field length_fields[] = { FIELD_(struct length, steps, FT_INT, "0", 0, 1e15,
	                                                 NULL, NULL, NULL, FIELD_SHORTHAND, "in steps"),
	                                          FIELD_(struct length, epochs, FT_FLOAT, "null", 0,
	                                                 1e9, NULL, NULL, NULL, FIELD_NULLABLE,
	                                                 "or in epochs"),
	                                          FIELD_END };
struct lengths {
	struct ints steps;
	struct floats epochs;
};
static const struct field lengths_fields[] = {
	FIELD_(struct lengths, steps, FT_INTS, NULL, 1, 1e15, NULL, NULL, NULL, FIELD_SHORTHAND,
	       "in steps"),
	FIELD_(struct lengths, epochs, FT_FLOATS, NULL, 0, 1e9, NULL, NULL, NULL, 0, "or in epochs"),
	FIELD_END
};
struct warmup {
	int64_t steps;
	double epochs, start;
};
static const struct field warmup_fields[] = {
	FIELD_(struct warmup, steps, FT_INT, "0", 0, 1e15, NULL, NULL, NULL, FIELD_SHORTHAND,
	       "length in steps; 0: none"),
	FIELD_(struct warmup, epochs, FT_FLOAT, "null", 0, 1e9, NULL, NULL, NULL, FIELD_NULLABLE,
	       "or length in epochs"),
	FIELD_FLOAT(struct warmup, start, "0.1", 0, 1, "share of the rate at step 0"), FIELD_END
};

/* First in every schedule's struct. */
struct schedule {
	struct warmup warmup;
};
struct constant {
	struct warmup warmup;
};
struct step {
	struct warmup warmup;
	struct length every;
	double factor;
};
struct multistep {
	struct warmup warmup;
	struct lengths milestones;
	double factor;
};
struct polynomial {
	struct warmup warmup;
	double power, end;
};
struct cosine {
	struct warmup warmup;
	double end;
};
struct exponential {
	struct warmup warmup;
	double rate;
	struct length every;
};

#define WARMUP(s) \
	FIELD_SECTION(s, warmup, warmup_fields, "linear rise to the rate at the start of the run")
static const struct field constant_fields[] = { WARMUP(struct constant), FIELD_END };
static const struct field step_fields[] = {
	FIELD_SECTION(struct step, every, length_fields, "period"),
	FIELD_FLOAT(struct step, factor, "0.1", 1e-12, 1e6, "what each period multiplies the rate by"),
	WARMUP(struct step), FIELD_END
};
static const struct field multistep_fields[] = {
	FIELD_SECTION(struct multistep, milestones, lengths_fields,
	              "when the rate changes, in rising order"),
	FIELD_FLOAT(struct multistep, factor, "0.1", 1e-12, 1e6,
	            "what each milestone multiplies the rate by"),
	WARMUP(struct multistep), FIELD_END
};
static const struct field polynomial_fields[] = {
	FIELD_FLOAT(struct polynomial, power, "1", 1e-6, 100, "exponent; 1 is linear"),
	FIELD_FLOAT(struct polynomial, end, "0", 0, 1, "share of the base rate at the end of the run"),
	WARMUP(struct polynomial), FIELD_END
};
static const struct field cosine_fields[] = {
	FIELD_FLOAT(struct cosine, end, "0", 0, 1, "share of the base rate at the end of the run"),
	WARMUP(struct cosine), FIELD_END
};
static const struct field exponential_fields[] = {
	FIELD_FLOAT(struct exponential, rate, "0.95", 1e-12, 1e6,
	            "what each period multiplies the rate by, smoothly"),
	FIELD_SECTION(struct exponential, every, length_fields, "period"), WARMUP(struct exponential),
	FIELD_END
};

const struct variant schedule_variants[] = {
	{ "constant", "the base rate throughout", constant_fields, sizeof(struct constant) },
	{ "step", "a factor every so often", step_fields, sizeof(struct step) },
	{ "multistep", "a factor at each milestone", multistep_fields, sizeof(struct multistep) },
	{ "polynomial", "falls to the end of the run as a power of what is left", polynomial_fields,
	  sizeof(struct polynomial) },
	{ "cosine", "falls to the end of the run as half a cosine", cosine_fields,
	  sizeof(struct cosine) },
	{ "exponential", "falls by a constant rate", exponential_fields, sizeof(struct exponential) },
	{ NULL, NULL, NULL, 0 }
};

/* --- decay, one function a row --- */

static double steps_of(double epochs, const struct schedule_context *c)
{
	return floor(epochs * (double)c->steps_per_epoch + 0.5);
}

static double length_steps(const struct length *l, const struct schedule_context *c)
{
	return fmax(1, isnan(l->epochs) ? (double)l->steps : steps_of(l->epochs, c));
}

static double warmup_steps(const struct warmup *w, const struct schedule_context *c)
{
	return isnan(w->epochs) ? (double)w->steps : steps_of(w->epochs, c);
}

/* Share of the run behind us, counted from the end of the warm-up. */
static double progress(const struct warmup *w, const struct schedule_context *c, double t)
{
	double start = warmup_steps(w, c), total = (double)c->total_steps - start;
	return t <= start ? 0 : total <= 0 ? 1 : fmin(1, (t - start) / total);
}

static double constant(const void *data, const struct schedule_context *c, double t)
{
	return 1;
}

static double step(const void *data, const struct schedule_context *c, double t)
{
	const struct step *s = data;
	return pow(s->factor, floor(t / length_steps(&s->every, c)));
}

static double multistep(const void *data, const struct schedule_context *c, double t)
{
	const struct multistep *s = data;
	int reached = 0;
	for (int i = 0; i < s->milestones.steps.n; i++)
		reached += (double)s->milestones.steps.v[i] <= t;
	for (int i = 0; i < s->milestones.epochs.n; i++)
		reached += steps_of(s->milestones.epochs.v[i], c) <= t;
	return pow(s->factor, reached);
}

static double polynomial(const void *data, const struct schedule_context *c, double t)
{
	const struct polynomial *s = data;
	return s->end + (1 - s->end) * pow(1 - progress(&s->warmup, c, t), s->power);
}

static double cosine(const void *data, const struct schedule_context *c, double t)
{
	const struct cosine *s = data;
	return s->end +
	       (1 - s->end) * (1 + cos(3.14159265358979323846 * progress(&s->warmup, c, t))) / 2;
}

static double exponential(const void *data, const struct schedule_context *c, double t)
{
	const struct exponential *s = data;
	return pow(s->rate, t / length_steps(&s->every, c));
}

/* In the order of schedule_variants. */
static double (*const decay[])(const void *data, const struct schedule_context *c,
                               double t) = { constant,   step,   multistep,
	                                         polynomial, cosine, exponential };

/* --- the contract --- */

double schedule_rate(const struct variant_value *schedule, const struct schedule_context *c,
                     int64_t at)
{
	const struct warmup *w = &((const struct schedule *)schedule->data)->warmup;
	double t = (double)at, warm = warmup_steps(w, c);
	double rate = c->base_rate * decay[schedule->v - schedule_variants](schedule->data, c, t);
	return t < warm ? rate * (w->start + (1 - w->start) * t / warm) : rate;
}

static int check_length(const char *key, bool steps, bool epochs, bool needed,
                        const struct loc *loc)
{
	if (steps && epochs)
		return ERR(E_CONFIG, loc, "'%s' has both 'steps' and 'epochs'; give one", key);
	if (needed && !steps && !epochs)
		return ERR(E_CONFIG, loc, "'%s' needs a length: a number of steps, or {epochs: N}", key);
	return 0;
}

static int check_milestones(const struct lengths *m, const struct loc *loc)
{
	TRY(check_length("milestones", m->steps.n > 0, m->epochs.n > 0, true, loc));
	for (int i = 1; i < m->steps.n; i++)
		if (m->steps.v[i] <= m->steps.v[i - 1])
			return ERR(E_CONFIG, loc, "'milestones' must rise, but %lld follows %lld",
			           (long long)m->steps.v[i], (long long)m->steps.v[i - 1]);
	for (int i = 1; i < m->epochs.n; i++)
		if (!(m->epochs.v[i] > m->epochs.v[i - 1]))
			return ERR(E_CONFIG, loc, "'milestones' must rise, but %g follows %g", m->epochs.v[i],
			           m->epochs.v[i - 1]);
	return 0;
}

int schedule_check(const struct variant_value *schedule)
{
	const struct warmup *w = &((const struct schedule *)schedule->data)->warmup;
	const struct step *s = schedule->data;
	const struct exponential *e = schedule->data;
	const struct multistep *m = schedule->data;
	int rc = check_length("warmup", w->steps > 0, !isnan(w->epochs), false, &schedule->loc),
		own = 0;
	if (schedule->v->fields == step_fields)
		own = check_length("every", s->every.steps > 0, !isnan(s->every.epochs), true,
		                   &schedule->loc);
	else if (schedule->v->fields == exponential_fields)
		own = check_length("every", e->every.steps > 0, !isnan(e->every.epochs), true,
		                   &schedule->loc);
	else if (schedule->v->fields == multistep_fields)
		own = check_milestones(&m->milestones, &schedule->loc);
	return rc ? rc : own;
}
