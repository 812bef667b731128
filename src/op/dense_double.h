/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Matrix products in float64 on the CPU; oneDNN has none. */
#ifndef DLX_OP_DENSE_DOUBLE_H
#define DLX_OP_DENSE_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

/* c (m, n) = a (m, k) b (k, n), c row-major. Element (i, j) of a is at i * a_stride[0] + j *
 * a_stride[1]; b_stride likewise. */
struct dense_double {
	int64_t m, n, k;
	int64_t a_stride[2], b_stride[2];
};

/* The name of the register tile that this processor's code uses, for --plan. */
const char *dense_double_name(void);
/* Bytes of the workspace ws. */
size_t dense_double_workspace(const struct dense_double *p);
/* Computes the product with all threads. bias: n values, the initial value of each row of c; NULL:
 * zeros. The bits of the result do not depend on the number of threads. */
void dense_double_run(const struct dense_double *p, const double *a, const double *b,
                      const double *bias, double *c, double *ws);

#endif
