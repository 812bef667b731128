/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Versions on hosts' own disks (checkpoint.local), besides those of the run's store. Every rank has
 * the run's whole state, so that each host saves all of it: its ranks a part each, into a store in
 * a folder of the host and the run. The first `copies` hosts do; a run that goes on takes the
 * newest version that any host, or the run's store, has whole. A version has one id wherever it
 * is. */
#ifndef DLX_TRAIN_LEVELS_H
#define DLX_TRAIN_LEVELS_H

#include "ckpt/ckpt.h"
#include "comm/comm.h"

/* DIR/dlx-checkpoints-HOST-RUN, in a; NULL without checkpoint.local.dir, or if run is "". comm may
 * be NULL: alone. */
const char *levels_folder(struct arena *a, const struct ckpt_local *c, const struct comm *comm,
                          const char *run);

struct levels {
	struct ckpt_age newest;        /* of the versions on hosts' disks */
	int root;                      /* the first rank whose host has that; -1: there is none */
	int64_t step;                  /* of that version */
};
/* What there is on hosts' disks. folder: this host's; NULL, on all ranks: there is nothing. which:
 * "auto" or "last", as in ckpt_load; then *mine is on the first rank of each host its newest intact
 * version, verified whole, for the caller to free, and else NULL. NULL: manifests alone are read. A
 * folder that cannot be read is a warning. Collective. */
void levels_look(struct levels *out, struct comm *comm, const char *folder, const char *which,
                 struct ckpt_version **mine);

/* Opens this host's store, on ranks of the first c->local.copies hosts; *out is NULL elsewhere, and
 * without a folder. job: as ckpt_share.save. Collective; what ckpt_open returns, on all ranks. */
int levels_open(struct ckpt_store **out, struct comm *comm, const struct ckpt_config *c,
                const char *folder, const char *run, const char *job);

/* Whether a is older than b. */
bool levels_older(struct ckpt_age a, struct ckpt_age b);

#endif
