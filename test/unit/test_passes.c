/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Layout and scheduling on small graphs and random ones, the runner, dumps, fingerprints, and all
 * passes on ten thousand nodes. (Folding: test_fold.c, memory: test_memplan.c.) */
#include "toy_passes.h"

#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "graph/cost.h"
#include "graph/dump.h"
#include "pass/autodiff.h"

/* --- layout --- */

static const char *layout_of(const struct graph *g, tid t)
{
	static char buf[LAYOUT_TEXT];
	return layout_text(&graph_t(g, t)->layout, &graph_t(g, t)->shape, buf);
}

static void test_layout(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "2x8x3x3"), w = toy_param(g, "w", "8x4"),
	    m = toy_state(g, "m", "8x4"), h, y, flat, dw, w2, m2;
	h = EMIT(g, "relu", EMIT(g, "conv", x, w));
	h = EMIT(g, "add", h, EMIT(g, "conv", x, w));
	flat = reshape(g, h, "2x72");
	y = EMIT(g, "sum", h);
	graph_t(g, y)->output = true;
	EMIT(g, "keep", flat);
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), 0);
	g->cur_phase = PHASE_UPDATE;
	m2 = EMIT(g, "sgd", m, dw);
	w2 = EMIT(g, "sgd", w, dw);
	toy_choices = 0;
	run(g, 2, 3);
	assert_int_equal(toy_choices, 2);                /* no kernel is queried twice */
	assert_string_equal(layout_of(g, x), "plain");
	assert_string_equal(layout_of(g, h), "native");
	assert_string_equal(layout_of(g, flat), "plain");
	/* the param got what its first user wanted; gradient, moment and new versions follow
	 * without a reorder */
	assert_string_equal(layout_of(g, w), "Ab4a");
	assert_string_equal(layout_of(g, dw), "Ab4a");
	assert_string_equal(layout_of(g, m), "Ab4a");
	assert_string_equal(layout_of(g, w2), "Ab4a");
	assert_string_equal(layout_of(g, m2), "Ab4a");
	/* one of x for two convolutions and their gradients, one of h for the view */
	assert_int_equal(toy_count(g, "reorder"), 2);
	assert_string_equal(g->node[0]->op->name, "reorder");
	assert_int_equal(g->node[0]->in[0], x);
	assert_int_equal(toy_producer(g, g->node[1]->in[0])->id, 0);
	const struct node *view = toy_producer(g, flat);
	assert_string_equal(toy_producer(g, view->in[0])->op->name, "reorder");
	assert_int_equal(graph_t(g, flat)->alias, view->in[0]);
	assert_int_equal(toy_producer(g, view->in[0])->id,
	                 view->id - 1); /* right before its first use */
	graph_free(g);
}

/* Random graphs: without the reorders everyone reads what it read before, no reorder is there
 * twice, and the verifier is content. */
static struct graph *random_images(int n)
{
	static const char *const op[] = { "any", "any_native", "relu", "add", "conv", "any" };
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "2x8x3x3"), w = toy_param(g, "w", "8x8"),
	    flat = toy_param(g, "f", "144");
	tid t[60] = { EMIT(g, "hard", x), reshape(g, flat, "2x8x3x3"),
		      toy_param(g, "v", "2x8x3x3") };
	for (int i = 3; i < n; i++) {
		int kind = dice(6);
		tid a = t[dice(i)], b = kind == 4 ? w : t[dice(i)];
		if (kind == 5)
			b = EMIT(g, "hard", reshape(g, b, "16x9"));
		t[i] = kind == 2 ? EMIT(g, "relu", a) : EMIT(g, op[kind], a, b);
	}
	graph_t(g, t[n - 1])->output = true;
	g->cur_phase = PHASE_UPDATE;
	EMIT(g, "sgd", w, toy_state(g, "m", "8x8"));
	EMIT(g, "sgd", t[2], t[n - 1]);
	return g;
}

/* The tensor after reorders. */
static tid behind(const struct graph *g, tid t)
{
	while (graph_t(g, t)->producer != NONE && !strcmp(toy_producer(g, t)->op->name, "reorder"))
		t = toy_producer(g, t)->in[0];
	return t;
}

