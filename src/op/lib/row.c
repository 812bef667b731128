/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of results that are float32 or bf16. */
#include "op/lib/row.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#include "backend/device.h"
#include "base/half.h"
#include "base/round.h"

#define LINE 16               /* floats of a cache line */

static int thread(void)
{
#ifdef _OPENMP
	return omp_get_thread_num();
#else
	return 0;
#endif
}

static int64_t padded(int64_t length)
{
	return ceil_div(length, LINE) * LINE;
}

bool row_bf16(const struct kplan *k, int i)
{
	return graph_t(k->g, k->n->in[i])->dtype == DTYPE_BF16;
}

static bool bf16_out_row(const struct kplan *k)
{
	return graph_t(k->g, k->n->out[0])->dtype == DTYPE_BF16;
}

size_t row_workspace(const struct kplan *k, int64_t length)
{
	return bf16_out_row(k) ? (size_t)(padded(length) * k->dev->threads) * sizeof(float) : 0;
}

struct row_out row_out_of(const struct kplan *k, const struct kargs *a, int64_t length)
{
	return (struct row_out){ a->out[0], a->ws, length, bf16_out_row(k) };
}

float *row_begin(const struct row_out *r, int64_t i)
{
	return r->bf16 ? r->ws + thread() * padded(r->length) : (float *)r->out + i * r->length;
}

void row_end(const struct row_out *r, int64_t i, const float *row)
{
	if (r->bf16)
		bfloat_from_floats((uint16_t *)r->out + i * r->length, row, r->length);
}
