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

constexpr int BLOCKS = 2048;             /* about, of a first stage: some waves of a large GPU */
constexpr int MAX_CHUNKS = 1024;
constexpr int ROWS_A_THREAD = 4;         /* at least, in a chunk */

struct chunking {
	int64_t each, n;
};

static chunking chunks_of(int64_t rows, int64_t c)
{
	const dim3 b = channel_block(c);
	int64_t most = BLOCKS / ((c + b.x - 1) / b.x), each;
	most = most < 1 ? 1 : most > MAX_CHUNKS ? MAX_CHUNKS : most;
	each = (rows + most - 1) / most;
	each = each < ROWS_A_THREAD * b.y ? ROWS_A_THREAD * b.y : (each + b.y - 1) / b.y * b.y;
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

static __device__ __forceinline__ int64_t channel()
{
	return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

/* part[chunk]: shift, sum (x - shift), sum (x - shift)^2, c each. */
template <typename T>
__global__ void statistics_chunks(int64_t rows, int64_t c, int64_t stride, int64_t each, const T *x, float *part)
{
	__shared__ float room[3][THREADS];
	__shared__ float shifts[32];
	const int64_t j = channel(), first = blockIdx.y * each, n = rows_of(blockIdx.y, each, rows);
	const unsigned head = n < blockDim.y ? (unsigned)n : blockDim.y;
	const bool mine = j < c && threadIdx.y < n;
	float v = mine ? as_float(x[(first + threadIdx.y) * stride + j]) : 0.0f, s1 = 0, s2 = 0;
	float shift = column_sum(v, room[0]) / head;
	if (threadIdx.y == 0)
		shifts[threadIdx.x] = shift;
	__syncthreads();
	shift = shifts[threadIdx.x];
	if (mine)
		for (int64_t r = threadIdx.y; r < n; r += blockDim.y) {
			float d = as_float(x[(first + r) * stride + j]) - shift;
			s1 += d;
			s2 += d * d;
		}
	s1 = column_sum(s1, room[1]);
	s2 = column_sum(s2, room[2]);
	if (threadIdx.y || j >= c)
		return;
	float *p = part + (int64_t)blockIdx.y * 3 * c + j;
	p[0] = shift;
	p[c] = s1;
	p[2 * c] = s2;
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
	__shared__ double room[2][THREADS];
	__shared__ double means[32];
	const int64_t j = channel();
	double sum = 0, m2 = 0;
	for (int64_t i = threadIdx.y; i < k.n && j < c; i += blockDim.y) {
		const float *p = part + i * 3 * c + j;
		sum += (double)rows_of(i, k.each, rows) * p[0] + p[c];
	}
	sum = column_sum(sum, room[0]);
	if (threadIdx.y == 0)
		means[threadIdx.x] = sum / (double)rows;
	__syncthreads();
	const double mean = means[threadIdx.x];
	for (int64_t i = threadIdx.y; i < k.n && j < c; i += blockDim.y) {
		const float *p = part + i * 3 * c + j;
		const double n = (double)rows_of(i, k.each, rows), s1 = p[c], d = p[0] + s1 / n - mean;
		m2 += p[2 * c] - s1 * s1 / n + n * d * d;
	}
	m2 = column_sum(m2, room[1]);
	if (threadIdx.y || j >= c)
		return;
	if (!message) {
		tell(o, j, mean, m2, (double)rows, 1);
		return;
	}
	const double weight = *share != 0 ? 1.0 : NOTHING, n = weight * (double)rows;
	if (j == 0)
		message[0] = n;
	message[1 + j] = n * mean;
	message[1 + c + j] = weight * m2 + n * mean * mean;
}

static __device__ double unbiased(double n)
{
	return n > 1 ? n / (n - 1) : 1.0;
}

__global__ void statistics_of_all(int64_t rows, int64_t c, const double *message, statistics_out o)
{
	const int64_t j = channel();
	if (j >= c)
		return;
	const double up = magnify(message[0]), n = message[0] * up, mean = message[1 + j] / message[0];
	tell(o, j, mean, (message[1 + c + j] - message[1 + j] * mean) * up, n, unbiased(n) / unbiased((double)rows));
}

/* scale = gamma * rstd of given rstd, as statistics_join makes it. */
__global__ void given_deviation(int64_t c, const float *rstd, const float *gamma, float *scale)
{
	const int64_t j = channel();
	if (j < c)
		scale[j] = gamma[j] * rstd[j];
}

/* rstd and scale = gamma * rstd of given variances. */
__global__ void given_variance(int64_t c, const float *variance, double eps, const float *gamma, float *rstd, float *scale)
{
	const int64_t j = channel();
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

template <typename T>
__global__ void norm_map(k_norm n, const float *mean, const float *scale)
{
	const int64_t j = channel();
	if (j >= n.c)
		return;
	const T *x = (const T *)n.x.p, *residual = (const T *)n.residual.p;
	T *y = (T *)n.y.p;
	const float m = mean[j], a = scale[j], b = n.beta[j];
	for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < n.rows; r += (int64_t)gridDim.y * blockDim.y) {
		float z = (as_float(x[r * n.x.stride + j]) - m) * a + b;
		if (residual)
			z += as_float(residual[r * n.residual.stride + j]);
		if (n.act && z < 0)
			z = below(z, n.slope);
		y[r * n.y.stride + j] = from_float<T>(z);
	}
}

static int map(cudaStream_t stream, const k_norm *n, const float *mean, const float *scale)
{
	const dim3 block = channel_block(n->c);
	FLOAT_TYPES(n->type, T, LAUNCH(norm_map<T>, rows_grid(n->rows, n->c, block), block, 0, stream, *n, mean, scale))
	return cudaGetLastError();
}

static statistics_out out_of(const k_norm *n, void *ws)
{
	float *vector = (float *)ws;
	return { n->gamma, n->mean, n->rstd, n->variance, vector, vector + n->c, n->eps };
}

static int statistics(cudaStream_t stream, const k_norm *n, const float *share, double *message, void *ws)
{
	const dim3 block = channel_block(n->c);
	const chunking k = chunks_of(n->rows, n->c);
	const unsigned across = (unsigned)((n->c + block.x - 1) / block.x);
	float *part = (float *)ws + 4 * n->c;
	FLOAT_TYPES(n->type, T, LAUNCH(statistics_chunks<T>, dim3(across, (unsigned)k.n), block, 0, stream, n->rows, n->c,
	                               n->x.stride, k.each, (const T *)n->x.p, part))
	LAUNCH(statistics_join, dim3(across), block, 0, stream, n->rows, n->c, k, (const float *)part, out_of(n, ws), share,
	       message);
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

/* --- gradients --- */

/* The gradient of z at one element: dy [+ second], times f'(z). d = x - mean. */
template <typename T>
static __device__ __forceinline__ float masked(const k_norm_grad &g, int64_t r, int64_t j, float d, float a, float b)
{
	float e = as_float(((const T *)g.dy.p)[r * g.dy.stride + j]);
	if (g.second.p)
		e += as_float(((const T *)g.second.p)[r * g.second.stride + j]);
	if (g.mask == K_NORM_ALL)
		return e;
	const float z = g.mask == K_NORM_FROM_X ? d * a + b : as_float(((const T *)g.y.p)[r * g.y.stride + j]);
	return z > 0 ? e : below(e, g.slope);
}

/* part[chunk]: sum dz, sum dz (x - mean), c each. */
template <typename T>
__global__ void gradient_chunks(k_norm_grad g, int64_t each, float *part)
{
	__shared__ float room[2][THREADS];
	const int64_t j = channel(), first = blockIdx.y * each, end = first + rows_of(blockIdx.y, each, g.rows);
	float s1 = 0, s2 = 0;
	if (j < g.c) {
		const float m = g.mean[j], a = g.gamma[j] * g.rstd[j], b = g.mask == K_NORM_FROM_X ? g.beta[j] : 0.0f;
		for (int64_t r = first + threadIdx.y; r < end; r += blockDim.y) {
			const float d = as_float(((const T *)g.x.p)[r * g.x.stride + j]) - m;
			const float e = masked<T>(g, r, j, d, a, b);
			s1 += e;
			s2 += e * d;
		}
	}
	s1 = column_sum(s1, room[0]);
	s2 = column_sum(s2, room[1]);
	if (threadIdx.y || j >= g.c)
		return;
	part[(int64_t)blockIdx.y * 2 * g.c + j] = s1;
	part[((int64_t)blockIdx.y * 2 + 1) * g.c + j] = s2;
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
	const int64_t j = channel();
	double s1 = 0, s2 = 0;
	for (int64_t i = threadIdx.y; i < chunks && j < g.c; i += blockDim.y) {
		s1 += part[i * 2 * g.c + j];
		s2 += part[(i * 2 + 1) * g.c + j];
	}
	s1 = column_sum(s1, room[0]);
	s2 = column_sum(s2, room[1]);
	if (threadIdx.y || j >= g.c)
		return;
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
	const int64_t j = channel();
	if (j >= g.c)
		return;
	const bool counts = *share != 0;
	corrections(g, j, counts ? message[1 + j] : 0.0, counts ? message[1 + g.c + j] : 0.0, message[0] * magnify(message[0]), k1, k2);
}

template <typename T>
__global__ void gradient_map(k_norm_grad g, const float *k1, const float *k2)
{
	const int64_t j = channel();
	if (j >= g.c)
		return;
	const float m = g.mean[j], a = g.gamma[j] * g.rstd[j], b = g.mask == K_NORM_FROM_X ? g.beta[j] : 0.0f;
	const float p1 = k1[j], p2 = k2[j];
	for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < g.rows; r += (int64_t)gridDim.y * blockDim.y) {
		const float d = as_float(((const T *)g.x.p)[r * g.x.stride + j]) - m;
		const float e = masked<T>(g, r, j, d, a, b);
		float v = e * a - (d * p2 + p1);
		if (g.addend.p)
			v += as_float(((const T *)g.addend.p)[r * g.addend.stride + j]);
		if (g.masked.p)
			((T *)g.masked.p)[r * g.masked.stride + j] = from_float<T>(e);
		((T *)g.dx.p)[r * g.dx.stride + j] = from_float<T>(v);
	}
}

static int gradient_sums(cudaStream_t stream, const k_norm_grad &g, const float *share, double *message, void *ws)
{
	const dim3 block = channel_block(g.c);
	const chunking k = chunks_of(g.rows, g.c);
	const unsigned across = (unsigned)((g.c + block.x - 1) / block.x);
	float *k1 = (float *)ws, *k2 = k1 + g.c, *part = k1 + 4 * g.c;
	FLOAT_TYPES(g.type, T, LAUNCH(gradient_chunks<T>, dim3(across, (unsigned)k.n), block, 0, stream, g, k.each, part))
	LAUNCH(gradient_join, dim3(across), block, 0, stream, g, k.n, (const float *)part, k1, k2, share, message);
	return cudaGetLastError();
}

static int map_gradient(cudaStream_t stream, const k_norm_grad &g, void *ws)
{
	const dim3 block = channel_block(g.c);
	const float *k1 = (const float *)ws, *k2 = k1 + g.c;
	FLOAT_TYPES(g.type, T, LAUNCH(gradient_map<T>, rows_grid(g.rows, g.c, block), block, 0, stream, g, k1, k2))
	return cudaGetLastError();
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
