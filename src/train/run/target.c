/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From `train.target` and `metrics`. */
#include "train/run/target.h"

#include <math.h>
#include <string.h>

const char *target_metric(const struct run_config *c)
{
	if (c->checkpoint.metric)
		return c->checkpoint.metric;
	if (c->train.target.metric)
		return c->train.target.metric;
	for (int i = 0; i < c->metrics.n; i++)
		if (metric_is_number(c->metrics.v[i]))
			return c->metrics.v[i];
	return "loss";
}

static bool reached(const struct target_section *t, double v)
{
	return isnan(t->at_least) ? v <= t->at_most : v >= t->at_least;
}

bool target_reached(const struct run_config *c, const struct evaluation *e)
{
	const struct target_section *t = &c->train.target;
	bool larger;
	return t->metric && reached(t, evaluation_find(e, t->metric, &larger));
}

bool target_reached_in(const struct run_config *c, const struct ckpt_version *v)
{
	const struct target_section *t = &c->train.target;
	const struct ckpt_state *s = ckpt_version_state(v);
	for (int i = 0; t->metric && i < s->nmetrics; i++)
		if (strcmp(s->metrics[i].name, t->metric) == 0)
			return reached(t, s->metrics[i].value);
	return false;
}
