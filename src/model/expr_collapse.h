/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recognises sums of second derivatives that are written term by term, so that they cost as little
 * as a Laplacian. */
#ifndef DLX_MODEL_EXPR_COLLAPSE_H
#define DLX_MODEL_EXPR_COLLAPSE_H

#include "model/expr_derive.h"

/* Rewrites the sum or difference e: d(a, x, x) + d(a, y, y) becomes laplacian(a, x, y), which needs
 * only one stream (model/streams.h). Returns e itself if nothing matches. */
const struct expr *expr_collapse(const struct expr_emission *m, const struct site *f,
                                 const struct expr *e);

#endif
