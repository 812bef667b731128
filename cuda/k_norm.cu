/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation on channels-last tensors. Sums over rows go in two stages: chunks of rows sum
 * in float32 around a shift of their own (the mean of their first rows, which limits cancellation),
 * then the chunks are combined in order, in float64, as in Chan, Golub and LeVeque (1983). The
 * division of rows depends only on the shape, and so do the bits. Few rows form one chunk, which
 * takes one launch: of resnet-50's 53 statistics with one sample, 4.6 us each on an H100 in two
 * launches, 42 are expected to take 2.7.
 *
 * If several ranks normalise together, each rank writes its combined sums to a message of float64
 * values. The ranks sum the messages, and a second kernel computes the statistics from the result.
 *
 * Workspace: four vectors of c floats, then three for each chunk. */
#include "cuda/norm.cuh"

int64_t k_norm_workspace(int64_t rows, int64_t c)
{
	return (4 + 3 * most_chunks(rows, c)) * c * (int64_t)sizeof(float);
}

/* The mean of the first rows of a chunk, which all its threads read. */
template <typename T, int N> static __device__ __forceinline__ void take_shift(
		const k_rows &x, int64_t j, int64_t first, int64_t rows, float *shift)
{
	several<T, N> got[AHEAD];
	const int n = rows - first < AHEAD ? (int)(rows - first) : AHEAD;
	const float share = 1.0f / (float)n;
	fetch<false, N>(x, j, first, 1, rows, got);
#pragma unroll
	for (int i = 0; i < N; i++) {
		float sum = got[0].at(i);
#pragma unroll
		for (int u = 1; u < AHEAD; u++)
			if (u < n)
				sum += got[u].at(i);
		shift[i] = sum * share;
	}
}

/* s += (x - shift) and (x - shift)^2, N values each. */
template <typename T, int N> static __device__ __forceinline__ void add_deviations(
		const several<T, N> &x, const float (&shift)[N], float (&s)[2 * N])
{
#pragma unroll
	for (int i = 0; i < N; i++) {
		const float d = x.at(i) - shift[i];
		s[i] += d;
		s[N + i] += d * d;
	}
}

/* part[chunk]: shift, sum (x - shift) and sum (x - shift)^2, c values each. */
template <typename T, int N> __global__ void __launch_bounds__(THREADS, 4)
statistics_chunks(int64_t rows, int64_t c, k_rows x, chunking k, float *part)
{
	BEGIN_KERNEL();
	__shared__ float room[2 * N][THREADS];
	const int64_t j = first_channel<N>();
	float *p = part + (int64_t)blockIdx.y * 3 * c + j, shift[N], s[2 * N] = { 0 };
	if (j < c) {
		take_shift<T, N>(x, j, (int64_t)blockIdx.y * k.group, rows, shift);
		each_of_chunk<AHEAD>(k, rows, [&](int64_t r, auto all) {
			several<T, N> got[AHEAD];
			fetch<all.value, N>(x, j, r, blockDim.y, rows, got);
#pragma unroll
			for (int u = 0; u < AHEAD; u++) {
				if (!all.value && r + u * (int)blockDim.y >= rows)
					break;
				add_deviations(got[u], shift, s);
			}
		});
		if (threadIdx.y == 0)
#pragma unroll
			for (int i = 0; i < N; i++)
				p[i] = shift[i];
	}
	add_columns(s, room, [&](int i, float sum) {
		if (j < c)
			p[(i / N + 1) * c + i % N] = sum; });
}

struct statistics_out {
	const float *gamma;                      /* may be NULL */
	float *mean, *rstd, *variance;           /* outputs of the node; each may be NULL */
	float *ws_mean, *ws_scale;
	double eps;
};

/* Stores the statistics of a channel. n: the number of values; correction: a factor of the
 * variance. */
static __device__ void tell(const statistics_out &o, int64_t j, double mean, double m2, double n,
                            double correction)
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

