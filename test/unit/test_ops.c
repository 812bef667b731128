/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one sample of one op cannot say: sums in every layout, derivatives of derivatives, padding,
 * the accuracy of simd.h, messages of shape rules. What updates weights is in test_updates.c. */
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "cases.h"
#include "base/err.h"
#include "base/rng.h"
#include "op/lib/elementwise.h"
#include "op/lib/emit.h"
#include "op/lib/simd.h"
#include "op/update/update.h"
#include "pass/autodiff.h"
#include "op_run.h"
#include "op_tensors.h"

static void fill_normal(double *v, int64_t n, uint64_t stream)
{
	for (int64_t i = 0; i < n; i++)
		v[i] = (double)(float)rng_normal(1, stream, 0, (uint64_t)i);
}

/* --- simd.h --- */

SIMD_CLONES(void, run_simd, (int which, const float *x, float *y, int n), (which, x, y, n))
{
	if (which == 0) {
		SIMD_LOOP
		for (int i = 0; i < n; i++)
			y[i] = simd_exp(x[i]);
	} else if (which == 1) {
		SIMD_LOOP
		for (int i = 0; i < n; i++)
			y[i] = simd_tanh(x[i]);
	} else if (which == 3) {
		SIMD_LOOP
		for (int i = 0; i < n; i++)
			y[i] = simd_expm1(x[i]);
	} else if (which == 4) {
		SIMD_LOOP
		for (int i = 0; i < n; i++)
			y[i] = simd_erf(x[i]);
	} else if (which == 5) {
		SIMD_LOOP
		for (int i = 0; i < n; i++)
			y[i] = simd_sin(x[i]);
	} else if (which == 6) {
		SIMD_LOOP
		for (int i = 0; i < n; i++)
			y[i] = simd_cos(x[i]);
	} else {
		SIMD_LOOP
		for (int i = 0; i < n; i++)
			y[i] = simd_sigmoid(x[i]);
	}
}

static double exact(int which, double x)
{
	if (which > 4)
		return which == 5 ? sin(x) : cos(x);
	if (which > 2)
		return which == 3 ? expm1(x) : erf(x);
	return which == 0 ? exp(x) : which == 1 ? tanh(x) : 1 / (1 + exp(-x));
}

/* Error in units in the last place of a float near the true value. */
static double ulps(float got, double want)
{
	int e;
	if (fabs(want) > 3.4028234e38)
		return isinf(got) && (got > 0) == (want > 0) ? 0 : INFINITY;
	frexp(want, &e);
	return fabs((double)got - want) / ldexp(1, e - 24 < -149 ? -149 : e - 24);
}

#define BATCH 1024

static double worst(int which, float lo, float hi)
{
	float x[BATCH], y[BATCH];
	double most = 0;
	for (uint64_t b = 0; b < 400; b++) {
		for (int i = 0; i < BATCH; i++)
			x[i] = lo + (hi - lo) * (float)rng_uniform(3, (uint64_t)which, b, (uint64_t)i);
		run_simd(which, x, y, BATCH);
		for (int i = 0; i < BATCH; i++)
			most = fmax(most, ulps(y[i], exact(which, (double)x[i])));
	}
	return most;
}

static void test_simd(void **unused)
{
	float x[6] = { NAN, INFINITY, -INFINITY, 0, 100, -110 }, y[6];
	assert_true(worst(0, -104, 89) <= 2);
	assert_true(worst(0, -1, 1) <= 2);
	assert_true(worst(1, -12, 12) <= 3);
	assert_true(worst(1, -0.7f, 0.7f) <= 3);
	assert_true(worst(2, -80, 80) <= 3);
	assert_true(worst(2, -2, 2) <= 3);
	assert_true(worst(3, -20, 80) <= 5);
	assert_true(worst(3, -0.1f, 0.1f) <= 5);
	assert_true(worst(4, -6, 6) <= 3);
	assert_true(worst(4, -0.1f, 0.1f) <= 3);
	for (int which = 5; which < 7; which++) {
		assert_true(worst(which, -4, 4) <= 3);
		assert_true(worst(which, -1000, 1000) <= 3);
		assert_true(worst(which, -SIMD_TURN_MOST, SIMD_TURN_MOST) <= 3);
		run_simd(which, x, y, 6);
		assert_true(isnan(y[0]) && y[3] == (which == 6));
	}
	run_simd(4, x, y, 6);
	assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -1 && y[3] == 0 && y[4] == 1 && y[5] == -1);
	run_simd(0, x, y, 6);
	assert_true(isnan(y[0]) && isinf(y[1]) && y[2] == 0 && y[3] == 1 && isinf(y[4]) && y[5] == 0);
	run_simd(1, x, y, 6);
	assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -1 && y[3] == 0 && y[4] == 1 && y[5] == -1);
	run_simd(2, x, y, 6);
	assert_true(isnan(y[0]) && y[1] == 1 && y[2] == 0 && y[3] == 0.5f && y[4] == 1 && y[5] == 0);
}