static void check_no_twins(const struct graph *g)
{
	for (int i = 0; i < g->nnode; i++)
		for (int j = 0; j < i; j++) {
			const struct node *a = g->node[i], *b = g->node[j];
			if (strcmp(a->op->name, "reorder") || strcmp(b->op->name, "reorder"))
				continue;
			if (a->in[0] == b->in[0] &&
			    (a->phase == PHASE_UPDATE) == (b->phase == PHASE_UPDATE))
				assert_false(layout_equal(&graph_t(g, a->out[0])->layout,
				                          &graph_t(g, b->out[0])->layout));
			assert_true(behind(g, a->in[0]) == a->in[0]);
		}
}

static void test_layout_random(void **state)
{
	struct node *node[400];
	tid in[400][4];
	int reorders = 0;
	for (int run_ = 0; run_ < 100; run_++) {
		struct graph *g = random_images(4 + run_ / 2);
		int n = g->nnode;
		for (int i = 0; i < n; i++) {
			node[i] = g->node[i];
			memcpy(in[i], g->node[i]->in, (size_t)g->node[i]->nin * sizeof(tid));
		}
		run(g, 2, 3);
		reorders += g->nnode - n;
		for (int i = 0; i < n; i++) {
			assert_true(i == 0 || node[i]->id > node[i - 1]->id);
			for (int k = 0; k < node[i]->nin; k++)
				assert_int_equal(behind(g, node[i]->in[k]), in[i][k]);
		}
		check_no_twins(g);
		run(g, 3, 5);
		graph_free(g);
	}
	assert_true(reorders > 100);
}

/* Layouts from a store are kept, and a reader that wants another one gets a copy. */
static void test_layout_preset(void **state)
{
	struct graph *g = graph_new();
	tid w = toy_param(g, "w", "2x8x3x3"), v = toy_param(g, "v", "2x8x3x3"), a, b, c;
	graph_t(g, w)->layout = layout_native(&graph_t(g, w)->shape);
	a = EMIT(g, "any", w);
	b = EMIT(g, "any_native", w);
	c = EMIT(g, "any_native", v);                    /* unset: its first user decides */
	graph_t(g, a)->output = graph_t(g, b)->output = graph_t(g, c)->output = true;
	run(g, 2, 3);
	assert_string_equal(layout_of(g, w), "native");
	assert_string_equal(layout_of(g, v), "native");
	assert_int_equal(toy_count(g, "reorder"), 1);
	assert_string_equal(toy_producer(g, toy_producer(g, a)->in[0])->op->name, "reorder");
	assert_int_equal(toy_producer(g, b)->in[0], w);
	graph_free(g);
}

/* Element-wise ops take the layout most of their inputs have; scalars stay row-major. */
static void test_layout_same(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "2x8x3x3"), n = EMIT(g, "any_native", x), p = EMIT(g, "any", x),
	    s = EMIT(g, "sum", n), sp, a;
	a = EMIT(g, "add", EMIT(g, "relu", n), p);
	sp = EMIT(g, "spread", s, a);
	graph_t(g, a)->output = graph_t(g, sp)->output = true;
	run(g, 2, 3);
	assert_string_equal(layout_of(g, a), "native");
	assert_string_equal(layout_of(g, sp), "native");
	assert_string_equal(layout_of(g, s), "plain");
	graph_free(g);
}

/* A copy made in the update is no use to backward, even if it stands earlier. */
static void test_layout_phases(void **state)
{
	struct graph *g = graph_new();
	tid x = EMIT(g, "any", toy_input(g, "x", "2x8x3x3")), a, b;
	g->cur_phase = PHASE_UPDATE;
	a = EMIT(g, "any_native", x);
	g->cur_phase = PHASE_BACKWARD;
	b = EMIT(g, "any_native", x);
	graph_t(g, a)->output = graph_t(g, b)->output = true;
	run(g, 2, 3);
	assert_int_equal(toy_count(g, "reorder"), 2);
	assert_int_equal(toy_producer(g, toy_producer(g, b)->in[0])->phase, PHASE_BACKWARD);
	graph_free(g);
}

static void test_layout_errors(void **state)
{
	static const struct {
		const char *op;
		int code;
		const char *text;
	} bad[] = {
		{ "no_kernel", E_UNSUPPORTED, "'no_kernel' cannot run on this device" },
		{ "lazy", E_BUG, "'lazy' chose no layout for tensor 1" },
		{ "plain_update", E_BUG, "'plain_update' cannot update 'w' in the layout it has" },
	};
	struct pass_env env = { .backend = BACKEND_CPU };

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct graph *g = graph_new();
		tid w = toy_param(g, "w", "2x8x3x3");
		graph_t(g, w)->layout = layout_native(&graph_t(g, w)->shape);
		g->cur_name = "layer9";
		g->cur_loc = (struct loc){ "n.yaml", 5, 1, 1 };
		EMIT(g, bad[i].op, w);
		err_clear();
		assert_int_equal(pass_run(g, compile + 2, 1, &env), bad[i].code);
		assert_string_equal(toy_error(), bad[i].text);
		assert_int_equal(err_get(0)->loc.line, 5);
		assert_string_equal(err_get(0)->context[0], "in layer 'layer9'");
		assert_string_equal(err_get(0)->context[1], "in pass 'layout'");
		graph_free(g);
	}
	err_clear();
}

