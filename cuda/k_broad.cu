/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gradients to the input of convolutions of few output channels, with windows of 3 x 3 or 5 x 5, by
 * products of a warpgroup (wgmma). In dense networks dy has 32 channels and dx hundreds, and what
 * is made is added to what is there: cuDNN's engine has 650 TFLOP/s, but writes its result
 * elsewhere, and the sum is a pass of 1.2 times the engine's own time.
 *
 * Here dy is the first operand, as it lies: tiles of 8 x 8 pixels with their border are in shared
 * memory as planes of 8 channels, 16 bytes a pixel. Eight pixels of a row are what an operand has
 * of 8 rows, the next row of pixels is the next 8 of them, and a tap is an offset. So nothing is
 * loaded into registers, and nothing is copied twice. The weights of all taps by some channels of
 * dx stay in shared memory for as long as the kernel runs: blocks stay, each has a part of dx's
 * channels, and its two warpgroups go from tile to tile by themselves. While the products of a tile
 * are made, its addend and mask are loaded into registers and the next tile is copied; while one
 * warpgroup stores, the other one's products have the tensor cores.
 *
 * For an H100, 5 x 5, 32 channels of dy, blocks of 112 of dx: a tile has 50 products of 56 cycles,
 * each of which reads 2 KB of the first operand and 3.5 KB of the second, 44 cycles. These 2,800
 * cycles of the tensor cores are for 28 KB of addend and result, 10 bytes a cycle of a
 * multiprocessor, 2.2 TB/s at 1.65 GHz. Predicted for tiramisu's 'dense_8.1.conv' of two samples:
 * 0.75 ms at the bound of the products, 1.0 with what is not overlapped, where cuDNN and the pass
 * take 1.89; for its 25 sums 5.5 ms, which are 9.5. No GPU has run it. */
#include "cuda/fragment.cuh"
#include "cuda/warpgroup.cuh"

constexpr int GROUPS = 2, BLOCK = GROUPS * WARPGROUP;
constexpr int SIDE = 8;              /* of a tile */
constexpr int MOST_SHARED = 227 << 10;
constexpr int LEAST_CHANNELS = 16, MOST_CHANNELS = 64;       /* of dy */

/* A tile of dy with its border. Planes begin in other banks, as lanes that write together write to
 * four of them. */
template <int K> struct tile {
	static constexpr int WIDE = SIDE + K - 1, PIXELS = WIDE * WIDE;
	static constexpr int PLANE = ((PIXELS * 16 + 95) / 128 * 128) + 32;
};

/* How the work is dealt. */
struct deal {
	int down, across, items;     /* tiles */
	int blocks, workers;         /* blocks of channels; of each as many thread blocks */
	int chunks;                  /* of 16 channels of dy */
	int weights, tile;           /* bytes of a block's weights, of a tile */
};

struct place {
	int row, col, n;
};

static __device__ __forceinline__ place place_of(const deal &d, int item)
{
	place p;
	p.col = item % d.across * SIDE;
	item /= d.across;
	p.row = item % d.down * SIDE;
	p.n = item / d.down;
	return p;
}

/* The weights of tap t of `chunk` are at (chunk * K * K + t) * N * 32, an operand of N rows. In
 * memory channels of dx are neighbours; 8 x 8 elements are turned in registers. */
template <typename T, int K, int N>
static __device__ __forceinline__ void load_weights(const k_narrow &g, const deal &d, int first,
                                                    const T *w, char *to)
{
	constexpr int TAPS = K * K, EIGHTS = N / 8;
	for (int i = (int)threadIdx.x; i < TAPS * d.chunks * 2 * EIGHTS; i += BLOCK) {
		const int n = i % EIGHTS * 8, k = i / EIGHTS % (2 * d.chunks) * 8;
		const int tap = i / EIGHTS / (2 * d.chunks);
		const bool there = first + n < g.co && k < g.ci;
		const T *from = w + ((int64_t)k * TAPS + TAPS - 1 - tap) * g.co + first + n;
		uint32_t v[8][4];
#pragma unroll
		for (int j = 0; j < 8; j++) {
			uint4 a = { 0, 0, 0, 0 };
			if (there)
				a = *(const uint4 *)(from + (int64_t)j * TAPS * g.co);
			memcpy(v[j], &a, sizeof a);
		}
		char *const at = to + (k / 16 * TAPS + tap) * (N * 32) + n / 8 * 256 + k / 8 % 2 * 128;
#pragma unroll
		for (int j = 0; j < 8; j++) {
			uint32_t row[4];
#pragma unroll
			for (int q = 0; q < 4; q++) {
				const uint32_t low = v[2 * q][j / 2], high = v[2 * q + 1][j / 2];
				row[q] = j % 2 ? low >> 16 | (high & 0xffff0000u) : (low & 0xffffu) | high << 16;
			}
			store_word(at + j * 16, row);
		}
	}
}

