/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared by the .cu files: loads and stores of every float type as float32, vectors of them, and
 * launch dimensions. Kernels that are bound by memory bandwidth need enough bytes in flight: a
 * thread of a kernel that processes rows starts the loads of several adjacent channels in several
 * rows before it uses the first value. */
#ifndef DLX_CUDA_DEVICE_CUH
#define DLX_CUDA_DEVICE_CUH

#ifdef DLX_CUDA_EMULATED
#include "test/gpu/emulate.h"
#else
#include <cuda_runtime.h>

/* Launches a kernel with arguments converted to the types of its parameters. */
template <typename... P, typename... A>
static void launch(void (*kernel)(P...), dim3 grid, dim3 block, size_t shared, void *stream,
                   A... argument)
{
	kernel<<<grid, block, shared, (cudaStream_t)stream>>>(static_cast<P>(argument)...);
}
#define LAUNCH(kernel, grid, block, shared, stream, ...) \
	launch((kernel), (grid), (block), (shared), (void *)(stream), __VA_ARGS__)

/* The first statement of every kernel. The emulation needs it to find the kernel's declaration. */
#define BEGIN_KERNEL() ((void)0)
#define NOTE_WORD(size) ((void)0)        /* marks a load or a store of this size for the
                                          * emulation */

/* Shared memory whose size is a launch argument. */
#define SHARED_DYNAMIC(type, name)                                                       \
	extern __shared__ __align__(16) char shared_bytes_[];                            \
	type *name = reinterpret_cast<type *>(shared_bytes_)
#endif

#include <initializer_list>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cuda/kernels.h"

/* Allows a kernel up to `most` bytes of dynamic shared memory. `most` must cover all launches of
 * the kernel, not only the next one: the limit belongs to the kernel, and lowering it would break
 * launches that were captured before. */
static inline cudaError_t allow_shared(const void *kernel, size_t most)
{
	return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most);
}

__device__ __forceinline__ float as_float(float v) { return v; }
__device__ __forceinline__ float as_float(__half v) { return __half2float(v); }
__device__ __forceinline__ float as_float(__nv_bfloat16 v) { return __bfloat162float(v); }

template <typename T> __device__ __forceinline__ T from_float(float v);
template <> __device__ __forceinline__ float from_float<float>(float v) { return v; }
template <>
__device__ __forceinline__ __half from_float<__half>(float v) { return __float2half_rn(v); }
template <>

__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float v)
{
	return __float2bfloat16_rn(v);
}

/* For results whose type differs from that of the operands. All threads of a launch take the same
 * branch. */
static __device__ __forceinline__ void store_as(int type, void *p, int64_t i, float v)
{
	if (type == K_TYPE_F32)
		((float *)p)[i] = v;
	else if (type == K_TYPE_F16)
		((__half *)p)[i] = __float2half_rn(v);
	else
		((__nv_bfloat16 *)p)[i] = __float2bfloat16_rn(v);
}

/* 16 bytes of elements of type T. */
template <typename T> struct alignas(16) pack {
	static constexpr int N = 16 / sizeof(T);
	T v[N];
};

constexpr int THREADS = 256;

static inline int blocks_for(int64_t n, int64_t each)
{
	int64_t b = (n + each - 1) / each;
	return b < 1 ? 1 : b > 0x7fffffff ? 0x7fffffff : (int)b;
}

/* A block of THREADS threads: x runs along the channels of a channels-last tensor, y along its
 * rows. */
static inline dim3 channel_block(int64_t c)
{
	unsigned x = 1;
	while (x < 32 && x < c)
		x *= 2;
	return dim3(x, THREADS / x);
}

/* --- rows of channels-last tensors --- */

/* Adjacent channels that a thread loads or stores as one, if alignment allows. */
constexpr int ABREAST = 4;
constexpr int AHEAD = 4;                 /* rows that a thread has in flight, at most */
/* The same for kernels that load several tensors at once and would need too many registers. */
template <typename T, int N> constexpr int FEWER = sizeof(T) * N > 8 ? AHEAD / 2 : AHEAD;

/* N adjacent elements, N being 1 or ABREAST. 16-bit elements stay packed in words until they are
 * used, which takes half the registers. */
template <typename T, int N> struct alignas(sizeof(T) * N) several {
	T v[N];
	__device__ __forceinline__ float at(int i) const { return as_float(v[i]); }
	__device__ __forceinline__ void put(const float *from)
	{
#pragma unroll
		for (int i = 0; i < N; i++)
			v[i] = from_float<T>(from[i]);
	}
};

