/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier: a graph that passes, and then each rule broken by hand on a fresh copy of it. */
#include "toy_ops.h"

#include "graph/memplan.h"
#include "graph/verify.h"
#include "pass/autodiff.h"
#include "pass/pass.h"

/* x -> conv(w) -> relu -> reshape -> sum -> loss; gradient; update of w; a running state. */
static struct graph *good(enum stage stage)
{
	struct pass_env env = { .backend = BACKEND_CPU };
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "2x8x3x3"), w = toy_param(g, "w", "8x8"),
	    s = toy_state(g, "s", "2x8x3x3"), h, y, dw;
	h = EMIT(g, "relu", EMIT(g, "conv", x, w));
	EMIT(g, "accumulate", s, h);
	h = EMIT(g, "relu", h);
	y = toy_emit(g, "reshape", &(struct shape_attr){ { 1, (int64_t[]){ 144 } } }, 1, &h);
	y = EMIT(g, "sum", y);
	graph_t(g, y)->output = true;
	/* the toy reshape has no rule */
	y = EMIT(g, "sum", h);
	assert_int_equal(autodiff(g, 1, &y, NULL, 1, &w, &dw), 0);
	g->cur_phase = PHASE_UPDATE;
	EMIT(g, "sgd", w, dw);
	if (stage >= STAGE_LAID_OUT)
		assert_int_equal(pass_layout(g, &env), 0);
	if (stage >= STAGE_PLANNED)
		assert_int_equal(memplan(g, NULL), 0);
	if (graph_verify(g, stage) < 0)
		fail_msg("%s", toy_error());
	return g;
}

static struct node *find(struct graph *g, const char *op)
{
	for (int i = 0; i < g->nnode; i++)
		if (!strcmp(g->node[i]->op->name, op))
			return g->node[i];
	fail_msg("no %s", op);
	return NULL;
}
static struct tensor *out_of(struct graph *g, const char *op)
{
	return graph_t(g, find(g, op)->out[0]);
}
static struct tensor *named(struct graph *g, const char *name)
{
	return graph_t(g, graph_find(g, name));
}

/* --- ways to break it; each says what the verifier should say --- */

#define BREAK(name) static void name(struct graph *g)

