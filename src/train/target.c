/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From `train.target` and `metrics`. */
#include "train/target.h"

#include <math.h>
#include <string.h>

const char *target_metric(const struct run_config *c)
{
	static const char *const preferred[] = { "mean_iou", "mean_iou_per_sample", "mean_dice",
		"mean_f1", "accuracy", "mae", "rmse", "mse", "r2" };
	if (c->checkpoint.metric)
		return c->checkpoint.metric;
	if (c->train.target.metric)
		return c->train.target.metric;
	for (size_t k = 0; k < sizeof preferred / sizeof *preferred; k++)
		for (int i = 0; i < c->metrics.n; i++)
			if (strcmp(c->metrics.v[i], preferred[k]) == 0)
				return preferred[k];
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
