/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A dozen small ops for tests of the graph folder, with the registry that finds them (a program
 * that includes this does not link op/table.o). Kernels never run here: only shapes, gradients,
 * layouts and flags matter. */
#ifndef DLX_TEST_TOY_OPS_H
#define DLX_TEST_TOY_OPS_H

#include "cases.h"
#include "base/err.h"
#include "graph/op.h"
#include "op/lib/elementwise.h"

static int toy_run(const struct kplan *k, const struct kargs *a)
{
	return 0;
}
#define TOY_KERNELS(kl) .kernel = { [BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = toy_run }, \
                                    [BACKEND_CPU] = { .layouts = (kl), .run = toy_run } }

static int toy_same(struct graph *g, struct node *n)
{
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	for (int i = 1; i < n->nin; i++)
		if (!shape_equal(node_in_shape(g, n, i), node_in_shape(g, n, 0)))
			return ERR(E_SHAPE, NULL, "inputs of shapes %s and %s",
			           shape_text(node_in_shape(g, n, 0), a),
			           shape_text(node_in_shape(g, n, i), b));
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, node_in_shape(g, n, 0));
}

static int toy_scalar(struct graph *g, struct node *n)
{
	struct shape s = { 0 };
	return graph_out(g, n, 0, DTYPE_F32, &s);
}

/* --- add, multiply, relu --- */

static int add_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	dx[0] = dx[1] = dy[0];
	return 0;
}
static const struct op toy_add = {
	.name = "add", .min_in = 2, .max_in = 2, .nout = 1, .inplace = 3, .shape = toy_same,
	.grad = add_grad, TOY_KERNELS(KL_SAME)
};

static int multiply_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	for (int i = 0; i < 2; i++)
		if (graph_t(g, n->in[i])->requires_grad)
			TRY(graph_emit1(g, "multiply", NULL, 2, (tid[]){ dy[0], n->in[1 - i] },
			                &dx[i]));
	return 0;
}
static const struct op toy_multiply = {
	.name = "multiply", .min_in = 2, .max_in = 2, .nout = 1, .inplace = 3, .shape = toy_same,
	.grad = multiply_grad, TOY_KERNELS(KL_SAME)
};

static const struct op toy_relu_grad = {
	.name = "relu_grad", .flags = OP_ONCE, .min_in = 2, .max_in = 2, .nout = 1, .inplace = 2,
	.shape = toy_same, TOY_KERNELS(KL_SAME)
};
static int relu_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return graph_emit1(g, "relu_grad", NULL, 2, (tid[]){ n->out[0], dy[0] }, &dx[0]);
}
static const struct op toy_relu = {
	.name = "relu", .min_in = 1, .max_in = 1, .nout = 1, .inplace = 1, .shape = toy_same,
	.grad = relu_grad, TOY_KERNELS(KL_SAME)
};

/* Without a gradient rule, and without a gradient. */
static const struct op toy_hard = {
	.name = "hard", .min_in = 1, .max_in = 1, .nout = 1, .shape = toy_same,
	TOY_KERNELS(KL_SAME)
};
static const struct op toy_metric = {
	.name = "metric", .flags = OP_NOGRAD, .min_in = 1, .max_in = 1, .nout = 1,
	.shape = toy_scalar, TOY_KERNELS(KL_PLAIN)
};

/* --- any: one output like in[0] from 1 .. 4 inputs of any shapes, row-major; any_native:
 * channels-last --- */

