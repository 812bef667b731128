/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Gradients of batch normalisation on channels-last tensors, in two stages as the statistics of
 * cuda/k_norm.cu, whose workspace and messages they have.
 *
 * Behind an addition and a ReLU the first stage stores the gradient of z, `masked`, which the node
 * gives anyway, and the second reads x and that. So x, dy, second, y, masked are moved by the
 * first, x, masked, dx by the second: 8 passes; reading all four again would be 10. Where forward
 * keeps the signs of y as bits (pass/signs.c), 1/16 of y in 16 bits, these are read instead of y:
 * 7 1/16 passes, and 1/16 more in forward. In 16 bits dx is made of `masked` as it is stored, the
 * sums of it before it is rounded. The map goes from the last rows to the first, as the last ones
 * are still in the cache (50 MB in an H100 and H200).
 *
 * Prediction, not measured: resnet-50 of 256 samples in bf16 has 2.83 GB a pass in its 16 nodes
 * with additions, 28.3 GB in 10 passes, 22.6 GB in 8: 1.3 ms less at 4.3 TB/s, and 2 to 4 % of the
 * map's bytes from the cache. With signs 20.0 GB, and 0.18 GB written in forward: 0.6 ms less
 * again. Packs of 16 bytes instead of 8: half the load instructions. */
#include "cuda/norm.cuh"
#include "cuda/wide.cuh"

/* The inputs of a channel. */
struct channel {
	float m, a, b;
};

static __device__ __forceinline__ channel channel_of(const k_norm_grad &g, int64_t j)
{
	return { g.mean[j], g.gamma[j] * g.rstd[j], g.mask == K_NORM_FROM_X ? g.beta[j] : 0.0f };
}

/* Rows of the tensors that the gradient of z is made of. */
template <typename T, int N, int ROWS> struct gradient_rows {
	several<T, N> x[ROWS], dy[ROWS], second[ROWS], y[ROWS];
	unsigned signs[ROWS];

	__device__ __forceinline__ void load(const k_norm_grad &g, int64_t j, int64_t r, int64_t step,
	                                     int64_t end)
	{
		load_rows(g.x, j, r, step, end, x);
		load_rows(g.dy, j, r, step, end, dy);
		if (g.second.p)
			load_rows(g.second, j, r, step, end, second);
		if (g.mask == K_NORM_FROM_Y)
			load_rows(g.y, j, r, step, end, y);
		if (g.mask == K_NORM_FROM_SIGNS)
			load_signs(g.signs, j, r, step, end);
	}

	/* A byte of eight channels, of which this thread has N. */
	__device__ __forceinline__ void load_signs(const k_rows &from, int64_t j, int64_t r,
	                                           int64_t step, int64_t end)
	{
#pragma unroll
		for (int u = 0; u < ROWS; u++)
			if (r + u * step < end)
				signs[u] = ((const uint8_t *)from.p)[(r + u * step) * from.stride + j / 8] >> j % 8;
	}

	/* d = x - mean. */
	__device__ __forceinline__ bool is_above(const k_norm_grad &g, int u, int i, float d,
	                                         const channel &c) const
	{
		if (g.mask == K_NORM_FROM_SIGNS)
			return signs[u] >> i & 1;
		return (g.mask == K_NORM_FROM_X ? d * c.a + c.b : y[u].at(i)) > 0;
	}

	/* The gradient of z at one element: dy [+ second], times f'(z). */
	__device__ __forceinline__ float masked(const k_norm_grad &g, int u, int i, float d,
	                                        const channel &c) const
	{
		float e = dy[u].at(i);
		if (g.second.p)
			e += second[u].at(i);
		if (g.mask == K_NORM_ALL)
			return e;
		return is_above(g, u, i, d, c) ? e : below(e, g.slope);
	}
};

