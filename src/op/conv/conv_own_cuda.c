/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Properties of a node that all of dlx's convolution kernels need. */
#include "op/conv/conv_own.h"

#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

void conv_own_tensors(const struct kplan *k, enum conv_kind kind, const struct tensor *t[3])
{
	static const int place[][3] = {          /* indices of x, w and y among in[0], in[1], out[0] */
		[CONV_FORWARD] = { 0, 1, 2 }, [CONV_BACKWARD_DATA] = { 2, 1, 0 },
		[CONV_BACKWARD_WEIGHTS] = { 0, 2, 1 } };
	const tid arg[] = { k->n->in[0], k->n->in[1], k->n->out[0] };
	for (int i = 0; i < 3; i++)
		t[place[kind][i]] = graph_t(k->g, arg[i]);
}

bool conv_own_stride(const struct tensor *t, int64_t *stride)
{
	struct layout_rows rows;
	if (!layout_rows(&t->layout, &t->shape, &rows))
		return false;
	*stride = rows.stride;
	return true;
}

bool conv_own_in_place(const struct tensor *t)
{
	const int64_t pack = 16 / (int64_t)dtype_size(t->dtype);
	int64_t stride;
	return !view_is_strided(t) ||
	       (conv_own_stride(t, &stride) && stride % pack == 0 && t->view_at % pack == 0);
}

size_t conv_own_reserve(size_t *end, size_t bytes)
{
	const size_t at = *end;
	*end += (bytes + 255) / 256 * 256;
	return at;
}

#endif
