/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gradients to the weights between a tensor of at most four channels and one of many (few.h). They
 * are sums over all pixels, bound by memory bandwidth, and y is read once.
 *
 * A warp has 32 channels of y and up to nine groups of four adjacent taps of a window's row, and
 * loops over strips of 16 pixels of a row of y. For each strip and group of taps it multiplies 16
 * rows (the channels of the taps), 16 k (pixels) and 8 columns (channels of y). The pixels under
 * the window are in shared memory (few.cuh), and ldmatrix transposes pairs of them. Pairs must be
 * aligned to 16 bytes, so with stride 1 there are two copies of the pixels, shifted by one pixel;
 * the copies are 64 bytes apart modulo 128 to avoid bank conflicts. y passes through registers
 * only: a lane loads 4 channels of 4 pixels, DEPTH strips ahead, and pairs the pixels by permuting
 * bytes. Beyond a row's last tap, or if a pixel has fewer than four channels, a row of the product
 * is unused; if the sum over y is needed, ones in that row compute it.
 *
 * The sums of warps with the same taps and channels, and then those of blocks, are added in an
 * order that depends only on the shape.
 *
 * Prediction for an H100: conv1 of cosmoflow (16 samples of 128^3 pixels, 3 x 3 x 3, 4 and 32
 * channels) reads 2.4 GB, 0.81 ms at 3.0 TB/s. Its 76 M products take 0.53 to 0.67 ms (6.4 to 8
 * clocks of a quarter of a processor), matrices from shared memory 0.33 ms (36 clocks a strip), its
 * instructions 0.25 ms. Eight warps a processor have 32 kB on their way; 1.1 ms were expected, 1.49
 * are measured (cuDNN and the bias: 7.77). conv1 of resnet-50 (256 samples of 224^2, 7 x 7, stride
 * 2, 3 and 64) reads 0.49 GB, 0.16 ms, and has 23 M products, 0.16 to 0.2 ms; 0.35 ms were
 * expected, 0.63 are measured (cuDNN: 1.18). The machine code shows why: with three channels each
 * pixel was waited for before the next one was loaded, and with four channels the copies took a
 * quarter of all instructions. Since both were fixed, 1.3 and 0.4 ms are predicted. */
#include <type_traits>

#include "cuda/few.cuh"
#include "cuda/join.cuh"

constexpr int HALF = 1280, SECOND = 1288;   /* pixels of each copy; the second copy begins 64 bytes
                                             * later modulo 128 */
constexpr int ROOM = SECOND + HALF, DEPTH = 4;
constexpr int STRIPS = 64;           /* the most strips of a tile */

/* The assignment of taps and channels to warps. A role is `each` groups of four taps, for 32
 * channels. Warp i of a block has role i % (roles of the block), and every (warps / roles)-th strip
 * from i / roles on. */
struct few_roles {
	int quads, taps4, each;      /* groups of four taps: in a row; in the window; of a role */
	int across, all;             /* roles: for one group of channels; in all */
	int log, blocks;             /* log: log2 of the roles in a block; blocks: blocks that together
	                              * have all roles */
	int parts;                   /* blocks for each role */
	int free;                    /* the unused row of the first product; -1: none */
};

/* Resident blocks of a multiprocessor, which then use all its registers. */
static constexpr int resident(int each) { return each > 5 ? 2 : each > 1 ? 3 : 4; }

static few_room room_of(const k_few &g)
{
	return { 16, (g.kernel[2] + 3) / 4 * 4, 2, 0, g.stride[2] == 1 ? HALF : ROOM };
}

static int roles_each(int taps4)
{
	int best = 1, least = INT32_MAX;
	for (int each = 1; each <= 9; each += 2) {
		const int work = (taps4 + each - 1) / each * (each + 1);
		if (work <= least) {
			best = each;
			least = work;
		}
	}
	return best;
}

static few_roles roles_of(const k_few &g, const few_tile &a)
{
	few_roles r = {};
	r.quads = (g.kernel[2] + 3) / 4;
	r.taps4 = g.kernel[0] * g.kernel[1] * r.quads;
	r.each = roles_each(r.taps4);
	r.across = (r.taps4 + r.each - 1) / r.each;
	r.all = r.across * ((g.many + GROUP - 1) / GROUP);
	r.log = r.all > 2 ? 2 : r.all - 1;
	r.blocks = (r.all + (1 << r.log) - 1) >> r.log;
	r.parts = blocks_through(a.all, resident(r.each), r.blocks);
	r.free = g.kernel[2] < 4 ? 4 * g.kernel[2] : g.few < 4 ? 3 : -1;
	return r;
}

