/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Depthwise convolutions with 3 x 3 windows and their gradient to the input, for 16-bit elements,
 * by tensor cores and tiles (cuda/depthwise_tile.cuh).
 *
 * Matrix A is 8 pixels of two rows by 8 channels of two taps; B consists of two diagonal matrices
 * with the weights. Lane (g, t) of mma.cuh has pixel g and 8 adjacent channels, and product j uses
 * pair j of each lane, so that no element moves to another lane, and loads and stores have 16
 * bytes. The gradient to the input with stride 1 is a forward convolution with the window mirrored.
 * With stride 2 a pixel has 4, 2, 2 or 1 taps, depending on whether its row and column are even or
 * odd; one tile of dy serves all four cases.
 *
 * A block may normalise its tile before it computes (depthwise_tile.cuh). Or it may multiply
 * results by the slope of the activation after a norm, and sum them for the norm's gradients: a
 * lane loads the norm's input of two pixels before their products, and 16 sums stay in registers
 * (168 of them, so that three blocks are resident and not four). Prediction: 5 instructions an
 * element and its border for the first, 0.008 ms in the example below at full rate, next to memory;
 * for the second a half more bytes, and the join of the tiles' sums, 3 to 11 us.
 *
 * Measured there: 0.059 ms with the first, where 1,360 of a warp's 3,150 instructions normalised
 * (680 now, 0.048 predicted), and 0.066 with the second (a tenth fewer instructions since).
 *
 * Since products with zeros are added, an input that is not finite makes up to 8 channels of the
 * same pixel NaN, not only its own channel.
 *
 * Prediction (H100, 3.0 TB/s; 8 x 48 x 72 pixels of 728 channels in bf16: 80 MB, which take 0.027
 * ms; without tiles 0.058 were measured): a block copies 33 KB and four are resident, so that 130
 * KB a multiprocessor are under way where 40 are needed. From L2 come 1.35 reads of an element (10
 * x 26 pixels for 8 x 24), with the write 94 MB or 0.017 ms at 5.5 TB/s. Instructions of a lane for
 * an element: 2.3 to copy, 4.5 for the products, with loads and stores, and 2 for weights and
 * places, in all 0.006 ms at full rate, and as long for the tensor cores. A block lives for 3.3 us
 * when memory is idle, which would be 0.011 ms for all. So memory decides: 0.03 to 0.036 ms. With
 * stride 2 the bound and a fifth are expected both ways: 0.23 ms for 128 channels of 384 x 576
 * pixels, where 0.246 and 1.0 were measured. Measured: 0.055 there, which is not explained (pixels
 * of 1,456 bytes, of which a block's 128 begin anywhere?), but 0.37 of 0.30 ms for 8 x 384 x 576
 * pixels of 128 channels (0.54 before), 0.198 with stride 2, and 0.41 for the gradient to the input
 * of that (1.00 before). */
#include "cuda/depthwise_tile.cuh"
#include "cuda/join.cuh"

constexpr int SLAB = 4;                  /* adjacent packs of a warp */
constexpr int WEIGHT_BYTES = CHANNELS * TAPS * 2;

/* Starts the copies of the weights for the block's channels; a pack's weights are TAPS pieces of 16
 * bytes. */
static __device__ __forceinline__ void copy_weights(const uint16_t *w, int64_t first,
                                                    int64_t channels, char *to)
{
	const int piece = (int)threadIdx.x;
	static_assert(TAPS * PACKS <= BLOCK, "a piece for a thread");
	if (piece < TAPS * PACKS) {
		const bool there = first + piece / TAPS * PACK < channels;
		copy_async<16>(to + piece * 16, w + (there ? first * TAPS + piece * 8 : 0), there);
	}
}

/* Half of matrix B for each tap: diagonal, with the weights of pair j of four packs. The window is
 * mirrored if `turned`. */
static __device__ __forceinline__ void load_diagonals(const uint16_t *w, int turned,
                                                      uint32_t (&b)[TAPS][4])
{
	const int g = (int)threadIdx.x % 32 / 4, t = (int)threadIdx.x % 4;
	const uint32_t half = g / 2 == t ? 1u << g % 2 * 16 : 0;
	w += (PACK * t + g % 2) * TAPS + (turned ? TAPS - 1 : 0);
#pragma unroll
	for (int tap = 0; tap < TAPS; tap++, w += turned ? -1 : 1)
#pragma unroll
		for (int j = 0; j < 4; j++)
			b[tap][j] = w[2 * j * TAPS] * half;
}

/* sum += the products of taps P and Q. For each tap: the packs of a pixel in two rows, and B. */
template <typename T> static __device__ __forceinline__ void add_taps(
		const uint32_t (&p0)[4], const uint32_t (&p1)[4], const uint32_t (&p)[4],
		const uint32_t (&q0)[4], const uint32_t (&q1)[4], const uint32_t (&q)[4],
		float (&sum)[4][4])
{
#pragma unroll
	for (int j = 0; j < 4; j++) {
		const uint32_t a[4] = { p0[j], p1[j], q0[j], q1[j] };
		multiply_add<T>(sum[j], a, p[j], q[j]);
	}
}

template <int ROWS, int COLUMNS> static __device__ __forceinline__ void load_packs(
		const char *from, int pitch, uint32_t (&f)[ROWS][COLUMNS][4])
{
#pragma unroll
	for (int row = 0; row < ROWS; row++)
#pragma unroll
		for (int column = 0; column < COLUMNS; column++)
			load_word(&f[row][column], from + row * pitch + column * 16 * SLAB);
}

/* The results of row `half`, 0 or 1. */
template <typename T> static __device__ __forceinline__ several<T, PACK> pack_of(
		int half, const float (&sum)[4][4])
{
	several<T, PACK> v;
	float of_row[PACK];
#pragma unroll
	for (int j = 0; j < 4; j++) {
		of_row[2 * j] = sum[j][2 * half];
		of_row[2 * j + 1] = sum[j][2 * half + 1];
	}
	v.put(of_row);
	return v;
}

/* --- destinations of results --- */

/* The results are stored. A lane has channels c to c + 7. */
template <typename T> struct stored {
	static constexpr bool SUMS = false;
	k_rows y;
	struct lane {
		__device__ __forceinline__ lane(const stored &, int64_t, bool) {}
		__device__ __forceinline__ void look(const stored &, const int64_t (&)[2],
		                                     const bool (&)[2], int64_t) {}
		__device__ __forceinline__ void put(const stored &o, int64_t pixel, int half, int64_t c,
		                                    const float (&sum)[4][4])
		{
			store_word((T *)o.y.p + pixel * o.y.stride + c, pack_of<T>(half, sum));
		}
		__device__ __forceinline__ void end(const stored &, int64_t, int64_t, int) {}
	};
};

/* The results are multiplied by the slope where norm(of) is not above zero. part[block] receives
 * the sums of these, and of these times (of - mean), `channels` values each. */
template <typename T> struct masked {
	static constexpr bool SUMS = true;
	k_rows y, of;
	k_depthwise_norm norm;
	float *part;
	struct lane {
		pack_norm v;
		several<T, PACK> x[2];
		float sum[2 * PACK];

		__device__ __forceinline__ lane(const masked &o, int64_t c, bool there)
		{
			if (there)
				v.load(o.norm, c);
#pragma unroll
			for (int i = 0; i < 2 * PACK; i++)
				sum[i] = 0;
		}
		/* RELU: the slope is 0, known at compile time. */
		template <bool RELU> __device__ __forceinline__ void mask(several<T, PACK> &z,
		                                                          const several<T, PACK> &of)
		{
			float e[PACK];
#pragma unroll
			for (int i = 0; i < PACK; i++) {
				const float d = of.at(i) - v.m[i], all = z.at(i);
				e[i] = d * v.a[i] + v.b[i] > 0 ? all : RELU ? 0.0f : below(all, v.slope);
				sum[i] += e[i];
				sum[PACK + i] += e[i] * d;
			}
			z.put(e);
		}
		/* Starts the loads that determine the signs, so that they overlap with the products. */
		__device__ __forceinline__ void look(const masked &o, const int64_t (&pixel)[2],
		                                     const bool (&there)[2], int64_t c)
		{
#pragma unroll
			for (int half = 0; half < 2; half++)
				if (there[half])
					load_word(&x[half], (const T *)o.of.p + pixel[half] * o.of.stride + c);
		}
		__device__ __forceinline__ void put(const masked &o, int64_t pixel, int half, int64_t c,
		                                    const float (&made)[4][4])
		{
			several<T, PACK> z = pack_of<T>(half, made);
			if (v.slope == 0)
				mask<true>(z, x[half]);
			else
				mask<false>(z, x[half]);
			store_word((T *)o.y.p + pixel * o.y.stride + c, z);
		}
		/* Sums over the block: lanes of the same pack of channels are 4 apart, and the other two
		 * warps have the same packs. */
		__device__ __forceinline__ void end(const masked &o, int64_t c, int64_t channels, int tile)
		{
			__shared__ float other[2 * SLAB][2 * PACK];
			const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32,
			          pack = warp % 2 * SLAB + lane % SLAB;
#pragma unroll
			for (int i = 0; i < 2 * PACK; i++)
				for (int by = SLAB; by < 32; by *= 2)
					sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], by);
			if (warp / 2 && lane < SLAB)
#pragma unroll
				for (int i = 0; i < 2 * PACK; i++)
					other[pack][i] = sum[i];
			__syncthreads();
			float *const to = o.part + (int64_t)tile * 2 * channels + c;
			if (warp / 2 == 0 && lane < SLAB && c < channels)
#pragma unroll
				for (int i = 0; i < 2 * PACK; i++)
					to[i / PACK * channels + i % PACK] = sum[i] + other[pack][i];
		}
	};
};

