/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gradients to the weights of convolutions with few output channels, on tensor cores: dw[o][tap][i]
 * is the sum over pixels of dy[pixel][o] x[pixel + tap][i].
 *
 * A warp keeps the sums for 16 channels o, 8 or 16 channels i and all taps of a plane of the window
 * in registers. It goes down a column of dy that is SPAN pixels wide; these pixels are the k of a
 * product. A new row of x is multiplied by the last K rows of dy, which the warp keeps. So for K x
 * K products it loads K matrices of x, one for each horizontal shift, and one of dy. The warps of a
 * block share the rows in shared memory; their copies are in flight several stages of K rows ahead.
 * Several blocks compute the same part of dw, each for a part of the pixels, and their sums are
 * added at the end in a fixed order. If the gradient to the bias is needed, the warps of the first
 * channels i also multiply the rows of dy by ones, since they see each row once.
 *
 * A product of 16 x 8 x 16 takes a tensor core of an H100 6.4 cycles, at 62 % of the rate that
 * wgmma reaches: 560 TFLOP/s at 1.65 GHz. A row of 5 x 5 taps is 25 of them, 40 cycles of four
 * tensor cores, and four ldmatrix.x4, 16 cycles of shared memory; 3 x 3 taps of 16 channels i are
 * 29 and 16 cycles. In addition 10 to 15 bytes a cycle come from L2, 2.5 TB/s in all. Three or four
 * warps a scheduler hide each other's copies and latencies. Measured there: tiramisu's 26 nodes of
 * a step of 2 samples in bf16 6.8 ms, where cuDNN and its copies of windows take 21.9 (6.7 were
 * predicted); 'dense_8.1.conv' (2 x 224 x 768 x 1152, 634 GFLOP) 1.42 instead of 3.55, which is 446
 * TFLOP/s, and cosmoflow's conv2 (464 GFLOP) 1.39 instead of 2.67. */
#include <type_traits>

#include "cuda/join.cuh"
#include "cuda/mma.cuh"
#include "cuda/narrow_weights.h"

constexpr int SPAN = 16, STAGES = 4;
constexpr int64_t MOST_WORKSPACE = 64 << 20;

/* The shape of a block's work: windows of K x K taps; a warp has 8 * NI channels i, the block 16 *
 * G channels o. BLOCKS: resident blocks of a multiprocessor. The distance between pixels in shared
 * memory is an odd number of 16 bytes, so that the eight adjacent pixels that ldmatrix reads at
 * once are in different banks. */
template <int K_, int NI_, int G_, int WARPS_, int BLOCKS_> struct form {
	static constexpr int K = K_, NI = NI_, G = G_, WARPS = WARPS_, BLOCKS = BLOCKS_;
	static constexpr int SIZE = 32 * WARPS, WIDE = SPAN + K - 1;
	static constexpr int CI = WARPS / G * 8 * NI, CO = 16 * G;
	static constexpr int XP = (CI / 8 | 1) * 8, YP = (CO / 8 | 1) * 8;
	static constexpr int XS = K * WIDE * XP, YS = K * SPAN * YP, STAGE = XS + YS;
	static constexpr size_t SHARED = 2 * STAGES * STAGE;
	static_assert(SHARED <= 48 << 10, "");
};

/* The division of dw and of the pixels. A tile of dw is a plane of the window, the channels o of a
 * group and the channels i of a chunk. A part of the pixels is a range of rows of dy, in the order
 * of columns. */
struct cut {
	int across, chunks, groups, tiles, parts, rows;
};

