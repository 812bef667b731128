/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What differs between the config that a run was started with and the one that it is resumed with. */
#ifndef DLX_TRAIN_CHANGES_H
#define DLX_TRAIN_CHANGES_H

#include "train/config.h"

/* One note for each key that has another value than in the effective config at path; none where that cannot be read. */
void changes_note(const char *path, const struct run_config *now);

#endif