/* --- forward, and the gradient to the input with stride 1 --- */

/* Computes two rows of 8 results. from: this lane's first pixel. */
template <typename T, int S> static __device__ __forceinline__ void add_windows(
		const char *from, int pitch, const uint32_t (&b)[TAPS][4], float (&sum)[4][4])
{
	uint32_t f[S + 3][3][4];
	const uint32_t none[4] = { 0 };
	load_packs(from, pitch, f);
#pragma unroll
	for (int p = 0; p + 1 < TAPS; p += 2) {
		const int q = p + 1;
		add_taps<T>(f[p / 3][p % 3], f[p / 3 + S][p % 3], b[p], f[q / 3][q % 3],
		            f[q / 3 + S][q % 3], b[q], sum);
	}
	add_taps<T>(f[2][2], f[2 + S][2], b[TAPS - 1], none, none, none, sum);
}

/* Computes a tile of y. */
template <typename T, int S, bool NORMED, typename OUT>
__global__ void __launch_bounds__(BLOCK, S == 1 && !OUT::SUMS ? 4 : 3)
depthwise_tile(k_depthwise g, tile_deal a, int turned, const uint16_t *w, OUT out)
{
	BEGIN_KERNEL();
	SHARED_DYNAMIC(char, room);
	const int number = (int)(blockIdx.x / (unsigned)a.across);
	const tile to = tile_of(a, (unsigned)number, blockIdx.x % (unsigned)a.across);
	const area x = under<S>(g, a, to);
	const int warp = (int)threadIdx.x / 32, slab = warp % 2, of_g = (int)threadIdx.x % 32 / 4,
	          of_t = (int)threadIdx.x % 4, pitch = x.columns * 16 * SLAB;
	const int64_t c = to.c + (slab * SLAB + of_t) * PACK;
	const char *const from = room + WEIGHT_BYTES + slab * plane_of<SLAB>(x.rows, x.columns) +
		of_g * S * 16 * SLAB + of_t * 16;
	uint32_t b[TAPS][4];
	copy_area<T, SLAB, S + 1>(room + WEIGHT_BYTES, g.x, x, to, g.c);
	copy_weights(w, to.c, g.c, room);
	if (NORMED) {
		pack_norm norm;
		load_norm(&norm, g.norm, to.c, g.c);
		copies_commit();
		copies_wait<0>();
		normalise_area<T, SLAB, S + 1>(room + WEIGHT_BYTES, x, to, g.c, norm);
	}
	copies_done();
	load_diagonals((const uint16_t *)room + slab * SLAB * PACK * TAPS, turned, b);
	typename OUT::lane lane(out, c, c < g.c);
	const int down = a.d[0] * g.out[1];
	const int64_t first = ((int64_t)to.n * g.out[0] + to.i) * g.out[1] + to.j + of_g * a.d[1];
	const int rows = to.c + slab * SLAB * PACK < g.c ? a.rows : 0;
	for (int row = warp / 2 * 2; row < rows; row += WARPS)
		for (int group = 0; group < a.groups; group++) {
			float sum[4][4] = { { 0 } };
			const bool across = c < g.c && to.j + (group * 8 + of_g) * a.d[1] < g.out[1];
			const int64_t at = first + row * down + group * 8 * a.d[1], pixel[] = { at, at + down };
			const bool there[] = { across && to.i + row * a.d[0] < g.out[0],
				across && to.i + (row + 1) * a.d[0] < g.out[0] };
			lane.look(out, pixel, there, c);
			add_windows<T, S>(from + row * S * pitch + group * 8 * S * 16 * SLAB, pitch, b, sum);
#pragma unroll
			for (int half = 0; half < 2; half++)
				if (there[half])
					lane.put(out, pixel[half], half, c, sum);
		}
	lane.end(out, c, g.c, number);
}

