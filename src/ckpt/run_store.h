/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that a run's store is the one that the run's folder expects: a store that is not mounted,
 * or was moved or emptied, must not be mistaken for that of a run that has saved nothing yet. */
#ifndef DLX_CKPT_RUN_STORE_H
#define DLX_CKPT_RUN_STORE_H

#include "ckpt/run_link.h"

/* The folder of the run whose RUN/checkpoints is dir, for messages; allocated in a. */
const char *run_folder_of(struct arena *a, const char *dir);
/* any: the link's store has a version of the run. If it has none although the log in dir says that
 * the run has saved some, E_NOINPUT with the store's name. */
int run_store_check(struct disk *d, const struct run_link *link, const char *dir, bool any);
/* Improves the error of reading the versions in the link's store. rc: the result of reading. If the
 * store is not a folder, the errors above mark are replaced by E_NOINPUT for the run in dir. */
int run_store_read(int rc, int mark, struct disk *d, const struct run_link *link, const char *dir);
/* Reports that error, for a caller that has found out itself. */
int run_store_gone(struct disk *d, const struct run_link *link, const char *dir);

#endif
