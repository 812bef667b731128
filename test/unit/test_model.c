/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks as the config describes them: parameters, names, shapes and flops of the fcn family
 * against the published network, the layers family with its blocks, repeats and references, and the
 * geometry of nn.h. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "model/init.h"
#include "model_net.h"
#include "op/lib/elementwise.h"

#define SHAPE2(n, c, h, w)    ((struct shape){ 4, { n, c, h, w } })
#define SHAPE3(n, c, d, h, w) ((struct shape){ 5, { n, c, d, h, w } })

static int64_t parameters(const struct net *n)
{
	int64_t sum = 0;
	for (int i = 0; i < n->g->ntensor; i++)
		if (n->g->tensor[i]->role == ROLE_PARAM)
			sum += shape_count(&n->g->tensor[i]->shape);
	return sum;
}

static int count_params(const struct net *n)
{
	int sum = 0;
	for (int i = 0; i < n->g->ntensor; i++)
		sum += n->g->tensor[i]->role == ROLE_PARAM;
	return sum;
}

static double conv_flops(const struct net *n)
{
	double sum = 0;
	for (int i = 0; i < n->g->nnode; i++)
		if (strncmp(n->g->node[i]->op->name, "conv", 4) == 0 && n->g->node[i]->op->name[4] != 'c')
			sum += op_cost(n->g, n->g->node[i]).flops;
	return sum;
}

static int count_ops(const struct net *n, const char *op)
{
	int sum = 0;
	for (int i = 0; i < n->g->nnode; i++)
		sum += strcmp(n->g->node[i]->op->name, op) == 0;
	return sum;
}

static void assert_shape(const struct net *n, tid t, struct shape want)
{
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	const struct shape *s = &graph_t(n->g, t)->shape;
	if (!shape_equal(s, &want))
		fail_msg("shape %s, expected %s", shape_text(s, a), shape_text(&want, b));
}

static void assert_param(const struct net *n, const char *name, struct shape want)
{
	tid t = graph_find(n->g, name);
	if (t == NONE)
		fail_msg("no parameter '%s'", name);
	assert_shape(n, t, want);
}

/* --- fcn --- */

/* Laanait et al. 2019, with a bias for each channel in place of each image column. */
static void test_fcn_published(void **state)
{
	static const struct {
		const char *yaml;
		int64_t channels, size, parameters;
		double flops;
	} t[] = {
		{ "{family: fcn}", 1024, 512, 220406272, 17169802854400 },
		{ "{family: fcn, growth: 16, kernel: 3}", 16, 64, 322080, 340262912 },
		{ "{family: fcn, growth: 32, kernel: 3}", 64, 128, 1296448, 5740953600 },
		{ "{family: fcn, growth: 32, kernel: 5}", 16, 128, 3355200, 13835960320 },
		{ "{family: fcn, growth: 64, kernel: 3}", 64, 256, 5146752, 86981476352 },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct net n;
		net_new(&n, t[i].yaml, 1, SHAPE2(1, t[i].channels, t[i].size, t[i].size));
		assert_int_equal(parameters(&n), t[i].parameters);
		assert_int_equal(count_params(&n), 32);
		assert_true(conv_flops(&n) == t[i].flops);
		assert_shape(&n, n.out, SHAPE2(1, 1, t[i].size, t[i].size));
		net_release(&n);
	}
}

static void test_fcn_layers(void **state)
{
	struct net n;
	net_new(&n, "{family: fcn, growth: 256}", 1, SHAPE2(1, 1024, 512, 512));
	assert_param(&n, "conv_init.weight", SHAPE2(256, 1024, 5, 5));
	assert_param(&n, "conv_init.bias", (struct shape){ 1, { 256 } });
	assert_param(&n, "dense_2.conv_3.weight", SHAPE2(256, 1792, 5, 5));
	assert_param(&n, "down_2.norm.weight", (struct shape){ 1, { 2048 } });
	assert_param(&n, "down_2.conv.weight", SHAPE2(2048, 2048, 1, 1));
	assert_param(&n, "up_0.conv.weight", SHAPE2(768, 768, 1, 1));
	assert_param(&n, "dense_4.conv_0.weight", SHAPE2(256, 2816, 5, 5));
	assert_param(&n, "up_2.conv.weight", SHAPE2(512, 512, 1, 1));
	assert_param(&n, "dense_6.conv_0.weight", SHAPE2(256, 1024, 5, 5));
	assert_param(&n, "conv_output.weight", SHAPE2(1, 1280, 1, 1));
	assert_int_equal(graph_find(n.g, "conv_output.bias"), NONE);
	const struct tensor *gamma = graph_t(n.g, graph_find(n.g, "down_0.norm.weight"));
	assert_true(gamma->init.kind == INIT_CONSTANT && gamma->init.a == 0.1);
	const struct tensor *w = graph_t(n.g, graph_find(n.g, "conv_init.weight"));
	assert_true(w->init.kind == INIT_UNIFORM && fabs(w->init.a - sqrt(6.0 / (1024 * 25))) < 1e-15);
	net_release(&n);
}

