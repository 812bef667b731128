/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The toolkit of passes on graphs of toy ops: lists of readers, where nodes come to stand, what
 * replaces what. */
#include "toy_ops.h"

#include "base/rng.h"
#include "graph/verify.h"
#include "pass/rewrite.h"

/* a = relu x ; b = add a a ; c = scale b ; d = add c a, which is read outside. */
struct net {
	struct graph *g;
	tid x, a, b, c, d;
};

static struct net net_new(void)
{
	struct net n = { .g = graph_new() };
	n.g->cur_name = "one";
	n.x = toy_input(n.g, "x", "4");
	n.a = EMIT(n.g, "relu", n.x);
	n.b = EMIT(n.g, "add", n.a, n.a);
	n.g->cur_name = "two";
	n.c = toy_emit(n.g, "scale", &(struct scale_attr){ 3, 0.5 }, 1, &n.b);
	n.d = EMIT(n.g, "add", n.c, n.a);
	graph_t(n.g, n.d)->output = true;
	n.g->cur_name = "outside";
	return n;
}

static struct node *maker(const struct net *n, tid t)
{
	return rewrite_producer(n->g, t);
}

/* The ops in order, with a space between them. */
static void check_order(const struct graph *g, const char *expected)
{
	struct buf text = BUF_INIT;
	for (int i = 0; i < g->nnode; i++) {
		assert_int_equal(g->node[i]->id, i);
		buf_printf(&text, "%s%s", i ? " " : "", g->node[i]->op->name);
	}
	assert_string_equal(text.data, expected);
	buf_release(&text);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
}

static void test_producers_and_readers(void **state)
{
	struct net n = net_new();
	struct arena *scratch = arena_new();
	const struct readers r = rewrite_readers(n.g, scratch);
	const struct reader *u = readers_of(&r, n.a);
	assert_null(rewrite_producer(n.g, NONE));
	assert_null(rewrite_producer(n.g, n.x));
	assert_ptr_equal(rewrite_producer(n.g, n.b), n.g->node[1]);
	assert_ptr_equal(rewrite_made_by(n.g, n.b, "add"), n.g->node[1]);
	assert_null(rewrite_made_by(n.g, n.b, "relu"));
	assert_true(rewrite_is(n.g->node[0], "relu") && !rewrite_is(n.g->node[0], "relu_grad"));
	assert_false(rewrite_is(NULL, "relu"));
	assert_int_equal(readers_count(&r, n.a), 3);
	assert_ptr_equal(u[0].n, n.g->node[1]);
	assert_ptr_equal(u[1].n, n.g->node[1]);
	assert_ptr_equal(u[2].n, n.g->node[3]);
	assert_int_equal(u[0].in * 100 + u[1].in * 10 + u[2].in, 11);
	assert_int_equal(readers_count(&r, n.x), 1);
	assert_int_equal(readers_count(&r, n.d), 0);
	arena_free(scratch);
	graph_free(n.g);
}

/* New nodes stand where they were put, in the order of their making, in the context they were
 * given; that of the graph comes back. */
static void test_places(void **state)
{
	struct net n = net_new();
	struct rewrite r;
	tid late, early, end;
	rewrite_begin(&r, n.g);
	end = EMIT(n.g, "keep", n.b);
	rewrite_before(&r, maker(&n, n.d), maker(&n, n.a));
	late = EMIT(n.g, "relu", n.c);
	rewrite_before(&r, maker(&n, n.c), maker(&n, n.d));
	early = EMIT(n.g, "sum", n.b);
	rewrite_before(&r, maker(&n, n.d), maker(&n, n.d));
	maker(&n, n.d)->in[0] = EMIT(n.g, "multiply", late, late);
	EMIT(n.g, "keep", early);
	assert_ptr_equal(n.g->node[3], maker(&n, n.d));
	assert_int_equal(rewrite_commit(&r, 0), 0);
	check_order(n.g, "relu add sum scale relu multiply keep add keep");
	assert_int_equal(graph_t(n.g, late)->producer, 4);
	assert_string_equal(maker(&n, late)->name, "one");
	assert_string_equal(maker(&n, early)->name, "two");
	assert_string_equal(maker(&n, end)->name, "outside");
	assert_string_equal(n.g->cur_name, "outside");
	graph_free(n.g);
}