/* Begins to copy a tile, by a warpgroup; zeros where there is none. */
template <typename T, int K>
static __device__ __forceinline__ void copy_tile(const k_narrow &g, const deal &d, int item, int t,
                                                 char *to)
{
	typedef tile<K> S;
	const bool some = item < d.items;
	const place p = place_of(d, some ? item : 0);
	const int planes = 2 * d.chunks;
	for (int i = t; i < S::PIXELS * planes; i += WARPGROUP) {
		const int plane = i % planes, pixel = i / planes;
		const int row = p.row - g.lo[1] + pixel / S::WIDE, col = p.col - g.lo[2] + pixel % S::WIDE;
		const bool there = some && within(row, g.in[1]) && within(col, g.in[2]) &&
		                   plane * 8 < g.ci;
		const int64_t from = ((int64_t)p.n * g.in[1] + row) * g.in[2] + col;
		const int64_t at = from * g.x.stride + plane * 8;
		copy_async<16>(to + plane * S::PLANE + pixel * 16, (const T *)g.x.p + (there ? at : 0),
		               there);
	}
}

/* sum = the products of a tile. */
template <typename T, int K, int N>
static __device__ __forceinline__ void begin_tile(const deal &d, const char *x, const char *w,
                                                  float (&sum)[N / 2])
{
	typedef tile<K> S;
	operand a = operand_at(x, S::PLANE, S::WIDE * 16), b = operand_at(w, 128, 256);
#pragma unroll
	for (int i = 0; i < N / 2; i++)
		sum[i] = 0;
	int left = d.chunks;             /* one or more */
	do {
		products_begin();
#pragma unroll
		for (int tap = 0; tap < K * K; tap++)
			products<T, N>::add(sum, operand_behind(a, (tap / K * S::WIDE + tap % K) * 16),
			                    operand_behind(b, tap * (N * 32)));
		products_commit();
		a = operand_behind(a, 2 * S::PLANE);
		b = operand_behind(b, K * K * N * 32);
	} while (--left);
}

/* What a lane has of a tile, two pixels, one below the other; behind an exchange of four lanes that
 * is PARTS pieces of 16 bytes. Piece b of lane c of the four has, with m = 4 b + c, the 8 channels
 * from 8 m % N on of pixel 8 m / N. */
template <int N> struct lane_part {
	static constexpr int PARTS = N / 16;
	int64_t at[2];               /* pixels */
	bool there[2];
	int first, c;                /* channel of the block; lane */

	__device__ __forceinline__ int pixel(int b) const { return (4 * b + c) * 8 / N; }
	__device__ __forceinline__ int channel(int b) const { return first + (4 * b + c) * 8 % N; }
	__device__ __forceinline__ bool is_there(const k_narrow &g, int b) const
	{
		return (pixel(b) ? there[1] : there[0]) && channel(b) < g.co;
	}
	__device__ __forceinline__ int64_t element(int b, int64_t stride) const
	{
		return (pixel(b) ? at[1] : at[0]) * stride + channel(b);
	}
};

template <int N> static __device__ __forceinline__ lane_part<N> part_of(
		const k_narrow &g, const place &p, int first, int t)
{
	lane_part<N> l;
	const int row = p.row + t / 32 * 2, col = p.col + t % 32 / 4;
	l.first = first;
	l.c = t % 4;
#pragma unroll
	for (int h = 0; h < 2; h++) {
		l.at[h] = ((int64_t)p.n * g.out[1] + row + h) * g.out[2] + col;
		l.there[h] = row + h < g.out[1] && col < g.out[2];
	}
	return l;
}

