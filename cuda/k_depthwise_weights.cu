/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradient to the weights of depthwise convolutions with 3 x 3 windows, for 16-bit elements, by
 * tensor cores and tiles (cuda/depthwise_tile.cuh).
 *
 * Matrix A is two taps of 8 channels by 8 pixels of two rows of x; B is these pixels of dy by 8
 * channels. Transposing loads make both. Only the diagonals of the product are used; they stay in
 * registers while a block processes its tiles in ascending order. cuda/k_depthwise.cu adds the sums
 * of blocks.
 *
 * Prediction (H100, 3.0 TB/s; 8 x 48 x 72 pixels of 728 channels in bf16: 80 MB, which take 0.027
 * ms; without tiles 0.093 were measured): a block copies 45 KB, and four are resident. From L2 come
 * 2.45 reads of a pixel (8 x 26 and 6 x 24 for 6 x 24), 98 MB or 0.018 ms at 5.5 TB/s. Instructions
 * of a lane for an element: 4.3 to copy, 3 for the products: 0.006 ms at full rate. Shared memory:
 * 8 matrices of 128 bytes for 128 elements, 0.006 ms, and as long to fill it. With the launch that
 * joins, 0.003 ms, 0.033 to 0.04 ms were expected. Measured: 0.063, and 0.61 ms for 8 x 384 x 576
 * pixels of 128 channels, whose bound is 0.30 (0.85 before); with a norm before it 0.068 and 0.63.
 *
 * The machine code says why: for a tile a warp had 2,350 instructions, and issued one in 8 cycles,
 * as four of them take turns and wait for each other's results. 1,090 normalised, 420 copied. They
 * are 550 and 350 now, loads of the norm begin before the copies are waited for, and five blocks
 * are resident: with a norm 0.048 and 0.42 ms are predicted. */
#include "cuda/depthwise_tile.cuh"

#ifdef DLX_CUDA_EMULATED
static int64_t gradient_blocks(int) { return 12; }    /* small, so that tests have tiles left for
                                                       * small tensors */
#else
/* The number of blocks that are resident on an H100; for stride 1 it is also twice the number of
 * those resident on an A100. */
static int64_t gradient_blocks(int stride) { return stride == 1 ? 648 : 528; }
#endif

/* A walk down a column of 8 pixels with stride 1, two rows at a time: this lane's addresses of
 * matrix rows. */
struct walk {
	const char *x, *xy;          /* x: columns 0 and 1 of the window; xy: column 2, and dy */
	int x_step, xy_step, x_plane, xy_plane;
};

/* For two packs of a warp. f: the four rows of x under two rows of y, for each column of the
 * window; y: those two rows. */
struct under_two {
	uint32_t f[4][3], y[2];
};

/* Loads the next two rows of x and, from the second call on, of y. */
static __device__ __forceinline__ void go_down(walk *w, under_two (&u)[2])
{
#pragma unroll
	for (int h = 0; h < 2; h++) {
		uint32_t left[4], right[4];
		load_transposed(left, w->x + h * w->x_plane);
		load_transposed(right, w->xy + h * w->xy_plane);
#pragma unroll
		for (int e = 0; e < 6; e++)
			u[h].f[e / 3][e % 3] = u[h].f[e / 3 + 2][e % 3];
#pragma unroll
		for (int row = 0; row < 2; row++) {
			u[h].f[2 + row][0] = left[2 * row];
			u[h].f[2 + row][1] = left[2 * row + 1];
			u[h].f[2 + row][2] = right[row];
			u[h].y[row] = right[2 + row];
		}
	}
	w->x += w->x_step;
	w->xy += w->xy_step;
}

constexpr int PAIRS = (TAPS + 1) / 2;            /* pairs of taps; the last tap is counted twice */

