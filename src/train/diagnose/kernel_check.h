/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether values that are not finite come of a wrong kernel, rather than of what it was given. A
 * convolution or dense layer makes sums of products: where its inputs are of moderate size, so are
 * all of its sums, and float64 says what they are. Of other ops this cannot be said, since what
 * they have in between (a square, an exponential) may overflow in float32 alone. */
#ifndef DLX_TRAIN_KERNEL_CHECK_H
#define DLX_TRAIN_KERNEL_CHECK_H

#include "plan/plan.h"
#include "train/diagnose/finding.h"

/* An input that the node has written its output over, as it was before. */
struct overwritten {
	int in;                        /* v NULL: none */
	double *v;
};

/* Whether n is of the nodes that are checked. */
bool kernel_is_checked(const struct node *n);
/* After n has run in p on dev: if it is of those, makes it once more on the reference device, of
 * the same inputs, and fills in what f says of the kernel. f: of its output number `out`, with
 * values that are not finite, while the inputs are. A check that fails leaves no error. */
void kernel_check(const struct plan *p, const struct device *dev, const struct node *n, int out,
                  const struct overwritten *o, struct finding *f);

#endif
