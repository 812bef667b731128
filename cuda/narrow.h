/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of cuda/k_narrow.cu, as those of cuda/kernels.h. */
#ifndef DLX_CUDA_NARROW_H
#define DLX_CUDA_NARROW_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A convolution with windows of 3 x 3 or 5 x 5 of any depth, all strides and dilations 1, and what
 * follows it, as struct k_epilogue has it: y (n, out, co) = f((x * w) * scale + shift + addend). x:
 * (n, in, ci); w: (co, kernel, ci), or if turned (ci, kernel, co) of the convolution whose gradient
 * to the input this is: x is its dy, y its dx. lo: padding before x, of this convolution. Axes are
 * three, the absent ones first, of extent 1. ci and co are in eights, and so are the strides of the
 * rows, which are pixels; pointers are aligned to 16 bytes. type: of all tensors, f16 or bf16, but
 * for scale and shift, float32. At most 2^30 pixels by packs of 16 outputs. Compute capability 8.0
 * or later. */
struct k_narrow {
	int64_t n;
	int ci, co, type, turned;
	int in[3], out[3], kernel[3], lo[3];
	int processors;              /* multiprocessors, for the choice of a tile */
	struct k_rows x, y, addend, mask;        /* the last two may be absent */
	const float *scale, *shift;      /* or NULL */
	enum k_act act;
	float slope;
};
/* Whether the shape is one of these. */
int k_narrow_takes(const struct k_narrow *g);
int k_narrow_run(void *stream, const struct k_narrow *g, const void *w);

#ifdef __cplusplus
}
#endif
#endif
