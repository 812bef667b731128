/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Emits derivatives of activations, of any order, as nodes. */
#ifndef DLX_OP_SLOPE_H
#define DLX_OP_SLOPE_H

#include "graph/graph.h"

/* SLOPE_GELU is defined by the error function, SLOPE_GELU_TANH is its approximation by tanh. */
enum slope_of { SLOPE_SILU, SLOPE_GELU, SLOPE_GELU_TANH };

/* The highest order of a derivative; a higher one is E_UNSUPPORTED. */
#define SLOPE_MOST 16

#define SQRT_2_PI  0.79788456080286535588 /* sqrt(2 / pi) */
#define SQRT_HALF  0.70710678118654752440
#define DENSITY    0.39894228040143267794 /* 1 / sqrt(2 pi) */
#define GELU_CUBIC 0.044715               /* the tanh form of gelu has tanh(sqrt(2 / pi) (x +
                                           * 0.044715 x^3)) */

/* The derivative of order `order` (1 or more) at each element of x. */
int slope_emit(struct graph *g, enum slope_of of, int order, tid x, tid *out);

#endif
