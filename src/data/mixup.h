/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mixup (Zhang et al., 2018): each training sample is blended with another one of the set, x = s a
 * + (1 - s) b, and the loss is that of both targets, s L(y_a) + (1 - s) L(y_b). As in the
 * publication's program one share s is drawn for a batch, from Beta(alpha, alpha), and for the
 * batches of all ranks; which sample b is, for each sample a. Both follow from (seed, epoch, index)
 * alone. */
#ifndef DLX_DATA_MIXUP_H
#define DLX_DATA_MIXUP_H

#include <stdbool.h>
#include <stdint.h>

#include "yaml/schema.h"

struct mixup_config {
	double alpha;                  /* NaN, 0: no mixup */
};
extern const struct field mixup_fields[];

bool mixup_wanted(const struct mixup_config *c);
/* The weight s of a batch, in [0, 1]. */
double mixup_share(const struct mixup_config *c, uint64_t seed, int64_t epoch, int64_t batch);
/* The number (of n) of the sample that `sample` is blended with. */
int64_t mixup_partner(uint64_t seed, int64_t epoch, int64_t sample, int64_t n);
/* x = share x + (1 - share) y */
void mixup_blend(float *x, const float *y, int64_t n, double share);

#endif
