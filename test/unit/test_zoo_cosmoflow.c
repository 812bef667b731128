/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The cosmoflow family against the published tables: parameters, tensors, flops, the size of every
 * layer's output, and what the keys that tell the variants apart do. */
#include <math.h>

#include "cases.h"
#include "volume_net.h"

/* --- counts --- */

#define V(name) "{family: cosmoflow, variant: " name "}"
#define W(name, more) "{family: cosmoflow, variant: " name ", " more "}"

static void test_published_counts(void **state)
{
	static const struct {
		const char *yaml;
		int64_t channels, side, classes;
		struct counts want;
	} t[] = {
		{ V("sc18"), 1, 128, 3, { 7041443, 20, 21289379072, 9438720 } },
		{ V("lbann-2020"), 4, 128, 4, { 9437636, 13, 18515755008, 9439232 } },
		{ V("lbann-2020"), 4, 256, 4, { 9437636, 13, 147927859200, 9439232 } },
		{ V("lbann-2020"), 4, 512, 4, { 9437636, 13, 1183422873600, 9439232 } },
		{ W("lbann-2020", "batch_norm: true"), 4, 512, 4, { 9439652, 27, 1183422873600, 9439232 } },
		{ V("lbann-2023"), 4, 128, 4, { 35259316, 16, 20837302272, 68159488 } },
		{ V("lbann-2023"), 4, 256, 4, { 37029044, 18, 168510357504, 68159488 } },
		{ V("lbann-2023"), 4, 512, 4, { 38798772, 20, 1349894799360, 68159488 } },
		{ V("mlperf"), 4, 128, 4, { 8907556, 16, 68853694464, 8405504 } },
		{ "{family: cosmoflow}", 4, 128, 4, { 8907556, 16, 68853694464, 8405504 } },
		{ W("mlperf", "convolutions: 0"), 4, 256, 4, { 15985956, 18, 558077313024, 8405504 } },
		{ W("mlperf", "convolutions: 0"), 4, 512, 4, { 23064356, 20, 4471866261504, 8405504 } },
		{ V("mlperf-v0.7"), 4, 128, 4, { 5597604, 16, 20401094656, 8405504 } },
		/* cosmoflow_v1.py of the benchmark's repository */
		{ W("mlperf-v0.7", "padding: valid, filters: 16, max_filters: 16"), 4, 128, 4,
		  { 72724, 16, 3196451840, 127488 } },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct net n;
		net_build(&n, t[i].yaml, t[i].channels, t[i].side, t[i].classes);
		struct counts got = net_count(&n);
		if (got.parameters != t[i].want.parameters || got.tensors != t[i].want.tensors ||
		    got.conv != t[i].want.conv || got.dense != t[i].want.dense)
			fail_msg("%s: %lld parameters, %lld tensors, %.0f + %.0f flops", t[i].yaml,
			         (long long)got.parameters, (long long)got.tensors, got.conv, got.dense);
		const struct shape *s = &graph_t(n.g, n.out)->shape;
		assert_true(s->nd == 2 && s->d[0] == 2 && s->d[1] == t[i].classes);
		net_release(&n);
	}
}

static void test_sizes(void **state)
{
	static const struct row sc18[] = {
		{ "conv1", 16, 126 }, { "pool1", 16, 63 }, { "conv2", 32, 60 },  { "pool2", 32, 30 },
		{ "conv3", 64, 27 },  { "pool3", 64, 13 }, { "conv4", 128, 6 },  { "pool4", 0, 0 },
		{ "conv5", 256, 4 },  { "conv6", 256, 3 }, { "conv7", 256, 2 },  { 0 }
	};
	static const struct row oyama128[] = {
		{ "conv1", 16, 128 }, { "pool1", 16, 64 }, { "pool3", 64, 16 }, { "conv4", 128, 8 },
		{ "pool4", 128, 4 },  { "conv5", 256, 4 }, { "pool5", 256, 2 }, { "conv6", 256, 2 },
		{ "pool6", 0, 0 },    { "conv7", 256, 2 }, { "pool7", 0, 0 },   { 0 }
	};
	static const struct row oyama256[] = { { "conv6", 256, 4 }, { "pool6", 256, 2 },
		                                   { "conv7", 256, 2 }, { "pool7", 0, 0 },
		                                   { 0 } };
	static const struct row oyama512[] = { { "pool6", 256, 4 }, { "conv7", 256, 4 },
		                                   { "pool7", 256, 2 }, { 0 } };
	static const struct row mlperf[] = { { "conv1", 32, 128 }, { "pool1", 32, 64 },
		                                 { "pool3", 128, 16 }, { "conv5", 512, 8 },
		                                 { "pool5", 512, 4 },  { 0 } };
	static const struct row v1[] = { { "conv1", 16, 127 }, { "pool1", 16, 63 }, { "pool2", 16, 31 },
		                             { "pool3", 16, 15 },  { "pool4", 16, 7 },  { "pool5", 16, 3 },
		                             { 0 } };
	net_rows(V("sc18"), 1, 128, sc18);
	net_rows(V("lbann-2020"), 4, 128, oyama128);
	net_rows(V("lbann-2020"), 4, 256, oyama256);
	net_rows(V("lbann-2020"), 4, 512, oyama512);
	net_rows(V("mlperf"), 4, 128, mlperf);
	net_rows(V("mlperf-v0.7"), 4, 128, mlperf);
	net_rows(W("mlperf-v0.7", "padding: valid, filters: 16, max_filters: 16"), 4, 128, v1);
}

