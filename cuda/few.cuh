/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What k_few.cu and k_few_weights.cu share: tiles of y, and the pixels of x under their windows,
 * which a block copies to shared memory, each pixel padded to four channels (8 bytes). Blocks stay
 * and go through tiles; while they compute with one, the next one's pixels are on their way. */
#ifndef DLX_CUDA_FEW_CUH
#define DLX_CUDA_FEW_CUH

#include "cuda/few.h"
#include "cuda/mma.cuh"

constexpr int FEW_THREADS = 128, FEW_WARPS = FEW_THREADS / 32;
constexpr int GROUP = 32;            /* channels of y that a warp has */
#ifdef DLX_CUDA_EMULATED
constexpr int PROCESSORS = 2, FEW_PIXELS = 64;   /* so that small tensors have several tiles */
#else
constexpr int PROCESSORS = 132, FEW_PIXELS = 1024;       /* as an H100 has */
#endif

/* Blocks that go through so many tiles, `each` of them on a processor at a time: as few as do it in
 * as many rounds. `copies` times as many are launched. */
static inline int blocks_through(int tiles, int each, int copies)
{
	const int fit = PROCESSORS * each / copies, most = fit > 1 ? fit : 1,
	          rounds = (tiles + most - 1) / most;
	return (tiles + rounds - 1) / rounds;
}

/* Runs the statement with T the 16-bit type that `type` names. */
#define HALF_TYPES(type, T, ...)                                                         \
	switch (type) {                                                                  \
	case K_TYPE_F16: { using T = __half; __VA_ARGS__; break; }                            \
	case K_TYPE_BF16: { using T = __nv_bfloat16; __VA_ARGS__; break; }                    \
	default: return cudaErrorInvalidValue;                                           \
	}

/* Tiles of y, and where the pixels under one lie in shared memory. */
struct few_tile {
	int log[3];                  /* of its pixels along each axis */
	int tiles[3];
	int under[3];                /* pixels of x, of which those of a row are copied */
	int pitch, plane;            /* from row to row, and from plane to plane */
	int whole;                   /* a pixel of x is 8 aligned bytes */
	int all;                     /* tiles; 0: no tile has room */
};

/* How the copies lie. */
struct few_room {
	int unit;                    /* tiles are that wide, or a multiple */
	int taps;                    /* along a row, those that are only read included */
	int step, rest;              /* pitch and plane are `rest` modulo `step` */
	int pixels;                  /* that there is room for */
};

static inline int rounded(int n, const few_room &r)
{
	return n + (r.step + (r.rest - n) % r.step) % r.step;
}

static inline void lay_out(const k_few &g, const few_room &r, few_tile *a)
{
	for (int i = 0; i < 3; i++) {
		const int size = 1 << a->log[i];
		a->tiles[i] = (g.out[i] + size - 1) / size;
		a->under[i] = (size - 1) * g.stride[i] + (i == 2 ? r.taps : g.kernel[i]);
	}
	a->pitch = rounded(a->under[2], r);
	a->plane = rounded(a->under[1] * a->pitch, r);
}

/* The tiles for which the least is to be done. Copying a pixel is taken to be a quarter of the work
 * for one of y, the beginning of a tile that for 50 of them. */
static inline few_tile tile_of(const k_few &g, const few_room &r)
{
	few_tile best = {}, a = {};
	double least = 0;
	int narrowest = 0;
	while (1 << narrowest < r.unit)
		narrowest++;
	for (a.log[0] = 0; a.log[0] <= 3; a.log[0]++)
		for (a.log[1] = 0; a.log[1] <= 6; a.log[1]++)
			for (a.log[2] = narrowest; a.log[2] <= 10; a.log[2]++) {
				const int pixels = 1 << (a.log[0] + a.log[1] + a.log[2]);
				lay_out(g, r, &a);
				const int copied = a.under[0] * a.plane;
				const double tiles = (double)g.n * a.tiles[0] * a.tiles[1] * a.tiles[2],
				             work = tiles * (pixels + 0.25 * copied + 50);
				if (pixels > (FEW_PIXELS > r.unit ? FEW_PIXELS : r.unit) || copied > r.pixels ||
				    tiles > 1 << 30 || (best.all && work >= least))
					continue;
				best = a;
				best.all = (int)tiles;
				least = work;
			}
	best.whole = g.few == 4 && g.x.stride % 4 == 0 && (uintptr_t)g.x.p % 8 == 0;
	return best;
}

/* Which tile number u is: of sample n, and along each axis. */
static __device__ __forceinline__ void tile_number(const int *tiles, int u, int *n, int (&at)[3])
{
	const unsigned across = (unsigned)u / (unsigned)tiles[2],
	               down = across / (unsigned)tiles[1], deep = down / (unsigned)tiles[0];
	*n = (int)deep;
	at[0] = (int)(down - deep * (unsigned)tiles[0]);
	at[1] = (int)(across - down * (unsigned)tiles[1]);
	at[2] = (int)((unsigned)u - across * (unsigned)tiles[2]);
}

