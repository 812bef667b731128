/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreements between the ranks of a run outside its steps: whether a rank has failed, which rank
 * prints the error, and whether all ranks have the same config, data and plan. Here a struct comm
 * may be NULL, which means one rank. */
#ifndef DLX_TRAIN_RANKS_H
#define DLX_TRAIN_RANKS_H

#include "comm/comm.h"
#include "plan/plan.h"

/* Ends a phase of the set-up. Returns rc if this rank failed, else the code of another rank's
 * failure, else 0. After a failure every rank returns to main, which prints the error once.
 * Collective. */
int ranks_agree(struct comm *c, int rc, const char *what);

enum ranks_failure {
	RANKS_ALONE,                   /* this rank failed, and the others have not been notified */
	RANKS_ONE,                     /* one rank failed; comm_prints is true on the rank that prints
	                                * the error */
	RANKS_ALIKE,                   /* as RANKS_ONE, but all ranks failed, so the message names no
	                                * rank */
};
/* The kind of the failure that main handles. */
enum ranks_failure ranks_failure(void);
/* For ranks that go on after a failure which all of them know. c: their communicator. */
void ranks_forget_failure(struct comm *c);

/* The number of this host's ranks, including this one, that may run on the same cores.
 * Collective. */
int ranks_sharing(struct comm *c);

/* Makes all ranks use the smallest instruction set that any of them has, so that their plans agree.
 * Call it before a device is opened. Collective. */
void ranks_share_isa(struct comm *c);

/* The number of compute threads of each rank, in the order of the ranks: "2" if all have 2,
 * "2(x3),1" for 2, 2, 2 and 1. The string is in arena a. Collective. */
const char *ranks_threads(struct comm *c, int threads, struct arena *a);

/* The time at which the first of the ranks' processes began, on this rank's io_seconds clock.
 * Collective. */
double ranks_began(struct comm *c);

/* The first rank that has the most frequent value. all: the values of n ranks, `each` bytes per
 * rank. */
int ranks_majority(const void *all, size_t each, int n);
/* Writes this rank's name, "rank 3 (host c1)", to text and returns it. */
const char *ranks_name(const struct comm *c, char text[112]);

/* Checks that all ranks were started with the same command line, given as text. E_USAGE, with the
 * difference, on a rank that differs from the majority. Collective; it must be the first
 * collective, since ranks with different commands would call different ones later. */
int ranks_same_command(struct comm *c, const char *text);
/* Fingerprints of a rank's data sets; 0: no such set. */
struct ranks_data {
	uint64_t train, second;
	const char *path;              /* path of the second set's first file, or NULL */
};
/* Checks that all ranks have the same dlx version, config, device, data and plan (given by its
 * fingerprint). E_CONFIG, or E_DATA for the second set, with the difference, on a rank that differs
 * from the majority. Collective. */
int ranks_compare(struct comm *c, const struct run_config *config, const struct device *dev,
                  const struct ranks_data *data, uint64_t plan);

#endif
