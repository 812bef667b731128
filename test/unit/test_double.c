/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels in float64: products against loops on every instruction set and number of threads, and
 * exp, tanh and the logistic function against libm. */
#include <float.h>
#include <math.h>
#include <omp.h>

#include "cases.h"
#include "base/isa.h"
#include "base/mem.h"
#include "op/dense_double.h"
#include "op/lib/simd_double.h"

/* --- products --- */

static const int64_t sizes[][3] = { { 1, 1, 1 }, { 3, 5, 7 }, { 8, 24, 128 }, { 9, 25, 129 },
	{ 65, 49, 300 }, { 130, 1, 257 }, { 1, 130, 40 }, { 64, 128, 2 } };

static double *numbers(int64_t n)
{
	double *v = mem_calloc((size_t)n, sizeof *v);
	for (int64_t i = 0; i < n; i++)
		v[i] = sin((double)(i * i % 1000)) + 0.01;
	return v;
}

static void check_product(const int64_t *s, bool ta, bool tb, bool with_bias)
{
	const int64_t m = s[0], n = s[1], k = s[2];
	const struct dense_double p = { m, n, k, { ta ? 1 : k, ta ? m : 1 },
		                            { tb ? 1 : n, tb ? k : 1 } };
	double *a = numbers(m * k), *b = numbers(n * k), *bias = numbers(n);
	double *c = mem_calloc((size_t)(m * n + 1), sizeof *c), *d = numbers(m * n);
	const size_t bytes = dense_double_workspace(&p);
	double *ws = mem_alloc(bytes);
	memset(ws, 0xFF, bytes);
	memset(c, 0xFF, (size_t)(m * n) * sizeof *c);
	c[m * n] = 17;
	omp_set_num_threads(2);
	dense_double_run(&p, a, b, with_bias ? bias : NULL, c, ws);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = with_bias ? bias[j] : 0, size = fabs(sum);
			for (int64_t l = 0; l < k; l++) {
				double term = a[i * p.a_stride[0] + l * p.a_stride[1]] *
				              b[l * p.b_stride[0] + j * p.b_stride[1]];
				sum += term;
				size += fabs(term);
			}
			assert_true(fabs(c[i * n + j] - sum) <= (double)k * DBL_EPSILON * size);
		}
	assert_true(c[m * n] == 17);
	omp_set_num_threads(5);
	dense_double_run(&p, a, b, with_bias ? bias : NULL, d, ws);
	assert_memory_equal(c, d, (size_t)(m * n) * sizeof *c);
	mem_free(a);
	mem_free(b);
	mem_free(bias);
	mem_free(c);
	mem_free(d);
	mem_free(ws);
}

static void test_products(void **state)
{
	const enum isa caps[] = { isa_level(), ISA_AVX2, ISA_BASE };
	const char *before = "";
	for (size_t i = 0; i < 3; i++) {
		isa_lower(caps[i]);
		print_message("%s\n", dense_double_name());
		assert_true(caps[0] < ISA_AVX512 || strcmp(before, dense_double_name()) != 0);
		before = dense_double_name();
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
			for (int how = 0; how < 8; how++)
				check_product(sizes[s], how & 1, how & 2, how & 4);
	}
}

/* --- functions --- */

static double ulps(double got, long double want)
{
	if (fabsl(want) > DBL_MAX)
		return got == (double)want ? 0 : INFINITY;
	int e;
	frexpl(want, &e);
	double unit = ldexp(1, (e < -1021 ? -1021 : e) - 53);
	return (double)fabsl((long double)got - want) / unit;
}

static void test_functions(void **state)
{
	double most[3] = { 0 };
	for (int i = -40000; i <= 40000; i++) {
		const double x = i % 2 ? i * 0.0199 : i * 0.0003;
		const double small = ldexp(1 + fabs(x) / 800, -(i & 63));
		most[0] = fmax(most[0], ulps(simd_exp_double(x), expl(x)));
		most[0] = fmax(most[0], ulps(simd_exp_double(-small), expl(-small)));
		most[1] = fmax(most[1], ulps(simd_tanh_double(x / 10), tanhl(x / 10)));
		most[1] = fmax(most[1], ulps(simd_tanh_double(-small), tanhl(-small)));
		if (x > -700)
			most[2] = fmax(most[2], ulps(simd_sigmoid_double(x), 1 / (1 + expl(-x))));
	}
	print_message("units in the last place: exp %.2f, tanh %.2f, sigmoid %.2f\n", most[0], most[1],
	              most[2]);
	for (int i = 0; i < 3; i++)
		assert_true(most[i] <= 3);
	assert_true(simd_exp_double(INFINITY) == INFINITY && simd_exp_double(-INFINITY) == 0);
	assert_true(simd_tanh_double(INFINITY) == 1 && simd_tanh_double(-INFINITY) == -1);
	assert_true(simd_sigmoid_double(INFINITY) == 1 && simd_sigmoid_double(-INFINITY) == 0);
	assert_true(isnan(simd_exp_double(NAN)) && isnan(simd_tanh_double(NAN)));
	assert_true(simd_tanh_double(0) == 0 && signbit(simd_tanh_double(-0.0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions), cmocka_unit_test(test_products),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