template <typename F> static cut cut_of(const k_narrow_weights &g)
{
	const int64_t weights = (int64_t)g.co * g.kernel[0] * F::K * F::K * g.ci;
	const int64_t most = MOST_WORKSPACE / (weights * (int64_t)sizeof(float));
	const int slots = g.processors * F::BLOCKS;
	cut c = { (g.out[2] + SPAN - 1) / SPAN, (g.ci + F::CI - 1) / F::CI,
		(g.co + F::CO - 1) / F::CO, 0, 1, 0 };
	double least = 0;
	c.tiles = c.chunks * c.groups * g.kernel[0];
	c.rows = g.n * g.out[0] * c.across * g.out[1];
	/* There are up to four waves of blocks; writing a block's result and reading it again takes as
	 * long as 40 rows. */
	for (int waves = 1; waves <= 4; waves++) {
		int parts = waves * slots / c.tiles;
		parts = parts > most ? (int)most : parts;
		parts = parts > c.rows ? c.rows : parts;
		parts = parts < 1 ? 1 : parts;
		const int taken = (parts * c.tiles + slots - 1) / slots;
		const double cost = taken * ((double)c.rows / parts + 40);
		if (waves == 1 || cost < least) {
			least = cost;
			c.parts = parts;
		}
	}
	return c;
}

/* --- the walk over the pixels --- */

/* The next K rows of dy are those from `row` on, and exist up to `stop`; stop <= 0: the walk has
 * ended. */
struct walk {
	int column, row, stop;
	int x, y, j;                 /* offsets in pixels of x and y, at row 0 and the first column; j:
	                              * y's column */
};

/* Skips columns whose plane of x is outside the tensor. */
static __device__ __forceinline__ void settle(const k_narrow_weights &g, const cut &c, int plane,
                                              int end, walk *w)
{
	for (;; w->column++, w->row = 0) {
		w->stop = min(g.out[1], end - w->column * g.out[1]);
		if (w->stop <= 0)
			return;
		const unsigned z = (unsigned)w->column / (unsigned)c.across, n = z / (unsigned)g.out[0];
		const int depth = (int)(z - n * g.out[0]) + plane - g.lo[0];
		w->j = (w->column - (int)z * c.across) * SPAN;
		w->x = ((int)n * g.in[0] + depth) * g.in[1] * g.in[2] + w->j - g.lo[2];
		w->y = (int)z * g.out[1] * g.out[2] + w->j;
		if (depth >= 0 && depth < g.in[0])
			return;
	}
}

static __device__ __forceinline__ walk begin(const k_narrow_weights &g, const cut &c, int plane,
                                             int first, int end)
{
	walk w = { first / g.out[1], first % g.out[1], 0, 0, 0, 0 };
	settle(g, c, plane, end, &w);
	return w;
}

template <int K> static __device__ __forceinline__ void go_on(
		const k_narrow_weights &g, const cut &c, int plane, int end, walk *w)
{
	w->row += K;
	if (w->row < w->stop + K - 1)
		return;
	w->column++;
	w->row = 0;
	settle(g, c, plane, end, w);
}

/* Starts a copy of 8 channels of a pixel, from c on. There is no branch: an offset outside the
 * tensor is computed but not used. */
template <typename T> static __device__ __forceinline__ void copy_pixel(
		T *to, const k_rows &rows, int pixel, unsigned c, bool there)
{
	const uint64_t at = (uint64_t)(unsigned)pixel * (unsigned)rows.stride + c;
	copy_async<16>(to, (const T *)rows.p + (there ? at : 0), there);
}

