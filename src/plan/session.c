/* SPDX-License-Identifier: BSD-3-Clause
 *
 * This file makes the request that every plan of a run, kept or only tried, begins with. */
#include "plan/session.h"

struct plan_request session_request(const struct session *s, enum plan_mode mode, int64_t batch)
{
	return (struct plan_request){ .config = s->config, .dev = s->dev, .wisdom = s->engines,
		.store = s->store,
		.data = &s->data, .mode = mode, .batch = batch, .limit = s->config->train.memory.limit,
		.ranks = s->ranks };
}

const struct dataset_info *session_data(const struct session *s)
{
	return dataset_info(s->train_set ? s->train_set : s->validation_set);
}
