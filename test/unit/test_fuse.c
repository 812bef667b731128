/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass `fuse` on graphs of real ops: what becomes one node and what must not, where the new
 * node stands, and that the values stay what they were, forward and backward. */
#include "op_graph.h"

#include <math.h>

#include "graph/attr.h"
#include "graph/cost.h"
#include "op/conv/conv.h"
#include "op/lib/elementwise.h"
#include "op/norm/norm.h"
#include "pass/pass.h"

/* A small network under construction: an image and what is made of it. */
struct net {
	struct graph *g;
	tid x, r;                    /* two images that need a gradient */
	int norms;
};

static const struct shape image = { 4, { 2, 5, 4, 3 } }, channels = { 1, { 5 } };

static tid vector(struct net *n, const char *leaf, double value)
{
	char name[32];
	snprintf(name, sizeof name, "norm%d.%s", n->norms, leaf);
	return op_param(n->g, name, &channels, value);
}

static tid norm(struct net *n, tid x)
{
	tid gamma = vector(n, "gamma", 1.5), beta = vector(n, "beta", 0.1);
	n->norms++;
	return EMIT(n, "batch_norm", x, gamma, beta);
}

static tid inference(struct net *n, tid x)
{
	tid gamma = vector(n, "gamma", 1.5), beta = vector(n, "beta", 0.1),
	    mean = vector(n, "mean", 0.3), variance = vector(n, "variance", 2);
	n->norms++;
	return EMIT(n, "batch_norm_inference", x, gamma, beta, mean, variance);
}

static tid leaky(struct net *n, tid x)
{
	return op_emit(n->g, "leaky_relu", &(struct leaky_relu_attr){ 0.3 }, 1, &x);
}

/* --- networks --- */

static tid build_relu(struct net *n) { return EMIT(n, "relu", norm(n, n->x)); }
static tid build_leaky(struct net *n) { return leaky(n, norm(n, n->x)); }

/* A norm has one activation. */
static tid build_two_activations(struct net *n) { return leaky(n, EMIT(n, "relu", norm(n, n->x))); }

static tid build_residual(struct net *n)
{
	return EMIT(n, "relu", EMIT(n, "add", norm(n, n->x), n->r));
}

/* Two normalised branches, the second of which is made later. */
static tid build_projection(struct net *n)
{
	tid a = norm(n, n->x);
	return EMIT(n, "relu", EMIT(n, "add", a, norm(n, EMIT(n, "tanh", n->r))));
}

/* The output goes two ways, so its gradient is a sum. */
static tid build_blocks(struct net *n)
{
	tid y = EMIT(n, "relu", EMIT(n, "add", norm(n, n->x), n->r));
	return EMIT(n, "relu", EMIT(n, "add", norm(n, EMIT(n, "tanh", y)), y));
}

/* The input goes two ways: the gradient of the normalised one is added to the other's. */
static tid build_two_readers(struct net *n)
{
	return EMIT(n, "add", EMIT(n, "relu", norm(n, n->x)), EMIT(n, "tanh", n->x));
}

static tid build_two_readers_plain(struct net *n)
{
	return EMIT(n, "add", EMIT(n, "tanh", norm(n, n->x)), EMIT(n, "tanh", n->x));
}

static tid conv(struct net *n, tid x, const char *weight)
{
	const struct shape s = { 4, { 5, 5, 3, 3 } };
	const int64_t one = 1;
	const struct conv_attr at = { .pad_lo = { 1, &one }, .pad_hi = { 1, &one } };
	return op_emit(n->g, "conv", &at, 2, (tid[]){ x, op_param(n->g, weight, &s, 0) });
}

static tid build_conv_and_other(struct net *n)
{
	return EMIT(n, "add", conv(n, n->x, "v"), EMIT(n, "tanh", n->x));
}

/* One makes the gradient, the other adds to it. */
static tid build_two_convs(struct net *n)
{
	return EMIT(n, "multiply", conv(n, n->x, "u"), conv(n, n->x, "v"));
}

/* Nothing to add. */
static tid build_conv_read(struct net *n)
{
	tid s = EMIT(n, "tanh", n->x);
	return conv(n, EMIT(n, "tanh", conv(n, s, "u")), "v");
}

