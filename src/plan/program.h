/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The programs of a run: one compiled plan for each mode, size of samples and number of samples in
 * a batch. The session holds them in one list. Training on the largest samples comes first, then
 * validation, since the first plan fixes the layouts of stored values and the buckets of gradients
 * for all others. */
#ifndef DLX_PLAN_PROGRAM_H
#define DLX_PLAN_PROGRAM_H

#include "plan/session.h"

struct program {
	enum plan_mode mode;
	int objective;                   /* PLAN_TRAIN: index of the config's objective */
	int size;                        /* index of the size of its samples: of loader_size in
	                                  * training, of session.size[size - 1] in other modes; 0: the
	                                  * first size */
	bool short_batch;                /* the plan for an epoch's last batch, which is smaller than
	                                  * the others */
	bool filled;                     /* the data has enough samples for a full batch */
	int scored;                      /* 1 + the index of the set of points whose candidates it
	                                  * scores (train/run/resample.h); 0: none */
	bool gradients;                  /* it computes the gradients of an objective's balanced terms
	                                  * (train/run/balance.h) */
	int64_t batch;                   /* samples */
	struct plan *plan;               /* NULL: not made, or not yet */
	/* Messages between its nodes on several ranks, if ranks share a sample; NULL: none. */
	struct messages *messages;
	struct sync_reducer *statistics; /* sums of statistics over the ranks that share a sample, if
	                                  * sync_batch_norm does not sum over more ranks; else NULL */
};
/* The largest number of programs. A run whose samples have several sizes has one objective. */
#define PROGRAMS_MOST \
	(2 * (OBJECTIVES_MOST + 2 * (1 + SESSION_MOST_SIZES) + 1) + SCORED_MOST + OBJECTIVES_MOST)
#define SCORED_MOST 16               /* sets of points that are resampled by a residual */

/* Whether s was opened for an export, which needs the stored values and runs no plan. */
bool run_is_export(const struct session *s);
/* Lists the programs that s was opened for. c is s's config or a copy with another batch size.
 * Returns the number of programs, whose plans are still NULL. */
int programs_list(const struct session *s, const struct run_config *c,
                  struct program list[PROGRAMS_MOST]);
/* Stores that list in s. Call it after the loaders were opened. */
void session_list_programs(struct session *s);

/* The description of the samples that a program is planned for, and the loader of its batches (NULL
 * if all batches are full). */
struct plan_data program_data(const struct session *s, const struct program *p);
struct loader *program_loader(const struct session *s, const struct program *p);

/* The plan of a mode's first program, without the plans that score or balance; NULL: there is none,
 * or it is not made yet. */
struct plan *session_plan(const struct session *s, enum plan_mode mode);
/* The plan of any program of this mode and size; NULL: none is made. */
struct plan *session_plan_of_size(const struct session *s, enum plan_mode mode, int size);
/* The plan for a batch of n samples of this size. It must have been made. */
struct plan *session_plan_for(const struct session *s, enum plan_mode mode, int objective, int size,
                              int64_t n);

/* The plan that scores candidates of set k. It must have been made. */
struct plan *session_plan_scoring(const struct session *s, int k);
/* The plan that computes the gradients of objective k's balanced terms. It must have been made. */
struct plan *session_plan_balancing(const struct session *s, int k);

#endif