/* 90 x 180 is not divisible by 8, 7 x 5 vanishes on the way: the output has the input's size all
 * the same. */
static void test_fcn_sizes(void **state)
{
	static const char *const yaml[] = {
		"{family: fcn, growth: 8, kernel: 3, transition_up_kernel: 3}",
		"{family: fcn, growth: 8, kernel: 3, transition_up_kernel: 1, pooling: max}",
		"{family: fcn, growth: 8, kernel: 3, transition_up_kernel: 2, batch_norm: all}",
		"{family: fcn, growth: 6, kernel: 3, poolings: 4, layers_per_block: 2, batch_norm: none, "
		"width_multiple: 5}",
		"{family: fcn, growth: 3, kernel: 3, poolings: 0, layers_per_block: 2, output_kernel: 3, "
		"output_bias: true}",
	};
	for (size_t i = 0; i < sizeof yaml / sizeof *yaml; i++) {
		struct net n;
		net_new(&n, yaml[i], 4, SHAPE2(2, 5, 90, 180));
		assert_shape(&n, n.out, SHAPE2(2, 4, 90, 180));
		net_release(&n);
		net_new(&n, yaml[i], 4, SHAPE2(2, 5, 7, 5));
		assert_shape(&n, n.out, SHAPE2(2, 4, 7, 5));
		net_release(&n);
	}
}

static void test_fcn_3d(void **state)
{
	struct net n;
	net_new(&n, "{family: fcn, growth: 8, kernel: 3, poolings: 2, "
	        "layers_per_block: [1, 1, 2, 1, 1]}",
	        2, SHAPE3(1, 3, 9, 12, 10));
	assert_shape(&n, n.out, SHAPE3(1, 2, 9, 12, 10));
	assert_param(&n, "up_1.conv.weight", SHAPE3(8, 8, 1, 1, 1));
	net_release(&n);
}

/* Evaluation has the same parameters and states, but neither batch statistics nor dropout. */
static void test_fcn_modes(void **state)
{
	static const char yaml[] = "{family: fcn, growth: 8, kernel: 3, batch_norm: all}";
	struct net train, eval;
	net_new(&train, yaml, 4, SHAPE2(2, 5, 16, 16));
	assert_int_equal(net_try(&eval, yaml, false, 4, SHAPE2(2, 5, 16, 16)), 0);
	assert_int_equal(count_ops(&train, "batch_norm"), 17 + 3);
	assert_int_equal(count_ops(&train, "ema_update"), 2 * (17 + 3));
	assert_int_equal(count_ops(&train, "dropout"), 17 + 3);
	assert_int_equal(count_ops(&eval, "batch_norm_inference"), 17 + 3);
	assert_int_equal(count_ops(&eval, "dropout"), 0);
	assert_int_equal(count_ops(&eval, "ema_update"), 0);
	for (int i = 0; i < train.g->ntensor; i++) {
		const struct tensor *t = train.g->tensor[i];
		if (t->role == ROLE_PARAM || t->role == ROLE_STATE)
			assert_int_not_equal(graph_find(eval.g, t->name), NONE);
	}
	assert_int_equal(parameters(&train), parameters(&eval));
	net_release(&train);
	net_release(&eval);
	net_new(&train, "{family: fcn, growth: 8, dropout: 0, batch_norm: none}", 4,
	      SHAPE2(2, 5, 16, 16));
	assert_int_equal(count_ops(&train, "dropout") + count_ops(&train, "batch_norm"), 0);
	net_release(&train);
}

/* --- layers --- */