/* Where tile u begins: a pixel of y. */
struct few_place {
	int n, at[3];
};

static __device__ __forceinline__ few_place place_of(const few_tile &a, int u)
{
	few_place p;
	tile_number(a.tiles, u, &p.n, p.at);
	for (int i = 0; i < 3; i++)
		p.at[i] <<= a.log[i];
	return p;
}

/* The pixels of a box with the given sizes, dealt to threads: number i, i + threads, ... */
struct few_walk {
	int d, h, w;
};

static __device__ __forceinline__ few_walk walk_from(const int *size, int i)
{
	const int row = i / size[2];
	return { row / size[1], row % size[1], i % size[2] };
}

/* by: walk_from threads. */
static __device__ __forceinline__ void walk_on(const int *size, const few_walk &by, few_walk *e)
{
	e->w += by.w;
	e->h += by.h;
	e->d += by.d;
	if (e->w >= size[2]) {
		e->w -= size[2];
		e->h++;
	}
	if (e->h >= size[1]) {
		e->h -= size[1];
		e->d++;
	}
}

/* Of the pixel of x at e in the tile at p; NULL outside. */
template <typename T> static __device__ __forceinline__ const T *pixel_under(
		const k_few &g, const few_place &p, const few_walk &e)
{
	const int z = p.at[0] * g.stride[0] - g.lo[0] + e.d, y = p.at[1] * g.stride[1] - g.lo[1] + e.h,
	          x = p.at[2] * g.stride[2] - g.lo[2] + e.w;
	if ((unsigned)z >= (unsigned)g.in[0] || (unsigned)y >= (unsigned)g.in[1] ||
	    (unsigned)x >= (unsigned)g.in[2])
		return NULL;
	return (const T *)g.x.p + (int64_t)(((p.n * g.in[0] + z) * g.in[1] + y) * g.in[2] + x) *
	       g.x.stride;
}

/* Four channels, zeros for those that are not there. */
static __device__ __forceinline__ uint2 load_few(const void *from, int few)
{
	const uint16_t *const p = (const uint16_t *)from;
	uint2 v = { p[0], 0 };
	if (few > 1)
		v.x |= (uint32_t)p[1] << 16;
	if (few > 2)
		v.y = p[2];
	if (few > 3)
		v.y |= (uint32_t)p[3] << 16;
	return v;
}

/* Copies what is under the tile at p to shared memory; SHIFTED: twice, to `second` one pixel
 * earlier. What is whole arrives when this thread waits for its copies. */
template <typename T, bool SHIFTED> static __device__ __forceinline__ void copy_under(
		const k_few &g, const few_tile &a, const few_place &p, const few_walk &by, few_walk e,
		uint2 *to, uint2 *second)
{
	if (a.whole) {
		while (e.d < a.under[0]) {
			const T *const from = pixel_under<T>(g, p, e);
			const int at = e.d * a.plane + e.h * a.pitch + e.w;
			copy_async<8>(to + at, from ? from : (const T *)g.x.p, from);
			if (SHIFTED)
				copy_async<8>(second + at - 1, from ? from : (const T *)g.x.p, from);
			walk_on(a.under, by, &e);
		}
		return;
	}
	while (e.d < a.under[0]) {
		uint2 v[4];
		int at[4];
#pragma unroll
		for (int q = 0; q < 4; q++) {
			const T *const from = e.d < a.under[0] ? pixel_under<T>(g, p, e) : NULL;
			at[q] = e.d < a.under[0] ? e.d * a.plane + e.h * a.pitch + e.w : -1;
			v[q] = from ? load_few(from, g.few) : uint2{ 0, 0 };
			walk_on(a.under, by, &e);
		}
#pragma unroll
		for (int q = 0; q < 4; q++)
			if (at[q] >= 0) {
				to[at[q]] = v[q];
				if (SHIFTED)
					second[at[q] - 1] = v[q];
			}
	}
}

/* What all three kinds of launches ask. */
static inline bool few_general(const k_few &g)
{
	bool all = (g.type == K_TYPE_F16 || g.type == K_TYPE_BF16) && g.few >= 1 && g.few <= K_FEW &&
	           g.many >= 8 && g.many % 8 == 0;
	for (int i = 0; i < 3; i++)
		all = all && g.kernel[i] >= 1 && g.kernel[i] <= K_FEW_KERNEL && g.stride[i] >= 1 &&
		      g.stride[i] <= 2;
	return all && g.y.stride % 8 == 0 && (uintptr_t)g.y.p % 16 == 0;
}

#endif