/* --- first values, order of layers --- */

static struct init init_of(const struct net *n, const char *name)
{
	tid t = graph_find(n->g, name);
	if (t == NONE)
		fail_msg("no parameter '%s'", name);
	return graph_t(n->g, t)->init;
}

static bool starts_at(const struct net *n, const char *name, double value)
{
	struct init i = init_of(n, name);
	return i.kind == INIT_CONSTANT && i.a == value;
}

static void test_first_values(void **state)
{
	struct net n;
	net_build(&n, V("sc18"), 1, 128, 3);
	assert_true(starts_at(&n, "conv1.bias", 0.1) && starts_at(&n, "fc3.bias", 0.1));
	assert_int_equal(init_of(&n, "conv1.weight").kind, INIT_UNIFORM);
	assert_true(fabs(init_of(&n, "conv1.weight").a - sqrt(6.0 / (27 + 16 * 27))) < 1e-12);
	net_release(&n);
	net_build(&n, V("lbann-2023"), 4, 128, 4);
	assert_true(starts_at(&n, "fc3.weight", 0) && starts_at(&n, "fc3.bias", 0));
	assert_int_equal(init_of(&n, "fc2.weight").kind, INIT_NORMAL);
	net_release(&n);
	net_build(&n, V("mlperf"), 4, 128, 4);
	assert_true(starts_at(&n, "conv5.bias", 0));
	assert_int_equal(init_of(&n, "fc3.weight").kind, INIT_UNIFORM);
	net_release(&n);
}

static void test_dropout_and_output(void **state)
{
	struct net n;
	net_build(&n, V("lbann-2020"), 4, 128, 4);
	assert_string_equal(net_feeds(&n, "fc1"), "dropout1");
	assert_string_equal(net_feeds(&n, "fc3"), "dropout3");
	assert_string_equal(net_feeds(&n, "dropout3"), "fc_act2");
	assert_string_equal(net_feeds(&n, "flatten"), "act7");
	assert_null(net_node(&n, "tanh"));
	net_release(&n);
	net_build(&n, V("mlperf"), 4, 128, 4);
	assert_string_equal(net_feeds(&n, "fc1"), "flatten");
	assert_string_equal(net_feeds(&n, "flatten"), "channels_last");
	assert_string_equal(net_feeds(&n, "fc3"), "dropout2");
	assert_string_equal(net_feeds(&n, "tanh"), "fc3");
	assert_string_equal(net_feeds(&n, "output_scale"), "tanh");
	net_release(&n);
	net_build(&n, W("lbann-2023", "batch_norm: true"), 4, 128, 4);
	assert_string_equal(net_feeds(&n, "act1"), "norm1");
	assert_int_equal(graph_find(n.g, "conv1.bias"), NONE);
	net_release(&n);
}

static void test_refused(void **state)
{
	net_refused(W("mlperf", "kernel: [3, 3]"), 4, 128, "'kernel' has 2 numbers for 5 convolutions");
	net_refused(W("lbann-2023", "stride: [1, 1]"), 4, 128,
	            "'stride' has 2 numbers for 5 convolutions");
	net_refused(W("mlperf", "pool_padding: 2"), 4, 128, "must be less than 'pool_kernel'");
	net_refused(V("sc18"), 4, 64, "");
	net_refused(V("mlperf"), 4, 16, "");
	net_refused(V("mlpref"), 4, 128, "mlperf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_counts),    cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_first_values),        cmocka_unit_test(test_dropout_and_output),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
