/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gradients of batch normalisation on channels-last tensors, in two stages like the statistics of
 * cuda/k_norm.cu, with the same workspace and messages.
 *
 * If an addition and a ReLU follow the norm, the first stage stores the gradient of z, `masked`,
 * which is an output of the node in any case, and the second stage reads x and `masked`. So the
 * first stage moves x, dy, second, y and masked, and the second x, masked and dx: 8 passes over a
 * tensor; reading all four inputs again would be 10. If the forward pass keeps the signs of y as
 * bits (pass/signs.c), 1/16 of the size of a 16-bit y, these are read instead of y: 7 1/16 passes,
 * and 1/16 more in the forward pass. With 16-bit types dx is computed from `masked` after rounding,
 * and the sums from its value before rounding. The second stage goes from the last rows to the
 * first, as the last ones are still in the cache (50 MB in an H100 and H200).
 *
 * resnet-50 of 256 samples in bf16 has 2.83 GB a pass in its 16 nodes with additions: 28.3 GB in 10
 * passes, 20.0 GB with signs, which an H100 moves at 2.8 TB/s.
 *
 * Measured on an H100 with one kernel for all kinds of nodes: 2.84 TB/s without a mask; 2.1 (sums)
 * and 2.4 (map) with a mask from x, since each element had three branches, one of them divergent;
 * and 1.0 to 1.5 for tensors of 14 to 40 MB. With a kernel for each kind, about ten instructions
 * per element remain, a quarter of those that can issue in the time of the memory access:
 * batch_norm_grad of deepcam (8 samples, bf16) went from 14.2 to 10.1 ms, of resnet-50 (256) from
 * 7.2 to 5.3, of deeplabv3+ (2) from 5.8 to 3.2; 10.4, 5.4 and 3.7 were predicted.
 *
 * For few rows one launch does everything, and a thread keeps its rows in registers. resnet-50 with
 * one sample has 41 such nodes of 53, 7.4 and 9.3 us each on an H100 in three launches. Now they
 * take 4.7 us, and the statistics 2.9 (3.6 and 2.6 were predicted: 1.3 for the launch, 0.6 for each
 * of two rounds of loads, the rest for the sums and what is made of them). */
#include "cuda/norm.cuh"

/* The cases for which a kernel is specialised; ANY handles all nodes, but tests at each element of
 * conditions that never change cost as much as the memory traffic. PLAIN: the mask is absent (ALL)
 * or recomputed from x (RELU), the slope is 0, there is no second gradient, and the gradient of z
 * is not stored. */
enum kind { ANY, PLAIN_ALL, PLAIN_RELU };

static kind kind_of(const k_norm_grad &g)
{
	if (g.second.p || g.masked.p || (g.mask != K_NORM_ALL && g.slope != 0))
		return ANY;
	return g.mask == K_NORM_ALL ? PLAIN_ALL : g.mask == K_NORM_FROM_X ? PLAIN_RELU : ANY;
}

/* The parameters of N channels: z = (x - m) a + b. */
template <int N> struct channels {
	float m[N], a[N], b[N];

	__device__ __forceinline__ void load(const k_norm_grad &g, int64_t j)
	{
		load_floats(g.gamma + j, a);
		load_floats(g.rstd + j, b);
		load_floats(g.mean + j, m);
#pragma unroll
		for (int i = 0; i < N; i++)
			a[i] *= b[i];
		if (g.mask == K_NORM_FROM_X)
			load_floats(g.beta + j, b);
	}
};

