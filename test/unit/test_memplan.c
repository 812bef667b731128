/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory planner by properties on random graphs: what is alive at once does not overlap,
 * everything is aligned and inside, outputs take over inputs only where the op allows it, and the
 * arena is close to the lower bound. The checks here are brute force over all pairs and share
 * nothing with memplan.c or memcheck.c. */
#include "toy_ops.h"

#include <stdio.h>
#include <time.h>

#include "base/mem.h"
#include "base/rng.h"
#include "graph/memcheck.h"
#include "graph/memplace.h"
#include "graph/memplan.h"
#include "graph/verify.h"
#include "pass/pass.h"

static uint64_t rng_at;
static int dice(int n)
{
	return (int)(rng_u32(7, 1, 0, rng_at++) % (uint32_t)n);
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- random graphs --- */

static tid random_fill(struct graph *g)
{
	int64_t d[2] = { 1 + dice(40), 1 + dice(dice(4) ? 30 : 3000) };
	return toy_emit(g, "fill", &(struct fill_attr){ dice(3), { 2, d } }, 0, NULL);
}

/* Some earlier tensor, recent ones more often. */
static tid pick(const struct graph *g, int base)
{
	int n = g->ntensor - base;
	return base + (dice(4) ? n - 1 - dice(n < 6 ? n : 6) : dice(n));
}

static void random_node(struct graph *g, int base)
{
	tid x = pick(g, base), out[2];
	int64_t flat = shape_count(&graph_t(g, x)->shape);
	switch (dice(8)) {
	case 0: random_fill(g); break;
	case 1: EMIT(g, "relu", x); break;
	case 2: EMIT(g, "add", x, x); break;
	case 3: EMIT(g, "any_inplace", x, pick(g, base), pick(g, base)); break;
	case 4: toy_emit(g, "reshape", &(struct shape_attr){ { 1, &flat } }, 1, &x); break;
	case 5: assert_int_equal(graph_emit(g, "two", NULL, 1, &x, 2, out), 0); break;
	default: EMIT(g, "any", x, pick(g, base)); break;
	}
}

static struct graph *random_graph(int n)
{
	struct graph *g = graph_new();
	tid p = toy_param(g, "p", "17x5"), s = toy_state(g, "s", "17x5");
	int base = g->ntensor;
	toy_input(g, "x", "9x9");
	random_fill(g);
	while (g->nnode < n)
		random_node(g, base);
	for (int k = 0; k < 3; k++)
		graph_t(g, pick(g, base + 1))->output = graph_t(g, g->ntensor - 1)->output = true;
	g->cur_phase = PHASE_UPDATE;
	EMIT(g, "sgd", p, EMIT(g, "relu", p));
	EMIT(g, "accumulate", s, EMIT(g, "add", s, s));
	for (int t = 0; t < g->ntensor; t++)
		if (graph_t(g, t)->role == ROLE_ACTIVATION && graph_t(g, t)->producer == NONE)
			graph_t(g, t)->output = false;
	return g;
}

/* A network of n layers and its gradient: activations of shrinking and growing size, joined across
 * like a U. */
static struct graph *training_graph(int n, bool joined, bool accumulated)
{
	struct graph *g = graph_new();
	tid *h = mem_alloc((size_t)n * sizeof *h), *w = mem_alloc((size_t)n * sizeof *w), y,
	    *dw = mem_alloc((size_t)n * sizeof *dw);
	char name[24], size[40];
	h[0] = toy_input(g, "x", "2x8x32x32");
	for (int i = 1; i < n; i++) {
		int level = i < n / 2 ? i : n - i;
		int side = 32 >> (level * 4 / n > 4 ? 4 : level * 4 / n);
		snprintf(name, sizeof name, "w%d", i);
		snprintf(size, sizeof size, "2x%dx%dx%d", 8 + 8 * (level * 4 / n), side, side);
		w[i] = toy_param(g, name, "8x8x3x3");
		struct shape s = toy_dims(size);
		tid x = toy_emit(g, "broadcast", &(struct shape_attr){ { 4, s.d } }, 1, &h[i - 1]);
		x = EMIT(g, "conv", x, w[i]);
		if (joined && i > n / 2 &&
		    shape_equal(&graph_t(g, x)->shape, &graph_t(g, h[n - i])->shape))
			x = EMIT(g, "add", x, h[n - i]);
		h[i] = EMIT(g, "relu", x);
	}
	y = EMIT(g, "sum", h[n - 1]);
	graph_t(g, y)->output = true;
	/* broadcast has no rule among the toys: the gradient is written by hand */
	g->cur_phase = PHASE_BACKWARD;
	tid d = EMIT(g, "spread", graph_scalar(g, 1), h[n - 1]);
	for (int i = n - 1; i > 0; i--) {
		d = EMIT(g, "relu_grad", h[i], d);
		dw[i] = EMIT(g, "conv_grad_w", h[i], d, w[i]);
		graph_t(g, dw[i])->grad_of = w[i];
		d = toy_emit(g, "broadcast",
		             &(struct shape_attr){ { 4, graph_t(g, h[i - 1])->shape.d } }, 1,
		             (tid[]){ EMIT(g, "conv", d, w[i]) });
	}
	for (int i = 1; accumulated && i < n; i++) {
		snprintf(name, sizeof name, "sum%d", i);
		dw[i] = EMIT(g, "accumulate", toy_state(g, name, "8x8x3x3"), dw[i]);
	}
	g->cur_phase = PHASE_UPDATE;
	for (int i = 1; i < n; i++)
		EMIT(g, "sgd", w[i], EMIT(g, "relu", dw[i]));
	mem_free(h);
	mem_free(w);
	mem_free(dw);
	return g;
}

/* --- brute force --- */

struct buffer {
	int64_t from, to;
	int start, end;
	tid t;
};

/* The last node that runs before or next to the end of node i. */
static int end_of(const struct graph *g, int i)
{
	return g->node[i]->join == NONE ? i : g->node[i]->join - 1;
}

static void lives(const struct graph *g, tid t, struct buffer *b)
{
	const int producer = graph_t(g, t)->producer;
	*b = (struct buffer){ graph_t(g, t)->offset, graph_t(g, t)->offset + graph_t(g, t)->bytes,
		              producer, end_of(g, producer), t };
	for (int i = 0; i < g->nnode; i++)
		for (int k = 0; k < g->node[i]->nin; k++)
			if (g->node[i]->in[k] != NONE && graph_root(g, g->node[i]->in[k]) == t &&
			    end_of(g, i) > b->end)
				b->end = end_of(g, i);
	for (int s = 0; s < g->ntensor; s++)
		if (graph_t(g, s)->output && graph_root(g, s) == t)
			b->end = g->nnode;
}

/* b's tensor is output 0 of the node where a's dies, and the op may overwrite every input that
 * shows a. */
static bool legal_inplace(const struct graph *g, const struct buffer *a, const struct buffer *b)
{
	const struct node *n = g->node[b->start];
	bool shown = false;
	if (a->end != b->start || n->out[0] != b->t || a->from != b->from || a->to != b->to)
		return false;
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE && graph_root(g, n->in[k]) == a->t) {
			shown = true;
			if (!(n->op->inplace >> k & 1))
				return false;
		}
	return shown;
}

