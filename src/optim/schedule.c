/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rate(t) = base * decay(t) * warm(t), a pure function of the step t = 0, 1, ...
 *
 *   warm         start + (1 - start) * t / W while t < W, then 1; rule epochs: with t of the
 *                epoch's begin; rule deepcam: (t + 1) / W while t < W - 1, then (W - 1) / W
 *   constant     1
 *   step         factor ^ floor(t / every)
 *   multistep    factor ^ (milestones reached: m <= t), or factors[milestones reached - 1]
 *   exponential  rate ^ (t / every)
 *   polynomial   end + (1 - end) * (1 - u)^power         u = (t - W) / (total - W), within 0..1
 *   cosine       end + (1 - end) * (1 + cos(pi u)) / 2
 *   plateau      max(factor ^ reductions, least / base), a reduction after `patience` validations
 *                in a row without a better one
 *
 * Milestones and periods count from the start of the run, with rule deepcam from the end of the
 * warm-up; polynomial and cosine begin where it ends, so that the peak is the base rate. Without
 * warm-up these are PyTorch's schedulers stepped once each step. */
#include "optim/schedule.h"

#include <math.h>

#include "base/err.h"

/* --- tables --- */

/* A length: a number of steps, or {steps: N} or {epochs: X}. 0 and NaN where absent. */
struct length {
	int64_t steps;
	double epochs;
};
static const struct field length_fields[] = {
	FIELD(struct length, steps, FT_INT, .dflt = "0", .min = 0, .max = 1e15,
	      .flags = FIELD_SHORTHAND,
	      .doc = "in steps"),
	FIELD(struct length, epochs, FT_FLOAT, .dflt = "null", .min = 0, .max = 1e9,
	      .flags = FIELD_NULLABLE, .doc = "or in epochs"),
	FIELD_END
};
struct lengths {
	struct ints steps;
	struct floats epochs;
};
static const struct field lengths_fields[] = {
	FIELD(struct lengths, steps, FT_INTS, .min = 1, .max = 1e15, .flags = FIELD_SHORTHAND,
	      .doc = "in steps"),
	FIELD(struct lengths, epochs, FT_FLOATS, .min = 0, .max = 1e9, .doc = "or in epochs"),
	FIELD_END
};
struct warmup {
	int64_t steps;
	double epochs, start;
	int rule;
};
enum { RULE_STEPS, RULE_EPOCHS, RULE_DEEPCAM };
static const char *const rule_names[] = { "steps", "epochs", "deepcam", NULL };
static const struct field warmup_fields[] = {
	FIELD(struct warmup, steps, FT_INT, .dflt = "0", .min = 0, .max = 1e15,
	      .flags = FIELD_SHORTHAND, .doc = "length in steps; 0: none"),
	FIELD(struct warmup, epochs, FT_FLOAT, .dflt = "null", .min = 0, .max = 1e9,
	      .flags = FIELD_NULLABLE, .doc = "length in epochs, instead of steps"),
	FIELD_FLOAT(struct warmup, start, "0.1", 0, 1, "share of the rate at step 0"),
	FIELD_ENUM(struct warmup, rule, "steps", rule_names,
	           "steps: rises at each step; epochs: at the beginning of each epoch (CosmoFlow); "
	           "deepcam: as MLPerf's DeepCAM does, "
	           "see SCHEDULES"),
	FIELD_END
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
	struct floats factors;
};
struct polynomial {
	struct warmup warmup;
	double power, end, end_rate;
	struct length over;
};
struct cosine {
	struct warmup warmup;
	double end, end_rate;
	struct length over;
};
struct exponential {
	struct warmup warmup;
	double rate;
	struct length every;
};

struct plateau_options {
	struct warmup warmup;
	double factor, threshold, least;
	int64_t patience, cooldown;
};

#define WARMUP(s) \
	FIELD_SECTION(s, warmup, warmup_fields, "linear rise to the rate at the start of the run")
#define FALL(s)                                                                                    \
	FIELD_FLOAT(s, end, "0", 0, 1, "share of the base rate at the end"),                           \
	FIELD(s, end_rate, FT_FLOAT, .dflt = "null", .min = 0, .max = 1e6, .flags = FIELD_NULLABLE, \
	      .doc = "the rate at the end, instead of its share"), \
	FIELD_SECTION(s, over, length_fields, \
	              "where the rate reaches its end value; default: at the end of the run")
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
	FIELD(struct multistep, factors, FT_FLOATS, .min = 0, .max = 1e6,
	      .doc = "instead of factors: the share of the base rate from each milestone on"),
	WARMUP(struct multistep), FIELD_END
};
static const struct field polynomial_fields[] = {
	FIELD_FLOAT(struct polynomial, power, "1", 1e-6, 100, "exponent; 1 is linear"),
	FALL(struct polynomial),
	WARMUP(struct polynomial), FIELD_END
};
static const struct field cosine_fields[] = {
	FALL(struct cosine),
	WARMUP(struct cosine), FIELD_END
};
static const struct field exponential_fields[] = {
	FIELD_FLOAT(struct exponential, rate, "0.95", 1e-12, 1e6,
	            "what each period multiplies the rate by, smoothly"),
	FIELD_SECTION(struct exponential, every, length_fields, "period"), WARMUP(struct exponential),
	FIELD_END
};

