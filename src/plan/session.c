/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Makes the request from which every plan of a run, used or only tried, is made. */
#include "plan/session.h"

#include "model/model.h"

struct plan_request session_request(const struct session *s, enum plan_mode mode, int64_t batch)
{
	return (struct plan_request){ .config = s->config, .dev = s->dev, .wisdom = s->engines,
		.store = s->store, .objective = s->config->objectives.v, .data = &s->data, .mode = mode,
		.batch = batch,
		.limit = s->config->train.memory.limit, .ranks = s->ranks, .cut = s->cut };
}

struct reduction *session_reduction(struct session *s, int objective)
{
	return objective ? &s->further[objective - 1].reduction : &s->reduction;
}

double session_waited(const struct session *s)
{
	double sum = reduction_waited(&s->reduction);
	for (int k = 1; k < s->config->objectives.n; k++)
		sum += reduction_waited(&s->further[k - 1].reduction);
	return sum;
}

struct plan_data session_train_data(const struct session *s, int k)
{
	struct plan_data d = s->data;
	if (s->ntrain_size == 0)
		return d;
	const struct loader_size size = loader_size(s->train, k);
	d.input = *size.input;
	d.target = *size.target;
	d.rest[PLAN_TRAIN] = size.rest;
	d.further = k > 0;
	return d;
}

int64_t session_classes(const struct session *s, const struct shape *target)
{
	const struct model_common *m = s->config->model.data;
	if (m->classes)
		return m->classes;
	if (loss_wants_labels(&s->config->loss))
		return session_data(s)->nclasses;
	return target->nd ? target->d[0] : 1;
}

uint64_t session_data_fingerprint(const struct session *s)
{
	return s->train_set ? dataset_fingerprint(s->train_set) : 0;
}

const struct dataset_info *session_data(const struct session *s)
{
	return dataset_info(s->train_set ? s->train_set : s->validation_set);
}
