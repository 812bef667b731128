/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A convolution as oneDNN may see it instead: with one spatial axis more, of extent 1, before the
 * others. Its values are the same; the code that oneDNN has for it may be another. */
#ifndef DLX_BACKEND_DNN_DNN_DEEPER_H
#define DLX_BACKEND_DNN_DNN_DEEPER_H

#include "backend/dnn/dnn.h"

struct dnn_deeper {
	struct dnn_conv c;               /* whose layouts are those below, where they are given */
	struct layout x, w, y;
};

/* c: fewer than CONV_NS spatial axes. d is used where it is: its layouts are pointed at. */
void dnn_deepen(struct dnn_deeper *d, const struct dnn_conv *c);
/* The layout without its axis `at`, which has extent 1 and no block. */
void dnn_remove_axis(struct layout *l, int at);

#endif