static int check_pairs(const struct graph *g, const struct memplan_workspace *ws)
{
	struct buffer *b = mem_alloc(((size_t)g->ntensor + (size_t)g->nnode) * sizeof *b);
	int n = 0, taken = 0;
	for (int t = 0; t < g->ntensor; t++) {
		const struct tensor *x = graph_t(g, t), *root = graph_t(g, graph_root(g, t));
		if (root->role != ROLE_ACTIVATION || x->producer == NONE) {
			assert_int_equal(x->offset, -1);
			continue;
		}
		assert_int_equal(x->offset, root->offset);
		assert_true(x->offset >= 0 && x->offset % 64 == 0 &&
		            x->offset + x->bytes <= g->arena_bytes);
		if (root == x)
			lives(g, t, &b[n++]);
	}
	for (int i = 0; ws && i < g->nnode; i++) {
		if (!ws->bytes[i])
			continue;
		assert_true(ws->offset[i] % 64 == 0);
		b[n++] = (struct buffer){ ws->offset[i], ws->offset[i] + (int64_t)ws->bytes[i], i,
			                  end_of(g, i), NONE };
		assert_true(b[n - 1].to <= g->arena_bytes);
	}
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			if (i == j || b[i].start > b[j].end || b[j].start > b[i].end ||
			    b[i].from >= b[j].to || b[j].from >= b[i].to)
				continue;
			if (b[i].t != NONE && b[j].t != NONE &&
			    (legal_inplace(g, &b[i], &b[j]) || legal_inplace(g, &b[j], &b[i])))
				taken++;
			else
				fail_msg("buffers %d and %d overlap", b[i].t, b[j].t);
		}
	mem_free(b);
	return taken / 2;
}

/* --- what a step does to memory: every 64 bytes record their last writer --- */

#define SCRIBBLE (-2)

struct memory {
	const struct graph *g;
	const struct memplan_workspace *ws;
	tid *owner;
};

