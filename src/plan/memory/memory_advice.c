/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A remedy is tried by planning the whole run, without measuring engines, with a changed copy of
 * the config; evaluations are included, since whole samples may need more memory than a step. A
 * smaller batch keeps the number of samples in a step by more micro-batches, so it must be a
 * divisor of that number. */
#include "plan/memory/memory_advice.h"

#include <math.h>

#include "base/err.h"
#include "plan/extent/whole.h"
#include "plan/memory/plan_memory.h"
#include "plan/sums/reduction.h"
#include "plan/memory/run_need.h"

#define TRIES 4                   /* batches planned */
#define MIB ((double)(1 << 20))

/* The unit of all sizes of one refusal. */
struct unit {
	const char *name;
	double bytes;
};

static struct unit unit_for(double bytes)
{
	return bytes < 10 * MIB ? (struct unit){ "KiB", 1024 } : (struct unit){ "MiB", MIB };
}

/* --- the table --- */

/* A run that is refused because it needs more memory than there is. */
struct refusal {
	const struct session *s;
	const struct plan *p;
	const struct memory_budget *r;
	const struct memory_need *need;
	struct unit unit;
};

static double in_units(const struct refusal *f, int64_t bytes)
{
	return (double)bytes / f->unit.bytes;
}

static void row(const struct refusal *f, const char *what, int64_t bytes)
{
	if (bytes > 0)
		err_context(E_TOO_LARGE, "%-34s %10.0f %s", what, in_units(f, bytes), f->unit.name);
}

static void table(const struct refusal *f)
{
	struct plan_memory m;
	plan_memory(f->p, &m);
	int64_t steps = m.parameters + m.optimizer + m.inputs;
	int64_t sums = reduction_bytes(&f->s->reduction, f->p);
	row(f, "parameters", m.parameters);
	row(f, "optimizer and running statistics", m.optimizer);
	row(f, "inputs", m.inputs);
	row(f, "activations", m.activations);
	row(f, "gradients", m.gradients);
	row(f, "workspace", m.workspace);
	row(f, "all-reduces", sums);
	row(f, "inputs of other plans", f->need->fixed - steps - sums);
	if (f->r->total == 0)
		return;
	row(f, "left to the GPU's libraries", f->r->reserve);
	row(f, "the GPU, whole", f->r->total);
}

/* --- advice --- */

/* Of a run, all together. */
static double total(const struct refusal *f, const struct run_need *n)
{
	return in_units(f, n->fixed + n->arena);
}

static bool fits(const struct refusal *f, const struct run_need *n)
{
	return n->fixed <= f->r->all && n->arena <= f->r->all - n->fixed;
}

/* Plans the whole run with a config that differs; false if that cannot be. */
static bool try_run(const struct session *s, const struct run_config *c, int64_t limit, bool least,
                    struct run_need *n)
{
	int mark = err_count();
	bool made = run_need(s, c, limit, least, n) == 0;
	err_truncate(mark);
	return made;
}

/* The whole units of a number of bytes, as a config has it: down, or up. Below 100 MiB in KiB, or
 * too much would be lost by rounding. */
static int64_t print_size(char out[32], int64_t bytes, bool up)
{
	const bool small = (double)bytes < 100 * MIB;
	const int64_t unit = small ? 1024 : 1 << 20, n = (bytes + (up ? unit - 1 : 0)) / unit;
	snprintf(out, 32, "%lld%s", (long long)n, small ? "KiB" : "MiB");
	return n * unit;
}

/* The largest limit that a run which needs *n without one can go through with, found by planning
 * it; the text of what it is. */
static bool find_limit(const struct refusal *f, struct run_need *n, char text[32])
{
	int64_t limit = INT64_MAX;
	for (int i = 0; i < TRIES; i++) {
		const int64_t next = print_size(text, run_limit(n, f->r->all), false);
		if (next <= 0 || next >= limit ||
		    !try_run(f->s, f->s->config, limit = next, false, n))
			return false;
		if (fits(f, n))
			return true;
	}
	return false;
}

/* Whether evaluations of whole samples need more than anything else does at its least. */
static bool evaluation_is_most(const struct session *s, const struct run_need *n)
{
	int64_t evaluation = 0, other = 0;
	for (int i = 0; i < n->n; i++) {
		int64_t *most = n->plan[i].mode == PLAN_EVALUATE ? &evaluation : &other;
		if (n->plan[i].least > *most)
			*most = n->plan[i].least;
	}
	return (whole_differs(s) || s->nsize) && evaluation > other;
}

static void offer_limit(const struct refusal *f)
{
	struct run_need n;
	char limit[32];
	if (!try_run(f->s, f->s->config, RUN_NO_LIMIT, true, &n))
		return;
	const int64_t least = n.fixed + n.least;
	if (least <= f->r->all && find_limit(f, &n, limit))
		err_context(E_TOO_LARGE, "- 'train.memory: {limit: %s}' fits: activations are computed "
		            "again, for %.0f %% more arithmetic", limit, n.again);
	else if (least > f->r->all && n.least < n.arena)
		err_context(E_TOO_LARGE,
		            "- computing activations again, by 'train.memory.limit', helps down to %.0f %s",
		            ceil(in_units(f, least)), f->unit.name);
	if (evaluation_is_most(f->s, &n))
		err_context(E_TOO_LARGE, "- validation sees whole samples and needs most of that; "
		            "'- crop: {size: ..., validation: centre}' validates on windows");
}

