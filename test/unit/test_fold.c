/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Folding and dead-code removal: each identity and its near misses, and random graphs whose outputs
 * stay the same. */
#include "toy_eval.h"
#include "toy_passes.h"

#include <math.h>

/* What stands after the input of the keep node that reads t, after fold and dead-code removal. */
static tid folded(struct graph *g, tid t)
{
	EMIT(g, "keep", t);
	run(g, 0, 2);
	return g->node[g->nnode - 1]->in[0];
}

static void test_fold_identities(void **state)
{
	for (int i = 0; i < 12; i++) {
		struct graph *g = graph_new();
		tid x = EMIT(g, "hard", toy_input(g, "x", "2x3")), s = EMIT(g, "sum", x), t = NONE,
		    want = x;
		switch (i) {
		case 0: t = EMIT(g, "add", x, fill(g, 0, "2x3")); break;
		case 1: t = EMIT(g, "add", fill(g, 0, "2x3"), x); break;
		case 2: t = EMIT(g, "multiply", x, fill(g, 1, "2x3")); break;
		case 3: t = EMIT(g, "multiply", fill(g, 1, "2x3"), x); break;
		case 4: t = scale(g, x, 1, 0); break;
		case 5: t = scale(g, scale(g, x, 4, 0), 0.25, 0); break;
		case 6: t = reshape(g, reshape(g, x, "6"), "2x3"); break;
		case 7: t = reshape(g, x, "2x3"); break;
		case 8:
			t = transpose(g, transpose(g, x, 2, (int64_t[]){ 1, 0 }), 2,
			              (int64_t[]){ 1, 0 });
			break;
		case 9: t = transpose(g, x, 2, (int64_t[]){ 0, 1 }); break;
		case 10:
			t = toy_emit(g, "broadcast",
			             &(struct shape_attr){ { 2, (int64_t[]){ 2, 3 } } }, 1, &x);
			break;
		case 11: t = EMIT(g, "multiply", graph_scalar(g, 1), s); want = s; break;
		}
		assert_int_equal(folded(g, t), want);
		assert_int_equal(g->nnode, want == s ? 3 : 2);   /* hard (and sum), keep */
		graph_free(g);
	}
}

/* Near misses stay. */
static void test_fold_not(void **state)
{
	for (int i = 0; i < 10; i++) {
		struct graph *g = graph_new();
		tid x = EMIT(g, "hard", toy_input(g, "x", "2x2")), w = toy_param(g, "w", "2x2"),
		    t = NONE;
		switch (i) {
		case 0: t = EMIT(g, "add", x, fill(g, 1, "2x2")); break;
		case 1: t = EMIT(g, "multiply", x, fill(g, 0, "2x2")); break;
		case 2: t = scale(g, x, 1, 1); break;
		case 3: t = scale(g, x, 2, 0); break;
		case 4: t = transpose(g, x, 2, (int64_t[]){ 1, 0 }); break;
		case 5: t = reshape(g, x, "4"); break;
		case 6: t = EMIT(g, "add", w, fill(g, 0, "2x2")); break; /* a copy of a param */
		case 7: t = scale(g, reshape(g, w, "4"), 1, 0); break;   /* through a view */
		case 8: /* a tensor the host reads */
			t = scale(g, x, 1, 0);
			graph_t(g, t)->output = true;
			break;
		case 9: t = scale(g, EMIT(g, "sgd", w, x), 1, 0); break;
		}
		assert_int_equal(folded(g, t), t);
		graph_free(g);
	}
}

static void test_fold_joins(void **state)
{
	struct graph *g = graph_new();
	tid x = EMIT(g, "hard", toy_input(g, "x", "2x3x5")), t, s;
	struct scale_attr *a;
	struct transpose_attr *p;

	/* 3 (2 x + 1) + 4 = 6 x + 7 */
	t = folded(g, scale(g, scale(g, x, 2, 1), 3, 4));
	a = toy_producer(g, t)->attr;
	assert_true(a->factor == 6 && a->shift == 7);
	assert_int_equal(toy_producer(g, t)->in[0], x);
	/* not where the inner one is read elsewhere too */
	s = scale(g, x, 5, 0);
	t = scale(g, s, 7, 0);
	EMIT(g, "keep", s);
	t = folded(g, t);
	assert_int_equal(toy_producer(g, t)->in[0], s);
	/* 3 (x (2 x)) = x (6 x), but not where the product or the factor is read elsewhere */
	for (int read = 0; read < 3; read++) {
		s = scale(g, x, 2, 0);
		const tid product = EMIT(g, "multiply", x, s);
		t = scale(g, product, 3, 0);
		if (read)
			EMIT(g, "keep", read == 1 ? product : s);
		t = folded(g, t);
		assert_int_equal(t == product, read == 0);
		a = toy_producer(g, s)->attr;
		assert_true(a->factor == (read ? 2 : 6));
	}
	/* 2 (3 x), 3 a repeated number, is 6 x */
	s = toy_emit(g, "broadcast", &(struct shape_attr){ { 3, (int64_t[]){ 2, 3, 5 } } }, 1,
	             &(tid){ reshape(g, graph_scalar(g, 3), "1x1x1") });
	t = folded(g, scale(g, EMIT(g, "multiply", s, x), 2, 0));
	a = toy_producer(g, t)->attr;
	assert_true(a->factor == 6 && toy_producer(g, t)->in[0] == x);
	/* 2x3x5 -> 3x5x2 -> 5x2x3 in one step */
	t = folded(g, transpose(g, transpose(g, x, 3, (int64_t[]){ 1, 2, 0 }), 3,
	                        (int64_t[]){ 1, 2, 0 }));
	p = toy_producer(g, t)->attr;
	assert_true(p->perm.v[0] == 2 && p->perm.v[1] == 0 && p->perm.v[2] == 1);
	assert_int_equal(toy_producer(g, t)->in[0], x);
	assert_int_equal(graph_t(g, t)->shape.d[0], 5);
	/* a view of a view looks at the bottom */
	t = folded(g, reshape(g, reshape(g, x, "6x5"), "30"));
	assert_int_equal(graph_t(g, t)->alias, x);
	/* scalars are computed */
	t = folded(g, scale(g, scale(g, graph_scalar(g, 3), 2, 1), 2, 0));
	assert_int_equal(t, graph_scalar(g, 14));
	t = folded(g, scale(g, scale(g, graph_scalar(g, 1), 1.0 / 3, 0), 0.1, 0));
	assert_true(*graph_t(g, t)->exact == 1.0 / 3 * 0.1);
	assert_true(*(const float *)graph_t(g, t)->value == (float)(1.0 / 3 * 0.1));
	graph_free(g);
}

