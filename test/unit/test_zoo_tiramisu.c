/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tiramisu family against the tables of Kurth et al. 2018 and Jegou et al. 2017: counts, names,
 * shapes, where dropout and batch norm stand. */
#include <math.h>

#include "zoo_image.h"

#define IMAGES(n, c, h, w) ((struct shape){ 4, { n, c, h, w } })
#define VECTOR(n)          ((struct shape){ 1, { n } })

static int count_ops(const struct net *n, const char *op)
{
	int sum = 0;
	for (int i = 0; i < n->g->nnode; i++)
		sum += strcmp(n->g->node[i]->op->name, op) == 0;
	return sum;
}

/* Kurth: 7,504,835 of the parameters live, 4.188 TFLOP training a sample; 3.703 on Piz Daint. */
static void test_published(void **state)
{
	static const struct {
		const char *yaml;
		int64_t classes, parameters;
		int tensors;
		struct shape in;
		double flops;
	} t[] = {
		{ "{family: tiramisu, variant: sc18}", 3, 7801315, 72, IMAGES(1, 16, 768, 1152),
		  1396433682432 },
		{ "{family: tiramisu, unused_transition: false}", 3, 7504835, 70,
		  IMAGES(1, 16, 768, 1152), 1395922305024 },
		{ "{family: tiramisu, batch_norm: true}", 3, 7806051, 134, IMAGES(1, 16, 768, 1152),
		  1396433682432 },
		{ "{family: tiramisu, batch_norm: true, unused_transition: false}", 3, 7508483, 130,
		  IMAGES(1, 16, 768, 1152), 1395922305024 },
		{ "{family: tiramisu, variant: daint, unused_transition: false}", 3, 7134211, 70,
		  IMAGES(1, 4, 768, 1152), 1234197872640 },
		{ "{family: tiramisu, variant: daint}", 3, 7413523, 72, IMAGES(1, 4, 768, 1152),
		  1234679611392 },
		{ "{family: tiramisu, kernel: 3}", 3, 3459555, 72,
		  IMAGES(1, 16, 768, 1152), 529647206400 },
		{ "{family: tiramisu, variant: fc-densenet56}", 11, 1376795, 210, IMAGES(1, 3, 360, 480),
		  61405801920 },
		{ "{family: tiramisu, variant: fc-densenet67}", 11, 3463243, 254, IMAGES(1, 3, 360, 480),
		  143933959680 },
		{ "{family: tiramisu, variant: fc-densenet103}", 11, 9322091, 398,
		  IMAGES(1, 3, 360, 480), 138136128000 },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct net n;
		int tensors;
		struct shape out = t[i].in;
		out.d[1] = t[i].classes;
		net_new(&n, t[i].yaml, t[i].classes, t[i].in);
		assert_int_equal(net_parameters(&n, &tensors), t[i].parameters);
		assert_int_equal(tensors, t[i].tensors);
		if (net_flops(&n) != t[i].flops)
			fail_msg("%s: %.0f flops, expected %.0f", t[i].yaml, net_flops(&n), t[i].flops);
		net_assert_shape("output", &graph_t(n.g, n.out)->shape, out);
		net_release(&n);
	}
}

/* Rows of the table of Kurth's network. */
static void test_kurth(void **state)
{
	struct net n;
	net_new(&n, "{family: tiramisu}", 3, IMAGES(1, 16, 768, 1152));
	net_assert_param(&n, "conv_input.conv.weight", IMAGES(64, 16, 5, 5));
	net_assert_param(&n, "dense_0.1.conv.weight", IMAGES(32, 96, 5, 5));
	net_assert_param(&n, "down_0.conv.weight", IMAGES(128, 128, 1, 1));
	net_assert_param(&n, "dense_3.3.conv.weight", IMAGES(32, 352, 5, 5));
	net_assert_param(&n, "dense_4.4.conv.bias", VECTOR(32));
	net_assert_param(&n, "down_4.conv.weight", IMAGES(544, 544, 1, 1));
	net_assert_param(&n, "up_0.conv.weight", IMAGES(160, 160, 3, 3));
	net_assert_param(&n, "dense_5.3.conv.weight", IMAGES(32, 640, 5, 5));
	net_assert_param(&n, "up_3.conv.weight", IMAGES(64, 64, 3, 3));
	net_assert_param(&n, "dense_8.1.conv.weight", IMAGES(32, 224, 5, 5));
	net_assert_param(&n, "conv_output.weight", IMAGES(3, 256, 1, 1));
	net_assert_layer(&n, "down_3.conv", "conv", IMAGES(1, 384, 48, 72));
	net_assert_layer(&n, "up_0.conv", "conv_grad_input", IMAGES(1, 160, 96, 144));
	net_assert_layer(&n, "dense_8.1.dropout", "dropout", IMAGES(1, 32, 768, 1152));
	net_assert_layer(&n, "conv_output.dropout", "dropout", IMAGES(1, 3, 768, 1152));
	assert_int_equal(graph_find(n.g, "dense_0.0.norm.weight"), NONE);
	/* 25 layers, 4 transitions, first and last convolution; the dead layer has none */
	assert_int_equal(count_ops(&n, "dropout"), 32 - 1);
	const struct init w = net_param(&n, "dense_0.1.conv.weight")->init;
	assert_true(w.kind == INIT_UNIFORM && fabs(w.a - sqrt(6.0 / (96 * 25))) < 1e-15);
	net_release(&n);
}