/* Rows of the tensors from which the gradient of z is computed. */
template <typename T, int N, int ROWS, kind K> struct gradient_rows {
	several<T, N> x[ROWS], dy[ROWS], second[ROWS], y[ROWS];
	unsigned signs[ROWS];

	template <bool ALL> __device__ __forceinline__ void load(const k_norm_grad &g, int64_t j,
	                                                         int64_t r, int64_t step)
	{
		fetch<ALL, N>(g.x, j, r, step, g.rows, x);
		fetch<ALL, N>(g.dy, j, r, step, g.rows, dy);
		if (K == ANY && g.second.p)
			fetch<ALL, N>(g.second, j, r, step, g.rows, second);
		if (K == ANY && g.mask == K_NORM_FROM_Y)
			fetch<ALL, N>(g.y, j, r, step, g.rows, y);
		if (K == ANY && g.mask == K_NORM_FROM_SIGNS)
			load_signs(g.signs, j, r, step, g.rows);
	}

	/* Loads a byte of signs for eight channels, N of which this thread has. */
	__device__ __forceinline__ void load_signs(const k_rows &from, int64_t j, int64_t r,
	                                           int64_t step, int64_t end)
	{
#pragma unroll
		for (int u = 0; u < ROWS; u++)
			if (r + u * step < end)
				signs[u] = ((const uint8_t *)from.p)[(r + u * step) * from.stride + j / 8] >> j % 8;
	}

	/* Whether z of channel i is above zero, recomputed from d = x - mean. */
	static __device__ __forceinline__ bool is_above(const channels<N> &c, int i, float d)
	{
		return d * c.a[i] + c.b[i] > 0;
	}

	/* A mask whose bit i is set if z of channel i is above zero. */
	__device__ __forceinline__ unsigned above(const k_norm_grad &g, int u, const float (&d)[N],
	                                          const channels<N> &c) const
	{
		unsigned bits = 0;
		if (g.mask == K_NORM_ALL)
			return ~0u;
		if (g.mask == K_NORM_FROM_SIGNS)
			return signs[u];
		if (g.mask == K_NORM_FROM_Y)
#pragma unroll
			for (int i = 0; i < N; i++)
				bits |= (unsigned)(y[u].at(i) > 0) << i;
		else
#pragma unroll
			for (int i = 0; i < N; i++)
				bits |= (unsigned)is_above(c, i, d[i]) << i;
		return bits;
	}

	/* d = x - mean; e: the gradient of z, dy [+ second], times f'(z). */
	__device__ __forceinline__ void masked(const k_norm_grad &g, int u, const channels<N> &c,
	                                       float (&d)[N], float (&e)[N]) const
	{
#pragma unroll
		for (int i = 0; i < N; i++) {
			d[i] = x[u].at(i) - c.m[i];
			e[i] = dy[u].at(i);
			if (K == PLAIN_RELU)
				e[i] = is_above(c, i, d[i]) ? e[i] : 0.0f;
		}
		if (K != ANY)
			return;
		if (g.second.p)
#pragma unroll
			for (int i = 0; i < N; i++)
				e[i] += second[u].at(i);
		const unsigned bits = above(g, u, d, c);
#pragma unroll
		for (int i = 0; i < N; i++) {
			const float low = below(e[i], g.slope);
			e[i] = bits >> i & 1 ? e[i] : low;
		}
	}
};

/* part[chunk]: sum dz and sum dz (x - mean), c values each. Also stores dz if it is needed. */
template <typename T, int N, kind K> __global__ void __launch_bounds__(THREADS, 2)
gradient_chunks(k_norm_grad g, chunking k, float *part)
{
	BEGIN_KERNEL();
	__shared__ float room[2 * N][THREADS];
	const int64_t j = first_channel<N>();
	constexpr int ROWS = K == ANY ? FEWER<T, N> : AHEAD;
	float s[2 * N] = { 0 };
	if (j < g.c) {
		channels<N> c;
		c.load(g, j);
		each_of_chunk<ROWS>(k, g.rows, [&](int64_t r, auto all) {
			gradient_rows<T, N, ROWS, K> at;
			at.template load<all.value>(g, j, r, blockDim.y);
#pragma unroll
			for (int u = 0; u < ROWS; u++) {
				const int64_t row = r + u * (int)blockDim.y;
				if (!all.value && row >= g.rows)
					break;
				float d[N], e[N];
				at.masked(g, u, c, d, e);
				if (K == ANY && g.masked.p)
					store_row<T, N>(g.masked, j, row, e);
#pragma unroll
				for (int i = 0; i < N; i++) {
					s[i] += e[i];
					s[N + i] += e[i] * d[i];
				}
			}
		});
	}
	float *p = part + (int64_t)blockIdx.y * 2 * g.c + j;
	add_columns(s, room, [&](int i, float sum) {
		if (j < g.c)
			p[i / N * g.c + i % N] = sum; });
}

