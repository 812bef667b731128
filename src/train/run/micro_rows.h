/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of an evaluation in an order that does not depend on the number of ranks. Each micro-batch
 * of a global batch (plan/sums/micro_tree.h) has its own row of sums, to which the batches of the
 * set are added in turn. At the end the rows are added as a binary tree. */
#ifndef DLX_TRAIN_MICRO_ROWS_H
#define DLX_TRAIN_MICRO_ROWS_H

#include "backend/device.h"
#include "plan/config.h"

struct comm;

struct micro_rows {
	int64_t micros, n;               /* micro-batches of this rank; numbers in a row */
	double *v;                       /* [micros][n] */
};

void micro_rows_init(struct micro_rows *r, int64_t micros, int64_t n);
void micro_rows_release(struct micro_rows *r);
void micro_rows_add(struct micro_rows *r, int64_t micro, const double *row);
/* Writes the sum over all rows of all ranks to row. Call it once. Collective. */
void micro_rows_sum(struct micro_rows *r, const struct run_config *c, const struct device *dev,
                    struct comm *comm, double *row);

#endif
