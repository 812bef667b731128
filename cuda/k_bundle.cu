/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels over many tensors in one launch. A launch passes a table of tensors by value, and a block
 * processes K_PIECE elements of one of them. Each thread has four elements in flight, which is
 * enough to approach the speed of a copy. Reductions write one partial result for each block; these
 * are added in order. */
#include "cuda/join.cuh"

constexpr int UNDER_WAY = 4;

/* A table of N tensors as a kernel argument. Most tables are short, and a longer argument takes
 * longer to launch. */
template <int N> struct rows {
	int n;
	int first[N + 1];
	int64_t count[N];
	void *p[6][N];
	float decay[N], factor[N];
	unsigned char type[N];
};

#ifndef __CUDA_ARCH_LIST__       /* compiled for the host */
#define __CUDA_ARCH_LIST__ 700
#endif

static constexpr bool takes_many()
{
	const int arch[] = { __CUDA_ARCH_LIST__ };
	for (int a : arch)
		if (a < 700)
			return false;
	return CUDART_VERSION >= 12010;
}

constexpr int FEW = 48, MANY = takes_many() ? K_TENSORS : FEW;
static_assert(sizeof(rows<MANY>) + 256 < 32764 && sizeof(rows<FEW>) + 256 < 4096,
              "a launch carries its table");

int k_tensors(void)
{
	int driver = 0;
	cudaDriverGetVersion(&driver);
	return driver >= 12010 ? MANY : FEW;
}

template <int N> static rows<N> rows_of(const k_table &a)
{
	rows<N> r;
	r.n = a.n;
	for (int t = 0; t <= a.n; t++)
		r.first[t] = a.first[t];
	for (int t = 0; t < a.n; t++) {
		r.count[t] = a.count[t];
		r.decay[t] = a.decay[t];
		r.factor[t] = a.factor[t];
		r.type[t] = a.type[t];
		for (int i = 0; i < 6; i++)
			r.p[i][t] = a.p[i][t];
	}
	return r;
}

/* Calls launch(table) with the shortest table type that is long enough. */
template <typename L> static int tabled(const k_table *a, L launch)
{
	if (a->first[a->n] == 0)
		return 0;
	if (a->n <= FEW)
		launch(rows_of<FEW>(*a));
	else
		launch(rows_of<MANY>(*a));
	return cudaGetLastError();
}

struct piece {
	int t;
	int64_t lo, hi;
};

/* The last t with first[t] <= block. */
template <int N> static __device__ __forceinline__ piece find_piece(const rows<N> &a)
{
	const int block = (int)blockIdx.x;
	int lo = 0, hi = a.n;
	while (hi - lo > 1) {
		const int mid = (lo + hi) / 2;
		if (a.first[mid] <= block)
			lo = mid;
		else
			hi = mid;
	}
	const int64_t from = (int64_t)(block - a.first[lo]) * K_PIECE, to = from + K_PIECE;
	return { lo, from, to < a.count[lo] ? to : a.count[lo] };
}

/* Calls body(i) for the elements of the piece; for four elements at a time, load(i, slot) is called
 * first. */
template <typename L, typename B>
static __device__ __forceinline__ void each_element(const piece &p, L load, B body)
{
	for (int64_t at = p.lo + threadIdx.x; at < p.hi; at += (int64_t)UNDER_WAY * THREADS) {
#pragma unroll
		for (int u = 0; u < UNDER_WAY; u++)
			if (at + u * THREADS < p.hi)
				load(at + u * THREADS, u);
#pragma unroll
		for (int u = 0; u < UNDER_WAY; u++)
			if (at + u * THREADS < p.hi)
				body(at + u * THREADS, u);
	}
}

/* A gradient of any type. Its bits are loaded before any element is converted: if each type had its
 * own branch with a load, the thread would wait for the value there. */
struct gradient {
	const void *p;
	int type;
	__device__ __forceinline__ uint32_t bits(int64_t i) const
	{
		return type == K_TYPE_F32 ? ((const uint32_t *)p)[i] : ((const uint16_t *)p)[i];
	}
	__device__ __forceinline__ float value(uint32_t bits) const
	{
		return type == K_TYPE_F32 ? __uint_as_float(bits) :
		       type == K_TYPE_BF16 ? __uint_as_float(bits << 16) :
		       __half2float(__ushort_as_half((unsigned short)bits));
	}
};

/* --- the optimizers' updates --- */

/* The coefficients of one parameter: d = trust (scale g + coupled w); new w = keep w - rate u, or
 * the direction decay w + u. */
