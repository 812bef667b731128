/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses and metrics. A pixel's logits are adjacent (channels-last): with few classes one thread
 * processes them, with many a warp. Sums are computed by a number of blocks that depends only on
 * the shape, each in a fixed order, and then by one block over their partial results. Invalid
 * labels are counted, and the first one is written to memory that the host reads after the step. */
#include "cuda/join.cuh"
#include "cuda/loss.cuh"

int64_t k_loss_workspace(void)
{
	return BLOCKS * 4 * (int64_t)sizeof(double);
}

/* (1 - q)^gamma for e = -log q, and F of op/loss/loss.c. */
static __device__ double focus(double gamma, double e)
{
	if (gamma == 0)
		return 1;
	return e > 0 ? pow(-expm1(-e), gamma) : 0;
}

static __device__ double focus_slope(double gamma, double e)
{
	if (gamma == 0)
		return 1;
	return e > 0 ? focus(gamma, e) * (1 + gamma * exp(-e) * e / -expm1(-e)) : 0;
}

/* --- softmax cross-entropy --- */

template <typename T,
int LANES> __global__ void cross_entropy(k_loss c, const T *x, const int32_t *y,
                                         const float *weights, float *lse, block_part *parts)
{
	BEGIN_KERNEL();
	__shared__ block_part room[THREADS];
	const int lane = threadIdx.x % LANES;
	const int64_t step = (int64_t)gridDim.x * (THREADS / LANES);
	block_part sum = { 0, 0, 0, 0 };
	for (int64_t p = (int64_t)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES; p < c.labels.n;
	     p += step) {
		const T *row = x + p * c.labels.classes;
		float most;
		const float log_sum =
			logf(shifted_exp_sum<T, LANES>(row, c.labels.classes, lane, &most));
		const int label = y[label_at(c.labels, p)];
		if (c.smoothing != 0 && is_class(c.labels, label)) {
			float spread = 0;
			for (int j = lane; j < c.labels.classes; j += LANES)
				spread += (weights ? weights[j] : 1.0f) * (most - as_float(row[j]) + log_sum);
			spread = lanes_sum<LANES>(spread);
			sum.loss += lane ? 0 : c.smoothing / c.labels.classes * (double)spread;
		}
		if (lane)
			continue;
		if (lse)
			lse[p] = most + log_sum;
		if (is_class(c.labels, label)) {
			const float w = weights ? weights[label] : 1.0f,
			            e = most - as_float(row[label]) + log_sum;
			sum.loss += (1 - c.smoothing) * (double)(w * e) * focus(c.gamma, e);
			sum.weight += c.reduction == K_LOSS_MEAN ? w : 1.0;
		} else if (label != c.labels.ignore) {
			sum.at = sum.bad++ ? sum.at : p;
		}
	}
	sum = block_sum(sum, room);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sum;
}

__global__ void join_loss(k_loss c, int n, const block_part *parts, const int32_t *y,
                          k_loss_out out)
{
	BEGIN_KERNEL();
	__shared__ block_part room[THREADS];
	block_part sum = parts_sum(n, parts, room);
	if (threadIdx.x)
		return;
	if (c.reduction == K_LOSS_SUM)
		sum.weight = (double)c.samples;
	else
		sum.loss = sum.weight != 0 ? sum.loss / sum.weight : 0;
	*out.loss = (float)(sum.loss * c.scale);
	if (out.weight)
		*out.weight = (float)sum.weight;
	report(c.labels, y, sum.bad, sum.at, out.bad);
}

int k_cross_entropy(void *stream, int type, const struct k_loss *c, const struct k_loss_in *in,
                    const struct k_loss_out *out, void *ws)
{
	const int32_t *y = (const int32_t *)in->y;
	const bool narrow = c->labels.classes <= NARROW;
	const int blocks = blocks_of(c->labels.n, narrow ? THREADS : THREADS / 32);
	block_part *parts = (block_part *)ws;
	if (narrow)
		FLOAT_TYPES(type, T, LAUNCH((cross_entropy<T, 1>), blocks, THREADS, 0, stream, *c,
		                            (const T *)in->x, y, in->weights, out->kept, parts))
	else
		FLOAT_TYPES(type, T, LAUNCH((cross_entropy<T, 32>), blocks, THREADS, 0, stream, *c,
		                            (const T *)in->x, y, in->weights, out->kept, parts))
	LAUNCH(join_loss, 1, THREADS, 0, stream, *c, blocks, (const block_part *)parts, y, *out);
	return cudaGetLastError();
}