/* Combines the chunks. If message is not NULL, it receives the sums. They are shifted to one
 * origin, the first chunk's shift, and added in float64. That shift is the mean of a few rows,
 * close enough to the mean of all rows that 53 bits suffice, so the chunks are read only once. */
__global__ void __launch_bounds__(JOINERS, 1)
statistics_join(int64_t rows, int64_t c, chunking k, const float *part, statistics_out o,
                const float *share, double *message)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<1>();
	double s[2] = { 0 };
	const double origin = j < c ? part[j] : 0.0f;
	const column<float> parts = { part + j, j < c ? k.n : 0, 3 * c, c };
	join_parts<3>(s, parts, plus(), [&](int64_t i, const float (&p)[3]) {
		const double n = (double)rows_of(i, k), s1 = p[1], d = p[0] - origin;
		s[0] += s1 + n * d;
		s[1] += p[2] + d * (2 * s1 + n * d);
	});
	if (threadIdx.y || j >= c)
		return;
	const double away = s[0] / (double)rows, mean = origin + away, m2 = s[1] - s[0] * away;
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

/* The statistics of few rows: each block computes and stores those of its channels. */
template <typename T, int N> __global__ void __launch_bounds__(FEW_MOST, 1)
statistics_few(int64_t rows, int64_t c, k_rows x, statistics_out o)
{
	BEGIN_KERNEL();
	__shared__ float room[2 * N][FEW_ROOM], shifts[N][FEW_ACROSS];
	const int64_t j = first_channel<N>();
	const int step = (int)blockDim.y, column = (int)threadIdx.x;
	float shift[N] = { 0 }, s[2 * N] = { 0 };
	if (j < c) {
		several<T, N> got[AHEAD];
		fetch<false, N>(x, j, threadIdx.y, step, rows, got);
		take_shift<T, N>(x, j, 0, rows, shift);
#pragma unroll
		for (int u = 0; u < AHEAD; u++)
			if ((int)threadIdx.y + u * step < rows)
				add_deviations(got[u], shift, s);
	}
	if (threadIdx.y == 0)
#pragma unroll
		for (int i = 0; i < N; i++)
			shifts[i][column] = shift[i];
	add_few(s, room);
	for (int i = (int)threadIdx.y; i < N && j < c; i += step) {
		const double s1 = room[i][column], away = s1 / (double)rows;
		tell(o, j + i, shifts[i][column] + away, room[N + i][column] - s1 * away, (double)rows, 1);
	}
}

static __device__ double unbiased(double n)
{
	return n > 1 ? n / (n - 1) : 1.0;
}

__global__ void statistics_of_all(int64_t rows, int64_t c, const double *message, statistics_out o)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<1>();
	if (j >= c)
		return;
	const double up = magnify(message[0]), n = message[0] * up, mean = message[1 + j] / message[0];
	tell(o, j, mean, (message[1 + c + j] - message[1 + j] * mean) * up, n,
	     unbiased(n) / unbiased((double)rows));
}

/* A mask of the values that are above zero after rounding; the first one is the lowest bit. */
template <typename T, int N> static __device__ __forceinline__ uint8_t signs_of(
		const several<T, N> &y)
{
	unsigned bits = 0;
#pragma unroll
	for (int i = 0; i < N; i++)
		bits |= (unsigned)(y.at(i) > 0) << i;
	return (uint8_t)bits;
}

/* factor: multiplied into scale; may be NULL. A separate kernel for gamma * rstd would be one more
 * launch for each norm after a convolution that gives the statistics: 53 launches of 1.2 us in
 * resnet-50.
 *
 * A thread has N channels of a row, and moves EACH of them at a time. With N = 8 it can write a
 * byte of signs, whatever the type of the elements and the alignment of the rows. */
