/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the emulation notices what it is there to notice: kernels and launches that are wrong,
 * each of which is right by chance on one that is less strict. */
#include "cuda/device.cuh"

#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

namespace {

constexpr int N = 64;                    /* threads, and numbers a block gives */

struct alignas(16) vec {
	float v[4];
};

struct lengthy {
	char bytes[5000];
};

__global__ void nothing(int) { BEGIN_KERNEL(); }
__global__ void does_not_begin(int) {}
__global__ void takes_lengthy(lengthy) { BEGIN_KERNEL(); }

__global__ void vectors(float *p)
{
	BEGIN_KERNEL();
	reinterpret_cast<vec *>(p)[threadIdx.x] = vec{};
}

__global__ void sums_what_is_there(float *out)
{
	BEGIN_KERNEL();
	__shared__ float room[N];
	if ((threadIdx.x + blockIdx.x) % 2)
		room[threadIdx.x] = 1;
	__syncthreads();
	out[blockIdx.x * N + threadIdx.x] = room[threadIdx.x];
}

/* What the thread `by` places on wrote; without a barrier between. */
template <bool BARRIER> __global__ void neighbours(int by, float *out)
{
	BEGIN_KERNEL();
	__shared__ float room[N];
	room[threadIdx.x] = (float)threadIdx.x;
	if (BARRIER)
		__syncthreads();
	out[blockIdx.x * N + threadIdx.x] = room[(threadIdx.x + (unsigned)by) % N];
}

/* Uses its shared memory again, with or without a barrier between. */
template <bool BARRIER> __global__ void twice(int by, float *out)
{
	BEGIN_KERNEL();
	__shared__ float room[N];
	room[threadIdx.x] = (float)threadIdx.x;
	__syncthreads();
	const float v = room[(threadIdx.x + (unsigned)by) % N];
	if (BARRIER)
		__syncthreads();
	room[threadIdx.x] = -1;
	out[blockIdx.x * N + threadIdx.x] = v;
}

/* Of a row of blocks each goes on where another ended. */
__global__ void chain(int from, float *out)
{
	BEGIN_KERNEL();
	const int other = (int)blockIdx.x + from;
	if (threadIdx.x == 0)
		out[blockIdx.x] = other >= 0 && other < (int)gridDim.x ? out[other] + 1 : 1;
}

cudaStream_t stream;
float *out;

int wrong;

void check(bool right, const char *what)
{
	if (!right)
		printf("%s\n", what);
	wrong += !right;
}

bool is_refused(dim3 grid, dim3 block, cudaError_t why)
{
	LAUNCH(nothing, grid, block, 0, stream, 0);
	return cudaGetLastError() == why && cudaGetLastError() == cudaSuccess;
}

/* Whether two blocks give at each thread the number `by` places on. */
bool gives_neighbours(int by)
{
	cudaStreamSynchronize(stream);
	for (int i = 0; i < 2 * N; i++)
		if (out[i] != (float)((i + by) % N))
			return false;
	return true;
}

void check_launches()
{
	check(is_refused(1, N, cudaSuccess), "a launch that is right is refused");
	check(is_refused(0, N, cudaErrorInvalidConfiguration), "no blocks are taken");
	check(is_refused(dim3(1, 65536), N, cudaErrorInvalidConfiguration),
	      "65536 rows of blocks are taken");
	check(is_refused(1, 0, cudaErrorInvalidConfiguration), "no threads are taken");
	check(is_refused(1, 512, cudaErrorInvalidConfiguration),
	      "more threads are taken than any kernel has registers for");
	LAUNCH(takes_lengthy, 1, 1, 0, stream, lengthy{});
	check(cudaGetLastError() == cudaSuccess, "parameters of 5000 bytes are refused");
	setenv("DLX_EMULATE_DRIVER", "12000", 1);
	LAUNCH(takes_lengthy, 1, 1, 0, stream, lengthy{});
	check(cudaGetLastError() == cudaErrorInvalidValue,
	      "parameters of 5000 bytes are taken by CUDA 12.0");
	check(k_tensors() * 72 < 4096, "tables of tensors are as long as CUDA 12.0 does not take them");
	unsetenv("DLX_EMULATE_DRIVER");
	check(k_tensors() == K_TENSORS,
	      "tables of tensors are short for a driver that takes long ones");
}

/* Whether a process of its own, which may be ended, does this. */
template <typename F> bool survives(F launches)
{
	fflush(stdout);
	const pid_t child = fork();
	if (child == 0) {
		cudaStream_t own;
		cudaStreamCreateWithFlags(&own, 0);
		launches(own);
		cudaStreamSynchronize(own);
		_exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool writes_vectors(size_t offset)
{
	return survives([=](cudaStream_t own) {
		float *p;
		cudaMalloc((void **)&p, 4096);
		LAUNCH(vectors, 1, N, 0, own, p + offset);
	});
}

void check_alignment()
{
	check(writes_vectors(0), "vectors that are aligned are refused");
	check(!writes_vectors(2), "vectors that are not aligned are written");
}

void check_beginning()
{
	check(survives([](cudaStream_t own) { LAUNCH(nothing, 1, 1, 0, own, 0); }),
	      "a kernel that begins as it has to is refused");
	check(!survives([](cudaStream_t own) { LAUNCH(does_not_begin, 1, 1, 0, own, 0); }),
	      "a kernel runs that does not wait for the one before it");
}

void check_shared()
{
	/* the second time there is what the first left, and in a block what the one before it left */
	for (int i = 0; i < 2; i++) {
		LAUNCH(sums_what_is_there, 2, N, 0, stream, out);
		cudaStreamSynchronize(stream);
		check(out[0] != out[0] && out[N + 1] != out[N + 1] && out[1] == 1 && out[N] == 1,
		      "unwritten shared memory holds a number");
	}
}

void check_barriers(int by)
{
	LAUNCH(neighbours<true>, 2, N, 0, stream, by, out);
	check(gives_neighbours(by), "a barrier does not do");
	LAUNCH(neighbours<false>, 2, N, 0, stream, by, out);
	check(!gives_neighbours(by), "a barrier that is missing before a read is not missed");
	LAUNCH(twice<true>, 2, N, 0, stream, by, out);
	check(gives_neighbours(by), "a barrier does not do");
	LAUNCH(twice<false>, 2, N, 0, stream, by, out);
	check(!gives_neighbours(by), "a barrier that is missing before a write is not missed");
}

void check_blocks(int from)
{
	bool right = true;
	for (int i = 0; i < 2; i++) {
		cudaMemsetAsync(out, 0, 8 * sizeof *out, stream);
		LAUNCH(chain, 8, N, 0, stream, from, out);
		cudaStreamSynchronize(stream);
		right = right && out[from < 0 ? 7 : 0] == 8;
	}
	check(!right, "blocks that wait for others are not found out");
}

/* A query whose answer is no is an error that stays until it is read. */
void check_errors()
{
	for (int i = 0; i < 1000; i++)
		LAUNCH(neighbours<true>, 2, N, 0, stream, 1, out);
	check(cudaStreamQuery(stream) == cudaErrorNotReady, "a thousand launches take no time");
	check(cudaGetLastError() == cudaErrorNotReady, "a stream that was not ready leaves no error");
	cudaStreamSynchronize(stream);
}

} /* namespace */

int main()
{
	check_alignment();
	check_beginning();
	cudaStreamCreateWithFlags(&stream, 0);
	cudaMalloc((void **)&out, 2 * N * sizeof *out);
	check_launches();
	check_shared();
	check_barriers(1);
	check_barriers(N - 1);
	check_blocks(-1);
	check_blocks(1);
	check_errors();
	return wrong != 0;
}
