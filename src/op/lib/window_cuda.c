/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pooling on the GPU: converts the windows to the arguments of cuda/k_window.cu. */
#include "op/lib/window_cuda.h"

#include "base/err.h"
#include "op/lib/cuda.h"

#ifdef HAVE_CUDA

int window_cuda_check(const struct kplan *k, const struct grid *g)
{
	if (g->n * grid_points(g) <= INT32_MAX)
		return 0;
	return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU takes up to %d pixels, not %lld",
	           k->n->op->name, INT32_MAX, (long long)(g->n * grid_points(g)));
}

static int check(struct kplan *k)
{
	const struct window *w = k->state;
	TRY(window_cuda_check(k, &w->in));
	return window_cuda_check(k, &w->out);
}

int window_cuda_plan(struct kplan *k)
{
	TRY(window_plan(k));
	return check(k);
}

int window_cuda_plan_grad(struct kplan *k)
{
	TRY(window_plan_grad(k));
	return check(k);
}

static struct k_window window_of(const struct kplan *k)
{
	const struct window *w = k->state;
	struct k_window out = { .n = w->in.n, .c = w->in.c, .count_padding = w->count_padding };
	for (int a = 0; a < 3; a++) {
		out.in[a] = (int)w->in.d[a];
		out.out[a] = (int)w->out.d[a];
		out.k[a] = (int)w->k[a];
		out.s[a] = (int)w->s[a];
		out.lo[a] = (int)w->lo[a];
	}
	return out;
}

static int wide(const struct kplan *k, tid t)
{
	return t != NONE && graph_t(k->g, t)->dtype != DTYPE_U8;
}

int max_pool_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_window w = window_of(k);
	return cuda_launched(k, k_max_pool(cuda_stream(k->dev), cuda_in_type(k, 0), &w, a->in[0],
	                                   a->out[0], wide(k, k->n->out[1]), a->out[1]));
}

int max_pool_grad_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_window w = window_of(k);
	return cuda_launched(k, k_max_pool_grad(cuda_stream(k->dev), cuda_in_type(k, 0), &w, a->in[0],
	                                        wide(k, k->n->in[1]), a->in[1], a->out[0]));
}

int max_pool_gather_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_window w = window_of(k);
	return cuda_launched(k, k_max_pool_gather(cuda_stream(k->dev), cuda_in_type(k, 0), &w, a->in[0],
	                                          wide(k, k->n->in[1]), a->in[1], a->out[0]));
}

int average_pool_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_window w = window_of(k);
	return cuda_launched(k, k_average_pool(cuda_stream(k->dev), cuda_in_type(k, 0), &w, a->in[0],
	                                       a->out[0]));
}

int average_pool_grad_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_window w = window_of(k);
	return cuda_launched(k, k_average_pool_grad(cuda_stream(k->dev), cuda_in_type(k, 0), &w,
	                                            a->in[0], a->out[0]));
}

#endif
