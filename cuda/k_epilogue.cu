/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The epilogue of a convolution whose kernel has none: scale and shift of the channels, an
 * addition, and ReLU or its gradient, in one pass over channels-last rows. It begins with the last
 * row, because the end of the convolution's result is still in the cache.
 *
 * With packs of 8 bytes, beginning with the first row, it moved 2.69 TB/s of an H100's 2.98 for the
 * sums of tiramisu's gradients; the kernels of k_norm.cu, which also go backwards, move 2.95. */
#include "cuda/wide.cuh"

static __device__ __forceinline__ float bent(const k_epilogue &e, float v, float mask)
{
	const bool below = e.act == K_ACT_MASK ? !(mask > 0) : e.act == K_ACT_RELU && v < 0;
	return !below ? v : e.slope != 0 ? e.slope * v : 0.0f;     /* exactly 0 for slope 0, even if v
	                                                            * is infinite */
}

template <typename T, typename U, int N>
__global__ void __launch_bounds__(THREADS, N > ABREAST ? 2 : 3) epilogue(k_epilogue e)
{
	BEGIN_KERNEL();
	const int64_t j = first_channel<N>(), step = (int64_t)gridDim.y * blockDim.y;
	if (j >= e.c)
		return;
	constexpr int ROWS = FEWER<T, N>;
	float scale[N], shift[N];
#pragma unroll
	for (int i = 0; i < N; i++) {
		scale[i] = e.scale ? e.scale[j + i] : 1.0f;
		shift[i] = e.shift ? e.shift[j + i] : 0.0f;
	}
	each_of_grid<ROWS>(e.rows, step, [&](int64_t r, auto all) {
		several<T, N> made[ROWS], addend[ROWS], mask[ROWS];
		fetch<all.value, N>(e.made, j, r, step, e.rows, made);
		if (e.addend.p)
			fetch<all.value, N>(e.addend, j, r, step, e.rows, addend);
		if (e.mask.p)
			fetch<all.value, N>(e.mask, j, r, step, e.rows, mask);
#pragma unroll
		for (int u = 0; u < ROWS; u++) {
			if (!all.value && r + u * step >= e.rows)
				break;
			float v[N];
#pragma unroll
			for (int i = 0; i < N; i++) {
				v[i] = fmaf(made[u].at(i), scale[i], shift[i]);
				if (e.addend.p)
					v[i] += addend[u].at(i);
				v[i] = bent(e, v[i], e.mask.p ? mask[u].at(i) : 0.0f);
			}
			store_row<U, N>(e.y, j, r + u * step, v);
		}
	});
}

template <typename T, typename U, int N> static void launch(void *stream, const k_epilogue &e)
{
	const dim3 block = channel_block(e.c / N);
	LAUNCH((epilogue<T, U, N>), wave_grid(e.rows, e.c / N, block), block, 0, stream, e);
}

template <typename T, typename U> static int make(void *stream, k_epilogue e)
{
	for (k_rows *x : { &e.made, &e.addend, &e.mask })
		*x = backwards<T>(*x, e.rows);
	e.y = backwards<U>(e.y, e.rows);
	if constexpr (std::is_same<T, U>::value) {
		const int abreast = side_by_side(e.c, sizeof(T), { e.made, e.addend, e.mask, e.y });
		SIDE_BY_SIDE(abreast, T, N, launch<T, U, N>(stream, e));
	} else {
		const bool wide = abreast(e.c, sizeof(T), { e.made, e.addend, e.mask }) &&
		                  abreast(e.c, sizeof(U), { e.y });
		WIDE_OR_NOT(wide, N, launch<T, U, N>(stream, e));
	}
	return cudaGetLastError();
}

int k_epilogue_run(void *stream, const struct k_epilogue *e)
{
	if (e->rows == 0 || e->c == 0)
		return 0;
	if (e->to == e->from) {
		FLOAT_TYPES(e->from, T, return make<T, T>(stream, *e))
	} else if (e->to == K_TYPE_F32) {
		FLOAT_TYPES(e->from, T, return make<T, float>(stream, *e))
	}
	return cudaErrorInvalidValue;
}

__global__ void fold_norm(k_fold f)
{
	BEGIN_KERNEL();
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
