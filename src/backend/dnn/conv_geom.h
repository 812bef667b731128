/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The geometry of a convolution, resolved from attributes and shapes once and read by every
 * backend: y = x * w with x (N, I, in...), w (O, I/g, kernel...), y (N, O, out...). Axes beyond ns
 * are trivial (size 1, stride 1, no padding), so a loop over three spatial axes serves all. */
#ifndef DLX_BACKEND_DNN_CONV_GEOM_H
#define DLX_BACKEND_DNN_CONV_GEOM_H

#include <stdint.h>

#define CONV_NS 3      /* most spatial axes */

/* Which of y, x (or its gradient) and w (or its gradient) is computed from the other two. */
enum conv_kind { CONV_FORWARD, CONV_BACKWARD_DATA, CONV_BACKWARD_WEIGHTS };

struct conv_geom {
	int ns;                      /* spatial axes: 1..3 */
	int64_t n, ci, co, groups;   /* channels of x and y, of all groups together */
	int64_t in[CONV_NS], kernel[CONV_NS], out[CONV_NS];
	int64_t stride[CONV_NS], dilation[CONV_NS];      /* dilation 1: dense */
	int64_t pad_lo[CONV_NS], pad_hi[CONV_NS];
};

#endif
