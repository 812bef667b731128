/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Products of matrices in float64 on the CPU, for which oneDNN has no code. */
#ifndef DLX_OP_DENSE_DOUBLE_H
#define DLX_OP_DENSE_DOUBLE_H

#include <stddef.h>
#include <stdint.h>

/* c (m, n), row-major, = a (m, k) b (k, n): element (i, j) of a is at i * a_stride[0] + j *
 * a_stride[1], and so for b. */
struct dense_double {
	int64_t m, n, k;
	int64_t a_stride[2], b_stride[2];
};

/* The tile that this processor multiplies by, for --plan. */
const char *dense_double_name(void);
/* Bytes of ws. */
size_t dense_double_workspace(const struct dense_double *p);
/* By all threads. bias: n values that each row of c begins with; NULL: 0. The bits do not depend on
 * the number of threads. */
void dense_double_run(const struct dense_double *p, const double *a, const double *b,
                      const double *bias, double *c, double *ws);

#endif
