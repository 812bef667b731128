/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sum of x over the ranks that share a sample (its group, pass/partition.h); each of them gets
 * it. It completes a sum or mean over positions that are divided among ranks. A sum over ranks is
 * its own transpose, so its gradient is the same op. It is for few numbers, and sums in double. */
#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/walk.h"
#include "op/norm/norm_sync.h"

struct place_sum {
	int64_t group;
};

static const struct field fields[] = {
	FIELD_INT(struct place_sum, group, "-1", -1, INT32_MAX,
	          "group of the statistics' reducer; -1: alone"),
	FIELD_END
};

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return dy[0] == NONE ? 0 : graph_emit1(g, "place_sum", n->attr, 1, dy, &dx[0]);
}

/* The message consists of pairs of doubles; x may have an odd number of elements. */
static int64_t pairs(const struct kplan *k)
{
	return (shape_count(node_in_shape(k->g, k->n, 0)) + 1) / 2;
}

static int plan(struct kplan *k)
{
	k->ws_bytes = 2 * sizeof(double) * (size_t)pairs(k);
	return 0;
}

static int run(const struct kplan *k, const struct kargs *a)
{
	const struct norm_sync t = norm_sync_of(a, ((const struct place_sum *)k->n->attr)->group);
	const int64_t n = shape_count(node_in_shape(k->g, k->n, 0));
	const bool wide = backend_is_double(k->dev->backend);
	double *v = a->ws, unused = 1;
	v[2 * pairs(k) - 1] = 0;
	for (int64_t i = 0; i < n; i++)
		v[i] = wide ? ((const double *)a->in[0])[i] : (double)((const float *)a->in[0])[i];
	TRY(norm_sync_sums(&t, pairs(k), v, &unused));
	for (int64_t i = 0; i < n; i++)
		if (wide)
			((double *)a->out[0])[i] = v[i];
		else
			((float *)a->out[0])[i] = (float)v[i];
	return 0;
}

/* --- cuda kernel --- */

#ifdef HAVE_CUDA
/* Without a reducer the message is in the workspace. */
static int cuda_plan(struct kplan *k)
{
	k->ws_bytes = sizeof(double) * (size_t)norm_sync_message(pairs(k));
	return 0;
}

static int cuda(const struct kplan *k, const struct kargs *a)
{
	const struct norm_sync t = norm_sync_of(a, ((const struct place_sum *)k->n->attr)->group);
	const int64_t n = shape_count(node_in_shape(k->g, k->n, 0));
	double *message = norm_sync_memory(&t, a->ws);
	TRY(cuda_launched(k, k_sum_give(cuda_stream(k->dev), n, a->in[0], message)));
	TRY(norm_sync_meet(&t));
	return cuda_launched(k, k_sum_take(cuda_stream(k->dev), n, message, a->out[0]));
}
#endif

static const char *const samples[] = { "2x3", "2x5x1x1", "s", "7; group: -1", "3x300; group: 0",
	                                   NULL };

static const struct op op_place_sum = {
	.name = "place_sum",
	.doc = "the sum over the ranks that a sample is cut over",
	.flags = OP_MEET,
	.min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct place_sum), .attrs = fields,
	.shape = walk_shape, .grad = grad, .cost = walk_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = plan, .run = run),
		[BACKEND_CPU] = { .layouts = KL_PLAIN, .plan = plan, .run = run },
		CUDA_KERNEL(.layouts = KL_PLAIN, .plan = cuda_plan, .run = cuda)
	},
	.samples = samples,
};

OPSET(place_sum, &op_place_sum);