template <typename T, int N> static __device__ __forceinline__ void load_part(
		const k_narrow &g, const k_rows &from, const lane_part<N> &l, uint32_t none,
		uint32_t (&v)[N / 16][4])
{
#pragma unroll
	for (int b = 0; b < N / 16; b++) {
		uint4 a = { none, none, none, none };
		if (from.p && l.is_there(g, b))
			a = *(const uint4 *)((const T *)from.p + l.element(b, from.stride));
		memcpy(v[b], &a, sizeof a);
	}
}

/* v[c] and v[c + 1]; none, twice, where there is no vector or no such channel. */
static __device__ __forceinline__ void load_pair(const float *v, int c, int end, float none,
                                                 float (&to)[2])
{
#pragma unroll
	for (int q = 0; q < 2; q++)
		to[q] = v && c < end ? v[c + q] : none;
}

template <typename T, int N, bool MASKED> static __device__ __forceinline__ void finish(
		const k_narrow &g, const lane_part<N> &l, uint32_t (&addend)[N / 16][4],
		uint32_t (&mask)[MASKED ? N / 16 : 1][4], const float (&sum)[N / 2])
{
	const after f = { g.act == K_ACT_RELU ? 0.0f : -INFINITY, g.slope, g.slope != 0 };
#pragma unroll
	for (int b = 0; b < N / 16; b++) {
		uint32_t made[4];
		if (g.addend.p)
			transpose(addend[b]);
		if (MASKED)
			transpose(mask[MASKED ? b : 0]);
#pragma unroll
		for (int e = 0; e < 4; e++) {
			const int u = 4 * b + e, h = u * 8 / N, j = u % (N / 8), c = l.first + 8 * j + 2 * l.c;
			float scale[2], shift[2];
			load_pair(g.scale, c, g.co, 1, scale);
			load_pair(g.shift, c, g.co, 0, shift);
			made[e] = finish_pair<T>(f, &sum[4 * j + 2 * h], scale, shift, addend[b][e],
			                         MASKED ? mask[MASKED ? b : 0][e] : POSITIVE);
		}
		transpose(made);
		if (l.is_there(g, b))
			store_word((T *)g.y.p + l.element(b, g.y.stride), made);
	}
}

template <typename T, int K, int N, bool MASKED>
__global__ void __launch_bounds__(BLOCK, 1)
broad(k_narrow g, deal d, const T *w)
{
	BEGIN_KERNEL();
	SHARED_DYNAMIC(char, shared);
	/* one number for a warp, so that what follows is known not to diverge */
	const int group = __shfl_sync(~0u, (int)threadIdx.x / WARPGROUP, 0);
	const int t = (int)threadIdx.x % WARPGROUP;
	const int first = (int)blockIdx.x % d.blocks * N, step = d.workers * GROUPS;
	char *const own = shared + d.weights + group * 2 * d.tile;
	int item = (int)blockIdx.x / d.blocks * GROUPS + group, buffer = 0;
	copy_tile<T, K>(g, d, item, t, own);
	copies_commit();
	load_weights<T, K, N>(g, d, first, w, shared);
	show_to_products();
	__syncthreads();
	for (; item < d.items; item += step, buffer = 1 - buffer) {
		float sum[N / 2];
		uint32_t addend[N / 16][4], mask[MASKED ? N / 16 : 1][4];
		const lane_part<N> l = part_of<N>(g, place_of(d, item), first, t);
		copies_wait<0>();
		show_to_products();
		group_barrier(group);
		begin_tile<T, K, N>(d, own + buffer * d.tile, shared, sum);
		/* whose products are made: all have met behind those of the tile that was there */
		copy_tile<T, K>(g, d, item + step, t, own + (1 - buffer) * d.tile);
		copies_commit();
		load_part<T, N>(g, g.addend, l, ZEROS, addend);
		if constexpr (MASKED)
			load_part<T, N>(g, g.mask, l, POSITIVE, mask);
		products_wait(sum);
		finish<T, N, MASKED>(g, l, addend, mask, sum);
	}
	copies_wait<0>();            /* zeros, behind the last item */
}

/* --- launches --- */

