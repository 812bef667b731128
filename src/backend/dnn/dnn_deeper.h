/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rewrites a convolution for oneDNN with one more spatial axis, of extent 1, in front of the
 * others. The result is the same, but oneDNN may have a faster implementation for it. */
#ifndef DLX_BACKEND_DNN_DNN_DEEPER_H
#define DLX_BACKEND_DNN_DNN_DEEPER_H

#include "backend/dnn/dnn.h"

struct dnn_deeper {
	struct dnn_conv c;               /* the rewritten problem; its layouts point to x, w and y
	                                  * below, or are NULL */
	struct layout x, w, y;
};

/* c: fewer than CONV_NS spatial axes. d must not be copied or moved, since d->c points into it. */
void dnn_deepen(struct dnn_deeper *d, const struct dnn_conv *c);
/* The layout without its axis `at`, which has extent 1 and no block. */
void dnn_remove_axis(struct layout *l, int at);

#endif