static void test_jegou(void **state)
{
	struct net n;
	net_new(&n, "{family: tiramisu, variant: fc-densenet103}", 12, IMAGES(1, 3, 360, 480));
	net_assert_param(&n, "conv_input.conv.weight", IMAGES(48, 3, 3, 3));
	assert_int_equal(graph_find(n.g, "conv_input.norm.weight"), NONE);
	net_assert_param(&n, "dense_0.0.norm.weight", VECTOR(48));
	net_assert_param(&n, "down_4.norm.running_var", VECTOR(656));
	net_assert_param(&n, "dense_5.14.conv.weight", IMAGES(16, 880, 3, 3));
	net_assert_param(&n, "up_0.conv.weight", IMAGES(240, 240, 3, 3));
	net_assert_param(&n, "dense_6.11.conv.weight", IMAGES(16, 896 + 176, 3, 3));
	net_assert_param(&n, "conv_output.weight", IMAGES(12, 256, 1, 1));
	/* 45 rows make 22, and 22 make 45 again */
	net_assert_layer(&n, "down_3.pool", "max_pool", IMAGES(1, 464, 22, 30));
	net_assert_layer(&n, "up_1.conv", "conv_grad_input", IMAGES(1, 192, 45, 60));
	assert_int_equal(graph_find(n.g, "down_5.conv.weight"), NONE);
	assert_int_equal(count_ops(&n, "dropout"), 5 + 15 + 2 * 38 + 5 - 5);
	net_release(&n);
}

/* In evaluation nothing is dropped, and the dead layer's batch norm never learns. */
static void test_modes(void **state)
{
	struct net n;
	assert_int_equal(net_try(&n, "{family: tiramisu}", false, 3, IMAGES(1, 16, 32, 48)), 0);
	assert_int_equal(count_ops(&n, "dropout"), 0);
	net_release(&n);
	net_new(&n, "{family: tiramisu, batch_norm: true}", 3, IMAGES(1, 16, 32, 48));
	assert_int_equal(count_ops(&n, "batch_norm"), 1 + 25 + 4);
	assert_int_equal(count_ops(&n, "ema_update"), 2 * (1 + 25 + 4));
	net_release(&n);
}

static void test_odd_sizes(void **state)
{
	struct net n;
	net_new(&n, "{family: tiramisu, blocks: [1, 2, 3]}", 3, IMAGES(1, 2, 19, 22));
	net_assert_layer(&n, "down_1.conv", "conv", IMAGES(1, 64 + 32 + 64, 5, 6));
	net_assert_layer(&n, "up_0.conv", "conv_grad_input", IMAGES(1, 96, 10, 11));
	net_assert_shape("output", &graph_t(n.g, n.out)->shape, IMAGES(1, 3, 19, 22));
	net_release(&n);
	net_new(&n, "{family: tiramisu, blocks: 2, variant: fc-densenet56}", 3, IMAGES(1, 2, 7, 5));
	assert_int_equal(graph_find(n.g, "up_0.conv.weight"), NONE);
	net_release(&n);
}

static void test_refused(void **state)
{
	struct net n;
	assert_int_equal(net_try(&n, "{family: tiramisu, blocks: [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]}",
	                         true, 3, IMAGES(1, 3, 32, 32)),
	                 E_CONFIG);
	assert_non_null(strstr(err_get(0)->text, "12"));
	net_release(&n);
	assert_int_equal(net_try(&n, "{family: tiramisu, variant: fc-densenet67}", true, 3,
	                         IMAGES(2, 3, 16, 16)),
	                 E_SHAPE);
	net_release(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published), cmocka_unit_test(test_kurth),
		cmocka_unit_test(test_jegou),     cmocka_unit_test(test_modes),
		cmocka_unit_test(test_odd_sizes), cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