static void test_move_and_drop(void **state)
{
	struct net n = net_new();
	struct rewrite r;
	EMIT(n.g, "keep", n.x);
	rewrite_begin(&r, n.g);
	rewrite_before(&r, maker(&n, n.c), maker(&n, n.c));
	EMIT(n.g, "keep", n.a);
	rewrite_move(&r, n.g->node[4], maker(&n, n.c));
	maker(&n, n.c)->in[0] = n.a;
	rewrite_drop(&r, maker(&n, n.b));
	rewrite_drop(&r, maker(&n, n.b));
	assert_int_equal(rewrite_commit(&r, 0), 0);
	check_order(n.g, "relu keep keep scale add");
	assert_int_equal(n.g->node[1]->in[0], n.a);
	assert_int_equal(n.g->node[2]->in[0], n.x);
	assert_int_equal(graph_t(n.g, n.b)->producer, NONE);
	graph_free(n.g);
}

/* Old and new readers change; a view of the tensor is one of its replacement. */
static void test_instead(void **state)
{
	struct net n = net_new();
	const int64_t two[] = { 2, 2 };
	struct rewrite r;
	tid view = toy_emit(n.g, "reshape", &(struct shape_attr){ { 2, two } }, 1, &n.a), copy, more;
	EMIT(n.g, "keep", view);
	rewrite_begin(&r, n.g);
	rewrite_before(&r, maker(&n, n.b), maker(&n, n.b));
	copy = EMIT(n.g, "hard", n.x);
	rewrite_before(&r, maker(&n, n.d), maker(&n, n.d));
	more = EMIT(n.g, "keep", n.a);
	rewrite_drop(&r, maker(&n, n.a));
	rewrite_instead(&r, n.a, copy);
	assert_int_equal(maker(&n, n.b)->in[0], n.a);
	assert_int_equal(rewrite_commit(&r, 0), 0);
	check_order(n.g, "hard add scale keep add reshape keep");
	assert_int_equal(maker(&n, n.b)->in[0], copy);
	assert_int_equal(maker(&n, n.b)->in[1], copy);
	assert_int_equal(maker(&n, n.d)->in[1], copy);
	assert_int_equal(maker(&n, more)->in[0], copy);
	assert_int_equal(graph_t(n.g, view)->alias, copy);
	graph_free(n.g);
}

/* A node in place of another: context, attributes, outputs; absent operands at the end go. */
static void test_replace(void **state)
{
	struct net n = net_new();
	struct rewrite r;
	struct node *made;
	rewrite_begin(&r, n.g);
	assert_int_equal(rewrite_replace(&r, maker(&n, n.b), "scale", maker(&n, n.c), 2,
	                                 (tid[]){ n.a, NONE }, &made), 0);
	rewrite_take(n.g, made, 0, n.b);
	rewrite_take(n.g, made, 0, NONE);
	assert_ptr_equal(rewrite_producer(n.g, n.b), made);
	assert_int_equal(rewrite_commit(&r, 0), 0);
	check_order(n.g, "relu scale scale add");
	assert_int_equal(made->id, 1);
	assert_int_equal(made->nin, 1);
	assert_string_equal(made->name, "one");
	assert_true(((const struct scale_attr *)made->attr)->factor == 3);
	assert_true(((const struct scale_attr *)maker(&n, n.c)->attr)->shift == 0.5);
	assert_ptr_equal(maker(&n, n.c), n.g->node[2]);
	graph_free(n.g);
}

/* Defaults, unless a node has the attribute. */
static void test_attributes(void **state)
{
	struct net n = net_new();
	const struct op *scale = op_find("scale");
	const struct node *like[] = { maker(&n, n.b), maker(&n, n.c) };
	tid ones = toy_emit(n.g, "fill", &(struct fill_attr){ 1, { 1, (int64_t[]){ 4 } } }, 0, NULL);
	void *attr;
	assert_int_equal(rewrite_attr(n.g, scale, 1, like, &attr), 0);
	assert_true(((struct scale_attr *)attr)->factor == 1);
	assert_int_equal(rewrite_attr(n.g, scale, 2, like, &attr), 0);
	assert_true(((struct scale_attr *)attr)->factor == 3);
	assert_int_equal(rewrite_attr(n.g, op_find("relu"), 2, like, &attr), 0);
	assert_null(attr);
	like[0] = maker(&n, ones);          /* the shape has no default */
	assert_int_equal(rewrite_attr(n.g, like[0]->op, 1, like, &attr), 0);
	assert_true(((struct fill_attr *)attr)->shape.n == 1);
	like[0] = maker(&n, n.a);
	assert_int_equal(rewrite_attr(n.g, op_find("fill"), 1, like, &attr), E_CONFIG);
	err_clear();
	graph_free(n.g);
}

