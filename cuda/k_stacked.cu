/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions of few output channels, with windows of 3 x 3 or 5 x 5, by products of a warpgroup
 * (wgmma): those of cuda/narrow.cuh, whose bound is the rate of mma.sync, 0.62 of this.
 *
 * With 32 outputs a product has 16 cycles of the tensor cores. If both operands were in shared
 * memory it would read 2 KB of pixels and 1 KB of weights, 24 cycles; so the pixels are in
 * registers. As in narrow.cuh a row of x is loaded once for a column of the window, and multiplied
 * by all taps of the column under which it is: the rows for the next column are loaded while the
 * products of this one are made. A warpgroup has 6 rows of 64 pixels of y and 32 outputs, 96 sums a
 * thread and two times 40 registers of pixels; two of them, one below the other, share a
 * multiprocessor and the weights. A stage has 16 channels of x and their weights, 69 KB, and is
 * copied while the one before it is multiplied, also across tiles.
 *
 * For an H100, 5 x 5: a stage has 150 products of each warpgroup, 4,800 cycles, for which 69 KB
 * come from L2, 3.1 TB/s at 1.65 GHz; shared memory is read for half of that time. Some 300 cycles
 * are lost between stages. Predicted: 600 TFLOP/s for 224 channels of x, where narrow.cuh has 455,
 * and for tiramisu's 26 forward nodes of two samples 4.8 ms, which are 7.0; images that are no
 * multiples of 64 wide have less. No GPU has run it. */
#include "cuda/fragment.cuh"
#include "cuda/warpgroup.cuh"

constexpr int GROUPS = 2, BLOCK = GROUPS * WARPGROUP;
constexpr int COLUMNS = 64, ROWS = 6, OUTPUTS = 32, CHUNK = 16;
constexpr int SUMS = OUTPUTS / 2;        /* of a thread, of a row */

template <int K> struct stage {
	static constexpr int WIDE = COLUMNS + K - 1, HIGH = ROWS + K - 1, PIXELS = WIDE * HIGH;
	static constexpr int PLANE = ((PIXELS * 16 + 95) / 128 * 128) + 32;
	static constexpr int TILE = 2 * PLANE;           /* of a warpgroup */
	static constexpr int COLUMN = K * OUTPUTS * 32;  /* weights of a column of the window */
	static constexpr int WEIGHTS = GROUPS * TILE, BYTES = WEIGHTS + K * COLUMN;
};

struct deal {
	int down, across, blocks, items, chunks;         /* items: of all warpgroups of a block */
};

struct place {
	int row, col, n, first;      /* first: output */
};

static __device__ __forceinline__ place place_of(const deal &d, int item)
{
	place p;
	p.first = item % d.blocks * OUTPUTS;
	item /= d.blocks;
	p.col = item % d.across * COLUMNS;
	item /= d.across;
	p.row = item % d.down * (GROUPS * ROWS);
	p.n = item / d.down;
	return p;
}

/* Begins to copy a warpgroup's part of x, channels from c on, zeros outside. t: thread of it. */
template <typename T, int K>
static __device__ __forceinline__ void copy_pixels(const k_narrow &g, const place &p, int row,
                                                   int c, bool some, int t, char *to)
{
	typedef stage<K> S;
	const int half = t % 2, channel = c + 8 * half;
	to += half * S::PLANE;
	for (int i = t / 2; i < S::PIXELS; i += WARPGROUP / 2) {
		const int r = row - g.lo[1] + i / S::WIDE, col = p.col - g.lo[2] + i % S::WIDE;
		const bool there = some && within(r, g.in[1]) && within(col, g.in[2]) && channel < g.ci;
		const int64_t at = (((int64_t)p.n * g.in[1] + r) * g.in[2] + col) * g.x.stride + channel;
		copy_async<16>(to + i * 16, (const T *)g.x.p + (there ? at : 0), there);
	}
}

/* Begins to copy the weights, by the block: of each column of the window its taps, operands of
 * OUTPUTS rows. */