/* --- the gradient to the input with stride 2 --- */

/* With stride 2, result i of the gradient to x is at place i + lo of the tensor with its border.
 * Even places 2q have taps 0 and 2, which read dy at q and q - 1; odd places 2q + 1 have tap 1,
 * which reads dy at q. Computes the places (2q + ODD_I, 2p + ODD_J) and those of the next row. f:
 * dy at q - 1, q and q + 1, by p - 1 and p. */
template <typename T, int ODD_I, int ODD_J> static __device__ __forceinline__ void add_places(
		const uint32_t (&f)[3][2][4], const uint32_t (&b)[TAPS][4], float (&sum)[4][4])
{
	constexpr int DOWN = ODD_I ? 1 : 2, ACROSS = ODD_J ? 1 : 2;
	const uint32_t none[4] = { 0 };
#pragma unroll
	for (int p = 0; p < DOWN * ACROSS; p += 2) {
		const int q = p + 1 < DOWN * ACROSS ? p + 1 : p;
		const int row[2] = { p / ACROSS, q / ACROSS }, column[2] = { p % ACROSS, q % ACROSS };
		const int tap[2] = { (ODD_I ? 1 : 2 * row[0]) * 3 + (ODD_J ? 1 : 2 * column[0]),
		                     (ODD_I ? 1 : 2 * row[1]) * 3 + (ODD_J ? 1 : 2 * column[1]) };
		if (q > p)
			add_taps<T>(f[1 - row[0]][1 - column[0]], f[2 - row[0]][1 - column[0]], b[tap[0]],
			            f[1 - row[1]][1 - column[1]], f[2 - row[1]][1 - column[1]], b[tap[1]], sum);
		else
			add_taps<T>(f[1 - row[0]][1 - column[0]], f[2 - row[0]][1 - column[0]], b[tap[0]], none,
			            none, none, sum);
	}
}