static void stamp(struct memory *m, int64_t offset, int64_t bytes, tid owner)
{
	for (int64_t k = offset / 64; k < (offset + bytes + 63) / 64; k++)
		m->owner[k] = owner;
}

static void check_stamp(const struct memory *m, tid t)
{
	const struct tensor *x = graph_t(m->g, graph_root(m->g, t));
	for (int64_t k = x->offset / 64; x->offset >= 0 && k < (x->offset + x->bytes + 63) / 64;
	     k++)
		if (m->owner[k] != x->id)
			fail_msg("tensor %d was overwritten by %d", x->id, m->owner[k]);
}

/* Workspace is scribbled on before the inputs are read, and outputs are written after. */
static void replay_node(struct memory *m, const struct node *n)
{
	if (m->ws && m->ws->bytes[n->id])
		stamp(m, m->ws->offset[n->id], (int64_t)m->ws->bytes[n->id], SCRIBBLE - n->id);
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE)
			check_stamp(m, n->in[k]);
	for (int k = 0; k < n->nout; k++)
		if (n->out[k] != NONE && graph_t(m->g, n->out[k])->offset >= 0)
			stamp(m, graph_t(m->g, n->out[k])->offset, graph_t(m->g, n->out[k])->bytes,
			      graph_root(m->g, n->out[k]));
}

/* Node n is on the second stream still: all that it uses is as it was. */
static void check_aside(const struct memory *m, const struct node *n)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE)
			check_stamp(m, n->in[k]);
	for (int k = 0; k < n->nout; k++)
		if (n->out[k] != NONE)
			check_stamp(m, n->out[k]);
	const size_t bytes = m->ws ? m->ws->bytes[n->id] : 0;
	for (int64_t k = 0; k < ((int64_t)bytes + 63) / 64; k++)
		if (m->owner[m->ws->offset[n->id] / 64 + k] != SCRIBBLE - n->id)
			fail_msg("the workspace of node %d was overwritten", n->id);
}

/* Three steps: forward and backward `micros` times, the last time together with the update. */
static void replay(const struct graph *g, const struct memplan_workspace *ws, int micros)
{
	struct memory m = { g, ws, mem_calloc((size_t)g->arena_bytes / 64 + 1, sizeof(tid)) };
	for (int run = 0; run < 3 * micros; run++)
		for (int i = 0; i < g->nnode; i++)
			if (g->node[i]->phase != PHASE_UPDATE || run % micros == micros - 1) {
				replay_node(&m, g->node[i]);
				for (int j = 0; j < i; j++)
					if (g->node[j]->join != NONE && end_of(g, j) >= i)
						check_aside(&m, g->node[j]);
			}
	for (int t = 0; t < g->ntensor; t++)
		if (graph_t(g, t)->output)
			check_stamp(&m, t);
	mem_free(m.owner);
}

static void lay_out(struct graph *g, enum backend backend)
{
	struct pass_env env = { .backend = backend };
	assert_int_equal(pass_layout(g, &env), 0);
	assert_int_equal(pass_sched(g, &env), 0);
	if (graph_verify(g, STAGE_LAID_OUT) < 0)
		fail_msg("%s", toy_error());
}

/* As for a GPU; returns how many nodes are aside. */
static int put_aside(struct graph *g)
{
	struct pass_env env = { .backend = BACKEND_CUDA };
	int n = 0;
	assert_int_equal(pass_second_stream(g, &env), 0);
	if (graph_verify(g, STAGE_LAID_OUT) < 0)
		fail_msg("%s", toy_error());
	for (int i = 0; i < g->nnode; i++)
		n += g->node[i]->join != NONE;
	return n;
}

static void report(const char *what, double *ratio, int n, int inplace)
{
	double sum = 0, worst = 0;
	int over = 0;
	for (int i = 0; i < n; i++) {
		sum += ratio[i];
		worst = ratio[i] > worst ? ratio[i] : worst;
		over += ratio[i] > 1.02;
	}
	print_message(
		"%s: arena / lower bound: mean %.4f, worst %.4f; %d of %d over 1.02; %d in place\n",
		what, sum / n, worst, over, n, inplace);
	assert_true(worst <= 1.15);
}

