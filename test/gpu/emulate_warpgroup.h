/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda/warpgroup.cuh on the host. As strict as a GPU: products are made when they are waited for,
 * of what shared memory holds then, and until then the sums are NaNs. */
#ifndef DLX_TEST_GPU_EMULATE_WARPGROUP_H
#define DLX_TEST_GPU_EMULATE_WARPGROUP_H

struct operand {
	const char *at;
	int halves, eights;
};

namespace emulate {
struct product {
	operand a, b;
	void (*run)(const product &p, float *d);
};
/* What a thread has begun since it waited last. */
struct product_list {
	std::vector<product> begun;
	float *d;
	bool open;
	std::vector<float> before;   /* what d held when the first one began */
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
	emulate::products_begun().open = false;
}

template <int M> static inline void products_wait(float (&d)[M])
{
	emulate::product_list &l = emulate::products_begun();
	emulate::demand(!l.open && l.d == d, "products are waited for that are not committed");
	memcpy(d, l.before.data(), sizeof d);
	for (const emulate::product &p : l.begun)
		p.run(p, d);
	l.begun.clear();
}

template <typename T> static inline float emulate_element(operand o, int row, int k)
{
	T v;
	memcpy(&v, o.at + row / 8 * o.eights + k / 8 * o.halves + row % 8 * 16 + k % 8 * 2, sizeof v);
	return as_float(v);
}

template <typename T, int N> struct products {
	static void run(const emulate::product &p, float *d)
	{
		const int t = (int)emulate::this_thread() % WARPGROUP, row = t / 32 * 16 + t % 32 / 4;
		float a[2][16];
		for (int i = 0; i < 32; i++)
			a[i / 16][i % 16] = emulate_element<T>(p.a, row + i / 16 * 8, i % 16);
		for (int j = 0; j < N / 8; j++)
			for (int q = 0; q < 2; q++) {
				float sum[2] = { 0 };
				for (int k = 0; k < 16; k++) {
					const float b = emulate_element<T>(p.b, 8 * j + t % 4 * 2 + q, k);
					sum[0] += a[0][k] * b;
					sum[1] += a[1][k] * b;
				}
				d[4 * j + q] += sum[0];
				d[4 * j + 2 + q] += sum[1];
			}
	}

	static void add(float (&d)[N / 2], operand a, operand b)
	{
		emulate::product_list &l = emulate::products_begun();
		emulate::demand(l.open, "a product outside of products_begin and products_commit");
		if (l.begun.empty()) {
			l.d = d;
			l.before.assign(d, d + N / 2);
			memset(d, 0xff, sizeof d);
		}
		l.begun.push_back({ a, b, run });
	}
};

#endif