/* Floats of a role's result: 4 in each lane for each of its products. */
static __host__ __device__ __forceinline__ int role_floats(int each) { return each * 4 * 128; }

int k_few_weights_takes(const struct k_few *g)
{
	return few_general(*g) && tile_of(*g, room_of(*g)).all;
}

int k_few_sums(const struct k_few *g)
{
	return g->kernel[2] < 4 || g->few < 4;
}

int64_t k_few_workspace(const struct k_few *g)
{
	const few_roles r = roles_of(*g, tile_of(*g, room_of(*g)));
	return (int64_t)r.parts * r.all * role_floats(r.each) * (int64_t)sizeof(float);
}

/* Also makes the second copy of the pixels if the stride needs it. */
template <typename T> static __device__ __forceinline__ void copy_both(
		const k_few &g, const few_tile &a, const few_place &p, const int *place, uint2 *to)
{
	if (g.stride[2] == 1)
		copy_under<T, true>(g, a, p, place, to, to + SECOND);
	else
		copy_under<T, false>(g, a, p, place, to, NULL);
}

/* A tile and its strips. For each strip: the distance of its first pixel of y from the tile's, in
 * units of 16 bytes, or -1 if it has no pixel inside; and its column in the tile times 65536, plus
 * the offset in bytes of the pixels under it. */
struct few_table {
	few_place place;
	int2 strip[STRIPS];
};

static __device__ __forceinline__ void make_table(const k_few &g, const few_tile &a, int u,
                                                  few_table *to)
{
	const int i = threadIdx.x, log = a.log[2] - 4, line = i >> log,
	          w = (i & ((1 << log) - 1)) * 16, h = line & ((1 << a.log[1]) - 1),
	          d = line >> a.log[1];
	if (i >= STRIPS)
		return;
	const few_place p = place_of(a, u);
	const bool there = u < a.all && d < 1 << a.log[0] && p.at[0] + d < g.out[0] &&
	                   p.at[1] + h < g.out[1] && p.at[2] + w < g.out[2];
	to->strip[i] = { there ? ((d * g.out[1] + h) * g.out[2] + w) * (int)(g.y.stride / 8) : -1,
		(d * g.stride[0] * a.plane + h * g.stride[1] * a.pitch + w * g.stride[2]) * 8 | w << 16 };
	if (i == 0)
		to->place = p;
}

/* The pixels of y that a lane loads in a tile: four channels from its pixel 2t on; `left` of the
 * row's pixels exist (0 if the channels do not exist). */
struct few_source {
	const char *y;
	int left;
};

template <typename T> static __device__ __forceinline__ few_source source_of(
		const k_few &g, const few_place &p, int channel)
{
	const int t2 = threadIdx.x % 4 * 2,
	          pixel = ((p.n * g.out[0] + p.at[0]) * g.out[1] + p.at[1]) * g.out[2] + p.at[2] + t2;
	return { (const char *)((const T *)g.y.p + pixel * g.y.stride + channel),
		channel < g.many ? g.out[2] - p.at[2] - t2 : 0 };
}

/* Loads four channels of pixels 2t, 2t + 1, 2t + 8 and 2t + 9 of a strip; zeros outside. apart:
 * bytes from pixel to pixel. Returns the offset in bytes of the pixels under the strip, or -1. */
static __device__ __forceinline__ int load_strip(const few_source &s, int2 strip, int apart,
                                                 uint2 (&v)[4])
{
	const char *const y = s.y + (int64_t)strip.x * 16;
	const int left = strip.x < 0 ? 0 : s.left - (strip.y >> 16);
#pragma unroll
	for (int k = 0; k < 4; k++) {
		const int at = k % 2 + k / 2 * 8;
		v[k] = { 0, 0 };
		if (at < left)
			load_word(&v[k], y + (unsigned)(at * apart));
	}
	return strip.x < 0 ? -1 : strip.y & 0xffff;
}

/* Rearranges pixels by channels to the second factor of four products; column c of product j is
 * channel 4c + j. */