template <typename T, int K>
static __device__ __forceinline__ void copy_weights(const k_narrow &g, const place &p, int c,
                                                    bool some, const T *w, char *to)
{
	typedef stage<K> S;
	const int half = (int)threadIdx.x % 2, channel = c + 8 * half;
	for (int i = (int)threadIdx.x / 2; i < K * K * OUTPUTS; i += BLOCK / 2) {
		const int output = i / (K * K), tap = i % (K * K), r = tap / K, s = tap % K;
		const bool there = some && p.first + output < g.co && channel < g.ci;
		const int64_t at = ((int64_t)(p.first + output) * (K * K) + tap) * g.ci + channel;
		copy_async<16>(to + s * S::COLUMN + (r * OUTPUTS + output) / 8 * 256 +
		               half * 128 + output % 8 * 16, w + (there ? at : 0), there);
	}
}

/* The rows of x under the tile, of a column of the window, in registers. */
template <typename T, int K> struct rows_of {
	uint32_t v[ROWS + K - 1][4];

	__device__ __forceinline__ void load(const char *x)
	{
#pragma unroll
		for (int i = 0; i < ROWS + K - 1; i++)
			load_matrices(v[i], x + i * stage<K>::WIDE * 16);
	}

	__device__ __forceinline__ void multiply(operand b, float (&sum)[ROWS][SUMS]) const
	{
		products_begin();
#pragma unroll
		for (int i = 0; i < ROWS + K - 1; i++)
#pragma unroll
			for (int r = 0; r < K; r++)
				if (i - r >= 0 && i - r < ROWS)
					products_from<T>::add(sum[i - r], v[i],
					                      operand_behind(b, r * OUTPUTS * 32));
		products_commit();
	}
};

/* sum += the products of a stage, the last of which are not waited for. */
template <typename T, int K> static __device__ __forceinline__ void begin_stage(
		const char *x, const char *w, float (&sum)[ROWS][SUMS])
{
	const operand b = operand_at(w, 128, 256);
	rows_of<T, K> of[2];
	of[0].load(x);
#pragma unroll
	for (int s = 0; s < K; s++) {
		of[s % 2].multiply(operand_behind(b, s * stage<K>::COLUMN), sum);
		if (s + 1 < K) {
			products_wait_but<1>();
			of[(s + 1) % 2].load(x + (s + 1) * 16);
		}
	}
}

static __device__ __forceinline__ uint4 load_or(const k_rows &from, size_t size, int64_t pixel,
                                                int channel, bool there, uint32_t none)
{
	uint4 v = { none, none, none, none };
	if (from.p && there)
		v = *(const uint4 *)((const char *)from.p + (pixel * from.stride + channel) * size);
	return v;
}

/* A lane has two pixels of each row, 8 apart, and after an exchange 8 channels of each. */
template <typename T> static __device__ __forceinline__ void finish(
		const k_narrow &g, const place &p, int row, int t, const float (&sum)[ROWS][SUMS])
{
	const after f = { g.act == K_ACT_RELU ? 0.0f : -INFINITY, g.slope, g.slope != 0 };
	const int c = t % 4, channel = p.first + 8 * c;
	float scale[4][2], shift[4][2];
#pragma unroll
	for (int j = 0; j < 8; j++) {
		const int at = p.first + 8 * (j / 2) + 2 * c + j % 2;
		scale[j / 2][j % 2] = g.scale && at < g.co ? g.scale[at] : 1.0f;
		shift[j / 2][j % 2] = g.shift && at < g.co ? g.shift[at] : 0.0f;
	}
#pragma unroll
	for (int i = 0; i < 2 * ROWS; i++) {
		const int r = i / 2, h = i % 2, col = p.col + t / 32 * 16 + t % 32 / 4 + 8 * h;
		const bool there = row + r < g.out[1] && col < g.out[2] && channel < g.co;
		const int64_t pixel = ((int64_t)p.n * g.out[1] + row + r) * g.out[2] + col;
		uint32_t addend[4], mask[4], made[4];
		const uint4 a = load_or(g.addend, sizeof(T), pixel, channel, there, ZEROS),
		            m = load_or(g.mask, sizeof(T), pixel, channel, there, POSITIVE);
		memcpy(addend, &a, sizeof a);
		memcpy(mask, &m, sizeof m);
		if (g.addend.p)
			transpose(addend);
		if (g.mask.p)
			transpose(mask);
#pragma unroll
		for (int j = 0; j < 4; j++)
			made[j] = finish_pair<T>(f, &sum[r][4 * j + 2 * h], scale[j], shift[j],
			                         addend[j], mask[j]);
		transpose(made);
		if (there)
			store_word((T *)g.y.p + pixel * g.y.stride + channel, made);
	}
}