/* x may be dx: all lanes have read the label's logit before any lane writes. */
template <typename T, int LANES>
__global__ void cross_entropy_grad(k_loss c, const T *x, const int32_t *y, const float *weights,
                                   k_loss_back back, int to, void *dx)
{
	BEGIN_KERNEL();
	const float *lse = back.kept;
	const int lane = threadIdx.x % LANES;
	const int64_t p = (int64_t)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
	if (p >= c.labels.n)
		return;
	const T *row = x + p * c.labels.classes;
	const int label = y[label_at(c.labels, p)];
	const double scaled = c.scale * (double)*back.dloss;
	float f = (float)(c.reduction == K_LOSS_SUM ? scaled
	                  : *back.weight != 0       ? scaled / (double)*back.weight : 0),
	      spread = 0, all = 0;
	if (c.smoothing != 0 && is_class(c.labels, label)) {
		for (int j = lane; j < c.labels.classes; j += LANES)
			all += weights ? weights[j] : 1.0f;
		all = lanes_sum<LANES>(all);
		spread = f * (float)(c.smoothing / c.labels.classes);
		f *= (float)(1 - c.smoothing);
	}
	if (!is_class(c.labels, label))
		f = 0;
	else if (f != 0 && weights)
		f *= weights[label];
	if (f != 0 && c.gamma != 0)
		f *= (float)focus_slope(c.gamma, lse[p] - as_float(row[label]));
	if (LANES > 1)
		__syncwarp();
	for (int j = lane; j < c.labels.classes; j += LANES) {
		const float q = expf(as_float(row[j]) - lse[p]), v = q - (j == label ? 1.0f : 0.0f);
		float d = f == 0 ? 0.0f : f * v;
		if (spread != 0)
			d += spread * (all * q - (weights ? weights[j] : 1.0f));
		store_as(to, dx, p * c.labels.classes + j, d);
	}
}

int k_cross_entropy_grad(void *stream, int type, int to, const struct k_loss *c,
                         const struct k_loss_in *in, const struct k_loss_back *back, void *dx)
{
	const int32_t *y = (const int32_t *)in->y;
	if (c->labels.n == 0)
		return 0;
	if (c->labels.classes <= NARROW)
		FLOAT_TYPES(type, T, LAUNCH((cross_entropy_grad<T, 1>), blocks_for(c->labels.n, THREADS),
		                            THREADS, 0, stream, *c, (const T *)in->x, y, in->weights,
		                            *back, to, dx))
	else
		FLOAT_TYPES(type, T, LAUNCH((cross_entropy_grad<T, 32>),
		                            blocks_for(c->labels.n, THREADS / 32), THREADS, 0, stream, *c,
		                            (const T *)in->x, y, in->weights, *back, to, dx))
	return cudaGetLastError();
}

/* --- confusion counts: integers, so that atomics give the same result in any order --- */

typedef unsigned long long count_t;

/* counts[label][guess], classes^2 of them, then the number of bad labels, and the complement of the
 * first one's index. */
template <typename T> __global__ void count_pixels(k_labels l, int64_t from, int64_t to, const T *x,
                                                   const int32_t *y, count_t *counts)
{
	BEGIN_KERNEL();
	__shared__ unsigned here[NARROW * NARROW];
	const int64_t n = (int64_t)l.classes * l.classes;
	const bool narrow = l.classes <= NARROW;
	for (int i = threadIdx.x; narrow && i < n; i += THREADS)
		here[i] = 0;
	__syncthreads();
	for (int64_t p = from + (int64_t)blockIdx.x * THREADS + threadIdx.x; p < to;
	     p += (int64_t)gridDim.x * THREADS) {
		const T *row = x + p * l.classes;
		const int label = y[label_at(l, p)];
		int guess = 0;
		float best = as_float(row[0]);
		for (int j = 1; j < l.classes; j++)
			if (as_float(row[j]) > best) {
				best = as_float(row[j]);
				guess = j;
			}
		if (is_class(l, label) && narrow) {
			atomicAdd(&here[label * l.classes + guess], 1u);
		} else if (is_class(l, label)) {
			atomicAdd(&counts[(int64_t)label * l.classes + guess], (count_t)1);
		} else if (label != l.ignore) {
			atomicAdd(&counts[n], (count_t)1);
			/* the memory starts as zero, so the maximum of complements is the first one */
			atomicMax(&counts[n + 1], ~(count_t)p);
		}
	}
	__syncthreads();
	for (int i = threadIdx.x; narrow && i < n; i += THREADS)
		if (here[i])
			atomicAdd(&counts[i], (count_t)here[i]);
}