template <int K> static deal deal_of(const k_narrow &g, int n)
{
	deal d;
	d.across = (g.out[2] + SIDE - 1) / SIDE;
	d.down = (g.out[1] + SIDE - 1) / SIDE;
	d.items = (int)g.n * d.down * d.across;
	d.chunks = (g.ci + 15) / 16;
	d.weights = K * K * d.chunks * n * 32;
	d.tile = 2 * d.chunks * tile<K>::PLANE;
	d.blocks = (g.co + n - 1) / n;
	const int each = (d.items + GROUPS - 1) / GROUPS, some = g.processors / d.blocks;
	d.workers = some < 1 ? 1 : some < each ? some : each;
	return d;
}

static int shared_bytes(const deal &d)
{
	return d.weights + GROUPS * 2 * d.tile;
}

template <typename T, int K, int N, bool MASKED>
static int make(void *stream, const k_narrow &g, const T *w)
{
	const deal d = deal_of<K>(g, N);
	const cudaError_t e = allow_shared((const void *)broad<T, K, N, MASKED>, MOST_SHARED);
	if (e != cudaSuccess)
		return e;
	LAUNCH((broad<T, K, N, MASKED>), d.blocks * d.workers, BLOCK, shared_bytes(d), stream, g, d, w);
	return cudaGetLastError();
}

/* Channels of a block: of the widths that find room, the one with the least waste. What a tile
 * costs besides the products is taken for that of 8 channels. */
template <int K> static int width_of(const k_narrow &g)
{
	int best = 0, least = 0;
	for (int n = 64; n <= 128; n += 16) {
		const deal d = deal_of<K>(g, n);
		const int cost = d.blocks * (n + 8);
		if (shared_bytes(d) <= MOST_SHARED && (!best || cost <= least)) {
			best = n;
			least = cost;
		}
	}
#ifdef DLX_CUDA_EMULATED
	const int other = 64 + 16 * (g.co / 8 % 5);          /* so that all are tried */
	if (shared_bytes(deal_of<K>(g, other)) <= MOST_SHARED)
		best = other;
#endif
	return best;
}

template <typename T, int K, bool MASKED>
static int run_wide(void *stream, const k_narrow &g, const T *w)
{
	switch (width_of<K>(g)) {
	case 64: return make<T, K, 64, MASKED>(stream, g, w);
	case 80: return make<T, K, 80, MASKED>(stream, g, w);
	case 96: return make<T, K, 96, MASKED>(stream, g, w);
	case 112: return make<T, K, 112, MASKED>(stream, g, w);
	case 128: return make<T, K, 128, MASKED>(stream, g, w);
	default: return cudaErrorInvalidValue;
	}
}

template <typename T, int K> static int run_masked(void *stream, const k_narrow &g, const void *w)
{
	return g.mask.p ? run_wide<T, K, true>(stream, g, (const T *)w) :
	       run_wide<T, K, false>(stream, g, (const T *)w);
}

template <typename T> static int run(void *stream, const k_narrow &g, const void *w)
{
	return g.kernel[1] == 5 ? run_masked<T, 5>(stream, g, w) : run_masked<T, 3>(stream, g, w);
}

/* Fewer channels of dx would leave much of what is multiplied unused, and more of dy no room for
 * the weights. */
int k_broad_takes(const struct k_narrow *g)
{
#ifdef DLX_CUDA_EMULATED
	const int least = LEAST_CHANNELS;
#elif defined(DLX_HOPPER)
	const int least = 64;
#else
	const int least = INT32_MAX;         /* for no GPU that this was compiled for */
#endif
	return k_narrow_takes(g) && g->turned && g->in[0] == 1 && g->out[0] == 1 && g->kernel[0] == 1 &&
	       g->co >= least && g->ci >= LEAST_CHANNELS && g->ci <= MOST_CHANNELS &&
	       (g->kernel[1] == 5 ? width_of<5>(*g) : width_of<3>(*g));
}

int k_broad_run(void *stream, const struct k_narrow *g, const void *w)
{
	if (!k_broad_takes(g) || !are_aligned(*g, w))
		return cudaErrorInvalidValue;
	if (g->n * g->out[1] * g->out[2] == 0)
		return 0;
	return g->type == K_TYPE_F16 ? run<__half>(stream, *g, w) : run<__nv_bfloat16>(stream, *g, w);
}