/* A folded gradient hands its param on, and a chain of identities folds in one run. */
static void test_fold_chain(void **state)
{
	struct graph *g = graph_new();
	tid x = EMIT(g, "hard", toy_input(g, "x", "8")), w = toy_param(g, "w", "8"), t = x;
	for (int i = 0; i < 50; i++)
		t = scale(g, EMIT(g, "add", t, fill(g, 0, "8")), 1, 0);
	graph_t(g, t)->grad_of = w;
	assert_int_equal(folded(g, t), x);
	assert_int_equal(graph_t(g, x)->grad_of, w);
	graph_free(g);
}

/* A random element-wise graph on 2x2 and 4, full of what folds, with an update in the middle. */
static tid random_node(struct graph *g, tid x, tid y)
{
	static const double number[] = { 0, 1, 1, 2, 0.5 };
	bool flat = graph_t(g, x)->shape.nd == 1;
	switch (dice(7)) {
	case 0: return scale(g, x, number[dice(5)], number[dice(2)]);
	case 1: return reshape(g, x, dice(2) ? "4" : "2x2");
	case 2:
		return flat ? x
		            : transpose(g, x, 2,
		                        dice(3) ? (int64_t[]){ 1, 0 } : (int64_t[]){ 0, 1 });
	case 3: y = fill(g, number[dice(3)], flat ? "4" : "2x2"); break;
	case 4: return EMIT(g, "relu", x);
	}
	if (!shape_equal(&graph_t(g, x)->shape, &graph_t(g, y)->shape))
		y = reshape(g, y, flat ? "4" : "2x2");
	return dice(2) ? EMIT(g, "add", x, y) : EMIT(g, "multiply", y, x);
}

static void test_fold_random(void **state)
{
	int before = 0, after = 0;
	for (int run_ = 0; run_ < 300; run_++) {
		struct graph *g = graph_new();
		struct values u, v;
		tid t[40];
		t[0] = toy_input(g, "x", "2x2");
		t[1] = toy_param(g, "w", "2x2");
		for (int i = 2; i < 40; i++) {
			if (i == 25) {
				t[i] = EMIT(g, "sgd", t[1], EMIT(g, "hard", t[0]));
				t[1] = t[i]; /* what reads w or a view of it has been emitted */
				for (int k = 2; k < i; k++)
					if (graph_root(g, t[k]) == graph_find(g, "w"))
						t[k] = t[0];
			} else {
				int back = i < 7 ? i : 6;
				t[i] = random_node(g, t[i - 1 - dice(back)], t[dice(i)]);
			}
		}
		for (int i = 30; i < 40; i += 3)
			if (graph_t(g, t[i])->producer != NONE)
				graph_t(g, t[i])->output = true;
		before += g->nnode;
		values_init(&u, g);
		values_run(&u);
		run(g, 0, 2);
		after += g->nnode;
		values_init(&v, g);
		values_run(&v);
		for (int i = 0; i < 40; i++)
			for (int k = 0; k < 4 && graph_t(g, t[i])->output; k++)
				assert_float_equal(u.v[t[i]][k], v.v[t[i]][k],
				                   1e-9 * (1 + fabs(u.v[t[i]][k])));
		values_release(&u);
		values_release(&v);
		graph_free(g);
	}
	print_message("random folding: %d nodes became %d\n", before, after);
}

/* --- dce --- */

static void test_dce(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "4"), w = toy_param(g, "w", "4"), a, out[2];
	a = EMIT(g, "relu", x);
	EMIT(g, "relu", EMIT(g, "relu", a));             /* it has no reader */
	EMIT(g, "keep", EMIT(g, "hard", x));             /* kept by its flag */
	EMIT(g, "sgd", w, EMIT(g, "add", x, x));         /* kept as an update */
	assert_int_equal(graph_emit(g, "two", NULL, 1, &x, 2, out), 0);
	graph_t(g, EMIT(g, "sum", out[1]))->output = true;
	run(g, 1, 2);
	assert_int_equal(g->nnode, 6);
	assert_int_equal(toy_count(g, "relu"), 0);
	assert_int_equal(graph_t(g, a)->producer, NONE);
	assert_string_equal(g->node[0]->op->name, "hard");   /* the order stays */
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fold_identities), cmocka_unit_test(test_fold_not),
		cmocka_unit_test(test_fold_joins), cmocka_unit_test(test_fold_chain),
		cmocka_unit_test(test_fold_random), cmocka_unit_test(test_dce),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
