/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The numerics of dlx-field: factors of covariances against the formulas, orders of convergence on
 * manufactured solutions, what the systems of equations must be, and sensors on polynomials.
 * (test/cli/field.sh compares what the program writes with NumPy.) */
#include <math.h>

#include "cases.h"
#include "base/mem.h"
#include "data-tools/make/field/field_allen_cahn.h"
#include "data-tools/make/field/field_darcy.h"
#include "data-tools/make/field/field_gauss.h"
#include "data-tools/make/field/field_line.h"

#define PI 3.14159265358979323846

static void near(double is, double wanted, double by, const char *what)
{
	if (!(fabs(is - wanted) <= by))
		fail_msg("%s: %.15g is not %.15g to %g", what, is, wanted, by);
}

/* --- random fields --- */

/* nu = 1/2, 3/2 and 5/2 of Matern's family at d = l, and Gauss. */
static void correlations(void **state)
{
	static const double at_length[] = { 0.36787944117144233, 0.36787944117144233,
		0.48335772459651, 0.52399410883182 };
	(void)state;
	for (int k = 0; k < 4; k++) {
		near(field_correlation((enum field_kernel)k, 0), 1, 0, "at no distance");
		near(field_correlation((enum field_kernel)k, -1), at_length[k], 1e-13, "at the length");
	}
	assert_int_equal(field_kernel_find("matern-5/2"), KERNEL_MATERN_5);
}

static void check_factor(const struct field_gauss *field, int axis, enum field_kernel kernel,
                         double length)
{
	const struct field_factor *f = &field->scale[0].factor[axis];
	assert_true(f->rank <= f->n && (kernel || f->rank < f->n));
	for (int64_t i = 0; i < f->n * f->n; i++) {
		const int64_t a = i / f->n, b = i % f->n;
		const double d = field_at(field->grid, axis, a) - field_at(field->grid, axis, b);
		double sum = 0;

		for (int64_t j = 0; j < f->rank; j++)
			sum += f->l[j * f->n + a] * f->l[j * f->n + b];
		near(sum, field_correlation(kernel, d / length), 1e-12, "L L^T");
	}
}

static void factors_have_the_covariance(void **state)
{
	const struct field_grid line = { .axes = 1, .n = { 61, 1 }, .lo = { -1 }, .hi = { 1 } };
	const struct field_grid plane = { .axes = 2, .n = { 61, 40 }, .lo = { -1 }, .hi = { 1, 3 } };
	const struct field_scale scale = { 1, { 0.4, 0.7 } };
	struct field_gauss field;
	(void)state;
	for (int kernel = 0; kernel < 4; kernel++) {
		field_gauss_init(&field, "test", &line, (enum field_kernel)kernel, 1, &scale);
		check_factor(&field, 0, (enum field_kernel)kernel, 0.4);
		field_gauss_release(&field);
	}
	field_gauss_init(&field, "test", &plane, KERNEL_SQUARED_EXPONENTIAL, 1, &scale);
	check_factor(&field, 0, KERNEL_SQUARED_EXPONENTIAL, 0.4);
	check_factor(&field, 1, KERNEL_SQUARED_EXPONENTIAL, 0.7);
	field_gauss_release(&field);
}

/* What eigenvalues make of points (dx, dy) apart. */
static double on_torus(const struct field_torus *t, int64_t dx, int64_t dy)
{
	double sum = 0;
	for (int64_t y = 0; y < t->n[1]; y++)
		for (int64_t x = 0; x < t->n[0]; x++) {
			const double root = t->root[y * t->n[0] + x];

			sum += root * root * cos(2 * PI * ((double)(x * dx) / (double)t->n[0] +
			                                   (double)(y * dy) / (double)t->n[1]));
		}
	return sum;
}