template <typename T, int N, int EACH, bool RESIDUAL>
__global__ void __launch_bounds__(THREADS, N > ABREAST ? 2 : 4)
norm_map(k_norm n, const float *mean, const float *scale, const float *factor)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<N>(), step = (int64_t)gridDim.y * blockDim.y;
	if (j >= n.c)
		return;
	constexpr int ROWS = sizeof(T) * N > 16 ? 1 : RESIDUAL ? FEWER<T, N> : AHEAD;
	float m[N], a[N], b[N];
	load_floats(mean + j, m);
	load_floats(scale + j, a);
	if (factor) {
		load_floats(factor + j, b);
#pragma unroll
		for (int i = 0; i < N; i++)
			a[i] *= b[i];
	}
	load_floats(n.beta + j, b);
	each_of_grid<ROWS>(n.rows, step, [&](int64_t r, auto all) {
		several<T, N> x[ROWS], residual[ROWS];
		fetch<all.value, EACH>(n.x, j, r, step, n.rows, x);
		if (RESIDUAL)
			fetch<all.value, EACH>(n.residual, j, r, step, n.rows, residual);
#pragma unroll
		for (int u = 0; u < ROWS; u++) {
			const int64_t row = r + u * step;
			if (!all.value && row >= n.rows)
				break;
			float z[N];
#pragma unroll
			for (int i = 0; i < N; i++) {
				z[i] = (x[u].at(i) - m[i]) * a[i] + b[i];
				if (RESIDUAL)
					z[i] += residual[u].at(i);
				const float low = below(z[i], n.slope);
				z[i] = n.act && z[i] < 0 ? low : z[i];
			}
			several<T, N> y;
			y.put(z);
			store_pieces<EACH>((T *)n.y.p + row * n.y.stride + j, y);
			if (N == 8 && n.signs.p)
				((uint8_t *)n.signs.p)[row * n.signs.stride + j / 8] = signs_of(y);
		}
	});
}

template <typename T, int N, int EACH>
static void launch_map(cudaStream_t stream, const k_norm &n, const float *mean, const float *scale,
                       const float *factor)
{
	const dim3 block = channel_block(n.c / N), grid = wave_grid(n.rows, n.c / N, block);
	if (n.residual.p)
		LAUNCH((norm_map<T, N, EACH, true>), grid, block, 0, stream, n, mean, scale, factor);
	else
		LAUNCH((norm_map<T, N, EACH, false>), grid, block, 0, stream, n, mean, scale, factor);
}

template <typename T> static int map_as(cudaStream_t stream, k_norm n, const float *mean,
                                        const float *scale, const float *factor)
{
	for (k_rows *x : { &n.x, &n.residual, &n.y })
		*x = backwards<T>(*x, n.rows);
	n.signs = backwards<uint8_t>(n.signs, n.rows);
	const int abreast = side_by_side(n.c, sizeof(T), { n.x, n.residual, n.y });
	if (n.signs.p)
		SIDE_BY_SIDE(abreast, T, N, launch_map<T, 8, N>(stream, n, mean, scale, factor));
	else
		SIDE_BY_SIDE(abreast, T, N, launch_map<T, N, N>(stream, n, mean, scale, factor));
	return cudaGetLastError();
}

/* Processes the last rows first, since the previous kernel, sums or a convolution, left those in
 * the cache. */
static int map(cudaStream_t stream, const k_norm *n, const float *mean, const float *scale,
               const float *factor = NULL)
{
	FLOAT_TYPES(n->type, T, return map_as<T>(stream, *n, mean, scale, factor))
	return cudaErrorInvalidValue;
}

static statistics_out out_of(const k_norm *n, void *ws)
{
	float *vector = (float *)ws;
	return { n->gamma, n->mean, n->rstd, n->variance, vector, vector + n->c, n->eps };
}

