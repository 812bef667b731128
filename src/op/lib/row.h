/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of results that are float32 or bf16: a kernel makes each in float32, in place or in a row of
 * its thread's, which is rounded when it is done. What the kernel reads it widens where it is
 * (simd_get). */
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
/* Workspace for rows of out[0], if it is bf16. */
size_t row_workspace(const struct kplan *k, int64_t length);
struct row_out row_out_of(const struct kplan *k, const struct kargs *a, int64_t length);
/* Row i of the result: where to make it, and when it is made. */
float *row_begin(const struct row_out *r, int64_t i);
void row_end(const struct row_out *r, int64_t i, const float *row);
/* Element i of floats, or of bf16. */
static inline const void *row_at(const void *p, bool bf16, int64_t i)
{
	return (const char *)p + i * (bf16 ? 2 : 4);
}

#endif
