/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The resnet family against torchvision's networks: counts, names, shapes, first values. */
#include <math.h>

#include "zoo_image.h"

#define IMAGES(n, c, h, w) ((struct shape){ 4, { n, c, h, w } })
#define VECTOR(n)          ((struct shape){ 1, { n } })

/* torchvision's tables: 11.69, 21.80, 25.56, 44.55 M parameters; 1.81, 3.66, 4.09, 7.80 G
 * multiply-adds. */
static void test_published(void **state)
{
	static const struct {
		const char *yaml;
		int64_t parameters;
		int tensors;
		double multiply_adds;
	} t[] = {
		{ "{family: resnet, depth: 18}", 11689512, 62, 1814073344 },
		{ "{family: resnet, depth: 34}", 21797672, 110, 3663761408 },
		{ "{family: resnet}", 25557032, 161, 4089184256 },
		{ "{family: resnet, depth: 101}", 44549160, 314, 7801405440 },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct net n;
		int tensors;
		net_new(&n, t[i].yaml, 1000, IMAGES(1, 3, 224, 224));
		assert_int_equal(net_parameters(&n, &tensors), t[i].parameters);
		assert_int_equal(tensors, t[i].tensors);
		assert_true(net_flops(&n) == 2 * t[i].multiply_adds);
		net_assert_shape("output", &graph_t(n.g, n.out)->shape, (struct shape){ 2, { 1, 1000 } });
		net_release(&n);
	}
}

static void test_bottlenecks(void **state)
{
	struct net n;
	net_new(&n, "{family: resnet, depth: 101}", 7, IMAGES(2, 5, 65, 96));
	net_assert_param(&n, "conv1.weight", IMAGES(64, 5, 7, 7));
	net_assert_param(&n, "bn1.running_mean", VECTOR(64));
	net_assert_param(&n, "layer1.0.downsample.0.weight", IMAGES(256, 64, 1, 1));
	net_assert_param(&n, "layer3.22.conv3.weight", IMAGES(1024, 256, 1, 1));
	net_assert_param(&n, "layer3.22.bn3.running_var", VECTOR(1024));
	net_assert_param(&n, "layer4.0.downsample.1.bias", VECTOR(2048));
	net_assert_param(&n, "fc.weight", (struct shape){ 2, { 7, 2048 } });
	net_assert_param(&n, "fc.bias", VECTOR(7));
	assert_int_equal(graph_find(n.g, "layer1.1.downsample.0.weight"), NONE);
	assert_int_equal(graph_find(n.g, "layer3.23.conv1.weight"), NONE);
	assert_int_equal(graph_find(n.g, "conv1.bias"), NONE);
	/* v1.5: the 3x3 convolution strides */
	net_assert_layer(&n, "conv1", "conv", IMAGES(2, 64, 33, 48));
	net_assert_layer(&n, "maxpool", "max_pool", IMAGES(2, 64, 17, 24));
	net_assert_layer(&n, "layer1.2.relu", "relu", IMAGES(2, 256, 17, 24));
	net_assert_layer(&n, "layer2.0.conv1", "conv", IMAGES(2, 128, 17, 24));
	net_assert_layer(&n, "layer2.0.conv2", "conv", IMAGES(2, 128, 9, 12));
	net_assert_layer(&n, "layer4.2.relu", "relu", IMAGES(2, 2048, 3, 3));
	net_release(&n);
}

static void test_basic_blocks(void **state)
{
	struct net n;
	net_new(&n, "{family: resnet, depth: 34}", 7, IMAGES(2, 3, 64, 64));
	net_assert_param(&n, "layer2.3.conv2.weight", IMAGES(128, 128, 3, 3));
	net_assert_param(&n, "layer2.0.downsample.0.weight", IMAGES(128, 64, 1, 1));
	assert_int_equal(graph_find(n.g, "layer1.0.downsample.0.weight"), NONE);
	assert_int_equal(graph_find(n.g, "layer1.0.conv3.weight"), NONE);
	net_assert_layer(&n, "layer2.0.conv1", "conv", IMAGES(2, 128, 8, 8));
	net_release(&n);
}

static void test_first_values(void **state)
{
	struct net n;
	net_new(&n, "{family: resnet, depth: 50}", 10, IMAGES(2, 3, 32, 32));
	const struct init w = net_param(&n, "conv1.weight")->init;
	assert_true(w.kind == INIT_NORMAL && fabs(w.a - sqrt(2.0 / (64 * 49))) < 1e-15);
	const struct init fc = net_param(&n, "fc.weight")->init;
	assert_true(fc.kind == INIT_UNIFORM && fabs(fc.a - 1 / sqrt(2048)) < 1e-15);
	assert_true(net_param(&n, "layer1.0.bn3.weight")->init.a == 1);
	net_release(&n);

	net_new(&n, "{family: resnet, depth: 50, zero_init_residual: true}", 10, IMAGES(2, 3, 32, 32));
	assert_true(net_param(&n, "layer1.0.bn3.weight")->init.a == 0);
	assert_true(net_param(&n, "layer1.0.bn2.weight")->init.a == 1);
	assert_true(net_param(&n, "layer1.0.downsample.1.weight")->init.a == 1);
	net_release(&n);
}

static void test_volumes(void **state)
{
	struct net n;
	net_new(&n, "{family: resnet, depth: 18}", 3, (struct shape){ 5, { 1, 2, 33, 32, 16 } });
	net_assert_param(&n, "conv1.weight", (struct shape){ 5, { 64, 2, 7, 7, 7 } });
	net_assert_layer(&n, "maxpool", "max_pool", (struct shape){ 5, { 1, 64, 9, 8, 4 } });
	net_assert_shape("output", &graph_t(n.g, n.out)->shape, (struct shape){ 2, { 1, 3 } });
	net_release(&n);
}

static void test_refused(void **state)
{
	struct net n;
	assert_int_equal(net_try(&n, "{family: resnet, depth: 51}", true, 3, IMAGES(1, 3, 32, 32)),
	                 E_CONFIG);
	net_release(&n);
	assert_int_equal(net_try(&n, "{family: resnet, depth: 50}", true, 3,
	                         (struct shape){ 2, { 4, 3 } }),
	                 E_SHAPE);
	assert_non_null(strstr(err_get(0)->text, "conv1"));
	net_release(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published),    cmocka_unit_test(test_bottlenecks),
		cmocka_unit_test(test_basic_blocks), cmocka_unit_test(test_first_values),
		cmocka_unit_test(test_volumes),      cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
