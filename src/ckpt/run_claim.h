/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which folder a run of a shared store is in: a copy of that folder, which has the same run.json,
 * is another run, and must not save as this one.
 *
 *   STORE/runs/RUN.json
 *   {
 *     "format": "dlx folder 1",
 *     "folder": "<32 digits>",       of run.json
 *     "before": "<32 digits>",       of run.json until the folder was found to be moved, or ""
 *     "path": "/home/ada/runs/first/checkpoints",
 *     "hash": "<32 digits>"          see sealed.h
 *   }
 *
 * A folder elsewhere that claims the run is a copy if the one at `path` is still there with the
 * run's id, or another one has claimed it or saved since. Otherwise it is that folder, moved, and
 * gets an id of its own, which copies made before do not have. Numbers of devices and inodes prove
 * nothing, since file systems are mounted twice, and copied whole: whether two paths lead to one
 * folder is tried with a file. A run that has its store in its own folder is copied with it, and
 * claims nothing but its versions on hosts' disks. */
#ifndef DLX_CKPT_RUN_CLAIM_H
#define DLX_CKPT_RUN_CLAIM_H

#include "ckpt/run_link.h"
#include "ckpt/version_list.h"

/* Writes the claim of a new run in dir. */
int run_claim_new(const struct run_link *link, struct disk *d, const char *dir);
/* Call this before a process saves as the run in dir, whose versions are l. E_USAGE, with the
 * remedy, if dir is a copy. If the folder was moved, prints a note, and link gets a new folder id,
 * allocated in a. */
int run_claim(struct run_link *link, struct arena *a, struct disk *d, const char *dir,
              const struct version_list *l);
/* As run_claim, for a run whose store is in its own folder, and its versions in the store at
 * `local` on this host's disk: the claim is kept there. Nothing records which folder saved which of
 * these versions, so a copy continues with them if the original folder is gone. For a run of a
 * shared store this does nothing, because its claim is in that store. */
int run_claim_local(const char *dir, const char *local);
/* For a process that only reads: prints a note if dir seems to be a copy. last: the run's newest
 * version, or NULL. */
void run_claim_look(const struct run_link *link, struct disk *d, const char *dir,
                    const char *last);

#endif
