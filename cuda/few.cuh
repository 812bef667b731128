/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by k_few.cu and k_few_weights.cu: tiles of y, and the pixels of x that their windows read.
 * A block copies these to shared memory, each pixel padded to four channels (8 bytes). Blocks are
 * persistent and loop over tiles; while a block computes one tile, the copies of the next one are
 * in flight. Pixels with fewer than four channels go through registers, TOGETHER at a time, and
 * arrive before the block continues. */
#ifndef DLX_CUDA_FEW_CUH
#define DLX_CUDA_FEW_CUH

#include "cuda/few.h"
#include "cuda/mma.cuh"

constexpr int FEW_THREADS = 128, FEW_WARPS = FEW_THREADS / 32;
constexpr int GROUP = 32;            /* channels of y for each warp */
constexpr int TOGETHER = 4;          /* pixels of x that a thread loads at once */
#ifdef DLX_CUDA_EMULATED
constexpr int PROCESSORS = 2, FEW_PIXELS = 64;   /* small, so that tests give a block several
                                                  * tiles */
#else
constexpr int PROCESSORS = 132, FEW_PIXELS = 1024;       /* multiprocessors of an H100 */
#endif

/* The number of blocks that loop over `tiles`, if `each` of them fit on a multiprocessor: the
 * fewest that need no more rounds. `copies` times that many blocks are launched. */
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

/* Declares dynamic shared memory for the pixels under a tile: at most ROOM, a constant of the file
 * that launches. On an error it returns from the function. */
#define LAUNCH_FEW(kernel, grid, tile, stream, ...)                                      \
	do {                                                                             \
		const cudaError_t e_ = allow_shared((const void *)kernel, ROOM * sizeof(int)); \
		if (e_ != cudaSuccess)                                                   \
			return e_;                                                       \
		LAUNCH(kernel, grid, FEW_THREADS, (tile).places * sizeof(int), stream,   \
		       __VA_ARGS__);                                                     \
	} while (0)

/* Tiles of y, and the layout of their pixels of x in shared memory. */
struct few_tile {
	int log[3];                  /* log2 of a tile's pixels along each axis */
	int tiles[3];
	int under[3];                /* pixels of x under a tile along each axis */
	int pitch, plane;            /* places from row to row, and from plane to plane */
	int places;                  /* places in shared memory, including gaps between rows */
	int whole;                   /* a pixel of x is 8 aligned bytes */
	int all;                     /* number of tiles; 0: no tile fits in shared memory */
};

/* Constraints on the layout of the copies in shared memory. */
struct few_room {
	int unit;                    /* a tile's width is a multiple of this */
	int taps;                    /* taps along a row, including those that are read but not used */
	int step, rest;              /* pitch and plane are congruent to `rest` modulo `step` */
	int pixels;                  /* pixels that fit in shared memory */
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
	a->places = a->under[0] * a->plane;
}

/* The tiles with the least work. The estimate counts a copied pixel as a quarter of the work for a
 * pixel of y, and the start of a tile as that of 50 of them. */
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
				const int copied = a.places;
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

/* The position of tile number u: its sample n, and its index along each axis. */
static __device__ __forceinline__ void tile_number(const int *tiles, int u, int *n, int (&at)[3])
{
	const unsigned across = (unsigned)u / (unsigned)tiles[2],
	               down = across / (unsigned)tiles[1], deep = down / (unsigned)tiles[0];
	*n = (int)deep;
	at[0] = (int)(down - deep * (unsigned)tiles[0]);
	at[1] = (int)(across - down * (unsigned)tiles[1]);
	at[2] = (int)((unsigned)u - across * (unsigned)tiles[2]);
}

/* The first pixel of tile u in y. */
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

/* For each place of shared memory: the distance of its pixel from the tile's first one, as depth,
 * row and column in 5, 8 and 12 bits (enough for the largest tiles of tile_of), or NOWHERE for gaps
 * between rows. It is the same for all tiles, so a block computes it once: copying a pixel then
 * takes a thread 29 instructions, instead of 57 if it kept counters. */