static __device__ __forceinline__ float low_half(__half2 v) { return __low2float(v); }
static __device__ __forceinline__ float high_half(__half2 v) { return __high2float(v); }
/* A bfloat16 is the upper half of a float, so one instruction converts either element of a pair.
 * CUDA's functions would first extract the element. */
static __device__ __forceinline__ float upper_half(uint32_t bits)
{
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}
static __device__ __forceinline__ float low_half(__nv_bfloat162 v)
{
	uint32_t pair;
	memcpy(&pair, &v, sizeof pair);
	return upper_half(pair << 16);
}
static __device__ __forceinline__ float high_half(__nv_bfloat162 v)
{
	uint32_t pair;
	memcpy(&pair, &v, sizeof pair);
	return upper_half(pair & 0xffff0000u);
}

static __device__ __forceinline__ void put_halves(__half2 *v, float a, float b)
{
	*v = __floats2half2_rn(a, b);
}

static __device__ __forceinline__ void put_halves(__nv_bfloat162 *v, float a, float b)
{
	*v = __floats2bfloat162_rn(a, b);
}

template <typename PAIR> struct alignas(8) four_halves {
	PAIR v[2];
	__device__ __forceinline__ float at(int i) const { return i % 2 ? high_half(v[i / 2]) :
		low_half(v[i / 2]); }
	__device__ __forceinline__ void put(const float *from)
	{
		put_halves(&v[0], from[0], from[1]);
		put_halves(&v[1], from[2], from[3]);
	}
};
template <> struct alignas(8) several<__half, ABREAST> : four_halves<__half2> {};
template <> struct alignas(8) several<__nv_bfloat16, ABREAST> : four_halves<__nv_bfloat162> {};

/* The integer type that one instruction loads or stores; compilers split structs into their
 * members. */
template <int BYTES> struct word;
template <> struct word<2> { typedef uint16_t type; };
template <> struct word<4> { typedef uint32_t type; };
template <> struct word<8> { typedef uint2 type; };
template <> struct word<16> { typedef uint4 type; };

template <typename V> static __device__ __forceinline__ void load_word(V *to, const void *from)
{
	const auto w = *reinterpret_cast<const typename word<sizeof(V)>::type *>(from);
	memcpy(to, &w, sizeof w);
	NOTE_WORD(sizeof w);
}

template <typename V> static __device__ __forceinline__ void store_word(void *to, const V &v)
{
	typename word<sizeof(V)>::type w;
	memcpy(&w, &v, sizeof w);
	*reinterpret_cast<decltype(w) *>(to) = w;
	NOTE_WORD(sizeof w);
}

/* Whether c channels of `size` bytes can be loaded and stored ABREAST at a time. */
static inline bool abreast(int64_t c, size_t size, std::initializer_list<k_rows> tensors)
{
	bool all = c % ABREAST == 0;
	for (const k_rows &x : tensors)
		all = all && (!x.p || ((uintptr_t)x.p % (ABREAST * size) == 0 && x.stride % ABREAST == 0));
	return all;
}

/* Loads N floats from p on, word by word: one wide load would place the lanes of a warp N floats
 * apart. */
template <int N> static __device__ __forceinline__ void load_floats(const float *p, float (&to)[N])
{
	if (N % 4 == 0 && (uintptr_t)p % 16 == 0) {
#pragma unroll
		for (int i = 0; i + 3 < N; i += 4) {
			several<float, 4> v;
			load_word(&v, p + i);
#pragma unroll
			for (int k = 0; k < 4; k++)
				to[i + k] = v.v[k];
		}
		return;
	}
#pragma unroll
	for (int i = 0; i < N; i++)
		to[i] = p[i];
}

/* The first channel of this thread. */
template <int N> static __device__ __forceinline__ int64_t first_channel()
{
	return ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * N;
}

/* Loads channels j to j + N - 1 of rows r, r + step, ... that are before `end`. */
template <typename T, int N, int ROWS> static __device__ __forceinline__ void load_rows(
		const k_rows &x, int64_t j, int64_t r, int64_t step, int64_t end, several<T, N> (&to)[ROWS])
{
#pragma unroll
	for (int u = 0; u < ROWS; u++)
		if (r + u * step < end)
			load_word(&to[u], (const T *)x.p + (r + u * step) * x.stride + j);
}

template <typename T,
int N> static __device__ __forceinline__ void store_row(const k_rows &y, int64_t j, int64_t r,
                                                        const float *v)
{
	several<T, N> to;
	to.put(v);
	store_word((T *)y.p + r * y.stride + j, to);
}