/* part[chunk]: sum dz, sum dz (x - mean), c each; and dz itself, where it is wanted. */
template <typename T, int N>
__global__ void __launch_bounds__(THREADS, N > 1 && sizeof(T) == 2 ? 2 : 3)
gradient_chunks(k_norm_grad g, int64_t each, float *part)
{
	BEGIN_KERNEL();
	__shared__ float room[2 * N][THREADS];
	const int64_t j = first_channel<N>(), first = blockIdx.y * each,
	              end = first + rows_of(blockIdx.y, each, g.rows);
	constexpr int ROWS = FEWER<T, N>;
	float s[2 * N] = { 0 };
	gradient_rows<T, N, ROWS> at;
	if (j < g.c) {
		channel c[N];
#pragma unroll
		for (int i = 0; i < N; i++)
			c[i] = channel_of(g, j + i);
		for (int64_t r = first + threadIdx.y; r < end; r += ROWS * blockDim.y) {
			at.load(g, j, r, blockDim.y, end);
#pragma unroll
			for (int u = 0; u < ROWS; u++) {
				if (r + u * (int64_t)blockDim.y >= end)
					break;
				float d[N], e[N];
#pragma unroll
				for (int i = 0; i < N; i++) {
					d[i] = at.x[u].at(i) - c[i].m;
					e[i] = at.masked(g, u, i, d[i], c[i]);
				}
				if (g.masked.p)
					store_row<T, N>(g.masked, j, r + u * (int64_t)blockDim.y, e);
#pragma unroll
				for (int i = 0; i < N; i++) {
					s[i] += e[i];
					s[N + i] += e[i] * d[i];
				}
			}
		}
	}
	column_sums(s, room);
	if (threadIdx.y || j >= g.c)
		return;
	float *p = part + (int64_t)blockIdx.y * 2 * g.c + j;
#pragma unroll
	for (int i = 0; i < N; i++) {
		p[i] = s[i];
		p[g.c + i] = s[N + i];
	}
}

/* k1 and k2 of dx = dz * scale - ((x - mean) * k2 + k1), 0 where the statistics are constants. s1,
 * s2: as gradient_chunks has them. */
static __device__ void corrections(const k_norm_grad &g, int64_t j, double s1, double s2, double n,
                                   float *k1, float *k2)
{
	const double r = g.rstd[j], dg = s2 * r, s = g.gamma[j] * r;
	k1[j] = g.variance ? 0.0f : (float)(s * s1 / n);
	k2[j] = g.variance ? 0.0f : (float)(s * r * dg / n);
}

/* dgamma and dbeta; and the corrections, or where message
 * is not NULL what they are made of, into that. */
__global__ void gradient_join(k_norm_grad g, int64_t chunks, const float *part, float *k1,
                              float *k2, const float *share, double *message)
{
	BEGIN_KERNEL();
	__shared__ double room[2][THREADS];
	const int64_t j = first_channel<1>();
	double s[2] = { 0 };
#pragma unroll 4
	for (int64_t i = threadIdx.y; i < (j < g.c ? chunks : 0); i += blockDim.y) {
		s[0] += part[i * 2 * g.c + j];
		s[1] += part[(i * 2 + 1) * g.c + j];
	}
	column_sums(s, room);
	if (threadIdx.y || j >= g.c)
		return;
	const double s1 = s[0], s2 = s[1];
	if (g.dbeta)
		g.dbeta[j] = (float)s1;
	if (g.dgamma)
		g.dgamma[j] = (float)(s2 * g.rstd[j]);
	if (!message) {
		corrections(g, j, s1, s2, (double)g.rows, k1, k2);
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
	            message[0] * magnify(message[0]), k1, k2);
}

/* k1 NULL: dgamma and dbeta are inputs, which the corrections are made of. */
template <typename T, int N> __global__ void __launch_bounds__(THREADS, sizeof(T) * N > 8 ? 2 : 3)
gradient_map(k_norm_grad g, const float *k1, const float *k2)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<N>(), step = (int64_t)gridDim.y * blockDim.y;
	if (j >= g.c)
		return;
	constexpr int ROWS = 2;          /* of up to five tensors */
	gradient_rows<T, N, ROWS> at;
	several<T, N> addend[ROWS];
	channel c[N];
	float p1[N], p2[N];
	const float share = 1.0f / (float)g.rows;