BREAK(tensor_id) { g->tensor[2]->id = 1; }
BREAK(tensor_name) { g->tensor[0]->name = NULL; }
BREAK(dtype) { g->tensor[2]->dtype = DTYPE_COUNT; }
BREAK(role) { g->tensor[2]->role = (enum role)9; }
BREAK(axes) { g->tensor[2]->shape.nd = MAXD + 1; }
BREAK(empty) { g->tensor[2]->shape.d[1] = 0; }
BREAK(huge) { g->tensor[0]->shape.d[0] = INT64_MAX / 8; }
BREAK(producer_range) { out_of(g, "conv")->producer = g->nnode; }
BREAK(param_producer) { named(g, "w")->producer = 0; }
BREAK(state_alias) { named(g, "s")->alias = 0; }
BREAK(no_value) { graph_t(g, graph_scalar(g, 77))->value = NULL; }
BREAK(lost_output)
{
	graph_tensor_new(g, ROLE_ACTIVATION, DTYPE_F32, &g->tensor[0]->shape, "lost")->output =
		true;
}
BREAK(grad_of) { out_of(g, "conv")->grad_of = graph_find(g, "x"); }
BREAK(grad_shape) { out_of(g, "sum")->grad_of = graph_find(g, "w"); }
BREAK(twice_named) { graph_tensor_new(g, ROLE_PARAM, DTYPE_F32, &g->tensor[1]->shape, "w"); }
BREAK(no_op) { g->node[1]->op = NULL; }
BREAK(node_id) { g->node[1]->id = 0; }
BREAK(node_name) { g->node[1]->name = NULL; }
BREAK(nin) { find(g, "conv")->nin = 1; }
BREAK(nout) { find(g, "conv")->nout = 0; }
BREAK(no_attr) { find(g, "reshape")->attr = NULL; }
BREAK(phase) { g->node[0]->phase = PHASE_COUNT; }
BREAK(no_input) { find(g, "conv")->in[1] = NONE; }
BREAK(bad_input) { find(g, "conv")->in[1] = g->ntensor; }
BREAK(bad_output) { find(g, "conv")->out[0] = g->ntensor; }
BREAK(two_producers) { find(g, "relu")->out[0] = find(g, "conv")->out[0]; }
BREAK(orphan)
{
	find(g, "sum")->in[0] =
		graph_tensor_new(g, ROLE_ACTIVATION, DTYPE_F32, &g->tensor[0]->shape, "nobody's")
			->id;
}
BREAK(order)
{
	struct node *a = g->node[0], *b = g->node[1];
	g->node[0] = b, b->id = 0, graph_t(g, b->out[0])->producer = 0;
	g->node[1] = a, a->id = 1, graph_t(g, a->out[0])->producer = 1;
}
BREAK(update_flows_back) { find(g, "relu_grad")->phase = PHASE_UPDATE; }
BREAK(not_made)
{
	struct tensor *t =
		graph_tensor_new(g, ROLE_ACTIVATION, DTYPE_F32, &g->tensor[0]->shape, "?");
	t->producer = 0;
}
BREAK(alias_range) { out_of(g, "reshape")->alias = g->ntensor; }
BREAK(alias_other) { out_of(g, "sgd")->alias = graph_find(g, "s"); }
BREAK(alias_type) { out_of(g, "sgd")->dtype = DTYPE_I32; }
BREAK(alias_relu) { out_of(g, "relu")->alias = find(g, "relu")->in[0]; }
BREAK(alias_shape) { out_of(g, "sgd")->shape = toy_dims("64"); }
BREAK(update_of_activation)
{
	struct node *n = find(g, "sgd");
	out_of(g, "sgd")->alias = n->in[0] = n->in[1];
}
BREAK(view_alias) { out_of(g, "reshape")->alias = NONE; }
BREAK(late_reader) { g->cur_phase = PHASE_UPDATE; EMIT(g, "relu", graph_find(g, "w")); }
BREAK(late_view)
{
	tid w = graph_find(g, "w"),
	    v = toy_emit(g, "reshape", &(struct shape_attr){ { 1, (int64_t[]){ 64 } } }, 1, &w);
	struct node **order = malloc((size_t)g->nnode * sizeof *order);

	/* the view before the update, its reader after */
	order[0] = g->node[g->nnode - 1];
	memcpy(order + 1, g->node, ((size_t)g->nnode - 1) * sizeof *order);
	graph_reorder(g, order, g->nnode);
	free(order);
	EMIT(g, "relu", v);
}
BREAK(overwritten_twice) { EMIT(g, "double_update", toy_state(g, "v", "4")); }
BREAK(update_through_view)
{
	tid s = toy_state(g, "v", "4"),
	    v = toy_emit(g, "reshape", &(struct shape_attr){ { 2, (int64_t[]){ 2, 2 } } }, 1, &s);
	EMIT(g, "sgd", v, v);
}
BREAK(read_in_update)
{
	struct node *n;
	tid s = toy_state(g, "v", "4");
	EMIT(g, "relu", s);
	n = g->node[g->nnode - 1];
	g->cur_phase = PHASE_BACKWARD;
	EMIT(g, "accumulate", s, s);
	n->phase = PHASE_UPDATE;
}

static const struct {
	const char *rule;
	void (*break_it)(struct graph *g);
} built[] = {
	{ "id is not its index", tensor_id },
	{ "has no name", tensor_name },
	{ "unknown element type", dtype },
	{ "unknown role", role },
	{ "number of axes", axes },
	{ "an axis is empty", empty },
	{ "too many elements", huge },
	{ "its producer is no node", producer_range },
	{ "has a producer or aliases", param_producer },
	{ "has a producer or aliases", state_alias },
	{ "without a value", no_value },
	{ "an output that no node makes", lost_output },
	{ "no param", grad_of },
	{ "another shape than its param", grad_shape },
	{ "is not unique", twice_named },
	{ "has no op", no_op },
	{ "id is not its index", node_id },
	{ "has no name", node_name },
	{ "wrong number of inputs", nin },
	{ "wrong number of outputs", nout },
	{ "attributes are missing", no_attr },
	{ "unknown phase", phase },
	{ "an input is missing", no_input },
	{ "an input is missing", bad_input },
	{ "an output is no tensor", bad_output },
	{ "has another producer", two_producers },
	{ "that nothing makes", orphan },
	{ "before it is made", order },
	{ "reads what the update makes", update_flows_back },
	{ "does not make it", not_made },
	{ "aliases no tensor", alias_range },
	{ "does not read", alias_other },
	{ "another type or size", alias_type },
	{ "neither view nor update", alias_relu },
	{ "changes the shape", alias_shape },
	{ "neither param nor state", update_of_activation },
	{ "does not alias its input", view_alias },
	{ "overwritten before", late_reader },
	{ "overwritten before", late_view },
	{ "overwrites a state twice", overwritten_twice },
	{ "through a view", update_through_view },
	{ "what forward or backward overwrites", read_in_update },
};

static void expect(struct graph *g, enum stage stage, const char *rule)
{
	err_clear();
	assert_int_equal(graph_verify(g, stage), E_BUG);
	if (!strstr(toy_error(), rule))
		fail_msg("'%s' instead of '%s'", toy_error(), rule);
	err_clear();
}

