/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The phases of images: pixels that are as far apart as a dilation, one behind the other. A thread
 * moves 16 bytes, neighbours those of a pixel, so that reads and writes are of whole pixels. */
#include "cuda/device.cuh"

int64_t k_phases_bytes(const struct k_phases *p)
{
	return p->n * p->phases[0] * p->part[0] * p->phases[1] * p->part[1] * p->bytes;
}

/* Where a part's pixel is in the whole. */
struct phase_pixel {
	int64_t at;
	bool there;
};

static __device__ __forceinline__ phase_pixel pixel_of(const k_phases &p, int64_t i)
{
	const uint64_t column = (uint64_t)i / (unsigned)p.part[1];
	const int w = (int)((uint64_t)i - column * (unsigned)p.part[1]);
	const uint64_t phases = column / (unsigned)p.part[0];
	const int h = (int)(column - phases * (unsigned)p.part[0]);
	const uint64_t down = phases / (unsigned)p.phases[1], n = down / (unsigned)p.phases[0];
	const int x = w * p.phases[1] + (int)(phases - down * (unsigned)p.phases[1]),
	          y = h * p.phases[0] + (int)(down - n * (unsigned)p.phases[0]);
	return { ((int64_t)n * p.size[0] + y) * p.size[1] + x, y < p.size[0] && x < p.size[1] };
}

template <bool GATHER> __global__ void phases(k_phases p, int64_t all, char *whole, char *parts)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	const unsigned packs = (unsigned)(p.bytes / 16);
	if (i >= all)
		return;
	const int64_t pixel = (int64_t)((uint64_t)i / packs), pack = i - pixel * packs;
	const phase_pixel from = pixel_of(p, pixel);
	char *const of_whole = whole + (from.there ? from.at * p.stride : 0) + pack * 16;
	char *const of_part = parts + i * 16;
	if (GATHER)
		*(uint4 *)of_part = from.there ? *(const uint4 *)of_whole : uint4{ 0, 0, 0, 0 };
	else if (from.there)
		*(uint4 *)of_whole = *(const uint4 *)of_part;
}

template <bool GATHER> static int run(void *stream, const k_phases *p, char *whole, char *parts)
{
	const int64_t all = k_phases_bytes(p) / 16;
	if (p->bytes % 16 || p->stride % 16)
		return cudaErrorInvalidValue;
	if (all)
		LAUNCH((phases<GATHER>), blocks_for(all, THREADS), THREADS, 0, stream, *p, all, whole,
		       parts);
	return cudaGetLastError();
}

int k_phases_gather(void *stream, const struct k_phases *p, const void *whole, void *parts)
{
	return run<true>(stream, p, (char *)whole, (char *)parts);
}

int k_phases_scatter(void *stream, const struct k_phases *p, const void *parts, void *whole)
{
	return run<false>(stream, p, (char *)whole, (char *)parts);
}
