/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The unet3d family against the published table: parameters, tensors, flops, the size of every
 * level, and what its keys do. */
#include "graph/op.h"
#include "volume_net.h"

#define LITS(more) "{family: unet3d, variant: lits" more "}"

static void test_published_counts(void **state)
{
	static const struct {
		const char *yaml;
		int64_t channels, side;
		struct counts want;
	} t[] = {
		{ LITS(""), 1, 128, { 19070560, 46, 3908017586176, 0 } },
		{ LITS(""), 1, 256, { 19070560, 46, 31264140689408, 0 } },
		{ "{family: unet3d}", 1, 128, { 19070560, 46, 3908017586176, 0 } },
		/* as Cicek et al. count: 3 channels, biases, no batch norm */
		{ LITS(", batch_norm: false, conv_bias: true, output_bias: true"), 3, 128,
		  { 19069955, 33, 3908017586176 + 2 * 27.0 * 2 * 32 * 128 * 128 * 128, 0 } },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct net n;
		net_build(&n, t[i].yaml, t[i].channels, t[i].side, 3);
		struct counts got = net_count(&n);
		if (got.parameters != t[i].want.parameters || got.tensors != t[i].want.tensors ||
		    got.conv != t[i].want.conv || got.dense != t[i].want.dense)
			fail_msg("%s: %lld parameters, %lld tensors, %.0f + %.0f flops", t[i].yaml,
			         (long long)got.parameters, (long long)got.tensors, got.conv, got.dense);
		net_release(&n);
	}
}

static void test_sizes(void **state)
{
	static const struct row even[] = {
		{ "down1.conv1", 32, 128 },  { "down1.conv2", 64, 128 },   { "pool1", 64, 64 },
		{ "down3.conv2", 256, 32 },  { "pool3", 256, 16 },         { "bottom.conv1", 256, 16 },
		{ "bottom.conv2", 512, 16 }, { "deconv3", 512, 32 },       { "concat3", 768, 32 },
		{ "up3.conv1", 256, 32 },    { "up3.conv2", 256, 32 },     { "deconv2", 256, 64 },
		{ "up2.conv2", 128, 64 },    { "concat1", 128 + 64, 128 }, { "up1.conv1", 64, 128 },
		{ "output", 3, 128 },        { 0 }
	};
	static const struct row odd[] = { { "pool1", 64, 11 },  { "pool2", 128, 6 },
		{ "pool3", 256, 3 },
		                              { "deconv3", 512, 6 }, { "deconv2", 256, 11 },
		                              { "deconv1", 128, 21 }, { "output", 3, 21 }, { 0 } };
	static const struct row small[] = { { "down2.conv1", 8, 8 }, { "down2.conv2", 16, 8 },
		                                { "down3.conv1", 0, 0 }, { "bottom.conv2", 32, 4 },
		                                { "output", 3, 16 },     { 0 } };
	net_rows(LITS(""), 1, 128, even);
	net_rows(LITS(""), 1, 21, odd);
	net_rows(LITS(", filters: 4, levels: 2"), 1, 16, small);
}

static void test_order(void **state)
{
	struct net n;
	net_build(&n, LITS(""), 1, 16, 3);
	assert_string_equal(net_feeds(&n, "down1.norm1"), "down1.conv1");
	assert_string_equal(net_feeds(&n, "down1.act1"), "down1.norm1");
	assert_string_equal(net_node(&n, "down1.act1")->op->name, "leaky_relu");
	assert_string_equal(net_feeds(&n, "concat1"), "deconv1");
	assert_string_equal(net_feeds(&n, "output"), "up1.act2");
	assert_int_equal(graph_find(n.g, "deconv1.bias"), NONE);
	net_release(&n);
	net_build(&n, LITS(", batch_norm: false, slope: 0"), 1, 16, 3);
	assert_string_equal(net_feeds(&n, "down1.act1"), "down1.conv1");
	assert_string_equal(net_node(&n, "down1.act1")->op->name, "relu");
	net_release(&n);
}

static void test_refused(void **state)
{
	net_refused(LITS(", levels: 0"), 1, 16, "levels");
	net_refused(LITS(", slope: -1"), 1, 16, "slope");
	net_refused("{family: unet3d, variant: lit}", 1, 16, "lits");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_counts),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
