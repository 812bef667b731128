/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Norms that are fused into the convolutions that read them: which networks are rewritten, which
 * are not, and that the values are the same, by reference kernels. */
#include "op_graph.h"

#include <math.h>

#include "op/conv/conv.h"
#include "op/lib/elementwise.h"
#include "pass/pass.h"
#include "pass/prologue.h"

struct net {
	struct graph *g;
	tid x;
	int made;                    /* names of what has been made */
};

static const struct shape image = { 4, { 2, 8, 5, 4 } }, channels = { 1, { 8 } };

static tid named(struct net *n, const char *leaf, const struct shape *s, double value)
{
	char name[32];
	snprintf(name, sizeof name, "%s%d", leaf, n->made++);
	return op_param(n->g, name, s, value);
}

static tid conv_in_groups(struct net *n, tid x, int64_t groups)
{
	const struct shape s = { 4, { 8, 8 / groups, 3, 3 } };
	const int64_t one = 1;
	const struct conv_attr at = { .pad_lo = { 1, &one }, .pad_hi = { 1, &one }, .groups = groups };
	return op_emit(n->g, "conv", &at, 2, (tid[]){ x, named(n, "w", &s, 0) });
}

static tid conv(struct net *n, tid x) { return conv_in_groups(n, x, 1); }

static tid norm(struct net *n, tid x)
{
	const tid gamma = named(n, "gamma", &channels, 1.5), beta = named(n, "beta", &channels, 0.1);
	return EMIT(n, "batch_norm", x, gamma, beta);
}

static tid normed(struct net *n, tid x) { return EMIT(n, "relu", norm(n, x)); }

/* Every network ends in a norm, since a convolution that is folded gives its statistics. */
static tid build_one(struct net *n) { return norm(n, conv(n, normed(n, conv(n, n->x)))); }

static tid build_chain(struct net *n)
{
	return norm(n, conv(n, normed(n, conv(n, normed(n, conv(n, n->x))))));
}

/* The gradient of what they read is a sum. */
static tid build_two_convs(struct net *n)
{
	const tid y = normed(n, conv(n, n->x));
	return EMIT(n, "multiply", norm(n, conv(n, y)), norm(n, conv(n, y)));
}

/* The gradient of x is a sum, part of which the norm's gradient adds. */
static tid build_other_reader_of_x(struct net *n)
{
	const tid x = conv(n, n->x);
	return EMIT(n, "add", norm(n, conv(n, normed(n, x))), EMIT(n, "tanh", x));
}

static tid build_other_reader(struct net *n)
{
	const tid y = normed(n, conv(n, n->x));
	return EMIT(n, "add", norm(n, conv(n, y)), EMIT(n, "tanh", y));
}

static tid build_output(struct net *n)
{
	const tid y = normed(n, conv(n, n->x));
	graph_t(n->g, y)->output = true;
	return norm(n, conv(n, y));
}

static tid build_leaky(struct net *n)
{
	const tid y = norm(n, conv(n, n->x));
	return norm(n, conv(n, op_emit(n->g, "leaky_relu", &(struct leaky_relu_attr){ 0.3 }, 1, &y)));
}

static tid build_linear(struct net *n) { return norm(n, conv(n, norm(n, conv(n, n->x)))); }
static tid build_residual(struct net *n)
{
	return norm(n, conv(n, EMIT(n, "relu", EMIT(n, "add", norm(n, conv(n, n->x)), n->x))));
}

static tid build_no_norm_behind(struct net *n)
{
	return EMIT(n, "tanh", conv(n, normed(n, conv(n, n->x))));
}

static tid build_no_conv_before(struct net *n)
{
	return norm(n, conv(n, normed(n, EMIT(n, "tanh", n->x))));
}

static tid build_groups(struct net *n)
{
	return norm(n, conv_in_groups(n, normed(n, conv(n, n->x)), 8));
}

/* Kernels of dlx's, which take convolutions with groups, take any slope, and give no statistics. */
static tid build_groups_alone(struct net *n)
{
	return EMIT(n, "tanh", conv_in_groups(n, normed(n, conv(n, n->x)), 8));
}

static tid build_groups_linear(struct net *n)
{
	return norm(n, conv(n, conv_in_groups(n, norm(n, conv(n, n->x)), 8)));
}

static tid build_groups_leaky(struct net *n)
{
	const tid y = norm(n, conv(n, n->x));
	return norm(n, conv_in_groups(n, op_emit(n->g, "leaky_relu", &(struct leaky_relu_attr){ 0.3 },
	                                         1, &y), 8));
}

static tid build_groups_and_other_reader(struct net *n)
{
	const tid y = normed(n, conv(n, n->x));
	return EMIT(n, "add", norm(n, conv_in_groups(n, y, 8)), EMIT(n, "tanh", y));
}

