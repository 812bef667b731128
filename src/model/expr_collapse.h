/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of second derivatives that were written one by one. */
#ifndef DLX_MODEL_EXPR_COLLAPSE_H
#define DLX_MODEL_EXPR_COLLAPSE_H

#include "model/expr_derive.h"

/* e, a sum or difference, or one of the same value in which d(a, x, x) + d(a, y, y) is
 * laplacian(a, x, y): one stream. */
const struct expr *expr_collapse(const struct expr_emission *m, const struct site *f,
                                 const struct expr *e);

#endif
