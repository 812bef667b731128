/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Adds tensors by rows of channels if they are channels-last (slices, too); otherwise both have the
 * same layout and are added as flat arrays. */
#include "op/conv/conv_sum.h"

#include "op/conv/conv_shape.h"
#include "op/lib/simd.h"

#define ROW 4096               /* elements of a row if all are contiguous */

void conv_sum_init(struct conv_sum *s, const struct conv_task *t)
{
	const struct shape shape = conv_x_shape(&t->geom);
	const int64_t n = layout_elements(&t->x);
	struct layout_rows rows;
	*s = (struct conv_sum){ .bf16 = t->result == DTYPE_BF16,
		.bf16_sum = t->sum_dtype == DTYPE_BF16 };
	s->bytes = (size_t)n * dtype_size(t->result);
	if (t->sum_px && layout_rows(&t->x, &shape, &rows)) {
		s->rows = rows.rows;
		s->length = rows.c;
		s->step = rows.stride;
		s->sum_step = t->sum_px;
	}
	if (!s->rows || (s->step == s->length && s->sum_step == s->length)) {
		s->rows = (n + ROW - 1) / ROW;
		s->length = 0;            /* n elements, in pieces */
		s->step = n;
	}
}

#define ADD(name, bf16, bf16_sum)                                                          \
	SIMD_CLONES(void, name,                                                                \
	            (const void *made, const void *sum, void *out, int64_t at, int64_t sum_at, \
	             int64_t n), (made, sum, out, at, sum_at, n))                              \
	{                                                                                      \
		for (int64_t i = 0; i < n; i++)                                                    \
			simd_put(out, bf16, at + i, simd_get(made, bf16, at + i) +                     \
			                            simd_get(sum, bf16_sum, sum_at + i));              \
	}
ADD(add_floats, 0, 0)
ADD(add_bf16, 1, 1)
ADD(add_bf16_to_floats, 0, 1)
ADD(add_floats_to_bf16, 1, 0)

void conv_sum_run(const struct conv_sum *s, const void *made, const void *sum, void *out)
{
	static void (*const add[2][2])(const void *, const void *, void *, int64_t, int64_t,
	                               int64_t) = {
		{ add_floats, add_bf16_to_floats }, { add_floats_to_bf16, add_bf16 }
	};
#pragma omp parallel for schedule(static)
	for (int64_t r = 0; r < s->rows; r++) {
		const int64_t left = s->step - r * ROW;
		if (s->length)
			add[s->bf16][s->bf16_sum](made, sum, out, r * s->step, r * s->sum_step, s->length);
		else
			add[s->bf16][s->bf16_sum](made, sum, out, r * ROW, r * ROW, left < ROW ? left : ROW);
	}
}