constexpr int NOWHERE = -1;
static __device__ __forceinline__ void find_places(const few_tile &a, int *place)
{
	for (int i = threadIdx.x; i < a.places; i += FEW_THREADS) {
		const int d = i / a.plane, rest = i - d * a.plane, h = rest / a.pitch,
		          w = rest - h * a.pitch;
		place[i] = h < a.under[1] && w < a.under[2] ? d << 20 | h << 12 | w : NOWHERE;
	}
}

/* The first pixel of x under a tile, which may be outside the tensor: its position along each axis,
 * and its row-major index. */
struct few_origin {
	int at[3], pixel;
};

static __device__ __forceinline__ few_origin origin_of(const k_few &g, const few_place &p)
{
	few_origin o;
	o.pixel = p.n;
	for (int i = 0; i < 3; i++) {
		o.at[i] = p.at[i] * g.stride[i] - g.lo[i];
		o.pixel = o.pixel * g.in[i] + o.at[i];
	}
	return o;
}

/* Whether a place has a pixel of x inside the tensor. *from: that pixel, or else the tensor's first
 * one. */
template <typename T> static __device__ __forceinline__ bool pixel_at(
		const k_few &g, const few_origin &o, int place, const T **from)
{
	const int d = place >> 20, h = place >> 12 & 255, w = place & 4095;
	const bool there = place >= 0 && within(o.at[0] + d, g.in[0]) && within(o.at[1] + h, g.in[1]) &&
	                   within(o.at[2] + w, g.in[2]);
	const unsigned pixel = there ? o.pixel + (d * g.in[1] + h) * g.in[2] + w : 0,
	               apart = (unsigned)g.x.stride * (unsigned)sizeof(T);
	*from = (const T *)((const char *)g.x.p + (uint64_t)pixel * apart);
	return there;
}

/* Copies the pixels under the tile at p to shared memory. SHIFTED: also makes a second copy, at
 * `second`, one pixel earlier. place: from find_places. Pixels of 8 aligned bytes arrive when this
 * thread waits for its copies. */
template <typename T, bool SHIFTED> static __device__ __forceinline__ void copy_under(
		const k_few &g, const few_tile &a, const few_place &p, const int *place, uint2 *to,
		uint2 *second)
{
	const few_origin o = origin_of(g, p);
	const int first = threadIdx.x;
	if (a.whole) {
#pragma unroll 2
		for (int i = first; i < a.places; i += FEW_THREADS) {
			const T *from;
			const bool there = pixel_at<T>(g, o, place[i], &from);
			copy_async<8>(to + i, from, there);
			if (SHIFTED)
				copy_async<8>(second + i - 1, from, there);
		}
		return;
	}
	for (int i = first; i < a.places; i += TOGETHER * FEW_THREADS) {
		uint32_t v[TOGETHER][K_FEW];         /* all loads start before the first value is used */
		bool there[TOGETHER];
#pragma unroll
		for (int q = 0; q < TOGETHER; q++) {
			const int at = i + q * FEW_THREADS;
			const T *from;
			there[q] = pixel_at<T>(g, o, at < a.places ? place[at] : NOWHERE, &from);
#pragma unroll
			for (int c = 0; c < K_FEW; c++)
				v[q][c] = c < g.few ? ((const uint16_t *)from)[c] : 0;
		}
#pragma unroll
		for (int q = 0; q < TOGETHER; q++) {
			const int at = i + q * FEW_THREADS;
			const uint2 pixel = { there[q] ? v[q][0] | v[q][1] << 16 : 0,
				there[q] ? v[q][2] | v[q][3] << 16 : 0 };
			if (at >= a.places)
				break;
			to[at] = pixel;
			if (SHIFTED)
				second[at - 1] = pixel;
		}
	}
}

/* The conditions that all three kinds of launches share. */
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
