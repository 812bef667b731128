/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation on channels-last tensors. Sums over rows go in two stages: chunks of rows sum
 * in float32 around a shift of their own (the mean of their first rows, which bounds the
 * cancellation), then chunks are joined in order in float64, as in Chan, Golub and LeVeque (1983).
 * How rows are cut depends on the shape alone, so the bits do too.
 *
 * Where several ranks normalise as one, the sums of each stop between the join and what is made of
 * it, in a message of float64 that the ranks sum.
 *
 * Workspace: four vectors of c floats, then three for each chunk. */
#include "cuda/device.cuh"

constexpr int BLOCKS = 1024;             /* about, of a first stage */
constexpr int MAX_CHUNKS = 512;

struct chunking {
	int64_t each, n;
};

static chunking chunks_of(int64_t rows, int64_t c)
{
	const int64_t packs = c % ABREAST == 0 ? c / ABREAST : c;
	const dim3 b = channel_block(packs);
	int64_t most = BLOCKS / ((packs + b.x - 1) / b.x), each;
	most = most < 1 ? 1 : most > MAX_CHUNKS ? MAX_CHUNKS : most;
	each = (rows + most - 1) / most;
	each = each < AHEAD * b.y ? AHEAD * b.y : (each + b.y - 1) / b.y * b.y;
	return { each, (rows + each - 1) / each };
}

int64_t k_norm_workspace(int64_t rows, int64_t c)
{
	return (4 + 3 * chunks_of(rows, c).n) * c * (int64_t)sizeof(float);
}

static __device__ int64_t rows_of(int64_t chunk, int64_t each, int64_t rows)
{
	const int64_t left = rows - chunk * each;
	return left < each ? left : each;
}

/* A block whose threads stand side by side along `across` channels, or packs of them. */
static dim3 across_grid(int64_t across, dim3 block, int64_t rows = 1)
{
	return dim3((unsigned)((across + block.x - 1) / block.x), (unsigned)rows);
}

/* Chunks are joined by few blocks, whose threads mostly go down the chunks. */
static dim3 join_block()
{
	return dim3(4, THREADS / 4);
}

/* The mean of the first rows of a chunk, which all its threads read. */
template <typename T, int N>
static __device__ __forceinline__ void take_shift(const k_rows &x, int64_t j, int64_t first, int64_t end, float *shift)
{
	several<T, N> got[AHEAD];
	const int n = end - first < AHEAD ? (int)(end - first) : AHEAD;
	load_rows(x, j, first, 1, end, got);
#pragma unroll
	for (int i = 0; i < N; i++) {
		float sum = got[0].at(i);
#pragma unroll
		for (int u = 1; u < AHEAD; u++)
			if (u < n)
				sum += got[u].at(i);
		shift[i] = sum / (float)n;
	}
}

/* part[chunk]: shift, sum (x - shift), sum (x - shift)^2, c each. */
template <typename T, int N>
__global__ void __launch_bounds__(THREADS, 4) statistics_chunks(int64_t rows, int64_t c, k_rows x, int64_t each, float *part)
{
	__shared__ float room[2 * N][THREADS];
	const int64_t j = first_channel<N>(), first = blockIdx.y * each, end = first + rows_of(blockIdx.y, each, rows);
	float shift[N], s[2 * N] = { 0 };
	several<T, N> got[AHEAD];
	if (j < c) {
		take_shift<T, N>(x, j, first, end, shift);
		for (int64_t r = first + threadIdx.y; r < end; r += AHEAD * blockDim.y) {
			load_rows(x, j, r, blockDim.y, end, got);
#pragma unroll
			for (int u = 0; u < AHEAD; u++) {
				if (r + u * (int64_t)blockDim.y >= end)
					break;
#pragma unroll
				for (int i = 0; i < N; i++) {
					const float d = got[u].at(i) - shift[i];
					s[i] += d;
					s[N + i] += d * d;
				}
			}
		}
	}
	column_sums(s, room);
	if (threadIdx.y || j >= c)
		return;
	float *p = part + (int64_t)blockIdx.y * 3 * c + j;
#pragma unroll
	for (int i = 0; i < N; i++) {
		p[i] = shift[i];
		p[c + i] = s[i];
		p[2 * c + i] = s[N + i];
	}
}

struct statistics_out {
	const float *gamma;                      /* or NULL */
	float *mean, *rstd, *variance;           /* of the node, or NULL */
	float *ws_mean, *ws_scale;
	double eps;
};

