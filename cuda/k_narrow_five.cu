/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows of 5 x 5 of cuda/narrow.cuh, in a file of their own for the sake of the compiler's
 * time. */
#include "cuda/narrow.cuh"

int narrow_five(void *stream, const k_narrow &g, const void *w)
{
	return g.type == K_TYPE_F16 ? narrow_run<__half, 5>(stream, g, w) :
	       narrow_run<__nv_bfloat16, 5>(stream, g, w);
}
