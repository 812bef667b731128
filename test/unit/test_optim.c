/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What losses, optimizers and clipping put into a graph: ops, attributes, states and their names,
 * class weights; what they refuse. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "op/update/update.h"
#include "optim/optim.h"

struct fixture {
	struct arena *a;
	struct graph *g;
	tid logits, labels, field;
	tid param[2], grad[2];
	struct bundles *bundles;
	struct optim_input in;
};

static void setup(struct fixture *f)
{
	struct shape scalar = { 0 }, w = { 4, { 8, 3, 3, 3 } }, b = { 1, { 8 } };
	struct shape out = { 4, { 2, 4, 6, 5 } }, map = { 3, { 2, 6, 5 } };
	struct init zero = { INIT_CONSTANT, 0 };
	f->a = arena_new();
	f->g = graph_new();
	assert_int_equal(graph_param(f->g, "c.weight", DTYPE_F32, &w, zero, &f->param[0]), 0);
	assert_int_equal(graph_param(f->g, "c.bias", DTYPE_F32, &b, zero, &f->param[1]), 0);
	assert_int_equal(graph_input(f->g, "dw", DTYPE_F32, &w, &f->grad[0]), 0);
	assert_int_equal(graph_input(f->g, "db", DTYPE_F32, &b, &f->grad[1]), 0);
	assert_int_equal(graph_input(f->g, "lr", DTYPE_F32, &scalar, &f->in.learning_rate), 0);
	assert_int_equal(graph_input(f->g, "step", DTYPE_I64, &scalar, &f->in.step), 0);
	assert_int_equal(graph_input(f->g, "logits", DTYPE_F32, &out, &f->logits), 0);
	assert_int_equal(graph_input(f->g, "field", DTYPE_F32, &out, &f->field), 0);
	assert_int_equal(graph_input(f->g, "labels", DTYPE_I32, &map, &f->labels), 0);
	f->in.grad_scale = f->in.apply = NONE;
	f->bundles = bundles_new(f->g, NULL, 2, f->param, f->grad, BUNDLE_CACHED, NULL);
	err_clear();
}

static void teardown(struct fixture *f)
{
	graph_free(f->g);
	arena_free(f->a);
	err_clear();
}

static struct variant_value read_as(struct fixture *f, const char *yaml,
                                    const struct variant *variants)
{
	struct ynode *root;
	struct variant_value v;
	assert_int_equal(ytree_parse(f->a, "test.yaml", yaml, &root), 0);
	assert_int_equal(schema_read_variant(f->a, root, variants, "'it'", &v), 0);
	return v;
}

static const struct node *last(const struct fixture *f, const char *op)
{
	for (int i = f->g->nnode - 1; i >= 0; i--)
		if (strcmp(f->g->node[i]->op->name, op) == 0)
			return f->g->node[i];
	fail_msg("no node '%s'", op);
	return NULL;
}

/* --- optimizers --- */

static void test_sgd(void **state)
{
	struct fixture f;
	setup(&f);
	struct variant_value v = read_as(&f, "{type: sgd, learning_rate: 0.5}", optimizer_variants);
	assert_true(optim_learning_rate(&v) == 0.5);
	assert_int_equal(optim_emit(f.g, &v, f.bundles, &f.in), 0);
	assert_int_equal(f.g->nnode, 1);
	assert_int_equal(graph_find(f.g, "c.weight.momentum"), NONE);
	const struct node *n = f.g->node[0];
	assert_int_equal(n->phase, PHASE_UPDATE);
	assert_int_equal(n->in[DESCENT_HEAD], f.param[0]);
	assert_int_equal(graph_root(f.g, n->out[0]), f.param[0]);
	assert_int_equal(graph_root(f.g, n->out[1]), f.param[1]);
	assert_string_equal(n->name, "c.weight and 1 more");
	teardown(&f);
}

static void test_sgd_momentum(void **state)
{
	static const char yaml[] = "{type: sgd, momentum: 0.9, nesterov: true, weight_decay: 1e-4, "
							   "decoupled: true}";
	struct fixture f;
	setup(&f);
	struct variant_value v = read_as(&f, yaml, optimizer_variants);
	assert_int_equal(optim_emit(f.g, &v, f.bundles, &f.in), 0);
	tid m = graph_find(f.g, "c.bias.momentum");
	assert_int_not_equal(m, NONE);
	assert_int_equal(graph_t(f.g, m)->role, ROLE_STATE);
	assert_int_equal(graph_t(f.g, m)->shape.d[0], 8);
	assert_int_equal(graph_root(f.g, last(&f, "sgd")->out[3]), m);
	const struct sgd_attr *a = last(&f, "sgd")->attr;
	assert_true(a->momentum == 0.9 && a->nesterov && a->each.weight_decay.v[0] == 1e-4 &&
	            a->each.decoupled);
	teardown(&f);
}

