/* SPDX-License-Identifier: BSD-3-Clause
 *
 * L-BFGS: its directions against the product with a dense BFGS matrix, the Wolfe conditions at
 * every step, the number of evaluations against SciPy's, functions that are hard to search, and a
 * state that is saved and restored at any evaluation. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "base/mem.h"
#include "optim/lbfgs.h"

#define MAX 100

typedef double function(int n, const double *x, double *g);

static double rosenbrock(int n, const double *x, double *g)
{
	double f = 0;
	memset(g, 0, (size_t)n * sizeof *g);
	for (int i = 0; i + 1 < n; i++) {
		double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
		f += 100 * a * a + b * b;
		g[i] += -400 * x[i] * a - 2 * b;
		g[i + 1] += 200 * a;
	}
	return f;
}

/* Curvatures from 1e-4 to 1e8. */
static double badly_scaled(int n, const double *x, double *g)
{
	double f = 0;
	for (int i = 0; i < n; i++) {
		double c = pow(10, -4 + 12.0 * i / (n - 1));
		f += 0.5 * c * (x[i] - 1) * (x[i] - 1);
		g[i] = c * (x[i] - 1);
	}
	return f;
}

/* -log of the distance to a wall: NaN beyond it. The minimum is close to the wall. */
static double walled(int n, const double *x, double *g)
{
	double f = 0;
	for (int i = 0; i < n; i++) {
		f += -20 * (i + 1) * x[i] - log(1 - x[i]);
		g[i] = -20 * (i + 1) + 1 / (1 - x[i]);
		if (x[i] >= 1)
			f = g[i] = NAN;
	}
	return f;
}

/* Convex, with a kink at 0: no step of a search fulfils the condition of curvature there. */
static double kinked(int n, const double *x, double *g)
{
	double f = 0;
	for (int i = 0; i < n; i++) {
		f += fabs(x[i]) * (i + 1);
		g[i] = x[i] < 0 ? -(i + 1) : i + 1;
	}
	return f;
}

/* No point has a lower loss than one before. */
static double growing(int n, const double *x, double *g)
{
	static double evaluations = 1e6;
	rosenbrock(n, x, g);
	return evaluations++;
}

/* What float32 evaluates: rounded to its 24 bits. */
static double rounded(int n, const double *x, double *g)
{
	double f = (float)(rosenbrock(n, x, g) + 1);
	for (int i = 0; i < n; i++) {
		assert_true(x[i] == (float)x[i]);
		g[i] = (float)g[i];
	}
	return f;
}

struct run {
	struct lbfgs l;
	int n;
	function *f;
	double *state, x[MAX], g[MAX], loss;
	enum lbfgs_next next;
	int evaluations, steps;
};

static void run_init(struct run *r, int n, function *f, const struct lbfgs_options *o)
{
	memset(r, 0, sizeof *r);
	r->n = n;
	r->f = f;
	r->state = mem_calloc((size_t)lbfgs_state_count(n, o->history), sizeof(double));
	lbfgs_init(&r->l, n, o, r->state);
}

static void run_begin(struct run *r, int n, function *f, const struct lbfgs_options *o, double x0,
                      double x1)
{
	run_init(r, n, f, o);
	for (int i = 0; i < n; i++)
		r->x[i] = i % 2 ? x1 : x0;
	lbfgs_begin(&r->l, r->x);
}

static enum lbfgs_next evaluate(struct run *r)
{
	lbfgs_propose(&r->l, r->x);
	r->loss = r->f(r->n, r->x, r->g);
	r->evaluations++;
	r->next = lbfgs_report(&r->l, r->loss, r->g);
	r->steps += r->next == LBFGS_STEP;
	return r->next;
}

static void run_to_end(struct run *r, int most)
{
	while (evaluate(r) <= LBFGS_STEP && r->evaluations < most)
		;
}

static double product(int n, const double *a, const double *b)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += a[i] * b[i];
	return s;
}

/* --- directions --- */

struct pair {
	double s[MAX], y[MAX];
};

/* H = (1 - s y' / s'y) H (1 - y s' / s'y) + s s' / s'y */
static void update_matrix(int n, double *h, const struct pair *p)
{
	double rho = 1 / product(n, p->s, p->y), hy[MAX];
	for (int i = 0; i < n; i++)
		hy[i] = product(n, h + i * n, p->y);
	double yhy = product(n, p->y, hy);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			h[i * n + j] += rho * ((1 + rho * yhy) * p->s[i] * p->s[j] - hy[i] * p->s[j] -
			                       p->s[i] * hy[j]);
}

/* -H g with H of the last `history` pairs, oldest first. */
static void dense_direction(int n, const struct pair *p, int pairs, const double *g, double *d)
{
	static double h[MAX * MAX];
	const struct pair *newest = p + pairs - 1;
	memset(h, 0, sizeof h);
	for (int i = 0; i < n; i++)
		h[i * n + i] = product(n, newest->s, newest->y) / product(n, newest->y, newest->y);
	for (int i = 0; i < pairs; i++)
		update_matrix(n, h, &p[i]);
	for (int i = 0; i < n; i++)
		d[i] = -product(n, h + i * n, g);
}

