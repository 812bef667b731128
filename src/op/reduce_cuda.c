/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions on the GPU: converts the loop nests of op/reduce.c to the arguments of
 * cuda/k_reduce.cu. */
#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/reduce.h"

#ifdef HAVE_CUDA

_Static_assert(K_LEVELS == MAXD, "cuda/kernels.h has other axes");

static void copy_nest(struct k_nest *to, const struct nest *from)
{
	to->n = from->n;
	to->count = from->count;
	for (int i = 0; i < from->n; i++) {
		to->size[i] = from->size[i];
		to->x[i] = from->x[i];
		to->y[i] = from->y[i];
	}
}

static struct k_reduce *reduction_of(struct kplan *k, tid y, bool columns)
{
	struct k_reduce *r = ARENA_NEW(k->arena, struct k_reduce);
	struct nest kept = { 0 }, summed = { 0 };
	reduce_nests(k, y, &kept, &summed);
	r->columns = 1;
	if (columns && kept.n && kept.x[kept.n - 1] == 1) {
		r->columns = kept.size[kept.n - 1];
		r->column_y = kept.y[kept.n - 1];
		nest_pop(&kept);
	}
	copy_nest(&r->kept, &kept);
	copy_nest(&r->summed, &summed);
	r->factor = 1;
	return r;
}

static int plan(struct kplan *k, bool mean, bool max)
{
	struct k_reduce *r = k->state = reduction_of(k, k->n->out[0], true);
	r->max = max;
	if (mean)
		r->factor = 1 / (double)r->summed.count;
	if (r->kept.count * r->columns > INT32_MAX)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU makes up to %d results",
		           k->n->op->name, INT32_MAX);
	k->ws_bytes = (size_t)k_reduce_workspace(r);
	return 0;
}

int sum_cuda_plan(struct kplan *k)
{
	return plan(k, false, false);
}

int mean_cuda_plan(struct kplan *k)
{
	return plan(k, true, false);
}

int max_cuda_plan(struct kplan *k)
{
	return plan(k, false, true);
}

int reduce_cuda(const struct kplan *k, const struct kargs *a)
{
	return cuda_launched(k,
	                     k_reduce_run(cuda_stream(k->dev), cuda_in_type(k, 0), cuda_out_type(k, 0),
	                                  k->state, a->in[0], a->out[0], a->ws));
}

int max_grad_cuda_plan(struct kplan *k)
{
	struct k_reduce *r = k->state = reduction_of(k, k->n->in[1], false);
	if (r->kept.count > INT32_MAX)
		return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the GPU makes up to %d results",
		           k->n->op->name, INT32_MAX);
	return 0;
}

int max_grad_cuda(const struct kplan *k, const struct kargs *a)
{
	return cuda_launched(k, k_max_grad(cuda_stream(k->dev), cuda_in_type(k, 0), k->state, a->in[0],
	                                   a->in[1], a->out[0]));
}

#endif
