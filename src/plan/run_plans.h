/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which plans a run consists of, in the order in which they are made. */
#ifndef DLX_PLAN_RUN_PLANS_H
#define DLX_PLAN_RUN_PLANS_H

#include "plan/session.h"

/* Plans of one mode, for samples of one size: of a full batch and of a short last one. */
struct run_set {
	enum plan_mode mode;
	int size;                        /* 0: the first; k: train_size[k - 1] or size[k - 1] */
	bool single;                     /* of one sample, whatever the batch size */
	const struct loader *loader;     /* whose batches; NULL: full ones */
	struct plan_data data;
};
#define RUN_MOST_SETS (3 + 2 * SESSION_MOST_SIZES)

/* An export needs the store's entries, and runs nothing. */
bool run_is_export(const struct session *s);
/* Set i of what s was opened for; false: there are no more. */
bool run_set(const struct session *s, int i, struct run_set *out);
/* The samples of the set's plans with s's config or one that differs in its batch: batch[1] is 0
 * where there is no second plan. Returns whether the data fills a full batch. */
bool run_batches(const struct session *s, const struct run_config *c, const struct run_set *set,
                 int64_t batch[2]);

/* The plans of the set that are made so far: batch[0]'s and batch[1]'s, or NULL. */
struct plan *const *run_set_plans(const struct session *s, const struct run_set *set);

#endif
