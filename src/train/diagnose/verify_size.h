/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The size of the samples on which a partition is verified. */
#ifndef DLX_TRAIN_VERIFY_SIZE_H
#define DLX_TRAIN_VERIFY_SIZE_H

#include "plan/session.h"

/* Parses "32" or "32x32x16" into one extent for each spatial axis of s's samples, at most theirs.
 * "": the smallest multiples of the network's total stride of which each level can be cut into
 * subdomains of unequal extent, of at least eight rows; fewer, if samples are smaller or would have
 * more than 2^21 points. E_USAGE. */
int verify_size(const struct session *s, const char *text, int64_t *extent);

#endif
