/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks of a run agree on outside its steps: whether one has failed, which rank prints,
 * and whether all have the same run. A struct comm may be NULL here: alone. */
#ifndef DLX_TRAIN_RANKS_H
#define DLX_TRAIN_RANKS_H

#include "comm/comm.h"
#include "plan/plan.h"

/* Ends a phase of the set-up: rc if it failed here, else the code of another rank's failure, else
 * 0. After a failure every rank returns to main, which prints it once. Collective. */
int ranks_agree(struct comm *c, int rc, const char *what);

enum ranks_failure {
	RANKS_ALONE,                   /* this rank has failed without the others knowing */
	RANKS_ONE,                     /* comm_prints is true on the rank that prints it */
	RANKS_ALIKE,                   /* the same, and all ranks failed: their number says nothing */
};
/* The kind of the failure that main handles. */
enum ranks_failure ranks_failure(void);

/* The number of ranks of this host, this one included, that
 * may run on the same cores. Collective. */
int ranks_sharing(struct comm *c);

/* All ranks use the instruction set of the least of them, so that their plans agree. Before a
 * device is opened. Collective. */
void ranks_share_isa(struct comm *c);

/* The threads that each rank computes with, in the order of the ranks: "2", or "2(x3),1" for 2,
 * 2, 2 and 1; in a. Collective. */
const char *ranks_threads(struct comm *c, int threads, struct arena *a);

/* When the first of the ranks' processes began, as io_seconds here would have been. Collective. */
double ranks_began(struct comm *c);

/* Returns the first rank of the majority among the values of all ranks, `each` bytes by rank. */
int ranks_majority(const void *all, size_t each, int n);
/* This one's, "rank 3 (host c1)", into text; returns it. */
const char *ranks_name(const struct comm *c, char text[112]);

/* All ranks were started with the same command, of which this is the text. E_USAGE on a rank that
 * differs from most, with the difference. Collective, and the first thing that ranks which may be
 * about something else have in common. */
int ranks_same_command(struct comm *c, const char *text);
/* The data of a rank, as fingerprints; 0: none. */
struct ranks_data {
	uint64_t train, second;
	const char *path;              /* of the first file of the second set, or NULL */
};
/* All ranks mean to run the same: version, config, device, data and plan, by its fingerprint.
 * E_CONFIG, of the second set E_DATA, on a rank that differs from most, with the difference.
 * Collective. */
int ranks_compare(struct comm *c, const struct run_config *config, const struct device *dev,
                  const struct ranks_data *data, uint64_t plan);

#endif
