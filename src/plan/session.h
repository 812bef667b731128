/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything that one run consists of once it is planned: data, device, store, plans and the arena
 * they share. train/run/opening.h makes it; what decides and what describes reads it here. */
#ifndef DLX_PLAN_SESSION_H
#define DLX_PLAN_SESSION_H

#include "plan/plan.h"
#include "plan/sums/rank_grid.h"
#include "plan/sums/reduction.h"

struct equations;
struct program;
struct tile_plan;                                    /* plan/extent/tile_size.h */
struct proofs;                                       /* plan/time/proofs.h */

struct session {
	struct run_config *config;
	struct comm *comm;                               /* borrowed; NULL: one rank */
	int nranks;                                      /* of comm, or that are only planned for */
	struct device *dev;
	struct store *store;
	/* train_set may be a description without samples (train/diagnose/trained_on.h); validation_set
	 * NULL if none is configured. */
	struct dataset *train_set, *validation_set;
	bool set_borrowed;                               /* validation_set is the caller's */
	struct staging *stage;                           /* by which they are read; or NULL */
	struct loader *train, *validation;               /* train NULL where nothing is trained; both
	                                                  * without data */
	struct equations *equations;                     /* train/run/equations.h; NULL: data is trained
	                                                  * on */
	bool compares;                                   /* equations have known values to compare
	                                                  * with */
	struct plan_data data;
	struct ranks_plan ranks;                         /* what training plans are made for */
	struct linkmodel link;
	struct rank_grid grid;                           /* where these ranks are */
	const char *threads;                             /* that compute on each rank (ranks_threads);
	                                                  * set when training begins */
	const char *kernels;                             /* what training plans choose kernels by next
	                                                  * to the config (proofs_state); or NULL */
	struct reduction reduction;                      /* makes its all-reduces */
	struct further_reduction {
		struct reduction reduction;
		const struct buckets *given;                 /* of the objective's first plan */
	} *further;                                      /* those of objectives after the first; in
	                                                  * the config's arena */
	struct sync_reducer *sync;                       /* NULL: each rank normalises its own batch */
	struct program *program;                         /* plan/program.h; in the config's arena */
	int nprogram;
	/* Whole samples of further sizes in the validation set: those of each are batches of their own.
	 * The first size is that of `validation` and data.field. */
	struct session_size {
		struct loader *loader;
		struct plan_field field;
	} *size;                                         /* in the config's arena */
	int nsize;
	int only_size;                                   /* predictions: `validation` reads samples of
	                                                  * size only_size - 1 alone; 0: all */
	struct comm *sample;                             /* the ranks that have one sample together, a
	                                                  * team of comm whose nodes exchange messages;
	                                                  * NULL: each rank has its own */
	int ntrain_size;                                 /* further sizes of training samples, each
	                                                  * smaller than those before; the first is
	                                                  * that of data.input (loader_size) */
	struct wisdom *engines;                          /* for plan requests
	                                                  * (train/run/engines.h); NULL: none */
	struct proofs *proofs;                           /* of kernels (time/proofs.h); NULL: none */
	struct tile_plan *tiles;                         /* predictions are made of these; NULL: of
	                                                  * whole samples */
	bool tiles_agree;                                /* predictions have the same
	                                                  * bits in tiles: no Winograd */
	const char *wisdom;                              /* of the options; NULL on
	                                                  * ranks that write no files */
	void *arena;
	size_t arena_bytes, bound_bytes;                 /* what the plans need; what the arena has */
	uint64_t arenas;                                 /* made so far */
	size_t table_bytes;                              /* of kernels, taken while planning */
	bool outside_known;
	int64_t outside;                                 /* bytes of a GPU that were not this run's when
	                                                  * all of it was bound (account.h) */
	bool deferred[PLAN_MODES];                       /* train/run/deferred_plans.h: agreed upon */
	unsigned need;                                   /* as opened */
	const char *dump;
	bool dump_dot;
};

#define SESSION_MOST_SIZES 32     /* further ones, of a set's samples */

enum session_need {
	SESSION_TRAIN = 1,         /* training plans and loader */
	SESSION_EVALUATE = 2,      /* evaluation plans and loader, if the config has validation data */
	SESSION_PREDICT = 4,       /* prediction plans over the validation loader, or for weights alone
	                            * with SESSION_NO_DATA */
	SESSION_RUN = 8,           /* memory bound, ready to run; without it only planned */
	SESSION_DUMP = 16,         /* gradients and outputs of training plans
	                            * can be read after the step */
	SESSION_NO_DATA = 32,      /* plan from `model.input` where the training data is not there */
	SESSION_SYNTHETIC = 64,    /* the same, and do not look for data at all */
	SESSION_SWEEP = 128        /* what the training plan's memory could come to */
};

/* What s asks of a plan of the first objective for a batch of this many samples; callers change it
 * for other plans, and for those that are only tried. It borrows from s. */
struct plan_request session_request(const struct session *s, enum plan_mode mode, int64_t batch);
/* What an objective's gradients are summed by. */
struct reduction *session_reduction(struct session *s, int objective);
/* Seconds that this rank has waited for sums of steps so far, of all objectives. */
double session_waited(const struct session *s);
/* What training plans for samples of size k (loader_size) are made of. */
struct plan_data session_train_data(const struct session *s, int k);
/* How many classes, or channels of the target, the network has by the config and the data, where
 * samples have targets of this shape; 0: neither says. */
int64_t session_classes(const struct session *s, const struct shape *target);
/* Of the training set; 0: there is none. */
uint64_t session_data_fingerprint(const struct session *s);
/* What the training set is like; where it is not known, the other one. */
const struct dataset_info *session_data(const struct session *s);

#endif
