/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that shape rules share. Each returns 0, or an error at g->cur_loc that names the layer and
 * what was expected. */
#ifndef DLX_OP_LIB_CHECK_H
#define DLX_OP_LIB_CHECK_H

#include "graph/op.h"

const char *check_layer(const struct node *n); /* the layer's name for messages; never NULL */
int check_dtype(struct graph *g, const struct node *n, int i, enum dtype t);
int check_float(struct graph *g, const struct node *n, int i); /* the input is f32, f16 or bf16 */
/* All inputs are of one float type. */
int check_one_type(const struct graph *g, const struct node *n);
int check_rank(struct graph *g, const struct node *n, int i, int lo, int hi);
int check_equal(struct graph *g, const struct node *n, int i, int j); /* inputs i and j have equal
                                                                       * shapes */
int check_shape(struct graph *g, const struct node *n, int i, const struct shape *want);
int check_vector(struct graph *g, const struct node *n, int i,
                 int64_t length); /* one axis of this length */
int check_axis(struct graph *g, const struct node *n, int64_t axis, int nd); /* 0 <= axis < nd */

#endif
