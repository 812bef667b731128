/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of a result in float32 or bf16. A kernel computes each row in float32: directly in the
 * result if that is float32, else in a buffer of its thread, which row_end rounds to bf16. Inputs
 * are converted where they are used (simd_get). */
#ifndef DLX_OP_LIB_ROW_H
#define DLX_OP_LIB_ROW_H

#include <stdbool.h>

#include "graph/op.h"

struct row_out {
	void *out;
	float *ws;
	int64_t length;              /* elements of a row */
	bool bf16;
};

/* Whether in[i] is bf16. */
bool row_bf16(const struct kplan *k, int i);
/* Bytes of workspace for the threads' row buffers; 0 if out[0] is not bf16. */
size_t row_workspace(const struct kplan *k, int64_t length);
struct row_out row_out_of(const struct kplan *k, const struct kargs *a, int64_t length);
/* row_begin returns the buffer in which to compute row i; row_end is called when it is complete. */
float *row_begin(const struct row_out *r, int64_t i);
void row_end(const struct row_out *r, int64_t i, const float *row);
/* The address of element i of an array of float32 or bf16. */
static inline const void *row_at(const void *p, bool bf16, int64_t i)
{
	return (const char *)p + i * (bf16 ? 2 : 4);
}

#endif