/* What a channel's moments become. n: values; the variance is multiplied by correction. */
static __device__ void tell(const statistics_out &o, int64_t j, double mean, double m2, double n, double correction)
{
	const double v = (m2 < 0 ? 0 : m2) / n;
	const float r = (float)(1 / sqrt(v + o.eps));
	o.ws_mean[j] = (float)mean;
	o.ws_scale[j] = o.gamma ? o.gamma[j] * r : r;
	if (o.mean)
		o.mean[j] = (float)mean;
	if (o.rstd)
		o.rstd[j] = r;
	if (o.variance)
		o.variance[j] = (float)(v * correction);
}

/* A rank's batch that does not count has this weight. */
#define NOTHING 0x1p-200

static __device__ double magnify(double count)
{
	return count < 0.5 ? 1 / NOTHING : 1.0;
}

/* Where message is not NULL, into that. */
__global__ void statistics_join(int64_t rows, int64_t c, chunking k, const float *part, statistics_out o, const float *share,
                                double *message)
{
	__shared__ double room[2][1][THREADS];
	__shared__ double means[32];
	const int64_t j = first_channel<1>();
	double sum[1] = { 0 }, m2[1] = { 0 };
#pragma unroll 4
	for (int64_t i = threadIdx.y; i < (j < c ? k.n : 0); i += blockDim.y) {
		const float *p = part + i * 3 * c + j;
		sum[0] += (double)rows_of(i, k.each, rows) * p[0] + p[c];
	}
	column_sums(sum, room[0]);
	if (threadIdx.y == 0)
		means[threadIdx.x] = sum[0] / (double)rows;
	__syncthreads();
	const double mean = means[threadIdx.x];
#pragma unroll 4
	for (int64_t i = threadIdx.y; i < (j < c ? k.n : 0); i += blockDim.y) {
		const float *p = part + i * 3 * c + j;
		const double n = (double)rows_of(i, k.each, rows), s1 = p[c], d = p[0] + s1 / n - mean;
		m2[0] += p[2 * c] - s1 * s1 / n + n * d * d;
	}
	column_sums(m2, room[1]);
	if (threadIdx.y || j >= c)
		return;
	if (!message) {
		tell(o, j, mean, m2[0], (double)rows, 1);
		return;
	}
	const double weight = *share != 0 ? 1.0 : NOTHING, n = weight * (double)rows;
	if (j == 0)
		message[0] = n;
	message[1 + j] = n * mean;
	message[1 + c + j] = weight * m2[0] + n * mean * mean;
}

static __device__ double unbiased(double n)
{
	return n > 1 ? n / (n - 1) : 1.0;
}

__global__ void statistics_of_all(int64_t rows, int64_t c, const double *message, statistics_out o)
{
	const int64_t j = first_channel<1>();
	if (j >= c)
		return;
	const double up = magnify(message[0]), n = message[0] * up, mean = message[1 + j] / message[0];
	tell(o, j, mean, (message[1 + c + j] - message[1 + j] * mean) * up, n, unbiased(n) / unbiased((double)rows));
}

/* scale = gamma * rstd of given rstd, as statistics_join makes it. */
__global__ void given_deviation(int64_t c, const float *rstd, const float *gamma, float *scale)
{
	const int64_t j = first_channel<1>();
	if (j < c)
		scale[j] = gamma[j] * rstd[j];
}

/* rstd and scale = gamma * rstd of given variances. */
__global__ void given_variance(int64_t c, const float *variance, double eps, const float *gamma, float *rstd, float *scale)
{
	const int64_t j = first_channel<1>();
	if (j >= c)
		return;
	const double r = 1 / sqrt((double)variance[j] + eps);
	rstd[j] = (float)r;
	scale[j] = (float)(gamma[j] * r);
}

static __device__ __forceinline__ float below(float z, float slope)
{
	return slope != 0 ? slope * z : 0.0f;    /* a true 0, whatever z is */
}

template <typename T, int N>
__global__ void __launch_bounds__(THREADS, 4) norm_map(k_norm n, const float *mean, const float *scale)
{
	const int64_t j = first_channel<N>(), step = (int64_t)gridDim.y * blockDim.y;
	if (j >= n.c)
		return;
	constexpr int ROWS = FEWER<T, N>;
	float m[N], a[N], b[N];
	several<T, N> x[ROWS], residual[ROWS];
#pragma unroll
	for (int i = 0; i < N; i++) {
		m[i] = mean[j + i];
		a[i] = scale[j + i];
		b[i] = n.beta[j + i];
	}
	for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < n.rows; r += ROWS * step) {
		load_rows(n.x, j, r, step, n.rows, x);
		if (n.residual.p)
			load_rows(n.residual, j, r, step, n.rows, residual);
#pragma unroll
		for (int u = 0; u < ROWS; u++) {
			if (r + u * step >= n.rows)
				break;
			float z[N];
#pragma unroll
			for (int i = 0; i < N; i++) {
				z[i] = (x[u].at(i) - m[i]) * a[i] + b[i];
				if (n.residual.p)
					z[i] += residual[u].at(i);
				if (n.act && z[i] < 0)
					z[i] = below(z[i], n.slope);
			}
			store_row<T, N>(n.y, j, r + u * step, z);
		}
	}
}

