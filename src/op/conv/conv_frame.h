/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A convolution as our own loops walk it: always three spatial axes (depth, height, width), with
 * the steps through memory of channels-last x and y, whose pixels may be apart. A convolution
 * that is a matrix product is one row of pixels. */
#ifndef DLX_OP_CONV_CONV_FRAME_H
#define DLX_OP_CONV_CONV_FRAME_H

#include "op/conv/conv_algorithm.h"

enum { DEPTH, HEIGHT, WIDTH };

struct conv_side {
	int64_t size[CONV_NS];
	int64_t step[CONV_NS];       /* elements between neighbours along each axis */
	int64_t image;               /* from image to image */
};

struct conv_frame {
	int64_t n, ci, co;
	struct conv_side x, y;
	int64_t kernel[CONV_NS], stride[CONV_NS], dilation[CONV_NS], pad[CONV_NS];
};

/* False if x or y is not made of channels-last pixels, or there are groups. */
bool conv_frame_make(struct conv_frame *f, const struct conv_task *t);
int64_t conv_frame_taps(const struct conv_frame *f);
int64_t conv_frame_pixels(const struct conv_frame *f);       /* of y */

/* The places along an axis of y at which tap k meets x and not padding: [lo, hi), perhaps empty. */
struct conv_range {
	int64_t lo, hi;
};
struct conv_range conv_frame_range(const struct conv_frame *f, int axis, int64_t k);
/* The places of x that those of y in r meet with any tap. */
struct conv_range conv_frame_reach(const struct conv_frame *f, int axis, struct conv_range r);
/* The place of x that tap k reads for place i of y along the axis. */
static inline int64_t conv_frame_at(const struct conv_frame *f, int axis, int64_t k, int64_t i)
{
	return i * f->stride[axis] - f->pad[axis] + k * f->dilation[axis];
}

#endif
