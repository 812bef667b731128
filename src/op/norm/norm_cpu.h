/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the CPU kernels of normalisation: blocks of rows, the workspace, and the loop of the
 * forward pass, which also computes the gradient for constant statistics. */
#ifndef DLX_OP_NORM_NORM_CPU_H
#define DLX_OP_NORM_NORM_CPU_H

#include "base/simd.h"
#include "op/norm/norm.h"

#define NORM_FORK 16384 /* elements below which starting threads costs more than it gains */
#define NORM_JOIN 64      /* channels whose partial sums one task combines */

enum { NORM_MAX_IN = 10, NORM_MAX_OUT = 5 };    /* any input after these is a vector */

struct norm_blocks {
	int64_t rows, c;             /* the matrix: rows are pixels, columns are channels */
	int64_t block, n;            /* rows of a block; number of blocks */
	int64_t in[NORM_MAX_IN];     /* elements from row to row, for each input */
	int64_t out[NORM_MAX_OUT];
	bool bf16;                   /* all matrices are bf16 */
};

/* A matrix by its first element and the elements from row to row; p is NULL if the tensor is
 * absent. */
struct norm_source {
	const void *p;
	int64_t stride;
};
struct norm_sink {
	void *p;
	int64_t stride;
};

static inline struct norm_source norm_source(const struct kplan *k, const struct kargs *a, int i)
{
	const struct norm_blocks *b = k->state;
	if (i < 0 || i >= k->n->nin)
		return (struct norm_source){ 0 };
	return (struct norm_source){ a->in[i], b->in[i] };
}

static inline struct norm_sink norm_sink(const struct kplan *k, const struct kargs *a, int i)
{
	const struct norm_blocks *b = k->state;
	return i < 0 ? (struct norm_sink){ 0 } : (struct norm_sink){ a->out[i], b->out[i] };
}

static inline float *norm_vector(const struct norm_blocks *b, void *ws, int i)
{
	return (float *)((double *)ws + 2 * b->c) + i * b->c;
}

/* The partial statistics of block i: shift, s1 and s2, c floats each. */
static inline float *norm_part(const struct norm_blocks *b, void *ws, int64_t i)
{
	return norm_vector(b, ws, 4) + i * 3 * b->c;
}

static inline int64_t norm_begin(const struct norm_blocks *b, int64_t i)
{
	return i * b->block;
}

static inline int64_t norm_end(const struct norm_blocks *b, int64_t i)
{
	return i + 1 < b->n ? (i + 1) * b->block : b->rows;
}

/* Calls f(arg, i) for every block. Each thread takes adjacent blocks, in ascending order or (down)
 * in descending order. */
void norm_each_block(const struct norm_blocks *b, bool down, void (*f)(const void *arg, int64_t i),
                     const void *arg);

/* v if all bits of keep are set; +0 if keep is 0, even for NaN and infinity. */
SIMD_INLINE float norm_kept(float v, uint32_t keep)
{
	return simd_float(simd_bits(v) & keep);
}

SIMD_INLINE uint32_t norm_keep(const struct norm_act *f)
{
	return f->slope != 0 ? 0xFFFFFFFFu : 0;
}

/* y = f((x - mean) * scale + beta [+ residual]) */
struct norm_map {
	const struct norm_blocks *b;
	struct norm_source x, residual;
	struct norm_sink y;
	const float *mean, *scale, *beta;
	struct norm_act f;
};

/* Processes block i of a struct norm_map. */
void norm_map_block(const void *arg, int64_t i);

#endif
