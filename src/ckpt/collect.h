/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Garbage collection: removes chunks that no version needs. */
#ifndef DLX_CKPT_COLLECT_H
#define DLX_CKPT_COLLECT_H

#include "base/disk.h"

struct collected {
	int packs;                     /* removed */
	int packed_anew;               /* packs whose few needed chunks were moved to a new pack */
	uint64_t bytes;                /* freed */
	bool busy;                     /* other processes are saving: no pack was touched */
};
/* Removes the packs of which no manifest in root/versions names a chunk, and rewrites those of
 * which less than half the bytes are named. If a manifest cannot be read nothing is removed,
 * because it is unknown what it needs (E_DATA, with its name). Safe while other processes run
 * (holds.h), and if the process is killed at any time. name: see hold_take. only: count, change
 * nothing. */
int collect_packs(struct collected *out, struct disk *d, const char *root, const char *name,
                  bool only);
/* As collect_packs, for a run that has just saved on all its ranks (ckpt_save). Ranks above 0 of
 * other runs may have written packs that no manifest names yet, so recent packs are kept unless
 * they belong to `run`: the first eight digits of its id between hyphens, "-1234abcd-". */
int collect_packs_beside(struct collected *out, struct disk *d, const char *root, const char *name,
                         const char *run);

#endif
