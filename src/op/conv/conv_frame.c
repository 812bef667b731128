/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Converts the geometry of a convolution to the form of its loops. */
#include "op/conv/conv_frame.h"

#include "op/conv/conv_shape.h"

/* The strides of a contiguous row-major grid whose pixels are `pixel` elements apart. */
static void set_steps(struct conv_side *s, int64_t pixel)
{
	s->step[WIDTH] = pixel;
	s->step[HEIGHT] = s->step[WIDTH] * s->size[WIDTH];
	s->step[DEPTH] = s->step[HEIGHT] * s->size[HEIGHT];
	s->image = s->step[DEPTH] * s->size[DEPTH];
}

static bool is_product(const struct conv_geom *g)
{
	for (int i = 0; i < g->ns; i++)
		if (g->kernel[i] != 1 || g->stride[i] != 1 || g->in[i] != g->out[i])
			return false;
	return true;
}

static void trivial_axes(struct conv_frame *f)
{
	for (int i = 0; i < CONV_NS; i++) {
		f->x.size[i] = f->y.size[i] = f->kernel[i] = f->stride[i] = f->dilation[i] = 1;
		f->pad[i] = 0;
	}
}

bool conv_frame_make(struct conv_frame *f, const struct conv_task *t)
{
	const struct conv_geom *g = &t->geom;
	const struct shape xs = conv_x_shape(g), ys = conv_y_shape(g);
	struct layout_rows x, y;
	if (g->groups != 1 || !layout_rows(&t->x, &xs, &x) || !layout_rows(&t->y, &ys, &y))
		return false;
	*f = (struct conv_frame){ .n = g->n, .ci = g->ci, .co = g->co };
	trivial_axes(f);
	if (is_product(g)) {
		f->n = 1;
		f->x.size[WIDTH] = f->y.size[WIDTH] = x.rows;
	} else {
		for (int i = 0; i < g->ns; i++) {
			const int at = CONV_NS - g->ns + i;
			f->x.size[at] = g->in[i];
			f->y.size[at] = g->out[i];
			f->kernel[at] = g->kernel[i];
			f->stride[at] = g->stride[i];
			f->dilation[at] = g->dilation[i];
			f->pad[at] = g->pad_lo[i];
		}
	}
	set_steps(&f->x, x.stride);
	set_steps(&f->y, y.stride);
	return true;
}

int64_t conv_frame_taps(const struct conv_frame *f)
{
	return f->kernel[DEPTH] * f->kernel[HEIGHT] * f->kernel[WIDTH];
}

int64_t conv_frame_pixels(const struct conv_frame *f)
{
	return f->n * f->y.size[DEPTH] * f->y.size[HEIGHT] * f->y.size[WIDTH];
}

static int64_t clamp(int64_t v, int64_t hi)
{
	return v < 0 ? 0 : v < hi ? v : hi;
}

/* 0 <= i * stride + at < size */
struct conv_range conv_frame_range(const struct conv_frame *f, int axis, int64_t k)
{
	const int64_t stride = f->stride[axis], size = f->x.size[axis], out = f->y.size[axis];
	const int64_t at = conv_frame_at(f, axis, k, 0);
	struct conv_range r = { 0, 0 };
	if (at < size)
		r.hi = clamp((size - 1 - at) / stride + 1, out);
	if (at < 0)
		r.lo = clamp((-at + stride - 1) / stride, r.hi);
	return r;
}

struct conv_range conv_frame_reach(const struct conv_frame *f, int axis, struct conv_range r)
{
	const int64_t size = f->x.size[axis];
	const int64_t end = conv_frame_at(f, axis, f->kernel[axis] - 1, r.hi - 1) + 1;
	return (struct conv_range){ clamp(conv_frame_at(f, axis, 0, r.lo), size), clamp(end, size) };
}
