/* SPDX-License-Identifier: BSD-3-Clause */
#include "backend/dnn/dnn_quirks.h"

#include <string.h>

/* oneDNN 2.6 has wrong sums in bf16 for gradients to the input of windows of one pixel where an odd
 * number of channels is summed, if it takes 30 pixels at a time, as for 5 x 6 (its kernel needs all
 * registers then, and a mask of the last channel loses its own). */
static bool is_wrong(dnnl_primitive_desc_t pd, enum conv_kind kind, int64_t summed)
{
	static const char name[] = "jit_bf16_1x1";
	const char *impl = "";
	return kind == CONV_BACKWARD_DATA && summed % 2 == 1 &&
	       dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl) == dnnl_success &&
	       strncmp(impl, name, sizeof name - 1) == 0;
}

#if DNNL_VERSION_MAJOR < 3

dnnl_status_t dnn_first_correct(dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t d,
                             const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                             enum conv_kind kind, int64_t summed)
{
	dnnl_primitive_desc_iterator_t it = NULL;
	dnnl_status_t st = dnnl_primitive_desc_iterator_create(&it, d, attr, engine, NULL);
	while (st == dnnl_success) {
		*pd = dnnl_primitive_desc_iterator_fetch(it);
		if (*pd && !is_wrong(*pd, kind, summed))
			break;
		dnnl_primitive_desc_destroy(*pd);
		*pd = NULL;
		st = dnnl_primitive_desc_iterator_next(it);
	}
	dnnl_primitive_desc_iterator_destroy(it);
	return st == dnnl_iterator_ends ? dnnl_unimplemented : st;
}

#else

dnnl_status_t dnn_next_correct(dnnl_primitive_desc_t pd, enum conv_kind kind, int64_t summed)
{
	dnnl_status_t st = dnnl_success;
	while (st == dnnl_success && is_wrong(pd, kind, summed))
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
