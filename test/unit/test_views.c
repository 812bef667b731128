/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joins and cuts without copies. What the pass decides is checked on small graphs by hand; that it
 * changes no bit, on those and on random ones, by running them with and without it; and that the
 * verifier finds views that are wrong, by breaking them. */
#include "cases.h"
#include "backend/exec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "graph/verify.h"
#include "graph/view.h"
#include "op/lib/emit.h"
#include "op/lib/slice.h"
#include "pass/autodiff.h"
#include "pass/pass.h"

static const struct pass with[] = {
	{ "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT },
	{ "views", "", pass_views, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
	{ "in_place", "", pass_in_place, STAGE_LAID_OUT },
};
static const struct pass without[] = {
	{ "precision", "", pass_precision, STAGE_BUILT },
	{ "layout", "", pass_layout, STAGE_LAID_OUT },
	{ "sched", "", pass_sched, STAGE_LAID_OUT },
};

static uint64_t rng_at;
static int dice(int n)
{
	return (int)(rng_u32(11, 1, 0, rng_at++) % (uint32_t)n);
}

/* --- short forms --- */

static tid input(struct graph *g, const char *name, int64_t c, int64_t side)
{
	struct shape s = { .nd = 4, .d = { 2, c, side, side + 2 } };
	tid t = NONE;
	assert_int_equal(graph_input(g, name, DTYPE_F32, &s, &t), 0);
	graph_t(g, t)->layout = layout_native(&s);
	return t;
}

static tid emit(struct graph *g, const char *op, int n, const tid *in)
{
	tid t = NONE;
	assert_int_equal(graph_emit1(g, op, NULL, n, in, &t), 0);
	return t;
}
#define EMIT(g, op, ...)                                                                           \
	emit((g), (op), (int)(sizeof((tid[]){ __VA_ARGS__ }) / sizeof(tid)), (tid[]){ __VA_ARGS__ })

/* One sample, whose rows are whole lines of memory. */
static tid input_of_rows(struct graph *g, const char *name, int64_t c, int64_t rows)
{
	struct shape s = { .nd = 4, .d = { 1, c, rows, 16 } };
	tid t = NONE;
	assert_int_equal(graph_input(g, name, DTYPE_F32, &s, &t), 0);
	graph_t(g, t)->layout = layout_native(&s);
	return t;
}

static tid cut_along(struct graph *g, tid t, int64_t axis, int64_t begin, int64_t size)
{
	tid out = NONE;
	assert_int_equal(graph_emit1(g, "slice", &(struct slice){ axis, begin, size }, 1, &t, &out), 0);
	return out;
}

static tid cut(struct graph *g, tid t, int64_t begin, int64_t size)
{
	return cut_along(g, t, 1, begin, size);
}

/* Of the named tensors along the axis. */
static tid join_along(struct graph *g, int64_t axis, int n, const tid *in)
{
	tid out = NONE;
	assert_int_equal(emit_concat(g, axis, n, in, &out), 0);
	return out;
}
#define JOIN_ROWS(g, ...)                                                                          \
	join_along((g), 2, (int)(sizeof((tid[]){ __VA_ARGS__ }) / sizeof(tid)), (tid[]){ __VA_ARGS__ })

static tid output(struct graph *g, tid t)
{
	graph_t(g, t)->output = true;
	return t;
}

static void passes(struct graph *g, struct device *dev, bool views)
{
	struct pass_env env = { .backend = dev->backend, .dev = dev, .plan = &plan_env_default };
	if (pass_run(g, views ? with : without, views ? 5 : 3, &env) < 0)
		fail_msg("%s", err_get(err_count() - 1)->text);
}

/* How many joins and cuts copy something. */
static int copies(const struct graph *g)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		n += (g->node[i]->op->flags & (OP_CONCAT | OP_SLICE)) && node_runs(g, g->node[i]);
	return n;
}

static void assert_view(const struct graph *g, tid t, tid root, int64_t at)
{
	assert_int_equal(graph_t(g, t)->view, root);
	if (root != NONE)
		assert_int_equal(graph_t(g, t)->view_at, at);
}

/* --- the same bits with and without --- */

typedef void build_fn(struct graph *g);

/* Runs `runs` times over forward and backward, the last time with the update; the values of all
 * outputs one after the other. */
static float *results(build_fn *build, bool views, int runs, int64_t *count, int *copied)
{
	struct graph *g = graph_new();
	struct device *dev;
	struct exec *e;
	struct store *store;
	float *v = NULL;
	assert_int_equal(device_open(&dev, "cpu"), 0);
	build(g);
	passes(g, dev, views);
	*copied = copies(g);
	if (exec_new(&e, g, dev, &plan_env_default) < 0)
		fail_msg("%s", err_get(err_count() - 1)->text);
	store = store_new(dev, 1);
	size_t bytes = exec_arena_bytes(e) + 64;
	void *arena = mem_map(bytes);
	memset(arena, 0xff, bytes);
	assert_int_equal(exec_bind(e, store, arena, NULL), 0);
	for (int64_t r = 0; r < runs; r++) {
		for (tid t = 0; t < g->ntensor; t++) {
			const struct tensor *x = graph_t(g, t);
			if (x->role != ROLE_INPUT)
				continue;
			double *in = mem_alloc((size_t)shape_count(&x->shape) * sizeof *in);
			for (int64_t i = 0; i < shape_count(&x->shape); i++)
				in[i] = x->dtype == DTYPE_I64 ? (double)r :
				        rng_uniform(5, (uint64_t)t, (uint64_t)r, (uint64_t)i) - 0.5;
			exec_write(e, t, DTYPE_F64, in);
			mem_free(in);
		}
		assert_int_equal(exec_run(e, r + 1 < runs ? EXEC_MICRO : EXEC_MICRO | EXEC_UPDATE), 0);
	}
	*count = 0;
	for (tid t = 0; t < g->ntensor; t++) {
		int64_t n = shape_count(&graph_t(g, t)->shape);
		if (!graph_t(g, t)->output)
			continue;
		v = mem_realloc(v, (size_t)(*count + n) * sizeof *v);
		exec_read(e, t, DTYPE_F32, v + *count);
		*count += n;
	}
	exec_free(e);
	store_free(store);
	mem_unmap(arena, bytes);
	graph_free(g);
	device_close(dev);
	return v;
}

/* Returns how many copies are left of how many there were. */
static int assert_same(build_fn *build, int runs, int *before)
{
	int64_t n, m;
	int after;
	float *a = results(build, false, runs, &n, before), *b = results(build, true, runs, &m, &after);
	assert_int_equal(n, m);
	for (int64_t i = 0; i < n; i++)
		if (a[i] != a[i] || memcmp(&a[i], &b[i], sizeof *a) != 0)
			fail_msg("value %lld of %lld is %g, was %g", (long long)i, (long long)n, b[i], a[i]);
	mem_free(a);
	mem_free(b);
	return after;
}

/* --- by hand --- */

struct laid {
	struct graph *g;
	struct device *dev;
};

static struct laid begin(void)
{
	struct laid l = { graph_new(), NULL };
	assert_int_equal(device_open(&l.dev, "cpu"), 0);
	return l;
}

static void end(struct laid *l)
{
	graph_free(l->g);
	device_close(l->dev);
	err_clear();
}

static tid chain_t[8];
static void chain(struct graph *g)
{
	tid x = input(g, "x", 5, 9), *t = chain_t;
	t[0] = EMIT(g, "relu", x);
	t[1] = EMIT(g, "tanh", x);
	t[2] = EMIT(g, "concat", t[0], t[1]);
	t[3] = EMIT(g, "square", t[2]);
	t[4] = EMIT(g, "concat", t[2], t[3], EMIT(g, "relu", x));
	t[5] = EMIT(g, "sigmoid", t[4]);
	t[6] = EMIT(g, "concat", t[1], t[3]);    /* they stand side by side */
	t[7] = EMIT(g, "add", t[6], EMIT(g, "scale_by", t[6], graph_scalar(g, 3)));
	output(g, t[5]);
	output(g, t[7]);
	output(g, EMIT(g, "add", t[0], t[1]));
}

/* Nested joins are one buffer. */
static void test_chain(void **state)
{
	struct laid l = begin();
	const tid *t = chain_t;
	int before;
	chain(l.g);
	passes(l.g, l.dev, true);
	assert_view(l.g, t[0], t[4], 0);
	assert_view(l.g, t[1], t[4], 5);
	assert_view(l.g, t[2], t[4], 0);
	assert_view(l.g, t[3], t[4], 10);
	assert_view(l.g, t[4], NONE, 0);
	assert_view(l.g, t[6], t[4], 5);
	assert_int_equal(copies(l.g), 0);
	end(&l);
	assert_int_equal(assert_same(chain, 1, &before), 0);
	assert_int_equal(before, 3);
}

/* What cannot be a view is copied, and it alone. */
static void mixed(struct graph *g)
{
	tid x = input(g, "x", 3, 40), *t = chain_t, axes;
	t[0] = EMIT(g, "relu", x);
	t[1] = EMIT(g, "concat", x, t[0]);                  /* an input */
	t[2] = output(g, EMIT(g, "tanh", x));
	t[3] = EMIT(g, "concat", t[2], EMIT(g, "tanh", t[1]));  /* an output */
	t[4] = EMIT(g, "square", x);
	t[5] = EMIT(g, "concat", t[4], t[4]);               /* twice in one */
	t[6] = EMIT(g, "concat", t[5], t[4]);               /* and in another */
	t[7] = EMIT(g, "sqrt", t[4]);
	axes = EMIT(g, "sum", t[7]);                        /* takes no views */
	output(g, EMIT(g, "concat", t[7], t[4]));
	output(g, EMIT(g, "scale_by", t[1], axes));
	output(g, EMIT(g, "relu", t[3]));
	output(g, EMIT(g, "relu", t[6]));
}

static void test_mixed(void **state)
{
	struct laid l = begin();
	const tid *t = chain_t;
	int before;
	mixed(l.g);
	passes(l.g, l.dev, true);
	assert_view(l.g, t[0], t[1], 3);
	assert_view(l.g, t[2], NONE, 0);
	assert_view(l.g, t[4], t[6], 0);
	assert_view(l.g, t[5], t[6], 0);
	assert_view(l.g, t[7], NONE, 0);
	assert_int_equal(copies(l.g), 5);
	end(&l);
	assert_same(mixed, 1, &before);
	assert_int_equal(before, 5);
}

/* Gradients of joins are cuts and need no copy either; over micro-batches too. */
static tid grad_t[4];
static void gradients(struct graph *g)
{
	struct shape s = { .nd = 4, .d = { 2, 4, 9, 11 } }, scalar = { 0 };
	tid x = input(g, "x", 4, 9), w, y, dw, sum, micro, in[2];
	assert_int_equal(graph_param(g, "w", DTYPE_F32, &s, (struct init){ INIT_NORMAL, 1 }, &w), 0);
	assert_int_equal(graph_state(g, "sum", DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 }, &sum),
	                 0);
	assert_int_equal(graph_input(g, "micro", DTYPE_I64, &scalar, &micro), 0);
	in[0] = EMIT(g, "multiply", x, w);
	in[1] = EMIT(g, "tanh", in[0]);
	y = EMIT(g, "concat", in[0], in[1]);
	y = EMIT(g, "concat", y, EMIT(g, "tanh", y));
	y = EMIT(g, "sum", EMIT(g, "square", y));
	g->cur_phase = PHASE_BACKWARD;
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), 0);
	sum = EMIT(g, "accumulate", micro, sum, dw);
	g->cur_phase = PHASE_UPDATE;
	output(g, y);
	output(g, EMIT(g, "relu", sum));
	memcpy(grad_t, in, sizeof in);
}