static void test_become(void **state)
{
	struct net n = net_new();
	tid two[2];
	assert_int_equal(graph_emit(n.g, "two", NULL, 1, &n.x, 2, two), 0);
	graph_t(n.g, two[0])->output = true;
	struct node *node = maker(&n, two[0]);
	assert_int_equal(rewrite_become(n.g, node, "add", 2, (tid[]){ n.a, n.d }), 0);
	check_order(n.g, "relu add scale add add");
	assert_int_equal(node->nout, 1);
	assert_int_equal(node->in[1], n.d);
	assert_int_equal(graph_t(n.g, two[1])->producer, NONE);
	assert_int_equal(rewrite_become(n.g, maker(&n, n.c), "relu", 1, &n.b), 0);
	check_order(n.g, "relu add relu add add");
	graph_free(n.g);
}

/* An error passes through, and leaves the graph in its context. */
static void test_error(void **state)
{
	struct net n = net_new();
	struct rewrite r;
	rewrite_begin(&r, n.g);
	rewrite_before(&r, maker(&n, n.b), maker(&n, n.b));
	EMIT(n.g, "keep", n.a);
	rewrite_drop(&r, maker(&n, n.d));
	assert_int_equal(rewrite_commit(&r, E_SHAPE), E_SHAPE);
	assert_string_equal(n.g->cur_name, "outside");
	assert_ptr_equal(n.g->node[3], maker(&n, n.d));
	rewrite_begin(&r, n.g);               /* and without any change */
	assert_int_equal(rewrite_commit(&r, 0), 0);
	graph_free(n.g);
}

/* --- against lists --- */

enum { OLD = 12, NEW = 40 };

struct list {
	const struct node *n[OLD + NEW];
	int count;
};

static void append(struct list *l, const struct node *n)
{
	l->n[l->count++] = n;
}

static uint32_t dice(uint64_t *at, uint32_t n)
{
	return rng_u32(17, 1, 0, (*at)++) % n;
}

/* One round: nodes without operands, so that any order is valid. */
static void round_of_edits(uint64_t *at)
{
	const struct fill_attr fill = { 0, { 1, (int64_t[]){ 4 } } };
	struct graph *g = graph_new();
	struct list before[OLD + 1] = { { { NULL }, 0 } };
	bool gone[OLD] = { false }, anchor[OLD + 1] = { false };
	struct rewrite r;
	for (int i = 0; i < OLD; i++)
		toy_emit(g, "fill", &fill, 0, NULL);
	rewrite_begin(&r, g);
	for (int i = 0; i < NEW; i++) {
		const uint32_t place = dice(at, OLD + 1), n = dice(at, OLD);
		const struct node *to = place < OLD ? g->node[place] : NULL;
		const bool moves = n != place && !gone[n] && !anchor[n] && !dice(at, 3);
		if (place < OLD && gone[place])
			continue;
		if (moves) {
			rewrite_move(&r, g->node[n], to);
			gone[n] = anchor[place] = true;
		} else {
			rewrite_before(&r, to, g->node[0]);
			toy_emit(g, "fill", &fill, 0, NULL);
		}
		append(&before[place], moves ? g->node[n] : g->node[g->nnode - 1]);
	}
	struct list expected = { { NULL }, 0 };
	for (int i = 0; i <= OLD; i++) {
		for (int k = 0; k < before[i].count; k++)
			append(&expected, before[i].n[k]);
		if (i < OLD && !gone[i])
			append(&expected, g->node[i]);
	}
	assert_int_equal(rewrite_commit(&r, 0), 0);
	assert_int_equal(g->nnode, expected.count);
	for (int i = 0; i < g->nnode; i++)
		assert_ptr_equal(g->node[i], expected.n[i]);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	graph_free(g);
}

static void test_random(void **state)
{
	uint64_t at = 0;
	for (int i = 0; i < 200; i++)
		round_of_edits(&at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_producers_and_readers),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_move_and_drop),
		cmocka_unit_test(test_instead),
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_become),
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_random),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