static void test_built(void **state)
{
	for (size_t i = 0; i < sizeof built / sizeof *built; i++) {
		struct graph *g = good(STAGE_BUILT);
		built[i].break_it(g);
		expect(g, STAGE_BUILT, built[i].rule);
		graph_free(g);
	}
}

/* --- layouts --- */

BREAK(no_layout) { out_of(g, "conv")->layout.set = false; }
BREAK(no_backend) { g->backend = NONE; }
BREAK(many_blocks) { out_of(g, "conv")->layout.nblk = LAYOUT_MAXBLK + 1; }
BREAK(bad_extent) { out_of(g, "conv")->layout.dims[0] = 0; }
BREAK(bad_block) { named(g, "w")->layout.blk_dim[0] = 5; }
BREAK(other_size) { out_of(g, "conv")->layout.dims[0]++; }
BREAK(on_top) { out_of(g, "conv")->layout.stride[0] = 0; }
BREAK(update_layout) { out_of(g, "sgd")->layout = layout_plain(&named(g, "w")->shape); }
BREAK(same_layout) { out_of(g, "relu")->layout = layout_plain(&out_of(g, "relu")->shape); }
BREAK(plain_view) { out_of(g, "reshape")->layout.stride[0] = 2; }

static const struct {
	const char *rule;
	void (*break_it)(struct graph *g);
} laid_out[] = {
	{ "has no layout", no_layout },
	{ "no backend", no_backend },
	{ "too many axes or blocks", many_blocks },
	{ "bad extent", bad_extent },
	{ "bad block", bad_block },
	{ "another size than the shape", other_size },
	{ "on top of each other", on_top },
	{ "than the state it replaces", update_layout },
	{ "another layout than the rest", same_layout },
	{ "is not row-major", plain_view },
};

static void test_laid_out(void **state)
{
	for (size_t i = 0; i < sizeof laid_out / sizeof *laid_out; i++) {
		struct graph *g = good(STAGE_LAID_OUT);
		laid_out[i].break_it(g);
		expect(g, STAGE_LAID_OUT, laid_out[i].rule);
		assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
		graph_free(g);
	}
}

/* --- memory --- */

BREAK(misaligned) { out_of(g, "relu_grad")->offset += 32; }
BREAK(outside) { out_of(g, "conv")->offset = g->arena_bytes; }
BREAK(in_no_arena) { out_of(g, "conv")->offset = -1; }
BREAK(state_in_arena) { named(g, "s")->offset = 0; }
BREAK(view_elsewhere) { out_of(g, "reshape")->offset += 64; }
BREAK(bytes) { out_of(g, "conv")->bytes -= 4; }
/* relu_grad may not write over its first input. */
BREAK(overlap)
{
	struct node *n = find(g, "relu_grad");
	graph_t(g, n->out[0])->offset = graph_t(g, n->in[0])->offset;
}

static const struct {
	const char *rule;
	void (*break_it)(struct graph *g);
} planned[] = {
	{ "misaligned", misaligned },
	{ "outside the arena", outside },
	{ "stored in the wrong place", in_no_arena },
	{ "stored in the wrong place", state_in_arena },
	{ "stored in the wrong place", view_elsewhere },
	{ "not those of its layout", bytes },
	{ "overlaps the living", overlap },
};

static void test_planned(void **state)
{
	for (size_t i = 0; i < sizeof planned / sizeof *planned; i++) {
		struct graph *g = good(STAGE_PLANNED);
		planned[i].break_it(g);
		expect(g, STAGE_PLANNED, planned[i].rule);
		assert_int_equal(graph_verify(g, STAGE_LAID_OUT), 0);
		graph_free(g);
	}
}

/* An absent optional input, an output not requested, and a dead tensor are fine. */
static void test_allowed(void **state)
{
	struct graph *g = graph_new();
	tid x = toy_input(g, "x", "4"), w = toy_param(g, "w", "4"), out[2];
	assert_int_equal(graph_emit(g, "many", NULL, 2, (tid[]){ x, w }, 2, out), 0);
	g->cur_phase = PHASE_UPDATE;
	assert_int_equal(graph_emit(g, "sgd", NULL, 3, (tid[]){ w, x, NONE }, 1, out), 0);
	graph_tensor_new(g, ROLE_ACTIVATION, DTYPE_F32, &graph_t(g, x)->shape, "dead");
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	/* a second version of a state may be replaced again */
	EMIT(g, "sgd", out[0], x);
	assert_int_equal(graph_verify(g, STAGE_BUILT), 0);
	graph_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_built),
		cmocka_unit_test(test_laid_out),
		cmocka_unit_test(test_planned),
		cmocka_unit_test(test_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