/* --- reductions large enough to be cut into parts --- */

static void reduce(const char *op, enum backend b, bool native, struct shape s,
                   const struct reduce_attr *at, const double *x, double *y)
{
	struct graph *g = graph_new();
	struct op_run r;
	tid in = input(g, "x", s.nd, s.d), out;
	assert_int_equal(graph_emit1(g, op, strcmp(op, "sum_squares") ? at : NULL, 1, &in, &out), 0);
	op_run_init(&r, g, b, native);
	op_run_set(&r, in, x);
	op_run_all(&r);
	op_run_get(&r, out, y);
	op_run_release(&r);
	graph_free(g);
}

static void one_reduction(const char *op, struct shape s, const struct reduce_attr *at,
                          const double *x, int n)
{
	static double want[1 << 16], got[1 << 16], again[1 << 16];
	reduce(op, BACKEND_REFERENCE, false, s, at, x, want);
	for (int native = 0; native < 2; native++) {
#ifdef _OPENMP
		omp_set_num_threads(1);
#endif
		reduce(op, BACKEND_CPU, native, s, at, x, got);
		check_close(got, want, n, 3e-5);
#ifdef _OPENMP
		omp_set_num_threads(3);
#endif
		reduce(op, BACKEND_CPU, native, s, at, x, again);
		assert_memory_equal(got, again, (size_t)n * sizeof *got);
	}
}

static void test_large_reductions(void **unused)
{
	static const char *const ops[] = { "sum", "mean", "max", "sum_squares" };
	static const int64_t axes[] = { 0, 2, 3, 1 };
	static const struct {
		int from, naxes, n;
	} c[] = {
		{ 0, 0, 1 }, { 0, 3, 70 }, { 1, 2, 210 }, { 3, 1, 3 * 33 * 41 },
	};
	struct shape s = shape_of(4, (int64_t[]){ 3, 70, 33, 41 });
	int64_t n = shape_count(&s);
	double *x = malloc((size_t)n * sizeof *x);

	fill_normal(x, n, 5);
	for (size_t o = 0; o < 4; o++)
		for (size_t i = 0; i < 4; i++) {
			struct reduce_attr at = { .axes = { c[i].naxes, axes + c[i].from }, .keep = i % 2 };
			one_reduction(ops[o], s, &at, x, o == 3 ? 1 : c[i].n);
		}
	free(x);
}

/* A NaN anywhere is not lost by max. */
static void test_max_nan(void **unused)
{
	const double x[4] = { 1, NAN, 3, 2 };
	const struct shape s = shape_of(1, (int64_t[]){ 4 });
	struct reduce_attr at = { { 0, NULL }, false };
	for (int b = 0; b < 2; b++) {
		double y = 0;
		reduce("max", both[b], false, s, &at, x, &y);
		assert_true(isnan(y));
	}
}

/* --- broadcast: channels to channels-last needs no reorder on the way --- */

