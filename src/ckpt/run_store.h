/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a run's store is what the run's folder says: a store that is not mounted, that was moved
 * or emptied must not pass for that of a run that has saved nothing yet. */
#ifndef DLX_CKPT_RUN_STORE_H
#define DLX_CKPT_RUN_STORE_H

#include "ckpt/run_link.h"

/* The folder of the run whose RUN/checkpoints is dir, in a: for texts. */
const char *run_folder_of(struct arena *a, const char *dir);
/* any: whether the link's store has a version of the run. E_NOINPUT with the store's name if it has
 * none, but the log in dir says that the run has saved some. */
int run_store_check(struct disk *d, const struct run_link *link, const char *dir, bool any);
/* What reading the versions in the link's store came to, rc, as it is said of the run in dir: where
 * the store is no folder, E_NOINPUT in place of the errors above mark. */
int run_store_read(int rc, int mark, struct disk *d, const struct run_link *link, const char *dir);
/* That error, for a caller that knows it otherwise. */
int run_store_gone(struct disk *d, const struct run_link *link, const char *dir);

#endif
