/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A batch sent ahead is one that will be used: who is at the last batch of a run does not ask. */
#include "train/ahead.h"

#include "base/err.h"

int ahead_next(struct ahead *a, const struct batch **out)
{
	*out = a->batch;
	a->batch = NULL;
	return *out ? 0 : loader_next(a->loader, out);
}

int ahead_send(struct ahead *a, struct session *s)
{
	if (!s->dev->driver)
		return 0;
	TRY(loader_next(a->loader, &a->batch));
	return plan_feed_ahead(session_plan(s->train_plan, a->batch->n), a->batch);
}
