/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The spectrum of dlx-cosmo against values of the published formulas for three cosmologies
 * (computed apart, six digits), and its universes against what they must be on average. */
#include <math.h>

#include "cases.h"
#include "base/mem.h"
#include "data-tools/make/cosmo/cosmo_field.h"

static void near(double is, double wanted, double digits)
{
	if (!(fabs(is - wanted) <= fabs(wanted) * pow(10, -digits)))
		fail_msg("%.10g is not %.10g", is, wanted);
}

static const struct row {
	struct cosmology c;
	double s, k_eq, t[3], amplitude, power, growth[3];
} rows[] = {
	{ { 0.30, 0.045, 0.70, 0.96, 0.80, 2.726 }, 149.999, 0.010758,
	 { 0.78018, 0.132496, 0.0047756 }, 2.8185e6, 5425.3, { 0.77318, 0.50045, 0.31884 } },
	{ { 0.27, 0.045, 0.63, 0.864, 0.72, 2.726 }, 166.782, 0.007843,
	 { 0.73182, 0.100266, 0.0033290 }, 3.3886e6, 4659.4, { 0.78229, 0.51097, 0.32647 } },
	{ { 0.33, 0.045, 0.77, 1.056, 0.88, 2.726 }, 135.238, 0.014319,
	 { 0.81924, 0.168009, 0.0065892 }, 2.4331e6, 6037.2, { 0.76484, 0.49115, 0.31218 } },
};

static void spectrum_is_the_published_one(void **state)
{
	static const double k[] = { 0.01, 0.1, 1 }, z[] = { 0.5, 1.5, 3 };
	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct row *r = &rows[i];
		struct spectrum s;

		spectrum_init(&s, &r->c);
		near(s.s, r->s, 5);
		near(s.k_eq, r->k_eq, 4);
		near(s.amplitude, r->amplitude, 4);
		near(spectrum_power(&s, 0.1), r->power, 4);
		for (int j = 0; j < 3; j++) {
			near(spectrum_transfer(&s, k[j]), r->t[j], 4);
			near(cosmology_growth(&r->c, z[j]), r->growth[j], 4.5);
		}
	}
}

static void quantities_of_the_paper(void **state)
{
	struct spectrum s;
	(void)state;
	spectrum_init(&s, &rows[0].c);
	near(s.z_d, 1020.33, 5);
	near(s.r_d, 0.65449, 4.5);
	near(s.r_eq, 0.18900, 4.5);
	near(s.k_silk, 0.090587, 4.5);
	near(s.alpha_c, 0.77856, 4.5);
	near(s.beta_c, 1.16885, 5);
	near(s.alpha_b, 0.55457, 4.5);
	near(s.beta_node, 3.6524, 4.5);
	near(s.beta_b, 7.9912, 4.5);
	near(spectrum_transfer(&s, 1e-6), 1, 4);
	near(spectrum_power(&s, 0), 0, 1);
}

/* The variance of n counts with mean 1, and their sum and largest. */
static double variance(const int16_t *c, int64_t n, int64_t *sum, int *largest)
{
	double squares = 0;
	*sum = *largest = 0;
	for (int64_t i = 0; i < n; i++) {
		squares += (c[i] - 1.0) * (c[i] - 1.0);
		*sum += c[i];
		*largest = c[i] > *largest ? c[i] : *largest;
	}
	return squares / (double)n;
}

/* No particle is lost, power is that of the formula within what chance allows, displacements and
 * counts are as large as those of an independent program (5.0 Mpc/h along an axis, a variance of
 * 3.44 at redshift 0; 20 % for chance and the box). */
static void universe_is_as_it_must_be(void **state)
{
	const int n = 128;
	const int64_t cells = (int64_t)n * n * n;
	int16_t *counts = mem_calloc((size_t)cells, sizeof *counts);
	struct spectrum s;
	struct field *f;
	int64_t modes, sum;
	double squares = 0;
	int largest;
	(void)state;
	spectrum_init(&s, &rows[0].c);
	assert_int_equal(field_new(&f, n), 0);
	field_displace(f, &s, 256, 3, 0);
	near(field_power_ratio(f, 0.2, 0.4, &modes), 1, 1.3);
	assert_true(modes > 3000);
	near(field_power_ratio(f, 0.5, 1, &modes), 1, 1.7);
	for (int axis = 0; axis < 3; axis++)
		for (int64_t i = 0; i < cells; i++)
			squares += pow((double)field_displacement(f, axis)[i], 2);
	near(sqrt(squares / (double)(3 * cells)) * 2, 5.0, 0.7);
	assert_int_equal(field_count(f, 1, counts), 0);
	near(variance(counts, cells, &sum, &largest), 3.44, 0.7);
	assert_int_equal(sum, cells);
	assert_true(largest > 20);
	assert_int_equal(field_count(f, 0, counts), 0);
	near(variance(counts, cells, &sum, &largest), 0, 1);
	mem_free(counts);
	field_free(f);
}

/* Matter gathers where displacements point to: counts go with minus their divergence. */
static void matter_gathers(void **state)
{
	enum { N = 64, CELLS = N * N * N };
	static const int step[] = { N * N, N, 1 };
	int16_t *counts = mem_calloc(CELLS, sizeof *counts);
	double both = 0, of_counts = 0, of_density = 0;
	struct spectrum s;
	struct field *f;

	(void)state;
	spectrum_init(&s, &rows[0].c);
	assert_int_equal(field_new(&f, N), 0);
	field_displace(f, &s, 256, 1, 0);
	assert_int_equal(field_count(f, 0.6, counts), 0);
	for (int i = 0; i < CELLS; i++) {
		double density = 0;

		for (int axis = 0; axis < 3; axis++) {
			const int at = i / step[axis] % N, here = i - at * step[axis];
			const float *psi = field_displacement(f, axis);

			density -= (double)(psi[here + (at + 1) % N * step[axis]] -
			                    psi[here + (at + N - 1) % N * step[axis]]);
		}
		both += density * (counts[i] - 1);
		of_counts += (counts[i] - 1) * (counts[i] - 1);
		of_density += density * density;
	}
	assert_true(both / sqrt(of_counts * of_density) > 0.3);
	mem_free(counts);
	field_free(f);
}

static void universes_are_the_same_again(void **state)
{
	struct spectrum s;
	struct field *f, *g;
	(void)state;
	spectrum_init(&s, &rows[1].c);
	assert_int_equal(field_new(&f, 16), 0);
	assert_int_equal(field_new(&g, 16), 0);
	field_displace(f, &s, 32, 7, 5);
	field_displace(g, &s, 32, 7, 6);
	assert_memory_not_equal(field_displacement(f, 1), field_displacement(g, 1), 16 * 16 * 16 * 4);
	field_displace(g, &s, 32, 7, 5);
	assert_memory_equal(field_displacement(f, 1), field_displacement(g, 1), 16 * 16 * 16 * 4);
	field_free(f);
	field_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spectrum_is_the_published_one),
		cmocka_unit_test(quantities_of_the_paper),
		cmocka_unit_test(universe_is_as_it_must_be),
		cmocka_unit_test(matter_gathers),
		cmocka_unit_test(universes_are_the_same_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
