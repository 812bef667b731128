/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What follows a convolution that was made without it: scale and shift of its channels, a sum, a
 * rectifier or its gradient, in one pass over channels-last rows. A thread has neighbouring
 * channels, 16 bytes of them where everything is aligned for that, and goes down the rows. */
#include "cuda/device.cuh"

template <typename T, int N> struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) several {
	T v[N];
};

template <typename T, int N>
static __device__ __forceinline__ void load(const k_rows &x, int64_t row, int64_t first, float *to)
{
	const auto p = reinterpret_cast<const several<T, N> *>((const T *)x.p + row * x.stride + first);
	const several<T, N> got = *p;
#pragma unroll
	for (int i = 0; i < N; i++)
		to[i] = as_float(got.v[i]);
}

static __device__ __forceinline__ float bent(const k_epilogue &e, float v, float mask)
{
	const bool below = e.act == K_ACT_MASK ? !(mask > 0) : e.act == K_ACT_RELU && v < 0;
	return !below ? v : e.slope != 0 ? e.slope * v : 0.0f;     /* a true 0, whatever v is */
}

template <typename T, typename U, int N>
__global__ void epilogue(k_epilogue e)
{
	const int64_t first = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * N;
	if (first >= e.c)
		return;
	float scale[N], shift[N];
#pragma unroll
	for (int i = 0; i < N; i++) {
		scale[i] = e.scale ? e.scale[first + i] : 1.0f;
		shift[i] = e.shift ? e.shift[first + i] : 0.0f;
	}
	for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < e.rows; r += (int64_t)gridDim.y * blockDim.y) {
		float v[N], more[N], mask[N] = { 0 };
		several<U, N> out;
		load<T, N>(e.made, r, first, v);
		if (e.mask.p)
			load<T, N>(e.mask, r, first, mask);
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = fmaf(v[i], scale[i], shift[i]);
		if (e.addend.p) {
			load<T, N>(e.addend, r, first, more);
#pragma unroll
			for (int i = 0; i < N; i++)
				v[i] += more[i];
		}
#pragma unroll
		for (int i = 0; i < N; i++)
			out.v[i] = from_float<U>(bent(e, v[i], mask[i]));
		*reinterpret_cast<several<U, N> *>((U *)e.y.p + r * e.y.stride + first) = out;
	}
}

static bool even(const k_rows &x, int n)
{
	return !x.p || ((uintptr_t)x.p % 16 == 0 && x.stride % n == 0);
}

template <typename T, typename U>
static int launch(void *stream, const k_epilogue &e)
{
	constexpr int N = 16 / sizeof(T);
	const bool wide = e.c % N == 0 && even(e.made, N) && even(e.addend, N) && even(e.mask, N) && even(e.y, N);
	const int64_t across = wide ? e.c / N : e.c;
	const dim3 block = channel_block(across), grid = rows_grid(e.rows, across, block);
	if (wide)
		LAUNCH((epilogue<T, U, N>), grid, block, 0, stream, e);
	else
		LAUNCH((epilogue<T, U, 1>), grid, block, 0, stream, e);
	return cudaGetLastError();
}

int k_epilogue_run(void *stream, const struct k_epilogue *e)
{
	if (e->rows == 0 || e->c == 0)
		return 0;
	if (e->to == e->from) {
		FLOAT_TYPES(e->from, T, return launch<T, T>(stream, *e))
	} else if (e->to == K_TYPE_F32) {
		FLOAT_TYPES(e->from, T, return launch<T, float>(stream, *e))
	}
	return cudaErrorInvalidValue;
}

__global__ void fold_norm(k_fold f)
{
	const int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (j >= f.c)
		return;
	const double a = f.gamma[j] / sqrt((double)f.variance[j] + f.eps);
	f.scale[j] = (float)a;
	f.shift[j] = (float)(f.beta[j] + ((f.bias ? (double)f.bias[j] : 0.0) - f.mean[j]) * a);
}

int k_fold_norm(void *stream, const struct k_fold *f)
{
	if (f->c)
		LAUNCH(fold_norm, blocks_for(f->c, THREADS), THREADS, 0, stream, *f);
	return cudaGetLastError();
}
