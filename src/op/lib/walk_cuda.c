/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise loops on the GPU: over contiguous elements or, if a tensor is a view, by rows. */
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

static int64_t stride_of(const struct tensor *t)
{
	struct layout_rows rows;
	return layout_rows(&t->layout, &t->shape, &rows) ? rows.stride : 0;
}

/* The tensors in the loop: the inputs of out[0]'s shape, then out[0]. */
static int walked(const struct kplan *k, const struct tensor **t)
{
	const struct tensor *y = graph_t(k->g, k->n->out[0]);
	int n = 0;
	for (int i = 0; i < k->n->nin && n < 2; i++)
		if (k->n->in[i] != NONE && shape_equal(&graph_t(k->g, k->n->in[i])->shape, &y->shape))
			t[n++] = graph_t(k->g, k->n->in[i]);
	t[n++] = y;
	return n;
}

int cuda_walk_plan(struct kplan *k)
{
	const struct tensor *t[3];
	struct k_walk w = { 0 };
	int64_t *const stride[] = { &w.x, &w.y, &w.z };
	const int n = walked(k, t);
	bool any = false;
	for (int i = 0; i < n; i++)
		any = any || view_is_strided(t[i]);
	k->state = NULL;
	if (!any)
		return 0;
	for (int i = 0; i < n; i++)
		*stride[i] = stride_of(t[i]);
	w.n = shape_count(&t[0]->shape);
	w.c = t[0]->shape.d[1];
	k->state = arena_copy(k->arena, &w, sizeof w);
	return 0;
}

struct k_walk cuda_walk(const struct kplan *k)
{
	return k->state ? *(const struct k_walk *)k->state : (struct k_walk){
		.n = kplan_out_elements(k, 0) };
}

#endif