static const struct field plateau_fields[] = {
	FIELD_FLOAT(struct plateau_options, factor, "0.1", 1e-12, 1,
	            "what a reduction multiplies the rate by"),
	FIELD_INT(struct plateau_options, patience, "10", 1, 1e9,
	          "validations in a row without a better one after which the rate is reduced"),
	FIELD_FLOAT(struct plateau_options, threshold, "1e-4", 0, 1,
	            "a validation is better if it exceeds the best by this share of it"),
	FIELD_INT(struct plateau_options, cooldown, "0", 0, 1e9,
	          "validations after a reduction that do not count"),
	FIELD_FLOAT(struct plateau_options, least, "0", 0, 1e6,
	            "the rate is not reduced below this one"),
	WARMUP(struct plateau_options), FIELD_END
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

/* The time of milestones and periods. */
static double own_time(const struct warmup *w, const struct schedule_context *c, double t)
{
	return w->rule == RULE_DEEPCAM ? fmax(0, t - warmup_steps(w, c)) : t;
}

static bool is_given(const struct length *l)
{
	return l->steps > 0 || !isnan(l->epochs);
}

/* The share of the base rate to end at. */
static double end_share(double end, double end_rate, const struct schedule_context *c)
{
	return isnan(end_rate) ? end : c->base_rate > 0 ? end_rate / c->base_rate : 0;
}

/* Share of the fall that is over, counted from the end of the
 * warm-up; `over` counts from the start of the run. */
static double progress(const struct warmup *w, const struct length *over,
                       const struct schedule_context *c, double t)
{
	double last = is_given(over) ? length_steps(over, c) : (double)c->total_steps;
	double start = warmup_steps(w, c), total = last - start;
	return t <= start ? 0 : total <= 0 ? 1 : fmin(1, (t - start) / total);
}

static double constant(const void *data, const struct schedule_context *c, double t)
{
	return 1;
}

static double step(const void *data, const struct schedule_context *c, double t)
{
	const struct step *s = data;
	return pow(s->factor, floor(own_time(&s->warmup, c, t) / length_steps(&s->every, c)));
}

static double multistep(const void *data, const struct schedule_context *c, double t)
{
	const struct multistep *s = data;
	int reached = 0;
	t = own_time(&s->warmup, c, t);
	for (int i = 0; i < s->milestones.steps.n; i++)
		reached += (double)s->milestones.steps.v[i] <= t;
	for (int i = 0; i < s->milestones.epochs.n; i++)
		reached += steps_of(s->milestones.epochs.v[i], c) <= t;
	if (s->factors.n)
		return reached ? s->factors.v[reached - 1] : 1;
	return pow(s->factor, reached);
}

static double polynomial(const void *data, const struct schedule_context *c, double t)
{
	const struct polynomial *s = data;
	double end = end_share(s->end, s->end_rate, c);
	return end + (1 - end) * pow(1 - progress(&s->warmup, &s->over, c, t), s->power);
}

static double cosine(const void *data, const struct schedule_context *c, double t)
{
	const struct cosine *s = data;
	double end = end_share(s->end, s->end_rate, c), u = progress(&s->warmup, &s->over, c, t);
	return end + (1 - end) * (1 + cos(3.14159265358979323846 * u)) / 2;
}

static double exponential(const void *data, const struct schedule_context *c, double t)
{
	const struct exponential *s = data;
	return pow(s->rate, own_time(&s->warmup, c, t) / length_steps(&s->every, c));
}

static double plateau(const void *data, const struct schedule_context *c, double t)
{
	const struct plateau_options *s = data;
	double least = c->base_rate > 0 ? fmin(1, s->least / c->base_rate) : 0;
	return fmax(pow(s->factor, (double)c->reductions), least);
}

struct decay {
	/* The share of the base rate at step t, which counts from 0. */
	double (*share)(const void *data, const struct schedule_context *c, double t);
};

#define ROW(name_, doc_)                                                                        \
	{                                                                                           \
		.name = #name_, .doc = doc_, .fields = name_##_fields, .size = sizeof(struct name_),    \
		.own = &(const struct decay){ name_ },                                                  \
	}

const struct variant schedule_variants[] = {
	ROW(constant, "the base rate throughout"),
	ROW(step, "multiplies the rate by a factor in regular intervals"),
	ROW(multistep, "a factor at each milestone"),
	ROW(polynomial, "falls to the end of the run as a power of what is left"),
	ROW(cosine, "falls to the end of the run as half a cosine"),
	ROW(exponential, "falls by a constant rate"),
	{ .name = "plateau",
	  .doc = "multiplies the rate by a factor whenever validations stop getting better",
	  .fields = plateau_fields,
	  .size = sizeof(struct plateau_options), .own = &(const struct decay){ plateau } },
	{ 0 },
};

static double warm(const struct warmup *w, const struct schedule_context *c, double t)
{
	double n = warmup_steps(w, c), epoch = (double)c->steps_per_epoch;
	if (w->rule == RULE_DEEPCAM && n >= 2)
		return t < n - 1 ? (t + 1) / n : (n - 1) / n;
	if (t >= n)
		return 1;
	if (w->rule == RULE_EPOCHS && epoch > 0)
		t = epoch * floor(t / epoch);
	return w->start + (1 - w->start) * t / n;
}

/* --- the contract --- */

double schedule_rate(const struct variant_value *schedule, const struct schedule_context *c,
                     int64_t at)
{
	const struct warmup *w = &((const struct schedule *)schedule->data)->warmup;
	double t = (double)at;
	const struct decay *decay = schedule->v->own;
	return c->base_rate * decay->share(schedule->data, c, t) * warm(w, c, t);
}

bool schedule_watches(const struct variant_value *schedule)
{
	return schedule->v->fields == plateau_fields;
}

bool schedule_validated(const struct variant_value *schedule, struct plateau *p, double metric)
{
	const struct plateau_options *s = schedule->data;
	if (!schedule_watches(schedule))
		return false;
	if (isnan(p->best) ? !isnan(metric) : metric > p->best + s->threshold * fabs(p->best)) {
		p->best = metric;
		p->stale = 0;
	} else {
		p->stale++;
	}
	if (p->cooldown > 0) {
		p->cooldown--;
		p->stale = 0;
	}
	if (p->stale < s->patience)
		return false;
	p->stale = 0;
	p->cooldown = s->cooldown;
	p->reductions++;
	return true;
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

static int check_milestones(const struct multistep *s, const struct loc *loc)
{
	const struct lengths *m = &s->milestones;
	int n = m->steps.n + m->epochs.n;
	TRY(check_length("milestones", m->steps.n > 0, m->epochs.n > 0, true, loc));
	if (s->factors.n && s->factors.n != n)
		return ERR(E_CONFIG, loc, "'factors' has %d numbers for %d milestones", s->factors.n, n);
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

/* NULL: the schedule has no end of its own. */
static const struct length *over_of(const struct variant_value *schedule)
{
	if (schedule->v->fields == polynomial_fields)
		return &((const struct polynomial *)schedule->data)->over;
	if (schedule->v->fields == cosine_fields)
		return &((const struct cosine *)schedule->data)->over;
	return NULL;
}

bool schedule_spans_run(const struct variant_value *schedule)
{
	const struct length *over = over_of(schedule);
	return over && !is_given(over);
}

int schedule_check_over(const struct variant_value *schedule, int64_t steps_per_epoch,
                        const struct loc *over)
{
	const struct schedule_context c = { .steps_per_epoch = steps_per_epoch };
	const struct warmup *w = &((const struct schedule *)schedule->data)->warmup;
	const struct length *o = over_of(schedule);
	const bool epochs = o && !isnan(o->epochs), same = epochs == !isnan(w->epochs);
	double end, start;
	if (!o || !is_given(o) || (steps_per_epoch == 0 && !same))
		return 0;
	end = steps_per_epoch ? length_steps(o, &c) : epochs ? o->epochs : (double)o->steps;
	start = steps_per_epoch ? warmup_steps(w, &c) : epochs ? w->epochs : (double)w->steps;
	if (end > start)
		return 0;
	return ERR(E_CONFIG, over, "'over' ends at %s %g, within the warm-up, which ends at %g: the "
	           "rate would fall to its end at once; give a longer 'over' or a shorter 'warmup'",
	           epochs && !steps_per_epoch ? "epoch" : "step", end, start);
}

int schedule_check(const struct variant_value *schedule)
{
	const struct warmup *w = &((const struct schedule *)schedule->data)->warmup;
	const struct step *s = schedule->data;
	const struct exponential *e = schedule->data;
	const struct multistep *m = schedule->data;
	const struct polynomial *p = schedule->data;
	const struct cosine *q = schedule->data;
	int rc = check_length("warmup", w->steps > 0, !isnan(w->epochs), false, &schedule->loc),
		own = 0;
	if (schedule->v->fields == step_fields)
		own = check_length("every", s->every.steps > 0, !isnan(s->every.epochs), true,
		                   &schedule->loc);
	else if (schedule->v->fields == exponential_fields)
		own = check_length("every", e->every.steps > 0, !isnan(e->every.epochs), true,
		                   &schedule->loc);
	else if (schedule->v->fields == polynomial_fields)
		own = check_length("over", p->over.steps > 0, !isnan(p->over.epochs), false,
		                   &schedule->loc);
	else if (schedule->v->fields == cosine_fields)
		own = check_length("over", q->over.steps > 0, !isnan(q->over.epochs), false,
		                   &schedule->loc);
	else if (schedule->v->fields == multistep_fields)
		own = check_milestones(m, &schedule->loc);
	return rc ? rc : own;
}