static void test_broadcast_native(void **unused)
{
	struct graph *g = graph_new();
	tid x = INPUT(g, "x", 1, 5, 1, 1), y;
	struct shape s = shape_of(4, (int64_t[]){ 2, 5, 3, 4 });
	double v[5] = { 1, 2, 3, 4, 5 }, got[120];
	struct op_run r;
	assert_int_equal(emit_broadcast(g, x, &s, &y), 0);
	op_run_init(&r, g, BACKEND_CPU, false);
	op_run_set(&r, x, v);
	op_run_all(&r);
	assert_true(layout_is_native(&graph_t(g, y)->layout, &s));
	for (int i = 0; i < 120; i++)
		assert_true(((float *)r.data[y])[i] == (float)v[i % 5]);
	op_run_get(&r, y, got);
	for (int i = 0; i < 120; i++)
		assert_true(got[i] == v[i / 12 % 5]);
	op_run_release(&r);
	graph_free(g);
}

/* --- padding of blocked layouts --- */

static struct layout blocked(int64_t rows, int64_t columns)
{
	struct layout l = { .set = true, .nd = 2, .dims = { rows, columns },
	                    .stride = { (columns + 7) / 8 * 8, 8 }, .nblk = 1, .blk = { 8 },
	                    .blk_dim = { 1 } };
	return l;
}

/* Runs one op on blocked tensors of 3x5 (padded to 3x8); the buffer of the result must be zero
 * where nothing is, or dense. */
static void padded(const char *op, const void *attr, int nin, int nscalar)
{
	struct graph *g = graph_new();
	struct layout l = blocked(3, 5);
	double v[15], one = 1;
	tid in[8], out[3];
	struct op_run r;
	const struct tensor *y;
	const float *p;
	for (int i = 0; i < nin; i++) {
		char name[8];
		struct shape s = shape_of(i < nin - nscalar ? 2 : 0, (int64_t[]){ 3, 5 });
		snprintf(name, sizeof name, "x%d", i);
		assert_int_equal(graph_state(g, name, DTYPE_F32, &s, (struct init){ 0 }, &in[i]), 0);
	}
	if (!strcmp(op, "sgd")) {              /* the head, then (w, g, momentum) */
		tid arg[] = { in[3], NONE, NONE, NONE, NONE, in[0], in[1], in[2] };
		assert_int_equal(graph_emit(g, op, attr, 8, arg, 1, out), 0);
	} else {
		assert_int_equal(graph_emit(g, op, attr, nin, in, 1, out), 0);
	}
	op_run_init(&r, g, BACKEND_CPU, false);
	for (int i = 0; i < 15; i++)
		v[i] = 1 + i;
	for (int i = 0; i < nin; i++)
		if (graph_t(g, in[i])->shape.nd)
			op_run_set_as(&r, in[i], &l, v);
		else
			op_run_set(&r, in[i], &one);
	op_run_all(&r);
	y = graph_t(g, out[0]);
	p = r.data[out[0]];
	for (int i = 0; i < 24 && !layout_is_dense(&y->layout); i++)
		if (i % 8 >= 5 && p[i] != 0)
			fail_msg("'%s' wrote %g into padding", op, (double)p[i]);
	op_run_release(&r);
	graph_free(g);
}

static void test_padding(void **unused)
{
	struct scale_attr shift = { 2, 1 }, factor = { 2, 0 };
	double decay = 0.1;
	struct sgd_attr sgd = { { .weight_decay = { 1, &decay } }, 0.9, true, false };
	padded("add", NULL, 2, 0);
	padded("divide", NULL, 2, 0);
	padded("exp", NULL, 1, 0);
	padded("sigmoid", NULL, 1, 0);
	padded("softplus", NULL, 1, 0);
	padded("log", NULL, 1, 0);
	padded("sqrt", NULL, 1, 0);
	padded("sin", NULL, 1, 0);
	padded("cos", NULL, 1, 0);
	padded("pow", &(struct pow_attr){ 0 }, 1, 0);
	padded("maximum", NULL, 2, 0);
	padded("tanh", NULL, 1, 0);
	padded("scale", &shift, 1, 0);
	padded("scale", &factor, 1, 0);
	padded("scale_by", NULL, 2, 1);
	padded("sgd", &sgd, 4, 1);
}

/* --- derivatives of derivatives --- */

#define NX 12

