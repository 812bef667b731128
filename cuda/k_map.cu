/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Element-wise kernels. They are bound by memory, so each thread moves 16 bytes at a time if
 * alignment allows. The function is a template argument and contains its parameters. */
#include "cuda/device.cuh"

/* --- the functions --- */

struct relu { __device__ float operator()(float x) const { return x < 0 ? 0.0f : x; } };
struct leaky { float a; __device__ float operator()(float x) const { return x < 0 ? a * x : x; } };
struct hyperbolic { __device__ float operator()(float x) const { return tanhf(x); } };
struct logistic { __device__ float operator()(float x) const { return 1.0f / (1.0f + expf(-x)); } };
struct softplus { __device__ float operator()(float x) const {
	return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x))); } };
struct squared { __device__ float operator()(float x) const { return x * x; } };
struct root { __device__ float operator()(float x) const { return sqrtf(x); } };
struct exponential { __device__ float operator()(float x) const { return expf(x); } };
struct logarithm { __device__ float operator()(float x) const { return logf(x); } };
struct logarithm_of_more { __device__ float operator()(float x) const { return log1pf(x); } };
struct exponential_less_one { __device__ float operator()(float x) const { return expm1f(x); } };
struct sine { __device__ float operator()(float x) const { return sinf(x); } };
struct cosine { __device__ float operator()(float x) const { return cosf(x); } };
struct magnitude { __device__ float operator()(float x) const { return fabsf(x); } };
struct signum { __device__ float operator()(float x) const { return x > 0 ? 1.0f : x < 0 ? -1.0f :
	x; } };
struct power { float a; __device__ float operator()(float x) const { return powf(x, a); } };
struct affine { float a, b; __device__ float operator()(float x) const { return fmaf(a, x, b); } };
struct by_scalar { const float *f;
	__device__ float operator()(float x) const { return x * __ldg(f); } };

/* Gelu by the error function is x * P(x), where P is the normal distribution function; gelu by tanh
 * has u as tanh's argument. */
