/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The session: all parts of one planned run, that is data, device, store, plans and the arena that
 * these share. train/run/opening.h creates it. */
#ifndef DLX_PLAN_SESSION_H
#define DLX_PLAN_SESSION_H

#include "plan/plan.h"
#include "plan/sums/rank_grid.h"
#include "plan/sums/reduction.h"

struct cluster;
struct equations;
struct op_times;
struct program;
struct tile_plan;                                    /* plan/extent/tile_size.h */
struct proofs;                                       /* plan/time/proofs.h */

struct session {
	struct run_config *config;
	struct comm *comm;                               /* borrowed; NULL: one rank */
	int nranks;                                      /* number of ranks in comm, or for which a plan
	                                                  * is made without running it */
	int parts, nteams, team;                         /* parallel.spatial: ranks that share each
	                                                  * sample, 1 without; teams of such ranks, each
	                                                  * with samples of its own; this rank's team */
	struct plan_cut cut;                             /* the subdomain of this rank */
	const char *cut_why;                             /* reason for that cut, as text for people;
	                                                  * NULL: the config gives it */
	struct device *dev;
	struct store *store;
	/* train_set may be a description without samples (train/diagnose/trained_on.h); validation_set
	 * NULL if none is configured. */
	struct dataset *train_set, *validation_set;
	bool set_borrowed;                               /* validation_set is the caller's */
	struct staging *stage;                           /* staging of the sets' files on local disks;
	                                                  * or NULL */
	bool stage_borrowed;                             /* stage is the caller's, and several sessions
	                                                  * use it */
	struct staging_counts stage_before;              /* its counts when the session was opened */
	int host_ranks;                                  /* ranks of this host that divide its memory
	                                                  * and processors, also those of other runs of
	                                                  * the job; 0: this run's alone */
	struct loader *train, *validation;               /* train NULL where nothing is trained; both
	                                                  * without data */
	struct equations *equations;                     /* train/run/equations.h; NULL: data is trained
	                                                  * on */
	bool compares;                                   /* validation compares the networks of
	                                                  * equations with known values */
	struct plan_data data;
	struct ranks_plan ranks;                         /* the ranks for which training plans are
	                                                  * made */
	struct linkmodel link;
	struct rank_grid grid;                           /* the hosts of these ranks */
	const struct cluster *cluster;                   /* plan/time/cluster.h: by which steps are
	                                                  * predicted; NULL: this machine */
	const struct op_times *times;                    /* plan/time/op_times.h: by which steps are
	                                                  * predicted; NULL: trials, or rates */
	const char *threads;                             /* compute threads of each rank, as text
	                                                  * (ranks_threads); set when training begins */
	const char *kernels;                             /* the facts besides the config that determine
	                                                  * the kernels of training plans
	                                                  * (proofs_state); or NULL */
	struct reduction reduction;                      /* all-reduces of the first objective */
	struct further_reduction {
		struct reduction reduction;
		const struct buckets *given;                 /* buckets of the objective's first plan */
	} *further;                                      /* all-reduces of each later objective; in the
	                                                  * config's arena */
	struct sync_reducer *sync;                       /* NULL: each rank normalises its own batch */
	struct program *program;                         /* plan/program.h; in the config's arena */
	int nprogram;
	/* The second and later sizes of samples in the validation set. Each size has its own batches.
	 * The first size is that of `validation` and data.field. */
	struct session_size {
		struct loader *loader;
		struct plan_field field;
	} *size;                                         /* in the config's arena */
	int nsize;
	int only_size;                                   /* predictions: `validation` reads samples of
	                                                  * size only_size - 1 alone; 0: all */
	struct comm *sample;                             /* the ranks that share one sample, a team of
	                                                  * comm whose nodes exchange messages; NULL:
	                                                  * each rank has samples of its own */
	struct nccl *sample_nccl;                        /* connects their GPUs; NULL: no GPUs */
	int ntrain_size;                                 /* number of sizes of training samples after
	                                                  * the first, in falling order; the first is
	                                                  * that of data.input (loader_size) */
	struct wisdom *engines;                          /* for plan requests
	                                                  * (train/run/engines.h); NULL: none */
	struct proofs *proofs;                           /* verdicts on kernels (time/proofs.h); NULL:
	                                                  * none */
	struct tile_plan *tiles;                         /* the tiles in which samples are predicted;
	                                                  * NULL: samples are predicted whole */
	bool tiles_agree;                                /* predictions by tiles must have the bits of
	                                                  * whole ones, so kernels avoid Winograd */
	const char *wisdom;                              /* path of the wisdom file; NULL on ranks that
	                                                  * write no files */
	void *arena;
	size_t arena_bytes, bound_bytes;                 /* bytes that the plans need; bytes that the
	                                                  * arena has */
	uint64_t arenas;                                 /* number of arenas allocated so far */
	size_t table_bytes;                              /* bytes of kernels' tables, allocated by
	                                                  * planning */
	bool outside_known;
	int64_t outside;                                 /* bytes of a GPU that were not this run's when
	                                                  * all of it was bound (account.h) */
	bool deferred[PLAN_MODES];                       /* plans of this mode are deferred on all ranks
	                                                  * (train/run/deferred_plans.h) */
	unsigned need;                                   /* enum session_need, as requested when s was
	                                                  * opened */
	const char *dump;
	bool dump_dot;
};

#define SESSION_MOST_SIZES 32     /* largest number of sizes of a set's samples after the first */

enum session_need {
	SESSION_TRAIN = 1,         /* training plans and their loader */
	SESSION_EVALUATE = 2,      /* evaluation plans and loader, if the config has validation data */
	SESSION_PREDICT = 4,       /* prediction plans over the validation loader, or for weights alone
	                            * with SESSION_NO_DATA */
	SESSION_RUN = 8,           /* allocate memory, so that plans can run; without it they are only
	                            * made */
	SESSION_DUMP = 16,         /* gradients and outputs of training plans
	                            * can be read after the step */
	SESSION_NO_DATA = 32,      /* plan from `model.input` if the training data is missing */
	SESSION_SYNTHETIC = 64,    /* plan from `model.input`, and do not look for data */
	SESSION_SWEEP = 128,       /* compute the training plan's memory sweep */
	SESSION_STORED = 256       /* batches come in their stored form, as from the loader of a GPU,
	                            * on any device */
};

/* The request for a plan of the first objective with a batch of `batch` samples. Callers change it
 * for other plans and for trials. It borrows from s. */
struct plan_request session_request(const struct session *s, enum plan_mode mode, int64_t batch);
/* The all-reduces of an objective's gradients. */
struct reduction *session_reduction(struct session *s, int objective);
/* Seconds that this rank has waited for all-reduces so far, over all objectives. */
double session_waited(const struct session *s);
/* The description of the data for training plans on samples of size k (loader_size). */
struct plan_data session_train_data(const struct session *s, int k);
/* The number of classes, or of target channels, according to the config and the data, for targets
 * of this shape; 0: unknown. */
int64_t session_classes(const struct session *s, const struct shape *target);
/* The fingerprint of the training set; 0: there is none. */
uint64_t session_data_fingerprint(const struct session *s);
/* The description of the training set or, if that is unknown, of the validation set. */
const struct dataset_info *session_data(const struct session *s);

#endif