static void test_gradients(void **state)
{
	int before;
	assert_int_equal(assert_same(gradients, 1, &before), 0);
	assert_int_equal(before, 6);
	assert_int_equal(assert_same(gradients, 3, &before), 0);
}

/* Rows of a subdomain with those of its neighbours, and their gradient. */
static void halo(struct graph *g)
{
	tid *t = chain_t, lower = input_of_rows(g, "lower", 3, 1),
	    upper = input_of_rows(g, "upper", 3, 2), x = input_of_rows(g, "x", 3, 5);
	t[0] = EMIT(g, "relu", lower);
	t[1] = EMIT(g, "tanh", x);
	t[2] = EMIT(g, "relu", upper);
	t[3] = JOIN_ROWS(g, t[0], t[1], t[2]);
	t[4] = EMIT(g, "square", t[3]);
	t[5] = cut_along(g, t[4], 2, 1, 5);
	t[6] = EMIT(g, "add", t[5], EMIT(g, "relu", x));   /* in place of t[5] */
	t[7] = EMIT(g, "sigmoid", t[6]);
	output(g, EMIT(g, "concat", t[7], x));
	output(g, EMIT(g, "square", cut_along(g, t[1], 2, 4, 1)));
}

static void test_rows(void **state)
{
	struct laid l = begin();
	const tid *t = chain_t;
	int before;
	halo(l.g);
	passes(l.g, l.dev, true);
	assert_view(l.g, t[0], t[3], 0);
	assert_view(l.g, t[1], t[3], 1);
	assert_view(l.g, t[2], t[3], 6);
	assert_view(l.g, t[5], t[4], 1);
	assert_view(l.g, t[6], t[4], 1);
	assert_int_equal(graph_t(l.g, t[1])->view_axis, 2);
	assert_int_equal(copies(l.g), 1);
	struct tensor *row = graph_t(l.g, t[1]);
	row->view_at = 2;                                  /* over its neighbour */
	assert_int_equal(graph_verify(l.g, STAGE_LAID_OUT), E_BUG);
	row->view_at = 1;
	row->view_axis = 1;                                /* another axis than the others */
	assert_int_equal(graph_verify(l.g, STAGE_LAID_OUT), E_BUG);
	end(&l);
	assert_int_equal(assert_same(halo, 1, &before), 1);
	assert_int_equal(before, 4);
}

