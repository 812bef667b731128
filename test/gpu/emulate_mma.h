/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda/mma.cuh on the host, by plain loops over the layouts of registers. As strict as a GPU:
 * copies arrive when they are waited for, and until then their place holds NaNs; rows of matrices
 * and both sides of copies have to be aligned. */
#ifndef DLX_TEST_GPU_EMULATE_MMA_H
#define DLX_TEST_GPU_EMULATE_MMA_H

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace emulate {
/* What the lanes of a warp show each other: one block runs at a time. It can be read until the
 * lanes have met once more. */
struct shown {
	const char *row;
	float a[8], b[4];            /* element `half` of register i: 2 i + half */
};
static inline unsigned this_thread()
{
	const uint3 t = at.thread;
	return (t.z * at.block_size.y + t.y) * at.block_size.x + t.x;
}
static inline shown *of_warp()
{
	static shown room[2][1024];
	return room[turn()] + this_thread() / 32 * 32;
}
static inline void demand(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "error: emulated kernel: %s\n", what);
	abort();
}

struct copy {
	void *to;
	const void *from;
	int bytes;
	bool there, last;            /* last: of its group */
};
static inline std::vector<copy> &copies()
{
	static std::vector<copy> room[1024];
	return room[this_thread()];
}
}

static inline void emulate_matrices(uint32_t (&r)[4], const void *row, bool transposed)
{
	emulate::demand((uintptr_t)row % 16 == 0, "a row of a matrix is not aligned to 16 bytes");
	emulate::shown *w = emulate::of_warp();
	const int g = emulate::lane() / 4, t = emulate::lane() % 4;
	w[emulate::lane()].row = (const char *)row;
	__syncwarp();
	for (int i = 0; i < 4; i++)
		for (int half = 0; half < 2; half++) {
			const int down = transposed ? 2 * t + half : g, along = transposed ? g : 2 * t + half;
			memcpy((char *)&r[i] + 2 * half, w[8 * i + down].row + 2 * along, 2);
		}
	__syncwarp();
}

static inline void load_matrices(uint32_t (&r)[4], const void *row)
{
	emulate_matrices(r, row, false);
}

static inline void load_transposed(uint32_t (&r)[4], const void *row)
{
	emulate_matrices(r, row, true);
}

template <typename T> static inline void emulate_halves(float *to, const uint32_t *pairs, int n)
{
	T v[2];
	for (int i = 0; i < n; i++) {
		memcpy(v, &pairs[i], sizeof v);
		to[2 * i] = as_float(v[0]);
		to[2 * i + 1] = as_float(v[1]);
	}
}

template <typename T> static inline void multiply_add(float (&d)[4], const uint32_t (&a)[4],
                                                      uint32_t b0, uint32_t b1)
{
	emulate::shown *w = emulate::of_warp(), *mine = w + emulate::lane();
	const int g = emulate::lane() / 4, t = emulate::lane() % 4;
	const uint32_t b[2] = { b0, b1 };
	emulate_halves<T>(mine->a, a, 4);
	emulate_halves<T>(mine->b, b, 2);
	__syncwarp();
	float sum[4] = { 0 };
	for (int k = 0; k < 16; k++) {
		const float *const of_a = w[4 * g + k % 8 / 2].a + k / 8 * 4 + k % 2;
		const emulate::shown *const of_b = w + 8 * t + k % 8 / 2;
		for (int i = 0; i < 4; i++)
			sum[i] += of_a[i / 2 * 2] * of_b[i % 2 * 4].b[k / 8 * 2 + k % 2];
	}
	for (int i = 0; i < 4; i++)
		d[i] += sum[i];
}

template <int BYTES> static inline void copy_async(void *to, const void *from, bool there)
{
	emulate::demand((uintptr_t)to % BYTES == 0 && (!there || (uintptr_t)from % BYTES == 0),
	                "a copy to shared memory is not aligned");
	memset(to, 0xff, BYTES);
	emulate::copies().push_back({ to, from, BYTES, there, false });
}

static inline void copies_commit()
{
	std::vector<emulate::copy> &c = emulate::copies();
	/* a group of nothing is one, too */
	if (c.empty() || c.back().last)
		c.push_back({ NULL, NULL, 0, false, false });
	c.back().last = true;
}

template <int LEFT> static inline void copies_wait()
{
	std::vector<emulate::copy> &c = emulate::copies();
	int groups = 0;
	for (const emulate::copy &e : c)
		groups += e.last;
	size_t done = 0;
	for (; done < c.size() && groups > LEFT; done++) {
		const emulate::copy &e = c[done];
		if (e.bytes && e.there)
			memcpy(e.to, e.from, (size_t)e.bytes);
		else if (e.bytes)
			memset(e.to, 0, (size_t)e.bytes);
		groups -= e.last;
	}
	c.erase(c.begin(), c.begin() + (ptrdiff_t)done);
}

template <typename V> static inline void keep(V &) {}

static inline void prefetch(const void *at)
{
	emulate::demand(emulate::is_in(at, 1, emulate::ON_DEVICE), "a prefetch of no memory");
}

#endif