static void torus_has_the_covariance(void **state)
{
	const struct field_grid g = { .axes = 2, .n = { 12, 7 }, .hi = { 1, 2 } };
	struct field_scale scale = { 1, { 0.1, 0.3 } };
	struct field_gauss field;
	(void)state;
	for (int kernel = 1; kernel < 4; kernel++) {
		field_gauss_init(&field, "test", &g, (enum field_kernel)kernel, 1, &scale);
		assert_true(field.scale[0].torus.clipped == 0);
		for (int64_t i = 0; i < 12 * 7; i++) {
			const int64_t x = i % 12, y = i / 12;
			const double d = hypot((double)x / 11 / 0.1, (double)y / 3 / 0.3);

			near(on_torus(&field.scale[0].torus, x, y),
			     field_correlation((enum field_kernel)kernel, d), 1e-11, "torus");
		}
		field_gauss_release(&field);
	}
	/* A length beyond any torus: what is clipped is said, and the variance is kept. */
	scale = (struct field_scale){ 1, { 50, 50 } };
	field_gauss_init(&field, "test", &g, KERNEL_MATERN_5, 1, &scale);
	assert_true(field.scale[0].torus.clipped > 1e-6 && field.scale[0].torus.n[0] == 8 * 32);
	near(on_torus(&field.scale[0].torus, 0, 0), 1, 1e-12, "variance");
	field_gauss_release(&field);
}

/* Of two scales, over 20,000 realizations: a covariance's standard error is 0.02 at most. */
static void realizations_have_the_covariance(void **state)
{
	enum { POINTS = 6, MANY = 20000 };
	const struct field_grid g = { .axes = 2, .n = { 3, 2 }, .hi = { 1, 1 } };
	const struct field_scale scale[] = { { 1, { 2, 0.5 } }, { 0.25, { 0.4, 0.4 } } };
	double sum[POINTS * POINTS] = { 0 }, v[POINTS];
	struct field_gauss field;
	(void)state;
	field_gauss_init(&field, "test", &g, KERNEL_SQUARED_EXPONENTIAL, 2, scale);
	double *scratch = mem_calloc((size_t)field_gauss_scratch(&field), sizeof *scratch);
	for (int64_t n = 0; n < MANY; n++) {
		field_gauss_draw(&field, 1, n, scratch, v);
		for (int i = 0; i < POINTS * POINTS; i++)
			sum[i] += v[i / POINTS] * v[i % POINTS] / MANY;
	}
	for (int i = 0; i < POINTS * POINTS; i++) {
		const int a = i / POINTS, b = i % POINTS;
		const double dx = (a % 3 - b % 3) * 0.5, dy = a / 3 - b / 3;

		near(sum[i], exp(-dx * dx / 4 - dy * dy / 0.25) +
		     0.25 * exp(-(dx * dx + dy * dy) / 0.16), 0.06, "covariance");
	}
	mem_free(scratch);
	field_gauss_release(&field);
}

/* --- sensors --- */

static double polynomial(double x, double y, int degree)
{
	return degree == 1 ? 1 + 2 * x - 3 * y + 4 * x * y : 1 + x * (2 - x * (1 - 3 * x));
}

static void sensors_are_exact_on_polynomials(void **state)
{
	const struct field_grid line = { .axes = 1, .n = { 9, 1 }, .lo = { -1 }, .hi = { 1 } };
	const struct field_grid plane = { .axes = 2, .n = { 5, 7 }, .hi = { 1, 1 }, .cells = true };
	double v[35];
	struct field_sensors s = { 0 };
	(void)state;
	for (int i = 0; i < 9; i++)
		v[i] = polynomial(field_at(&line, 0, i), 0, 3);
	assert_int_equal(field_sensors_read(&s, "s", "@-1,-0.99,0.1,0.97,1", &line), 0);
	for (int64_t k = 0; k < s.n; k++)
		near(field_sensors_value(&s, k, &line, 4, v), polynomial(s.at[0][k], 0, 3), 1e-13, "line");
	field_sensors_release(&s);
	for (int i = 0; i < 35; i++)
		v[i] = polynomial(field_at(&plane, 0, i % 5), field_at(&plane, 1, i / 5), 1);
	assert_int_equal(field_sensors_read(&s, "s", "3", &plane), 0);
	assert_int_equal(s.n, 9);
	near(s.at[0][5], 1, 0, "x of place 5");
	near(s.at[1][5], 0.5, 0, "y of place 5");
	for (int64_t k = 0; k < s.n; k++)
		near(field_sensors_value(&s, k, &plane, 2, v), polynomial(s.at[0][k], s.at[1][k], 1), 1e-13,
		     "plane");
	field_sensors_release(&s);
	assert_int_equal(field_sensors_read(&s, "s", "1", &line), 0);
	near(s.at[0][0], 0, 0, "one place");
	field_sensors_release(&s);
}