struct coefficients {
	float scale, trust, coupled, keep, rate;
};

static __device__ __forceinline__ coefficients coefficients_of(const k_descent &d, float decay,
                                                               float factor, int t)
{
	const float rate = *d.rate * factor;
	coefficients c = { d.scale ? *d.scale : 1.0f, d.trust ? d.trust[d.first_group + t] : 1.0f, 0,
		1, rate };
	if (!d.decoupled)
		c.coupled = decay;
	else
		c.keep = 1 - rate * decay;
	if (d.direction) {
		c.keep = d.decoupled ? decay : 0;
		c.rate = -1;
	}
	return c;
}

/* The update u of one element; the state s0 and s1 is updated in place. */
template <int KIND> static __device__ __forceinline__ float step(const k_descent &d,
                                                                 float g, float *s0, float *s1,
                                                                 const float *bias)
{
	switch (KIND) {
	case K_SGD_MOMENTUM:
		*s0 = d.momentum * *s0 + g;
		return d.nesterov ? g + d.momentum * *s0 : *s0;
	case K_ADAM:
		*s0 = *s0 + d.one_less_beta1 * (g - *s0);
		*s1 = d.beta2 * *s1 + d.one_less_beta2 * g * g;
		return bias[0] * *s0 / (sqrtf(*s1) * bias[1] + d.eps);
	case K_RMSPROP:
	case K_RMSPROP_MOMENTUM:
		*s0 = d.beta2 * *s0 + d.one_less_beta2 * g * g;
		g = g / (sqrtf(*s0 + (d.eps_inside ? d.eps : 0.0f)) + (d.eps_inside ? 0.0f : d.eps));
		if (KIND == K_RMSPROP)
			return g;
		*s1 = d.momentum * *s1 + g;
		return *s1;
	default:
		return g;
	}
}

/* Adam's 1 / (1 - beta1^t) and 1 / sqrt(1 - beta2^t), from the logarithms of the betas, for all
 * threads of the block. Each block recomputes them, which takes less than a microsecond (predicted)
 * while other blocks wait for memory. A separate kernel before each bundle would take 3 us, and a
 * step has up to 16 bundles. */
static __device__ __forceinline__ void correct_bias(const k_descent &d, float *bias)
{
	if (threadIdx.x == 0) {
		const double t = 1 + (d.wide ? (double)*(const int64_t *)d.step :
		                      (double)*(const int32_t *)d.step);
		bias[0] = (float)(-1 / expm1(t * d.log_beta1));
		bias[1] = (float)(1 / sqrt(-expm1(t * d.log_beta2)));
	}
	__syncthreads();
}

template <int KIND, int N> __global__ void descend(k_descent d, rows<N> a)
{
	BEGIN_KERNEL();
	constexpr int STATES = KIND == K_SGD ? 0 : KIND == K_SGD_MOMENTUM || KIND == K_RMSPROP ? 1 : 2;
	__shared__ float bias[2];
	if (d.apply && *d.apply == 0)
		return;
	if (KIND == K_ADAM)
		correct_bias(d, bias);
	const piece p = find_piece(a);
	coefficients c = coefficients_of(d, a.decay[p.t], a.factor[p.t], p.t);
	float inside = 1;
	if (d.rate_inside) {
		inside = c.rate;
		c.rate = 1;
	}
	float *to = (float *)a.p[0][p.t], *s0 = (float *)a.p[3][p.t], *s1 = (float *)a.p[4][p.t];
	const float *w = (const float *)a.p[1][p.t];
	const gradient g = { a.p[2][p.t], a.type[p.t] };
	void *copy = a.p[5][p.t];
	uint32_t gv[UNDER_WAY];
	float wv[UNDER_WAY], v0[UNDER_WAY], v1[UNDER_WAY];
	each_element(p,
		[&](int64_t i, int u) {
			wv[u] = w[i];
			gv[u] = g.bits(i);
			v0[u] = STATES > 0 ? s0[i] : 0.0f;
			v1[u] = STATES > 1 ? s1[i] : 0.0f;
		},
		[&](int64_t i, int u) {
			const float by = (g.value(gv[u]) * c.scale + c.coupled * wv[u]) * c.trust * inside;
			const float now = wv[u] * c.keep - c.rate * step<KIND>(d, by, &v0[u], &v1[u], bias);
			to[i] = now;
			if (copy)
				store_as(d.copy_type, copy, i, now);
			if (STATES > 0)
				s0[i] = v0[u];
			if (STATES > 1)
				s1[i] = v1[u];
		});
}

