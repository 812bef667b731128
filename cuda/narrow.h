/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of the kernels in cuda/k_narrow.cu. The rules of cuda/kernels.h hold for them. */
#ifndef DLX_CUDA_NARROW_H
#define DLX_CUDA_NARROW_H

#include "cuda/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A convolution with 3 x 3 or 5 x 5 windows of any depth, strides and dilations 1, and its epilogue
 * (struct k_epilogue): y (n, out, co) = f((x * w) * scale + shift + addend). x: (n, in, ci); w:
 * (co, kernel, ci). If `turned` is set, this is the gradient to the input of another convolution,
 * whose weights are (ci, kernel, co): x is that convolution's dy and y its dx. lo: padding before
 * x. There are three axes; absent ones come first and have extent 1. ci, co and the strides of rows
 * (pixels) are multiples of 8; pointers are aligned to 16 bytes. type: f16 or bf16, the type of all
 * tensors except scale and shift, which are float32. Pixels times packs of 16 output channels are
 * at most 2^30. The kernels need compute capability 8.0 or later. */
struct k_narrow {
	int64_t n;
	int ci, co, type, turned;
	int in[3], out[3], kernel[3], lo[3];
	int processors;              /* multiprocessors of the GPU, for the choice of a tile */
	struct k_rows x, y, addend, mask;        /* addend and mask may be absent */
	const float *scale, *shift;      /* vectors of co values; may be NULL */
	enum k_act act;
	float slope;
};
/* Whether the kernels accept this shape. */
int k_narrow_takes(const struct k_narrow *g);
int k_narrow_run(void *stream, const struct k_narrow *g, const void *w);

#ifdef __cplusplus
}
#endif
#endif