template <typename T, int K> __global__ void __launch_bounds__(BLOCK, 1)
stacked(k_narrow g, deal d, const T *w)
{
	BEGIN_KERNEL();
	typedef stage<K> S;
	SHARED_DYNAMIC(char, shared);
	/* one number for a warp, so that what follows is known not to diverge */
	const int group = __shfl_sync(~0u, (int)threadIdx.x / WARPGROUP, 0);
	const int t = (int)threadIdx.x % WARPGROUP, down = group * ROWS;
	const int of_x = t % 32 / 16 * S::PLANE + (t / 32 * 16 + t % 16) * 16;
	int ahead = (int)blockIdx.x, chunk_ahead = 0, buffer = 0;
	place next = place_of(d, ahead);
	const auto copy = [&](char *to) {
		const int c = chunk_ahead * CHUNK;
		const bool some = ahead < d.items;
		copy_pixels<T, K>(g, next, next.row + down, c, some, t, to + group * S::TILE);
		copy_weights<T, K>(g, next, c, some, w, to + S::WEIGHTS);
		copies_commit();
	};
	copy(shared);
	for (int item = ahead; item < d.items; item += (int)gridDim.x) {
		const place p = next;
		float sum[ROWS][SUMS] = { { 0 } };
		for (int chunk = 0; chunk < d.chunks; chunk++, buffer = 1 - buffer) {
			char *const at = shared + buffer * S::BYTES;
			copies_wait<0>();
			show_to_products();
			__syncthreads();
			begin_stage<T, K>(at + group * S::TILE + of_x, at + S::WEIGHTS, sum);
			if (++chunk_ahead == d.chunks) {
				chunk_ahead = 0;
				ahead += (int)gridDim.x;
				next = place_of(d, ahead < d.items ? ahead : 0);
			}
			/* where the products before these read, which all have waited for */
			copy(shared + (1 - buffer) * S::BYTES);
			products_wait(*reinterpret_cast<float (*)[ROWS * SUMS]>(&sum));
		}
		finish<T>(g, p, p.row + down, t, sum);
	}
	copies_wait<0>();            /* zeros, behind the last item */
}

/* --- launches --- */

static deal deal_of(const k_narrow &g)
{
	deal d;
	d.across = (g.out[2] + COLUMNS - 1) / COLUMNS;
	d.down = (g.out[1] + GROUPS * ROWS - 1) / (GROUPS * ROWS);
	d.blocks = (g.co + OUTPUTS - 1) / OUTPUTS;
	d.items = (int)g.n * d.down * d.across * d.blocks;
	d.chunks = (g.ci + CHUNK - 1) / CHUNK;
	return d;
}

template <typename T, int K> static int make(void *stream, const k_narrow &g, const void *w)
{
	const deal d = deal_of(g);
	const int bytes = 2 * stage<K>::BYTES, blocks = d.items < g.processors ? d.items : g.processors;
	const cudaError_t e = allow_shared((const void *)stacked<T, K>, bytes);
	if (e != cudaSuccess)
		return e;
	LAUNCH((stacked<T, K>), blocks, BLOCK, bytes, stream, g, d, (const T *)w);
	return cudaGetLastError();
}

template <typename T> static int run(void *stream, const k_narrow &g, const void *w)
{
	return g.kernel[1] == 5 ? make<T, 5>(stream, g, w) : make<T, 3>(stream, g, w);
}

/* Blocks of outputs that are half empty would waste as much of the products. */
int k_stacked_takes(const struct k_narrow *g)
{
#if defined(DLX_CUDA_EMULATED) || defined(DLX_HOPPER)
	return k_narrow_takes(g) && !g->turned && g->in[0] == 1 && g->out[0] == 1 &&
	       g->kernel[0] == 1 && (g->co - 1) % OUTPUTS >= OUTPUTS / 2;
#else
	return 0;                    /* on no GPU that this was compiled for */
#endif
}

int k_stacked_run(void *stream, const struct k_narrow *g, const void *w)
{
	if (!k_stacked_takes(g) || !are_aligned(*g, w))
		return cudaErrorInvalidValue;
	if (g->n * g->co * g->out[1] * g->out[2] == 0)
		return 0;
	return g->type == K_TYPE_F16 ? run<__half>(stream, *g, w) : run<__nv_bfloat16>(stream, *g, w);
}
