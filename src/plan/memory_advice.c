/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Remedies that change the batch or the type are tried by planning with a changed copy of the
 * config, without measuring engines. A smaller batch keeps the step's samples by more
 * micro-batches, so it is one of their divisors. */
#include "plan/memory_advice.h"

#include <math.h>

#include "base/err.h"
#include "graph/cost.h"
#include "plan/plan_memory.h"
#include "plan/reduction.h"

#define TRIES 4                   /* batches planned */
#define MIB ((double)(1 << 20))

/* What all sizes of one refusal are told in. */
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

static bool fits(const struct refusal *f, const struct memory_need *need)
{
	return need->fixed <= f->r->have && need->arena <= f->r->have - need->fixed;
}

/* Plans a config that differs; false if that cannot be. */
static bool try_config(const struct refusal *f, const struct run_config *c,
                       struct memory_need *need)
{
	const struct session *s = f->s;
	struct plan_request r = session_request(s, f->p->mode, c->train.batch_size);
	struct plan *p;
	r.config = c;
	r.wisdom = NULL;
	int mark = err_count();
	bool made = plan_new(&p, &r) == 0;
	err_truncate(mark);
	if (!made)
		return false;
	*need = memory_need(s, p);
	plan_free(p);
	return true;
}

/* Below 100 MiB in KiB, or too much would be lost by rounding. */
static void print_size(char out[32], double bytes)
{
	bool small = bytes < 100 * MIB;
	snprintf(out, 32, "%.0f%s", floor(small ? bytes / 1024 : bytes / MIB), small ? "KiB" : "MiB");
}

static void offer_limit(const struct refusal *f)
{
	struct recompute_choice c;
	char limit[32];
	const struct plan *p = f->p;
	if (p->mode != PLAN_TRAIN || f->r->have <= f->need->fixed)
		return;
	int64_t arena = f->r->have - f->need->fixed;
	memory_least(p->exec, p->g, arena, &c);
	if (!c.fits) {
		err_context(E_TOO_LARGE,
		            "- computing activations again, by 'train.memory.limit', helps down to %.0f %s",
		            in_units(f, f->need->fixed + c.bytes), f->unit.name);
		return;
	}
	print_size(limit, (double)(p->memory.fixed + arena));
	err_context(E_TOO_LARGE, "- 'train.memory: {limit: %s}' fits: activations are computed again, "
	            "for %.0f %% more arithmetic", limit,
	            cost_percent(c.cost.flops, graph_cost(p->g, EXEC_MICRO | EXEC_UPDATE).flops));
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

static void offer_batch(const struct refusal *f)
{
	const struct train_section *t = &f->s->config->train;
	const int64_t samples = t->batch_size * t->accumulate;
	double room = (double)(f->r->have - f->need->fixed),
	       each = (double)f->need->arena / (double)f->p->batch;
	int64_t most = room > each ? (int64_t)(room / each) : 1, batch = f->p->batch;
	for (int i = 0; i < TRIES && (batch = divisor(samples, most, batch)) > 0; i++) {
		struct run_config c = *f->s->config;
		struct memory_need n;
		c.train.batch_size = batch;
		c.train.accumulate = samples / batch;
		if (!try_config(f, &c, &n) || !fits(f, &n))
			continue;
		err_context(E_TOO_LARGE, "- 'train.batch_size: %lld' with 'train.accumulate: %lld' fits, "
		            "for a step of as many samples: %.0f %s", (long long)batch,
		            (long long)c.train.accumulate, in_units(f, n.fixed + n.arena), f->unit.name);
		return;
	}
	err_context(E_TOO_LARGE, "- no smaller 'train.batch_size' fits; make the samples smaller");
}

static void offer_bf16(const struct refusal *f)
{
	const struct device *d = f->s->dev;
	struct run_config c = *f->s->config;
	struct memory_need n;
	int mark = err_count();
	if (config_compute(&c) != DTYPE_F32 || d->backend == BACKEND_REFERENCE)
		return;
	c.precision.compute = config_compute_index(DTYPE_BF16);
	const struct plan_env env = plan_env_of(&c, NULL);
	bool made = plan_env_check(&env, d, false) == 0 && try_config(f, &c, &n);
	err_truncate(mark);
	if (made)
		err_context(E_TOO_LARGE, "- 'precision.compute: bf16' needs %.0f %s, which %s",
		            in_units(f, n.fixed + n.arena), f->unit.name,
		            fits(f, &n) ? "fits" : "is still too much");
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
	table(&f);
	offer_limit(&f);
	if (!s->config->micros.all)      /* whose micro-batches are what the bits depend on */
		offer_batch(&f);
	offer_bf16(&f);
	return err_context(rc, "- it fits where there are %.0f %s",
	                   ceil(in_units(&f, all + r->reserve)), f.unit.name);
}