template <int KIND, int N>
static void descend_with(void *stream, const k_descent &d, const rows<N> &a)
{
	LAUNCH((descend<KIND, N>), a.first[a.n], THREADS, 0, stream, d, a);
}

template <int KIND> static int descend_by(void *stream, const k_descent *d, const k_table *a)
{
	return tabled(a, [&](const auto &table) { descend_with<KIND>(stream, *d, table); });
}

int k_descend(void *stream, enum k_descent_kind kind, const struct k_descent *d,
              const struct k_table *a)
{
	switch (kind) {
	case K_SGD: return descend_by<K_SGD>(stream, d, a);
	case K_SGD_MOMENTUM: return descend_by<K_SGD_MOMENTUM>(stream, d, a);
	case K_ADAM: return descend_by<K_ADAM>(stream, d, a);
	case K_RMSPROP: return descend_by<K_RMSPROP>(stream, d, a);
	default: return descend_by<K_RMSPROP_MOMENTUM>(stream, d, a);
	}
}

/* --- sums over micro-batches --- */

enum sum_how { SUM_KEEP, SUM_SET, SUM_ADD, SUM_NOTHING };

static __device__ int64_t whole(const void *place, int wide, int i)
{
	return wide ? ((const int64_t *)place)[i] : (int64_t)((const int32_t *)place)[i];
}

/* The same as in op/update/update.c. */
static __device__ sum_how how_to_sum(const void *place, int wide, int level, int all)
{
	const int64_t index = whole(place, wide, 0), below = level > 0 ? ((int64_t)1 << level) - 1 : 0;
	if (level < 0)
		return index == 0 ? SUM_SET : SUM_ADD;
	if (whole(place, wide, 2) && !all)
		return level == 0 ? SUM_NOTHING : SUM_SET;
	if (!whole(place, wide, 1) && (index & below) != below)
		return SUM_KEEP;
	return index >> level & 1 ? SUM_ADD : SUM_SET;
}

/* The tensors that index 0 overwrites may hold any values, so they are not read. */
template <int N>
__global__ void accumulate(rows<N> a, const void *place, int wide, int level, int all)
{
	BEGIN_KERNEL();
	const sum_how how = how_to_sum(place, wide, level, all);
	const piece p = find_piece(a);
	if (how == SUM_KEEP)
		return;
	float *acc = (float *)a.p[0][p.t], av[UNDER_WAY];
	const gradient g = { a.p[1][p.t], a.type[p.t] };
	uint32_t gv[UNDER_WAY];
	each_element(p,
		[&](int64_t i, int u) {
			gv[u] = how == SUM_NOTHING ? 0 : g.bits(i);
			av[u] = how == SUM_ADD ? acc[i] : -0.0f;
		},
		[&](int64_t i, int u) {
			const float v = how == SUM_NOTHING ? -0.0f : g.value(gv[u]);
			acc[i] = how == SUM_ADD ? av[u] + v : v;
		});
}

template <int N> static void accumulate_with(void *stream, const rows<N> &a, const void *place,
                                             int wide, int level, int all)
{
	LAUNCH(accumulate<N>, a.first[a.n], THREADS, 0, stream, a, place, wide, level, all);
}

int k_accumulate(void *stream, const struct k_table *a, const void *place, int wide, int level,
                 int all)
{
	return tabled(a, [&](const auto &table) {
		accumulate_with(stream, table, place, wide, level, all); });
}

template <typename TO, typename FROM, int N> __global__ void scaled(rows<N> a, float factor)
{
	BEGIN_KERNEL();
	const piece p = find_piece(a);
	TO *to = (TO *)a.p[0][p.t];
	const FROM *from = (const FROM *)a.p[1][p.t];
	float v[UNDER_WAY];
	each_element(p, [&](int64_t i, int u) { v[u] = as_float(from[i]); },
		[&](int64_t i, int u) { to[i] = from_float<TO>(factor * v[u]); });
}

template <typename TO, typename FROM, int N>
static void scaled_with(void *stream, const rows<N> &a, float factor)
{
	LAUNCH((scaled<TO, FROM, N>), a.first[a.n], THREADS, 0, stream, a, factor);
}

int k_scaled(void *stream, const struct k_table *a, float factor)
{
	return tabled(a, [&](const auto &table) { scaled_with<float, float>(stream, table, factor); });
}