#ifdef DLX_CUDA_EMULATED
/* small, so that tests cover several rounds with small tensors */
constexpr int LEAST_BLOCKS = 4, MOST_BLOCKS = 16;
#else
constexpr int LEAST_BLOCKS = 2048, MOST_BLOCKS = 8192;
#endif

/* The grid for a kernel whose threads keep their channels and process the rows; `across` is the
 * number of channels, or of packs of them. It has several waves of blocks on a large GPU, or one
 * row for each thread if that is less. */
static inline dim3 rows_grid(int64_t rows, int64_t across, dim3 block)
{
	const int64_t x = (across + block.x - 1) / block.x, need = (rows + block.y - 1) / block.y;
	int64_t y = (need + AHEAD - 1) / AHEAD, least = LEAST_BLOCKS / x, most = MOST_BLOCKS / x;
	y = y > most ? most : y;
	y = y < least ? least : y;
	y = y > need ? need : y;
	return dim3((unsigned)x, (unsigned)(y < 1 ? 1 : y));
}

/* Reduces K values of each thread over the threads of a column (those with equal threadIdx.x):
 * within a warp by shuffles, then over the block's `warps` in order. take(k, result) is called for
 * each k, by different threads of the column, so that they share the work that follows. blockDim is
 * a power of two in each axis, and at most 32 wide. room: shared memory that no other call uses.
 *
 * This takes two passes over shared memory and one barrier, where a tree takes up to eight: at the
 * end of a chunk of rows a tree cost as much as about ten of its rows. */
template <typename T, int K, int M, typename FOLD, typename TAKE>
static __device__ __forceinline__ void fold_columns(T (&v)[K], T (*room)[M], int warps, FOLD fold,
                                                    TAKE take)
{
	const int t = (int)(threadIdx.y * blockDim.x + threadIdx.x), wide = (int)blockDim.x;
	for (int by = wide; by < 32; by *= 2)
#pragma unroll
		for (int k = 0; k < K; k++)
			v[k] = fold(v[k], __shfl_xor_sync(0xffffffffu, v[k], by));
	if (t % 32 < wide)
#pragma unroll
		for (int k = 0; k < K; k++)
			room[k][t / 32 * wide + t % 32] = v[k];
	__syncthreads();
	for (int k = (int)threadIdx.y; k < K; k += (int)blockDim.y) {
		T all = room[k][threadIdx.x];
#pragma unroll
		for (int w = 1; w < warps; w++)
			all = fold(all, room[k][w * wide + (int)threadIdx.x]);
		take(k, all);
	}
}

struct plus {
	template <typename T> __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};

/* Column sums in a block of THREADS threads. */
template <typename T, int K, typename TAKE>
static __device__ __forceinline__ void add_columns(T (&v)[K], T (*room)[THREADS], TAKE take)
{
	fold_columns(v, room, THREADS / 32, plus(), take);
}

/* The same for callers that need all K sums in one thread: the results are valid for threadIdx.y
 * 0. */
template <typename T, int K>
static __device__ __forceinline__ void column_sums(T (&v)[K], T (*room)[THREADS])
{
	add_columns(v, room, [&](int k, T sum) { room[k][threadIdx.x] = sum; });
	__syncthreads();
	if (threadIdx.y == 0)
#pragma unroll
		for (int k = 0; k < K; k++)
			v[k] = room[k][threadIdx.x];
}

/* Runs the statement with N = ABREAST or N = 1. */
#define WIDE_OR_NOT(wide, N, ...)                                                        \
	do {                                                                             \
		if (wide) {                                                              \
			constexpr int N = ABREAST;                                       \
			__VA_ARGS__;                                                     \
		} else {                                                                 \
			constexpr int N = 1;                                             \
			__VA_ARGS__;                                                     \
		}                                                                        \
	} while (0)

/* Runs the statement with T as the element type that `type` denotes; for a type that is no float it
 * returns an error. */
#define FLOAT_TYPES(type, T, ...)                                                        \
	switch (type) {                                                                  \
	case K_TYPE_F32: { using T = float; __VA_ARGS__; break; }                             \
	case K_TYPE_F16: { using T = __half; __VA_ARGS__; break; }                            \
	case K_TYPE_BF16: { using T = __nv_bfloat16; __VA_ARGS__; break; }                    \
	default: return cudaErrorInvalidValue;                                           \
	}

#endif