/* The largest divisor of a step's samples that is no more
 * than `most` and less than `below`; 0: there is none. */
static int64_t divisor(int64_t samples, int64_t most, int64_t below)
{
	int64_t best = 0;
	for (int64_t d = 1; d < below && d <= most; d++)
		if (samples % d == 0)
			best = d;
	return best;
}

/* now: what the run needs as it is. The smallest batch is tried last. */
static void offer_batch(const struct refusal *f, const struct run_need *now)
{
	const struct train_section *t = &f->s->config->train;
	const int64_t samples = t->batch_size * t->accumulate;
	double room = (double)(f->r->all - now->fixed),
	       each = (double)now->arena / (double)t->batch_size;
	int64_t most = room > each ? (int64_t)(room / each) : 1, batch = t->batch_size;
	for (int i = 1; i <= TRIES && (batch = divisor(samples, i < TRIES ? most : 1, batch)) > 0;
	     i++) {
		struct run_config c = *f->s->config;
		struct run_need n;
		c.train.batch_size = batch;
		c.train.accumulate = samples / batch;
		if (!try_run(f->s, &c, c.train.memory.limit, false, &n) || !fits(f, &n))
			continue;
		err_context(E_TOO_LARGE, "- 'train.batch_size: %lld' with 'train.accumulate: %lld' fits, "
		            "for a step of as many samples: %.0f %s", (long long)batch,
		            (long long)c.train.accumulate, total(f, &n), f->unit.name);
		return;
	}
	err_context(E_TOO_LARGE, "- no smaller 'train.batch_size' fits; make the samples smaller");
}

/* Samples of several ranks may be cut (plan/spatial/spatial_auto.h). */
static void offer_cut(const struct refusal *f)
{
	const struct session *s = f->s;
	if (s->parts == 1 && !s->cut_why && !s->config->physics && s->data.input.nd > 1)
		err_context(E_TOO_LARGE, "- 'parallel.spatial: auto' divides each sample among ranks; "
		            "'--plan --ranks=N' says into what");
}

static void offer_bf16(const struct refusal *f)
{
	const struct device *d = f->s->dev;
	struct run_config c = *f->s->config;
	struct run_need n;
	int mark = err_count();
	if (config_compute(&c) != DTYPE_F32 || d->backend == BACKEND_REFERENCE)
		return;
	c.precision.compute = config_compute_index(DTYPE_BF16);
	const struct plan_env env = plan_env_of(&c, NULL);
	bool made = plan_env_check(&env, d, false) == 0 &&
	            try_run(f->s, &c, c.train.memory.limit, false, &n);
	err_truncate(mark);
	if (made)
		err_context(E_TOO_LARGE, "- 'precision.compute: bf16' needs %.0f %s, which %s",
		            total(f, &n), f->unit.name, fits(f, &n) ? "fits" : "is still too much");
}

int memory_advice_refuse(const struct session *s, const struct plan *p,
                         const struct memory_budget *r, const struct memory_need *need)
{
	static const char *const what[] = { [PLAN_TRAIN] = "a step", [PLAN_EVALUATE] = "an evaluation",
		[PLAN_PREDICT] = "a prediction" };
	const int64_t all = need->fixed + need->arena;
	const struct refusal f = { s, p, r, need, unit_for((double)all) };
	int rc = ERR(E_TOO_LARGE, config_place(s->config, "train", "batch_size"),
	             "%s of %lld samples needs %.0f %s, but the %s offers %.0f %s",
	             what[p->mode], (long long)p->batch, in_units(&f, all), f.unit.name, r->by,
	             in_units(&f, r->have), f.unit.name);
	struct run_need now;
	table(&f);
	offer_limit(&f);
	if (!try_run(s, s->config, s->config->train.memory.limit, false, &now))
		now = (struct run_need){ .fixed = need->fixed, .arena = need->arena };
	if (!s->config->micros.all)      /* whose micro-batches are what the bits depend on */
		offer_batch(&f, &now);
	offer_cut(&f);
	offer_bf16(&f);
	return err_context(rc, "- it fits where there are %.0f %s",
	                   ceil(in_units(&f, now.fixed + now.arena + r->reserve)), f.unit.name);
}

int memory_advice_limit(const struct session *s, int rc)
{
	struct run_need n;
	char limit[32];
	if (s->config->train.memory.limit == INT64_MIN ||
	    !try_run(s, s->config, RUN_NO_LIMIT, true, &n))
		return rc;
	const int64_t least = run_least_limit(&n);
	if (least <= s->config->train.memory.limit)
		return rc;
	print_size(limit, least, true);
	return err_context(rc, "- 'train.memory: {limit: %s}' is the least that all plans of this run "
	                   "can do with", limit);
}