static void test_layers_example(void **state)
{
	static const char yaml[] = "family: layers\n"
							   "layers:\n"
							   "  - conv2d: {filters: 32, kernel: 3, padding: same, name: stem}\n"
							   "  - repeat: {times: 2, layers: [{batch_norm: {}}, {relu: {}}, "
	                           "{conv2d: {filters: 32, kernel: 3, padding: same}}]}\n"
							   "  - add: {inputs: [stem, previous]}\n"
							   "  - conv2d: {filters: 10, kernel: 1}\n";
	struct net n;
	net_new(&n, yaml, 10, SHAPE2(3, 4, 32, 32));
	assert_shape(&n, n.out, SHAPE2(3, 10, 32, 32));
	assert_param(&n, "stem.weight", SHAPE2(32, 4, 3, 3));
	assert_param(&n, "repeat_0.0.conv2d_0.weight", SHAPE2(32, 32, 3, 3));
	assert_param(&n, "repeat_0.1.batch_norm_0.bias", (struct shape){ 1, { 32 } });
	assert_int_not_equal(graph_find(n.g, "repeat_0.1.batch_norm_0.running_var"), NONE);
	assert_param(&n, "conv2d_0.bias", (struct shape){ 1, { 10 } });
	assert_int_equal(count_params(&n), 2 + 2 * 4 + 2);
	assert_int_equal(n.g->node[n.g->nnode - 1]->loc.line, 6);
	net_release(&n);
}

static void test_layers_linear(void **state)
{
	struct net n;
	net_new(&n, "{family: layers, layers: [{conv2d: {filters: 4, kernel: 1, name: linear}}]}", 4,
	      SHAPE2(1, 5, 90, 180));
	assert_int_equal(n.g->nnode, 1);
	assert_param(&n, "linear.weight", SHAPE2(4, 5, 1, 1));
	net_release(&n);
}

/* Nested blocks, references to inner, outer and entering layers. */
static void test_layers_blocks(void **state)
{
	static const char yaml[] =
		"family: layers\n"
		"blocks:\n"
		"  residual:\n"
		"    - conv: {}\n"
		"    - conv: {name: second}\n"
		"    - add: [input, second]\n"
		"  conv: [{conv2d: {filters: 8, kernel: [3, 1], padding: same, bias: false, name: c}}, "
	    "relu]\n"
		"layers:\n"
		"  - conv2d: {filters: 8, kernel: 3, stride: 2, padding: 1, name: stem}\n"
		"  - residual: {name: layer1}\n"
		"  - residual\n"
		"  - multiply: {inputs: [previous, layer1.second.c]}\n"
		"  - repeat: {times: 2, name: tail, layers: [{add: {inputs: [stem, previous], name: "
	    "sum}}]}\n"
		"  - subtract: {inputs: [tail.0.sum, tail]}\n";
	struct net n;
	net_new(&n, yaml, 8, SHAPE2(1, 3, 9, 8));
	assert_shape(&n, n.out, SHAPE2(1, 8, 5, 4));
	assert_param(&n, "layer1.conv_0.c.weight", SHAPE2(8, 8, 3, 1));
	assert_param(&n, "layer1.second.c.weight", SHAPE2(8, 8, 3, 1));
	assert_param(&n, "residual_0.second.c.weight", SHAPE2(8, 8, 3, 1));
	assert_int_equal(count_params(&n), 2 + 4);
	const struct node *last = n.g->node[n.g->nnode - 1];
	const struct node *multiply = n.g->node[graph_t(n.g, last->in[0])->producer - 1];
	assert_string_equal(last->op->name, "subtract");
	assert_string_equal(graph_t(n.g, last->in[0])->name, "tail.0.sum:add");
	assert_string_equal(multiply->op->name, "multiply");
	assert_string_equal(n.g->node[graph_t(n.g, multiply->in[1])->producer]->name,
	                    "layer1.second.c");
	net_release(&n);
}

/* Values of parameters: computed, passed on, lists, whole layers, counts; names of layers, which
 * mean the layer at the use even if the block has one of that name. */
