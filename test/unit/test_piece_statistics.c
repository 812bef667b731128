/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass `piece_statistics` on graphs of real ops: which norms are taken apart, that each
 * part's statistics are made once, where they are read, and that values stay what they
 * were, forward and backward. */
#include "op_graph.h"

#include <math.h>

#include "graph/cost.h"
#include "op/conv/conv.h"
#include "op/norm/norm.h"
#include "pass/pass.h"

#define C 5                      /* channels of the image */
#define GROWTH 3                 /* that a layer adds */

/* A network under construction. */
struct net {
	struct graph *g;
	tid x, r;                    /* two images */
	tid running[16];             /* statistics as the host reads them */
	int nrunning, norms;
};

static const struct shape image = { 4, { 2, C, 6, 7 } };

static int64_t channels(const struct net *n, tid x)
{
	return graph_t(n->g, x)->shape.d[1];
}

/* A norm with running statistics. */
static tid norm_with(struct net *n, tid x, double eps)
{
	const struct shape s = { 1, { channels(n, x) } };
	char name[4][32];
	tid out[4], mean, var;
	for (int i = 0; i < 4; i++)
		snprintf(name[i], sizeof *name, "norm%d.%c", n->norms, "gbmv"[i]);
	n->norms++;
	const struct norm_attr at = { eps, 1, -1 };
	assert_int_equal(graph_emit(n->g, "batch_norm", &at, 3,
	                            (tid[]){ x, op_param(n->g, name[0], &s, 1.5),
		op_param(n->g, name[1], &s, 0.1) },
	                            4, out), 0);
	assert_int_equal(graph_state(n->g, name[2], DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 },
	                             &mean), 0);
	assert_int_equal(graph_state(n->g, name[3], DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 1 },
	                             &var), 0);
	n->running[n->nrunning++] = EMIT(n, "ema_update", mean, out[1]);
	n->running[n->nrunning++] = EMIT(n, "ema_update", var, out[3]);
	return out[0];
}

static tid norm(struct net *n, tid x)
{
	return norm_with(n, x, 1e-5);
}

static tid conv(struct net *n, tid x, int64_t filters)
{
	const struct shape s = { 4, { filters, channels(n, x), 3, 3 } };
	const int64_t one = 1;
	const struct conv_attr at = { .pad_lo = { 1, &one }, .pad_hi = { 1, &one } };
	char name[32];
	snprintf(name, sizeof name, "w%d", n->g->nnode);
	return op_emit(n->g, "conv", &at, 2, (tid[]){ x, op_param(n->g, name, &s, 0) });
}

/* Norm, activation, convolution, tanh, which stays within bounds. */
static tid layer(struct net *n, tid x)
{
	return EMIT(n, "tanh", conv(n, EMIT(n, "relu", norm(n, x)), GROWTH));
}

static tid join(struct net *n, tid a, tid b)
{
	return EMIT(n, "concat", a, b);
}

/* --- networks --- */

static tid build_dense(struct net *n)
{
	tid all = EMIT(n, "tanh", n->x);
	for (int i = 0; i < 4; i++)
		all = join(n, all, layer(n, all));
	return all;
}

/* A block whose input is joined, and whose output is
 * normalised and goes elsewhere too, as a skip does. */
static tid build_skip(struct net *n)
{
	tid all = join(n, EMIT(n, "tanh", n->x), EMIT(n, "tanh", n->r)), last;
	for (int i = 0; i < 2; i++)
		all = join(n, all, layer(n, all));
	last = conv(n, EMIT(n, "relu", norm(n, all)), GROWTH);
	all = join(n, last, all);
	for (int i = 0; i < 2; i++)
		all = join(n, all, layer(n, all));
	return EMIT(n, "tanh", all);
}

static tid build_plain_norms(struct net *n)
{
	tid all = EMIT(n, "tanh", n->x);
	for (int i = 0; i < 3; i++)
		all = join(n, all, EMIT(n, "tanh", norm(n, all)));
	return all;
}

static tid build_residuals(struct net *n)
{
	tid all = n->x;
	for (int i = 0; i < 3; i++)
		all = join(n, all, conv(n, EMIT(n, "relu", EMIT(n, "add", norm(n, all),
		                                                EMIT(n, "tanh", all))), GROWTH));
	return all;
}

/* Two norms of one tensor that is no join. */
static tid build_two(struct net *n)
{
	tid x = EMIT(n, "tanh", n->x);
	return EMIT(n, "multiply", EMIT(n, "relu", norm(n, x)), EMIT(n, "tanh", norm(n, x)));
}

static tid build_alone(struct net *n)
{
	return EMIT(n, "relu", norm(n, join(n, EMIT(n, "tanh", n->x), n->r)));
}

/* Three of eleven channels are normalised by another. */
static tid build_few(struct net *n)
{
	tid y = EMIT(n, "relu", norm(n, conv(n, n->x, GROWTH)));
	tid z = conv(n, y, GROWTH), all = join(n, join(n, z, EMIT(n, "tanh", n->x)), n->r);
	return join(n, EMIT(n, "relu", norm(n, all)), EMIT(n, "tanh", norm(n, z)));
}

