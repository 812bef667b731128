/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Recomputation on toy graphs: the values of a step stay what they were, limits are met as the
 * memory planner sees it, trying leaves no trace, and what must not run twice does not. */
#include "toy_passes.h"

#include "graph/cost.h"
#include "graph/memplan.h"
#include "graph/verify.h"
#include "pass/recompute_nodes.h"
#include "pass/autodiff.h"
#include "pass/recompute.h"
#include "toy_eval.h"

#define LAYERS 64

/* A chain of layers h = relu(h * w), or with `pairs` also a skip over half of the chain. */
static struct graph *chain(int layers, bool pairs, tid *out)
{
	struct graph *g = graph_new();
	tid w[LAYERS], dw[LAYERS], h = toy_input(g, "x", "40x32"), skip = NONE, first = NONE;
	char name[16];
	for (int i = 0; i < layers; i++) {
		snprintf(name, sizeof name, "w%d", i);
		w[i] = toy_param(g, name, "40x32");
		h = EMIT(g, "relu", EMIT(g, "multiply", h, w[i]));
		if (i == 0)
			first = h;
		if (pairs && i == layers / 2)
			skip = EMIT(g, "add", h, first);
	}
	if (pairs)
		h = EMIT(g, "add", h, skip);
	*out = EMIT(g, "sum", h);
	graph_t(g, *out)->output = true;
	g->cur_phase = PHASE_BACKWARD;
	assert_int_equal(autodiff(g, 1, out, NULL, layers, w, dw), 0);
	g->cur_phase = PHASE_UPDATE;
	for (int i = 0; i < layers; i++)
		EMIT(g, "sgd", w[i], dw[i]);
	run(g, 1, 4);
	return g;
}

static int64_t peak(struct graph *g)
{
	int64_t *live = mem_alloc(((size_t)g->nnode + 1) * sizeof *live), most = 0;
	memplan_profile(g, NULL, live);
	for (int i = 0; i < g->nnode; i++)
		most = live[i] > most ? live[i] : most;
	mem_free(live);
	return most;
}

/* All parameters after the step, and its result. */
static double *results(struct graph *g, tid out, int layers)
{
	struct values v;
	int64_t n = 40 * 32;
	double *r = mem_calloc((size_t)(layers * n) + 1, sizeof *r);
	char name[16];
	values_init(&v, g);
	values_run(&v);
	for (int i = 0; i < layers; i++) {
		snprintf(name, sizeof name, "w%d", i);
		memcpy(r + i * n, v.v[graph_find(g, name)], (size_t)n * sizeof *r);
	}
	r[layers * n] = v.v[out][0];
	values_release(&v);
	return r;
}

static void fit(struct graph *g, int64_t limit, struct recompute_choice *c)
{
	struct recompute *r = recompute_new(g, NULL);
	recompute_choose(r, limit, false, c);
	recompute_commit(r);
	recompute_free(r);
	assert_int_equal(graph_verify(g, STAGE_LAID_OUT), 0);
	assert_int_equal(peak(g), c->bytes);
}

static void test_limits(void **state)
{
	for (int pairs = 0; pairs < 2; pairs++)
		for (int percent = 90; percent >= 30; percent -= 20) {
			tid out;
			struct graph *g = chain(LAYERS, pairs, &out);
			int64_t all = peak(g), limit = all * percent / 100;
			double *before = results(g, out, LAYERS), *after;
			int updates = toy_count(g, "sgd");
			struct recompute_choice c;
			fit(g, limit, &c);
			assert_true(c.fits && c.bytes <= limit && c.copies > 0);
			assert_int_equal(toy_count(g, "sgd"), updates);
			after = results(g, out, LAYERS);
			assert_memory_equal(before, after, (LAYERS * 40 * 32 + 1) * sizeof *before);
			mem_free(before);
			mem_free(after);
			graph_free(g);
		}
}

/* A chain of n layers can do with a multiple of the root of n: 16 buffers of 129 here. */
static void test_least(void **state)
{
	tid out;
	struct graph *g = chain(LAYERS, false, &out);
	double *before = results(g, out, LAYERS), *after;
	int64_t all = peak(g);
	struct recompute_choice c;
	fit(g, 0, &c);
	assert_true(!c.fits && c.bytes < all / 3);
	assert_true(c.copies <= 2 * LAYERS);
	after = results(g, out, LAYERS);
	assert_memory_equal(before, after, (LAYERS * 40 * 32 + 1) * sizeof *before);
	mem_free(before);
	mem_free(after);
	graph_free(g);
}

