/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Removing what no version needs any more. */
#ifndef DLX_CKPT_COLLECT_H
#define DLX_CKPT_COLLECT_H

#include "base/disk.h"

struct collected {
	int packs;                     /* removed */
	int packed_anew;               /* packs whose few needed chunks went into a new one */
	uint64_t bytes;                /* freed */
	bool busy;                     /* other processes save: no pack was touched */
};
/* Removes the packs of which no manifest in root/versions names a chunk, and writes anew those of
 * which it names less than half the bytes. While a manifest cannot be read nothing is removed: what
 * it needs is unknown (E_DATA, by name). Safe while other processes run (holds.h) and against being
 * killed at any call. name: see hold_take; only: count, change nothing. */
int collect_packs(struct collected *out, struct disk *d, const char *root, const char *name,
                  bool only);
/* The same for a run that has just saved, on all its ranks (ckpt_save). Ranks above 0 of other runs
 * may have written packs that no manifest names yet: young packs stay unless they are of `run`, the
 * first eight digits of its id between dashes, "-1234abcd-". */
int collect_packs_beside(struct collected *out, struct disk *d, const char *root, const char *name,
                         const char *run);

#endif