static void test_adam(void **state)
{
	struct fixture f;
	setup(&f);
	struct variant_value v = read_as(&f, "{type: adam, beta2: 0.99, eps: 1e-6}",
	                                 optimizer_variants);
	assert_true(optim_learning_rate(&v) == 0.001);
	assert_int_equal(clip_emit(f.g, 2.5, f.bundles, NONE, &f.in.grad_scale), 0);
	assert_int_equal(optim_emit(f.g, &v, f.bundles, &f.in), 0);
	assert_int_not_equal(graph_find(f.g, "c.weight.first_moment"), NONE);
	assert_int_not_equal(graph_find(f.g, "c.weight.second_moment"), NONE);
	const struct node *n = last(&f, "adam");
	const struct adam_attr *a = n->attr;
	assert_true(a->beta1 == 0.9 && a->beta2 == 0.99 && a->eps == 1e-6 &&
	            a->each.weight_decay.n == 0);
	assert_int_equal(n->in[DESCENT_STEP], f.in.step);
	assert_int_equal(n->in[DESCENT_SCALE], f.in.grad_scale);
	teardown(&f);
}

/* In the order in which gradients are ready; a megabyte each, what is larger alone. */
static void test_bundles(void **state)
{
	static const int64_t size[] = { 10, 200000, 100000, 300000, 20 };
	static const int order[] = { 4, 2, 1, 3, 0 }, first[] = { 0, 2, 3, 4, 5 };
	struct fixture f;
	tid param[5], grad[5];
	setup(&f);
	for (int i = 0; i < 5; i++) {
		struct shape s = { 1, { size[i] } };
		char name[8];
		snprintf(name, sizeof name, "p%d", i);
		assert_int_equal(graph_param(f.g, name, DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 },
		                             &param[i]), 0);
	}
	for (int i = 0; i < 5; i++)
		assert_int_equal(graph_emit1(f.g, "relu", NULL, 1, &param[order[i]], &grad[order[i]]), 0);
	struct bundles *b = bundles_new(f.g, NULL, 5, param, grad, BUNDLE_CACHED, NULL);
	assert_int_equal(b->n, 4);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(b->param[i], param[order[i]]);
		assert_int_equal(b->grad[i], grad[order[i]]);
		assert_int_equal(b->first[i], first[i]);
	}
	teardown(&f);
}

static void test_clip(void **state)
{
	struct fixture f;
	tid factor;
	setup(&f);
	assert_int_equal(clip_emit(f.g, 2.5, f.bundles, NONE, &factor), 0);
	const struct node *n = last(&f, "clip_factor");
	assert_int_equal(n->nin, 2);
	assert_int_equal(n->out[0], factor);
	assert_int_equal(n->phase, PHASE_UPDATE);
	assert_int_equal(graph_t(f.g, factor)->shape.nd, 0);
	teardown(&f);
}

static void test_nesterov_needs_momentum(void **state)
{
	struct fixture f;
	setup(&f);
	struct variant_value v = read_as(&f, "{type: sgd, nesterov: true}", optimizer_variants);
	assert_int_equal(optim_check(&v), E_CONFIG);
	assert_non_null(strstr(err_get(0)->text, "'nesterov' needs a 'momentum'"));
	assert_int_equal(err_get(0)->loc.line, 1);
	teardown(&f);
}

/* --- losses --- */

#define CE "{type: softmax_cross_entropy, class_weights: "

static const float *weights(struct fixture *f, const char *yaml, const int64_t *counts)
{
	struct variant_value v = read_as(f, yaml, loss_variants);
	struct loss_out out;
	assert_true(loss_wants_labels(&v));
	assert_int_equal(loss_check(&v), 0);
	assert_int_equal(loss_needs_class_counts(&v), counts != NULL);
	assert_int_equal(loss_emit(f->g, &v, f->logits, f->labels, 255, counts, &out), 0);
	assert_int_equal(graph_t(f->g, out.loss)->shape.nd, 0);
	assert_int_equal(graph_t(f->g, out.weight)->shape.nd, 0);
	const struct node *n = last(f, "softmax_cross_entropy");
	return n->nin > 2 && n->in[2] != NONE ? graph_t(f->g, n->in[2])->value : NULL;
}

static void close_to(const float *v, double a, double b, double c, double d)
{
	double want[4] = { a, b, c, d };
	assert_non_null(v);
	for (int i = 0; i < 4; i++)
		if (!(fabs((double)v[i] - want[i]) < 1e-6 * (1 + want[i])))
			fail_msg("weight %d is %.8g, expected %.8g", i, (double)v[i], want[i]);
}