/* What is added is the tensor itself, forward and in the gradient. */
static tid build_norm_doubled(struct net *n)
{
	tid y = norm(n, n->x);
	return EMIT(n, "relu", EMIT(n, "add", y, y));
}

static tid build_conv_doubled(struct net *n)
{
	tid s = EMIT(n, "tanh", n->x);
	return conv(n, EMIT(n, "add", s, s), "u");
}

static tid build_inference(struct net *n) { return EMIT(n, "relu", inference(n, n->x)); }
static tid build_inference_leaky(struct net *n) { return leaky(n, inference(n, n->x)); }

static tid build_inference_residual(struct net *n)
{
	return EMIT(n, "relu", EMIT(n, "add", n->r, inference(n, n->x)));
}

static tid dropout(struct net *n, tid x, int64_t stream)
{
	struct dropout_attr at = { 0.4, stream };
	tid key;
	assert_int_equal(random_key(n->g, &key), 0);
	return op_emit(n->g, "dropout", &at, 2, (tid[]){ x, key });
}

static tid build_dropout(struct net *n) { return dropout(n, EMIT(n, "relu", n->x), 7); }

/* relu's output goes elsewhere too: one node that makes both. */
static tid build_dropout_read(struct net *n)
{
	tid z = EMIT(n, "relu", n->x);
	return EMIT(n, "add", dropout(n, z, 7), EMIT(n, "tanh", z));
}

static tid biased(struct net *n, tid x)
{
	const struct shape s = { 4, { 5, 5, 3, 3 } };
	const int64_t one = 1;
	const struct conv_attr at = { .pad_lo = { 1, &one }, .pad_hi = { 1, &one } };
	return op_emit(n->g, "conv", &at, 3,
	               (tid[]){ x, op_param(n->g, "wb", &s, 0), op_param(n->g, "b", &channels, 0) });
}

/* Chains after convolutions, for GPUs. */
static tid build_conv_relu(struct net *n) { return EMIT(n, "relu", biased(n, n->x)); }
static tid build_conv_leaky(struct net *n) { return leaky(n, conv(n, n->x, "u")); }
static tid build_conv_add(struct net *n) { return EMIT(n, "add", n->r, biased(n, n->x)); }

static tid build_conv_add_relu(struct net *n)
{
	return EMIT(n, "relu", EMIT(n, "add", conv(n, n->x, "u"), n->r));
}

static tid build_conv_add_leaky(struct net *n)
{
	return leaky(n, EMIT(n, "add", biased(n, n->x), n->r));
}

static tid build_conv_norm(struct net *n) { return inference(n, biased(n, n->x)); }

static tid build_conv_norm_leaky(struct net *n)
{
	return leaky(n, inference(n, conv(n, n->x, "u")));
}

static tid build_conv_norm_residual(struct net *n)
{
	return EMIT(n, "relu", EMIT(n, "add", n->r, inference(n, biased(n, n->x))));
}

/* ReLU's output goes to a convolution alone, and to another reader too. */
static tid build_relu_conv(struct net *n)
{
	return conv(n, EMIT(n, "relu", EMIT(n, "tanh", n->x)), "u");
}

static tid build_leaky_conv_and_other(struct net *n)
{
	tid z = leaky(n, EMIT(n, "tanh", n->x));
	return EMIT(n, "multiply", conv(n, z, "u"), EMIT(n, "tanh", z));
}

/* The convolution computes the statistics of the norm. */
static tid build_conv_batch_norm(struct net *n) { return norm(n, conv(n, n->x, "u")); }

static tid build_conv_batch_norm_leaky(struct net *n)
{
	const struct norm_attr eps = { 0.25, 1, -1 };
	tid gamma = vector(n, "gamma", 1.5), beta = vector(n, "beta", 0.1);
	return leaky(n,
	             op_emit(n->g, "batch_norm", &eps, 3, (tid[]){ conv(n, n->x, "u"), gamma, beta }));
}

static tid build_conv_batch_norm_residual(struct net *n)
{
	return EMIT(n, "relu", EMIT(n, "add", norm(n, conv(n, n->x, "u")), n->r));
}

