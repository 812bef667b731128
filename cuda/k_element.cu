/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise losses with weights, where elements may be left out (op/loss/element.c). The
 * channels of a point are adjacent. */
#include "cuda/loss.cuh"

int64_t k_element_workspace(void)
{
	return BLOCKS * (int64_t)sizeof(block_part);
}

static __device__ __forceinline__ bool counts(const k_element &c, float t)
{
	return !(c.skip_nan && t != t) && t != c.skip;
}

static __device__ __forceinline__ float value(const k_element &c, float w, float x, float t)
{
	const float d = fabsf(x - t);
	switch (c.kind) {
	case K_ELEMENT_LOGISTIC: {
		const float s = log1pf(expf(-fabsf(x)));
		return w * t * ((x < 0 ? -x : 0) + s) + (1 - t) * ((x > 0 ? x : 0) + s);
	}
	case K_ELEMENT_ABSOLUTE: return w * d;
	case K_ELEMENT_SQUARE: return w * d * d;
	default: return w * (d > c.delta ? c.delta * (d - 0.5f * c.delta) : 0.5f * d * d);
	}
}

static __device__ __forceinline__ float slope(const k_element &c, float w, float x, float t)
{
	const float d = x - t;
	switch (c.kind) {
	case K_ELEMENT_LOGISTIC: return (1 - t) / (1 + expf(-x)) - w * t / (1 + expf(x));
	case K_ELEMENT_ABSOLUTE: return d != d ? d : w * (float)((d > 0) - (d < 0));
	case K_ELEMENT_SQUARE: return w * 2 * d;
	default: return w * (d > c.delta ? c.delta : d < -c.delta ? -c.delta : d);
	}
}

template <typename T> __global__ void element_parts(k_element c, const T *x, const float *t,
                                                    const float *weights, block_part *parts)
{
	BEGIN_KERNEL();
	__shared__ block_part room[THREADS];
	block_part sum = { 0, 0, 0, 0 };
	for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < c.n;
	     i += (int64_t)gridDim.x * THREADS) {
		const float w = weights ? weights[i % c.channels] : 1.0f, v = t[i];
		if (!counts(c, v))
			continue;
		if (c.kind == K_ELEMENT_LOGISTIC && !(v >= 0 && v <= 1))
			sum.at = sum.bad++ ? sum.at : i;
		sum.loss += (double)value(c, w, as_float(x[i]), v);
		sum.weight += c.kind == K_ELEMENT_LOGISTIC ? 1.0 : (double)w;
	}
	sum = block_sum(sum, room);
	if (threadIdx.x == 0)
		parts[blockIdx.x] = sum;
}

__global__ void join_elements(int n, const block_part *parts, const float *t, k_loss_out out)
{
	BEGIN_KERNEL();
	__shared__ block_part room[THREADS];
	block_part sum = parts_sum(n, parts, room);
	if (threadIdx.x)
		return;
	*out.loss = (float)(sum.weight != 0 ? sum.loss / sum.weight : 0);
	*out.weight = (float)sum.weight;
	if (sum.bad) {
		out.bad->at = sum.at;
		out.bad->value = __float_as_int(t[sum.at]);
		out.bad->count = sum.bad;
	}
}

int k_element_loss(void *stream, int type, const struct k_element *c, const struct k_loss_in *in,
                   const struct k_loss_out *out, void *ws)
{
	const float *t = (const float *)in->y;
	const int blocks = blocks_of(c->n, THREADS * 4);
	block_part *parts = (block_part *)ws;
	FLOAT_TYPES(type, T, LAUNCH(element_parts<T>, blocks, THREADS, 0, stream, *c,
	                            (const T *)in->x, t, in->weights, parts))
	LAUNCH(join_elements, 1, THREADS, 0, stream, blocks, (const block_part *)parts, t, *out);
	return cudaGetLastError();
}

/* dx may be x or t. */
template <typename T>
__global__ void element_grad(k_element c, const T *x, const float *t, const float *weights,
                             k_loss_back back, int to, void *dx)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	if (i >= c.n)
		return;
	const float w = weights ? weights[i % c.channels] : 1.0f,
	            f = *back.weight != 0 ? (float)((double)*back.dloss / (double)*back.weight) : 0.0f;
	store_as(to, dx, i, counts(c, t[i]) ? f * slope(c, w, as_float(x[i]), t[i]) : 0.0f);
}

int k_element_grad(void *stream, int type, int to, const struct k_element *c,
                   const struct k_loss_in *in, const struct k_loss_back *back, void *dx)
{
	if (c->n)
		FLOAT_TYPES(type, T, LAUNCH(element_grad<T>, blocks_for(c->n, THREADS), THREADS, 0, stream,
		                            *c, (const T *)in->x, (const float *)in->y, in->weights, *back,
		                            to, dx))
	return cudaGetLastError();
}