struct gelu {
	__device__ float operator()(float x) const { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
};
static __device__ __forceinline__ float gelu_tanh_of(float x)
{
	return tanhf(0.79788456f * (x + 0.044715f * x * x * x));
}
struct gelu_tanh {
	__device__ float operator()(float x) const { return 0.5f * x * (1.0f + gelu_tanh_of(x)); }
};
struct silu { __device__ float operator()(float x) const { return x / (1.0f + expf(-x)); } };
struct elu { float a;
	__device__ float operator()(float x) const { return x < 0 ? a * expm1f(x) : x; } };

struct gelu_back {
	__device__ float operator()(float x, float dy) const
	{
		return dy * (0.5f * (1.0f + erff(x * 0.70710678f)) + x * 0.39894228f * expf(-0.5f * x * x));
	}
};
struct gelu_tanh_back {
	__device__ float operator()(float x, float dy) const
	{
		const float t = gelu_tanh_of(x), du = 0.79788456f * (1.0f + 3 * 0.044715f * x * x);
		return dy * 0.5f * ((1.0f + t) + x * (1.0f - t * t) * du);
	}
};
struct silu_back {
	__device__ float operator()(float x, float dy) const
	{
		const float s = 1.0f / (1.0f + expf(-x));
		return dy * s * (1.0f + x * (1.0f - s));
	}
};
struct elu_back { float a;
	__device__ float operator()(float y, float dy) const { return y > 0 ? dy : (y + a) * dy; } };

struct minus { __device__ float operator()(float x, float y) const { return x - y; } };
struct times { __device__ float operator()(float x, float y) const { return x * y; } };
struct over { __device__ float operator()(float x, float y) const { return x / y; } };
struct smaller { __device__ float operator()(float x, float y) const { return x < y || x != x ? x :
	y; } };
struct larger { __device__ float operator()(float x, float y) const { return x > y || x != x ? x :
	y; } };
struct relu_back { __device__ float operator()(float y, float dy) const { return y > 0 ? dy :
	0.0f; } };
struct scaled_back { float a;
	__device__ float operator()(float y, float dy) const { return y > 0 ? a * dy : 0.0f; } };
struct leaky_back { float a;
	__device__ float operator()(float y, float dy) const { return y > 0 ? dy :
	a * dy; } };

/* The derivative of x s(x) from the Taylor coefficients t of s, as in op/slope_body.h. */
static __device__ __forceinline__ float slope_from(const float *t, int order, float x)
{
	float factorial = 1;
	for (int k = 2; k <= order; k++)
		factorial *= (float)k;
	return factorial * (x * t[order] + t[order - 1]);
}
struct silu_slope {
	int order;
	__device__ float operator()(float x) const
	{
		float t[K_SLOPE_MOST + 1];
		t[0] = 1.0f / (1.0f + expf(-x));
		for (int k = 0; k < order; k++) {
			t[k + 1] = t[k];
			for (int i = 0; i <= k; i++)
				t[k + 1] -= t[i] * t[k - i];
			t[k + 1] /= (float)(k + 1);
		}
		return slope_from(t, order, x);
	}
};
struct gelu_slope {
	int order;
	__device__ float operator()(float x) const
	{
		float t[K_SLOPE_MOST + 1];
		t[0] = 0.5f * (1.0f + erff(x * 0.70710678f));
		t[1] = 0.39894228f * expf(-0.5f * x * x);
		for (int k = 1; k < order; k++)
			t[k + 1] = -(x * (float)k * t[k] + (k > 1 ? (float)(k - 1) * t[k - 1] : 0.0f)) /
			           (float)((k + 1) * k);
		return slope_from(t, order, x);
	}
};
struct gelu_tanh_slope {
	int order;
	__device__ float operator()(float x) const
	{
		const float c = 0.79788456f, cubic = c * 0.044715f;
		const float u[3] = { c + 3 * cubic * x * x, 6 * cubic * x, 3 * cubic };
		float t[K_SLOPE_MOST + 1], rest[K_SLOPE_MOST + 1];
		t[0] = gelu_tanh_of(x);
		for (int k = 0; k < order; k++) {
			rest[k] = k == 0;
			for (int i = 0; i <= k; i++)
				rest[k] -= t[i] * t[k - i];
			t[k + 1] = 0;
			for (int i = 0; i <= k && i < 3; i++)
				t[k + 1] += u[i] * rest[k - i];
			t[k + 1] /= (float)(k + 1);
		}
		t[0] += 1;
		return 0.5f * slope_from(t, order, x);
	}
};

/* --- kernels --- */

template <typename T, typename F>
__global__ void map1(int64_t n, const T *x, T *y, F f)
{
	BEGIN_KERNEL();
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, packs = n / pack<T>::N;
	if (i < packs) {
		pack<T> p = reinterpret_cast<const pack<T> *>(x)[i];
#pragma unroll
		for (int k = 0; k < pack<T>::N; k++)
			p.v[k] = from_float<T>(f(as_float(p.v[k])));
		reinterpret_cast<pack<T> *>(y)[i] = p;
	} else if ((i = packs * pack<T>::N + (i - packs)) < n) {
		y[i] = from_float<T>(f(as_float(x[i])));
	}
}

template <typename T, typename F>
__global__ void map2(int64_t n, const T *x, const T *y, T *z, F f)
{
	BEGIN_KERNEL();
	int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, packs = n / pack<T>::N;
	if (i < packs) {
		pack<T> p = reinterpret_cast<const pack<T> *>(x)[i],
		        q = reinterpret_cast<const pack<T> *>(y)[i];
#pragma unroll
		for (int k = 0; k < pack<T>::N; k++)
			p.v[k] = from_float<T>(f(as_float(p.v[k]), as_float(q.v[k])));
		reinterpret_cast<pack<T> *>(z)[i] = p;
	} else if ((i = packs * pack<T>::N + (i - packs)) < n) {
		z[i] = from_float<T>(f(as_float(x[i]), as_float(y[i])));
	}
}

template <typename T> __global__ void choose(int64_t n, const T *c, const T *a, const T *b, T *y)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = as_float(c[i]) >= 0 ? a[i] : b[i];
}

