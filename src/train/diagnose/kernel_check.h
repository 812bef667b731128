/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides whether values that are not finite are the fault of a kernel or of its inputs. A
 * convolution or dense layer computes sums of products: if its inputs are of moderate size, so are
 * all its sums, and a float64 computation gives their correct values. Other ops are not checked,
 * since their intermediate values (a square, an exponential) may overflow in a correct float32
 * kernel. */
#ifndef DLX_TRAIN_KERNEL_CHECK_H
#define DLX_TRAIN_KERNEL_CHECK_H

#include "plan/plan.h"
#include "train/diagnose/finding.h"

/* A copy of an input that the node overwrites with its output. */
struct overwritten {
	int in;                        /* index of the input; v NULL: there is none */
	double *v;
};

/* Whether node n is of a kind that is checked. */
bool kernel_is_checked(const struct node *n);
/* Call it after n has run in p on dev. If n is of a checked kind, recomputes it on the reference
 * device from the same inputs, and sets f->kernel. f is the finding for output number `out` of n,
 * which has values that are not finite although the inputs are. A check that fails leaves no
 * error. */
void kernel_check(const struct plan *p, const struct device *dev, const struct node *n, int out,
                  const struct overwritten *o, struct finding *f);

#endif