/* sum[pack][pair of taps] += the products of a tile. x and y: the planes of the warp's packs. */
template <typename T, int S> struct sums;
template <typename T> struct sums<T, 1> {
	static __device__ __forceinline__ void add(const char *x, const char *y, const tile_deal &a,
	                                           float (&sum)[2][PAIRS][4])
	{
		const int columns = 8 * a.groups, width = columns + 2, lane = (int)threadIdx.x % 32,
		          m = lane / 8, r = lane % 8, x_step = 2 * width * 16;
		const int x_plane = plane_of<1>(a.rows + 2, width), y_plane = plane_of<1>(a.rows, columns);
		for (int group = 0; group < a.groups; group++) {
			const int at = 8 * group + r;
			under_two u[2] = {};
			walk w = { x + (m / 2 * width + at + m % 2) * 16,
			           m < 2 ? x + (m * width + at + 2) * 16 : y + ((m - 2) * columns + at) * 16,
			           x_step, m < 2 ? x_step : 0, x_plane, m < 2 ? x_plane : y_plane };
			go_down(&w, u);                  /* the rows of y are not used here */
			w.xy_step = m < 2 ? x_step : 2 * columns * 16;
#pragma unroll 2
			for (int row = 0; row < a.rows; row += 2) {
				go_down(&w, u);
#pragma unroll
				for (int e = 0; e < 2 * PAIRS; e++) {
					const int h = e % 2, k = e / 2, p = 2 * k, q = p + 1 < TAPS ? p + 1 : p;
					const auto &f = u[h].f;
					const uint32_t of_x[4] = { f[p / 3][p % 3], f[q / 3][q % 3],
						                   f[p / 3 + 1][p % 3], f[q / 3 + 1][q % 3] };
					multiply_add<T>(sum[h][k], of_x, u[h].y[0], u[h].y[1]);
				}
			}
		}
	}
};

/* With stride 2 windows overlap too little for a walk. */
template <typename T> struct sums<T, 2> {
	static __device__ __forceinline__ void add(const char *x, const char *y, const tile_deal &a,
	                                           float (&sum)[2][PAIRS][4])
	{
		const int columns = 8 * a.groups, width = 2 * columns + 1, lane = (int)threadIdx.x % 32,
		          m = lane / 8, r = lane % 8;
		const int x_plane = plane_of<1>(2 * a.rows + 1, width),
		          y_plane = plane_of<1>(a.rows, columns);
		for (int e = 0; e < a.rows / 2 * a.groups; e++) {
			const int row = e / a.groups * 2, column = e % a.groups * 8 + r;
			uint32_t of_y[4];
			load_transposed(of_y, y + m / 2 * y_plane + ((row + m % 2) * columns + column) * 16);
#pragma unroll
			for (int k = 0; k < PAIRS; k++) {
				const int tap = min(2 * k + m % 2, TAPS - 1);
				const char *const from = x + ((2 * (row + m / 2) + tap / 3) * width + 2 * column +
				                              tap % 3) * 16;
#pragma unroll
				for (int h = 0; h < 2; h++) {
					uint32_t of_x[4];
					load_transposed(of_x, from + h * x_plane);
					multiply_add<T>(sum[h][k], of_x, of_y[2 * h], of_y[2 * h + 1]);
				}
			}
		}
	}
};

/* Stores the diagonals: lane g has channel g for the taps of pair k. */
static __device__ __forceinline__ void store_part(const float (&sum)[2][PAIRS][4], int64_t c,
                                                  int64_t channels, float *part)
{
	const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
	if (g / 2 != t)
		return;
#pragma unroll
	for (int h = 0; h < 2; h++)
#pragma unroll
		for (int tap = 0; tap < TAPS; tap++) {
			const float *const v = sum[h][tap / 2] + tap % 2 * 2;
			if (c + h * PACK < channels)
				part[tap * channels + c + h * PACK + g] = g % 2 ? v[1] : v[0];
		}
}

