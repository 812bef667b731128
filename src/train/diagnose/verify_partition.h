/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--verify-partition": checks that samples that are cut over ranks (parallel.spatial) give the
 * same loss, gradients, running statistics and metrics as whole samples, in one process and
 * without data. */
#ifndef DLX_TRAIN_VERIFY_PARTITION_H
#define DLX_TRAIN_VERIFY_PARTITION_H

#include "plan/session.h"

/* Verifies the partition of s's config on the reference device and on that of s. size: as in
 * verify_size. Prints a line for each device. E_CONFIG at parallel.spatial if samples are not cut,
 * E_UNSUPPORTED there on a GPU, E_BUG at the first node that computes other values, errors of
 * planning. */
int verify_partition(const struct session *s, const char *size);
/* The same on one device (by name), with samples of the size `extent` (one number for each spatial
 * axis): appends its line to out. */
int verify_partition_on(const struct session *s, const char *device, const int64_t *extent,
                        struct buf *out);

#endif