template <typename T, int ODD_I, int ODD_J, typename OUT>
static __device__ __forceinline__ void store_places(
		const k_depthwise &g, const uint32_t (&f)[3][2][4], const uint32_t (&b)[TAPS][4], int64_t n,
		int64_t c, int i, int j, const OUT &out, typename OUT::lane &lane)
{
	float sum[4][4] = { { 0 } };
	i += ODD_I;
	j += ODD_J;
	const int64_t at = (n * g.in[0] + i) * g.in[1] + j, pixel[] = { at, at + 2 * g.in[1] };
	const bool across = c < g.c && j >= 0 && j < g.in[1],
	           there[] = { across && i >= 0 && i < g.in[0], across && i + 2 < g.in[0] && i >= -2 };
	lane.look(out, pixel, there, c);
	add_places<T, ODD_I, ODD_J>(f, b, sum);
#pragma unroll
	for (int half = 0; half < 2; half++)
		if (there[half])
			lane.put(out, pixel[half], half, c, sum);
}

/* Computes a tile of x with stride 2; each pixel of dy stands for four places. */
template <typename T, typename OUT> __global__ void __launch_bounds__(BLOCK, OUT::SUMS ? 3 : 4)
depthwise_spread(k_depthwise g, tile_deal a, const uint16_t *w, OUT out)
{
	BEGIN_KERNEL();
	SHARED_DYNAMIC(char, room);
	const int number = (int)(blockIdx.x / (unsigned)a.across);
	tile to = tile_of(a, (unsigned)number, blockIdx.x % (unsigned)a.across);
	to.i += g.lo[0] / 2;
	to.j += g.lo[1] / 2;
	const area y = { to.i - 1, to.j - 1, { 1, 1 }, a.rows + 1, a.groups * 8 + 1, g.out[0],
		g.out[1] };
	const int warp = (int)threadIdx.x / 32, slab = warp % 2, of_g = (int)threadIdx.x % 32 / 4,
	          of_t = (int)threadIdx.x % 4, pitch = y.columns * 16 * SLAB;
	const int64_t c = to.c + (slab * SLAB + of_t) * PACK;
	const char *const from = room + WEIGHT_BYTES + slab * plane_of<SLAB>(y.rows, y.columns) +
		of_g * 16 * SLAB + of_t * 16;
	uint32_t b[TAPS][4];
	copy_area<T, SLAB, 2>(room + WEIGHT_BYTES, g.y, y, to, g.c);
	copy_weights(w, to.c, g.c, room);
	copies_done();
	load_diagonals((const uint16_t *)room + slab * SLAB * PACK * TAPS, 0, b);
	typename OUT::lane lane(out, c, c < g.c);
	const int rows = to.c + slab * SLAB * PACK < g.c ? a.rows : 0;
	for (int row = warp / 2 * 2; row < rows; row += WARPS)
		for (int group = 0; group < a.groups; group++) {
			uint32_t f[3][2][4];
			const int i = 2 * (to.i + row) - g.lo[0], j = 2 * (to.j + group * 8 + of_g) - g.lo[1];
			load_packs(from + row * pitch + group * 8 * 16 * SLAB, pitch, f);
			store_places<T, 0, 0>(g, f, b, to.n, c, i, j, out, lane);
			store_places<T, 0, 1>(g, f, b, to.n, c, i, j, out, lane);
			store_places<T, 1, 0>(g, f, b, to.n, c, i, j, out, lane);
			store_places<T, 1, 1>(g, f, b, to.n, c, i, j, out, lane);
		}
	lane.end(out, c, g.c, number);
}