/* part[p][tap][channel], summed over tiles p, p + parts, ... A warp has two packs of channels. */
template <typename T, int S, bool NORMED>
__global__ void __launch_bounds__(BLOCK, S == 1 ? 5 : 4)
depthwise_tile_gradient(k_depthwise g, tile_deal a, int tiles, float *part)
{
	BEGIN_KERNEL();
	SHARED_DYNAMIC(char, room);
	const int columns = 8 * a.groups, pack = (int)threadIdx.x / 32 * 2;
	const int x_plane = plane_of<1>((a.rows - 1) * S + 3, (columns - 1) * S + 3),
	          y_plane = plane_of<1>(a.rows, columns);
	char *const of_y = room + PACKS * x_plane;
	float sum[2][PAIRS][4] = { { { 0 } } };
	for (int u = (int)blockIdx.y; u < tiles; u += (int)gridDim.y) {
		const tile at = tile_of(a, (unsigned)u, blockIdx.x);
		const area x = under<S>(g, a, at);
		copy_area<T, 1, S + 1>(room, g.x, x, at, g.c);
		if (NORMED)
			copies_commit();
		copy_area<T, 1, 2>(of_y, g.y, { at.i, at.j, { a.d[0], a.d[1] }, a.rows, columns, g.out[0],
		                             g.out[1] }, at, g.c);
		if (NORMED) {
			pack_norm norm;
			load_norm(&norm, g.norm, at.c, g.c);
			copies_commit();
			copies_wait<1>();                /* x has arrived, y may be in flight */
			normalise_area<T, 1, S + 1>(room, x, at, g.c, norm);
		}
		copies_done();
		sums<T, S>::add(room + pack * x_plane, of_y + pack * y_plane, a, sum);
		__syncthreads();
	}
	store_part(sum, (int64_t)blockIdx.x * CHANNELS + pack * PACK, g.c,
	           part + (int64_t)blockIdx.y * TAPS * g.c);
}

static tile_deal gradient_deal(const k_depthwise &g)
{
	if (g.s[0] == 2)
		return deal_tiles(g.out, g.d, 4, 2, g.c);
	return deal_tiles(g.out, g.d, 6, 3, g.c);
}

/* All blocks have equally many tiles, except perhaps the last one. */
int64_t k_depthwise_tile_parts(const struct k_depthwise *g)
{
	const tile_deal a = gradient_deal(*g);
	const int64_t tiles = g->n * a.blocks[0] * a.blocks[1];
	const int64_t most = gradient_blocks(g->s[0]) / a.across;
	const int64_t each = tiles / (most ? most : 1) + (tiles % (most ? most : 1) > 0);
	return each ? (tiles + each - 1) / each : 0;
}

template <typename T> static int weigh(void *stream, const k_depthwise &g, float *part)
{
	const tile_deal a = gradient_deal(g);
	const dim3 grid((unsigned)a.across, (unsigned)k_depthwise_tile_parts(&g));
	const int tiles = (int)(g.n * a.blocks[0] * a.blocks[1]), S = g.s[0];
	const int x = plane_of<1>((a.rows - 1) * S + 3, (8 * a.groups - 1) * S + 3),
	          y = plane_of<1>(a.rows, 8 * a.groups);
	const size_t shared = (size_t)(PACKS * (x + y));
	if (S == 2) {
		NORMED_OR_NOT(g, NORMED, LAUNCH((depthwise_tile_gradient<T, 2, NORMED>), grid, dim3(BLOCK),
		                                shared, stream, g, a, tiles, part));
		return cudaGetLastError();
	}
	NORMED_OR_NOT(g, NORMED,
		const cudaError_t e = cudaFuncSetAttribute(      /* five blocks must fit on a
		                                                  * multiprocessor */
			(const void *)depthwise_tile_gradient<T, 1, NORMED>,
			cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
		if (e != cudaSuccess)
			return e;
		LAUNCH((depthwise_tile_gradient<T, 1, NORMED>), grid, dim3(BLOCK), shared, stream, g, a,
		       tiles, part));
	return cudaGetLastError();
}

int k_depthwise_tile_gradient(void *stream, const struct k_depthwise *g, float *part)
{
	HALF_TYPES(g->type, T, return weigh<T>(stream, *g, part))
}