static int any_shape(struct graph *g, struct node *n)
{
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, node_in_shape(g, n, 0));
}
static const struct op toy_any = {
	.name = "any", .flags = OP_ASIDE, .min_in = 1, .max_in = 4, .nout = 1, .shape = any_shape,
	TOY_KERNELS(KL_PLAIN)
};
static const struct op toy_any_inplace = {
	.name = "any_inplace", .min_in = 1, .max_in = 4, .nout = 1, .inplace = 1,
	.shape = any_shape, TOY_KERNELS(KL_PLAIN)
};
static const struct op toy_any_native = {
	.name = "any_native", .min_in = 1, .max_in = 4, .nout = 1, .shape = any_shape,
	TOY_KERNELS(KL_NATIVE)
};
static const struct op toy_keep = {
	.name = "keep", .flags = OP_NODCE, .min_in = 1, .max_in = 1, .nout = 1, .shape = toy_same,
	TOY_KERNELS(KL_PLAIN)
};
static const struct op toy_no_kernel = {
	.name = "no_kernel", .min_in = 1, .max_in = 1, .nout = 1, .shape = toy_same
};

/* --- sum: scalar; its gradient is a scalar spread out --- */

static int spread_shape(struct graph *g, struct node *n)
{
	return graph_out(g, n, 0, DTYPE_F32, node_in_shape(g, n, 1));
}
/* (scalar, like) */
static const struct op toy_spread = {
	.name = "spread", .min_in = 2, .max_in = 2, .nout = 1, .nondiff = 2,
	.shape = spread_shape, TOY_KERNELS(KL_SAME)
};
static int sum_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	return graph_emit1(g, "spread", NULL, 2, (tid[]){ dy[0], n->in[0] }, &dx[0]);
}
static const struct op toy_sum = {
	.name = "sum", .min_in = 1, .max_in = 1, .nout = 1, .shape = toy_scalar, .grad = sum_grad,
	TOY_KERNELS(KL_SAME)
};

/* --- two: x -> two outputs like x; its rule takes absent gradients --- */

static int two_shape(struct graph *g, struct node *n)
{
	TRY(graph_out(g, n, 0, DTYPE_F32, node_in_shape(g, n, 0)));
	return graph_out(g, n, 1, DTYPE_F32, node_in_shape(g, n, 0));
}
static int two_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[0] != NONE && dy[1] != NONE)
		return graph_emit1(g, "multiply", NULL, 2, dy, &dx[0]);
	dx[0] = dy[0] != NONE ? dy[0] : dy[1];
	return 0;
}
static const struct op toy_two = {
	.name = "two", .min_in = 1, .max_in = 1, .nout = 2, .diff_out = 2, .shape = two_shape,
	.grad = two_grad, TOY_KERNELS(KL_SAME)
};
/* The same, but output 1 is only saved for backward. */
static const struct op toy_saved = {
	.name = "saved", .min_in = 1, .max_in = 1, .nout = 2, .shape = two_shape,
	.grad = two_grad, TOY_KERNELS(KL_SAME)
};
/* As many outputs as inputs; optional first output left out. */
static int many_shape(struct graph *g, struct node *n)
{
	for (int i = 1; i < n->nin; i++)
		TRY(graph_out(g, n, i, DTYPE_F32, node_in_shape(g, n, i)));
	return 0;
}
static const struct op toy_many = {
	.name = "many", .min_in = 1, .max_in = 8, .nout = -1, .shape = many_shape,
	TOY_KERNELS(KL_PLAIN)
};

/* --- with attributes --- */

static const struct field toy_scale_fields[] = {
	FIELD_FLOAT(struct scale_attr, factor, "1", -1e30, 1e30, "factor"),
	FIELD_FLOAT(struct scale_attr, shift, "0", -1e30, 1e30, "shift"),
	FIELD_END
};
static int scale_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct scale_attr *a = n->attr;
	return graph_emit1(g, "scale", &(struct scale_attr){ a->factor, 0 }, 1, dy, &dx[0]);
}
static const struct op toy_scale_op = {
	.name = "scale", .min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct scale_attr), .attrs = toy_scale_fields, .inplace = 1,
	.shape = toy_same, .grad = scale_grad, TOY_KERNELS(KL_SAME)
};