int64_t k_confusion_workspace(int64_t classes)
{
	return (classes * classes + 2) * (int64_t)sizeof(count_t);
}

static int count(cudaStream_t stream, int type, const k_labels *l, int64_t from, int64_t to,
                 const void *x, const int32_t *y, count_t *counts)
{
	FLOAT_TYPES(type, T, LAUNCH(count_pixels<T>, blocks_of(to - from, THREADS), THREADS, 0, stream,
	                            *l, from, to, (const T *)x, y, counts))
	return cudaGetLastError();
}

/* Adds n counts to `out`. */
__global__ void give_counts(k_labels l, int64_t n, const count_t *counts, const int32_t *y,
                            double *out, k_bad *bad)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	if (i < n)
		out[i] = (double)counts[i];
	if (i == 0)
		report(l, y, (int64_t)counts[n], (int64_t)~counts[n + 1], bad);
}

int k_confusion(void *stream_, int type, const struct k_labels *l, const void *x, const int32_t *y,
                double *out, struct k_bad *bad, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	const int64_t n = (int64_t)l->classes * l->classes;
	count_t *counts = (count_t *)ws;
	int status = cudaMemsetAsync(ws, 0, (size_t)k_confusion_workspace(l->classes), stream);
	if (status == cudaSuccess)
		status = count(stream, type, l, 0, l->n, x, y, counts);
	if (status != cudaSuccess)
		return status;
	LAUNCH(give_counts, blocks_for(n, THREADS), THREADS, 0, stream, *l, n, (const count_t *)counts,
	       y, out, bad);
	return cudaGetLastError();
}

/* counts[r]: the number of labels whose logit is exceeded by r others (op/loss/metric.c); then as
 * above. */
template <typename T> __global__ void count_ranks(k_labels l, const T *x, const int32_t *y,
                                                  count_t *counts)
{
	BEGIN_KERNEL();
	for (int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x; p < l.n;
	     p += (int64_t)gridDim.x * THREADS) {
		const T *row = x + p * l.classes;
		const int label = y[label_at(l, p)];
		if (is_class(l, label)) {
			const float v = as_float(row[label]);
			int rank = 0;
			for (int j = 0; j < l.classes; j++)
				if (j != label)
					rank += j < label ? !(as_float(row[j]) < v) : !(as_float(row[j]) <= v);
			atomicAdd(&counts[rank], (count_t)1);
		} else if (label != l.ignore) {
			atomicAdd(&counts[l.classes], (count_t)1);
			atomicMax(&counts[l.classes + 1], ~(count_t)p);
		}
	}
}

int64_t k_label_ranks_workspace(int64_t classes)
{
	return (classes + 2) * (int64_t)sizeof(count_t);
}

int k_label_ranks(void *stream, int type, const struct k_labels *l, const void *x, const int32_t *y,
                  double *out, struct k_bad *bad, void *ws)
{
	count_t *counts = (count_t *)ws;
	const int status = cudaMemsetAsync(ws, 0, (size_t)k_label_ranks_workspace(l->classes),
	                                   (cudaStream_t)stream);
	if (status != cudaSuccess)
		return status;
	FLOAT_TYPES(type, T, LAUNCH(count_ranks<T>, blocks_of(l->n, THREADS), THREADS, 0, stream, *l,
	                            (const T *)x, y, counts))
	LAUNCH(give_counts, blocks_for(l->classes, THREADS), THREADS, 0, stream, *l,
	       (int64_t)l->classes, (const count_t *)counts, y, out, bad);
	return cudaGetLastError();
}

/* Adds the mean IoU of one sample's classes to out[0], and 1 to out[1] if the sample has a label
 * that counts; clears the counts. */
__global__ void add_sample(k_labels l, count_t *counts, const int32_t *y, int first, double *out,
                           k_bad *bad)
{
	BEGIN_KERNEL();
	__shared__ double room[THREADS];
	__shared__ int some[THREADS];
	const int64_t c = l.classes, n = c * c;
	double sum = 0;
	int counted = 0;
	for (int64_t k = threadIdx.x; k < c; k += THREADS) {
		double either = -(double)counts[k * c + k];
		for (int64_t j = 0; j < c; j++)
			either += (double)counts[k * c + j] + (double)counts[j * c + k];
		counted |= either > 0;
		sum += either > 0 ? (double)counts[k * c + k] / either : 1;
	}
	room[threadIdx.x] = sum;
	some[threadIdx.x] = counted;
	__syncthreads();
	for (int64_t i = threadIdx.x; i < n; i += THREADS)
		counts[i] = 0;
	if (threadIdx.x)
		return;
	for (int i = 1; i < THREADS; i++) {
		sum += room[i];
		counted |= some[i];
	}
	out[0] = (first ? 0 : out[0]) + (counted ? sum / (double)c : 0);
	out[1] = (first ? 0 : out[1]) + counted;
	report(l, y, (int64_t)counts[n], (int64_t)~counts[n + 1], bad);
}

