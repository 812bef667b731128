/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small C interface to cuBLASLt: matrix products for dense layers and 1x1 convolutions. The
 * library is loaded at run time. */
#ifndef DLX_BACKEND_CUDA_CUBLAS_H
#define DLX_BACKEND_CUDA_CUBLAS_H

#include "backend/device.h"

struct cublas_plan;
struct wisdom;

int cublas_open(void **handle);
void cublas_close(void *handle);                         /* NULL is fine */

/* c (m, n) = a (m, k) * b (k, n) [+ bias (n)], element strides in rows and
 * columns, one of which must be 1 for a and b; c is row-major. type: of a and b; c_type: of c, the
 * same type or float32 (with a bias always float32). Sums are accumulated in float32. */
struct cublas_matmul {
	int64_t m, n, k;
	int64_t a_stride[2], b_stride[2], c_stride[2];
	enum dtype type, c_type;
	bool bias, tf32;
};
#define CUBLAS_WORKSPACE ((size_t)32 << 20)     /* bytes that NVIDIA advises for Hopper */
/* Uses the first algorithm that the library proposes, or, with wisdom (NULL: none), the fastest.
 * E_UNSUPPORTED with the reason. ws_limit: most bytes of workspace. For a described GPU, one that
 * is not present, the algorithm is unknown and ws_limit is taken as its workspace. */
int cublas_matmul_new(struct cublas_plan **out, const struct device *d, struct wisdom *wisdom,
                      const struct cublas_matmul *m, size_t ws_limit);
size_t cublas_plan_workspace(const struct cublas_plan *p);
/* "cublaslt:algo66"; lives as long as p. */
const char *cublas_plan_name(const struct cublas_plan *p);
/* The chosen algorithm, for tests on this machine (backend/proof/proof.h). Its name,
 * "cublaslt:3:algo66", lives as long as p. */
struct kernel_choice cublas_plan_choice(const struct cublas_plan *p);
/* bias: NULL if the plan has none. */
int cublas_plan_run(const struct cublas_plan *p, const void *a, const void *b, const void *bias,
                    void *c, void *ws);
void cublas_plan_free(struct cublas_plan *p);            /* NULL is fine */

#endif