/* --- equations --- */

/* k = exp(x), u = (1 - x^2) exp(x): the error with n points. */
static double line_error(int64_t n)
{
	double *v = mem_calloc((size_t)(5 * n), sizeof *v), *k = v + n, *f = v + 2 * n, most = 0;
	const double step = 2.0 / (double)(n - 1);
	for (int64_t i = 0; i < n; i++) {
		const double x = -1 + step * (double)i;

		k[i] = exp(x);
		f[i] = 0.1 * exp(2 * x) * (2 * x * x + 6 * x);
	}
	field_line_solve(n, step, 0.1, k, f, v + 3 * n, v);
	for (int64_t i = 0; i < n; i++) {
		const double x = -1 + step * (double)i;

		most = fmax(most, fabs(v[i] - (1 - x * x) * exp(x)));
	}
	mem_free(v);
	return most;
}

static void line_is_of_fourth_order(void **state)
{
	(void)state;
	const double coarse = line_error(41), fine = line_error(81);
	if (!(fine < 3e-6 && fine > 1e-14 && coarse / fine > 13))
		fail_msg("%g with 41 points, %g with 81", coarse, fine);
}

/* k = 1 + x + y / 2, u = 1 / 2 + sin(pi x / 2) cos(pi y / 2) + x (1 - y), which is 1 / 2 at x = 0
 * and y = 1. The fluxes at x = 1 and y = 0 differ along these sides: of their cells, f has what
 * they are more than a constant. */
static double flow_error(int64_t n, struct darcy *d, double *memory)
{
	const size_t cells = (size_t)(n * n);
	double *k = memory, *f = memory + cells, *u = memory + 2 * cells, most = 0;
	*d = (struct darcy){ .n = n, .edge = { [DARCY_LEFT] = { false, 0.5 },
		[DARCY_RIGHT] = { true, 1.5 }, [DARCY_BOTTOM] = { true, -2 },
		[DARCY_TOP] = { false, 0.5 } } };
	darcy_init(d);
	for (size_t i = 0; i < cells; i++) {
		const double x = ((double)(i % (size_t)n) + 0.5) / (double)n;
		const double y = ((double)(i / (size_t)n) + 0.5) / (double)n;
		const double s = sin(PI * x / 2), c = cos(PI * y / 2);
		const double ux = PI / 2 * cos(PI * x / 2) * c + 1 - y;
		const double uy = -PI / 2 * s * sin(PI * y / 2) - x;

		k[i] = 1 + x + y / 2;
		f[i] = -ux - uy / 2 + k[i] * PI * PI / 2 * s * c;
		if (i % (size_t)n == (size_t)n - 1)
			f[i] += (double)n * ((2 + y / 2) * (1 - y) - 1.5);
		if (i < (size_t)n)
			f[i] += (double)n * ((1 + x) * x + 2);
	}
	assert_int_equal(darcy_solve(d, k, f, u), 0);
	for (size_t i = 0; i < cells; i++) {
		const double x = ((double)(i % (size_t)n) + 0.5) / (double)n;
		const double y = ((double)(i / (size_t)n) + 0.5) / (double)n;

		most = fmax(most, fabs(u[i] - 0.5 - sin(PI * x / 2) * cos(PI * y / 2) - x * (1 - y)));
	}
	return most;
}