static void test_layers_parameters(void **state)
{
	static const char yaml[] =
		"family: layers\n"
		"blocks:\n"
		"  unit:\n"
		"    parameters: {filters: required, wide: 2*$filters, kernel: [3, 1], act: relu, n: 1}\n"
		"    layers:\n"
		"      - repeat:\n"
		"          times: $n\n"
		"          layers: [{conv2d: {filters: $wide, kernel: $kernel, padding: same}}, $act]\n"
		"      - conv2d: {filters: ($wide+$filters)/3, kernel: 1, name: a}\n"
		"  join:\n"
		"    parameters: {with: input, filters: 8}\n"
		"    layers:\n"
		"      - unit: {filters: $filters, act: {leaky_relu: {slope: 0.5}}, n: 2, name: u}\n"
		"      - conv2d: {filters: $filters, kernel: 1, name: a}\n"
		"      - add: {inputs: [$with, previous]}\n"
		"layers:\n"
		"  - conv2d: {filters: 8, kernel: 1, name: a}\n"
		"  - unit: 8\n"
		"  - join: {with: a}\n"
		"  - join\n"
		"  - join: {with: previous, filters: 8}\n";
	struct net n;
	net_new(&n, yaml, 8, SHAPE2(1, 3, 9, 8));
	assert_shape(&n, n.out, SHAPE2(1, 8, 9, 8));
	assert_param(&n, "unit_0.repeat_0.0.conv2d_0.weight", SHAPE2(16, 8, 3, 1));
	assert_param(&n, "unit_0.a.weight", SHAPE2(8, 16, 1, 1));
	assert_param(&n, "join_1.u.repeat_0.1.conv2d_0.weight", SHAPE2(16, 16, 3, 1));
	static const char *const left[] = { "a", "join_0.add_0", "join_1.add_0" };
	int adds = 0, leaky = 0;
	for (int i = 0; i < n.g->nnode; i++) {
		const struct node *node = n.g->node[i];
		leaky += strcmp(node->op->name, "leaky_relu") == 0;
		if (strcmp(node->op->name, "add") == 0)
			assert_string_equal(n.g->node[graph_t(n.g, node->in[0])->producer]->name,
			                    left[adds++]);
	}
	assert_int_equal(adds, 3);
	assert_int_equal(leaky, 3 * 2);
	net_release(&n);
}

/* Every kind of layer once, two and three dimensions. */
static void test_layers_kinds(void **state)
{
	struct net n;
	net_new(&n,
	      "{family: layers, layers: [{conv_transpose2d: {filters: 6, kernel: 3, stride: 2, "
	      "padding: 1, output_padding: 1,"
	      " groups: 2}}, {dropout: {rate: 0.1}}, {max_pool: {kernel: 2}}, flatten, {dense: {units: "
	      "7, init: glorot_normal}},"
	      " tanh, {dense: {units: 3, bias: false}}]}",
	      3, SHAPE2(2, 4, 5, 6));
	assert_shape(&n, n.out, (struct shape){ 2, { 2, 3 } });
	assert_param(&n, "conv_transpose2d_0.weight", SHAPE2(4, 3, 3, 3));
	assert_param(&n, "dense_0.weight", (struct shape){ 2, { 7, 6 * 5 * 6 } });
	assert_int_equal(graph_find(n.g, "dense_1.bias"), NONE);
	net_release(&n);
	net_new(&n,
	      "{family: layers, layers: [{conv3d: {filters: 4, kernel: [1, 3, 3], padding: {before: "
	      "[0, 1, 1], after: [0, 1, 2]},"
	      " dilation: [1, 1, 2]}}, {conv_transpose3d: {filters: 2, kernel: 2, stride: 2, padding: "
	      "same}}]}",
	      2, SHAPE3(1, 3, 4, 5, 6));
	assert_shape(&n, n.out, SHAPE3(1, 2, 8, 10, 10));
	net_release(&n);
}

static const struct node *node_of(const struct net *n, const char *op)
{
	for (int i = 0; i < n->g->nnode; i++)
		if (strcmp(n->g->node[i]->op->name, op) == 0)
			return n->g->node[i];
	fail_msg("there is no %s", op);
	return NULL;
}