/* Starts the copies of the rows of x and dy; ci, co: the first channels. */
template <typename T, typename F> static __device__ __forceinline__ void fetch(
		const k_narrow_weights &g, const walk &w, int ci, int co, T *stage)
{
	constexpr unsigned XU = F::CI / 8, YU = F::CO / 8, XN = F::K * F::WIDE * XU;
	constexpr unsigned YN = F::K * SPAN * YU;
#pragma unroll
	for (unsigned e0 = 0; e0 < XN; e0 += F::SIZE) {
		const unsigned e = e0 + threadIdx.x, at = e / XU, c = e % XU * 8;
		const int row = w.row + (int)(at / F::WIDE) - g.lo[1], px = (int)(at % F::WIDE);
		const bool there = within(row, g.in[1]) && within(w.j + px - g.lo[2], g.in[2]) &&
		                   ci + (int)c < g.ci;
		if (e0 + F::SIZE <= XN || e < XN)        /* all threads know the first condition at compile
		                                          * time */
			copy_pixel(stage + at * F::XP + c, g.x, w.x + row * g.in[2] + px, ci + c, there);
	}
#pragma unroll
	for (unsigned e0 = 0; e0 < YN; e0 += F::SIZE) {
		const unsigned e = e0 + threadIdx.x, at = e / YU, c = e % YU * 8;
		const int row = w.row + (int)(at / SPAN), px = (int)(at % SPAN);
		const bool there = row < w.stop && w.j + px < g.out[2] && co + (int)c < g.co;
		if (e0 + F::SIZE <= YN || e < YN)
			copy_pixel(stage + F::XS + at * F::YP + c, g.y, w.y + row * g.out[2] + px, co + c,
			           there);
	}
}

/* --- the products --- */

template <typename F> using sums = float[F::K][F::K][F::NI][4];

/* sum += row q of a stage of x, from `x` on, times the last K rows of dy. */
template <typename T, typename F, int Q> static __device__ __forceinline__ void add_row(
		const T *x, const uint32_t (&dy)[F::K][4], sums<F> &sum)
{
	uint32_t b[4];
#pragma unroll
	for (int kw = 0; kw < F::K; kw++) {
		/* With one matrix of channels i for a warp, two shifts are loaded at once; the last load's
		 * second half is not used. */
		if (F::NI == 2 || kw % 2 == 0)
			load_transposed(b, x + (Q * F::WIDE + kw) * F::XP);
#pragma unroll
		for (int kh = 0; kh < F::K; kh++)
#pragma unroll
			for (int n = 0; n < F::NI; n++) {
				const int m = F::NI == 2 ? n : kw % 2;
				multiply_add<T>(sum[kh][kw][n], dy[(Q - kh + F::K) % F::K], b[2 * m],
				                b[2 * m + 1]);
			}
	}
}

/* Adds row Q and the rows after it. dy[r]: the row, of the last K, whose number is r modulo K.
 * of_dy: sums of the new rows of dy over their pixels, if needed. */
template <typename T, typename F, int Q = 0> static __device__ __forceinline__ void add_rows(
		const T *x, const T *y, int first, int end, uint32_t (&dy)[F::K][4], sums<F> &sum,
		bool wanted, float (&of_dy)[4])
{
	constexpr uint32_t ONES = std::is_same<T, __half>::value ? 0x3c003c00 : 0x3f803f80;
	load_transposed(dy[Q], y + Q * SPAN * F::YP);
	if (wanted)
		multiply_add<T>(of_dy, dy[Q], ONES, ONES);
	if (Q >= first && Q < end)
		add_row<T, F, Q>(x, dy, sum);
	if constexpr (Q + 1 < F::K)
		add_rows<T, F, Q + 1>(x, y, first, end, dy, sum, wanted, of_dy);
}

/* part[o][tap][i] */
template <typename F> static __device__ __forceinline__ void put_sums(
		const k_narrow_weights &g, int plane, int ci, int co, const sums<F> &sum, float *part)
{
	const int lane = (int)threadIdx.x % 32, o = co + lane / 4, i = ci + lane % 4 * 2;
	const int taps = g.kernel[0] * F::K * F::K;
#pragma unroll
	for (int half = 0; half < 2; half++)
#pragma unroll
		for (int n = 0; n < F::NI; n++)
#pragma unroll
			for (int tap = 0; tap < F::K * F::K; tap++) {
				const float *const s = &sum[tap / F::K][tap % F::K][n][2 * half];
				const int64_t at = (int64_t)(o + 8 * half) * taps + plane * F::K * F::K + tap;
				if (o + 8 * half < g.co && i + 8 * n < g.ci)
					*(float2 *)(part + at * g.ci + i + 8 * n) = make_float2(s[0], s[1]);
			}
}