static __device__ __forceinline__ void pair_pixels(const uint2 (&v)[4], uint32_t (&b)[4][2])
{
	constexpr unsigned LOW = 0x5410, HIGH = 0x7632;
#pragma unroll
	for (int k = 0; k < 2; k++) {
		b[0][k] = __byte_perm(v[2 * k].x, v[2 * k + 1].x, LOW);
		b[1][k] = __byte_perm(v[2 * k].x, v[2 * k + 1].x, HIGH);
		b[2][k] = __byte_perm(v[2 * k].y, v[2 * k + 1].y, LOW);
		b[3][k] = __byte_perm(v[2 * k].y, v[2 * k + 1].y, HIGH);
	}
}

/* Adds the sums of the warps of each role, and stores them in part[role]. room: shared memory that
 * is not in use any more. */
template <int EACH> static __device__ __forceinline__ void leave_sums(
		const few_roles &r, const float (&sum)[EACH][4][4], float *room, float *part)
{
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, mine = warp & ((1 << r.log) - 1),
	          first = (int)(blockIdx.y << r.log), here = min(1 << r.log, r.all - first),
	          alike = FEW_WARPS >> r.log;
	float *const to = alike == 1 ? part + (int64_t)(first + mine) * role_floats(EACH) :
	                  room + mine * role_floats(EACH);
	for (int i = 0; i < alike; i++) {
		__syncthreads();
		if (warp >> r.log == i && mine < here)
#pragma unroll
			for (int e = 0; e < EACH * 16; e++)
				to[e * 32 + lane] = sum[e / 16][e / 4 % 4][e % 4] +
				                    (i ? to[e * 32 + lane] : 0.0f);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < (alike == 1 ? 0 : here * role_floats(EACH)); i += FEW_THREADS)
		part[(int64_t)first * role_floats(EACH) + i] = room[i];
}

/* part[block][role][product][lane] */
template <typename T, int EACH> __global__ void __launch_bounds__(FEW_THREADS, resident(EACH))
few_gradient(k_few g, few_tile a, few_roles r, int summed, float *part)
{
	BEGIN_KERNEL();
	alignas(16) __shared__ uint2 room[2 * ROOM];
	__shared__ few_table table[3];
	SHARED_DYNAMIC(int, places);
	constexpr uint32_t ONES = std::is_same<T, __half>::value ? 0x3c003c00 :
	                          0x3f803f80;
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32,
	          role = (int)(blockIdx.y << r.log) + (warp & ((1 << r.log) - 1)),
	          subset = warp >> r.log, alike = FEW_WARPS >> r.log,
	          channel = role / r.across * GROUP + lane / 4 * 4, first = role % r.across * EACH,
	          strips = 1 << (a.log[0] + a.log[1] + a.log[2] - 4),
	          apart = (int)(g.y.stride * sizeof(T)),
	          rounds = (strips + alike * DEPTH - 1) / (alike * DEPTH) * DEPTH;
	/* this lane's pixel and pair of taps */
	const int pixel = (lane % 8 + lane / 16 * 8) * g.stride[2], tap = lane / 8 % 2 * 2,
	          row = pixel % 2 ? SECOND + pixel - 1 + tap : pixel + tap;
	const bool ones = summed && first == 0 && lane / 4 == r.free % 8,
	           ones_low = ones && r.free < 8, ones_high = ones && r.free >= 8;
	int place[EACH], under[DEPTH], now = 0;
	float sum[EACH][4][4] = { { { 0 } } };
	uint2 v[DEPTH][4];
#pragma unroll
	for (int m = 0; m < EACH; m++) {
		const int i = min(first + m, r.taps4 - 1), line = i / r.quads;
		place[m] = 8 * (row + line / g.kernel[1] * a.plane + line % g.kernel[1] * a.pitch +
		                i % r.quads * 4);
	}
	find_places(a, places);
	make_table(g, a, blockIdx.x, &table[0]);
	make_table(g, a, blockIdx.x + gridDim.x, &table[1]);
	__syncthreads();
	few_source y = source_of<T>(g, table[0].place, channel);
#pragma unroll
	for (int q = 0; q < DEPTH; q++)
		under[q] = load_strip(y, table[0].strip[q * alike + subset], apart, v[q]);
	copy_both<T>(g, a, table[0].place, places, room);
	for (int u = blockIdx.x; u < a.all; u += gridDim.x) {
		const int next = now < 2 ? now + 1 : 0, side = u / gridDim.x % 2 * ROOM;
		copies_commit();
		copies_wait<0>();
		__syncthreads();
		make_table(g, a, u + 2 * gridDim.x, &table[next < 2 ? next + 1 : 0]);
		if (u + (int)gridDim.x < a.all)
			copy_both<T>(g, a, table[next].place, places, room + (ROOM - side));
		const char *const tile = (const char *)(room + side);
		for (int i = 0; i < rounds; i += DEPTH) {
			const bool more = i + DEPTH < rounds;
			const int2 *strip = table[now].strip + (i + DEPTH) * alike + subset;
			if (!more) {
				y = source_of<T>(g, table[next].place, channel);
				strip = table[next].strip + subset;
			}
#pragma unroll
			for (int q = 0; q < DEPTH; q++) {
				const char *const from = tile + under[q];
				const bool there = under[q] >= 0;
				uint32_t b[4][2], x[2][4];
				pair_pixels(v[q], b);
				under[q] = load_strip(y, strip[q * alike], apart, v[q]);
				if (!there)
					continue;
				load_transposed(x[0], from + place[0]);
#pragma unroll
				for (int m = 0; m < EACH; m++) {
					if (m + 1 < EACH)
						load_transposed(x[(m + 1) % 2], from + place[m + 1]);
					if (m == 0)
#pragma unroll
						for (int e = 0; e < 4; e++)
							x[0][e] = (e % 2 ? ones_high : ones_low) ? ONES : x[0][e];
#pragma unroll
					for (int j = 0; j < 4; j++)
						multiply_add<T>(sum[m][j], x[m % 2], b[j][0], b[j][1]);
				}
			}
		}
		now = next;
	}
	copies_wait<0>();
	leave_sums<EACH>(r, sum, (float *)room,
	                 part + (int64_t)blockIdx.x * r.all * role_floats(EACH));
}