#define RUNS 120
static void test_random(void **state)
{
	double ratio[RUNS];
	int inplace = 0, aside = 0;
	for (int run = 0; run < RUNS; run++) {
		struct graph *g = random_graph(5 + run);
		lay_out(g, run % 2 ? BACKEND_CPU : BACKEND_REFERENCE);
		aside += run % 3 ? 0 : put_aside(g);
		size_t *bytes = mem_calloc((size_t)g->nnode, sizeof *bytes);
		int64_t *offset = mem_calloc((size_t)g->nnode, sizeof *offset);
		struct memplan_workspace ws = { bytes, offset };
		for (int i = 0; i < g->nnode; i++)
			bytes[i] = dice(3) ? 0 : (size_t)dice(4000);
		assert_int_equal(memplan(g, &ws), 0);
		inplace += check_pairs(g, &ws);
		replay(g, &ws, 1);
		assert_int_equal(memcheck(g, &ws), 0);
		int32_t busy = NONE;
		for (int i = 0; i < g->nnode; i++)
			if (bytes[i] && g->node[i]->nin &&
			    graph_t(g, g->node[i]->in[0])->offset >= 0)
				busy = i;
		if (busy != NONE) {              /* a workspace on top of an input is noticed */
			int64_t at = offset[busy];
			offset[busy] = graph_t(g, g->node[busy]->in[0])->offset;
			assert_int_equal(memcheck(g, &ws), E_BUG);
			offset[busy] = at;
			err_clear();
		}
		assert_int_equal(graph_verify(g, STAGE_PLANNED), 0);
		assert_true(g->arena_bytes >= g->arena_lower_bound && g->arena_lower_bound > 0);
		ratio[run] = (double)g->arena_bytes / (double)g->arena_lower_bound;
		mem_free(bytes);
		mem_free(offset);
		graph_free(g);
	}
	report("random", ratio, RUNS, inplace);
	assert_true(inplace > RUNS && aside > RUNS);
}

static void test_training(void **state)
{
	double ratio[24];
	int inplace = 0;
	for (int run = 0; run < 24; run++) {
		struct graph *g = training_graph(4 + 3 * run, run % 2, run % 3 == 0);
		lay_out(g, BACKEND_CPU);
		assert_int_equal(memplan(g, NULL), 0);
		inplace += check_pairs(g, NULL);
		replay(g, NULL, run % 3 ? 1 : 4);
		assert_int_equal(graph_verify(g, STAGE_PLANNED), 0);
		ratio[run] = (double)g->arena_bytes / (double)g->arena_lower_bound;
		graph_free(g);
	}
	report("training", ratio, 24, inplace);
}

/* By hand: a chain of relus is one buffer; a second reader, an output or a param in the way makes
 * two. */
static void test_inplace(void **state)
{
	for (int variant = 0; variant < 5; variant++) {
		struct graph *g = graph_new();
		tid x = toy_input(g, "x", "16x4"), a, b, c;
		if (variant == 3)
			x = toy_param(g, "w", "16x4");
		a = variant == 4 ? x : EMIT(g, "hard", x);
		b = EMIT(g, "relu", variant == 3 ? x : a);
		c = EMIT(g, "relu", b);
		graph_t(g, c)->output = true;
		if (variant == 1)
			EMIT(g, "keep", b);
		if (variant == 2)
			graph_t(g, b)->output = true;
		lay_out(g, BACKEND_CPU);
		assert_int_equal(memplan(g, NULL), 0);
		check_pairs(g, NULL);
		assert_int_equal(g->arena_bytes, variant == 1 ? 768 : variant == 2 ? 512 : 256);
		assert_int_equal(graph_t(g, x)->offset, -1);
		assert_int_equal(graph_t(g, c)->offset == graph_t(g, b)->offset,
		                 variant == 0 || variant >= 3);
		graph_free(g);
	}
}

/* The same size is not enough: elements must stand where they stood. */
static void test_inplace_layout(void **state)
{
	struct graph *g = graph_new();
	tid x = EMIT(g, "any_native", toy_input(g, "x", "2x8x3x3")), y = EMIT(g, "flip", x);
	graph_t(g, y)->output = true;
	lay_out(g, BACKEND_CPU);
	assert_int_equal(memplan(g, NULL), 0);
	assert_int_equal(graph_t(g, x)->bytes, graph_t(g, y)->bytes);
	assert_int_not_equal(graph_t(g, x)->offset, graph_t(g, y)->offset);
	graph_t(g, y)->offset = graph_t(g, x)->offset;
	assert_int_equal(graph_verify(g, STAGE_PLANNED), E_BUG);
	err_clear();
	graph_free(g);
}

/* Tensors that the host or the store owns are not in the arena, and nothing overwrites them, not
 * even through views. */
