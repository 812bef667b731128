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
/* gamma, dgamma and dbeta may be NULL; dx may be x or dy. ws: k_group_norm_workspace bytes,
 * computed for all rows. */
int k_group_norm_backward(void *stream, const struct k_group_norm *n, const void *x, const void *dy,
                          const float *mean, const float *rstd, const float *gamma, void *dx,
                          float *dgamma, float *dbeta, void *ws);
int64_t k_group_norm_workspace(int64_t rows, int64_t c);

#ifdef __cplusplus
}
#endif
#endif