/* On the reference everything is row-major and nothing is copied. */
static void test_layout_reference(void **state)
{
	struct pass_env env = { .backend = BACKEND_REFERENCE };
	struct graph *g = graph_new();
	tid h = EMIT(g, "conv", toy_input(g, "x", "2x8x3x3"), toy_param(g, "w", "8x8"));
	graph_t(g, EMIT(g, "any_native", EMIT(g, "relu", h)))->output = true;
	assert_int_equal(pass_run(g, compile + 2, 1, &env), 0);
	assert_int_equal(toy_count(g, "reorder"), 0);
	assert_int_equal(g->backend, BACKEND_REFERENCE);
	graph_free(g);
}

/* --- sched --- */

/* n layers, each with a param; updates emitted at the end, as optimizers do. */
static struct graph *trained(int n, bool accumulated, tid *update)
{
	struct graph *g = graph_new();
	tid *w = mem_alloc((size_t)n * sizeof *w), *dw = mem_alloc((size_t)n * sizeof *dw),
	    y = toy_input(g, "x", "64");
	char name[20];
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof name, "w%d", i);
		w[i] = toy_param(g, name, "64");
		y = EMIT(g, "relu", EMIT(g, "multiply", y, w[i]));
	}
	y = EMIT(g, "sum", y);
	graph_t(g, y)->output = true;
	assert_int_equal(autodiff(g, 1, &y, NULL, n, w, dw), 0);
	g->cur_phase = PHASE_BACKWARD;
	for (int i = 0; accumulated && i < n; i++) {
		snprintf(name, sizeof name, "acc%d", i);
		dw[i] = EMIT(g, "accumulate", toy_state(g, name, "64"), dw[i]);
	}
	g->cur_phase = PHASE_UPDATE;
	for (int i = 0; i < n; i++) {                    /* g + 0.1 w: weight decay */
		tid t = EMIT(g, "sgd", w[i], EMIT(g, "add", dw[i], scale(g, w[i], 0.1, 0)));
		if (update)
			update[i] = t;
	}
	mem_free(w);
	mem_free(dw);
	return g;
}

static void test_sched_hoists(void **state)
{
	tid update[6];
	struct graph *g = trained(6, false, update);
	int first_update = 0, last_backward = 0;
	run(g, 2, 4);
	for (int i = 0; i < g->nnode; i++) {
		if (g->node[i]->phase == PHASE_UPDATE)
			first_update = first_update ? first_update : i;
		else
			last_backward = i;
	}
	assert_true(first_update < last_backward);
	for (int i = 5; i > 0; i--)                      /* as the gradients come */
		assert_true(graph_t(g, update[i])->producer < graph_t(g, update[i - 1])->producer);
	for (int i = 0; i < 6; i++) {                    /* the decay term right before its use */
		const struct node *add = toy_producer(g, toy_producer(g, update[i])->in[1]);
		assert_int_equal(toy_producer(g, add->in[1])->id, add->id - 1);
	}
	run(g, 4, 5);
	graph_free(g);
}

static void test_sched_accumulation(void **state)
{
	struct graph *g = trained(6, true, NULL);
	int seen = 0;
	run(g, 2, 4);
	for (int i = 0; i < g->nnode; i++) {
		if (g->node[i]->phase == PHASE_UPDATE)
			seen = 1;
		assert_true(!seen || g->node[i]->phase == PHASE_UPDATE);
		if (!strcmp(g->node[i]->op->name,
		            "accumulate")) /* gradients do not wait for the end */
			assert_int_equal(graph_t(g, g->node[i]->in[1])->producer, i - 1);
	}
	run(g, 4, 5);
	graph_free(g);
}

/* Moving nodes costs at most the decay term (256 bytes) of an early update. */
static void test_sched_memory(void **state)
{
	int64_t before, after;
	for (int n = 1; n < 40; n += 3) {
		struct graph *g = trained(n, n % 2, NULL);
		run(g, 2, 3);
		run(g, 4, 5);
		before = g->arena_lower_bound;
		run(g, 3, 5);
		after = g->arena_lower_bound;
		assert_true(after <= before + 256);
		graph_free(g);
	}
}

