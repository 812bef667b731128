/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reports the differences between the config with which a run was started and the one with which it
 * is resumed. */
#ifndef DLX_TRAIN_CHANGES_H
#define DLX_TRAIN_CHANGES_H

#include "plan/config.h"

/* changes_finish writes the effective config into the run's folder. resumed: it first prints a note
 * for each key whose value differs from that in the folder's config; none if that cannot be read.
 * E_IO, E_CANTCREATE. */
/* The effective config as text, in the config's arena. */
const char *changes_text(const struct run_config *now);
int changes_finish(const struct run_config *now, bool resumed);

#endif