static __host__ __device__ int64_t weights_of(const k_narrow_weights &g)
{
	return (int64_t)g.co * g.kernel[0] * g.kernel[1] * g.kernel[2] * g.ci;
}

/* part[p]: the sums [o][tap][i], followed by the sums over dy, [o], if needed. */
template <typename T, typename F> __global__ void __launch_bounds__(F::SIZE, F::BLOCKS)
narrow_weights(k_narrow_weights g, cut c, int biased, float *part)
{
	BEGIN_KERNEL();
	SHARED_DYNAMIC(T, room);
	const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32, m = lane / 8;
	const int tile = (int)blockIdx.x % c.tiles, p = (int)blockIdx.x / c.tiles;
	const int plane = tile / (c.chunks * c.groups);
	const int ci = tile % c.chunks * F::CI, co = tile / c.chunks % c.groups * F::CO;
	const int first = (int)((int64_t)c.rows * p / c.parts);
	const int end = (int)((int64_t)c.rows * (p + 1) / c.parts);
	const int wi = warp / F::G * 8 * F::NI, wo = warp % F::G * 16;
	/* this lane's matrix rows: of x pixels 0-7 and 8-15, for two shifts or two matrices of
	 * channels; of dy channels 0-7 and 8-15 */
	const int ofx = (lane % 8 + m % 2 * 8 + (F::NI == 1 ? m / 2 : 0)) * F::XP + wi +
	                (F::NI == 2 ? m / 2 * 8 : 0);
	const int ofy = F::XS + (lane % 8 + m / 2 * 8) * F::YP + m % 2 * 8 + wo;
	const bool wanted = biased && ci + wi == 0;
	sums<F> sum = {};
	float of_dy[4] = { 0 };
	uint32_t dy[F::K][4] = {};
	walk ahead = begin(g, c, plane, first, end), now = ahead;
	int slot = STAGES - 1, at = 0;       /* slot: the stage to copy to; at: the stage to read */
	for (int s = 0; s < STAGES - 1; s++) {
		if (ahead.stop > 0) {
			fetch<T, F>(g, ahead, ci, co, room + s * F::STAGE);
			go_on<F::K>(g, c, plane, end, &ahead);
		}
		copies_commit();
	}
	while (now.stop > 0) {
		copies_wait<STAGES - 2>();
		__syncthreads();
		if (ahead.stop > 0) {
			fetch<T, F>(g, ahead, ci, co, room + slot * F::STAGE);
			go_on<F::K>(g, c, plane, end, &ahead);
		}
		copies_commit();
		if (now.row == 0)
			for (int e = 0; e < 4 * F::K; e++)
				dy[e / 4][e % 4] = 0;
		const T *stage = room + at * F::STAGE;
		add_rows<T, F>(stage + ofx, stage + ofy, g.lo[1] - now.row,
		               min(g.in[1] + g.lo[1], now.stop + F::K - 1) - now.row, dy, sum, wanted,
		               of_dy);
		go_on<F::K>(g, c, plane, end, &now);
		slot = at;
		at = at + 1 == STAGES ? 0 : at + 1;
	}
	part += p * (weights_of(g) + (biased ? g.co : 0));
	put_sums<F>(g, plane, ci + wi, co + wo, sum, part);
	for (int half = 0; half < 2; half++) {
		const int o = co + wo + lane / 4 + 8 * half;
		if (wanted && lane % 4 == 0 && o < g.co)
			part[weights_of(g) + o] = of_dy[2 * half];
	}
}

/* Sums n values over all parts, ABREAST in each thread; the first `weights` of them belong to w,
 * the others to the bias. */