/* --- launches --- */

int k_depthwise_tiles(const struct k_depthwise *g, const void *w)
{
	const bool halves = g->type == K_TYPE_F16 || g->type == K_TYPE_BF16;
	bool all = g->matrices && halves && g->s[0] == g->s[1] && g->c >= SLAB * PACK &&
		side_by_side(g->c, 2, { g->x, g->y }) == PACK && (uintptr_t)w % 16 == 0;
	for (int a = 0; a < 2; a++)
		all = all && (g->s[a] == 1 || (g->s[a] == 2 && g->d[a] == 1 && g->lo[a] >= 0));
	return all;
}

static tile_deal result_deal(const k_depthwise &g)
{
	return g.s[0] == 2 ? deal_tiles(g.out, g.d, 4, 2, g.c) : deal_tiles(g.out, g.d, 8, 3, g.c);
}

/* The division of the gradient to the input with stride 2, by places of dy. */
static tile_deal spread_deal(const k_depthwise &g)
{
	int places[2];
	for (int a = 0; a < 2; a++)
		places[a] = g.in[a] ? (g.lo[a] + g.in[a] - 1) / 2 - g.lo[a] / 2 + 1 : 0;
	return deal_tiles(places, g.d, 8, 3, g.c);
}

static int64_t tiles_of(const k_depthwise &g, const tile_deal &a)
{
	return g.n * a.blocks[0] * a.blocks[1];
}