/* The gradient of what both read is a sum. */
static tid build_groups_and_conv(struct net *n)
{
	const tid y = normed(n, conv(n, n->x));
	return EMIT(n, "add", norm(n, conv_in_groups(n, y, 8)), norm(n, conv(n, y)));
}

enum { ALL = 7, FORWARD = 1 << CONV_FORWARD, DATA = 1 << CONV_BACKWARD_DATA,
	WEIGHTS = 1 << CONV_BACKWARD_WEIGHTS };

static const struct {
	tid (*build)(struct net *n);
	unsigned engines;            /* of which kinds there are some */
	int norms, data;             /* that many are folded, and that many with their gradient */
} nets[] = {
	{ build_one, ALL, 1, 1 },
	{ build_one, FORWARD | WEIGHTS, 1, 0 },
	{ build_one, FORWARD | DATA, 0, 0 },
	{ build_one, WEIGHTS | DATA, 0, 0 },
	{ build_chain, ALL, 2, 2 },
	{ build_two_convs, ALL, 1, 0 },
	{ build_other_reader_of_x, ALL, 1, 1 },
	{ build_other_reader, ALL, 0, 0 },
	{ build_output, ALL, 0, 0 },
	{ build_leaky, ALL, 0, 0 },
	{ build_linear, ALL, 0, 0 },
	{ build_residual, ALL, 0, 0 },
	{ build_no_norm_behind, ALL, 0, 0 },
	{ build_no_conv_before, ALL, 0, 0 },
	{ build_groups, ALL, 1, 1 },
	{ build_groups, FORWARD | WEIGHTS, 1, 0 },
	{ build_groups, FORWARD | DATA, 0, 0 },
	{ build_groups_alone, ALL, 1, 1 },
	{ build_groups_linear, ALL, 1, 1 },
	{ build_groups_leaky, ALL, 1, 1 },
	{ build_groups_and_other_reader, ALL, 0, 0 },
	{ build_groups_and_conv, ALL, 1, 0 },
};
#define NNETS ((int)(sizeof nets / sizeof *nets))

/* --- passes --- */

static int cur_net;

static bool has(void *user, enum conv_kind kind, const struct conv_geom *c)
{
	assert_int_equal(c->ci, 8);
	return nets[*(const int *)user].engines >> kind & 1;
}

static int fuse_for_gpus(struct graph *g, struct pass_env *env)
{
	struct pass_env other = { .backend = BACKEND_CUDA };
	return pass_fuse(g, &other) < 0 ? -1 : pass_conv_statistics(g, &other);
}

static int fold_norms(struct graph *g, struct pass_env *env)
{
	return prologue_fold(g, &(struct prologue_engines){ has, &cur_net });
}

static const struct pass passes[] = {
	{ "fold", "", pass_fold, STAGE_BUILT },           { "dce", "", pass_dce, STAGE_BUILT },
	{ "fuse", "", fuse_for_gpus, STAGE_BUILT },       { "prologue", "", fold_norms, STAGE_BUILT },
	{ "precision", "", pass_precision, STAGE_BUILT }, { "layout", "", pass_layout, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};
enum { UP_TO_FOLD = 4, ALL_PASSES = 7 };

static struct graph *build(int i, struct op_results *r)
{
	struct net n = { .g = graph_new() };
	cur_net = i;
	n.g->cur_name = "net";
	n.x = op_param(n.g, "x", &image, 0);
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

/* --- tests --- */

static void test_matches(void **state)
{
	for (int i = 0; i < NNETS; i++) {
		struct op_results r;
		struct graph *g = build(i, &r);
		op_passes(g, NULL, passes, UP_TO_FOLD - 1, NULL);
		const int norms = op_count(g, "batch_norm_apply"),
		          weights = op_count(g, "conv_grad_weight");
		const int grads = op_count(g, "batch_norm_grad"),
		          statistics = op_count(g, "conv_statistics");
		op_passes(g, NULL, passes + UP_TO_FOLD - 1, 1, NULL);
		const int folded = norms - op_count(g, "batch_norm_apply");
		if (folded != nets[i].norms || op_count(g, "conv_grad_input_norm") != nets[i].data ||
		    op_count(g, "batch_norm_grad_rest") != nets[i].data)
			fail_msg("network %d: %d norms folded, %d with their gradient", i, folded,
			         op_count(g, "conv_grad_input_norm"));
		assert_int_equal(op_count(g, "batch_norm_grad"), grads - nets[i].data);
		assert_int_equal(op_count(g, "conv_statistics"), statistics);
		assert_int_equal(op_count(g, "conv_grad_weight") + op_count(g, "norm_conv_grad_weight"),
		                 weights);
		assert_int_equal(op_count(g, "norm_conv_grad_weight") > 0, folded > 0);
		for (int k = 0; k < r.n; k++)
			assert_true(graph_t(g, r.t[k])->producer != NONE);
		graph_free(g);
	}
}

static void test_values(void **state)
{
	op_assert_pass(NNETS, values, "prologue", 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
