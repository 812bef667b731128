/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rng.h: the published known answers of Philox4x32-10 (Random123's kat_vectors), and that what is
 * built on it is uniform, normal, a permutation, and different for every argument. hash.h: XXH3's
 * published empty hash, and running hashes equal whole ones. */
#include <math.h>

#include "cases.h"
#include "base/hash.h"
#include "base/rng.h"

static void known_answers(void **state)
{
	static const struct {
		uint32_t counter[4], key[2], out[4];
	} kat[] = {
		{ { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
		{ { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, { 0xffffffff, 0xffffffff },
		  { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
		{ { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
		  { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
	};

	for (size_t i = 0; i < sizeof kat / sizeof kat[0]; i++) {
		uint32_t out[4];
		rng_philox(kat[i].key, kat[i].counter, out);
		assert_memory_equal(out, kat[i].out, sizeof out);
	}
}

static void words_come_from_blocks(void **state)
{
	for (uint64_t i = 0; i < 64; i++) {
		uint32_t w[4];
		rng_block(1, 2, 3, i / 4, w);
		assert_int_equal(rng_u32(1, 2, 3, i), w[i % 4]);
	}
}

/* Any number of blocks, over the carry from the low to the high half of the counter too. */
static void many_blocks(void **state)
{
	const uint64_t first[] = { 0, 5, 0xFFFFFFF8, 0xFFFFFFFFFFFFFFF0 };
	for (int k = 0; k < 4; k++)
		for (int n = 0; n < 50; n++) {
			uint32_t w[4 * 50 + 1], one[4];
			w[4 * n] = 12345;
			rng_blocks(1, 2, (uint64_t)7 << 32, first[k], n, w);
			assert_int_equal(w[4 * n], 12345);
			for (int i = 0; i < n; i++) {
				rng_block(1, 2, (uint64_t)7 << 32, first[k] + (uint64_t)i, one);
				assert_memory_equal(w + 4 * i, one, sizeof one);
			}
		}
}

/* Each argument, its high half too, changes the words. */
static void every_argument_counts(void **state)
{
	uint64_t arg[4] = { 1, 2, 3, 4 };
	uint32_t base[4], w[4];
	rng_block(1, 2, 3, 4, base);
	for (int i = 0; i < 4; i++) {
		for (int bit = 0; bit < 64; bit++) {
			arg[i] ^= (uint64_t)1 << bit;
			rng_block(arg[0], arg[1], arg[2], arg[3], w);
			assert_memory_not_equal(w, base, sizeof w);
			arg[i] ^= (uint64_t)1 << bit;
		}
	}
}

static void uniform(void **state)
{
	int n = 40000, bin[16] = { 0 };
	double chi = 0;
	for (int i = 0; i < n; i++) {
		double u = rng_uniform(7, 8, 9, (uint64_t)i);
		assert_true(u >= 0 && u < 1);
		bin[(int)(u * 16)]++;
	}
	for (int i = 0; i < 16; i++)
		chi += pow(bin[i] - n / 16.0, 2) / (n / 16.0);
	assert_true(chi < 40);   /* 15 degrees of freedom: once in 2000 seeds */
}

static void normal(void **state)
{
	int n = 40000;
	double m1 = 0, m2 = 0, m3 = 0, m4 = 0, pairs = 0;
	for (int i = 0; i < n; i++) {
		double z = rng_normal(7, 8, 9, (uint64_t)i);
		m1 += z;
		m2 += z * z;
		m3 += z * z * z;
		m4 += z * z * z * z;
		pairs += z * rng_normal(7, 8, 9, (uint64_t)i ^ 1);
	}
	assert_true(fabs(m1 / n) < 0.02);
	assert_true(fabs(m2 / n - 1) < 0.03);
	assert_true(fabs(m3 / n) < 0.06);
	assert_true(fabs(m4 / n - 3) < 0.15);
	assert_true(fabs(pairs / n) < 0.03);
}

/* As the library's logarithm, sine and cosine say. */
static void normal_of_uniforms(void **state)
{
	for (uint64_t i = 0; i < 20000; i++) {
		double radius = sqrt(-2 * log(1 - rng_uniform(1, 2, 3, 2 * i)));
		double angle = 2 * M_PI * rng_uniform(1, 2, 3, 2 * i + 1);
		assert_true(fabs(rng_normal(1, 2, 3, 2 * i) - radius * cos(angle)) < 1e-14);
		assert_true(fabs(rng_normal(1, 2, 3, 2 * i + 1) - radius * sin(angle)) < 1e-14);
	}
}

/* Same bits one by one and many at a time. */
static void many_values(void **state)
{
	static const int64_t counts[] = { 0, 1, 2, 255, 256, 257, 1000, 4001 };
	double v[4002];
	for (int k = 0; k < 8; k++) {
		int64_t n = counts[k];
		v[n] = 5;
		for (int64_t first = 0; first < 1000; first = 3 * first + 2) {
			rng_normals(1, 2, 3, first, n, v);
			for (int64_t i = 0; i < n; i++)
				assert_true(v[i] == rng_normal(1, 2, 3, (uint64_t)(first + i)));
			rng_uniforms(1, 2, 3, first, n, v);
			for (int64_t i = 0; i < n; i++)
				assert_true(v[i] == rng_uniform(1, 2, 3, (uint64_t)(first + i)));
			assert_true(v[n] == 5);
		}
	}
}

static void permutation(void **state)
{
	int64_t sizes[] = { 0, 1, 2, 1000 }, p[1000], q[1000];
	int count[3][3] = { { 0 } };
	for (int s = 0; s < 4; s++) {
		char seen[1000] = { 0 };
		rng_permutation(1, 2, 3, sizes[s], p);
		for (int64_t i = 0; i < sizes[s]; i++) {
			assert_in_range(p[i], 0, sizes[s] - 1);
			assert_false(seen[p[i]]++);
		}
	}
	rng_permutation(1, 2, 4, 1000, q);
	assert_memory_not_equal(p, q, sizeof p);
	for (uint64_t step = 0; step < 9000; step++) {
		rng_permutation(5, 6, step, 3, p);
		for (int i = 0; i < 3; i++)
			count[i][p[i]]++;
	}
	for (int i = 0; i < 9; i++)
		assert_in_range(count[i / 3][i % 3], 2800, 3200);
}

static void hashes(void **state)
{
	static const char text[] = "the quick brown fox jumps over the lazy dog";
	char big[5000];
	struct hash_state *h = hash_new();
	assert_true(hash_bytes("", 0, 0) == 0x2D06800538D394C2);   /* XXH3_64bits of nothing */
	assert_true(hash_bytes(NULL, 0, 0) == 0x2D06800538D394C2);
	assert_true(hash_name(text) == hash_bytes(text, strlen(text), 0));
	assert_true(hash_bytes(text, 10, 1) != hash_bytes(text, 10, 0));
	assert_true(hash_value(h) == hash_bytes("", 0, 0));
	for (size_t i = 0; i < sizeof big; i++)
		big[i] = (char)(i * 31);
	for (size_t i = 0, n = 0; i < sizeof big; i += n) {
		n = i % 300 + 1 < sizeof big - i ? i % 300 + 1 : sizeof big - i;
		hash_update(h, big + i, n);
	}
	hash_update(h, NULL, 0);
	assert_true(hash_value(h) == hash_bytes(big, sizeof big, 0));
	hash_free(h);
	hash_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(words_come_from_blocks),
		cmocka_unit_test(many_blocks),
		cmocka_unit_test(every_argument_counts),
		cmocka_unit_test(uniform),
		cmocka_unit_test(normal),
		cmocka_unit_test(normal_of_uniforms),
		cmocka_unit_test(many_values),
		cmocka_unit_test(permutation),
		cmocka_unit_test(hashes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
