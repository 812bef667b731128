/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the weights of a convolution are, whatever their layout: a strided and blocked offset is
 * a sum over axes, so element (o, i, tap) is at o[o] + i[i] + tap[tap]. */
#ifndef DLX_OP_CONV_CONV_WEIGHTS_H
#define DLX_OP_CONV_CONV_WEIGHTS_H

#include "backend/dnn/conv_geom.h"
#include "base/arena.h"
#include "graph/layout.h"

struct conv_weights {
	const int64_t *o, *i, *tap;      /* tap: row-major over the kernel */
	int64_t elements;                /* the buffer holds, padding included */
	bool dense;                      /* no padding */
};

/* False if the layout groups axes otherwise. */
bool conv_weights_make(struct conv_weights *w, struct arena *arena, const struct layout *l,
                       const struct conv_geom *g);

#endif
