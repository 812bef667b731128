/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bundles on the GPU: the groups of a node (op/update/bundle.h) become tables that launches pass by
 * value. Declared in every build, defined only in one with CUDA. */
#ifndef DLX_OP_UPDATE_BUNDLE_CUDA_H
#define DLX_OP_UPDATE_BUNDLE_CUDA_H

#include "op/update/bundle.h"

struct k_table;

/* Counts elements and blocks and stores the result in k->state. */
int bundle_cuda_plan(struct kplan *k, struct bundle_form f);
/* The number of blocks of all groups: a reduction leaves one partial result for each. */
int64_t bundle_cuda_blocks(const struct kplan *k);

/* For each group t, calls fill(k, a, table, row, t), which sets the pointers and parameters of the
 * table's row (counts and types are set already). Calls launch for each full table; `group` is the
 * table's first group, and `block` the number of blocks before it. */
struct bundle_launch {
	void (*fill)(const struct kplan *k, const struct kargs *a, struct k_table *table,
	             int row, int t);
	int (*launch)(const struct kplan *k, const struct kargs *a, const struct k_table *table,
	              int group, int64_t block);
};
int bundle_cuda_run(const struct kplan *k, const struct kargs *a, const struct bundle_launch *how);

/* Whether the integer input on the device has 64 bits. */
int cuda_wide(const struct kplan *k, int input);

#endif