template <typename T> static int map_as(cudaStream_t stream, const k_norm *n, const float *mean, const float *scale)
{
	const bool wide = abreast(n->c, sizeof(T), { n->x, n->residual, n->y });
	const int64_t across = wide ? n->c / ABREAST : n->c;
	const dim3 block = channel_block(across);
	WIDE_OR_NOT(wide, N, LAUNCH((norm_map<T, N>), rows_grid(n->rows, across, block), block, 0, stream, *n, mean, scale));
	return cudaGetLastError();
}

static int map(cudaStream_t stream, const k_norm *n, const float *mean, const float *scale)
{
	FLOAT_TYPES(n->type, T, return map_as<T>(stream, n, mean, scale))
	return cudaErrorInvalidValue;
}

static statistics_out out_of(const k_norm *n, void *ws)
{
	float *vector = (float *)ws;
	return { n->gamma, n->mean, n->rstd, n->variance, vector, vector + n->c, n->eps };
}

template <typename T> static void sum_chunks(cudaStream_t stream, const k_norm *n, const chunking &k, float *part)
{
	const bool wide = abreast(n->c, sizeof(T), { n->x });
	const int64_t across = wide ? n->c / ABREAST : n->c;
	const dim3 block = channel_block(across);
	WIDE_OR_NOT(wide, N, LAUNCH((statistics_chunks<T, N>), across_grid(across, block, k.n), block, 0, stream, n->rows, n->c, n->x,
	                            k.each, part));
}

static int statistics(cudaStream_t stream, const k_norm *n, const float *share, double *message, void *ws)
{
	const chunking k = chunks_of(n->rows, n->c);
	float *part = (float *)ws + 4 * n->c;
	FLOAT_TYPES(n->type, T, sum_chunks<T>(stream, n, k, part))
	LAUNCH(statistics_join, across_grid(n->c, join_block()), join_block(), 0, stream, n->rows, n->c, k, (const float *)part,
	       out_of(n, ws), share, message);
	return cudaGetLastError();
}

int k_norm_forward(void *stream_, const struct k_norm *n, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	const int failed = statistics(stream, n, NULL, NULL, ws);
	return failed ? failed : map(stream, n, out_of(n, ws).ws_mean, out_of(n, ws).ws_scale);
}

int k_norm_forward_give(void *stream, const struct k_norm *n, const float *share, double *message, void *ws)
{
	return statistics((cudaStream_t)stream, n, share, message, ws);
}

int k_norm_forward_take(void *stream_, const struct k_norm *n, const double *message, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	const statistics_out o = out_of(n, ws);
	LAUNCH(statistics_of_all, blocks_for(n->c, THREADS), THREADS, 0, stream, n->rows, n->c, message, o);
	return map(stream, n, o.ws_mean, o.ws_scale);
}

int k_norm_statistics(void *stream, const struct k_norm *n, void *ws)
{
	return statistics((cudaStream_t)stream, n, NULL, NULL, ws);
}

/* The variance of numbers whose mean is far from zero has few digits this way; what a convolution makes has not. */
__global__ void statistics_of_sums(k_norm n, const float *sum, const float *squares)
{
	const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (j >= n.c)
		return;
	const double mean = (double)sum[j] / (double)n.rows, v = (double)squares[j] / (double)n.rows - mean * mean;
	const double variance = v < 0 ? 0 : v;
	if (n.mean)
		n.mean[j] = (float)mean;
	if (n.rstd)
		n.rstd[j] = (float)(1 / sqrt(variance + n.eps));
	if (n.variance)
		n.variance[j] = (float)variance;
}

int k_norm_from_sums(void *stream, const struct k_norm *n, const float *sum, const float *squares)
{
	LAUNCH(statistics_of_sums, blocks_for(n->c, THREADS), THREADS, 0, stream, *n, sum, squares);
	return cudaGetLastError();
}

