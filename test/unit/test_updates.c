/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ops of the update on both backends: numbers of the optimizers over several steps, sums over
 * micro-batches, clipping, norms and trust ratios. */
#include <math.h>

#include "cases.h"
#include "op/update/trust.h"
#include "op/update/update.h"
#include "op_run.h"
#include "op_tensors.h"

/* --- optimizers: three steps from the same place with grad_scale 0.5, against PyTorch's
 * torch.optim in double --- */

static const double weights[3] = { 1, -2, 0.5 };
static const double gradients[3][3] = {
	{ 0.1, -0.4, 0.25 }, { 0.3, 0.2, -0.5 }, { -0.6, 0.05, 0.75 }
};

static void three_sgd_steps(enum backend b, const struct sgd_attr *at, double *w, double *v)
{
	const double rate = 0.1;
	for (int step = 0; step < 3; step++) {
		struct graph *g = graph_new();
		bool moving = at->momentum > 0;
		tid in[DESCENT_HEAD + 3] = { SCALAR(g, "lr"), NONE, graph_scalar(g, 0.5), NONE, NONE,
		                             state(g, "w", 3), INPUT(g, "g", 3), NONE };
		tid out[2], *member = in + DESCENT_HEAD;
		struct op_run r;
		if (moving)
			member[2] = state(g, "v", 3);
		assert_int_equal(graph_emit(g, "sgd", at, DESCENT_HEAD + 2 + moving, in, 1 + moving, out),
		                 0);
		op_run_init(&r, g, b, false);
		op_run_set(&r, in[DESCENT_RATE], &rate);
		op_run_set(&r, member[0], w);
		op_run_set(&r, member[1], gradients[step]);
		if (moving)
			op_run_set(&r, member[2], v);
		op_run_all(&r);
		op_run_get(&r, out[0], w);
		if (moving)
			op_run_get(&r, out[1], v);
		op_run_release(&r);
		graph_free(g);
	}
}

static void test_sgd(void **unused)
{
	static const struct {
		double momentum;
		bool nesterov;
		double decay;
		bool decoupled;
		double want[3];
	} c[] = {
		{ 0, false, 0, false, { 1.01, -1.9925, 0.475 } },
		{ 0, false, 0.1, false, { 0.9805485, -1.933396, 0.46014825 } },
		{ 0.9, false, 0, false, { 0.98795, -1.9673, 0.476125 } },
		{ 0.9, false, 0.1, false, { 0.9326685, -1.856716, 0.44853825 } },
		{ 0.9, true, 0, false, { 0.999155, -1.96307, 0.4535125 } },
		{ 0.9, true, 0.1, false, { 0.9211019115, -1.806542764, 0.41433564675 } },
		{ 0, false, 0.1, true, { 0.9805485, -1.933396, 0.46014825 } },
		{ 0.9, false, 0.1, true, { 0.9585435, -1.908376, 0.46138575 } },
	};

	for (size_t i = 0; i < sizeof c / sizeof *c; i++)
		for (int b = 0; b < 2; b++) {
			double w[3], v[3] = { 0 };
			struct sgd_attr at = { .momentum = c[i].momentum, .nesterov = c[i].nesterov,
				.each = { .weight_decay = { 1, &c[i].decay }, .decoupled = c[i].decoupled } };
			memcpy(w, weights, sizeof w);
			three_sgd_steps(both[b], &at, w, v);
			check_close(w, c[i].want, 3, tolerance(both[b]));
		}
}

static void three_adam_steps(enum backend b, const struct adam_attr *at, double *w)
{
	double m[3] = { 0 }, v[3] = { 0 };
	const double rate = 0.1;
	for (int64_t step = 0; step < 3; step++) {
		struct graph *g = graph_new();
		const struct shape scalar = { 0 };
		tid in[DESCENT_HEAD + 4] = { SCALAR(g, "lr"), NONE, graph_scalar(g, 0.5), NONE, NONE,
		                             state(g, "w", 3), INPUT(g, "g", 3), state(g, "m", 3),
		                             state(g, "v", 3) };
		double count = (double)step;
		tid out[3], *member = in + DESCENT_HEAD;
		struct op_run r;
		assert_int_equal(graph_input(g, "step", DTYPE_I64, &scalar, &in[DESCENT_STEP]), 0);
		assert_int_equal(graph_emit(g, "adam", at, DESCENT_HEAD + 4, in, 3, out), 0);
		op_run_init(&r, g, b, false);
		op_run_set(&r, in[DESCENT_RATE], &rate);
		op_run_set(&r, in[DESCENT_STEP], &count);
		op_run_set(&r, member[0], w);
		op_run_set(&r, member[1], gradients[step]);
		op_run_set(&r, member[2], m);
		op_run_set(&r, member[3], v);
		op_run_all(&r);
		op_run_get(&r, out[0], w);
		op_run_get(&r, out[1], m);
		op_run_get(&r, out[2], v);
		op_run_release(&r);
		graph_free(g);
	}
}