int k_scaled_to(void *stream, int type, const struct k_table *a, float factor)
{
	FLOAT_TYPES(type, T, return tabled(a, [&](const auto &table) { scaled_with<T,
		float>(stream, table, factor); }))
	return cudaErrorInvalidValue;
}

int k_widened(void *stream, int type, const struct k_table *a)
{
	FLOAT_TYPES(type, T, return tabled(a, [&](const auto &table) { scaled_with<float,
		T>(stream, table, 1.0f); }))
	return cudaErrorInvalidValue;
}

/* --- running values --- */

template <int N> __global__ void ema_update(rows<N> a, float keep, int finite)
{
	BEGIN_KERNEL();
	const piece p = find_piece(a);
	float *to = (float *)a.p[0][p.t], rv[UNDER_WAY], xv[UNDER_WAY];
	const float *x = (const float *)a.p[1][p.t], take = a.factor[p.t];
	each_element(p,
		[&](int64_t i, int u) {
			rv[u] = to[i];
			xv[u] = x[i];
		},
		[&](int64_t i, int u) {
			if (!finite || isfinite(xv[u]))
				to[i] = keep * rv[u] + take * xv[u];
		});
}

template <int N> static void ema_update_with(void *stream, const rows<N> &a, float keep, int finite)
{
	LAUNCH(ema_update<N>, a.first[a.n], THREADS, 0, stream, a, keep, finite);
}

int k_ema_update(void *stream, const struct k_table *a, float keep, int finite)
{
	return tabled(a, [&](const auto &table) { ema_update_with(stream, table, keep, finite); });
}

/* --- averages of weights --- */

static __device__ double share_of(const k_averaging &h)
{
	const double t = h.wide ? (double)*(const int64_t *)h.step : (double)*(const int32_t *)h.step,
	             n = t + 1 - h.start;
	if (n <= 0 || (h.warmup == K_WARMUP_BIAS && n == 1))
		return 1;
	if (h.warmup == K_WARMUP_BIAS)
		return (1 - h.decay) / (1 - pow(h.decay, n));
	return 1 - (h.warmup == K_WARMUP_RAMP ? fmin(h.decay, (1 + n) / (10 + n)) : h.decay);
}

/* With a share of 1 the weights are copied: a + (w - a) would only be close to w. */
template <int N> __global__ void average(rows<N> a, k_averaging h)
{
	BEGIN_KERNEL();
	__shared__ float share;
	if (h.apply && *h.apply == 0)
		return;
	if (threadIdx.x == 0)
		share = (float)share_of(h);
	__syncthreads();
	const float c = share;
	const piece p = find_piece(a);
	float *to = (float *)a.p[0][p.t], av[UNDER_WAY], wv[UNDER_WAY];
	const float *w = (const float *)a.p[1][p.t];
	each_element(p,
		[&](int64_t i, int u) {
			av[u] = c == 1 ? 0.0f : to[i];
			wv[u] = w[i];
		},
		[&](int64_t i, int u) { to[i] = c == 1 ? wv[u] : av[u] + c * (wv[u] - av[u]); });
}

template <int N> static void average_with(void *stream, const rows<N> &a, const k_averaging &how)
{
	LAUNCH(average<N>, a.first[a.n], THREADS, 0, stream, a, how);
}

int k_average(void *stream, const struct k_table *a, const struct k_averaging *how)
{
	return tabled(a, [&](const auto &table) { average_with(stream, table, *how); });
}

/* --- reductions --- */

/* The larger magnitude, by comparing bit patterns without the sign as integers: floats keep their
 * order, infinity is above all numbers, and NaN above infinity. */
static __device__ __forceinline__ double larger_bits(double a, double b)
{
	return a != a || a > b ? a : b;
}

template <int KIND>
static __device__ __forceinline__ double joined(double a, double b)
{
	return KIND == K_MAX_ABS ? larger_bits(a, b) : a + b;
}