static const struct field toy_fill_fields[] = {
	FIELD_FLOAT(struct fill_attr, value, "0", -1e30, 1e30, "value"),
	FIELD_INTS(struct fill_attr, shape, "", 1, 1 << 30, "shape"),
	FIELD_END
};
static int fill_shape(struct graph *g, struct node *n)
{
	const struct fill_attr *a = n->attr;
	struct shape s = shape_of(a->shape.n, a->shape.v);
	return graph_out(g, n, 0, DTYPE_F32, &s);
}
static const struct op toy_fill_op = {
	.name = "fill", .nout = 1, .attr_size = sizeof(struct fill_attr), .attrs = toy_fill_fields,
	.shape = fill_shape, TOY_KERNELS(KL_SAME)
};

static const struct field toy_reshape_fields[] = {
	FIELD_INTS(struct shape_attr, shape, "", 1, 1 << 30, "shape"),
	FIELD_END
};
static int reshape_shape(struct graph *g, struct node *n)
{
	const struct shape_attr *a = n->attr;
	struct shape s = shape_of(a->shape.n, a->shape.v);
	if (shape_count(&s) != shape_count(node_in_shape(g, n, 0)))
		return ERR(E_SHAPE, &g->cur_loc, "another number of elements");
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &s);
}
static const struct op toy_reshape = {
	.name = "reshape", .flags = OP_VIEW, .min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct shape_attr), .attrs = toy_reshape_fields, .shape = reshape_shape
};
static int broadcast_shape(struct graph *g, struct node *n)
{
	const struct shape_attr *a = n->attr;
	struct shape s = shape_of(a->shape.n, a->shape.v);
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &s);
}
static const struct op toy_broadcast = {
	.name = "broadcast", .min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct shape_attr), .attrs = toy_reshape_fields,
	.shape = broadcast_shape, TOY_KERNELS(KL_PLAIN)
};

static const struct field toy_transpose_fields[] = {
	FIELD_INTS(struct transpose_attr, perm, "", 0, MAXD - 1, "axes"),
	FIELD_END
};
static int transpose_shape(struct graph *g, struct node *n)
{
	const struct transpose_attr *a = n->attr;
	struct shape s = *node_in_shape(g, n, 0);
	for (int i = 0; i < s.nd; i++)
		s.d[i] = node_in_shape(g, n, 0)->d[a->perm.v[i]];
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &s);
}
static const struct op toy_transpose = {
	.name = "transpose", .min_in = 1, .max_in = 1, .nout = 1,
	.attr_size = sizeof(struct transpose_attr), .attrs = toy_transpose_fields,
	.shape = transpose_shape, TOY_KERNELS(KL_PLAIN)
};

/* --- updates --- */

static int update_shape(struct graph *g, struct node *n)
{
	return graph_out_alias(g, n, 0, 0);
}
/* (w@, g) -> w' */
static const struct op toy_sgd = {
	.name = "sgd", .flags = OP_UPDATE | OP_ASIDE, .min_in = 2, .max_in = 3, .nout = 1,
	.shape = update_shape, TOY_KERNELS(KL_SAME)
};
/* (acc@, g) -> acc' */
static const struct op toy_accumulate = {
	.name = "accumulate", .flags = OP_UPDATE, .min_in = 2, .max_in = 2, .nout = 1,
	.shape = update_shape, TOY_KERNELS(KL_SAME)
};
/* (w@) -> w', row-major only */
static const struct op toy_plain_update = {
	.name = "plain_update", .flags = OP_UPDATE, .min_in = 1, .max_in = 1, .nout = 1,
	.shape = update_shape, TOY_KERNELS(KL_PLAIN)
};

/* Wrong on purpose: two new versions of one state. */
static int double_update_shape(struct graph *g, struct node *n)
{
	TRY(graph_out_alias(g, n, 0, 0));
	return graph_out_alias(g, n, 1, 0);
}
static const struct op toy_double_update = {
	.name = "double_update", .flags = OP_UPDATE, .min_in = 1, .max_in = 1, .nout = 2,
	.shape = double_update_shape, TOY_KERNELS(KL_PLAIN)
};

