/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From `train.target` and `metrics`. */
#include "train/target.h"

#include <math.h>

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

bool target_reached(const struct run_config *c, const struct evaluation *e)
{
	const struct target_section *t = &c->train.target;
	bool larger;
	if (!t->metric)
		return false;
	double v = evaluation_find(e, t->metric, &larger);
	return isnan(t->at_least) ? v <= t->at_most : v >= t->at_least;
}
