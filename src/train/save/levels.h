/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Versions on hosts' own disks (checkpoint.local), in addition to those in the run's store. Every
 * rank has the run's whole state, so each of the first `copies` hosts can save all of it, to a
 * store in a folder that is named after the host and the run; each rank of the host writes a part.
 * A resumed run takes the newest complete version that any host or the run's store has. A version
 * has the same id in all stores. */
#ifndef DLX_TRAIN_LEVELS_H
#define DLX_TRAIN_LEVELS_H

#include "ckpt/ckpt.h"
#include "comm/comm.h"

/* The path DIR/dlx-checkpoints-HOST-RUN, in arena a; NULL without checkpoint.local.dir, or if run
 * is "". comm may be NULL, which means one rank. */
const char *levels_folder(struct arena *a, const struct ckpt_local *c, const struct comm *comm,
                          const char *run);

struct levels {
	struct ckpt_age newest;        /* age of the newest version on hosts' disks */
	int root;                      /* the first rank whose host has that version; -1: there is
	                                * none */
	int64_t step;                  /* step of that version */
};
/* Finds the newest version on hosts' disks. folder: that of this host; NULL on all ranks: there is
 * none. which: "auto" or "last", as in ckpt_load; then *mine is the host's newest intact version,
 * verified completely, on the first rank of each host, and NULL on other ranks; the caller frees
 * it. If which is NULL, only manifests are read. A folder that cannot be read is a warning.
 * Collective. */
void levels_look(struct levels *out, struct comm *comm, const char *folder, const char *which,
                 struct ckpt_version **mine);

/* Opens this host's store on the ranks of the first c->local.copies hosts; *out is NULL on other
 * ranks, and without a folder. job: as in ckpt_share.save. Returns the error of ckpt_open, the same
 * on all ranks. Collective. */
int levels_open(struct ckpt_store **out, struct comm *comm, const struct ckpt_config *c,
                const char *folder, const char *run, const char *job);

/* Whether a is older than b. */
bool levels_older(struct ckpt_age a, struct ckpt_age b);

#endif
