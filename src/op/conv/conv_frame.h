/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A convolution in the form that dlx's own loops use: always three spatial axes (depth, height,
 * width), with the strides of x and y, which are channels-last and may be channel slices of wider
 * buffers. A convolution that is a matrix product becomes one row of pixels. */
#ifndef DLX_OP_CONV_CONV_FRAME_H
#define DLX_OP_CONV_CONV_FRAME_H

#include "op/conv/conv_algorithm.h"

enum { DEPTH, HEIGHT, WIDTH };

struct conv_side {
	int64_t size[CONV_NS];
	int64_t step[CONV_NS];       /* elements from pixel to pixel along each axis */
	int64_t image;               /* elements from sample to sample */
};

struct conv_frame {
	int64_t n, ci, co;
	struct conv_side x, y;
	int64_t kernel[CONV_NS], stride[CONV_NS], dilation[CONV_NS], pad[CONV_NS];
};

/* Returns false if x or y is not channels-last, or if there are groups. */
bool conv_frame_make(struct conv_frame *f, const struct conv_task *t);
int64_t conv_frame_taps(const struct conv_frame *f);
int64_t conv_frame_pixels(const struct conv_frame *f);       /* pixels of y */

/* The positions [lo, hi) along an axis of y at which tap k reads x and not padding; may be
 * empty. */
struct conv_range {
	int64_t lo, hi;
};
struct conv_range conv_frame_range(const struct conv_frame *f, int axis, int64_t k);
/* The positions of x that the positions r of y read, over all taps. */
struct conv_range conv_frame_reach(const struct conv_frame *f, int axis, struct conv_range r);
/* The position of x that tap k reads for position i of y along the axis. */
static inline int64_t conv_frame_at(const struct conv_frame *f, int axis, int64_t k, int64_t i)
{
	return i * f->stride[axis] - f->pad[axis] + k * f->dilation[axis];
}

#endif