/* --- conv: (x, w) -> y like x, native; w in blocks of 4 of axis 0. conv_grad_w: (x, dy, w's shape
 * from in[2]) -> dw --- */

static struct layout toy_blocked(const struct shape *s)
{
	struct layout l = layout_plain(s);
	l.nblk = 1;
	l.blk[0] = 4;
	l.blk_dim[0] = 0;
	for (int d = 0; d < s->nd; d++)
		l.stride[d] *= 4;
	return l;
}
static int toy_choices;          /* calls of choose */
static int conv_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	toy_choices++;
	in[0] = layout_native(node_in_shape(k->g, k->n, 0));
	if (!in[1].set)
		in[1] = toy_blocked(node_in_shape(k->g, k->n, 1));
	out[0] = layout_native(node_out_shape(k->g, k->n, 0));
	return arena_alloc(k->arena, 8) ? 0 : -1;
}
static int conv_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (graph_t(g, n->in[0])->requires_grad)
		TRY(graph_emit1(g, "conv", NULL, 2, (tid[]){ dy[0], n->in[1] }, &dx[0]));
	if (graph_t(g, n->in[1])->requires_grad)
		TRY(graph_emit1(g, "conv_grad_w", NULL, 3, (tid[]){ n->in[0], dy[0], n->in[1] },
		                &dx[1]));
	return 0;
}
#define TOY_CHOOSE(f)                                                                              \
	.kernel = { [BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = toy_run },                 \
		    [BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = (f), .run = toy_run } }
static void conv_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops += 2.0 * (double)shape_count(node_out_shape(g, n, 0));
}
static const struct op toy_conv = {
	.name = "conv", .min_in = 2, .max_in = 2, .nout = 1, .shape = any_shape,
	.grad = conv_grad, .cost = conv_cost, TOY_CHOOSE(conv_choose)
};
static int conv_grad_w_shape(struct graph *g, struct node *n)
{
	return graph_out(g, n, 0, DTYPE_F32, node_in_shape(g, n, 2));
}
static int conv_grad_w_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	in[0] = layout_native(node_in_shape(k->g, k->n, 0));
	in[1] = layout_native(node_in_shape(k->g, k->n, 1));
	if (!in[2].set)
		in[2] = layout_plain(node_in_shape(k->g, k->n, 2));
	if (!out[0].set)
		out[0] = layout_plain(node_out_shape(k->g, k->n, 0));
	return 0;
}
static const struct op toy_conv_grad_w = {
	.name = "conv_grad_w", .min_in = 3, .max_in = 3, .nout = 1, .shape = conv_grad_w_shape,
	TOY_CHOOSE(conv_grad_w_choose)
};
/* Its input is channels-last and its output row-major: as many bytes, but the output must not
 * overwrite the input. */
static int flip_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	in[0] = layout_native(node_in_shape(k->g, k->n, 0));
	out[0] = layout_plain(node_out_shape(k->g, k->n, 0));
	return 0;
}
static const struct op toy_flip = {
	.name = "flip", .min_in = 1, .max_in = 1, .nout = 1, .inplace = 1, .shape = toy_same,
	TOY_CHOOSE(flip_choose)
};
static int lazy_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return 0;
}
/* Forgets to choose its output. */
static const struct op toy_lazy = {
	.name = "lazy", .min_in = 1, .max_in = 1, .nout = 1, .shape = toy_same,
	TOY_CHOOSE(lazy_choose)
};
static const struct op toy_reorder = {
	.name = "reorder", .min_in = 1, .max_in = 1, .nout = 1, .shape = toy_same,
	TOY_CHOOSE(lazy_choose)
};

/* --- channels: first_half, a slice; sum_into, (x, addend) -> x + addend, which may be there --- */