static void test_adam(void **unused)
{
	static const struct {
		double beta1, beta2, eps, decay;
		bool decoupled;
		double want[3];
	} c[] = {
		{ 0.9, 0.999, 1e-8, 0, false,
		  { 0.83167751324974915, -1.8600103254679805, 0.40228625209307339 } },
		{ 0.9, 0.999, 1e-8, 0.1, false,
		  { 0.78041091152006625, -1.7364575730161509, 0.36694046626784116 } },
		{ 0.8, 0.9, 0.01, 0, false,
		  { 0.86003676320082645, -1.8776258971509381, 0.41067092559579754 } },
		{ 0.9, 0.999, 1e-8, 0.1, true,
		  { 0.80488429388865712, -1.8028646623912938, 0.38905964842535828 } },
	};

	for (size_t i = 0; i < sizeof c / sizeof *c; i++)
		for (int b = 0; b < 2; b++) {
			double w[3];
			struct adam_attr at = { .beta1 = c[i].beta1, .beta2 = c[i].beta2, .eps = c[i].eps,
				.each = { .weight_decay = { 1, &c[i].decay }, .decoupled = c[i].decoupled } };
			memcpy(w, weights, sizeof w);
			three_adam_steps(both[b], &at, w);
			check_close(w, c[i].want, 3, tolerance(both[b]));
		}
}

/* The first micro-batch overwrites whatever the accumulator holds. */
static void test_accumulate(void **unused)
{
	const double old[3] = { NAN, 1, INFINITY }, grad[3] = { 1, 2, 3 };
	const struct shape scalar = { 0 };
	for (int b = 0; b < 2; b++) {
		double got[3], index = 0;
		struct graph *g = graph_new();
		tid in[3] = { NONE, state(g, "acc", 3), INPUT(g, "g", 3) }, out;
		struct op_run r;
		assert_int_equal(graph_input(g, "index", DTYPE_I64, &scalar, &in[0]), 0);
		assert_int_equal(graph_emit1(g, "accumulate", NULL, 3, in, &out), 0);
		op_run_init(&r, g, both[b], false);
		op_run_set(&r, in[1], old);
		op_run_set(&r, in[2], grad);
		op_run_set(&r, in[0], &index);
		op_run_all(&r);
		op_run_get(&r, out, got);
		check_close(got, grad, 3, 0);
		index = 1;
		op_run_set(&r, in[0], &index);
		op_run_all(&r);
		op_run_get(&r, out, got);
		check_close(got, (double[]){ 2, 4, 6 }, 3, 0);
		op_run_release(&r);
		graph_free(g);
	}
}

static void test_clip(void **unused)
{
	static const struct {
		double scale, a, b, max, want;
	} c[] = {
		{ 1, 9, 16, 10, 1 },     { 1, 9, 16, 5, 1 },     { 1, 9, 16, 1, 0.2 },  { 1, 0, 0, 1, 1 },
		{ 1, NAN, 1, 1, NAN },   { 0.5, 9, 16, 1, 0.2 }, { 0.25, 9, 16, 2, 0.25 },
	};

	for (size_t i = 0; i < sizeof c / sizeof *c; i++)
		for (int b = 0; b < 2; b++) {
			struct graph *g = graph_new();
			const struct shape scalar = { 0 };
			struct clip_factor_attr at = { c[i].max };
			tid in[3] = { graph_scalar(g, c[i].scale) }, out;
			double got;
			struct op_run r;
			assert_int_equal(graph_input(g, "a", DTYPE_F32, &scalar, &in[1]), 0);
			assert_int_equal(graph_input(g, "b", DTYPE_F32, &scalar, &in[2]), 0);
			assert_int_equal(graph_emit1(g, "clip_factor", &at, 3, in, &out), 0);
			op_run_init(&r, g, both[b], false);
			op_run_set(&r, in[1], &c[i].a);
			op_run_set(&r, in[2], &c[i].b);
			op_run_all(&r);
			op_run_get(&r, out, &got);
			assert_true(isnan(c[i].want) ? isnan(got) : fabs(got - c[i].want) < 1e-7);
			op_run_release(&r);
			graph_free(g);
		}
}

