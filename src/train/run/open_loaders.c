/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sets are opened by the heads of their files, which with data.stage rank 0 reads for all ranks.
 * Loaders are opened for the cut of samples, if that is to be chosen, and then for the run. */
#include "train/run/open_loaders.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "comm/comm.h"
#include "data/record_heads.h"
#include "data/staging.h"
#include "optim/schedule.h"
#include "plan/spatial/spatial.h"
#include "plan/spatial/spatial_auto.h"
#include "train/predict/predict_input.h"
#include "train/run/equations.h"
#include "train/run/open_data.h"
#include "train/run/ranks.h"

/* --- sets and their copies --- */

/* Whether s trains on sets that must be staged. */
static bool stages(const struct session *s, const struct session_options *o)
{
	const unsigned run = SESSION_TRAIN | SESSION_RUN, not = SESSION_DUMP | SESSION_SYNTHETIC;
	return staging_wanted(&s->config->data.stage) && (o->need & (run | not)) == run;
}

int session_open_stage(struct session *s, const struct session_options *o)
{
	const struct staging_config *config = &s->config->data.stage;
	struct dataset *set[] = { s->train_set, s->validation_set };
	int rc;
	if (!stages(s, o) || !s->train_set)
		return 0;
	s->stage_borrowed = o->stage != NULL;
	if (!s->stage_borrowed) {
		rc = staging_open(&s->stage, s->comm, config, set, 2);
		return rc < 0 ? err_locate(rc, config_place(s->config, "data", "stage")) : 0;
	}
	s->stage = o->stage;
	s->stage_before = staging_counts(s->stage);
	staging_lend(s->stage, set, 2);
	return 0;
}

typedef int open_set(struct session *s, const struct session_options *o);

/* Opens sets by the heads of files that are kept, and notes the heads of all. */
static int open_first(struct session *s, const struct session_options *o, struct buf *heads,
                      open_set *open)
{
	int rc;
	staging_keep_heads(&s->config->data.stage, s->comm, true);
	record_heads_note(comm_many(s->comm) ? heads : NULL);
	rc = open(s, o);
	record_heads_note(NULL);
	staging_keep_heads(&s->config->data.stage, s->comm, false);
	return rc;
}

/* Opens sets. With data.stage rank 0 reads the heads of their files for all ranks, which open them
 * by these. */
static int open_sets(struct session *s, const struct session_options *o, open_set *open)
{
	struct buf heads = BUF_INIT;
	uint64_t n;
	int rc = 0;
	if (!stages(s, o))
		return open(s, o);
	if (comm_first(s->comm))
		rc = open_first(s, o, &heads, open);
	if (!comm_many(s->comm))
		return rc;
	n = heads.len;
	comm_broadcast(s->comm, &n, sizeof n, 0, "the heads of record files");
	buf_reserve(&heads, n);
	comm_broadcast(s->comm, heads.data, n, 0, "the heads of record files");
	heads.data[heads.len = n] = '\0';
	record_heads_use(&heads);
	if (!comm_first(s->comm))
		rc = open(s, o);
	record_heads_use(NULL);
	buf_release(&heads);
	return rc;
}

/* Every phase ends in an agreement: a rank that continued
 * alone would wait for the others in vain. */
static int open_second_set(struct session *s, const struct session_options *o)
{
	if (o->data && o->records->n == 0 && !s->config->physics)
		TRY(predict_input(s, o->data, o->layout, o->quiet, o->records));
	return ranks_agree(s->comm, open_sets(s, o, session_open_data), "opening the data");
}

int session_open_sets(struct session *s, const struct session_options *o)
{
	TRY(ranks_agree(s->comm, open_sets(s, o, session_open_train_set), "opening the data"));
	return open_second_set(s, o);
}

/* --- loaders --- */

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