int k_norm_inference(void *stream_, const struct k_norm *n, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	float *rstd = (float *)ws, *scale = rstd + n->c;
	if (n->rstd) {
		LAUNCH(given_deviation, blocks_for(n->c, THREADS), THREADS, 0, stream, n->c, (const float *)n->rstd, n->gamma, scale);
		return map(stream, n, n->mean, scale);
	}
	LAUNCH(given_variance, blocks_for(n->c, THREADS), THREADS, 0, stream, n->c, (const float *)n->variance, n->eps, n->gamma,
	       rstd, scale);
	return map(stream, n, n->mean, scale);
}

template <typename T>
__global__ void norm_vectors(k_norm_vectors v)
{
	const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (j >= v.c)
		return;
	const double a = (double)v.gamma[j] * v.rstd[j];
	((T *)v.scale)[j] = from_float<T>((float)a);
	((T *)v.shift)[j] = from_float<T>((float)(v.beta[j] - v.mean[j] * a));
}

int k_norm_vectors_run(void *stream, const struct k_norm_vectors *v)
{
	FLOAT_TYPES(v->type, T, LAUNCH(norm_vectors<T>, blocks_for(v->c, THREADS), THREADS, 0, stream, *v))
	return cudaGetLastError();
}

/* --- gradients --- */

/* What is read of a channel. */
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

	__device__ __forceinline__ void load(const k_norm_grad &g, int64_t j, int64_t r, int64_t step, int64_t end)
	{
		load_rows(g.x, j, r, step, end, x);
		load_rows(g.dy, j, r, step, end, dy);
		if (g.second.p)
			load_rows(g.second, j, r, step, end, second);
		if (g.mask == K_NORM_FROM_Y)
			load_rows(g.y, j, r, step, end, y);
	}

	/* The gradient of z at one element: dy [+ second], times f'(z). d = x - mean. */
	__device__ __forceinline__ float masked(const k_norm_grad &g, int u, int i, float d, const channel &c) const
	{
		float e = dy[u].at(i);
		if (g.second.p)
			e += second[u].at(i);
		if (g.mask == K_NORM_ALL)
			return e;
		const float z = g.mask == K_NORM_FROM_X ? d * c.a + c.b : y[u].at(i);
		return z > 0 ? e : below(e, g.slope);
	}
};