template <typename T>
static void sum_chunks(cudaStream_t stream, const k_norm *n, const chunking &k, float *part)
{
	const int abreast = side_by_side(n->c, sizeof(T), { n->x });
	const int64_t across = n->c / abreast;
	const dim3 block = chunk_block(n->c, sizeof(T));
	SIDE_BY_SIDE(abreast, T, N, LAUNCH((statistics_chunks<T, N>), across_grid(across, block, k.n),
	                                   block, 0, stream, n->rows, n->c, n->x, k, part));
}

template <typename T>
static void few_statistics(cudaStream_t stream, const k_norm *n, const statistics_out &o)
{
	const int abreast = side_by_side(n->c, sizeof(T), { n->x });
	const dim3 block = few_block(n->rows), grid = across_grid(n->c / abreast, block);
	SIDE_BY_SIDE(abreast, T, N, LAUNCH((statistics_few<T, N>), grid, block, 0, stream, n->rows,
	                                   n->c, n->x, o));
}

static int statistics(cudaStream_t stream, const k_norm *n, const float *share, double *message,
                      void *ws)
{
	chunking k;
	float *part = (float *)ws + 4 * n->c;
	if (!message && are_few(n->rows)) {
		FLOAT_TYPES(n->type, T, few_statistics<T>(stream, n, out_of(n, ws)))
		return cudaGetLastError();
	}
	FLOAT_TYPES(n->type, T, k = chunks_of(n->rows, n->c, sizeof(T));
	            sum_chunks<T>(stream, n, k, part))
	LAUNCH_JOIN(statistics_join, n->c, k.n, stream, n->rows, n->c, k, (const float *)part,
	            out_of(n, ws), share, message);
	return cudaGetLastError();
}

int k_norm_forward(void *stream_, const struct k_norm *n, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	const int failed = statistics(stream, n, NULL, NULL, ws);
	return failed ? failed : map(stream, n, out_of(n, ws).ws_mean, out_of(n, ws).ws_scale);
}

int k_norm_forward_give(void *stream, const struct k_norm *n, const float *share, double *message,
                        void *ws)
{
	return statistics((cudaStream_t)stream, n, share, message, ws);
}

int k_norm_forward_take(void *stream_, const struct k_norm *n, const double *message, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	const statistics_out o = out_of(n, ws);
	LAUNCH(statistics_of_all, blocks_for(n->c, THREADS), THREADS, 0, stream, n->rows, n->c,
	       message, o);
	return map(stream, n, o.ws_mean, o.ws_scale);
}

int k_norm_statistics(void *stream, const struct k_norm *n, void *ws)
{
	return statistics((cudaStream_t)stream, n, NULL, NULL, ws);
}

/* This loses digits of the variance if the mean is far from zero relative to the deviation; results
 * of convolutions have no such means. */
__global__ void statistics_of_sums(k_norm n, const float *sum, const float *squares)
{
	BEGIN_KERNEL();
	const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (j >= n.c)
		return;
	const double mean = (double)sum[j] / (double)n.rows,
	             v = (double)squares[j] / (double)n.rows - mean * mean;
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
	if (n->rstd)
		return map(stream, n, n->mean, n->rstd, n->gamma);
	LAUNCH(given_variance, blocks_for(n->c, THREADS), THREADS, 0, stream, n->c,
	       (const float *)n->variance, n->eps, n->gamma, rstd, scale);
	return map(stream, n, n->mean, scale);
}

template <typename T>
__global__ void norm_vectors(k_norm_vectors v)
{
	BEGIN_KERNEL();
	const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (j >= v.c)
		return;
	const double a = (double)v.gamma[j] * v.rstd[j];
	((T *)v.scale)[j] = from_float<T>((float)a);
	((T *)v.shift)[j] = from_float<T>((float)(v.beta[j] - v.mean[j] * a));
}

int k_norm_vectors_run(void *stream, const struct k_norm_vectors *v)
{
	FLOAT_TYPES(v->type, T, LAUNCH(norm_vectors<T>, blocks_for(v->c, THREADS), THREADS, 0,
	                               stream, *v))
	return cudaGetLastError();
}