static tid build_other_eps(struct net *n)
{
	tid x = EMIT(n, "tanh", n->x);
	return EMIT(n, "add", EMIT(n, "relu", norm_with(n, x, 0.1)),
	            EMIT(n, "tanh", norm_with(n, x, 0.2)));
}

static const struct {
	const char *name;
	tid (*build)(struct net *n);
	int statistics;              /* nodes of that name after the pass */
	int norms;                   /* that are left as they were */
	int given, through;          /* nodes of the gradient */
} nets[] = {
	{ "dense", build_dense, 4, 0, 4, 4 },
	{ "skip", build_skip, 6, 0, 5, 6 },
	{ "plain norms", build_plain_norms, 3, 0, 0, 0 },
	{ "residuals", build_residuals, 3, 0, 0, 0 },
	{ "two", build_two, 1, 0, 0, 0 },
	{ "alone", build_alone, 0, 1, 0, 0 },
	{ "few", build_few, 1, 2, 0, 0 },
	{ "other eps", build_other_eps, 0, 2, 0, 0 },
};
#define NNETS ((int)(sizeof nets / sizeof *nets))

/* --- running --- */

static const struct pass passes[] = {
	{ "fold", "", pass_fold, STAGE_BUILT },      { "dce", "", pass_dce, STAGE_BUILT },
	{ "fuse", "", pass_fuse, STAGE_BUILT },
	{ "piece_statistics", "", pass_piece_statistics, STAGE_BUILT },
	{ "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT }, { "views", "", pass_views, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};
#define NPASSES ((int)(sizeof passes / sizeof *passes))
#define BUILT 4                  /* passes up to `parts` */

/* r: y, running statistics, gradients of the parameters. */
static struct graph *build(int i, struct op_results *r)
{
	struct net n = { .g = graph_new() };
	n.g->cur_name = "net";
	n.x = op_param(n.g, "x", &image, 0);
	n.r = op_param(n.g, "r", &image, 0);
	tid y = nets[i].build(&n);
	r->n = 0;
	op_results_add(r, y);
	for (int k = 0; k < n.nrunning; k++)
		op_results_add(r, n.running[k]);
	op_backward(n.g, y, "w", r);
	op_results_output(n.g, r);
	return n.g;
}

static double *values(int i, const char *without, int *n)
{
	struct op_results r;
	struct graph *g = build(i, &r);
	return op_values_after(g, "cpu", passes, NPASSES, without, r.t, r.n, n);
}

/* --- tests --- */

static void test_nodes(void **state)
{
	for (int i = 0; i < NNETS; i++) {
		struct op_results r;
		struct graph *g = build(i, &r);
		op_passes(g, NULL, passes, BUILT, NULL);
		if (op_count(g, "batch_norm_statistics") != nets[i].statistics)
			fail_msg("%s: %d nodes of statistics", nets[i].name,
			         op_count(g, "batch_norm_statistics"));
		if (op_count(g, "batch_norm") != nets[i].norms)
			fail_msg("%s: %d norms are left", nets[i].name, op_count(g, "batch_norm"));
		if (op_count(g, "batch_norm_grad_given") != nets[i].given ||
		    op_count(g, "batch_norm_grad_through") != nets[i].through)
			fail_msg("%s: %d gradients of given statistics, %d through them", nets[i].name,
			         op_count(g, "batch_norm_grad_given"), op_count(g, "batch_norm_grad_through"));
		op_results_made(g, &r);
		graph_free(g);
	}
}

static void test_values(void **state)
{
	op_assert_pass(NNETS, values, "piece_statistics", 2e-5);
}

static void test_same_bits(void **state)
{
	for (int i = 0; i < NNETS; i++) {
		int n, m;
		double *a = values(i, NULL, &n), *b = values(i, NULL, &m);
		assert_int_equal(n, m);
		assert_memory_equal(a, b, sizeof *a * (size_t)n);
		free(a);
		free(b);
	}
}

/* Norms whose result the host reads, and graphs of other backends, stay as they are. */
static void test_left_alone(void **state)
{
	for (int b = BACKEND_REFERENCE; b < BACKEND_COUNT; b++) {
		struct op_results r;
		struct graph *g = build(0, &r);
		struct pass_env env = { .backend = (enum backend)b };
		for (int i = 0; b == BACKEND_CPU && i < g->nnode; i++)
			if (!strcmp(g->node[i]->op->name, "batch_norm"))
				graph_t(g, g->node[i]->out[0])->output = true;
		uint64_t before = graph_fingerprint(g);
		assert_int_equal(pass_run(g, passes + BUILT - 1, 1, &env), 0);
		assert_int_equal(graph_fingerprint(g), before);
		graph_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nodes),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_left_alone),
	};
	return cmocka_run_group_tests_name("piece_statistics", tests, NULL, NULL);
}
