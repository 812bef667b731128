/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of the kernels in cuda/k_group_norm.cu, for sets of values as op/norm/group_norm.h has
 * them. The rules of cuda/kernels.h hold for them. */
#ifndef DLX_CUDA_GROUP_NORM_H
#define DLX_CUDA_GROUP_NORM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct k_group_norm {
	int64_t samples, rows, c, across, width;
	int type;
	double eps;
};
/* gamma, beta, mean and rstd may be NULL; y may be x. */
int k_group_norm_forward(void *stream, const struct k_group_norm *n, const void *x,
                         const float *gamma, const float *beta, void *y, float *mean, float *rstd);
/* What the gradient reads; gamma may be NULL. */
struct k_group_norm_in {
	const void *x, *dy;
	const float *mean, *rstd, *gamma;
};
/* dgamma and dbeta may be NULL; dx may be x or dy. ws: k_group_norm_workspace bytes, computed for
 * all rows. */
int k_group_norm_backward(void *stream, const struct k_group_norm *n,
                          const struct k_group_norm_in *in, void *dx, float *dgamma, float *dbeta,
                          void *ws);
int64_t k_group_norm_workspace(int64_t rows, int64_t c);

/* The same if the rows of each sample are divided among ranks. `give` writes this rank's message, 1
 * double and 2 for each set; the caller sums the messages over the ranks; `take` computes the
 * result from the sum. dgamma and dbeta are this rank's contributions. */
int k_group_norm_forward_give(void *stream, const struct k_group_norm *n, const void *x,
                              double *message);
int k_group_norm_forward_take(void *stream, const struct k_group_norm *n, const void *x,
                              const float *gamma, const float *beta, const double *message,
                              void *y, float *mean, float *rstd);
int k_group_norm_backward_give(void *stream, const struct k_group_norm *n,
                               const struct k_group_norm_in *in, double *message, float *dgamma,
                               float *dbeta, void *ws);
int k_group_norm_backward_take(void *stream, const struct k_group_norm *n,
                               const struct k_group_norm_in *in, const double *message, void *dx);

#ifdef __cplusplus
}
#endif
#endif