/* part[chunk]: sum dz, sum dz (x - mean), c each. */
template <typename T, int N>
__global__ void __launch_bounds__(THREADS, 3) gradient_chunks(k_norm_grad g, int64_t each, float *part)
{
	__shared__ float room[2 * N][THREADS];
	const int64_t j = first_channel<N>(), first = blockIdx.y * each, end = first + rows_of(blockIdx.y, each, g.rows);
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
#pragma unroll
				for (int i = 0; i < N; i++) {
					const float d = at.x[u].at(i) - c[i].m, e = at.masked(g, u, i, d, c[i]);
					s[i] += e;
					s[N + i] += e * d;
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
static __device__ void corrections(const k_norm_grad &g, int64_t j, double s1, double s2, double n, float *k1, float *k2)
{
	const double r = g.rstd[j], dg = s2 * r, s = g.gamma[j] * r;
	k1[j] = g.variance ? 0.0f : (float)(s * s1 / n);
	k2[j] = g.variance ? 0.0f : (float)(s * r * dg / n);
}

/* dgamma and dbeta; and the corrections, or where message is not NULL what they are made of, into that. */
__global__ void gradient_join(k_norm_grad g, int64_t chunks, const float *part, float *k1, float *k2, const float *share,
                              double *message)
{
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

__global__ void corrections_of_all(k_norm_grad g, const float *share, const double *message, float *k1, float *k2)
{
	const int64_t j = first_channel<1>();
	if (j >= g.c)
		return;
	const bool counts = *share != 0;
	corrections(g, j, counts ? message[1 + j] : 0.0, counts ? message[1 + g.c + j] : 0.0, message[0] * magnify(message[0]), k1, k2);
}

template <typename T, int N>
__global__ void __launch_bounds__(THREADS, sizeof(T) * N > 8 ? 2 : 3) gradient_map(k_norm_grad g, const float *k1, const float *k2)
{
	const int64_t j = first_channel<N>(), step = (int64_t)gridDim.y * blockDim.y;
	if (j >= g.c)
		return;
	constexpr int ROWS = 2;          /* of up to five tensors */
	gradient_rows<T, N, ROWS> at;
	several<T, N> addend[ROWS];
	channel c[N];
	float p1[N], p2[N];
#pragma unroll
	for (int i = 0; i < N; i++) {
		c[i] = channel_of(g, j + i);
		p1[i] = k1[j + i];
		p2[i] = k2[j + i];
	}
	for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < g.rows; r += ROWS * step) {
		at.load(g, j, r, step, g.rows);
		if (g.addend.p)
			load_rows(g.addend, j, r, step, g.rows, addend);
#pragma unroll
		for (int u = 0; u < ROWS; u++) {
			if (r + u * step >= g.rows)
				break;
			float e[N], v[N];
#pragma unroll
			for (int i = 0; i < N; i++) {
				const float d = at.x[u].at(i) - c[i].m;
				e[i] = at.masked(g, u, i, d, c[i]);
				v[i] = e[i] * c[i].a - (d * p2[i] + p1[i]);
				if (g.addend.p)
					v[i] += addend[u].at(i);
			}
			if (g.masked.p)
				store_row<T, N>(g.masked, j, r + u * step, e);
			store_row<T, N>(g.dx, j, r + u * step, v);
		}
	}
}

static k_rows mask_of(const k_norm_grad &g)
{
	return g.mask == K_NORM_FROM_Y ? g.y : k_rows{};
}

template <typename T> static void sum_gradient_chunks(cudaStream_t stream, const k_norm_grad &g, const chunking &k, float *part)
{
	const bool wide = abreast(g.c, sizeof(T), { g.x, g.dy, g.second, mask_of(g) });
	const int64_t across = wide ? g.c / ABREAST : g.c;
	const dim3 block = channel_block(across);
	WIDE_OR_NOT(wide, N, LAUNCH((gradient_chunks<T, N>), across_grid(across, block, k.n), block, 0, stream, g, k.each, part));
}

static int gradient_sums(cudaStream_t stream, const k_norm_grad &g, const float *share, double *message, void *ws)
{
	const chunking k = chunks_of(g.rows, g.c);
	float *k1 = (float *)ws, *k2 = k1 + g.c, *part = k1 + 4 * g.c;
	FLOAT_TYPES(g.type, T, sum_gradient_chunks<T>(stream, g, k, part))
	LAUNCH(gradient_join, across_grid(g.c, join_block()), join_block(), 0, stream, g, k.n, (const float *)part, k1, k2, share,
	       message);
	return cudaGetLastError();
}

template <typename T> static int map_gradient_as(cudaStream_t stream, const k_norm_grad &g, const float *k1, const float *k2)
{
	const bool wide = abreast(g.c, sizeof(T), { g.x, g.dy, g.second, mask_of(g), g.addend, g.dx, g.masked });
	const int64_t across = wide ? g.c / ABREAST : g.c;
	const dim3 block = channel_block(across);
	WIDE_OR_NOT(wide, N, LAUNCH((gradient_map<T, N>), rows_grid(g.rows, across, block), block, 0, stream, g, k1, k2));
	return cudaGetLastError();
}

static int map_gradient(cudaStream_t stream, const k_norm_grad &g, void *ws)
{
	const float *k1 = (const float *)ws;
	FLOAT_TYPES(g.type, T, return map_gradient_as<T>(stream, g, k1, k1 + g.c))
	return cudaErrorInvalidValue;
}

int k_norm_backward(void *stream_, const struct k_norm_grad *given, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	k_norm_grad g = *given;
	if (g.variance) {
		float *rstd = (float *)ws + 2 * g.c;
		LAUNCH(given_variance, blocks_for(g.c, THREADS), THREADS, 0, stream, g.c, g.variance, g.eps, g.gamma, rstd,
		       rstd + g.c);
		g.rstd = rstd;
	}
	const int failed = gradient_sums(stream, g, NULL, NULL, ws);
	return failed ? failed : map_gradient(stream, g, ws);
}

__global__ void corrections_of_sums(k_norm_grad g, float *k1, float *k2)
{
	const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (j < g.c)
		corrections(g, j, g.dbeta[j], (double)g.dgamma[j] / g.rstd[j], (double)g.rows, k1, k2);
}

int k_norm_backward_rest(void *stream_, const struct k_norm_grad *g, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	float *k1 = (float *)ws;
	LAUNCH(corrections_of_sums, blocks_for(g->c, THREADS), THREADS, 0, stream, *g, k1, k1 + g->c);
	return map_gradient(stream, *g, ws);
}

int k_norm_backward_give(void *stream, const struct k_norm_grad *g, const float *share, double *message, void *ws)
{
	return gradient_sums((cudaStream_t)stream, *g, share, message, ws);
}

int k_norm_backward_take(void *stream_, const struct k_norm_grad *g, const float *share, const double *message, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	float *k1 = (float *)ws;
	LAUNCH(corrections_of_all, blocks_for(g->c, THREADS), THREADS, 0, stream, *g, share, message, k1, k1 + g->c);
	return map_gradient(stream, *g, ws);
}