/* Rows with gaps: a thread keeps its columns. */
template <typename T, int N, typename F>
__global__ void rows1(k_walk w, k_rows x, k_rows y, F f)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<N>(), rows = w.n / w.c, step = (int64_t)gridDim.y * blockDim.y;
	several<T, N> got[AHEAD];
	if (j >= w.c)
		return;
	for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += AHEAD * step) {
		load_rows(x, j, r, step, rows, got);
#pragma unroll
		for (int u = 0; u < AHEAD; u++) {
			float v[N];
			if (r + u * step >= rows)
				break;
#pragma unroll
			for (int i = 0; i < N; i++)
				v[i] = f(got[u].at(i));
			store_row<T, N>(y, j, r + u * step, v);
		}
	}
}

template <typename T, int N, typename F>
__global__ void rows2(k_walk w, k_rows x, k_rows y, k_rows z, F f)
{
	BEGIN_KERNEL();
	constexpr int ROWS = FEWER<T, N>;
	const int64_t j = first_channel<N>(), rows = w.n / w.c, step = (int64_t)gridDim.y * blockDim.y;
	several<T, N> a[ROWS], b[ROWS];
	if (j >= w.c)
		return;
	for (int64_t r = (int64_t)blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += ROWS * step) {
		load_rows(x, j, r, step, rows, a);
		load_rows(y, j, r, step, rows, b);
#pragma unroll
		for (int u = 0; u < ROWS; u++) {
			float v[N];
			if (r + u * step >= rows)
				break;
#pragma unroll
			for (int i = 0; i < N; i++)
				v[i] = f(a[u].at(i), b[u].at(i));
			store_row<T, N>(z, j, r + u * step, v);
		}
	}
}

/* The grid for whole packs, followed by up to N - 1 single elements. */
template <typename T> static int grid(int64_t n)
{
	return blocks_for(n / pack<T>::N + n % pack<T>::N, THREADS);
}

template <typename T, typename F>
static void run_rows1(void *stream, const k_walk *w, const void *x, void *y, F f)
{
	const k_rows from = { (void *)x, w->x }, to = { y, w->y };
	const bool wide = abreast(w->c, sizeof(T), { from, to });
	const int64_t across = wide ? w->c / ABREAST : w->c;
	const dim3 block = channel_block(across);
	WIDE_OR_NOT(wide, N, LAUNCH((rows1<T, N, F>), rows_grid(w->n / w->c, across, block), block, 0,
	                            stream, *w, from, to, f));
}

template <typename T, typename F>
static void run_rows2(void *stream, const k_walk *w, const void *x, const void *y, void *z, F f)
{
	const k_rows a = { (void *)x, w->x }, b = { (void *)y, w->y }, to = { z, w->z };
	const bool wide = abreast(w->c, sizeof(T), { a, b, to });
	const int64_t across = wide ? w->c / ABREAST : w->c;
	const dim3 block = channel_block(across);
	WIDE_OR_NOT(wide, N, LAUNCH((rows2<T, N, F>), rows_grid(w->n / w->c, across, block), block, 0,
	                            stream, *w, a, b, to, f));
}

template <typename F>
static int run1(void *stream, int type, const k_walk *w, const void *x, void *y, F f)
{
	if (w->n == 0)
		return 0;
	if (w->c == 0) {
		FLOAT_TYPES(type, T, LAUNCH((map1<T, F>), grid<T>(w->n), THREADS, 0, stream, w->n,
		                            (const T *)x, (T *)y, f))
	} else {
		FLOAT_TYPES(type, T, run_rows1<T>(stream, w, x, y, f))
	}
	return cudaGetLastError();
}

template <typename F>
static int run2(void *stream, int type, const k_walk *w, const void *x, const void *y, void *z, F f)
{
	if (w->n == 0)
		return 0;
	if (w->c == 0) {
		FLOAT_TYPES(type, T, LAUNCH((map2<T, F>), grid<T>(w->n), THREADS, 0, stream, w->n,
		                            (const T *)x, (const T *)y, (T *)z, f))
	} else {
		FLOAT_TYPES(type, T, run_rows2<T>(stream, w, x, y, z, f))
	}
	return cudaGetLastError();
}

