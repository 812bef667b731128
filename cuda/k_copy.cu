/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Strided copies. A thread moves one unit; its index is divided along the axes, the last one
 * fastest, so that adjacent threads write adjacent units. If x and y have different fastest axes (a
 * transposition), writes are whole cache lines, and the cache helps the reads. */
#include "cuda/device.cuh"

template <typename T, typename I>
__global__ void copy(struct k_copy c, I n, const T *x, T *y)
{
	BEGIN_KERNEL();
	I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	int64_t from = 0, to = 0;
#pragma unroll
	for (int d = K_AXES - 1; d >= 0; d--) {
		if (d >= c.nd)
			continue;
		I size = (I)c.d[d], q = i / size, r = i - q * size;
		from += (int64_t)r * c.in[d];
		to += (int64_t)r * c.out[d];
		i = q;
	}
	y[to] = x[from];
}

template <typename T>
static int run(void *stream, const struct k_copy *c, const void *x, void *y)
{
	int64_t n = 1;
	for (int d = 0; d < c->nd; d++)
		n *= c->d[d];
	if (n <= INT32_MAX)
		LAUNCH((copy<T, uint32_t>), blocks_for(n, THREADS), THREADS, 0, stream, *c, (uint32_t)n,
		       (const T *)x, (T *)y);
	else
		LAUNCH((copy<T, int64_t>), blocks_for(n, THREADS), THREADS, 0, stream, *c, n, (const T *)x,
		       (T *)y);
	return cudaGetLastError();
}

int k_copy(void *stream, int unit, const struct k_copy *c, const void *x, void *y)
{
	switch (unit) {
	case 1: return run<uint8_t>(stream, c, x, y);
	case 2: return run<uint16_t>(stream, c, x, y);
	case 4: return run<uint32_t>(stream, c, x, y);
	case 8: return run<uint2>(stream, c, x, y);
	case 16: return run<uint4>(stream, c, x, y);
	}
	return cudaErrorInvalidValue;
}