static void test_class_weights(void **state)
{
	static const int64_t counts[4] = { 10, 40, 0, 50 };
	struct fixture f;
	setup(&f);
	assert_null(weights(&f, "softmax_cross_entropy", NULL));
	assert_null(weights(&f, CE "none}", NULL));
	close_to(weights(&f, CE "[1, 2, 0.5, 3]}", NULL), 1, 2, 0.5, 3);
	close_to(weights(&f, CE "inverse_frequency}", counts), 10, 2.5, 0, 2);
	close_to(weights(&f, CE "inverse_sqrt_frequency}", counts), 3.16227766, 1.58113883, 0,
	         1.41421356);
	close_to(weights(&f, CE "{power: -0.125}}", counts), 1.33352143, 1.12135339, 0, 1.09050773);
	close_to(weights(&f, CE "[1, 2, 0.5, 1.5], normalize: true}", NULL), 0.2, 0.4, 0.1, 0.3);
	close_to(weights(&f, CE "inverse_frequency, normalize: true}", counts), 10 / 14.5,
	         2.5 / 14.5, 0, 2 / 14.5);
	teardown(&f);
}

/* The numbers of the publications, from the frequencies they give. */
static void test_published_weights(void **state)
{
	/* 0.991, 0.0266 and 0.13 squared */
	static const int64_t sc18[4] = { 982081000, 707560, 16900000, 0 };
	static const int64_t deepcam[4] = { 98626782, 45787, 1327431, 0 };
	struct fixture f;
	setup(&f);
	close_to(weights(&f, "{type: softmax_cross_entropy, variant: sc18}", sc18), 0.0217966,
	         0.8120462, 0.1661572, 0);
	close_to(weights(&f, "{type: softmax_cross_entropy, variant: mlperf-deepcam}", deepcam),
	         1.00172991, 2.61461122, 1.71641975, 0);
	teardown(&f);
}

