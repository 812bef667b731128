/* SPDX-License-Identifier: BSD-3-Clause
 *
 * half.h over all 65536 values of both formats, against their definition in arithmetic. */
#include <math.h>

#include "cases.h"
#include "base/half.h"

/* The value of bits with e exponent and f fraction bits. */
static double value_of(unsigned bits, int e, int f)
{
	int bias = (1 << (e - 1)) - 1;
	int exp = (int)(bits >> f & ((1u << e) - 1));
	double frac = bits & ((1u << f) - 1), sign = bits >> 15 ? -1 : 1;
	if (exp == (1 << e) - 1)
		return frac ? NAN : sign * INFINITY;
	if (exp == 0)
		return sign * ldexp(frac, 1 - bias - f);
	return sign * ldexp(frac + (1 << f), exp - bias - f);
}

static void check_all(int e, int f, float (*to)(uint16_t), uint16_t (*from)(float))
{
	for (unsigned h = 0; h < 65536; h++) {
		double want = value_of(h, e, f);
		float got = to((uint16_t)h);
		if (isnan(want)) {
			assert_true(isnan(got));
			assert_true(isnan(to(from(got))));
			continue;
		}
		assert_true(got == want && !signbit(got) == !signbit(want));
		assert_int_equal(from(got), h);
	}
}

/* Between each value and the next larger one: the middle goes to the even one, its neighbours to
 * the nearer. */
static void check_middles(int e, int f, float (*to)(uint16_t), uint16_t (*from)(float))
{
	unsigned infinity = ((1u << e) - 1) << f;
	for (unsigned h = 0; h < infinity; h++) {
		double lo = to((uint16_t)h), up = value_of(h, e, f) - (h ? value_of(h - 1, e, f) : 0);
		double hi = h + 1 < infinity ? to((uint16_t)(h + 1)) : lo + up;
		float mid = (float)((lo + hi) / 2);
		unsigned even = h & 1 ? h + 1 : h;
		if ((double)mid != (lo + hi) / 2)
			continue;   /* bfloat16's smallest: the middle is no float */
		assert_int_equal(from(mid), even);
		assert_int_equal(from(-mid), even | 0x8000);
		assert_int_equal(from(nextafterf(mid, 0)), h);
		assert_int_equal(from(nextafterf(mid, INFINITY)), h + 1);
	}
}

static void half(void **state)
{
	check_all(5, 10, half_to_float, half_from_float);
	check_middles(5, 10, half_to_float, half_from_float);
	assert_int_equal(half_from_float(65519.996f), 0x7BFF);
	assert_int_equal(half_from_float(65520.0f), 0x7C00);
	assert_int_equal(half_from_float(1e30f), 0x7C00);
	assert_int_equal(half_from_float(-1e-30f), 0x8000);
}

static void bfloat(void **state)
{
	check_all(8, 7, bfloat_to_float, bfloat_from_float);
	check_middles(8, 7, bfloat_to_float, bfloat_from_float);
	assert_int_equal(bfloat_from_float(3.4028235e38f), 0x7F80);
}

/* Every upper half of a float with lower halves around the ties of both formats. */
static void check_many(float (*to)(uint16_t), uint16_t (*from)(float),
                       void (*to_many)(float *, const uint16_t *, int64_t),
                       void (*from_many)(uint16_t *, const float *, int64_t))
{
	static const uint16_t low[] = { 0, 1, 0xFFF, 0x1000, 0x1001, 0x3000, 0x7FFF, 0x8000, 0x8001,
		0xFFFF };
	static float f[65536], back[65536];
	static uint16_t h[65536];
	for (size_t k = 0; k < sizeof low / sizeof *low; k++) {
		for (uint32_t i = 0; i < 65536; i++) {
			uint32_t u = i << 16 | low[k];
			memcpy(&f[i], &u, sizeof u);
		}
		from_many(h, f, 65536);
		to_many(back, h, 65536);
		for (uint32_t i = 0; i < 65536; i++) {
			float one = to(h[i]);
			assert_int_equal(h[i], from(f[i]));
			assert_memory_equal(&back[i], &one, sizeof one);
		}
	}
}

static void many_at_once(void **state)
{
	check_many(bfloat_to_float, bfloat_from_float, bfloat_to_floats, bfloat_from_floats);
	check_many(half_to_float, half_from_float, half_to_floats, half_from_floats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half), cmocka_unit_test(bfloat), cmocka_unit_test(many_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
