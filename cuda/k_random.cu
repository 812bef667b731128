/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers by Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC11), with the bits of base/rng.c.
 * Dropout: a block of the generator (128 bits) gives 16 bits to each of eight adjacent elements of
 * a sample, and a thread computes one block. Noise: a block gives a pair of elements of a row. */
#include "cuda/wide.cuh"

constexpr int TOGETHER = 8;

static __device__ __forceinline__ uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
	x = (x ^ x >> 27) * 0x94D049BB133111EBull;
	return x ^ x >> 31;
}

static __device__ __forceinline__ void philox(uint64_t key, uint64_t block, uint64_t step,
                                              uint32_t *c)
{
	uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
	c[0] = (uint32_t)block;
	c[1] = (uint32_t)(block >> 32);
	c[2] = (uint32_t)step;
	c[3] = (uint32_t)(step >> 32);
#pragma unroll
	for (int round = 0; round < 10; round++) {
		const uint32_t h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0];
		const uint32_t h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
		c[0] = h1 ^ c[1] ^ k0;
		c[1] = l1;
		c[2] = h0 ^ c[3] ^ k1;
		c[3] = l0;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
}

static __device__ __forceinline__ uint64_t key_of(int64_t seed, int64_t stream)
{
	return mix(mix((uint64_t)seed + 0x9E3779B97F4A7C15ull) ^ (uint64_t)stream);
}

/* y = dropout(x) or, if z is given, z = relu(x) and y = dropout(z). Rows are a multiple of N
 * long. */
template <typename T, int N>
__global__ void dropout(k_dropout d, const int64_t *random_key, const T *x, T *y, T *z)
{
	BEGIN_KERNEL();
	const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x,
	              each = (d.each + TOGETHER - 1) / TOGETHER;
	const int64_t sample = thread / each, at = thread % each * TOGETHER,
	              first = sample * d.each + at;
	if (first >= d.n)
		return;
	const uint64_t block = ((uint64_t)random_key[2] + (uint64_t)sample) * (uint64_t)each +
	                       (uint64_t)(at / TOGETHER);
	uint32_t word[4];
	philox(key_of(random_key[0], d.stream), block, (uint64_t)random_key[1], word);
	int64_t row = first / d.c, col = first - row * d.c;
#pragma unroll
	for (int e = 0; e < TOGETHER; e += N) {
		several<T, N> got;
		float v[N], kept[N];
		if (at + e >= d.each)
			break;
		load_word(&got, x + row * d.x + col);
#pragma unroll
		for (int i = 0; i < N; i++) {
			const uint32_t bits = word[(e + i) / 2] >> ((e + i) % 2 * 16) & 0xffff;
			v[i] = got.at(i);
			if (d.relu && v[i] < 0)
				v[i] = 0;
			kept[i] = bits < d.drop ? 0.0f : d.scale * v[i];
		}
		store_row<T, N>({ y, d.y }, col, row, kept);
		if (z)
			store_row<T, N>({ z, d.z }, col, row, v);
		col += N;
		if (col == d.c) {
			col = 0;
			row++;
		}
	}
}

/* The same for a piece: a thread computes one element, of which the whole's number gives the block
 * of the generator and the place in it. */
template <typename T>
__global__ void dropout_piece(k_dropout d, const int64_t *random_key, const T *x, T *y, T *z)
{
	BEGIN_KERNEL();
	const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
	if (i >= d.n)
		return;
	const int64_t row = i / d.c, col = i - row * d.c, sample = i / d.each;
	int64_t place = 0, left = d.each / d.c, rest = row - sample * left;
	for (int a = 0; a < d.axes; a++) {
		left /= d.d[a];
		place = place * d.whole[a] + d.at[a] + rest / left;
		rest %= left;
	}
	const uint64_t number = ((uint64_t)random_key[2] + (uint64_t)sample) * (uint64_t)d.padded +
	                        (uint64_t)(place * d.c + col);
	uint32_t word[4];
	philox(key_of(random_key[0], d.stream), number / TOGETHER, (uint64_t)random_key[1], word);
	const int e = (int)(number % TOGETHER);
	float v = (float)x[row * d.x + col];
	if (d.relu && v < 0)
		v = 0;
	y[row * d.y + col] = (T)((word[e / 2] >> (e % 2 * 16) & 0xffff) < d.drop ? 0.0f : d.scale * v);
	if (z)
		z[row * d.z + col] = (T)v;
}

template <typename T> static void run(void *stream, const struct k_dropout *d, const int64_t *key,
                                      const void *x, void *y, void *z)
{
	if (d->axes) {
		LAUNCH((dropout_piece<T>), blocks_for(d->n, THREADS), THREADS, 0, stream, *d, key,
		       (const T *)x, (T *)y, (T *)z);
		return;
	}
	const int64_t threads = d->n / d->each * ((d->each + TOGETHER - 1) / TOGETHER);
	const int most = side_by_side(d->c, sizeof(T), { { (void *)x, d->x }, { y, d->y },
		{ z, d->z } }), n = d->each % most ? 1 : most;
	SIDE_BY_SIDE(n, T, N, LAUNCH((dropout<T, N>), blocks_for(threads, THREADS), THREADS, 0, stream,
	                             *d, key, (const T *)x, (T *)y, (T *)z));
}

int k_dropout_run(void *stream, int type, const struct k_dropout *d, const int64_t *key,
                  const void *x, void *y, void *z)
{
	if (d->n == 0)
		return 0;
	FLOAT_TYPES(type, T, run<T>(stream, d, key, x, y, z))
	return cudaGetLastError();
}

/* --- noise --- */

/* The upper 53 bits of two words, as a fraction. */
static __device__ __forceinline__ double fraction(const uint32_t *w)
{
	return (double)(((uint64_t)w[1] << 32 | w[0]) >> 11) * 0x1p-53;
}

/* A thread computes a pair of numbers; normal ones by the Box-Muller transform. */
__global__ void noise(k_noise d, const int64_t *random_key, float *y)
{
	BEGIN_KERNEL();
	const int64_t thread = (int64_t)blockIdx.x * THREADS + threadIdx.x, pairs = (d.each + 1) / 2;
	const int64_t row = thread / pairs, pair = thread % pairs;
	uint32_t word[4];
	if (row >= d.rows)
		return;
	philox(key_of(random_key[0], d.stream), (uint64_t)((random_key[2] + row) * pairs + pair),
	       (uint64_t)random_key[1], word);
	double even = fraction(word), odd = fraction(word + 2);
	if (d.normal) {
		const double radius = sqrt(-2.0 * log(1.0 - even)), turn = 6.283185307179586477 * odd;
		even = radius * cos(turn);
		odd = radius * sin(turn);
	}
	y += row * d.each + 2 * pair;
	y[0] = (float)even;
	if (2 * pair + 1 < d.each)
		y[1] = (float)odd;
}

int k_noise_run(void *stream, const struct k_noise *d, const int64_t *key, float *y)
{
	const int64_t threads = d->rows * ((d->each + 1) / 2);
	if (threads == 0)
		return 0;
	LAUNCH(noise, blocks_for(threads, THREADS), THREADS, 0, stream, *d, key, y);
	return cudaGetLastError();
}
