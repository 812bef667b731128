/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What differs between the config that a run was started
 * with and the one that it is resumed with. */
#ifndef DLX_TRAIN_CHANGES_H
#define DLX_TRAIN_CHANGES_H

#include "plan/config.h"

/* Writes the effective config into the run's folder. resumed: one note first for each key that has
 * another value than in the one there; none where that cannot be read. E_IO, E_CANTCREATE. */
/* The effective config as text, in its arena. */
const char *changes_text(const struct run_config *now);
int changes_finish(const struct run_config *now, bool resumed);

#endif