/* A scalar made of x by differentiable ops of every kind. */
static void chain(struct graph *g, int which, tid x, tid *f)
{
	const struct reduce_attr all = { { 0, NULL }, false };
	const struct shape s = graph_t(g, x)->shape;
	tid a, b, c;
	switch (which) {
	case 0:            /* sum tanh(x)^2 x */
		emit_unary(g, "tanh", x, &a);
		emit_unary(g, "square", a, &a);
		emit_mul(g, a, x, &a);
		break;
	case 1:            /* softplus(x) / (1 + sigmoid(x)) */
		emit_unary(g, "softplus", x, &a);
		emit_unary(g, "sigmoid", x, &b);
		emit_scale(g, b, 1, 1, &b);
		emit_div(g, a, b, &a);
		break;
	case 2:            /* exp(x) sqrt(1 + x^2) - log(1 + x^2) */
		emit_unary(g, "square", x, &b);
		emit_scale(g, b, 1, 1, &b);
		emit_unary(g, "exp", x, &a);
		emit_unary(g, "sqrt", b, &c);
		emit_mul(g, a, c, &a);
		emit_unary(g, "log", b, &c);
		emit_sub(g, a, c, &a);
		break;
	case 3:            /* (x - row mean)^3, mean and broadcast as a layer would */
		assert_int_equal(graph_emit1(g, "mean",
			&(struct reduce_attr){ ints_make(g, 1, (int64_t[]){ 1 }), true }, 1, &x, &b), 0);
		emit_broadcast(g, b, &s, &b);
		emit_sub(g, x, b, &a);
		emit_unary(g, "square", a, &b);
		emit_mul(g, a, b, &a);
		break;
	case 4:            /* x^T scaled by max x, leaky */
		emit_transpose(g, x, (int[]){ 1, 0 }, &a);
		assert_int_equal(graph_emit1(g, "max", &all, 1, &x, &b), 0);
		graph_emit1(g, "leaky_relu", &(struct leaky_relu_attr){ 0.3 }, 1, &a, &a);
		emit_unary(g, "square", a, &a);
		graph_emit1(g, "scale_by", NULL, 2, (tid[]){ a, b }, &a);
		break;
	case 5:            /* silu(x) gelu(x) + gelu by tanh */
		emit_unary(g, "silu", x, &a);
		emit_unary(g, "gelu", x, &b);
		emit_mul(g, a, b, &a);
		graph_emit1(g, "gelu", &(int){ 1 }, 1, &x, &b);
		graph_emit1(g, "add", NULL, 2, (tid[]){ a, b }, &a);
		break;
	case 6:            /* sin(x) cos(x) |x| + elu(x) x^3 */
		emit_unary(g, "sin", x, &a);
		emit_unary(g, "cos", x, &b);
		emit_mul(g, a, b, &a);
		emit_unary(g, "abs", x, &b);
		emit_mul(g, a, b, &a);
		emit_unary(g, "elu", x, &b);
		graph_emit1(g, "pow", &(struct pow_attr){ 3 }, 1, &x, &c);
		emit_mul(g, b, c, &b);
		graph_emit1(g, "add", NULL, 2, (tid[]){ a, b }, &a);
		break;
	default:           /* relu(x) x^2 */
		emit_unary(g, "relu", x, &a);
		emit_unary(g, "square", x, &b);
		emit_mul(g, a, b, &a);
		break;
	}
	emit_sum(g, a, 3, false, f);
}

/* d1: the gradient of f at x; d2: the gradient of the dot product of c and that gradient. */
static void gradients_at(int which, enum backend b, const double *x, const double *c, double *d1,
                         double *d2)
{
	struct graph *g = graph_new();
	tid in = INPUT(g, "x", 3, 4), weight = INPUT(g, "c", 3, 4), f, g1, h, g2;
	struct op_run r;
	chain(g, which, in, &f);
	assert_int_equal(autodiff(g, 1, &f, NULL, 1, &in, &g1), 0);
	assert_int_equal(emit_mul(g, g1, weight, &h), 0);
	assert_int_equal(emit_sum(g, h, 3, false, &h), 0);
	assert_int_equal(autodiff(g, 1, &h, NULL, 1, &in, &g2), 0);
	op_run_init(&r, g, b, false);
	op_run_set(&r, in, x);
	op_run_set(&r, weight, c);
	op_run_all(&r);
	op_run_get(&r, g1, d1);
	op_run_get(&r, g2, d2);
	op_run_release(&r);
	graph_free(g);
}