/* A copy that only backward wants, of something that lives till then, is made late; one whose input
 * dies there is not. */
static void test_sched_sinks(void **state)
{
	struct graph *g = graph_new();
	tid x = EMIT(g, "hard", toy_input(g, "x", "64")), copy = scale(g, x, 2, 0),
	    h = EMIT(g, "hard", x), kept = scale(g, h, 2, 0), y = x;
	for (int i = 0; i < 5; i++)
		y = EMIT(g, "relu", i ? y : x);
	y = EMIT(g, "add", EMIT(g, "add", copy, kept), EMIT(g, "add", x, y));
	graph_t(g, y)->output = true;
	run(g, 2, 4);
	assert_int_equal(graph_t(g, copy)->producer, toy_producer(g, y)->id - 3);
	assert_true(graph_t(g, kept)->producer < graph_t(g, copy)->producer - 4);
	graph_free(g);
}

/* --- the runner, dumps, fingerprint --- */

static int broken(struct graph *g, struct pass_env *env)
{
	g->node[0]->nin = 0;
	return 0;
}

static void test_runner(void **state)
{
	static const struct pass bad[] = { { "dce", "", pass_dce, STAGE_BUILT },
		                           { "broken", "", broken, STAGE_BUILT } };
	struct graph *g = trained(1, false, NULL);
	struct pass_env env = { .backend = BACKEND_CPU, .dump = "all" };
	char text[8192];
	size_t n;
	env.dump_to = tmpfile();
	assert_non_null(env.dump_to);
	assert_int_equal(pass_run(g, bad, 2, &env), E_BUG);
	assert_string_equal(err_get(0)->context[0], "after pass 'broken'");
	rewind(env.dump_to);
	n = fread(text, 1, sizeof text - 1, env.dump_to);
	text[n] = '\0';
	assert_non_null(strstr(text, "# after dce\n"));
	assert_non_null(strstr(text, "# after broken\n"));
	fclose(env.dump_to);
	graph_free(g);
	err_clear();
}