/* Weights (3, 4), gradient (0.6, 0.8) times 0.5, decay 0.1. */
static void test_norms(void **unused)
{
	const double w[2] = { 3, 4 }, d[2] = { 0.6, 0.8 }, decay = 0.1;
	for (int b = 0; b < 2; b++) {
		struct graph *g = graph_new();
		struct norms_attr at = { { 1, &decay } };
		tid in[3] = { graph_scalar(g, 0.5), INPUT(g, "w", 2), INPUT(g, "d", 2) }, out;
		double got[2];
		struct op_run r;
		assert_int_equal(graph_emit1(g, "norms", &at, 3, in, &out), 0);
		op_run_init(&r, g, both[b], false);
		op_run_set(&r, in[1], w);
		op_run_set(&r, in[2], d);
		op_run_all(&r);
		op_run_get(&r, out, got);
		check_close(got, (double[]){ 5, 1 }, 2, 1e-6);   /* |(0.3 + 0.3, 0.4 + 0.4)| */
		op_run_release(&r);
		graph_free(g);
	}
}

static void test_trust_ratio(void **unused)
{
	static const struct {
		double w, g, eta, eps, least, zero;
		bool clip, by_rate;
		double decay, want;
	} c[] = {                                                   /* at a rate of 0.1 */
		{ 5, 0.5, 0.01, 0, 0, 1, false, false, 0, 0.1 },        /* LARS: 0.01 * 5 / 0.5 */
		{ 5, 0.5, 0.01, 0, 0, 1, false, false, 0.1, 0.05 },     /* 0.05 / (0.5 + 0.1 * 5) */
		{ 5, 0.5, 1, 0, 0, 1, false, false, 0, 10 },            /* LAMB */
		/* Apex: 0.1 / (0.5 + 1.5) of the rate */
		{ 5, 0.5, 0.02, 0, 0, 1, true, true, 0.3, 0.5 },
		{ 5, 0.5, 0.001, 0, 0, 1, true, true, 0, 0.1 },
		{ 5, 0.5, 0.001, 0.5, 0, 1, true, true, 0, 0.05 },
		{ 5, 0.5, 0.002, 0, 0, 6.25e-5, true, false, 0, 0.02 }, /* SC18: against one */
		{ 5, 0.0005, 0.002, 0, 0, 6.25e-5, true, false, 0, 1 },
		{ 0, 0.5, 0.002, 0, 0, 6.25e-5, true, false, 0, 6.25e-5 },
		{ 5, 0, 0.01, 0, 0, 1, false, false, 0.1, 1 },
		{ 0, 0.5, 0.002, 1e-7, 1e-7, NAN, true, true, 0, 1e-7 }, /* OpenSeq2Seq */
		{ 5, 500, 0.001, 1e-6, 1e-4, NAN, true, false, 0, 1e-4 }, /* stemdl: 1e-5 at least 1e-4 */
		{ 0, 0, 0.001, 0, 0, NAN, true, false, 0, 1 },
	};

	for (size_t i = 0; i < sizeof c / sizeof *c; i++)
		for (int b = 0; b < 2; b++) {
			struct graph *g = graph_new();
			double norms[2] = { c[i].w, c[i].g }, got;
			struct trust_ratio_attr at = { .eta = c[i].eta, .eps = c[i].eps, .least = c[i].least,
				.zero = c[i].zero, .clip = c[i].clip, .by_rate = c[i].by_rate,
				.decay = { 1, &c[i].decay } };
			tid in[2] = { INPUT(g, "n", 2, 1), graph_scalar(g, 0.1) }, out;
			struct op_run r;
			assert_int_equal(graph_emit1(g, "trust_ratio", &at, 2, in, &out), 0);
			op_run_init(&r, g, both[b], false);
			op_run_set(&r, in[0], norms);
			op_run_all(&r);
			op_run_get(&r, out, &got);
			check_close(&got, &c[i].want, 1, 1e-7);
			op_run_release(&r);
			graph_free(g);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sgd),
		cmocka_unit_test(test_adam),
		cmocka_unit_test(test_norms),
		cmocka_unit_test(test_trust_ratio),
		cmocka_unit_test(test_accumulate),
		cmocka_unit_test(test_clip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