static double dot(const double *a, const double *b)
{
	double s = 0;
	for (int i = 0; i < NX; i++)
		s += a[i] * b[i];
	return s;
}

static void test_second_derivatives(void **unused)
{
	double x[NX], c[NX], d1[NX], d2[NX], lo[NX], hi[NX], scrap[NX], cpu1[NX], cpu2[NX];
	const double h = 1e-5;
	for (int which = 0; which < 8; which++) {
		fill_normal(x, NX, 11);
		fill_normal(c, NX, 12);
		gradients_at(which, BACKEND_REFERENCE, x, c, d1, d2);
		for (int i = 0; i < NX; i++) {
			double keep = x[i], want;
			x[i] = keep - h;
			gradients_at(which, BACKEND_REFERENCE, x, c, lo, scrap);
			x[i] = keep + h;
			gradients_at(which, BACKEND_REFERENCE, x, c, hi, scrap);
			x[i] = keep;
			want = (dot(hi, c) - dot(lo, c)) / (2 * h);
			if (!(fabs(d2[i] - want) <= 1e-7 * fmax(1, fabs(want))))
				fail_msg("chain %d, element %d: %.12g, expected %.12g", which, i, d2[i], want);
		}
		gradients_at(which, BACKEND_CPU, x, c, cpu1, cpu2);
		check_close(cpu1, d1, NX, 1e-5);
		check_close(cpu2, d2, NX, 1e-5);
	}
}

/* --- values at edges --- */

/* out[i] = op(in[0][i], ...) for n elements. */
static void apply(enum backend b, const char *op, const void *attr, int nin,
                  const double *const *in, int n, double *out)
{
	static const char *const names[] = { "a", "b", "c" };
	struct graph *g = graph_new();
	struct op_run r;
	tid t[3], y;
	for (int i = 0; i < nin; i++)
		t[i] = INPUT(g, names[i], n);
	assert_int_equal(graph_emit1(g, op, attr, nin, t, &y), 0);
	op_run_init(&r, g, b, false);
	for (int i = 0; i < nin; i++)
		op_run_set(&r, t[i], in[i]);
	op_run_all(&r);
	op_run_get(&r, y, out);
	op_run_release(&r);
	graph_free(g);
}

/* NaN is equal to NaN here, and 0 is not -0. */
static void same(const char *op, enum backend b, const double *got, const double *want, int n)
{
	for (int i = 0; i < n; i++)
		if (!(isnan(want[i]) ? isnan(got[i])
		                     : got[i] == want[i] && signbit(got[i]) == signbit(want[i])))
			fail_msg("'%s' on backend %d: element %d is %g, expected %g", op, (int)b, i, got[i],
			         want[i]);
}

#define EDGES 8
static const double edge_a[EDGES] = { 0, -0.0, -2, 3, NAN, 1, INFINITY, -INFINITY };
static const double edge_b[EDGES] = { 0, 1, -3, 3, 1, NAN, 2, INFINITY };

