/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Signs of activations that are kept as bits: which networks are rewritten, which are not, that
 * nothing is made that had no reader, and that the values are the same to the bit, by reference
 * kernels. */
#include "op_graph.h"

#include "pass/pass.h"

struct net {
	struct graph *g;
	tid x;
	int64_t channels;
	int made;                    /* names of what has been made */
};

static tid vector(struct net *n, const char *leaf, double value)
{
	char name[32];
	snprintf(name, sizeof name, "%s%d", leaf, n->made++);
	return op_param(n->g, name, &(struct shape){ 1, { n->channels } }, value);
}

static tid conv(struct net *n, tid x)
{
	char name[32];
	const struct shape s = { 4, { n->channels, n->channels, 1, 1 } };
	snprintf(name, sizeof name, "w%d", n->made++);
	return EMIT(n, "conv", x, op_param(n->g, name, &s, 0));
}

static tid norm(struct net *n, tid x)
{
	const tid gamma = vector(n, "gamma", 1.5), beta = vector(n, "beta", 0.1);
	return EMIT(n, "batch_norm", x, gamma, beta);
}

static tid block(struct net *n, tid x)
{
	return EMIT(n, "relu", EMIT(n, "add", norm(n, conv(n, x)), x));
}

/* Its output is after a convolution, whose gradient to the weights reads y. */
static tid build_one(struct net *n) { return conv(n, block(n, n->x)); }
/* The gradient of y is a sum of two. */
static tid build_two(struct net *n) { return conv(n, block(n, block(n, n->x))); }

static tid build_no_conv_before(struct net *n)
{
	const tid z = norm(n, EMIT(n, "tanh", n->x));
	return conv(n, EMIT(n, "relu", EMIT(n, "add", z, n->x)));
}

/* Both summands are normalised. */
static tid build_two_norms(struct net *n)
{
	const tid shortcut = norm(n, conv(n, n->x));
	return conv(n, EMIT(n, "relu", EMIT(n, "add", norm(n, conv(n, n->x)), shortcut)));
}

/* The residual needs no gradient: nothing requests that of z. */
static tid build_constant_residual(struct net *n)
{
	tid r;
	const struct shape *s = &graph_t(n->g, n->x)->shape;
	assert_int_equal(graph_state(n->g, "r", DTYPE_F32, s, (struct init){ INIT_NORMAL, 1 }, &r), 0);
	return EMIT(n, "relu", EMIT(n, "add", norm(n, conv(n, n->x)), r));
}

static tid build_output(struct net *n)
{
	const tid y = block(n, n->x);
	graph_t(n->g, y)->output = true;
	return conv(n, y);
}

/* The sign is that of x. */
static tid build_no_residual(struct net *n)
{
	return conv(n, EMIT(n, "relu", norm(n, conv(n, n->x))));
}

static tid build_no_relu(struct net *n)
{
	return conv(n, EMIT(n, "add", norm(n, conv(n, n->x)), n->x));
}

static const struct {
	tid (*build)(struct net *n);
	int64_t channels;
	int apply, whole;            /* norms with signs, by given statistics and by their own */
} nets[] = {
	{ build_one, 8, 1, 0 },
	{ build_one, 24, 1, 0 },
	{ build_one, 12, 0, 0 },
	{ build_two, 16, 2, 0 },
	{ build_no_conv_before, 8, 0, 1 },
	{ build_two_norms, 8, 1, 0 },
	{ build_constant_residual, 8, 1, 0 },
	{ build_output, 8, 1, 0 },
	{ build_no_residual, 8, 0, 0 },
	{ build_no_relu, 8, 0, 0 },
};
#define NNETS ((int)(sizeof nets / sizeof *nets))

/* --- passes --- */

static int fuse_for_gpus(struct graph *g, struct pass_env *env)
{
	struct pass_env other = { .backend = BACKEND_CUDA };
	return pass_fuse(g, &other) < 0 ? -1 : pass_conv_statistics(g, &other);
}

static int signs_for_gpus(struct graph *g, struct pass_env *env)
{
	struct pass_env other = { .backend = BACKEND_CUDA };
	return pass_signs(g, &other);
}

static const struct pass passes[] = {
	{ "fold", "", pass_fold, STAGE_BUILT },           { "dce", "", pass_dce, STAGE_BUILT },
	{ "fuse", "", fuse_for_gpus, STAGE_BUILT },       { "signs", "", signs_for_gpus, STAGE_BUILT },
	{ "precision", "", pass_precision, STAGE_BUILT }, { "layout", "", pass_layout, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};
enum { UP_TO_FUSE = 3, ALL_PASSES = 7 };

static struct graph *build(int i, struct op_results *r)
{
	struct net n = { .g = graph_new(), .channels = nets[i].channels };
	n.g->cur_name = "net";
	n.x = op_param(n.g, "x", &(struct shape){ 4, { 2, n.channels, 5, 4 } }, 0);
	tid y = nets[i].build(&n);
	r->n = 0;
	op_results_add(r, y);
	op_backward(n.g, y, "of", r);
	op_results_output(n.g, r);
	return n.g;
}

static double *values(int i, const char *without, int *n)
{
	struct op_results r;
	struct graph *g = build(i, &r);
	return op_values_after(g, "reference", passes, ALL_PASSES, without, r.t, r.n, n);
}

/* Outputs of nodes that are there. */
static int outputs(const struct graph *g)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		for (int k = 0; k < g->node[i]->nout; k++)
			n += g->node[i]->out[k] != NONE;
	return n;
}

/* --- tests --- */

static void test_matches(void **state)
{
	for (int i = 0; i < NNETS; i++) {
		struct op_results r;
		struct graph *g = build(i, &r);
		op_passes(g, NULL, passes, UP_TO_FUSE, NULL);
		const int nodes = g->nnode, before = outputs(g);
		op_passes(g, NULL, passes + UP_TO_FUSE, 1, NULL);
		const int apply = op_count(g, "batch_norm_apply_signs"),
		          whole = op_count(g, "batch_norm_signs");
		if (apply != nets[i].apply || whole != nets[i].whole)
			fail_msg("network %d: signs of %d and %d norms", i, apply, whole);
		assert_int_equal(op_count(g, "batch_norm_grad_signs"), apply + whole);
		assert_int_equal(g->nnode, nodes);
		assert_int_equal(outputs(g), before + apply + whole);
		op_results_made(g, &r);
		graph_free(g);
	}
}

static void test_values(void **state)
{
	op_assert_pass(NNETS, values, "signs", 0);
}

static void test_cpu(void **state)
{
	struct op_results r;
	struct graph *g = build(0, &r);
	op_passes(g, NULL, passes, UP_TO_FUSE, NULL);
	assert_int_equal(pass_signs(g, &(struct pass_env){ .backend = BACKEND_CPU }), 0);
	assert_int_equal(op_count(g, "batch_norm_grad_signs"), 0);
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_cpu),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