int k_iou_per_sample(void *stream_, int type, const struct k_labels *l, int64_t samples,
                     const void *x, const int32_t *y, double *out, struct k_bad *bad, void *ws)
{
	const auto stream = (cudaStream_t)stream_;
	const int64_t each = l->n / samples;
	int status = cudaMemsetAsync(ws, 0, (size_t)k_confusion_workspace(l->classes), stream);
	for (int64_t i = 0; i < samples && status == cudaSuccess; i++) {
		status = count(stream, type, l, i * each, (i + 1) * each, x, y, (count_t *)ws);
		LAUNCH(add_sample, 1, THREADS, 0, stream, *l, (count_t *)ws, y, i == 0, out, bad);
	}
	return status != cudaSuccess ? status : cudaGetLastError();
}

/* --- functions of prediction - target --- */

static __device__ __forceinline__ double error_of(int kind, float delta, float d)
{
	const float a = fabsf(d), m = a > delta ? delta : a;
	switch (kind) {
	case K_ERROR_ABSOLUTE: return (double)a;
	case K_ERROR_SQUARE: return (double)d * (double)d;
	default: return (double)(m * (a - 0.5f * m));
	}
}

/* The sum of the threads' values, by a tree; thread 0 gets the result. */
static __device__ __forceinline__ double tree_sum(double mine, double *room)
{
	room[threadIdx.x] = mine;
	for (int m = THREADS / 2; m > 0; m /= 2) {
		__syncthreads();
		if ((int)threadIdx.x < m)
			room[threadIdx.x] += room[threadIdx.x + m];
	}
	return room[0];
}

template <typename T>
__global__ void error_parts(k_error c, const T *x, const float *t, double *parts)
{
	BEGIN_KERNEL();
	__shared__ double room[THREADS];
	double sum = 0;
	for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < c.n;
	     i += (int64_t)gridDim.x * THREADS)
		sum += error_of(c.kind, c.delta, as_float(x[i]) - t[i]);
	sum = tree_sum(sum, room);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(JOINERS, 1)
join_error(int blocks, const double *parts, int64_t n, float *mean, float *weight)
{
	BEGIN_KERNEL();
	const double sum = sum_of_parts(column<double>{ parts, blocks, 1 });
	if (threadIdx.y)
		return;
	*mean = (float)(sum / (double)n);
	if (weight)
		*weight = (float)n;
}

int k_pointwise_error(void *stream, int type, const struct k_error *c, const void *x,
                      const float *t, float *mean, float *weight, void *ws)
{
	const int blocks = blocks_of(c->n, THREADS * 4);
	FLOAT_TYPES(type, T, LAUNCH(error_parts<T>, blocks, THREADS, 0, stream, *c, (const T *)x, t,
	                            (double *)ws))
	LAUNCH_JOIN(join_error, 1, blocks, stream, blocks, (const double *)ws, c->n, mean, weight);
	return cudaGetLastError();
}

template <typename T>
__global__ void pointwise_error_grad(k_error c, const T *x, const float *t, const float *dloss,
                                     int to, void *dx)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	if (i >= c.n)
		return;
	const float f = (float)(*dloss / (double)c.n), d = as_float(x[i]) - t[i], delta = c.delta;
	if (c.kind == K_ERROR_ABSOLUTE)
		store_as(to, dx, i, d != d ? d : f * (float)((d > 0) - (d < 0)));
	else
		store_as(to, dx, i, f * (d > delta ? delta : d < -delta ? -delta : d));
}

int k_pointwise_error_grad(void *stream, int type, int to, const struct k_error *c, const void *x,
                           const float *t, const float *dloss, void *dx)
{
	if (c->n)
		FLOAT_TYPES(type, T, LAUNCH(pointwise_error_grad<T>, blocks_for(c->n, THREADS), THREADS, 0,
		                            stream, *c, (const T *)x, t, dloss, to, dx))
	return cudaGetLastError();
}
