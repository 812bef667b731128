/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Attributes of the element-wise, reduction and shape ops, for code that emits nodes without the
 * short forms of emit.h. Lists live in the graph's arena (ints_make). */
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
	struct ints axes;            /* empty: all axes */
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
	/* If the tensor is a piece of a larger one, the piece drops the elements that the whole would
	 * drop there. whole: spatial extents of the whole; empty: the tensor is the whole. at: position
	 * of the piece's first element in the whole; empty: 0. */
	struct ints whole, at;
};

#endif