/* What a loss section comes to in the op's attributes. */
static void test_label_loss_attributes(void **state)
{
	static const struct {
		const char *yaml, *text;
	} cases[] = {
		{ "softmax_cross_entropy",
		  "ignore: 255\nreduction: mean\nscale: 1\ngamma: 0\nsmoothing: 0\n" },
		{ "{type: softmax_cross_entropy, reduction: mean_pixels, scale: 4}",
		  "ignore: 255\nreduction: mean_pixels\nscale: 4\ngamma: 0\nsmoothing: 0\n" },
		{ "{type: softmax_cross_entropy, variant: sc18, class_weights: none, scale: 0.25}",
		  "ignore: 255\nreduction: sum\nscale: 0.25\ngamma: 0\nsmoothing: 0\n" },
		{ "{type: softmax_cross_entropy, label_smoothing: 0.1}",
		  "ignore: 255\nreduction: mean\nscale: 1\ngamma: 0\nsmoothing: 0.1\n" },
		{ "focal", "ignore: 255\nreduction: mean\nscale: 1\ngamma: 2\nsmoothing: 0\n" },
		{ "{type: focal, gamma: 0.5, alpha: 0.25, scale: 8, reduction: sum}",
		  "ignore: 255\nreduction: sum\nscale: 2\ngamma: 0.5\nsmoothing: 0\n" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fixture f;
		struct buf text = BUF_INIT;
		setup(&f);
		assert_null(weights(&f, cases[i].yaml, NULL));
		const struct node *n = last(&f, "softmax_cross_entropy");
		ytree_write(&text, schema_write(f.g->arena, n->op->attrs, n->attr));
		assert_string_equal(text.data, cases[i].text);
		buf_release(&text);
		teardown(&f);
	}
}

/* The same of ops other than softmax_cross_entropy. */
static void test_other_loss_attributes(void **state)
{
	static const struct {
		const char *yaml, *op, *text;
		int inputs;
	} cases[] = {
		{ "{type: dice, scale: 2, squared: true, background: false}", "dice_loss",
		  "ignore: 255\nsquared: true\nbackground: false\nper_batch: false\n"
		  "smooth_numerator: 1e-05\nsmooth_denominator: 1e-05\ndice: 2\ncross_entropy: 0\n"
		  "group: -1\n", 2 },
		{ "{type: dice_cross_entropy, scale: 2, cross_entropy_weight: 3, "
		  "class_weights: [1, 2, 3, 4]}",
		  "dice_loss", "ignore: 255\nsquared: false\nbackground: true\nper_batch: false\n"
		  "smooth_numerator: 1e-05\nsmooth_denominator: 1e-05\ndice: 2\ncross_entropy: 6\n"
		  "group: -1\n", 3 },
		{ "binary_cross_entropy", "element_loss",
		  "kind: logistic\ndelta: 1\nskip_nan: true\nskip: 255\n", 2 },
		{ "{type: binary_cross_entropy, positive_weight: 2, ignore: -1}", "element_loss",
		  "kind: logistic\ndelta: 1\nskip_nan: true\nskip: -1\n", 3 },
		{ "{type: l1, mask: nan}", "element_loss",
		  "kind: absolute\ndelta: 1\nskip_nan: true\nskip: null\n", 2 },
		{ "{type: huber, delta: 2, mask: -9, output_weights: [1, 0, 1, 1]}", "element_loss",
		  "kind: huber\ndelta: 2\nskip_nan: false\nskip: -9\n", 3 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fixture f;
		struct buf text = BUF_INIT;
		struct loss_out out;
		setup(&f);
		struct variant_value v = read_as(&f, cases[i].yaml, loss_variants);
		tid target = loss_wants_labels(&v) ? f.labels : f.field;
		assert_int_equal(loss_check(&v), 0);
		assert_int_equal(loss_emit(f.g, &v, f.logits, target, 255, NULL, &out), 0);
		const struct node *n = last(&f, cases[i].op);
		assert_int_equal(n->nin, cases[i].inputs);
		ytree_write(&text, schema_write(f.g->arena, n->op->attrs, n->attr));
		assert_string_equal(text.data, cases[i].text);
		buf_release(&text);
		teardown(&f);
	}
}

static void test_loss_mask(void **state)
{
	struct fixture f;
	struct variant_value v;
	double value;
	setup(&f);
	v = read_as(&f, "mse", loss_variants);
	assert_false(loss_mask(&v, &value));
	v = read_as(&f, "dice", loss_variants);
	assert_false(loss_mask(&v, &value));
	v = read_as(&f, "{type: l1, mask: -9}", loss_variants);
	assert_true(loss_mask(&v, &value) && value == -9);
	v = read_as(&f, "{type: huber, mask: .nan}", loss_variants);
	assert_true(loss_mask(&v, &value) && isnan(value));
	teardown(&f);
}

static void test_field_losses(void **state)
{
	static const char *const yaml[] = { "mse", "l1", "{type: huber, delta: 2}" };
	static const char *const op[] = { "mse_loss", "l1_loss", "huber_loss" };
	struct fixture f;
	setup(&f);
	for (int i = 0; i < 3; i++) {
		struct variant_value v = read_as(&f, yaml[i], loss_variants);
		struct loss_out out;
		assert_false(loss_wants_labels(&v));
		assert_false(loss_needs_class_counts(&v));
		assert_int_equal(loss_check(&v), 0);
		assert_int_equal(loss_emit(f.g, &v, f.logits, f.field, INT64_MIN, NULL, &out), 0);
		assert_int_equal(last(&f, op[i])->out[0], out.loss);
		assert_int_equal(last(&f, op[i])->out[1], out.weight);
	}
	teardown(&f);
}

static void loss_refused(const char *yaml, bool field, const char *message)
{
	struct fixture f;
	struct loss_out out;
	bool found = false;
	setup(&f);
	struct variant_value v = read_as(&f, yaml, loss_variants);
	tid target = field ? f.field : f.labels;
	assert_true(loss_emit(f.g, &v, f.logits, target, 255, (int64_t[4]){ 0 }, &out) < 0);
	for (int i = 0; i < err_count(); i++)
		found |= strstr(err_get(i)->text, message) && err_get(i)->loc.line == 1;
	if (!found)
		fail_msg("%s: '%s'", yaml, err_count() ? err_get(0)->text : "no error");
	teardown(&f);
}

static void test_losses_refused(void **state)
{
	loss_refused(CE "[1, 2]}", false, "2 numbers, but there are 4 classes");
	loss_refused(CE "inverse}", false, "'class_weights' is 'inverse'");
	loss_refused(CE "{pover: 1}}", false, "did you mean 'power'");
	loss_refused(CE "[1, x, 1, 1]}", false, "'x'");
	loss_refused(CE "inverse_frequency}", false, "has none that count");
	loss_refused("softmax_cross_entropy", true, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sgd),
		cmocka_unit_test(test_sgd_momentum),
		cmocka_unit_test(test_adam),
		cmocka_unit_test(test_bundles),
		cmocka_unit_test(test_clip),
		cmocka_unit_test(test_nesterov_needs_momentum),
		cmocka_unit_test(test_class_weights),
		cmocka_unit_test(test_published_weights),
		cmocka_unit_test(test_label_loss_attributes),
		cmocka_unit_test(test_other_loss_attributes),
		cmocka_unit_test(test_loss_mask),
		cmocka_unit_test(test_field_losses),
		cmocka_unit_test(test_losses_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
