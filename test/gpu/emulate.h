/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Device code on the host: cuda/ *.cu compiled by a C++ compiler, each thread of a block a fiber,
 * blocks one after another. It says whether a kernel's arithmetic, indices, barriers and shuffles
 * are right on any machine, and is as strict as a GPU: about the size of a launch and of its
 * parameters, the alignment of vectors (-fsanitize), shared memory, which holds NaNs when a block
 * begins. Threads and blocks run forwards and backwards in turn, so that a missing barrier shows.
 * It says nothing about speed. Included by cuda/device.cuh when DLX_CUDA_EMULATED is defined. */
#ifndef DLX_TEST_GPU_EMULATE_H
#define DLX_TEST_GPU_EMULATE_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include <cuda_runtime_api.h>
#include <vector_functions.h>

#undef __global__
#define __global__
#undef __device__
#define __device__
#undef __shared__
#define __shared__ static          /* one block at a time: its threads share it */
#undef __launch_bounds__
#define __launch_bounds__(...)
#define __ldg(p) (*(p))

namespace emulate {
struct place {
	uint3 thread, block;
	dim3 block_size, grid_size;
};
extern place at;

/* A task of the GPU: returns true when it is done, false to be called again. */
typedef std::function<bool()> work;
/* To be done in the order of the stream, once, or, if the stream records, at every replay. */
void submit(void *stream, work run);
/* With DLX_EMULATE_LAUNCHES=FILE, a line "NAME COUNT" for each kernel is written there when the
 * process ends. */
void count_launch(const char *name);
/* Runs body for every thread of the grid. With DLX_EMULATE_KERNEL=7.5 that takes this many
 * microseconds by the clock of events, else none. */
void launch(dim3 grid, dim3 block, size_t shared_bytes, void *stream, std::function<void()> body);
/* Whether the thread that runs, or one before it in this kernel, has begun as kernels have to. */
extern bool begun;
/* The first statement of each thread of a kernel. With DLX_EMULATE_MOVED=FILE, a line "WORDS BYTES
 * KERNEL" for each kernel that has run is written there when the process ends: how often its
 * threads loaded or stored packs, how many bytes in all, and its declaration. */
void begin(const char *declaration);
struct moved {
	uint64_t words, bytes;
};
extern moved *moves;         /* of the kernel that runs */
void check_begun(const char *name);
/* Whether this kernel may be given to the stream now: not for the first time where it records. */
bool may_launch(const void *kernel, void *stream, const char *name);
/* Whether a GPU takes a launch; else cudaGetLastError says why not. */
bool takes(const void *kernel, dim3 grid, dim3 block, size_t shared_bytes, size_t parameters);
/* The barrier of the block. */
void sync_block();
/* Every lane gives 8 bytes and reads those of another lane of its warp. */
uint64_t exchange(uint64_t mine, int from_lane);
int lane();
/* 0 or 1: it changes with each exchange of the thread's warp. */
int turn();
extern char *dynamic_shared;
uint64_t nanoseconds();
/* The clock of events goes on; of a recording whenever that runs. */
extern "C" void emulate_spend(double microseconds);

/* --- the GPU as such (emulate_device.cc) --- */

enum memory { ON_DEVICE, ON_HOST };
/* p has n bytes of it from now on; false: the GPU has not this many left. */
bool take(void *p, size_t n, memory kind);
void give_back(void *p);
/* Whether these bytes lie in one block of it. */
bool is_in(const void *p, size_t n, memory kind);
/* A recording is about to run; a kernel is launched. */
void count_replay();
void count_launch();
/* cudaSuccess, or the error that stays once a kernel has gone wrong. */
cudaError_t broken();
/* Returns e, which cudaGetLastError in this thread does too, once. */
cudaError_t fail(cudaError_t e);
}

#define threadIdx (emulate::at.thread)
#define blockIdx (emulate::at.block)
#define blockDim (emulate::at.block_size)
#define gridDim (emulate::at.grid_size)
#define warpSize 32
using std::isfinite;