static void test_edges(void **unused)
{
	static const struct {
		const char *op;
		double exponent;
		int nin;
		double want[EDGES];
	} cases[] = {
		{ "abs", 0, 1, { 0, 0, 2, 3, NAN, 1, INFINITY, INFINITY } },
		{ "sign", 0, 1, { 0, -0.0, -1, 1, NAN, 1, 1, -1 } },
		{ "minimum", 0, 2, { 0, -0.0, -3, 3, NAN, NAN, 2, -INFINITY } },
		{ "maximum", 0, 2, { 0, 1, -2, 3, NAN, NAN, INFINITY, INFINITY } },
		{ "select", 0, 3, { 0, 1, -2, 3, NAN, NAN, INFINITY, -INFINITY } },
		{ "pow", 0, 1, { 1, 1, 1, 1, 1, 1, 1, 1 } },
		{ "pow", 1, 1, { 0, -0.0, -2, 3, NAN, 1, INFINITY, -INFINITY } },
		{ "pow", 2, 1, { 0, 0, 4, 9, NAN, 1, INFINITY, INFINITY } },
		{ "pow", 3, 1, { 0, -0.0, -8, 27, NAN, 1, INFINITY, -INFINITY } },
		{ "pow", 10, 1, { 0, 0, 1024, 59049, NAN, 1, INFINITY, INFINITY } },
		{ "pow", -1, 1, { INFINITY, -INFINITY, -0.5, 1 / 3.0, NAN, 1, 0, -0.0 } },
		{ "pow", 0.5, 1, { 0, 0, NAN, 1.7320508075688772, NAN, 1, INFINITY, INFINITY } },
	};
	/* select chooses a for these in all but two */
	static const double edge_c[EDGES] = { 0, -1, 1, 2, -0.0, NAN, INFINITY, 3 };
	double got[EDGES], want[EDGES];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int k = 0; k < 2; k++) {
			const struct pow_attr at = { cases[i].exponent };
			const bool chosen = cases[i].nin == 3;
			const bool power = !strcmp(cases[i].op, "pow");
			const double *in[] = { chosen ? edge_c : edge_a, chosen ? edge_a : edge_b, edge_b };
			apply(both[k], cases[i].op, power ? &at : NULL, cases[i].nin, in, EDGES, got);
			for (int e = 0; e < EDGES; e++)
				want[e] = both[k] == BACKEND_CPU ? (double)(float)cases[i].want[e]
				                                 : cases[i].want[e];
			same(cases[i].op, both[k], got, want, EDGES);
		}
}

/* Arguments beyond what the vectors take. */
static void test_turns(void **unused)
{
	const double x[4] = { 1e9, -1e30, 3, INFINITY }, *in[] = { x };
	double got[4];
	for (int which = 5; which < 7; which++) {
		apply(BACKEND_CPU, which == 5 ? "sin" : "cos", NULL, 1, in, 4, got);
		for (int i = 0; i < 3; i++)
			assert_true(ulps((float)got[i], exact(which, (double)(float)x[i])) <= 3);
		assert_true(isnan(got[3]));
	}
}

/* Derivatives of x^3 at 0 and below end after the third; those of minimum, maximum and select are
 * the derivatives of what was chosen. */
static void test_pieces(void **unused)
{
	static const double x[4] = { 0, -1, -0.5, 2 };
	static const double want[][4] = {
		{ 0, 3, 0.75, 12 }, { 0, -6, -3, 12 }, { 6, 6, 6, 6 },
	};
	struct graph *g = graph_new();
	struct op_run r;
	tid in = INPUT(g, "x", 4), y, d[4], f, low;
	double got[4];
	assert_int_equal(graph_emit1(g, "pow", &(struct pow_attr){ 3 }, 1, &in, &y), 0);
	for (int k = 0; k < 4; k++) {
		assert_int_equal(autodiff(g, 1, &y, NULL, 1, &in, &d[k]), 0);
		y = d[k];
		if (k == 3)
			assert_int_equal(d[k], NONE);
	}
	/* d/dx of (x < 0.1 ? x^2 : 0.1) + max(x, 1) + (x - 1 >= 0 ? x : x^2) */
	assert_int_equal(emit_unary(g, "square", in, &y), 0);
	assert_int_equal(emit_fill(g, 0.1, &graph_t(g, in)->shape, &low), 0);
	assert_int_equal(graph_emit1(g, "minimum", NULL, 2, (tid[]){ y, low }, &f), 0);
	assert_int_equal(emit_fill(g, 1, &graph_t(g, in)->shape, &low), 0);
	assert_int_equal(graph_emit1(g, "maximum", NULL, 2, (tid[]){ in, low }, &low), 0);
	assert_int_equal(graph_emit1(g, "add", NULL, 2, (tid[]){ f, low }, &f), 0);
	assert_int_equal(emit_scale(g, in, 1, -1, &low), 0);
	assert_int_equal(graph_emit1(g, "select", NULL, 3, (tid[]){ low, in, y }, &low), 0);
	assert_int_equal(graph_emit1(g, "add", NULL, 2, (tid[]){ f, low }, &f), 0);
	assert_int_equal(autodiff(g, 1, &f, NULL, 1, &in, &d[3]), 0);
	op_run_init(&r, g, BACKEND_REFERENCE, false);
	op_run_set(&r, in, x);
	op_run_all(&r);
	for (int k = 0; k < 3; k++) {
		op_run_get(&r, d[k], got);
		check_close(got, want[k], 4, 1e-15);
	}
	op_run_get(&r, d[3], got);
	check_close(got, (double[]){ 0, -2, -1, 2 }, 4, 1e-15);
	op_run_release(&r);
	graph_free(g);
}

