/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Saves and removals in one store at a time, by any number of processes, on file systems with locks
 * or without. A save counts on packs that are there (a chunk is not written twice), and a removal
 * must not take one away that the save's manifest is about to name. Each side first announces
 * itself by a file in the folder hold/, then looks for the other's:
 *
 *   save:     makes hold/save-NAME, then looks for a removal. If there is one, the save counts on
 *             no pack but its own. It removes the file when its manifest is durable.
 *   removal:  makes hold/gc-NAME, lists the packs, then looks for saves. If there is one, it
 *             removes no pack this time. Then it reads the manifests; packs that it has not listed
 *             are not its business.
 *
 * Of two that begin at once at least one sees the other. A hold of a process that was killed is
 * stale: on the host that made it its lock is free; elsewhere, where locks may be those of each
 * host, it is older than HOLD_AGE. A run that begins removes its own stale ones. */
#ifndef DLX_CKPT_HOLDS_H
#define DLX_CKPT_HOLDS_H

#include "base/disk.h"

#define HOLD_FOLDER "hold"
#define HOLD_AGE ((int64_t)24 * 3600)             /* seconds */

enum hold_kind { HOLD_SAVE, HOLD_GC };
struct hold;

/* name: unique among the processes that use the store; begins with the run. E_IO, E_CANTCREATE. */
int hold_take(struct hold **out, struct disk *d, const char *root, enum hold_kind kind,
              const char *name);
/* *alone: whether no other process is removing, nor, if h is a removal's hold, saving. */
int hold_alone(struct hold *h, bool *alone);
void hold_drop(struct hold *h);                   /* NULL is fine */
/* Removes stale holds: those whose names begin with `run` ("": all), whose processes the caller
 * knows to have ended, and all that are older than HOLD_AGE, whose run may never return. run NULL:
 * only the latter. */
int holds_clear(struct disk *d, const char *root, const char *run);

#endif
