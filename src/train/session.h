/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything one run needs, opened in one place: data, device, store, plans and the arena they share. What is opened
 * depends on what is to be done: "--check" and "--plan" need no data beyond its header. */
#ifndef DLX_TRAIN_SESSION_H
#define DLX_TRAIN_SESSION_H

#include "train/rank_grid.h"
#include "train/plan.h"

struct session {
	struct run_config *config;
	struct comm *comm;                               /* borrowed; NULL: alone */
	struct device *dev;
	struct store *store;
	struct dataset *train_set, *validation_set;      /* validation_set NULL if none is configured */
	struct loader *train, *validation;               /* both NULL without data */
	struct plan_data data;
	struct ranks_plan ranks;                         /* what training plans are made for */
	struct linkmodel link;
	struct rank_grid grid;                                /* where these ranks stand */
	const char *threads;                             /* that compute on each rank (ranks_threads); set when training begins */
	struct statistics *statistics;                   /* NULL: batch normalisation is of each rank */
	/* Plans by batch size: the full one, or the short one of a set smaller than that; then that
	 * of a short last batch (NULL if there is none, or this rank's share of it is a full
	 * one). */
	struct plan *train_plan[2], *evaluate_plan[2], *predict_plan[2];
	const char *wisdom;                              /* of the options; NULL on ranks that write no files */
	void *arena;
	size_t arena_bytes, bound_bytes;                 /* what the plans need; what the arena has */
	uint64_t arenas;                                 /* made so far */
	size_t table_bytes;                              /* of kernels, taken while planning */
	bool late_evaluation, late_short_batch;          /* train/late.h: agreed upon */
	unsigned need;                                   /* as opened */
	const char *dump;
	bool dump_dot;
};

enum session_need {
	SESSION_TRAIN = 1,         /* training plans and loader */
	SESSION_EVALUATE = 2,      /* evaluation plans and loader, if the config has validation data */
	SESSION_PREDICT = 4,       /* prediction plans over the validation loader */
	SESSION_DUMP = 16,         /* gradients and outputs of training plans can be read after the step */
	SESSION_NO_DATA = 32,      /* plan from `model.input` where the training data is not there */
	SESSION_SYNTHETIC = 64,    /* the same, and do not look for data at all */
	SESSION_SURVEY = 128,      /* what the training plan's memory could come to */
	SESSION_RUN = 8            /* memory bound, ready to run; without it only planned */
};

struct session_options {
	struct comm *comm;         /* the ranks of the run; NULL: alone */
	unsigned need;
	const char *device;        /* overrides the config's, or NULL */
	const char *gpu;           /* with nothing to run: plan for this GPU, which need not be there; or NULL */
	const char *data;          /* a record file to take in place of data.validation, or NULL */
	const char *dump;
	bool dump_dot;
	const char *wisdom;        /* a file of engines, or NULL; stays until session_close */
	int ranks, hosts;          /* to plan for, hosts 0: eight ranks on each; those that are there count instead */
};

/* Takes config (freed by session_close). Collective; fails on all ranks if it does on one, and they
 * mean to run the same when it has not. */
int session_open(struct session **out, struct run_config *config, const struct session_options *o);
void session_close(struct session *s);               /* NULL is fine */

/* What session_open is made of, for train/late.h. A plan for a batch of `batch` samples; the plans
 * for the batches of a loader (NULL: for full ones), of which only one where nothing is run; memory
 * for all plans there are, which are bound to it. */
int session_plan_batch(struct session *s, struct plan **out, enum plan_mode mode, int64_t batch);
int session_plan_set(struct session *s, struct plan *plans[2], enum plan_mode mode, const struct loader *l);
int session_bind(struct session *s);

/* The plan of plans[2] for a batch of n samples. */
struct plan *session_plan(struct plan *const plans[2], int64_t n);
/* Whether the device may have a step to go on with while the host takes note of the one before. */
bool session_beside(const struct session *s);

#endif