static void test_dump(void **state)
{
	struct graph *g = graph_new();
	struct buf b = BUF_INIT;
	tid x = toy_input(g, "x", "2x8x3x3"), w = toy_param(g, "w", "8x8"), y, dw;
	g->cur_name = "stem/conv";
	g->cur_loc = (struct loc){ "net.yaml", 12, 5, 4 };
	y = reshape(g, scale(g, EMIT(g, "conv", x, w), 2, 0), "144");
	graph_t(g, y)->output = true;
	dw = EMIT(g, "any", w);
	g->cur_phase = PHASE_UPDATE;
	g->cur_name = "";
	g->cur_loc.file = NULL;
	EMIT(g, "sgd", w, dw);
	assert_int_equal(
		graph_emit(g, "many", NULL, 2, (tid[]){ graph_scalar(g, 0.5), x }, 0, NULL), 0);
	graph_dump_text(g, &b);
	assert_string_equal(
		b.data,
		"input %0 x 2x8x3x3 f32\n"
		"param %1 w 8x8 f32\n"
		"constant %7 scalar f32 = 0.5\n"
		"0 forward conv{} (%0 x 2x8x3x3 f32, %1 w 8x8 f32) "
		"-> %2 2x8x3x3 f32  stem/conv [net.yaml:12:5]\n"
		"1 forward scale{factor: 2} (%2 2x8x3x3 f32) "
		"-> %3 2x8x3x3 f32  stem/conv [net.yaml:12:5]\n"
		"2 forward reshape{shape: [144]} (%3 2x8x3x3 f32) "
		"-> %4=%3 144 f32 output  stem/conv [net.yaml:12:5]\n"
		"3 forward any{} (%1 w 8x8 f32) -> %5 8x8 f32  stem/conv [net.yaml:12:5]\n"
		"4 update sgd{} (%1 w 8x8 f32, %5 8x8 f32) -> %6=%1 8x8 f32\n"
		"5 update many{} (%7 scalar f32, %0 x 2x8x3x3 f32) -> -, %8 2x8x3x3 f32\n");
	buf_clear(&b);
	run(g, 1, NPASS);
	graph_dump_text(g, &b);
	assert_string_equal(
		b.data,
		"input %0 x 2x8x3x3 f32 plain\n"
		"param %1 w 8x8 f32 Ab4a\n"
		"constant %7 scalar f32 plain = 0.5\n"
		"0 forward reorder{} (%0 x 2x8x3x3 f32 plain) "
		"-> %9 2x8x3x3 f32 native @0  stem/conv [net.yaml:12:5]\n"
		"1 forward conv{} (%9 2x8x3x3 f32 native @0, %1 w 8x8 f32 Ab4a) "
		"-> %2 2x8x3x3 f32 native @576  "
		"stem/conv [net.yaml:12:5]\n"
		"2 forward scale{factor: 2} (%2 2x8x3x3 f32 native @576) "
		"-> %3 2x8x3x3 f32 native @576  "
		"stem/conv [net.yaml:12:5]\n"
		"3 forward reorder{} (%3 2x8x3x3 f32 native @576) "
		"-> %10 2x8x3x3 f32 plain @0  stem/conv [net.yaml:12:5]\n"
		"4 forward reshape{shape: [144]} (%10 2x8x3x3 f32 plain @0) "
		"-> %4=%10 144 f32 plain @0 output  "
		"stem/conv [net.yaml:12:5]\n"
		"5 forward reorder{} (%1 w 8x8 f32 Ab4a) "
		"-> %11 8x8 f32 plain @576  stem/conv [net.yaml:12:5]\n"
		"6 forward any{} (%11 8x8 f32 plain @576) "
		"-> %5 8x8 f32 plain @832  stem/conv [net.yaml:12:5]\n"
		"7 update reorder{} (%5 8x8 f32 plain @832) -> %12 8x8 f32 Ab4a @576\n"
		"8 update sgd{} (%1 w 8x8 f32 Ab4a, %12 8x8 f32 Ab4a @576) -> %6=%1 8x8 f32 Ab4a\n"
		"arena 1152 bytes, lower bound 1152, peak at node 1\n");
	buf_clear(&b);
	graph_dump_dot(g, &b);
	assert_non_null(strstr(b.data, "digraph plan {\n"));
	assert_non_null(strstr(b.data, "t1 [shape=ellipse, fillcolor=white, label=\"w\"];"));
	assert_non_null(strstr(b.data, "n1 [fillcolor=lightblue, label=\"1 conv\\nstem/conv\"];"));
	assert_non_null(strstr(b.data, "n1 -> n2 [label=\"2x8x3x3\"];"));
	buf_release(&b);
	graph_free(g);
}

/* Equal plans have equal prints; whatever decides what is computed changes it. */
static void test_fingerprint(void **state)
{
	struct graph *g = trained(4, false, NULL), *same = trained(4, false, NULL),
		     *other = trained(5, false, NULL);
	uint64_t a, b;
	assert_true(graph_fingerprint(g) == graph_fingerprint(same));
	assert_true(graph_fingerprint(g) != graph_fingerprint(other));
	a = graph_fingerprint(g);
	for (int i = 0; i < g->nnode; i++)
		if (!strcmp(g->node[i]->op->name, "scale"))
			((struct scale_attr *)g->node[i]->attr)->factor = 0.2;
	b = graph_fingerprint(g);
	assert_true(a != b);
	g->tensor[2]->dtype = DTYPE_F16;
	assert_true(b != graph_fingerprint(g));
	b = graph_fingerprint(g);
	run(same, 2, 3);
	assert_true(a != graph_fingerprint(same));       /* layouts */
	g->node[0]->phase = PHASE_BACKWARD;
	assert_true(b != graph_fingerprint(g));
	graph_free(g);
	graph_free(same);
	graph_free(other);
}

static void test_large(void **state)
{
	struct timespec t0, t1;
	struct graph *g = trained(1100, false, NULL);
	int n = g->nnode;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	run(g, 0, NPASS);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	print_message("%d nodes through %d passes, verified: %.3f s\n", n, NPASS,
	              (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec));
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout), cmocka_unit_test(test_layout_preset),
		cmocka_unit_test(test_layout_random), cmocka_unit_test(test_layout_same),
		cmocka_unit_test(test_layout_phases), cmocka_unit_test(test_layout_errors),
		cmocka_unit_test(test_layout_reference), cmocka_unit_test(test_sched_hoists),
		cmocka_unit_test(test_sched_accumulation), cmocka_unit_test(test_sched_memory),
		cmocka_unit_test(test_sched_sinks), cmocka_unit_test(test_runner),
		cmocka_unit_test(test_dump), cmocka_unit_test(test_fingerprint),
		cmocka_unit_test(test_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