template <typename T, typename OUT> static int make(void *stream, const k_depthwise &g, int turned,
                                                    const uint16_t *w, const OUT &out)
{
	const tile_deal a = result_deal(g);
	const dim3 grid((unsigned)(tiles_of(g, a) * a.across));
	const int S = g.s[0], plane = plane_of<SLAB>((a.rows - 1) * S + 3, (8 * a.groups - 1) * S + 3);
	const size_t shared = (size_t)(WEIGHT_BYTES + PACKS / SLAB * plane);
	if (grid.x == 0)
		return 0;
	if constexpr (OUT::SUMS)                 /* a gradient with stride 1 */
		LAUNCH((depthwise_tile<T, 1, false, OUT>), grid, dim3(BLOCK), shared, stream, g, a, turned,
		       w, out);
	else if (S == 2)
		NORMED_OR_NOT(g, NORMED, LAUNCH((depthwise_tile<T, 2, NORMED, OUT>), grid, dim3(BLOCK),
		                                shared, stream, g, a, turned, w, out));
	else
		NORMED_OR_NOT(g, NORMED, LAUNCH((depthwise_tile<T, 1, NORMED, OUT>), grid, dim3(BLOCK),
		                                shared, stream, g, a, turned, w, out));
	return cudaGetLastError();
}

template <typename T, typename OUT> static int spread(void *stream, const k_depthwise &g,
                                                      const uint16_t *w, const OUT &out)
{
	const tile_deal a = spread_deal(g);
	const dim3 grid((unsigned)(tiles_of(g, a) * a.across));
	const int plane = plane_of<SLAB>(a.rows + 1, 8 * a.groups + 1);
	if (grid.x)
		LAUNCH((depthwise_spread<T, OUT>), grid, dim3(BLOCK),
		       (size_t)(WEIGHT_BYTES + PACKS / SLAB * plane), stream, g, a, w, out);
	return cudaGetLastError();
}

int k_depthwise_tile(void *stream, const struct k_depthwise *g, int turned, const void *w)
{
	const auto weights = (const uint16_t *)w;
	HALF_TYPES(g->type, T, return make<T>(stream, *g, turned, weights, stored<T>{ g->y }))
}

int k_depthwise_spread(void *stream, const struct k_depthwise *g, const void *w)
{
	const auto weights = (const uint16_t *)w;
	HALF_TYPES(g->type, T, return spread<T>(stream, *g, weights, stored<T>{ g->x }))
}

/* --- the gradient to the input of a norm's result --- */

static int64_t masked_parts(const k_depthwise *g)
{
	return g->s[0] == 2 ? tiles_of(*g, spread_deal(*g)) :
	       tiles_of(*g, result_deal(k_depthwise_turned(g)));
}

int64_t k_depthwise_masked_workspace(const struct k_depthwise *g)
{
	return masked_parts(g) * 2 * g->c * (int64_t)sizeof(float);
}

__global__ void __launch_bounds__(JOINERS, 1)
masked_join(int64_t c, int64_t parts, const float *part, const float *rstd, float *dgamma,
            float *dbeta)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<1>();
	double s[2] = { 0 };
	join_parts<2>(s, column<float>{ part + j, j < c ? parts : 0, 2 * c, c }, plus(),
		[&](int64_t, const float (&p)[2]) {
			s[0] += p[0];
			s[1] += p[1];
		});
	if (threadIdx.y || j >= c)
		return;
	if (dbeta)
		dbeta[j] = (float)s[0];
	if (dgamma)
		dgamma[j] = (float)(s[1] * rstd[j]);
}

template <typename T> static int mask(void *stream, const k_depthwise &g, const uint16_t *w,
                                      const k_depthwise_masked &m, float *part)
{
	const masked<T> out = { g.x, m.of, g.norm, part };
	return g.s[0] == 2 ? spread<T>(stream, g, w, out) :
	       make<T>(stream, k_depthwise_turned(&g), 1, w, out);
}

int k_depthwise_grad_input_masked(void *stream, const struct k_depthwise *g, const void *w,
                                  const struct k_depthwise_masked *m, void *ws)
{
	const k_rows of = m->of;
	int failed = cudaErrorInvalidValue;
	if (!k_depthwise_tiles(g, w) || side_by_side(g->c, 2, { of }) != PACK)
		return failed;
	HALF_TYPES(g->type, T, failed = mask<T>(stream, *g, (const uint16_t *)w, *m, (float *)ws))
	if (failed)
		return failed;
	const int64_t parts = masked_parts(g);
	LAUNCH_JOIN(masked_join, g->c, parts, stream, g->c, parts, (const float *)ws, g->norm.rstd,
	            m->dgamma, m->dbeta);
	return cudaGetLastError();
}
