/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The climate networks: sizes of their layers for even and odd inputs, what their keys do, and what
 * they refuse. Published counts are in test/train/zoo. */
#include "cases.h"
#include "base/err.h"
#include "graph/graph.h"
#include "model/model.h"
#include "yaml/schema.h"
#include "model_net.h"

static int build(struct net *n, const char *yaml, int64_t height, int64_t width)
{
	return net_try(n, yaml, true, 3, (struct shape){ 4, { 2, 5, height, width } });
}

/* The output of the layer `name`; channels 0: there is no such layer. */
struct row {
	const char *name;
	int64_t channels, height, width;
};

static void rows(const char *yaml, int64_t height, int64_t width, const struct row *row)
{
	struct net n;
	if (build(&n, yaml, height, width) < 0)
		fail_msg("%s: %s", yaml, err_get(0)->text);
	const struct shape *out = &graph_t(n.g, n.out)->shape;
	assert_true(out->d[1] == 3 && out->d[2] == height && out->d[3] == width);
	for (; row->name; row++) {
		const struct node *node = net_node(&n, row->name);
		if (!row->channels != !node)
			fail_msg("%s: '%s' is %s", yaml, row->name, node ? "there" : "missing");
		if (!node)
			continue;
		const struct shape *s = &graph_t(n.g, node->out[0])->shape;
		if (s->d[1] != row->channels || s->d[2] != row->height || s->d[3] != row->width)
			fail_msg("%s '%s': %lld of %lld x %lld", yaml, row->name, (long long)s->d[1],
			         (long long)s->d[2], (long long)s->d[3]);
	}
	net_release(&n);
}

#define DEEPLAB(more) "{family: deeplabv3+, variant: sc18" more "}"
#define DEEPCAM(more) "{family: deepcam, variant: mlperf" more "}"

static void test_deeplab(void **state)
{
	static const struct row even[] = {
		{ "conv1", 64, 48, 72 },         { "pool1", 64, 24, 36 },
		{ "block1.1.add", 256, 24, 36 }, { "block1.2.conv1.relu", 64, 24, 36 },
		{ "block1.2.add", 256, 12, 18 }, { "block2.3.add", 512, 12, 18 },
		{ "block3.5.add", 1024, 12, 18 }, { "block3.6.add", 0, 0, 0 },
		{ "block4.2.add", 2048, 12, 18 }, { "aspp.image.broadcast", 256, 12, 18 },
		{ "aspp.concat", 1280, 12, 18 }, { "decoder.concat", 304, 24, 36 },
		{ "decoder.deconv2", 256, 48, 72 }, { "decoder.deconv3", 256, 96, 144 },
		{ "decoder.full_concat", 384, 96, 144 }, { "postnorm", 2048, 12, 18 }, { 0 }
	};
	static const struct row odd[] = { { "conv1", 64, 17, 26 },        { "pool1", 64, 9, 13 },
		                              { "block1.2.add", 256, 5, 7 },
		                              { "decoder.concat", 304, 9, 13 },
		                              { "decoder.deconv2", 256, 17, 26 }, { 0 } };
	static const struct row plain[] = { { "decoder.full1", 0, 0, 0 },     { "postnorm", 0, 0, 0 },
		                                { "block3.22.add", 1024, 5, 7 }, { "logits", 3, 9, 13 },
		                                { "decoder.resize2", 3, 33, 51 }, { 0 } };
	rows(DEEPLAB(""), 96, 144, even);
	rows(DEEPLAB(""), 33, 51, odd);
	rows(DEEPLAB(", alignment: pytorch"), 33, 51, odd);
	rows(DEEPLAB(", backbone: resnet101, decoder: bilinear, postnorm: false"), 33, 51, plain);
	rows(DEEPLAB(", image_affine: true"), 1, 1,
	     (struct row[]){ { "block4.2.add", 2048, 1, 1 }, { 0 } });
}

static void test_without_batch_norm(void **state)
{
	struct net n;
	assert_int_equal(build(&n, "{family: deeplabv3+, variant: sc18-no-batch-norm}", 33, 51), 0);
	assert_string_equal(net_node(&n, "block2.1.preact")->op->name, "scale");
	assert_null(net_node(&n, "block2.1.preact_relu"));
	assert_non_null(net_node(&n, "block2.1.conv1.relu"));
	net_release(&n);
}

static void test_deepcam(void **state)
{
#define X "xception_features."
	static const struct row even[] = {
		{ X "conv1", 32, 48, 72 },         { X "conv2", 64, 48, 72 },
		{ X "block1.add", 128, 24, 36 },   { X "block1.rep.5.pointwise", 128, 24, 36 },
		{ X "block3.relu", 728, 6, 9 },    { X "block4.skip", 0, 0, 0 },
		{ X "block19.relu", 728, 6, 9 },   { X "block20.add", 1024, 6, 9 },
		{ X "block20.relu", 0, 0, 0 },     { X "block21.add", 0, 0, 0 },
		{ X "conv5.pointwise", 2048, 6, 9 }, { "bottleneck.concat", 1280, 6, 9 },
		{ "upsample.concat", 304, 24, 36 }, { "upsample.deconv2.0", 256, 48, 72 }, { 0 }
	};
	static const struct row odd[] = { { X "conv1", 32, 17, 26 },
		                              { X "block2.add", 256, 5, 7 },
		                              { X "block3.add", 728, 3, 4 },
		                              { "upsample.deconv1.0", 256, 5, 7 },
		                              { "upsample.deconv1.3", 256, 9, 13 },
		                              { "upsample.deconv2.0", 256, 17, 26 },
		                              { 0 } };
	rows(DEEPCAM(""), 96, 144, even);
	rows(DEEPCAM(", low_level: raw"), 33, 51, odd);
	rows(DEEPCAM(", middle_blocks: 0"), 33, 51,
	     (struct row[]){ { X "block4.skip", 1024, 3, 4 }, { 0 } });
}

/* The low level is taken before block1's ReLU, or after. */
static void test_low_level(void **state)
{
	static const char *const yaml[] = { DEEPCAM(", low_level: raw"), DEEPCAM("") };
	static const char *const from[] = { X "block1.add", X "block1.relu" };
	for (int i = 0; i < 2; i++) {
		struct net n;
		assert_int_equal(build(&n, yaml[i], 33, 51), 0);
		nid feeds = graph_t(n.g, net_node(&n, "conv2")->in[0])->producer;
		assert_string_equal(n.g->node[feeds]->name, from[i]);
		net_release(&n);
	}
#undef X
}

static void test_refused(void **state)
{
	static const struct {
		const char *yaml, *why;
	} t[] = {
		{ DEEPLAB(", rates: [1, 2]"), "'rates' has 2 numbers" },
		{ DEEPLAB(", backbone: resnet18"), "resnet50" },
		{ DEEPLAB(", aspp_filters: 0"), "aspp_filters" },
		{ DEEPCAM(", widths: [1, 2]"), "'widths' has 2 numbers instead of 8" },
		{ DEEPCAM(", rates: 6"), "'rates' has 1 numbers" },
		{ DEEPCAM(", middle_blocks: -1"), "middle_blocks" },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct net n;
		if (build(&n, t[i].yaml, 33, 51) >= 0)
			fail_msg("%s is accepted", t[i].yaml);
		if (!strstr(err_get(0)->text, t[i].why))
			fail_msg("%s: %s", t[i].yaml, err_get(0)->text);
		net_release(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_deeplab),   cmocka_unit_test(test_without_batch_norm),
		cmocka_unit_test(test_deepcam),   cmocka_unit_test(test_low_level),
		cmocka_unit_test(test_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
