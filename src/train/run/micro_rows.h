/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of an evaluation in one order for any number of ranks: each micro of a global batch
 * (plan/sums/micro_tree.h) has a row of numbers of its own, to which its batches add one after the
 * other; at the end the rows are summed as the tree of micros. */
#ifndef DLX_TRAIN_MICRO_ROWS_H
#define DLX_TRAIN_MICRO_ROWS_H

#include "backend/device.h"
#include "plan/config.h"

struct comm;

struct micro_rows {
	int64_t micros, n;               /* micros of this rank; numbers in a row */
	double *v;                       /* [micros][n] */
};

void micro_rows_init(struct micro_rows *r, int64_t micros, int64_t n);
void micro_rows_release(struct micro_rows *r);
void micro_rows_add(struct micro_rows *r, int64_t micro, const double *row);
/* The sum of all micros of all ranks into row. Once. Collective. */
void micro_rows_sum(struct micro_rows *r, const struct run_config *c, const struct device *dev,
                    struct comm *comm, double *row);

#endif