/* k1 and k2 of dx = dz * scale - ((x - mean) * k2 + k1); both are 0 if the statistics are
 * constants. s1, s2: the sums of gradient_chunks. */
static __device__ void corrections(const k_norm_grad &g, int64_t j, double s1, double s2, double n,
                                   float *k1, float *k2)
{
	const double r = g.rstd[j], dg = s2 * r, s = g.gamma[j] * r;
	*k1 = g.variance ? 0.0f : (float)(s * s1 / n);
	*k2 = g.variance ? 0.0f : (float)(s * r * dg / n);
}

/* Stores dbeta and dgamma if they are needed. */
static __device__ void store_vectors(const k_norm_grad &g, int64_t j, double s1, double s2)
{
	if (g.dbeta)
		g.dbeta[j] = (float)s1;
	if (g.dgamma)
		g.dgamma[j] = (float)(s2 * g.rstd[j]);
}

/* Computes dgamma, dbeta and the corrections k1 and k2. If message is not NULL, it receives the
 * sums from which the corrections are computed later. */
__global__ void __launch_bounds__(JOINERS, 1)
gradient_join(k_norm_grad g, int64_t chunks, const float *part, float *k1, float *k2,
              const float *share, double *message)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<1>();
	double s[2] = { 0 };
	const column<float> parts = { part + j, j < g.c ? chunks : 0, 2 * g.c, g.c };
	join_parts<2>(s, parts, plus(), [&](int64_t, const float (&p)[2]) {
		s[0] += p[0];
		s[1] += p[1];
	});
	if (threadIdx.y || j >= g.c)
		return;
	const double s1 = s[0], s2 = s[1];
	store_vectors(g, j, s1, s2);
	if (!message) {
		corrections(g, j, s1, s2, (double)g.rows, k1 + j, k2 + j);
		return;
	}
	const bool counts = *share != 0;
	if (j == 0)
		message[0] = (counts ? 1.0 : NOTHING) * (double)g.rows;
	message[1 + j] = counts ? s1 : 0.0;
	message[1 + g.c + j] = counts ? s2 : 0.0;
}

__global__ void corrections_of_all(k_norm_grad g, const float *share, const double *message,
                                   float *k1, float *k2)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<1>();
	if (j >= g.c)
		return;
	const bool counts = *share != 0;
	corrections(g, j, counts ? message[1 + j] : 0.0, counts ? message[1 + g.c + j] : 0.0,
	            message[0] * magnify(message[0]), k1 + j, k2 + j);
}

/* The whole gradient for few rows: the sums, the corrections, and dx if it is needed. */
template <typename T, int N, kind K> __global__ void __launch_bounds__(FEW_MOST, 1)
gradient_few(k_norm_grad g)
{
	BEGIN_KERNEL();
	__shared__ float room[2 * N][FEW_ROOM], p1[N][FEW_ACROSS], p2[N][FEW_ACROSS];
	const int64_t j = first_channel<N>(), first = threadIdx.y, step = blockDim.y;
	const int column = (int)threadIdx.x;
	gradient_rows<T, N, AHEAD, K> at;
	several<T, N> addend[AHEAD];
	channels<N> c;
	float s[2 * N] = { 0 }, d[N], e[AHEAD][N];
	if (j < g.c) {
		at.template load<false>(g, j, first, step);
		c.load(g, j);
#pragma unroll
		for (int u = 0; u < AHEAD; u++) {
			if (first + u * step >= g.rows)
				break;
			at.masked(g, u, c, d, e[u]);
#pragma unroll
			for (int i = 0; i < N; i++) {
				s[i] += e[u][i];
				s[N + i] += e[u][i] * d[i];
			}
			if (K == ANY && g.masked.p) {
				several<T, N> as_stored;
				as_stored.put(e[u]);
				store_word((T *)g.masked.p + (first + u * step) * g.masked.stride + j, as_stored);
#pragma unroll
				for (int i = 0; i < N; i++)
					e[u][i] = as_stored.at(i);
			}
		}
		if (g.addend.p)
			fetch<false, N>(g.addend, j, first, step, g.rows, addend);
	}
	add_few(s, room);
	for (int i = (int)threadIdx.y; i < N && j < g.c; i += (int)step) {
		const double s1 = room[i][column], s2 = room[N + i][column];
		store_vectors(g, j + i, s1, s2);
		corrections(g, j + i, s1, s2, (double)g.rows, &p1[i][column], &p2[i][column]);
	}
	__syncthreads();
	if (j >= g.c || !g.dx.p)
		return;
#pragma unroll
	for (int u = 0; u < AHEAD; u++) {
		if (first + u * step >= g.rows)
			break;
#pragma unroll
		for (int i = 0; i < N; i++) {
			const float away = at.x[u].at(i) - c.m[i];
			e[u][i] = e[u][i] * c.a[i] - (away * p2[i][column] + p1[i][column]);
			if (g.addend.p)
				e[u][i] += addend[u].at(i);
		}
		store_row<T, N>(g.dx, j, first + u * step, e[u]);
	}
}

