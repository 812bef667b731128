/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/run/pace.h"

#include <math.h>

#define FIRST 60.0
#define FIRST_SHARE 0.05
#define NEWEST 0.25                    /* the share of the newest save in the means */
#define NEWS 1.25

void pace_begin(struct pace *p, double failures)
{
	*p = (struct pace){ .failures = failures };
	p->interval = fmin(FIRST, FIRST_SHARE * failures);
}

static void add(double *mean, double value)
{
	*mean = *mean == 0 ? value : *mean + NEWEST * (value - *mean);
}

void pace_add(struct pace *p, double stall, double durable, int threads)
{
	if (p->failures == 0)
		return;
	add(&p->cost, stall + (threads > 0 ? durable / threads : 0));
	add(&p->durable, durable);
	p->interval = fmax(sqrt(2 * p->cost * p->failures), p->durable);
}

bool pace_news(struct pace *p)
{
	const double ratio = p->reported > 0 ? p->interval / p->reported : INFINITY;
	if (p->failures == 0 || p->cost == 0 || (ratio < NEWS && ratio > 1 / NEWS))
		return false;
	p->reported = p->interval;
	return true;
}