/* A value in place of a map, and activations as a key. */
static void test_layers_short(void **state)
{
	struct net n;
	net_new(&n,
	      "{family: layers, layers: [{conv2d: {filters: 6, kernel: 3, activation: gelu, name: a}}, "
	      "{group_norm: 3}, {max_pool: [2, 1]}, {leaky_relu: 0.2}, {dropout: 0.25}, "
	      "flatten, {dense: {units: 7, activation: tanh}}, {dense: 3}]}",
	      3, SHAPE2(2, 4, 6, 5));
	assert_shape(&n, n.out, (struct shape){ 2, { 2, 3 } });
	assert_param(&n, "dense_0.weight", (struct shape){ 2, { 7, 6 * 2 * 3 } });
	assert_string_equal(node_of(&n, "gelu")->name, "a.gelu");
	assert_string_equal(node_of(&n, "tanh")->name, "dense_0.tanh");
	assert_true(((const struct leaky_relu_attr *)node_of(&n, "leaky_relu")->attr)->slope == 0.2);
	assert_true(((const struct dropout_attr *)node_of(&n, "dropout")->attr)->rate == 0.25);
	assert_int_equal(count_ops(&n, "group_norm"), 1);
	net_release(&n);
	assert_int_equal(net_try(&n, "{family: layers, layers: [{relu: 0.1}]}", true, 4,
	                          SHAPE2(1, 4, 3, 3)), E_CONFIG);
	net_release(&n);
}

static void test_layers_sizes(void **state)
{
	struct net n;
	net_new(&n,
	      "{family: layers, layers: [{resize: {factor: 2}}, {resize: {factor: [1, 0.7], mode: "
	      "nearest}}, {resize: [5, 9]}, {adaptive_average_pool: [2, 4]}]}",
	      3, SHAPE2(2, 3, 4, 5));
	assert_shape(&n, n.g->node[0]->out[0], SHAPE2(2, 3, 8, 10));
	assert_shape(&n, n.g->node[1]->out[0], SHAPE2(2, 3, 8, 7));
	assert_shape(&n, n.g->node[2]->out[0], SHAPE2(2, 3, 5, 9));
	assert_shape(&n, n.out, SHAPE2(2, 3, 2, 4));
	net_release(&n);
	static const char *const refused[] = {
		"{family: layers, layers: [{resize: {mode: area}}]}",
		"{family: layers, layers: [{resize: {size: 4, factor: 2}}]}",
		"{family: layers, layers: [{resize: {factor: [1, 2, 3]}}]}",
	};
	for (int i = 0; i < 3; i++) {
		assert_int_equal(net_try(&n, refused[i], true, 3, SHAPE2(2, 3, 4, 5)), E_CONFIG);
		net_release(&n);
	}
	assert_int_equal(net_try(&n, "{family: layers, layers: [{resize: {factor: 0.1}}]}", true, 3,
	                          SHAPE2(2, 3, 4, 5)), E_SHAPE);
	net_release(&n);
}

static void test_layers_1d(void **state)
{
	struct net n;
	net_new(&n,
	      "{family: layers, layers: [{conv1d: {filters: 6, kernel: 5, padding: same, stride: 2}}, "
	      "batch_norm, {max_pool: 2}, {conv_transpose1d: {filters: 4, kernel: 2, stride: 2}}, "
	      "{average_pool: {kernel: 3, stride: 1}}, {resize: {factor: 3}}, "
	      "{adaptive_average_pool: 4}, {conv1d: {filters: 2, kernel: 1}}]}",
	      2, (struct shape){ 3, { 2, 3, 23 } });
	assert_param(&n, "conv1d_0.weight", (struct shape){ 3, { 6, 3, 5 } });
	assert_param(&n, "conv_transpose1d_0.weight", (struct shape){ 3, { 6, 4, 2 } });
	assert_shape(&n, n.out, (struct shape){ 3, { 2, 2, 4 } });
	net_release(&n);
	assert_int_equal(net_try(&n, "{family: layers, layers: [{conv1d: {filters: 2, kernel: 1}}]}",
	                          true, 2, SHAPE2(2, 3, 4, 5)), E_SHAPE);
	net_release(&n);
}

/* --- nn --- */

static struct shape conv_shape(struct nn_conv c, bool transposed, struct shape in)
{
	struct model_build b = { .g = graph_new(), .arena = arena_new(), .training = true };
	tid y;
	c.filters = 2;
	assert_int_equal(graph_input(b.g, "x", DTYPE_F32, &in, &b.input), 0);
	assert_int_equal((transposed ? nn_conv_transpose : nn_conv)(&b, "c", &c, b.input, &y), 0);
	struct shape s = graph_t(b.g, y)->shape;
	graph_free(b.g);
	arena_free(b.arena);
	return s;
}

