/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bundles on the GPU: the groups of a node (op/update/bundle.h) as tables that travel with
 * launches. Declared in every build, there only in one with CUDA. */
#ifndef DLX_OP_UPDATE_BUNDLE_CUDA_H
#define DLX_OP_UPDATE_BUNDLE_CUDA_H

#include "op/update/bundle.h"

struct k_table;

/* Counts elements and blocks; kept in k->state. */
int bundle_cuda_plan(struct kplan *k, struct bundle_form f);
/* Blocks of all groups: how many numbers a reduction leaves. */
int64_t bundle_cuda_blocks(const struct kplan *k);

/* Calls fill(k, a, table, row, t) for each group t, which sets what the table's row holds besides
 * counts and types, and launch for each full
 * table: it begins with group `group`, before which there are `block` blocks. */
struct bundle_launch {
	void (*fill)(const struct kplan *k, const struct kargs *a, struct k_table *table,
	             int row, int t);
	int (*launch)(const struct kplan *k, const struct kargs *a, const struct k_table *table,
	              int group, int64_t block);
};
int bundle_cuda_run(const struct kplan *k, const struct kargs *a, const struct bundle_launch *how);

/* Whether an integer on the device is of 64 bits. */
int cuda_wide(const struct kplan *k, int input);

#endif
