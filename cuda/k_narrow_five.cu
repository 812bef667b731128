/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of cuda/narrow.cuh with 5 x 5 windows, in a file of their own to limit compile
 * time. */
#include "cuda/narrow.cuh"

int narrow_five(void *stream, const k_narrow &g, const void *w)
{
	return g.type == K_TYPE_F16 ? narrow_run<__half, 5>(stream, g, w) :
	       narrow_run<__nv_bfloat16, 5>(stream, g, w);
}