static void test_same_padding(void **state)
{
	for (int64_t size = 1; size < 12; size++)
		for (int64_t k = 1; k < 6; k++)
			for (int64_t stride = 1; stride < 4; stride++)
				for (int64_t d = 1; d < 3; d++) {
					struct nn_conv c = { .kernel = { k, k },
						                 .stride = { stride, stride },
						                 .dilation = { d, d },
						                 .padding = PADDING_SAME };
					struct shape s = conv_shape(c, false, SHAPE2(1, 3, size, size + 1));
					assert_int_equal(s.d[2], (size + stride - 1) / stride);
					assert_int_equal(s.d[3], (size + 1 + stride - 1) / stride);
					s = conv_shape(c, true, SHAPE2(1, 3, size, size + 1));
					assert_int_equal(s.d[2], size * stride);
					assert_int_equal(s.d[3], (size + 1) * stride);
				}
}

/* PyTorch: (in - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1. */
static void test_transposed_size(void **state)
{
	struct nn_conv c = { .kernel = { 3, 4 },
		                 .stride = { 2, 3 },
		                 .dilation = { 1, 2 },
		                 .padding = PADDING_EXPLICIT,
		                 .pad_lo = { 1, 2 },
		                 .pad_hi = { 1, 2 },
		                 .output_padding = { 1, 0 } };
	struct shape s = conv_shape(c, true, SHAPE2(1, 3, 5, 6));
	assert_int_equal(s.d[2], 4 * 2 - 2 + 2 + 1 + 1);
	assert_int_equal(s.d[3], 5 * 3 - 4 + 6 + 0 + 1);
}

static void test_init(void **state)
{
	struct shape w = { 4, { 16, 8, 3, 5 } };
	double in = 8 * 15, out = 16 * 15;
	static const struct {
		enum weight_init kind;
		enum init_kind is;
	} t[] = { { WI_HE_NORMAL, INIT_NORMAL },     { WI_HE_UNIFORM, INIT_UNIFORM },
		      { WI_GLOROT_NORMAL, INIT_NORMAL }, { WI_GLOROT_UNIFORM, INIT_UNIFORM },
		      { WI_LECUN_NORMAL, INIT_NORMAL },  { WI_LECUN_UNIFORM, INIT_UNIFORM },
		      { WI_HE_NORMAL_FAN_OUT, INIT_NORMAL } };
	double want[] = { sqrt(2 / in),         sqrt(6 / in), sqrt(2 / (in + out)),
		              sqrt(6 / (in + out)), sqrt(1 / in), sqrt(3 / in),
		              sqrt(2 / out) };
	for (int i = 0; i < 7; i++) {
		struct init a = init_weight(t[i].kind, 0, &w), b = init_weight(t[i].kind, 0.5, &w);
		assert_int_equal(a.kind, t[i].is);
		assert_true(fabs(a.a - want[i]) < 1e-15);
		assert_true(fabs(b.a - want[i] / 2) < 1e-15);
	}
	struct init c = init_weight(WI_CONSTANT, 0.25, &w);
	assert_true(c.kind == INIT_CONSTANT && c.a == 0.25);
}

static void test_too_many_weights(void **state)
{
	struct net n;
	int rc = net_try(
		&n,
		"{family: layers, layers: [{conv3d: {filters: 1048576, kernel: 65536, padding: same}}]}",
		true, 1048576, SHAPE3(1, 4, 8, 8, 8));
	assert_int_equal(rc, E_SHAPE);
	assert_non_null(strstr(err_get(0)->text, "more than"));
	net_release(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fcn_published),    cmocka_unit_test(test_fcn_layers),
		cmocka_unit_test(test_fcn_sizes),        cmocka_unit_test(test_fcn_3d),
		cmocka_unit_test(test_fcn_modes),        cmocka_unit_test(test_layers_example),
		cmocka_unit_test(test_layers_linear),    cmocka_unit_test(test_layers_blocks),
		cmocka_unit_test(test_layers_parameters),
		cmocka_unit_test(test_layers_short),     cmocka_unit_test(test_layers_sizes),
		cmocka_unit_test(test_layers_1d),
		cmocka_unit_test(test_layers_kinds),     cmocka_unit_test(test_same_padding),
		cmocka_unit_test(test_transposed_size),  cmocka_unit_test(test_init),
		cmocka_unit_test(test_too_many_weights),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