__global__ void __launch_bounds__(JOINERS, 1)
few_join(k_few g, few_roles r, const float *part, int to, void *w, float *bias)
{
	BEGIN_KERNEL();
	const int i = (int)first_channel<1>(), all = r.all * role_floats(r.each);
	const float s = (float)sum_of_parts(column<float>{ part + i, i < all ? r.parts : 0, all });
	if (threadIdx.y || i >= all)
		return;
	const int lane = i % 32, e = i / 32 % 4, j = i / 128 % 4, product = i / 512,
	          role = product / r.each, taps = role % r.across * r.each + product % r.each,
	          row = lane / 4 + e / 2 * 8, tap = taps % r.quads * 4 + row / 4,
	          channel = role / r.across * GROUP + 4 * (lane % 4 * 2 + e % 2) + j;
	if (taps >= r.taps4 || channel >= g.many)
		return;
	if (tap < g.kernel[2] && row % 4 < g.few)
		store_rounded(g.type, to, w, g.w_first + channel * g.w_many +
		              (taps / r.quads * g.kernel[2] + tap) * g.w_tap + row % 4 * g.w_few, s);
	else if (bias && taps == 0 && row == r.free)
		bias[channel] = s;
}

#define LAUNCH_EACH(each) \
	LAUNCH_FEW((few_gradient<T, each>), grid, a, stream, g, a, r, summed, part)

template <typename T>
static int make(void *stream, const k_few &g, const few_tile &a, const few_roles &r, int summed,
                float *part)
{
	const dim3 grid((unsigned)r.parts, (unsigned)r.blocks);
	switch (r.each) {
	case 1: LAUNCH_EACH(1); break;
	case 3: LAUNCH_EACH(3); break;
	case 5: LAUNCH_EACH(5); break;
	case 7: LAUNCH_EACH(7); break;
	default: LAUNCH_EACH(9);
	}
	return cudaGetLastError();
}

int k_few_weights(void *stream, const struct k_few *g, int to, void *w, float *bias, void *ws)
{
	if (!k_few_weights_takes(g) || (bias && !k_few_sums(g)))
		return cudaErrorInvalidValue;
	const few_tile a = tile_of(*g, room_of(*g));
	const few_roles r = roles_of(*g, a);
	HALF_TYPES(g->type, T,
	           const int failed = make<T>(stream, *g, a, r, bias != NULL, (float *)ws);
	           if (failed) return failed)
	LAUNCH_JOIN(few_join, r.all * role_floats(r.each), r.parts, stream, *g, r, (const float *)ws,
	            to, w, bias);
	return cudaGetLastError();
}
