/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The programs of a run: one compiled plan for each mode, size of samples and number of samples in
 * a batch. They are one list of the session. Training comes first, of the largest samples, then
 * validation: by the first plan the layouts of values and the buckets of gradients are fixed for
 * the others. */
#ifndef DLX_PLAN_PROGRAM_H
#define DLX_PLAN_PROGRAM_H

#include "plan/session.h"

struct program {
	enum plan_mode mode;
	int objective;                   /* of training: which of the config's objectives */
	int size;                        /* of its samples; 0: the first, as loader_size has them in
	                                  * training, and session.size[size - 1] elsewhere */
	bool short_batch;                /* an epoch's last one, next to a full one */
	bool filled;                     /* the data fills a full batch */
	int scored;                      /* 1 + a set of points whose candidates it scores
	                                  * (train/save/resample.h); 0: none */
	bool gradients;                  /* of an objective's balanced terms (train/run/balance.h) */
	int64_t batch;                   /* samples */
	struct plan *plan;               /* NULL: not made, or not yet */
	/* Of its nodes, where ranks have a sample together; NULL: none. */
	struct messages *messages;
	struct sync_reducer *statistics; /* where batch norm does not sum over more ranks */
};
/* Objectives are one where samples have several sizes. */
#define PROGRAMS_MOST \
	(2 * (OBJECTIVES_MOST + 2 * (1 + SESSION_MOST_SIZES) + 1) + SCORED_MOST + OBJECTIVES_MOST)
#define SCORED_MOST 16               /* sets of points that are resampled by a residual */

/* An export needs the store's entries, and runs nothing. */
bool run_is_export(const struct session *s);
/* Lists the programs that s was opened for, with s's config or one that differs in its batch.
 * Returns how many; their plans are NULL. */
int programs_list(const struct session *s, const struct run_config *c,
                  struct program list[PROGRAMS_MOST]);
/* Puts that list into s, once its loaders are open. */
void session_list_programs(struct session *s);

/* The samples that a program is planned for; and the loader of its batches, NULL: full ones. */
struct plan_data program_data(const struct session *s, const struct program *p);
struct loader *program_loader(const struct session *s, const struct program *p);

/* The plan of a mode's first program, but for those of equations that training alone has; NULL:
 * there is none, or it is not made yet. */
struct plan *session_plan(const struct session *s, enum plan_mode mode);
/* The plan of any program of this mode and size; NULL: none is made. */
struct plan *session_plan_of_size(const struct session *s, enum plan_mode mode, int size);
/* The plan for a batch of n samples of this size. It is there. */
struct plan *session_plan_for(const struct session *s, enum plan_mode mode, int objective, int size,
                              int64_t n);

/* The plan that scores candidates of set k. It is there. */
struct plan *session_plan_scoring(const struct session *s, int k);
/* The plan of the gradients of objective k's balanced terms. It is there. */
struct plan *session_plan_balancing(const struct session *s, int k);

#endif
