/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions with few channels, by the kernel of cuda/narrow.cuh: the supported shapes, and
 * windows of 3 x 3. */
#include "cuda/narrow.cuh"

int k_narrow_takes(const struct k_narrow *g)
{
	int64_t pixels = g->n;
	for (int a = 0; a < 3 && pixels <= INT32_MAX; a++)
		pixels *= g->in[a] > g->out[a] ? g->in[a] : g->out[a];
	return (g->type == K_TYPE_BF16 || g->type == K_TYPE_F16) && g->kernel[1] == g->kernel[2] &&
	       (g->kernel[1] == 3 || g->kernel[1] == 5) && g->ci % 8 == 0 && g->co % 8 == 0 &&
	       pixels <= INT32_MAX / 2 / (g->co / 16 + 1);
}

int k_narrow_run(void *stream, const struct k_narrow *g, const void *w)
{
	if (!k_narrow_takes(g) || !are_aligned(*g, w))
		return cudaErrorInvalidValue;
	if (g->n * g->co * g->out[0] * g->out[1] * g->out[2] == 0)
		return 0;
	return g->kernel[1] == 5 ? narrow_five(stream, *g, w) : g->type == K_TYPE_F16 ?
	       narrow_run<__half, 3>(stream, *g, w) : narrow_run<__nv_bfloat16, 3>(stream, *g, w);
}
