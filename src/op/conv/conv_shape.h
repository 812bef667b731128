/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Computes the geometry of a convolution node from its attributes and input shapes, with every
 * check that shapes from users need. */
#ifndef DLX_OP_CONV_CONV_SHAPE_H
#define DLX_OP_CONV_CONV_SHAPE_H

#include "backend/dnn/conv_geom.h"
#include "graph/op.h"

/* n: a node of the op for this kind. Fails with E_SHAPE at g->cur_loc and a message with both
 * shapes. */
int conv_geom_read(const struct graph *g, const struct node *n, enum conv_kind kind,
                   struct conv_geom *c);
/* The same for a node that has passed its shape rule, so it cannot fail. */
struct conv_geom conv_geom_get(const struct graph *g, const struct node *n, enum conv_kind kind);

struct shape conv_x_shape(const struct conv_geom *c);     /* (N, I, in...) */
struct shape conv_w_shape(const struct conv_geom *c);     /* (O, I/g, kernel...) */
struct shape conv_y_shape(const struct conv_geom *c);     /* (N, O, out...) */

/* Multiply-adds, including those with padding. */
double conv_macs(const struct conv_geom *c);

#endif