/* A limit that is met anyway changes nothing; neither does looking. */
static void test_no_trace(void **state)
{
	tid out;
	struct graph *g = chain(12, true, &out);
	uint64_t print = graph_fingerprint(g);
	int64_t all = peak(g), arena;
	int ntensor = g->ntensor;
	struct recompute *r = recompute_new(g, NULL);
	struct recompute_choice c;
	recompute_choose(r, all / 2, false, &c);
	assert_int_equal(recompute_arena(r, &arena), 0);
	assert_in_range(arena, c.bytes, c.bytes * 102 / 100);
	recompute_choose(r, 0, true, &c);
	assert_true(graph_fingerprint(g) == print);
	assert_int_equal(g->ntensor, ntensor);
	assert_int_equal(peak(g), all);
	recompute_choose(r, all, false, &c);
	assert_true(c.fits && c.copies == 0 && c.buffers == 0 && c.bytes == all);
	recompute_commit(r);
	assert_true(graph_fingerprint(g) == print);
	recompute_free(r);
	graph_free(g);
}

/* What the host reads is kept, and so is what has an effect. */
static void test_kept(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "64x64"), w = toy_param(g, "w", "64x64");
	tid s = toy_state(g, "s", "64x64"), dw, h, y;
	struct recompute_choice c;
	h = EMIT(g, "multiply", x, w);
	graph_t(g, h)->output = true;
	EMIT(g, "accumulate", s, h);
	y = EMIT(g, "sum", EMIT(g, "multiply", h, h));
	graph_t(g, y)->output = true;
	g->cur_phase = PHASE_BACKWARD;
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), 0);
	graph_t(g, dw)->output = true;
	run(g, 1, 4);
	fit(g, 0, &c);
	assert_int_equal(toy_count(g, "accumulate"), 1);
	assert_int_equal(c.copies, 0);
	graph_free(g);
}

static double result(struct graph *g, tid t)
{
	struct values v;
	double r;
	values_init(&v, g);
	values_run(&v);
	r = v.v[t][0];
	values_release(&v);
	return r;
}

/* A node that reads what was made again is made again itself, as it is where nothing goes back. */
static void test_twice(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "40x32"), w = toy_param(g, "w", "40x32"), a, b, c, d, y;
	struct recompute_nodes *again;
	double before;
	a = EMIT(g, "multiply", x, w);
	b = EMIT(g, "multiply", a, w);
	c = EMIT(g, "multiply", a, b);
	d = EMIT(g, "multiply", c, w);
	y = EMIT(g, "sum", EMIT(g, "multiply", c, d));
	graph_t(g, y)->output = true;
	run(g, 1, 4);
	before = result(g, y);
	again = recompute_nodes_new(g, NULL);
	assert_true(again->droppable[a] && again->droppable[c]);
	again->drop[a] = graph_t(g, b)->producer;
	again->drop[c] = graph_t(g, d)->producer;
	assert_int_equal(recompute_nodes_commit(again), NONE);
	assert_int_equal(again->ncopy, 3);      /* a, and c with its input that is not kept, b */
	recompute_nodes_free(again);
	assert_int_equal(graph_verify(g, STAGE_LAID_OUT), 0);
	assert_true(result(g, y) == before);
	graph_free(g);
}

static int readers(const struct graph *g, tid t)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		for (int k = 0; k < g->node[i]->nin; k++)
			n += g->node[i]->in[k] == t;
	return n;
}

/* What the first nodes make of a batch is kept: its place may be the next one's by then. */
static void test_read_first(void **state)
{
	for (int first = 0; first < 2; first++) {
		tid out;
		struct graph *g = chain(12, false, &out);
		tid x = graph_find(g, "x");
		int before = readers(g, x);
		struct recompute_choice c;
		graph_t(g, x)->read_first = first;
		fit(g, 0, &c);
		assert_true(c.copies > 0);
		assert_true(first ? readers(g, x) == before : readers(g, x) > before);
		graph_free(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits), cmocka_unit_test(test_least),
		cmocka_unit_test(test_no_trace), cmocka_unit_test(test_kept),
		cmocka_unit_test(test_twice), cmocka_unit_test(test_read_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