/* k1 NULL: the corrections are computed from the inputs dgamma and dbeta. */
template <typename T, int N, kind K, bool ADDEND>
__global__ void __launch_bounds__(THREADS, sizeof(T) * N > 8 ? 2 : 3)
gradient_map(k_norm_grad g, const float *k1, const float *k2)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<N>(), step = (int64_t)gridDim.y * blockDim.y;
	if (j >= g.c)
		return;
	constexpr int ROWS = K == ANY || ADDEND ? 2 : AHEAD;     /* rows of up to five tensors */
	channels<N> c;
	float p1[N], p2[N];
	c.load(g, j);
	if (k1) {
		load_floats(k1 + j, p1);
		load_floats(k2 + j, p2);
	} else {
		const float share = 1.0f / (float)g.rows;
#pragma unroll
		for (int i = 0; i < N; i++) {
			p1[i] = c.a[i] * g.dbeta[j + i] * share;
			p2[i] = c.a[i] * g.rstd[j + i] * g.dgamma[j + i] * share;
		}
	}
	each_of_grid<ROWS>(g.rows, step, [&](int64_t r, auto all) {
		gradient_rows<T, N, ROWS, K> at;
		several<T, N> addend[ROWS];
		at.template load<all.value>(g, j, r, step);
		if (ADDEND)
			fetch<all.value, N>(g.addend, j, r, step, g.rows, addend);
#pragma unroll
		for (int u = 0; u < ROWS; u++) {
			if (!all.value && r + u * step >= g.rows)
				break;
			float d[N], v[N];
			at.masked(g, u, c, d, v);
#pragma unroll
			for (int i = 0; i < N; i++) {
				v[i] = v[i] * c.a[i] - (d[i] * p2[i] + p1[i]);
				if (ADDEND)
					v[i] += addend[u].at(i);
			}
			store_row<T, N>(g.dx, j, r + u * step, v);
		}
	});
}

static k_rows mask_of(const k_norm_grad &g)
{
	return g.mask == K_NORM_FROM_Y ? g.y : k_rows{};
}

/* Runs the statement with K as the kind of the node, if a thread moves 16 bytes; else with ANY. */
#define OF_KIND(which, T, N, K, ...)                                                     \
	do {                                                                             \
		if (N == pack<T>::N && (which) == PLAIN_ALL) {                           \
			constexpr kind K = N == pack<T>::N ? PLAIN_ALL : ANY;            \
			__VA_ARGS__;                                                     \
		} else if (N == pack<T>::N && (which) == PLAIN_RELU) {                   \
			constexpr kind K = N == pack<T>::N ? PLAIN_RELU : ANY;           \
			__VA_ARGS__;                                                     \
		} else {                                                                 \
			constexpr kind K = ANY;                                          \
			__VA_ARGS__;                                                     \
		}                                                                        \
	} while (0)

template <typename T> static void sum_gradient_chunks(cudaStream_t stream, const k_norm_grad &g,
                                                      const chunking &k, float *part)
{
	const int n = side_by_side(g.c, sizeof(T), { g.x, g.dy, g.second, mask_of(g), g.masked });
	const dim3 block = chunk_block(g.c, sizeof(T)), grid = across_grid(g.c / n, block, k.n);
	SIDE_BY_SIDE(n, T, N, OF_KIND(kind_of(g), T, N, K,
	             LAUNCH((gradient_chunks<T, N, K>), grid, block, 0, stream, g, k, part)));
}