/* --- launchers --- */

int k_unary(void *stream, enum k_unary op, int type, const struct k_walk *w, float a, float b,
            const void *x, void *y)
{
	switch (op) {
	case K_RELU: return run1(stream, type, w, x, y, relu{});
	case K_LEAKY_RELU: return run1(stream, type, w, x, y, leaky{ a });
	case K_TANH: return run1(stream, type, w, x, y, hyperbolic{});
	case K_SIGMOID: return run1(stream, type, w, x, y, logistic{});
	case K_SOFTPLUS: return run1(stream, type, w, x, y, softplus{});
	case K_SQUARE: return run1(stream, type, w, x, y, squared{});
	case K_SQRT: return run1(stream, type, w, x, y, root{});
	case K_EXP: return run1(stream, type, w, x, y, exponential{});
	case K_LOG: return run1(stream, type, w, x, y, logarithm{});
	case K_SCALE: return run1(stream, type, w, x, y, affine{ a, b });
	case K_GELU: return run1(stream, type, w, x, y, gelu{});
	case K_GELU_TANH: return run1(stream, type, w, x, y, gelu_tanh{});
	case K_SILU: return run1(stream, type, w, x, y, silu{});
	case K_ELU: return run1(stream, type, w, x, y, elu{ a });
	case K_LOG1P: return run1(stream, type, w, x, y, logarithm_of_more{});
	case K_EXPM1: return run1(stream, type, w, x, y, exponential_less_one{});
	case K_SIN: return run1(stream, type, w, x, y, sine{});
	case K_COS: return run1(stream, type, w, x, y, cosine{});
	case K_ABS: return run1(stream, type, w, x, y, magnitude{});
	case K_SIGN: return run1(stream, type, w, x, y, signum{});
	case K_POW: return run1(stream, type, w, x, y, power{ a });
	case K_SLOPE_SILU: return run1(stream, type, w, x, y, silu_slope{ (int)a });
	case K_SLOPE_GELU: return run1(stream, type, w, x, y, gelu_slope{ (int)a });
	case K_SLOPE_GELU_TANH: return run1(stream, type, w, x, y, gelu_tanh_slope{ (int)a });
	}
	return cudaErrorInvalidValue;
}

int k_binary(void *stream, enum k_binary op, int type, const struct k_walk *w, float a,
             const void *x, const void *y, void *z)
{
	switch (op) {
	case K_ADD: return run2(stream, type, w, x, y, z, plus{});
	case K_SUBTRACT: return run2(stream, type, w, x, y, z, minus{});
	case K_MULTIPLY: return run2(stream, type, w, x, y, z, times{});
	case K_DIVIDE: return run2(stream, type, w, x, y, z, over{});
	case K_RELU_GRAD: return run2(stream, type, w, x, y, z, relu_back{});
	case K_SCALED_RELU_GRAD: return run2(stream, type, w, x, y, z, scaled_back{ a });
	case K_LEAKY_RELU_GRAD: return run2(stream, type, w, x, y, z, leaky_back{ a });
	case K_GELU_GRAD: return run2(stream, type, w, x, y, z, gelu_back{});
	case K_GELU_TANH_GRAD: return run2(stream, type, w, x, y, z, gelu_tanh_back{});
	case K_SILU_GRAD: return run2(stream, type, w, x, y, z, silu_back{});
	case K_ELU_GRAD: return run2(stream, type, w, x, y, z, elu_back{ a });
	case K_MINIMUM: return run2(stream, type, w, x, y, z, smaller{});
	case K_MAXIMUM: return run2(stream, type, w, x, y, z, larger{});
	}
	return cudaErrorInvalidValue;
}

int k_select(void *stream, int type, int64_t n, const void *c, const void *a, const void *b,
             void *y)
{
	if (n == 0)
		return 0;
	FLOAT_TYPES(type, T, LAUNCH(choose<T>, blocks_for(n, THREADS), THREADS, 0, stream, n,
	                            (const T *)c, (const T *)a, (const T *)b, (T *)y))
	return cudaGetLastError();
}