static int half_shape(struct graph *g, struct node *n)
{
	struct shape s = *node_in_shape(g, n, 0);
	s.d[1] /= 2;
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &s);
}
static struct op_piece half_piece(const struct graph *g, const struct node *n, int i)
{
	return (struct op_piece){ 1, 0 };
}
#define TOY_SLICES(in, out, into)                                                                  \
	.kernel = { [BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .run = toy_run },                     \
	            [BACKEND_CPU] = { .layouts = KL_NATIVE, .run = toy_run, .slice_in = (in),          \
	                              .slice_out = (out), .sums_into = (into) } }
static const struct op toy_first_half = {
	.name = "first_half", .flags = OP_SLICE, .min_in = 1, .max_in = 1, .nout = 1,
	.shape = half_shape, .piece = half_piece, TOY_SLICES(1, 1, 0)
};
static const struct op toy_sum_into = {
	.name = "sum_into", .min_in = 2, .max_in = 2, .nout = 1, .shape = toy_same,
	TOY_SLICES(3, 1, 2)
};

static const struct op *const toy_ops[] = {
	&toy_add,       &toy_multiply,    &toy_relu,        &toy_relu_grad,    &toy_hard,
	&toy_metric,    &toy_any,         &toy_any_inplace, &toy_any_native,   &toy_keep,
	&toy_no_kernel, &toy_spread,      &toy_sum,         &toy_two,          &toy_saved,
	&toy_many,      &toy_scale_op,    &toy_fill_op,     &toy_reshape,      &toy_broadcast,
	&toy_transpose, &toy_sgd,         &toy_accumulate,  &toy_plain_update, &toy_double_update,
	&toy_conv,      &toy_conv_grad_w, &toy_flip, &toy_lazy,        &toy_reorder,
	&toy_first_half, &toy_sum_into,   NULL
};

const struct op *op_at(int i)
{
	return toy_ops[i];
}

const struct op *op_find(const char *name)
{
	for (int i = 0; toy_ops[i]; i++)
		if (!strcmp(toy_ops[i]->name, name))
			return toy_ops[i];
	return NULL;
}

/* --- short forms; shapes as "4x3" --- */

static inline struct shape toy_dims(const char *text)
{
	struct shape s = { 0 };
	char *end;
	for (; *text; text = *end ? end + 1 : end)
		s.d[s.nd++] = strtoll(text, &end, 10);
	return s;
}
static inline tid toy_input(struct graph *g, const char *name, const char *dims)
{
	struct shape s = toy_dims(dims);
	tid t = NONE;
	assert_int_equal(graph_input(g, name, DTYPE_F32, &s, &t), 0);
	return t;
}
static inline tid toy_param(struct graph *g, const char *name, const char *dims)
{
	struct shape s = toy_dims(dims);
	tid t = NONE;
	assert_int_equal(graph_param(g, name, DTYPE_F32, &s, (struct init){ INIT_NORMAL, 0.1 }, &t),
	                 0);
	return t;
}
static inline tid toy_state(struct graph *g, const char *name, const char *dims)
{
	struct shape s = toy_dims(dims);
	tid t = NONE;
	assert_int_equal(graph_state(g, name, DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 }, &t),
	                 0);
	return t;
}
static inline tid toy_emit(struct graph *g, const char *op, const void *attr, int nin,
                           const tid *in)
{
	tid out = NONE;
	assert_int_equal(graph_emit1(g, op, attr, nin, in, &out), 0);
	return out;
}
#define EMIT(g, op, ...)                                                                           \
	toy_emit((g), (op), NULL, (int)(sizeof((tid[]){ __VA_ARGS__ }) / sizeof(tid)),             \
	         (tid[]){ __VA_ARGS__ })

static inline const struct node *toy_producer(const struct graph *g, tid t)
{
	assert_int_not_equal(graph_t(g, t)->producer, NONE);
	return g->node[graph_t(g, t)->producer];
}
/* Text of the newest error, or "". */
static inline const char *toy_error(void)
{
	return err_count() ? err_get(err_count() - 1)->text : "";
}
static inline int toy_count(const struct graph *g, const char *op)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		n += !strcmp(g->node[i]->op->name, op);
	return n;
}

#endif
