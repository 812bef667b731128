/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What batch normalisation and its fused forms share: shape rules, reference loops, and CPU loops.
 *
 * A fused form is  y = f((x - mean) * rstd * gamma + beta [+ residual])  with f(z) = z where z >= 0
 * and slope * z below. The gradient of z is that of y times f'(z), whose sign is had from z itself,
 * computed again from x, or from y: f keeps signs. */
#ifndef DLX_OP_NORM_NORM_H
#define DLX_OP_NORM_NORM_H

#include "graph/op.h"
#include "op/norm/norm_sync.h"

/* Attributes, of which each op has some. */
struct norm_attr {
	double eps;                  /* added to the variance before the root */
	double slope;                /* of f below zero; 1: none, 0: relu */
	int64_t group;               /* of the reducer of statistics; negative: of this rank alone */
	bool cut;                    /* the points of a sample are cut over ranks */
};
#define NORM_EPS FIELD_FLOAT(struct norm_attr, eps, "1e-5", 1e-12, 1, \
	"added to the variance before the root")
#define NORM_SLOPE FIELD_FLOAT(struct norm_attr, slope, "1", 0, 1e6, "factor for negative values")
#define NORM_GROUP                                          \
	FIELD_INT(struct norm_attr, group, "-1", -1, INT32_MAX, \
	          "group of the statistics' reducer; -1: alone"), \
	FIELD_BOOL(struct norm_attr, cut, "false", "the points of a sample are cut over ranks")

struct norm_through_attr {
	struct ints begin;           /* of each pair k1, k2: its channel that is x's first */
};

/* f: none, or with this slope below zero (0: relu). */
struct norm_act {
	bool on;
	double slope;
};

/* --- shape rules --- */

/* x is input 0, float of 2 to 5 axes. Input (output) i has its shape where bit i of like_in
 * (like_out) is set and else is a vector of its channels. Makes nout outputs. */
int norm_shape(struct graph *g, struct node *n, unsigned like_in, unsigned like_out, int nout);
/* For the forms that take the batch's statistics: a channel needs two values. */
int norm_check_batch(struct graph *g, const struct node *n);

/* --- cost --- */

void norm_cost(const struct graph *g, const struct node *n, struct cost *c);
void norm_inference_cost(const struct graph *g, const struct node *n, struct cost *c);

/* --- kernels ---
 *
 * Inputs and outputs, the same for plain and fused forms (a fused one may end in a residual):
 *   forward    x, gamma, beta [, residual]                 -> y, mean, rstd, variance
 *   inference  x, gamma, beta, mean, variance [, residual] -> y
 *   apply      x, gamma, beta, mean, rstd [, residual]     -> y: the bits of the forward form
 *   statistics x                                           -> mean, rstd, variance
 * Inference and apply are one function, with eps NORM_AGAIN for the latter. Forward and apply may
 * have one more output, on GPUs and in the reference: the signs of y. */
#define NORM_AGAIN (-1.0)

/* Signs of y, a bit for each value, 1 where that is above zero: u8, bit c % 8 of channel c / 8 is
 * of channel c of y, which has a multiple of 8. The shape rules of the last output, and of input
 * i. */
int norm_signs_shape(struct graph *g, struct node *n);
int norm_signs_check(struct graph *g, const struct node *n, int i);

/* Statistics are those of a group; NULL: of this rank. With a group the
 * workspace has 2 C doubles. */
int norm_sync_forward_reference(const struct kplan *k, const struct kargs *a, double eps,
                                struct norm_act f, const struct norm_sync *sync);
int norm_statistics_reference(const struct kplan *k, const struct kargs *a, double eps);
int norm_inference_reference(const struct kplan *k, const struct kargs *a, double eps,
                             struct norm_act f);

/* The source of z's sign. */
enum norm_mask { NORM_ALL, NORM_FROM_X, NORM_FROM_Y };

/* Gradients. Indices of the node's inputs; -1 or an absent input: none. Outputs 0, 1, 2 are dx,
 * dgamma, dbeta. */