int k_scale_by(void *stream, int type, const struct k_walk *w, const void *x, const float *factor,
               void *y)
{
	return run1(stream, type, w, x, y, by_scalar{ factor });
}

/* --- fill and cast, of all types --- */

template <typename T> struct convert {
	template <typename S> static __device__ T of(S v) { return (T)v; }
	static __device__ T of(__half v) { return (T)__half2float(v); }
	static __device__ T of(__nv_bfloat16 v) { return (T)__bfloat162float(v); }
};
template <> struct convert<__half> {
	template <typename S>
	static __device__ __half of(S v) { return __float2half_rn(convert<float>::of(v)); }
};
template <> struct convert<__nv_bfloat16> {
	template <typename S>
	static __device__ __nv_bfloat16 of(S v) { return __float2bfloat16_rn(convert<float>::of(v)); }
};

/* Each thread loads several elements before it uses the first. */
template <typename S, typename T> __global__ void cast(int64_t n, const S *x, T *y)
{
	BEGIN_KERNEL();
	const int64_t first = (int64_t)blockIdx.x * (AHEAD * THREADS) + threadIdx.x;
	S v[AHEAD];
#pragma unroll
	for (int u = 0; u < AHEAD; u++)
		if (first + u * THREADS < n)
			v[u] = x[first + u * THREADS];
#pragma unroll
	for (int u = 0; u < AHEAD; u++)
		if (first + u * THREADS < n)
			y[first + u * THREADS] = convert<T>::of(v[u]);
}

template <typename T> __global__ void fill(k_walk w, double value, T *y)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (i < w.n)
		y[w.c ? i / w.c * w.x + i % w.c : i] = convert<T>::of(value);
}

#define ALL_TYPES(type, T, ...)                                                          \
	switch (type) {                                                                  \
	case K_TYPE_F32: { using T = float; __VA_ARGS__; break; }                             \
	case K_TYPE_F64: { using T = double; __VA_ARGS__; break; }                            \
	case K_TYPE_F16: { using T = __half; __VA_ARGS__; break; }                            \
	case K_TYPE_BF16: { using T = __nv_bfloat16; __VA_ARGS__; break; }                    \
	case K_TYPE_I8: { using T = int8_t; __VA_ARGS__; break; }                             \
	case K_TYPE_U8: { using T = uint8_t; __VA_ARGS__; break; }                            \
	case K_TYPE_I32: { using T = int32_t; __VA_ARGS__; break; }                           \
	case K_TYPE_I64: { using T = int64_t; __VA_ARGS__; break; }                           \
	default: return cudaErrorInvalidValue;                                           \
	}

template <typename S>
static int cast_from(cudaStream_t stream, int to, int64_t n, const S *x, void *y)
{
	ALL_TYPES(to, T, LAUNCH((cast<S, T>), blocks_for(n, AHEAD * THREADS), THREADS, 0, stream, n, x,
	                        (T *)y))
	return cudaGetLastError();
}

int k_cast(void *stream, int from, int to, int64_t n, const void *x, void *y)
{
	if (n == 0)
		return 0;
	if (from == K_TYPE_I16)
		return cast_from<int16_t>((cudaStream_t)stream, to, n, (const int16_t *)x, y);
	if (from == K_TYPE_U16)
		return cast_from<uint16_t>((cudaStream_t)stream, to, n, (const uint16_t *)x, y);
	ALL_TYPES(from, S, return cast_from<S>((cudaStream_t)stream, to, n, (const S *)x, y))
	return cudaErrorInvalidValue;
}

int k_fill(void *stream, int type, const struct k_walk *w, double value, void *y)
{
	if (w->n == 0)
		return 0;
	ALL_TYPES(type, T, LAUNCH(fill<T>, blocks_for(w->n, THREADS), THREADS, 0, stream, *w, value,
	                          (T *)y))
	return cudaGetLastError();
}