__global__ void __launch_bounds__(JOINERS, 1)
narrow_weights_join(int type, int64_t weights, int64_t n, int parts, const float *part, int to,
                    void *w, float *bias)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<ABREAST>();
	float sum[ABREAST] = { 0 };
	const column<float4> all = { (const float4 *)(part + j), j < n ? parts : 0, n / ABREAST };
	join_parts<1>(sum, all, plus(), [&](int64_t, const float4 (&v)[1]) {
		sum[0] += v[0].x;
		sum[1] += v[0].y;
		sum[2] += v[0].z;
		sum[3] += v[0].w;
	});
	if (threadIdx.y == 0 && j < n)
#pragma unroll
		for (int e = 0; e < ABREAST; e++)
			if (j < weights)
				store_rounded(type, to, w, j + e, sum[e]);
			else
				bias[j - weights + e] = sum[e];
}

/* --- launchers --- */

/* Calls `with` with the form that suits the shape. */
template <typename WITH> static auto formed(const k_narrow_weights &g, WITH with)
{
	const int halves = (g.co + 15) / 16, quarters = (g.ci + 31) / 32;
	if (g.kernel[2] == 5)
		return halves % 2 ? with(form<5, 1, 1, 4, 3>()) : with(form<5, 1, 2, 4, 3>());
	if (halves % 2)
		return with(form<3, 2, 1, 4, 4>());
	if (halves % 4 == 0)
		return with(form<3, 2, 4, 8, 2>());
	return quarters % 2 ? with(form<3, 2, 2, 4, 4>()) : with(form<3, 2, 2, 8, 2>());
}

static bool is_taken(const k_narrow_weights &g)
{
	const bool halves = g.type == K_TYPE_F16 || g.type == K_TYPE_BF16;
	const bool window = g.kernel[1] == g.kernel[2] && (g.kernel[2] == 3 || g.kernel[2] == 5);
	bool aligned = g.ci % 8 == 0 && g.co % 8 == 0;
	for (const k_rows &rows : { g.x, g.y })
		aligned = aligned && (uintptr_t)rows.p % 16 == 0 && rows.stride % 8 == 0 &&
		          rows.stride <= INT32_MAX;
	return halves && window && aligned && g.n > 0 && g.ci > 0 && g.co > 0;
}

int64_t k_narrow_weights_workspace(const struct k_narrow_weights *g)
{
	const int parts = formed(*g, [g](auto f) { return cut_of<decltype(f)>(*g).parts; });
	return parts * (weights_of(*g) + g->co) * (int64_t)sizeof(float);
}

int k_narrow_weights_sums(const struct k_narrow_weights *g)
{
	return g->kernel[0] == 1 && g->lo[0] == 0 && g->in[0] == g->out[0];
}

int k_narrow_weights_run(void *stream, const struct k_narrow_weights *g, int to, void *w,
                         float *bias, void *ws)
{
	const int64_t weights = weights_of(*g), n = weights + (bias ? g->co : 0);
	if (!is_taken(*g) || (bias && !k_narrow_weights_sums(g)))
		return cudaErrorInvalidValue;
	const int parts = formed(*g, [=](auto f) {
		using F = decltype(f);
		const cut c = cut_of<F>(*g);
		const dim3 grid((unsigned)(c.tiles * c.parts));
		if (g->type == K_TYPE_BF16)
			LAUNCH((narrow_weights<__nv_bfloat16, F>), grid, dim3(F::SIZE), F::SHARED, stream, *g,
			       c, bias != NULL, (float *)ws);
		else
			LAUNCH((narrow_weights<__half, F>), grid, dim3(F::SIZE), F::SHARED, stream, *g, c,
			       bias != NULL, (float *)ws);
		return c.parts;
	});
	LAUNCH_JOIN(narrow_weights_join, n / ABREAST, parts, stream, g->type, weights, n, parts,
	            (const float *)ws, to, w, bias);
	return cudaGetLastError();
}
