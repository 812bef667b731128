/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Declarations shared by batch normalisation and its fused forms: shape rules, reference loops, and
 * CPU loops.
 *
 * A fused form is y = f((x - mean) * rstd * gamma + beta [+ residual]), where f(z) = z for z >= 0
 * and slope * z below. Call the argument of f z. The gradient of z is dy times f'(z), which needs
 * the sign of z. That is recomputed from x or, since f preserves signs, read from y. */
#ifndef DLX_OP_NORM_NORM_H
#define DLX_OP_NORM_NORM_H

#include "graph/op.h"
#include "op/norm/norm_sync.h"

/* Attributes; each op has some of them. */
struct norm_attr {
	double eps;                  /* added to the variance before the square root */
	double slope;                /* slope of f below zero; 1: f is the identity, 0: ReLU */
	int64_t group;               /* index in the reducer of statistics; negative: statistics of this
	                              * rank only */
	bool cut;                    /* the points of a sample are divided among ranks */
};
#define NORM_EPS FIELD_FLOAT(struct norm_attr, eps, "1e-5", 1e-12, 1, \
	"added to the variance before the root")
#define NORM_SLOPE FIELD_FLOAT(struct norm_attr, slope, "1", 0, 1e6, "factor for negative values")
#define NORM_GROUP                                          \
	FIELD_INT(struct norm_attr, group, "-1", -1, INT32_MAX, \
	          "group of the statistics' reducer; -1: alone"), \
	FIELD_BOOL(struct norm_attr, cut, "false", "the points of a sample are cut over ranks")

struct norm_through_attr {
	struct ints begin;           /* for each pair k1, k2: the channel of the pair that belongs to
	                              * channel 0 of x */
};

/* f: the identity unless `on`; else it multiplies negative values by slope (0: ReLU). */
struct norm_act {
	bool on;
	double slope;
};

/* --- shape rules --- */

/* The shape rule. x is input 0, a float tensor of 2 to 5 axes. Input i has the shape of x if bit i
 * of like_in is set, else it is a vector over the channels; like_out has the same meaning for
 * outputs. The rule makes nout outputs. */
int norm_shape(struct graph *g, struct node *n, unsigned like_in, unsigned like_out, int nout);
/* For forms that compute the batch's statistics: fails if a channel has fewer than two values. */
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

/* The tensor `signs`: one bit for each value of y, 1 if it is above zero. It is u8; channel c is
 * bit c % 8 of byte c / 8. The number of channels is a multiple of 8. These are the shape rules of
 * the last output and of input i. */
int norm_signs_shape(struct graph *g, struct node *n);
int norm_signs_check(struct graph *g, const struct node *n, int i);

/* sync: the group of ranks whose statistics are combined; NULL: this rank only. With a group the
 * workspace has 2 C doubles. */
int norm_sync_forward_reference(const struct kplan *k, const struct kargs *a, double eps,
                                struct norm_act f, const struct norm_sync *sync);
int norm_statistics_reference(const struct kplan *k, const struct kargs *a, double eps);
int norm_inference_reference(const struct kplan *k, const struct kargs *a, double eps,
                             struct norm_act f);

/* The source of the sign of z: not needed (ALL), recomputed from x, or read from y. */
enum norm_mask { NORM_ALL, NORM_FROM_X, NORM_FROM_Y };

/* The operands of a gradient, as indices of the node's inputs; -1: none. Outputs 0, 1 and 2 are dx,
 * dgamma and dbeta. */
struct norm_grad {
	int x, dy, gamma, mean, rstd;
	int beta;                /* read for NORM_FROM_X */
	int y;                   /* read for NORM_FROM_Y */
	bool signs;              /* input y holds the signs of y only; GPU and reference only */
	int addend;              /* added to dx */
	int second;              /* added to dy */
	int masked;              /* index of an output: the gradient of z, which is also the residual's
	                          * gradient; -1: none */
	struct norm_act f;
};
/* The gradient, including its part through the statistics of a group of ranks (sync), or of this
 * rank (NULL). dgamma and dbeta are this rank's contributions, as for every parameter. */
int norm_sync_grad_reference(const struct kplan *k, const struct kargs *a,
                             const struct norm_grad *g, const struct norm_sync *sync);

/* norm_grad_given: the gradient that takes mean and rstd as constants; its outputs are dx, dgamma,
 * dbeta, k1, k2. norm_grad_through: the rest of the gradient, which goes through the statistics: it
 * subtracts (x - mean) k2 + k1 from dx, for several norms of x at once. Its inputs are x, dx, mean,
 * k1, k2, k1, k2, ..., where channel 0 of x is channel begin[i] of the i-th k1 and k2. */
int norm_grad_given_reference(const struct kplan *k, const struct kargs *a,
                              const struct norm_grad *g);
int norm_grad_through_reference(const struct kplan *k, const struct kargs *a, const int64_t *begin);

/* CPU kernels. Any tensor may be native or a slice of channels; all are f32, or all bf16.
 * NORM_FROM_Y needs `masked`. */
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

/* The three kernel records of an op: the functions id##reference, id##cpu and id##cuda, and masks
 * of the tensors that may be slices and bf16. */
#define NORM_KERNELS(id, plan_reference, in, out)                                          \
	.kernel = {                                                                        \
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = norm_plan, .run = id##cpu, \
		                  .slice_in = in, .slice_out = out,                        \
		                  .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE },      \
		NORM_KERNEL_PAIR(id, plan_reference, in, out)                              \
	}
/* The same without a CPU kernel. */
#define NORM_GPU_KERNELS(id, plan_reference, in, out) \
	.kernel = { NORM_KERNEL_PAIR(id, plan_reference, in, out) }
#define NORM_KERNEL_PAIR(id, plan_reference, in, out)                                      \
	[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = plan_reference,               \
	                        .run = id##reference },                                    \
	CUDA_KERNEL(.layouts = KL_NATIVE, .plan = norm_cuda_plan, .run = id##cuda,         \
	            .slice_in = in, .slice_out = out,                                      \
	            .bf16_in = in, .bf16_out = out, .bf16 = KB_ALIKE)

/* The same functions on the GPU. With a group of ranks: `group` is its index in the device's
 * reducer of statistics, and share a number in device memory. */
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
