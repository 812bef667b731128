/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers are stored as texts from which they can be restored exactly. */
#include "train/run/validations.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "optim/optim.h"
#include "train/run/target.h"

#define BEST "best"
#define METRIC "watched"
#define PATIENCE "patience"
#define PLATEAU "plateau"

void validations_begin(struct validations *w)
{
	*w = (struct validations){ .best = NAN, .best_step = -1, .due_best = NAN,
		.step = -1, .plateau.best = NAN };
}

static bool better(double metric, double than)
{
	return isnan(than) ? !isnan(metric) : metric > than;
}

bool validations_add(struct validations *w, const struct run_config *c, int64_t step,
                     double metric, bool due, bool *reduced)
{
	bool is = better(metric, w->best);
	w->step = step;
	if (is) {
		w->best = metric;
		w->best_step = step;
	}
	*reduced = false;
	if (!due)
		return is;
	w->stale = better(metric, w->due_best) ? 0 : w->stale + 1;
	if (w->stale == 0)
		w->due_best = metric;
	*reduced = schedule_validated(&c->schedule, &w->plateau, metric);
	return is;
}

bool validations_exhausted(const struct validations *w, const struct run_config *c)
{
	return c->train.patience > 0 && w->stale >= c->train.patience;
}

double validations_best(const struct validations *w, const struct run_config *c)
{
	return metric_rises(target_metric(c)) ? w->best : -w->best;
}

/* --- in a checkpoint --- */

void validations_write(const struct validations *w, const struct run_config *c, struct arena *a,
                       struct ckpt_scalar *out)
{
	const struct plateau *p = &w->plateau;
	out[0] = (struct ckpt_scalar){ BEST, arena_printf(a, "%a", w->best) };
	out[1] = (struct ckpt_scalar){ METRIC, target_metric(c) };
	out[2] = (struct ckpt_scalar){ PATIENCE, arena_printf(a, "%" PRId64 " %a %" PRId64 " %" PRId64,
	                                                      w->best_step, w->due_best, w->stale,
	                                                      w->step) };
	out[3] = (struct ckpt_scalar){ PLATEAU, arena_printf(a, "%a %" PRId64 " %" PRId64 " %" PRId64,
	                                                     p->best, p->stale, p->cooldown,
	                                                     p->reductions) };
}

static int bad(const struct ckpt_version *v, const char *name)
{
	return ERR(E_DATA, NULL, "checkpoint '%s': bad '%s'", ckpt_version_id(v), name);
}

int validations_read(struct validations *w, const struct run_config *c,
                     const struct ckpt_version *v)
{
	const char *best = ckpt_version_scalar(v, BEST), *metric = ckpt_version_scalar(v, METRIC);
	const char *patience = ckpt_version_scalar(v, PATIENCE);
	const char *plateau = ckpt_version_scalar(v, PLATEAU);
	struct plateau *p = &w->plateau;
	validations_begin(w);
	if (!best)
		return ERR(E_DATA, NULL, "checkpoint '%s' has no '" BEST "'", ckpt_version_id(v));
	if (!metric)
		metric = ckpt_version_state(v)->metric_name;
	if (sscanf(best, "%la", &w->best) != 1)
		return bad(v, BEST);
	/* earlier ones have no step */
	if (patience && (sscanf(patience, "%" SCNd64 " %la %" SCNd64 " %" SCNd64, &w->best_step,
	                        &w->due_best, &w->stale, &w->step) < 3 || w->stale < 0))
		return bad(v, PATIENCE);
	if (plateau && (sscanf(plateau, "%la %" SCNd64 " %" SCNd64 " %" SCNd64, &p->best, &p->stale,
	                       &p->cooldown, &p->reductions) != 4 ||
	                p->stale < 0 || p->cooldown < 0 || p->reductions < 0))
		return bad(v, PLATEAU);
	if (!metric || strcmp(metric, target_metric(c)) == 0)
		return 0;
	note("'%s' decides what is best from now on, no longer '%s': the best so far is forgotten",
	     target_metric(c), metric);
	const int64_t reductions = p->reductions;
	validations_begin(w);
	p->reductions = reductions;
	return 0;
}