/* --- at random --- */

static uint64_t random_seed;

static int64_t extent(const struct graph *g, tid t, int axis)
{
	return graph_t(g, t)->shape.d[axis];
}

/* Pieces are channels, and of one sample rows, too. */
static void random_net(struct graph *g)
{
	tid t[48];
	const int axes = 1 + (int)(random_seed % 2), made = 10 + (int)(random_seed % 30);
	int n = 0;
	rng_at = random_seed * 1000;
	t[n++] = axes > 1 ? input_of_rows(g, "x", 1 + dice(3), 1 + dice(3)) :
	         input(g, "x", 1 + dice(7), 4);
	t[n++] = axes > 1 ? input_of_rows(g, "y", extent(g, t[0], 1), 1 + dice(2)) :
	         input(g, "y", 1 + dice(4), 4);
	while (n < made) {
		tid a = t[dice(4) ? n - 1 - dice(n < 4 ? n : 4) : dice(n)], b = t[dice(n)];
		const int axis = 1 + dice(axes), other = 3 - axis, all = (int)extent(g, a, axis);
		const int from = dice(all), most = axes > 1 ? 20 : 40;
		const bool fits = extent(g, a, other) == extent(g, b, other);
		switch (dice(8)) {
		case 0: t[n++] = EMIT(g, "relu", a); break;
		case 1: t[n++] = EMIT(g, "sigmoid", a); break;
		case 2: t[n++] = EMIT(g, "scale_by", a, EMIT(g, "sum", b)); break;
		case 3: t[n++] = cut_along(g, a, axis, from, 1); break;
		case 4: t[n++] = cut_along(g, a, axis, 0, 1 + from); break;
		default: if (fits && extent(g, a, axis) == extent(g, b, axis) && dice(3))
				 t[n++] = EMIT(g, "add", a, b);
			 else if (fits && all + extent(g, b, axis) < most)
				 t[n++] = join_along(g, axis, 2, (tid[]){ a, b });
		}
	}
	for (int k = 0; k < 3; k++)
		if (graph_t(g, t[n - 1 - k])->role == ROLE_ACTIVATION)
			output(g, t[n - 1 - k]);
	if (graph_t(g, t[n / 2])->role == ROLE_ACTIVATION)
		output(g, t[n / 2]);
}