struct norm_grad {
	int x, dy, gamma, mean, rstd;
	int beta;                /* NORM_FROM_X */
	int y;                   /* NORM_FROM_Y */
	bool signs;              /* the input y is the signs of y; not on CPUs */
	int addend;              /* added to dx */
	int second;              /* added to dy */
	int masked;              /* output: the gradient of z, which is the residual's; or -1 */
	struct norm_act f;
};
/* Through the statistics of a group, or of this rank (NULL). dgamma and dbeta are this rank's part,
 * as of every parameter. */
int norm_sync_grad_reference(const struct kplan *k, const struct kargs *a,
                             const struct norm_grad *g, const struct norm_sync *sync);

/* norm_grad_given: the gradient that takes mean and rstd as constants; its outputs are dx, dgamma,
 * dbeta, k1, k2. norm_grad_through: the rest of the gradient, which goes through the statistics: it
 * subtracts (x - mean) k2 + k1 from dx, for several norms of x at once. Its inputs are x, dx, mean,
 * k1, k2, k1, k2, ..., where channel 0 of x is channel begin[i] of the i-th k1 and k2. */
int norm_grad_given_reference(const struct kplan *k, const struct kargs *a,
                              const struct norm_grad *g);
int norm_grad_through_reference(const struct kplan *k, const struct kargs *a, const int64_t *begin);

/* CPU kernels: tensors are native or slices of channels, any mixture, and
 * f32 or all bf16. NORM_FROM_Y needs `masked`. */
int norm_plan(struct kplan *k);
int norm_statistics_cpu(const struct kplan *k, const struct kargs *a, double eps);
int norm_sync_forward_cpu(const struct kplan *k, const struct kargs *a, double eps,
                          struct norm_act f, const struct norm_sync *sync);
int norm_inference_cpu(const struct kplan *k, const struct kargs *a, double eps,
                       struct norm_act f);
int norm_sync_grad_cpu(const struct kplan *k, const struct kargs *a, const struct norm_grad *g,
                       const struct norm_sync *sync);
int norm_inference_grad_cpu(const struct kplan *k, const struct kargs *a, double eps);
int norm_grad_given_cpu(const struct kplan *k, const struct kargs *a, const struct norm_grad *g);
int norm_grad_through_cpu(const struct kplan *k, const struct kargs *a, const int64_t *begin);

/* The kernels of an op, by the functions id##reference, id##cpu and id##cuda and by which tensors
 * may be slices and bf16. */
#define NORM_KERNELS(id, plan_reference, in, out)                                          \
	.kernel = {                                                                        \
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = id##cpu, \
		                  .slice_in = in, .slice_out = out,                        \
		                  .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE },      \
		NORM_KERNEL_PAIR(id, plan_reference, in, out)                              \
	}
/* The same without the CPU's. */
#define NORM_GPU_KERNELS(id, plan_reference, in, out) \
	.kernel = { NORM_KERNEL_PAIR(id, plan_reference, in, out) }
#define NORM_KERNEL_PAIR(id, plan_reference, in, out)                                      \
	[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = plan_reference,               \
	                        .run = id##reference },                                    \
	CUDA_KERNEL(.layouts = KL_NATIVE, .plan = norm_cuda_plan, .run = id##cuda,         \
	            .slice_in = in, .slice_out = out,                                      \
	            .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE)

/* The same on the GPU. For a group: the group in the device's reducer of statistics, and a number
 * in the device's memory. */
int norm_cuda_plan(struct kplan *k);
int norm_forward_cuda(const struct kplan *k, const struct kargs *a, double eps, struct norm_act f);
int norm_inference_cuda(const struct kplan *k, const struct kargs *a, double eps,
                        struct norm_act f);
int norm_grad_cuda(const struct kplan *k, const struct kargs *a, const struct norm_grad *g);
int norm_sync_forward_cuda(const struct kplan *k, const struct kargs *a, double eps,
                           struct norm_act f, int group, const float *share);
int norm_sync_grad_cuda(const struct kplan *k, const struct kargs *a, const struct norm_grad *g,
                        int group, const float *share);
int norm_inference_grad_cuda(const struct kplan *k, const struct kargs *a, double eps);

#endif