/* --- messages --- */

static void refuses(struct graph *g, const char *op, const void *attr, int nin, const tid *in,
                    const char *text)
{
	tid out[4];
	assert_true(graph_emit(g, op, attr, nin, in, 0, out) < 0);
	if (!strstr(err_get(0)->text, text))
		fail_msg("'%s' lacks '%s'", err_get(0)->text, text);
	err_clear();
}

static void test_messages(void **unused)
{
	struct graph *g = graph_new();
	tid a = INPUT(g, "a", 2, 3), b = INPUT(g, "b", 3, 2), w = state(g, "w", 3);
	struct reduce_attr axis = { ints_make(g, 1, (int64_t[]){ 2 }), false };
	struct reduce_attr twice = { ints_make(g, 2, (int64_t[]){ 0, 0 }), false };
	struct shape_attr s = { ints_make(g, 2, (int64_t[]){ 4, 3 }) };
	struct shape_attr holes = { ints_make(g, 2, (int64_t[]){ -1, -1 }) };
	struct shape_attr uneven = { ints_make(g, 2, (int64_t[]){ 4, -1 }) };
	struct transpose_attr perm = { ints_make(g, 2, (int64_t[]){ 0, 0 }) };
	struct dropout_attr rate = { .rate = 1 };
	const tid lr = graph_scalar(g, 1);
	const tid sgd[] = { lr, NONE, NONE, NONE, NONE, w, w }, other[] = { lr, NONE, NONE, NONE,
		NONE, w, a };
	const tid trusted[] = { lr, NONE, NONE, NONE, w, w, w };
	struct sgd_attr two = { { .weight_decay = { 2, (double[]){ 1, 2 } } }, 0, false, false };
	struct sgd_attr momentum = { .momentum = 0.9 }, nesterov = { .nesterov = true };
	refuses(g, "add", NULL, 2, (tid[]){ a, b },
	        "'add' needs inputs of one shape, but has 2x3 and 3x2");
	refuses(g, "sum", &axis, 1, &a, "'sum' over axis 2, but its input 2x3 has 2 axes");
	refuses(g, "mean", &twice, 1, &a, "'mean' names axis 0 twice");
	refuses(g, "broadcast", &s, 1, &a, "2x3 cannot be repeated to 4x3");
	refuses(g, "reshape", &s, 1, &a, "2x3 of 6 elements cannot be reshaped to 4x3");
	refuses(g, "reshape", &holes, 1, &a, "'reshape' can infer one axis, not two");
	refuses(g, "reshape", &uneven, 1, &a, "cannot be reshaped");
	refuses(g, "transpose", &perm, 1, &a, "'perm' must name each axis from 0 to 1 once");
	refuses(g, "scale_by", NULL, 2, (tid[]){ a, b }, "the factor of 'scale_by' must be a scalar");
	refuses(g, "dropout", &rate, 2, (tid[]){ a, b }, "must be from 0 to below 1, but is 1");
	refuses(g, "sgd", &momentum, 7, sgd, "'sgd' takes 5 inputs and groups of 3, but has 7");
	refuses(g, "sgd", &nesterov, 7, sgd, "'nesterov' needs a 'momentum' above 0");
	refuses(g, "sgd", &two, 7, sgd, "'weight_decay' of 'sgd' has 2 numbers for 1 parameters");
	refuses(g, "sgd", NULL, 7, other, "the gradient of 'sgd' has shape 2x3");
	refuses(g, "sgd", NULL, 7, trusted, "one number for each of 1 parameters, but has shape 3");
	refuses(g, "sgd", NULL, 5, sgd, "'sgd' takes 5 inputs and groups of 2, but has 5");
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simd),
		cmocka_unit_test(test_large_reductions),
		cmocka_unit_test(test_max_nan),
		cmocka_unit_test(test_broadcast_native),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_second_derivatives),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_messages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