static void flow_is_of_second_order(void **state)
{
	double *memory = mem_calloc(3 * 64 * 64, sizeof *memory);
	struct darcy d;
	(void)state;
	const double coarse = flow_error(32, &d, memory);
	darcy_release(&d);
	const double fine = flow_error(64, &d, memory);
	darcy_release(&d);
	if (!(fine < 1e-3 && coarse / fine > 3.5))
		fail_msg("%g with 32 cells, %g with 64", coarse, fine);
	mem_free(memory);
}

static double product(const double *a, const double *b, int64_t n)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* k of a contrast of 1e4, f = 1, u = 0 around: the residual, and A v w = v A w. */
static void flow_solves_a_symmetric_system(void **state)
{
	enum { N = 33, CELLS = N * N };
	double *memory = mem_calloc(5 * CELLS, sizeof *memory), *k = memory, *f = memory + CELLS,
	       *u = memory + 2 * CELLS, *a = memory + 3 * CELLS, *b = memory + 4 * CELLS;
	struct darcy d = { .n = N };
	(void)state;
	for (int i = 0; i < CELLS; i++) {
		k[i] = i % 7 < 3 ? 1e-2 : i % 5 ? 1 : 1e2;
		f[i] = 1;
	}
	darcy_init(&d);
	assert_int_equal(darcy_solve(&d, k, f, u), 0);
	darcy_apply(&d, u, a);
	for (int i = 0; i < CELLS; i++)
		near(a[i] * N * N, 1, 1e-8, "a residual");
	for (int i = 0; i < CELLS; i++)
		f[i] = sin(i * 1.7);
	darcy_apply(&d, f, b);
	near(product(u, b, CELLS), product(a, f, CELLS), 1e-10, "A v w - v A w");
	assert_true(product(f, b, CELLS) > 0);
	darcy_release(&d);
	mem_free(memory);
}

/* Without a reaction all is a series: of v = x^2 cos(pi x) + 1, here by Simpson's rule. */
static void diffusion_alone_is_known(void **state)
{
	enum { X = 41, CELLS = 4000 };
	const struct allen_cahn a = { .diffusion = 0.3, .rate = 0, .modes = 128, .steps = 10 };
	double u[3 * X], wanted[X];
	(void)state;
	assert_int_equal(allen_cahn_solve(&a, X, 3, 1, u), 0);
	for (int i = 0; i < X; i++)
		wanted[i] = -1;
	for (int j = 0; j < 40; j++) {
		const double wave = (j + 0.5) * PI;
		double sum = 0;

		for (int i = 0; i <= CELLS; i++) {
			const double x = (double)i / CELLS;

			sum += (i == 0 || i == CELLS ? 1 : i % 2 ? 4 : 2) * (x * x * cos(PI * x) + 1) *
				cos(wave * x) / (3 * CELLS);
		}
		for (int i = 0; i < X; i++)
			wanted[i] += 2 * sum * exp(-a.diffusion * wave * wave) *
				cos(wave * (-1 + i * 2.0 / (X - 1)));
	}
	for (int i = 0; i < X; i++)
		near(u[2 * X + i], wanted[i], 1e-8, "diffusion");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(correlations),
		cmocka_unit_test(factors_have_the_covariance),
		cmocka_unit_test(torus_has_the_covariance),
		cmocka_unit_test(realizations_have_the_covariance),
		cmocka_unit_test(sensors_are_exact_on_polynomials),
		cmocka_unit_test(line_is_of_fourth_order),
		cmocka_unit_test(flow_is_of_second_order),
		cmocka_unit_test(flow_solves_a_symmetric_system),
		cmocka_unit_test(diffusion_alone_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
