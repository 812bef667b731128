/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loaders are opened for the cut of samples, if that is to be chosen, and then for the run. */
#include "train/run/open_loaders.h"

#include "base/err.h"
#include "base/log.h"
#include "optim/schedule.h"
#include "plan/spatial/spatial.h"
#include "plan/spatial/spatial_auto.h"
#include "train/run/equations.h"
#include "train/run/open_data.h"
#include "train/run/ranks.h"

/* Sizes of which there are fewer samples than a batch has. */
static void warn_few(const struct session *s, int64_t batch)
{
	int few = 0;
	for (int k = 0; k <= s->ntrain_size && s->ntrain_size; k++)
		few += loader_size(s->train, k).samples < batch;
	if (few)
		warn("of %d of the %d sizes of training samples there are fewer than a batch of %lld: "
		     "%s; '- crop: {size: ...}' takes windows of one size", few, 1 + s->ntrain_size,
		     (long long)batch, s->config->data.keep_short_batch ? "their batches are short"
		                                                        : "they are not trained on");
}

static int check_samples(const struct session *s)
{
	const struct run_config *c = s->config;
	const struct data_config *d = &c->data;
	int64_t n = s->train ? loader_samples(s->train) : INT64_MAX,
	        batch = config_rank_batch(s->config) * s->nteams;
	if (n == 0 || (!d->keep_short_batch && n < batch))
		return ERR(E_CONFIG, &d->train.loc[0],
		           "%lld training samples are less than one batch of %lld", (long long)n,
		           (long long)batch);
	if (s->train && s->need & SESSION_TRAIN)
		TRY(schedule_check_over(&c->schedule, loader_steps(s->train),
		                        config_place(c, "schedule", "over")));
	if (n < batch && s->need & SESSION_TRAIN && comm_first(s->comm))
		warn("a batch of %lld samples is more than the %lld that an epoch of training has: each "
		     "step has %lld; 'data.keep_short_batch: false' refuses that", (long long)batch,
		     (long long)n, (long long)n);
	else if (s->need & SESSION_TRAIN && comm_first(s->comm))
		warn_few(s, batch);
	return 0;
}

int session_open_loaders(struct session *s, const struct session_options *o)
{
	if (s->config->physics)
		return equations_begin(s);
	if (s->config->data.statistics == STATISTICS_DATA)
		note("'data.statistics' is data: the transforms use each set's own statistics, not the "
		     "training set's");
	TRY(session_describe_data(s, o));
	return check_samples(s);
}

void session_close_loaders(struct session *s)
{
	loader_free(s->train);
	loader_free(s->validation);
	for (int i = 0; i < s->nsize; i++)
		loader_free(s->size[i].loader);
	s->train = s->validation = NULL;
	s->nsize = s->ntrain_size = 0;
}

/* The cut depends on the shapes of samples, which loaders know, and the loaders' shares of a batch
 * on the cut: they are opened with batches of one sample to choose it, and again later. */
int session_settle_cut(struct session *s, const struct session_options *o)
{
	const struct plan_data before = s->data;
	const int64_t batch = s->config->train.batch_size;
	struct cut_grid grid;
	if (!spatial_is_auto(s->config->parallel.spatial))
		return 0;
	s->config->train.batch_size = 1;
	TRY(ranks_agree(s->comm, session_describe_data(s, o), "looking at the data"));
	s->config->train.batch_size = batch;
	s->cut_why = spatial_choose(s, &grid);
	session_close_loaders(s);
	s->data = before;
	s->tiles = NULL;
	spatial_set_cut(s, &grid);
	return ranks_agree(s->comm, config_share_batch(s->config, s->nteams), "sharing the batch");
}
