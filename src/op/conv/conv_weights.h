/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The offsets of a convolution's weights in any layout. A strided and blocked offset is a sum over
 * axes, so element (o, i, tap) is at o[o] + i[i] + tap[tap]. */
#ifndef DLX_OP_CONV_CONV_WEIGHTS_H
#define DLX_OP_CONV_CONV_WEIGHTS_H

#include "backend/dnn/conv_geom.h"
#include "base/arena.h"
#include "graph/layout.h"

struct conv_weights {
	const int64_t *o, *i, *tap;      /* offsets by index; taps are row-major over the kernel */
	int64_t elements;                /* elements of the buffer, padding included */
	bool dense;                      /* the buffer has no padding */
};

/* Returns false if the layout groups axes in another manner. */
bool conv_weights_make(struct conv_weights *w, struct arena *arena, const struct layout *l,
                       const struct conv_geom *g);

#endif