/* A second norm, and something else, read what the convolution makes. */
static tid build_conv_two_norms(struct net *n)
{
	tid y = conv(n, n->x, "u");
	return EMIT(n, "add", EMIT(n, "multiply", norm(n, y), norm(n, y)), y);
}

static tid build_bias_batch_norm(struct net *n) { return norm(n, biased(n, n->x)); }

/* The convolution's output is wanted as it is. */
static tid build_conv_wanted(struct net *n)
{
	tid y = conv(n, n->x, "u");
	return EMIT(n, "multiply", EMIT(n, "relu", y), y);
}

/* The normalised tensor has another reader. */
static tid build_read_twice(struct net *n)
{
	tid y = norm(n, n->x);
	return EMIT(n, "add", EMIT(n, "relu", y), EMIT(n, "tanh", y));
}

static tid build_output(struct net *n)
{
	tid y = norm(n, n->x);
	graph_t(n->g, y)->output = true;
	return EMIT(n, "relu", y);
}

/* The sum goes on without activation. */
static tid build_sum_read(struct net *n)
{
	tid e = EMIT(n, "add", norm(n, n->x), n->r);
	return EMIT(n, "multiply", EMIT(n, "relu", e), EMIT(n, "tanh", e));
}

/* What is added is made from the statistics of the same batch: no order could be found. */
static tid build_statistics(struct net *n)
{
	tid gamma = vector(n, "gamma", 1.5), beta = vector(n, "beta", 0.1), out[4], mean;
	int64_t dims[] = { 1, 5, 1, 1 }, full[] = { 2, 5, 4, 3 };
	assert_int_equal(graph_emit(n->g, "batch_norm", NULL, 3, (tid[]){ n->x, gamma, beta }, 4,
	                            out), 0);
	mean = op_emit(n->g, "reshape", &(struct shape_attr){ { 4, dims } }, 1, &out[1]);
	mean = op_emit(n->g, "broadcast", &(struct shape_attr){ { 4, full } }, 1, &mean);
	return EMIT(n, "relu", EMIT(n, "add", out[0], mean));
}

