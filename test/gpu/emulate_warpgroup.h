/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda/warpgroup.cuh on the host. As strict as a GPU: products are made when they are waited for,
 * of what shared memory holds then, and until then the sums are NaNs. */
#ifndef DLX_TEST_GPU_EMULATE_WARPGROUP_H
#define DLX_TEST_GPU_EMULATE_WARPGROUP_H

#include <map>

struct operand {
	const char *at;
	int halves, eights;
};

namespace emulate {
struct product {
	operand a, b;
	float pixel[2][16];          /* in place of a: this thread's two rows */
	float *d;
	int n;                       /* numbers of d */
	bool last;                   /* of its group */
	void (*run)(const product &p, float *d);
};
/* What a thread has begun and not waited for; what sums held before, by their place. */
struct product_list {
	std::vector<product> begun;
	bool open;
	std::map<float *, std::vector<float>> before;
};
static inline product_list &products_begun()
{
	static product_list room[1024];
	return room[this_thread()];
}
}

static inline operand operand_at(const void *p, int halves, int eights)
{
	emulate::demand((uintptr_t)p % 16 == 0 && halves % 16 == 0 && eights % 16 == 0,
	                "an operand of a warpgroup is not aligned to 16 bytes");
	emulate::demand(halves >> 4 < 1 << 14 && eights >> 4 < 1 << 14 && halves > 0 && eights > 0,
	                "parts of an operand are too far apart");
	return operand{ (const char *)p, halves, eights };
}

static inline operand operand_behind(operand o, int bytes)
{
	return operand_at(o.at + bytes, o.halves, o.eights);
}

static inline void show_to_products() {}

static inline void group_barrier(int which)
{
	emulate::demand(which == (int)emulate::this_thread() / WARPGROUP,
	                "the barrier of another warpgroup");
	emulate::sync_group();
}

static inline void products_begin()
{
	emulate::products_begun().open = true;
}

static inline void products_commit()
{
	emulate::product_list &l = emulate::products_begun();
	emulate::demand(l.open && !l.begun.empty(), "a group of no products");
	l.begun.back().last = true;
	l.open = false;
}

namespace emulate {
/* Sums are NaNs from the first product that adds to them until all are made. */
static inline void begin_product(product p)
{
	product_list &l = products_begun();
	demand(l.open, "a product outside of products_begin and products_commit");
	if (!l.before.count(p.d)) {
		l.before[p.d].assign(p.d, p.d + p.n);
		memset(p.d, 0xff, sizeof *p.d * (size_t)p.n);
	}
	l.begun.push_back(p);
}
static inline void finish_products(int left)
{
	product_list &l = products_begun();
	int groups = 0;
	size_t done = 0;
	demand(!l.open, "products are waited for that are not committed");
	for (const product &p : l.begun)
		groups += p.last;
	for (; groups > left; done++) {
		const product &p = l.begun[done];
		p.run(p, l.before[p.d].data());
		groups -= p.last;
	}
	l.begun.erase(l.begun.begin(), l.begun.begin() + (ptrdiff_t)done);
	if (!l.begun.empty())
		return;
	for (const auto &b : l.before)
		memcpy(b.first, b.second.data(), sizeof *b.first * b.second.size());
	l.before.clear();
}
}

template <int LEFT> static inline void products_wait_but()
{
	emulate::finish_products(LEFT);
}

template <int M> static inline void products_wait(float (&)[M])
{
	emulate::finish_products(0);
}

template <typename T> static inline float emulate_element(operand o, int row, int k)
{
	T v;
	memcpy(&v, o.at + row / 8 * o.eights + k / 8 * o.halves + row % 8 * 16 + k % 8 * 2, sizeof v);
	return as_float(v);
}

/* d += two rows of a times b, of this thread's columns. */
template <typename T> static inline void emulate_rows(const float (&a)[2][16], operand b, int n,
                                                      float *d)
{
	for (int j = 0; j < n / 8; j++)
		for (int q = 0; q < 2; q++) {
			float sum[2] = { 0 };
			for (int k = 0; k < 16; k++) {
				const float v = emulate_element<T>(b, 8 * j + emulate::lane() % 4 * 2 + q, k);
				sum[0] += a[0][k] * v;
				sum[1] += a[1][k] * v;
			}
			d[4 * j + q] += sum[0];
			d[4 * j + 2 + q] += sum[1];
		}
}

template <typename T, int N> struct products {
	static void run(const emulate::product &p, float *d)
	{
		const int t = (int)emulate::this_thread() % WARPGROUP, row = t / 32 * 16 + t % 32 / 4;
		float a[2][16];
		for (int i = 0; i < 32; i++)
			a[i / 16][i % 16] = emulate_element<T>(p.a, row + i / 16 * 8, i % 16);
		emulate_rows<T>(a, p.b, N, d);
	}

	static void add(float (&d)[N / 2], operand a, operand b)
	{
		emulate::begin_product({ a, b, { { 0 } }, d, N / 2, false, run });
	}
};

template <typename T> struct products_from {
	static void run(const emulate::product &p, float *d)
	{
		emulate_rows<T>(p.pixel, p.b, 32, d);
	}

	static void add(float (&d)[16], const uint32_t (&a)[4], operand b)
	{
		emulate::product p = { b, b, { { 0 } }, d, 16, false, run };
		emulate::shown *w = emulate::of_warp();
		emulate_halves<T>(w[emulate::lane()].a, a, 4);
		__syncwarp();
		for (int k = 0; k < 16; k++)
			for (int h = 0; h < 2; h++)
				p.pixel[h][k] = w[emulate::lane() / 4 * 4 + k % 8 / 2].a[k / 8 * 4 + 2 * h + k % 2];
		emulate::begin_product(p);
		__syncwarp();
	}
};

#endif
