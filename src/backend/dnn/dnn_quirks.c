/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend/dnn/dnn_quirks.h"

#include <string.h>

static bool is_named(dnnl_primitive_desc_t pd, const char *start)
{
	const char *impl = "";
	return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl) == dnnl_success &&
	       strncmp(impl, start, strlen(start)) == 0;
}

/* Whether a window that begins less than a step behind the start of x can reach over its end. */
static bool is_short(const struct conv_geom *g, int axis)
{
	return g->in[axis] < (g->kernel[axis] - 1) * g->dilation[axis] + g->stride[axis];
}

/* Whether windows are single pixels, with steps that divide x. oneDNN copies them first. */
static bool is_gathered(const struct conv_geom *g)
{
	bool steps = false;
	for (int i = 0; i < g->ns; i++) {
		if (g->kernel[i] != 1 || g->pad_lo[i] || g->out[i] * g->stride[i] != g->in[i])
			return false;
		steps |= g->stride[i] > 1;
	}
	return steps;
}

/* oneDNN 2.6 has wrong sums for gradients to the weights of windows of one pixel that it copies
 * together, where x has few channels that are no multiple of 16 (seen with 5 of them, in float32
 * with 44 and 49 pixels of y): they contain what the workspace had before. */
static bool is_wrong_gathered(dnnl_primitive_desc_t pd, const struct dnn_conv *c)
{
	return c->geom.ci % 16 && is_gathered(&c->geom) &&
	       is_named(pd, c->x_type != DTYPE_F32 ? "jit_bf16_1x1" : "jit_1x1");
}

/* oneDNN 2.6 has wrong sums for gradients to the weights, and reads outside of x, which may end the
 * process: with three axes in float32 where windows that leave the padding before a short depth
 * reach over its end, in bf16 also where the height is as short; and in bf16 where a row is shorter
 * than the step of the windows in it. */
static bool is_wrong_weights(dnnl_primitive_desc_t pd, const struct dnn_conv *c)
{
	const struct conv_geom *g = &c->geom;
	const bool half = c->x_type != DTYPE_F32;
	if (!(half && g->in[g->ns - 1] < g->stride[g->ns - 1]) &&
	    !(g->ns == 3 && (half || g->stride[0] > 1) && is_short(g, 0)) &&
	    !(g->ns == 3 && half && is_short(g, 1)))
		return false;
	return is_named(pd, half ? "jit_bf16:" : "jit:");
}

/* oneDNN 2.6 has wrong sums in bf16 for gradients to the input of windows of one pixel where an odd
 * number of channels is summed, if it takes 30 pixels at a time, as for 5 x 6 (its kernel needs all
 * registers then, and a mask of the last channel loses its own). */
static bool is_wrong_input(dnnl_primitive_desc_t pd, const struct dnn_conv *c)
{
	return c->geom.co / c->geom.groups % 2 == 1 && is_named(pd, "jit_bf16_1x1");
}

static bool is_wrong(dnnl_primitive_desc_t pd, const struct dnn_conv *c)
{
	switch (c->kind) {
	case CONV_BACKWARD_DATA: return is_wrong_input(pd, c);
	case CONV_BACKWARD_WEIGHTS: return is_wrong_weights(pd, c) || is_wrong_gathered(pd, c);
	default: return false;
	}
}

#if DNNL_VERSION_MAJOR < 3

dnnl_status_t dnn_first_correct(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t d,
                             const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                             const struct dnn_conv *c)
{
	dnnl_primitive_desc_iterator_t it = NULL;
	dnnl_status_t st = dnnl_primitive_desc_iterator_create(&it, d, attr, engine, NULL);
	while (st == dnnl_success) {
		*pd = dnnl_primitive_desc_iterator_fetch(it);
		if (*pd && !is_wrong(*pd, c))
			break;
		dnnl_primitive_desc_destroy(*pd);
		*pd = NULL;
		st = dnnl_primitive_desc_iterator_next(it);
	}
	dnnl_primitive_desc_iterator_destroy(it);
	return st == dnnl_iterator_ends ? dnnl_unimplemented : st;
}

#else

dnnl_status_t dnn_next_correct(dnnl_primitive_desc_t pd, const struct dnn_conv *c)
{
	dnnl_status_t st = dnnl_success;
	while (st == dnnl_success && is_wrong(pd, c))
		st = dnnl_primitive_desc_next_impl(pd);
	return st == dnnl_last_impl_reached ? dnnl_unimplemented : st;
}

#endif

/* Its AVX2 code for the gradient of the input adds up the products of 8 channels before it adds
 * them to the others; if y has fewer than 40 or 15 columns, and not three axes, of 16 or 32
 * channels. */
bool dnn_order_varies(const struct dnn_prim *p, const struct dnn_conv *c)
{
	return c->kind == CONV_BACKWARD_DATA && c->geom.ns < CONV_NS
	       && strcmp(dnn_prim_impl(p), "jit:avx2") == 0;
}