static const struct {
	tid (*build)(struct net *n);
	bool backward;
	const char *there, *gone;    /* "op op/form": at least one, none of these after the pass */
	enum backend backend;        /* of the pass; the CPU if it is left out */
} nets[] = {
	{ build_relu, true, "batch_norm/a batch_norm_grad/a",
	  "batch_norm/1 relu batch_norm_grad/1 relu_grad" },
	{ build_leaky, true, "batch_norm/a batch_norm_grad/a",
	  "batch_norm/1 leaky_relu batch_norm_grad/1 leaky_relu_grad" },
	{ build_two_activations, true, "batch_norm/a leaky_relu batch_norm_grad/a leaky_relu_grad",
	  "batch_norm/1 relu batch_norm_grad/1 relu_grad" },
	{ build_residual, true, "batch_norm/a batch_norm_grad/r",
	  "batch_norm/1 relu add batch_norm_grad/1 relu_grad" },
	{ build_projection, true, "batch_norm/a batch_norm_grad/r batch_norm_grad/1",
	  "relu add relu_grad" },
	{ build_blocks, true, "batch_norm/a batch_norm_grad/r",
	  "batch_norm/1 relu add relu_grad batch_norm_grad/1" },
	{ build_two_readers, true, "batch_norm_grad/a add", "relu relu_grad batch_norm/1" },
	{ build_two_readers_plain, true, "batch_norm_grad/1 add", "" },
	{ build_conv_and_other, true, "conv_grad_input_add add", "conv_grad_input" },
	{ build_two_convs, true, "conv_grad_input conv_grad_input_add", "add" },
	{ build_conv_read, true, "conv_grad_input", "conv_grad_input_add" },
	{ build_norm_doubled, true, "batch_norm/1 add relu", "batch_norm/a" },
	{ build_conv_doubled, true, "conv_grad_input add", "conv_grad_input_add" },
	{ build_conv_doubled, true, "conv_grad_input add", "conv_grad_input_sum", BACKEND_CUDA },
	{ build_inference, false, "batch_norm_inference/a", "relu batch_norm_inference/1" },
	{ build_inference_leaky, false, "batch_norm_inference/a",
	  "leaky_relu batch_norm_inference/1" },
	{ build_inference_residual, false, "batch_norm_inference/a",
	  "relu add batch_norm_inference/1" },
	{ build_dropout, true, "relu_dropout relu_dropout_grad", "relu relu_grad dropout" },
	{ build_dropout_read, true, "relu_dropout relu_grad dropout", "relu relu_dropout_grad" },
	{ build_read_twice, true, "batch_norm/1 relu relu_grad batch_norm_grad/1", "batch_norm/a" },
	{ build_output, true, "batch_norm/1 relu relu_grad batch_norm_grad/1", "batch_norm/a" },
	{ build_sum_read, true, "batch_norm/1 add relu", "batch_norm/a" },
	{ build_statistics, false, "batch_norm/1 add relu", "batch_norm/a" },
	{ build_conv_relu, true, "conv_relu relu_grad", "conv relu", BACKEND_CUDA },
	{ build_conv_leaky, true, "conv_relu leaky_relu_grad", "conv leaky_relu", BACKEND_CUDA },
	{ build_conv_add, true, "conv_add", "conv add", BACKEND_CUDA },
	{ build_conv_add_relu, true, "conv_relu", "conv conv_add add relu", BACKEND_CUDA },
	{ build_conv_add_leaky, true, "conv_relu", "conv conv_add add leaky_relu", BACKEND_CUDA },
	{ build_conv_norm, false, "conv_norm", "conv batch_norm_inference/1", BACKEND_CUDA },
	{ build_conv_norm_leaky, false, "conv_norm_relu", "conv batch_norm_inference/1 leaky_relu",
	  BACKEND_CUDA },
	{ build_conv_norm_residual, false, "conv_norm_relu", "conv batch_norm_inference/1 add relu",
	  BACKEND_CUDA },
	{ build_conv_and_other, true, "conv_add conv_grad_input_sum", "add conv_grad_input",
	  BACKEND_CUDA },
	{ build_relu_conv, true, "conv_grad_input_relu", "conv_grad_input relu_grad", BACKEND_CUDA },
	{ build_leaky_conv_and_other, true, "conv_grad_input_relu",
	  "conv_grad_input leaky_relu_grad add", BACKEND_CUDA },
	{ build_conv_wanted, true, "conv relu", "conv_relu", BACKEND_CUDA },
	{ build_relu, true, "batch_norm/a batch_norm_grad/a", "batch_norm/1", BACKEND_CUDA },
	{ build_conv_batch_norm, true, "conv_statistics batch_norm_apply/1 batch_norm_grad/1",
	  "conv batch_norm/1", BACKEND_CUDA },
	{ build_conv_batch_norm_leaky, true, "conv_statistics batch_norm_apply/a batch_norm_grad/a",
	  "conv batch_norm/1 batch_norm/a", BACKEND_CUDA },
	{ build_conv_batch_norm_residual, true, "conv_statistics batch_norm_apply/a batch_norm_grad/r",
	  "conv batch_norm/a", BACKEND_CUDA },
	{ build_conv_two_norms, true, "conv_statistics batch_norm_apply/1 batch_norm/1", "conv",
	  BACKEND_CUDA },
	{ build_bias_batch_norm, true, "conv batch_norm/1", "conv_statistics batch_norm_apply/1",
	  BACKEND_CUDA },
};
#define NNETS ((int)(sizeof nets / sizeof *nets))

/* The forms of norms: 1 has no activation, a has one, r also a residual. */
static bool is_form(const struct node *n, char form)
{
	const double *slope = attr_find(n->op, n->attr, "slope", FT_FLOAT);
	const bool residual = !strcmp(n->op->name, "batch_norm_grad") && n->nout == 4;
	return form == ' ' || (form == '1' ? *slope == 1 : *slope != 1 && residual == (form == 'r'));
}

static int count(const struct graph *g, const char *op, size_t length)
{
	const size_t name = strcspn(op, "/ ") < length ? strcspn(op, "/ ") : length;
	const char form = name < length ? op[name + 1] : ' ';
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		n += strlen(g->node[i]->op->name) == name && !memcmp(g->node[i]->op->name, op, name) &&
		     is_form(g->node[i], form);
	return n;
}