static int gradient_sums(cudaStream_t stream, const k_norm_grad &g, const float *share,
                         double *message, void *ws)
{
	chunking k;
	float *k1 = (float *)ws, *k2 = k1 + g.c, *part = k1 + 4 * g.c;
	FLOAT_TYPES(g.type, T, k = chunks_of(g.rows, g.c, sizeof(T));
	            sum_gradient_chunks<T>(stream, g, k, part))
	LAUNCH_JOIN(gradient_join, g.c, k.n, stream, g, k.n, (const float *)part, k1, k2, share,
	            message);
	return cudaGetLastError();
}

template <typename T> static int map_gradient_as(cudaStream_t stream, k_norm_grad g,
                                                 const float *k1, const float *k2)
{
	for (k_rows *x : { &g.x, &g.dy, &g.second, &g.y, &g.addend, &g.dx })
		*x = backwards<T>(*x, g.rows);
	g.signs = backwards<uint8_t>(g.signs, g.rows);
	const int n = side_by_side(g.c, sizeof(T), { g.x, g.dy, g.second, mask_of(g), g.addend, g.dx });
	const dim3 block = channel_block(g.c / n), grid = wave_grid(g.rows, g.c / n, block);
	if (g.addend.p)
		SIDE_BY_SIDE(n, T, N, OF_KIND(kind_of(g), T, N, K,
		             LAUNCH((gradient_map<T, N, K, true>), grid, block, 0, stream, g, k1, k2)));
	else
		SIDE_BY_SIDE(n, T, N, OF_KIND(kind_of(g), T, N, K,
		             LAUNCH((gradient_map<T, N, K, false>), grid, block, 0, stream, g, k1, k2)));
	return cudaGetLastError();
}

/* Reads the gradient of z if the first stage stored it. k1: 2 c floats, or NULL. */
static int map_gradient(cudaStream_t stream, const k_norm_grad &given, const float *k1)
{
	k_norm_grad g = given;
	if (g.masked.p) {
		g.dy = g.masked;
		g.second = g.masked = k_rows{};
		g.mask = K_NORM_ALL;
	}
	FLOAT_TYPES(g.type, T, return map_gradient_as<T>(stream, g, k1, k1 ? k1 + g.c : NULL))
	return cudaErrorInvalidValue;
}

template <typename T> static void backward_few(cudaStream_t stream, const k_norm_grad &g)
{
	const int n = side_by_side(g.c, sizeof(T), { g.x, g.dy, g.second, mask_of(g), g.masked,
	                                             g.addend, g.dx });
	const dim3 block = few_block(g.rows), grid = across_grid(g.c / n, block);
	SIDE_BY_SIDE(n, T, N, OF_KIND(kind_of(g), T, N, K,
	             LAUNCH((gradient_few<T, N, K>), grid, block, 0, stream, g)));
}

int k_norm_backward(void *stream_, const struct k_norm_grad *given, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	k_norm_grad g = *given;
	if (g.variance) {
		float *rstd = (float *)ws + 2 * g.c;
		LAUNCH(given_variance, blocks_for(g.c, THREADS), THREADS, 0, stream, g.c, g.variance, g.eps,
		       g.gamma, rstd, rstd + g.c);
		g.rstd = rstd;
	}
	if (are_few(g.rows)) {
		FLOAT_TYPES(g.type, T, backward_few<T>(stream, g))
		return cudaGetLastError();
	}
	const int failed = gradient_sums(stream, g, NULL, NULL, ws);
	return failed || !g.dx.p ? failed : map_gradient(stream, g, (const float *)ws);
}

int k_norm_backward_rest(void *stream, const struct k_norm_grad *g)
{
	return map_gradient((cudaStream_t)stream, *g, NULL);
}

int k_norm_backward_give(void *stream, const struct k_norm_grad *g, const float *share,
                         double *message, void *ws)
{
	return gradient_sums((cudaStream_t)stream, *g, share, message, ws);
}

int k_norm_backward_take(void *stream_, const struct k_norm_grad *g, const float *share,
                         const double *message, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	float *k1 = (float *)ws;
	LAUNCH(corrections_of_all, blocks_for(g->c, THREADS), THREADS, 0, stream, *g, share, message,
	       k1, k1 + g->c);
	return map_gradient(stream, *g, k1);
}
