/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of an evaluation in one order for any number of ranks: each leaf of a global batch
 * (plan/leaves.h) has a row of numbers of its own, to which its batches add one after the other;
 * at the end the rows are summed as the tree of leaves. */
#ifndef DLX_TRAIN_LEAF_ROWS_H
#define DLX_TRAIN_LEAF_ROWS_H

#include "backend/device.h"
#include "plan/leaves.h"

struct leaf_rows {
	int64_t leaves, n;               /* leaves of this rank; numbers in a row */
	double *v;                       /* [leaves][n] */
};

void leaf_rows_init(struct leaf_rows *r, int64_t leaves, int64_t n);
void leaf_rows_release(struct leaf_rows *r);
void leaf_rows_add(struct leaf_rows *r, int64_t leaf, const double *row);
/* The sum of all leaves of all ranks into row. Once. Collective. */
void leaf_rows_sum(struct leaf_rows *r, const struct run_config *c, const struct device *dev, struct comm *comm, double *row);

#endif