static void test_directions(void **state)
{
	static struct pair pairs[64];
	static struct run r;
	struct lbfgs_options o = { .history = 5, .gradient = 1e-9 };
	double x[MAX], g[MAX], d[MAX];
	int n = 12, made = 0;
	run_begin(&r, n, rosenbrock, &o, -1.2, 1);
	memcpy(x, r.x, sizeof x);
	rosenbrock(n, x, g);
	while (made < 40 && evaluate(&r) <= LBFGS_STEP) {
		if (r.next != LBFGS_STEP)
			continue;
		for (int i = 0; i < n; i++) {
			pairs[made].s[i] = r.x[i] - x[i];
			pairs[made].y[i] = r.g[i] - g[i];
		}
		assert_true(product(n, pairs[made].s, pairs[made].y) > 0);
		made++;
		memcpy(x, r.x, sizeof x);
		memcpy(g, r.g, sizeof g);
		int used = made < o.history ? made : o.history;
		dense_direction(n, pairs + made - used, used, g, d);
		double error = 0;
		for (int i = 0; i < n; i++)
			error = fmax(error, fabs(d[i] - r.l.direction[i]));
		assert_true(error <= 1e-12 * sqrt(product(n, d, d)));
	}
	assert_int_equal(made, 40);
	mem_free(r.state);
}

/* --- searches --- */

/* Runs to the end; at every step both conditions hold. */
static void run_checked(struct run *r, int most)
{
	double f0 = 0, slope0 = 0, d[MAX];
	bool begun = false;
	while (r->evaluations < most) {
		double length = r->l.head->search.step;
		memcpy(d, r->l.direction, (size_t)r->n * sizeof *d);
		evaluate(r);
		if (begun && (r->next == LBFGS_STEP || r->next == LBFGS_CONVERGED)) {
			double slope = product(r->n, r->g, d), allowed = r->l.options.rounding * fabs(f0);
			assert_true(r->loss <= f0 + 1e-4 * length * slope0 + allowed);
			assert_true(fabs(slope) <= 0.9 * (1 + 1e-9) * fabs(slope0));
			assert_true(r->l.head->loss == r->loss);
			assert_memory_equal(r->l.point, r->x, (size_t)r->n * sizeof(double));
		}
		if (r->next >= LBFGS_CONVERGED)
			return;
		if (!begun || r->next == LBFGS_STEP) {
			f0 = r->l.head->loss;
			slope0 = product(r->n, r->l.gradient, r->l.direction);
			assert_true(slope0 < 0);
		}
		begun = true;
	}
}

static double largest(int n, const double *g)
{
	double m = 0;
	for (int i = 0; i < n; i++)
		m = fmax(m, fabs(g[i]));
	return m;
}

/* SciPy 1.17.1 (minimize, method L-BFGS-B, ftol 0) from the same points with the same histories:
 * evaluations until no element of the gradient is above 1e-8. */
static const struct {
	double x0, x1;
	int history, scipy;
} rosenbrocks[] = {
	{ -1.2, 1, 5, 658 }, { -1.2, 1, 10, 629 }, { -1.2, 1, 20, 621 }, { -1.2, 1, 50, 597 },
	{ 0, 0, 5, 616 }, { 0, 0, 10, 616 }, { 0, 0, 20, 598 }, { 0, 0, 50, 588 },
};

static void test_rosenbrock(void **state)
{
	static struct run r;
	for (size_t i = 0; i < sizeof rosenbrocks / sizeof *rosenbrocks; i++) {
		struct lbfgs_options o = { .history = rosenbrocks[i].history, .gradient = 1e-8,
			                       .rounding = 1e-15 };
		run_begin(&r, 100, rosenbrock, &o, rosenbrocks[i].x0, rosenbrocks[i].x1);
		run_checked(&r, 2000);
		print_message("history %d: %d evaluations, SciPy %d\n", o.history, r.evaluations,
		              rosenbrocks[i].scipy);
		assert_int_equal(r.next, LBFGS_CONVERGED);
		assert_true(r.evaluations <= 1.2 * rosenbrocks[i].scipy);
		assert_true(largest(100, r.g) <= 1e-8 && r.loss <= 1e-8);
		mem_free(r.state);
	}
}

static void test_badly_scaled(void **state)
{
	static struct run r;
	struct lbfgs_options o = { .history = 30, .gradient = 1e-7, .rounding = 1e-15 };
	run_begin(&r, 20, badly_scaled, &o, -3, 4);
	run_checked(&r, 5000);
	print_message("badly scaled: %d evaluations\n", r.evaluations);
	assert_int_equal(r.next, LBFGS_CONVERGED);
	for (int i = 0; i < 20; i++)
		assert_true(fabs(r.x[i] - 1) < 1e-2);
	mem_free(r.state);
}