static void test_random(void **state)
{
	int left = 0, all = 0;
	for (random_seed = 1; random_seed <= 300; random_seed++) {
		int before, after = assert_same(random_net, 1, &before);
		assert_true(after <= before);
		left += after;
		all += before;
	}
	print_message("%d of %d joins and cuts copy something\n", left, all);
	assert_true(left < all * 3 / 4);
}

/* --- broken on purpose --- */

static void test_broken(void **state)
{
	for (int variant = 0; variant < 8; variant++) {
		struct laid l = begin();
		const tid *t = chain_t;
		chain(l.g);
		passes(l.g, l.dev, true);
		struct tensor *a = graph_t(l.g, t[1]);
		switch (variant) {
		case 0: a->view_at = 4; break;                         /* over its neighbour */
		case 1: a->view_at = 22; break;                        /* outside */
		case 2: a->layout = layout_native(&a->shape); break;
		case 3: a->view = t[2]; break;                         /* itself a view */
		case 4: a->output = true; break;
		case 5: graph_t(l.g, t[4])->layout = layout_plain(&graph_t(l.g, t[4])->shape); break;
		case 6: a->view = l.g->ntensor; break;
		case 7: graph_t(l.g, t[6])->view_at = 0; break;        /* on a live tensor */
		}
		assert_int_equal(graph_verify(l.g, STAGE_LAID_OUT), E_BUG);
		end(&l);
	}
}

/* An op that works in place needs the right to do so, and its input must have no later reader. */
static void test_overwritten(void **state)
{
	for (int variant = 0; variant < 3; variant++) {
		struct laid l = begin();
		tid x = input(l.g, "x", 6, 3), a = EMIT(l.g, "relu", x), b = cut(l.g, a, 2, 3), c, d;
		c = EMIT(l.g, "square", b);
		d = EMIT(l.g, "tanh", variant == 1 ? b : c);
		output(l.g, EMIT(l.g, "relu", d));
		output(l.g, EMIT(l.g, "relu", c));
		passes(l.g, l.dev, true);
		assert_view(l.g, b, a, 2);
		graph_t(l.g, c)->view = a;
		graph_t(l.g, c)->view_at = variant == 2 ? 1 : 2;
		graph_t(l.g, c)->layout = graph_t(l.g, b)->layout;
		assert_int_equal(graph_verify(l.g, STAGE_LAID_OUT), variant ? E_BUG : 0);
		end(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),  cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_gradients), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_broken), cmocka_unit_test(test_overwritten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