static void test_classes(void **state)
{
	struct graph *g = graph_new();
	tid w = toy_param(g, "w", "8x2"), v, r, w2, k = graph_scalar(g, 2);
	v = toy_emit(g, "reshape", &(struct shape_attr){ { 1, (int64_t[]){ 16 } } }, 1, &w);
	r = EMIT(g, "relu", v);
	w2 = EMIT(g, "sgd", w, EMIT(g, "spread", k, w));
	graph_t(g, r)->output = true;
	lay_out(g, BACKEND_REFERENCE);
	assert_int_equal(memplan(g, NULL), 0);
	assert_int_equal(graph_t(g, w)->bytes, 64);
	assert_int_equal(graph_t(g, k)->bytes, 4);
	assert_int_equal(graph_t(g, v)->offset, -1);
	assert_int_equal(graph_t(g, w2)->offset, -1);
	assert_int_equal(g->arena_bytes, 128);
	assert_int_equal(g->arena_lower_bound, 128);
	assert_int_equal(graph_verify(g, STAGE_PLANNED), 0);
	graph_free(g);
}

/* Packing alone: exact where an optimum is known, and always at least the bound. */
static void test_place(void **state)
{
	struct memitem stack[] = { { 0, 9, 64, 0 },
		                   { 1, 8, 128, 0 },
		                   { 2, 7, 64, 0 },
		                   { 3, 4, 256, 0 },
		                   { 5, 6, 256, 0 } };
	int peak;
	assert_int_equal(memplace_lower_bound(stack, 5, 10, &peak), 512);
	assert_int_equal(peak, 3);
	assert_int_equal(memplace(stack, 5, 512), 512);
	assert_int_equal(memplace(NULL, 0, 0), 0);
	for (int run = 0; run < 300; run++) {
		struct memitem m[40], again[40];
		int n = 1 + dice(40);
		int64_t bound, got;
		for (int i = 0; i < n; i++) {
			m[i].start = dice(30);
			m[i].end = m[i].start + dice(10);
			m[i].size = 64 * (1 + dice(run % 3 ? 20 : 2));
		}
		memcpy(again, m, sizeof m);
		bound = memplace_lower_bound(m, n, 40, &peak);
		got = memplace(m, n, bound);
		assert_true(got >= bound);
		for (int i = 0; i < n; i++) {
			assert_true(m[i].offset >= 0 && m[i].offset % 64 == 0 &&
			            m[i].offset + m[i].size <= got);
			for (int j = 0; j < i; j++)
				assert_true(m[i].end < m[j].start || m[j].end < m[i].start ||
				            m[i].offset + m[i].size <= m[j].offset ||
				            m[j].offset + m[j].size <= m[i].offset);
		}
		assert_int_equal(memplace(again, n, bound), got);
		assert_memory_equal(m, again, (size_t)n * sizeof *m);
	}
}

/* Sums of sizes that overflow are an error, not a small arena. The graph takes no tensor that is so
 * large, so the sizes are written into it. */
static void test_too_large(void **state)
{
	struct shape_attr some = { { 1, (int64_t[]){ 16 } } };
	for (int n = 12; n <= 40; n += 28) {
		struct graph *g = graph_new();
		tid k = graph_scalar(g, 1);
		for (int i = 0; i < n; i++) {
			struct tensor *t = graph_t(g, toy_emit(g, "broadcast", &some, 1, &k));
			t->shape.d[0] = 1LL << 56;
			t->output = true;
		}
		lay_out(g, BACKEND_REFERENCE);
		assert_int_equal(memplan(g, NULL), n == 12 ? 0 : E_NOMEM);
		graph_free(g);
	}
	err_clear();
}

static void test_large(void **state)
{
	struct graph *g = random_graph(10000);
	double t0;
	lay_out(g, BACKEND_CPU);
	t0 = seconds();
	assert_int_equal(memplan(g, NULL), 0);
	print_message("10000 random nodes: memplan %.3f s, arena / lower bound %.4f\n",
	              seconds() - t0, (double)g->arena_bytes / (double)g->arena_lower_bound);
	assert_int_equal(graph_verify(g, STAGE_PLANNED), 0);
	graph_free(g);
	g = training_graph(1000, true, false);
	lay_out(g, BACKEND_CPU);
	t0 = seconds();
	assert_int_equal(memplan(g, NULL), 0);
	print_message("a network of %d nodes: memplan %.3f s, arena / lower bound %.4f\n", g->nnode,
	              seconds() - t0, (double)g->arena_bytes / (double)g->arena_lower_bound);
	assert_int_equal(graph_verify(g, STAGE_PLANNED), 0);
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place),    cmocka_unit_test(test_inplace),
		cmocka_unit_test(test_inplace_layout),
		cmocka_unit_test(test_classes),  cmocka_unit_test(test_random),
		cmocka_unit_test(test_training), cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_large),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