static inline void __syncthreads() { emulate::sync_block(); }

static inline void __syncwarp(unsigned mask = ~0u)
{
	(void)mask;
	emulate::exchange(0, emulate::lane());
}

static inline void __threadfence() {}
static inline void __threadfence_system() {}

template <typename T> static inline T emulate_shuffle(T v, int from)
{
	uint64_t bits = 0;
	static_assert(sizeof v <= 8, "");
	memcpy(&bits, &v, sizeof v);
	bits = emulate::exchange(bits, from);
	memcpy(&v, &bits, sizeof v);
	return v;
}
template <typename T> static inline T __shfl_xor_sync(unsigned, T v, int mask, int width = 32)
{
	(void)width;
	return emulate_shuffle(v, emulate::lane() ^ mask);
}
template <typename T> static inline T __shfl_down_sync(unsigned, T v, int by, int width = 32)
{
	(void)width;
	return emulate_shuffle(v, emulate::lane() + by < 32 ? emulate::lane() + by : emulate::lane());
}
template <typename T> static inline T __shfl_sync(unsigned, T v, int from, int width = 32)
{
	(void)width;
	return emulate_shuffle(v, from & 31);
}
template <typename T> static inline T atomicAdd(T *p, T v)
{
	T old = *p;
	*p = old + v;
	return old;
}
template <typename T> static inline T atomicMax(T *p, T v)
{
	T old = *p;
	*p = v > old ? v : old;
	return old;
}
template <typename T> static inline T min(T a, T b) { return a < b ? a : b; }
template <typename T> static inline T max(T a, T b) { return a > b ? a : b; }
static inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
#define __expf(x) std::exp((float)(x))      /* libm has functions of these names */
#define __logf(x) std::log((float)(x))
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fsub_rn(float a, float b) { return a - b; }
static inline float __fdividef(float a, float b) { return a / b; }

static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b >> 32);
}

/* Byte i of the result is byte (selector >> 4 i) % 8 of b and a. */
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector)
{
	const uint64_t of = (uint64_t)b << 32 | a;
	uint32_t r = 0;
	for (int i = 0; i < 4; i++)
		r |= (uint32_t)(of >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
	return r;
}

static inline float __uint_as_float(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static inline uint32_t __float_as_uint(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }
static inline int __float_as_int(float f) { int u; memcpy(&u, &f, 4); return u; }
static inline float __int_as_float(int u) { float f; memcpy(&f, &u, 4); return f; }

/* Bytes of a kernel's parameters, as they stand one after another. */
template <typename... P> constexpr size_t emulate_parameters()
{
	size_t n = 0;
	((n = (n + alignof(P) - 1) / alignof(P) * alignof(P) + sizeof(P)), ...);
	return n;
}

/* Arguments are taken by value when the launch is made, as on a GPU. */
template <typename... P,
typename... A> static void emulate_launch(const char *name, void (*kernel)(P...),
                                          dim3 grid, dim3 block, size_t shared, void *stream,
                                          A... argument)
{
	emulate::count_launch(name);
	if (emulate::may_launch((const void *)kernel, stream, name) &&
	    emulate::takes((const void *)kernel, grid, block, shared, emulate_parameters<P...>()))
		emulate::launch(grid, block, shared, stream, [=] {
			emulate::begun = false;
			kernel(argument...);
			emulate::check_begun(name);
		});
}
#define LAUNCH(kernel, grid, block, shared, stream, ...) \
	emulate_launch(#kernel, (kernel), (grid), (block), (shared), (void *)(stream), \
	               __VA_ARGS__)
#define BEGIN_KERNEL() emulate::begin(__PRETTY_FUNCTION__)
#define NOTE_WORD(size) (emulate::moves->words++, emulate::moves->bytes += (size))
/* Memory whose size the launch gives. */
#define SHARED_DYNAMIC(type, name) type *name = (type *)emulate::dynamic_shared

#endif