static void test_walled(void **state)
{
	static struct run r;
	struct lbfgs_options o = { .history = 10, .gradient = 1e-8, .rounding = 1e-15 };
	run_begin(&r, 6, walled, &o, 0.9, 0.1);
	run_checked(&r, 500);
	assert_int_equal(r.next, LBFGS_CONVERGED);
	for (int i = 0; i < 6; i++)
		assert_true(fabs(1 - r.x[i] - 1 / (20.0 * (i + 1))) < 1e-9);
	mem_free(r.state);
	run_begin(&r, 6, walled, &o, 0.9, 2);
	assert_int_equal(evaluate(&r), LBFGS_STOPPED);
	assert_non_null(strstr(r.l.reason, "not finite"));
	mem_free(r.state);
}

/* A search that fails keeps what it has gained; where it gains nothing, the next one goes downhill,
 * and says why it ends. */
static void test_ends(void **state)
{
	static struct run r;
	struct lbfgs_options o = { .history = 4 };
	double lowest = INFINITY;
	run_begin(&r, 3, kinked, &o, 0.3, -1.7);
	for (int i = 0; i < 500; i++) {
		assert_true(evaluate(&r) <= LBFGS_STEP);
		lowest = fmin(lowest, r.loss);
		if (r.next != LBFGS_STEP)
			continue;
		assert_true(r.l.head->loss == lowest && kinked(3, r.l.point, r.g) == lowest);
		assert_memory_equal(r.l.gradient, r.g, 3 * sizeof(double));
	}
	assert_true(r.steps > 10 && lowest < 0.5);
	mem_free(r.state);
	run_begin(&r, 3, rosenbrock, &o, 0.3, -1.7);
	for (int i = 0; i < 8; i++)
		evaluate(&r);
	assert_true(r.l.head->pairs > 1);
	lowest = r.l.head->loss;
	r.f = growing;
	run_to_end(&r, 200);
	assert_int_equal(r.next, LBFGS_STOPPED);
	assert_non_null(strstr(r.l.reason, "rounding"));
	assert_true(r.evaluations > 8 + 40 && r.l.head->pairs == 0 && r.l.head->loss == lowest);
	lbfgs_propose(&r.l, r.x);
	assert_memory_equal(r.x, r.l.point, 3 * sizeof(double));
	mem_free(r.state);
	/* A point that is a minimum already; a change within the tolerance. */
	run_begin(&r, 5, rosenbrock, &o, 1, 1);
	assert_int_equal(evaluate(&r), LBFGS_CONVERGED);
	mem_free(r.state);
	o.change = 1e-3;
	run_begin(&r, 20, rosenbrock, &o, -1.2, 1);
	run_to_end(&r, 1000);
	assert_int_equal(r.next, LBFGS_CONVERGED);
	assert_non_null(strstr(r.l.reason, "change"));
	mem_free(r.state);
}

/* Losses and points of float32: the search does not end before what float32 can tell apart. */
static void test_single(void **state)
{
	static struct run r;
	struct lbfgs_options o = { .history = 20, .gradient = 1e-3, .rounding = 1e-6, .single = true };
	run_begin(&r, 20, rounded, &o, -1.2, 1);
	run_to_end(&r, 2000);
	print_message("float32: %d evaluations, loss %g\n", r.evaluations, r.loss - 1);
	assert_int_equal(r.next, LBFGS_CONVERGED);
	assert_true(r.loss - 1 < 1e-6);
	mem_free(r.state);
}

/* --- the state --- */

/* Stops after each of many evaluations, continues elsewhere, and has the same bits at the end. */
static void test_restored(void **state)
{
	static struct run whole, first, second;
	struct lbfgs_options o = { .history = 3, .gradient = 1e-8 };
	size_t bytes = (size_t)lbfgs_state_count(10, 3) * sizeof(double);
	run_begin(&whole, 10, rosenbrock, &o, -1.2, 1);
	run_to_end(&whole, 1000);
	int inside = 0;
	for (int stop = 0; stop < 60; stop++) {
		run_begin(&first, 10, rosenbrock, &o, -1.2, 1);
		while (first.evaluations < stop)
			evaluate(&first);
		inside += stop > 0 && first.next == LBFGS_EVALUATE;
		run_init(&second, 10, rosenbrock, &o);
		memcpy(second.state, first.state, bytes);
		assert_int_equal(lbfgs_restored(&second.l), 0);
		run_to_end(&second, 1000);
		assert_int_equal(second.evaluations + stop, whole.evaluations);
		assert_memory_equal(second.state, whole.state, bytes);
		mem_free(first.state);
		mem_free(second.state);
	}
	assert_true(inside > 5);
	whole.l.head->newest = 3;
	assert_int_equal(lbfgs_restored(&whole.l), E_DATA);
	whole.l.head->newest = NAN;
	assert_int_equal(lbfgs_restored(&whole.l), E_DATA);
	err_clear();
	mem_free(whole.state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_directions), cmocka_unit_test(test_rosenbrock),
		cmocka_unit_test(test_badly_scaled), cmocka_unit_test(test_walled),
		cmocka_unit_test(test_ends), cmocka_unit_test(test_single),
		cmocka_unit_test(test_restored),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