static void check_ops(const struct graph *g, const char *list, bool there)
{
	for (; *list; list += strspn(list, " ")) {
		size_t length = strcspn(list, " ");
		int n = count(g, list, length);
		if (there ? n == 0 : n > 0)
			fail_msg("%d of %.*s", n, (int)length, list);
		list += length;
	}
}

/* --- running --- */

static const struct pass passes[] = {
	{ "fold", "", pass_fold, STAGE_BUILT },         { "dce", "", pass_dce, STAGE_BUILT },
	{ "fuse", "", pass_fuse, STAGE_BUILT },
	{ "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT },  { "sched", "", pass_sched, STAGE_LAID_OUT },
};

static struct graph *build(int i, struct op_results *r)
{
	struct net n = { .g = graph_new() };
	n.g->cur_name = "net";
	n.x = op_param(n.g, "x", &image, 0);
	n.r = op_param(n.g, "r", &image, 0);
	tid y = nets[i].build(&n);
	r->n = 0;
	op_results_add(r, y);
	if (nets[i].backward)
		op_backward(n.g, y, "w", r);
	op_results_output(n.g, r);
	return n.g;
}

/* The pass alone, for the backend of this network. */
static enum backend fused_for(int i)
{
	return nets[i].backend ? nets[i].backend : BACKEND_CPU;
}

static int fuse_for(struct graph *g, struct pass_env *env)
{
	struct pass_env other = { .backend = *(const enum backend *)env->user };
	return pass_fuse(g, &other) < 0 ? -1 : pass_conv_statistics(g, &other);
}

/* Runs it, with the pass or without: on the CPU, or what is for GPUs by reference kernels; the
 * results one after another. */
static double *values(int i, bool fuse, int *n)
{
	struct op_results r;
	struct graph *g = build(i, &r);
	struct device *dev;
	double *out;
	struct pass table[6];
	int at = 0;
	enum backend backend = fused_for(i);
	assert_int_equal(device_open(&dev, backend == BACKEND_CPU ? "cpu" : "reference"), 0);
	for (size_t p = 0; p < 6; p++)
		if (strcmp(passes[p].name, "fuse") != 0)
			table[at++] = passes[p];
		else if (fuse)
			table[at++] = (struct pass){ "fuse", "", fuse_for, STAGE_BUILT };
	struct pass_env env = { .backend = dev->backend, .dev = dev, .plan = &plan_env_default,
		.user = &backend };
	if (pass_run(g, table, at, &env) < 0)
		fail_msg("network %d: %s", i, err_get(0)->text);
	out = op_values(g, dev, r.t, r.n, n);
	graph_free(g);
	device_close(dev);
	return out;
}

/* --- tests --- */

static void test_matches(void **state)
{
	for (int i = 0; i < NNETS; i++) {
		struct op_results r;
		struct graph *g = build(i, &r);
		struct pass_env env = { .backend = fused_for(i) };
		struct pass moments = { "conv_statistics", "", pass_conv_statistics, STAGE_BUILT };
		if (pass_run(g, passes, 3, &env) < 0 || pass_run(g, &moments, 1, &env) < 0)
			fail_msg("network %d: %s", i, err_get(0)->text);
		check_ops(g, nets[i].there, true);
		check_ops(g, nets[i].gone, false);
		op_results_made(g, &r);
		graph_free(g);
	}
}

static void test_values(void **state)
{
	for (int i = 0; i < NNETS; i++) {
		int n, m;
		double *a = values(i, false, &n), *b = values(i, true, &m);
		op_assert_close(i, a, n, b, m, 2e-6);
	}
}

/* The reference backend runs the graph as it is. */
static void test_backend(void **state)
{
	struct op_results r;
	struct graph *g = build(0, &r);
	struct pass_env env = { .backend = BACKEND_REFERENCE };
	uint64_t before;
	assert_int_equal(pass_run(g, passes, 2, &env), 0);
	before = graph_fingerprint(g);
	assert_int_equal(pass_run(g, passes + 2, 1, &env), 0);
	assert_int_equal(graph_fingerprint(g), before);
	graph_free(g);
}

/* A residual block whose residual is made late, with what updates the running mean before it. */
static struct net late_residual(tid (*activate)(struct net *n, tid x), tid *y, tid *updated)
{
	struct net n = { .g = graph_new() };
	const struct norm_attr eps = { 0.25, 1, -1 };
	tid running, out[4];
	n.x = op_param(n.g, "x", &image, 0);
	n.r = op_param(n.g, "r", &image, 0);
	assert_int_equal(graph_state(n.g, "running", DTYPE_F32, &channels,
	                             (struct init){ INIT_CONSTANT, 0 }, &running), 0);
	n.g->cur_name = "first";
	n.g->cur_loc = (struct loc){ .file = "net.yaml", .line = 7, .col = 3 };
	assert_int_equal(graph_emit(n.g, "batch_norm", &eps, 3,
	                            (tid[]){ n.x, vector(&n, "gamma", 1), vector(&n, "beta", 1) },
	                            4, out), 0);
	*updated = EMIT(&n, "ema_update", running, out[1]);
	n.g->cur_name = "second";
	n.g->cur_loc.line = 8;
	*y = activate(&n, EMIT(&n, "add", out[0], EMIT(&n, "tanh", n.r)));
	graph_t(n.g, *y)->output = true;
	return n;
}

static tid relu(struct net *n, tid x) { return EMIT(n, "relu", x); }

/* Name, phase and place are the normalisation's, attributes carry over, and what reads the
 * statistics stands after the new node. */
static void test_context(void **state)
{
	tid y, updated;
	struct net n = late_residual(relu, &y, &updated);
	struct pass_env env = { .backend = BACKEND_CPU };
	const struct node *fused;
	assert_int_equal(pass_run(n.g, passes + 2, 1, &env), 0);
	assert_int_equal(n.g->nnode, 3);
	fused = n.g->node[1];
	assert_string_equal(n.g->node[0]->op->name, "tanh");
	assert_string_equal(fused->op->name, "batch_norm");
	assert_true(((const struct norm_attr *)fused->attr)->slope == 0);
	assert_string_equal(fused->name, "first");
	assert_int_equal(fused->loc.line, 7);
	assert_int_equal(fused->phase, PHASE_FORWARD);
	assert_true(((const struct norm_attr *)fused->attr)->eps == 0.25);
	assert_int_equal(fused->out[0], y);
	assert_int_equal(graph_t(n.g, updated)->producer, 2);
	graph_free(n.g);
}

/* There is no row for leaky relu with a residual, nor for a chain that changes phase. */
static void test_no_row(void **state)
{
	tid y, updated;
	struct net n = late_residual(leaky, &y, &updated);
	struct pass_env env = { .backend = BACKEND_CPU };
	assert_int_equal(pass_run(n.g, passes + 2, 1, &env), 0);
	assert_int_equal(n.g->nnode, 5);
	graph_free(n.g);
	n = late_residual(relu, &y, &updated);
	n.g->node[n.g->nnode - 1]->phase = PHASE_BACKWARD;
	assert_int_equal(pass_run(n.g, passes + 2, 1, &env), 0);
	assert_int_equal(n.g->nnode, 5);
	graph_free(n.g);
}

/* What looks like a gradient of dropout but draws other numbers is not one. */
static void test_other_stream(void **state)
{
	for (int64_t stream = 7; stream < 9; stream++) {
		struct net n = { .g = graph_new() };
		struct pass_env env = { .backend = BACKEND_CPU };
		tid z, y, t, d;
		n.x = op_param(n.g, "x", &image, 0);
		d = op_param(n.g, "d", &image, 0);
		z = EMIT(&n, "relu", n.x);
		y = dropout(&n, z, 7);
		t = EMIT(&n, "relu_grad", z, dropout(&n, d, stream));
		graph_t(n.g, y)->output = graph_t(n.g, t)->output = true;
		assert_int_equal(pass_run(n.g, passes + 2, 1, &env), 0);
		assert_int_equal(count(n.g, "relu_dropout_grad", 17), stream == 7);
		assert_int_equal(count(n.g, "relu_dropout", 12), 1);
		graph_free(n.g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_backend),
		cmocka_unit_test(test_context),
		cmocka_unit_test(test_no_row),
		cmocka_unit_test(test_other_stream),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