#pragma unroll
	for (int i = 0; i < N; i++) {
		c[i] = channel_of(g, j + i);
		p1[i] = k1 ? k1[j + i] : c[i].a * g.dbeta[j + i] * share;
		p2[i] = k1 ? k2[j + i] : c[i].a * g.rstd[j + i] * g.dgamma[j + i] * share;
	}
	for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < g.rows; r += ROWS * step) {
		at.load(g, j, r, step, g.rows);
		if (g.addend.p)
			load_rows(g.addend, j, r, step, g.rows, addend);
#pragma unroll
		for (int u = 0; u < ROWS; u++) {
			if (r + u * step >= g.rows)
				break;
			float v[N];
#pragma unroll
			for (int i = 0; i < N; i++) {
				const float d = at.x[u].at(i) - c[i].m;
				v[i] = at.masked(g, u, i, d, c[i]) * c[i].a - (d * p2[i] + p1[i]);
				if (g.addend.p)
					v[i] += addend[u].at(i);
			}
			store_row<T, N>(g.dx, j, r + u * step, v);
		}
	}
}

static k_rows mask_of(const k_norm_grad &g)
{
	return g.mask == K_NORM_FROM_Y ? g.y : k_rows{};
}

template <typename T> static void sum_gradient_chunks(cudaStream_t stream, const k_norm_grad &g,
                                                      const chunking &k, float *part)
{
	const int n = side_by_side(g.c, sizeof(T), { g.x, g.dy, g.second, mask_of(g), g.masked });
	const dim3 block = channel_block(g.c / n);
	SIDE_BY_SIDE(n, T, N, LAUNCH((gradient_chunks<T, N>), across_grid(g.c / n, block, k.n), block,
	                             0, stream, g, k.each, part));
}

static int gradient_sums(cudaStream_t stream, const k_norm_grad &g, const float *share,
                         double *message, void *ws)
{
	const chunking k = chunks_of(g.rows, g.c);
	float *k1 = (float *)ws, *k2 = k1 + g.c, *part = k1 + 4 * g.c;
	FLOAT_TYPES(g.type, T, sum_gradient_chunks<T>(stream, g, k, part))
	LAUNCH(gradient_join, across_grid(g.c, join_block()), join_block(), 0, stream, g, k.n,
	       (const float *)part, k1, k2, share, message);
	return cudaGetLastError();
}

template <typename T> static int map_gradient_as(cudaStream_t stream, k_norm_grad g,
                                                 const float *k1, const float *k2)
{
	for (k_rows *x : { &g.x, &g.dy, &g.second, &g.y, &g.addend, &g.dx })
		*x = backwards<T>(*x, g.rows);
	g.signs = backwards<uint8_t>(g.signs, g.rows);
	const int n = side_by_side(g.c, sizeof(T), { g.x, g.dy, g.second, mask_of(g), g.addend, g.dx });
	const dim3 block = channel_block(g.c / n);
	SIDE_BY_SIDE(n, T, N, LAUNCH((gradient_map<T, N>), rows_grid(g.rows, g.c / n, block), block, 0,
	                             stream, g, k1, k2));
	return cudaGetLastError();
}

/* Where the sums stored the gradient of z, it is that which is read. k1: 2 c floats, or NULL. */
static int map_gradient(cudaStream_t stream, const k_norm_grad &given, const float *k1)
{
	k_norm_grad g = given;
	if (g.masked.p) {
		g.dy = g.masked;
		g.second = k_rows{};
		g.mask = K_NORM_ALL;
	}
	FLOAT_TYPES(g.type, T, return map_gradient_as<T>(stream, g, k1, k1 ? k1 + g.c : NULL))
	return cudaErrorInvalidValue;
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