/* part[block]; for K_NORMS, part[block] of two values. */
template <int KIND, int N>
__global__ void bundle_parts(rows<N> a, const float *scale, double *part)
{
	BEGIN_KERNEL();
	__shared__ double room[2][THREADS];
	const piece p = find_piece(a);
	const float *w = (const float *)a.p[0][p.t];
	const gradient g = { a.p[KIND == K_NORMS ? 1 : 0][p.t], a.type[p.t] };
	const float by = scale ? *scale : 1.0f, decay = a.decay[p.t];
	double s = 0, q = 0;
	float wv[UNDER_WAY];
	uint32_t gv[UNDER_WAY];
	each_element(p,
		[&](int64_t i, int u) {
			wv[u] = KIND == K_NORMS ? w[i] : 0.0f;
			gv[u] = g.bits(i);
		},
		[&](int64_t, int u) {
			const float y = g.value(gv[u]);
			const double v = KIND == K_NORMS ? wv[u] : y, z = y * by + decay * wv[u];
			s = KIND == K_MAX_ABS ? larger_bits(fabs(v), s) : s + v * v;
			if (KIND == K_NORMS)
				q += z * z;
		});
	room[0][threadIdx.x] = s;
	room[1][threadIdx.x] = q;
	for (int n = THREADS / 2; n > 0; n /= 2) {
		__syncthreads();
		if ((int)threadIdx.x < n) {
			room[0][threadIdx.x] = joined<KIND>(room[0][threadIdx.x], room[0][threadIdx.x + n]);
			room[1][threadIdx.x] += room[1][threadIdx.x + n];
		}
	}
	if (threadIdx.x)
		return;
	if (KIND == K_NORMS) {
		part[2 * blockIdx.x] = room[0][0];
		part[2 * blockIdx.x + 1] = room[1][0];
	} else {
		part[blockIdx.x] = room[0][0];
	}
}

/* Adds all partial results in one block. */
template <int KIND> __global__ void __launch_bounds__(JOINERS, 1)
join_all(int64_t n, const double *part, float *out)
{
	BEGIN_KERNEL();
	const double all = joined_parts(0.0, column<double>{ part, n, 1 },
	                                [](double a, double b) { return joined<KIND>(a, b); });
	if (threadIdx.y == 0)
		*out = (float)all;
}

/* Computes
 *
 *
 *
 * a
 *
 *
 *
 * and
 *
 *
 *
 * b
 *
 *
 *
 * of each tensor of the table, with a warp for each tensor. With one thread for each it took 74 us
 * on an H100, the time of hundreds of dependent loads. */
template <int N>
__global__ void join_norms(rows<N> a, const double *part, float *first, float *second)
{
	BEGIN_KERNEL();
	const int t = (int)((blockIdx.x * blockDim.x + threadIdx.x) / 32);
	const int lane = (int)threadIdx.x % 32;
	double s = 0, q = 0;
	if (t >= a.n)
		return;
#pragma unroll 4
	for (int i = a.first[t] + lane; i < a.first[t + 1]; i += 32) {
		s += part[2 * i];
		q += part[2 * i + 1];
	}
	for (int by = 16; by; by /= 2) {
		s += __shfl_xor_sync(0xffffffffu, s, by);
		q += __shfl_xor_sync(0xffffffffu, q, by);
	}
	if (lane)
		return;
	first[t] = (float)sqrt(s);
	second[t] = (float)sqrt(q);
}

template <int KIND, int N>
static void parts_with(void *stream, const rows<N> &a, const float *scale, double *part)
{
	LAUNCH((bundle_parts<KIND, N>), a.first[a.n], THREADS, 0, stream, a, scale, part);
}

int k_bundle_parts(void *stream, enum k_bundle_kind kind, const struct k_table *a,
                   const float *scale, double *part)
{
	switch (kind) {
	case K_SQUARES:
		return tabled(a, [&](const auto &table) {
			parts_with<K_SQUARES>(stream, table, scale, part); });
	case K_MAX_ABS:
		return tabled(a, [&](const auto &table) {
			parts_with<K_MAX_ABS>(stream, table, scale, part); });
	default:
		return tabled(a,
		              [&](const auto &table) { parts_with<K_NORMS>(stream, table, scale, part); });
	}
}

int k_bundle_join(void *stream, enum k_bundle_kind kind, int64_t n, const double *part, float *out)
{
	if (kind == K_MAX_ABS)
		LAUNCH_JOIN(join_all<K_MAX_ABS>, 1, n, stream, n, part, out);
	else
		LAUNCH_JOIN(join_all<K_SQUARES>, 1, n, stream, n, part, out);
	return cudaGetLastError();
}

template <int N> static void norms_with(void *stream, const rows<N> &a, const double *part,
                                        float *first, float *second)
{
	LAUNCH(join_norms<N>, blocks_for(a.n, 2), 64, 0, stream, a, part, first, second);
}

int k_bundle_norms(void *stream, const struct k_table *a, const double *part, float *first,
                   float *second)
{
	return tabled(a, [&](const auto &table) { norms_with(stream, table, part, first, second); });
}
