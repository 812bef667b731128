/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the element-wise, reduction and shape ops, for code that emits them itself (emit.h
 * has short forms of most). Lists live in the graph's arena: ints_make. */
#ifndef DLX_OP_LIB_ELEMENTWISE_H
#define DLX_OP_LIB_ELEMENTWISE_H

#include "yaml/schema.h"

struct leaky_relu_attr {         /* leaky_relu, leaky_relu_grad */
	double slope;
};
struct pow_attr {
	double exponent;
};
struct scale_attr {
	double factor, shift;
};
struct fill_attr {
	double value;
	struct ints shape;
};
struct reduce_attr {             /* sum, mean, max, max_grad */
	struct ints axes;            /* none: all */
	bool keep;
};
struct shape_attr {              /* broadcast, reshape */
	struct ints shape;
};
struct transpose_attr {
	struct ints perm;
};
enum resize_mode { RESIZE_BILINEAR, RESIZE_NEAREST, RESIZE_AREA };
struct dropout_attr {
	double rate;
	int64_t stream;              /* (int64_t)hash_name(node name) */
	/* Of a piece, which drops what the whole drops there: extents of the whole along the spatial
	 * axes, and its place of the piece's first. None: the whole; at 0. */
	struct ints whole, at;
};

#endif
