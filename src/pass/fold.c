/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Algebraic simplification of what gradient rules and builders emit: each row of the table names an
 * op and its rule. The nodes are visited once, in order; the inputs of a node are replaced first,
 * so that chains fold in one traversal. A rule either names a tensor that equals the node's output,
 * or changes the node to read an earlier tensor. Nodes that then have no reader are left to
 * dead-code elimination.
 *
 * Two things are not folded on purpose: arithmetic on whole constant tensors (there are only class
 * weights and scalars), and anything that would keep a state's old value alive: a copy of a param
 * or state may be read after the update, the original may not. */
#include "op/lib/elementwise.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

struct fold {
	struct graph *g;
	int rc;
	int ntensor;                 /* before folding */
	tid *same;                   /* by tensor: an equal one, or NONE */
	int *count;                  /* by tensor: upper bound of its readers: those before folding
	                              * (dead ones too), plus those that folding has redirected to it */
};

/* Whether all elements of t are the same known number; if so, it is stored in *v. */
static bool has_number(const struct graph *g, tid t, double *v)
{
	const struct tensor *x = g->tensor[t];
	const struct node *n = rewrite_producer(g, t);
	while (rewrite_is(n, "broadcast") || rewrite_is(n, "reshape")) {
		x = g->tensor[n->in[0]];
		n = rewrite_producer(g, x->id);
	}
	if (rewrite_is(n, "fill")) {
		*v = ((const struct fill_attr *)n->attr)->value;
		return true;
	}
	if (x->role != ROLE_CONSTANT || shape_count(&x->shape) != 1)
		return false;
	*v = tensor_number(x);
	return true;
}

static bool is_filled(const struct graph *g, tid t, double v)
{
	double number;
	return has_number(g, t, &number) && number == v;
}

/* Whether t may be read at a later position: whether its memory is not overwritten within a
 * step. */
static bool is_stable(const struct graph *g, tid t)
{
	enum role r = g->tensor[graph_root(g, t)]->role;
	return r != ROLE_PARAM && r != ROLE_STATE;
}

/* Returns in[i] as the output, if it has its shape and type. */
static tid stands_for(const struct fold *f, const struct node *n, int i)
{
	const struct tensor *in = f->g->tensor[n->in[i]], *out = f->g->tensor[n->out[0]];
	return in->dtype == out->dtype && shape_equal(&in->shape, &out->shape) ? in->id : NONE;
}

/* x + 0 and 0 + x: a sum of gradients of which one is zero. */
static tid fold_add(struct fold *f, struct node *n)
{
	for (int i = 0; i < 2; i++)
		if (is_filled(f->g, n->in[i], 0) && is_stable(f->g, n->in[1 - i]))
			return stands_for(f, n, 1 - i);
	return NONE;
}

/* x - 0 and x / 1. */
static tid fold_subtract(struct fold *f, struct node *n)
{
	return is_filled(f->g, n->in[1], 0) && is_stable(f->g, n->in[0]) ? stands_for(f, n, 0)
	                                                                 : NONE;
}

static tid fold_divide(struct fold *f, struct node *n)
{
	return is_filled(f->g, n->in[1], 1) && is_stable(f->g, n->in[0]) ? stands_for(f, n, 0)
	                                                                 : NONE;
}

/* x times a scalar that is 1: a loss gradient times the seed. */
static tid fold_scale_by(struct fold *f, struct node *n)
{
	return is_filled(f->g, n->in[1], 1) && is_stable(f->g, n->in[0]) ? stands_for(f, n, 0)
	                                                                 : NONE;
}

/* Finds the tensor c x without a new node, if x is a product without other readers and one of its
 * factors is a scale: the factor of that scale is multiplied by c. The derivatives of x^2, which
 * occur in all derivatives of tanh, have scales around products. */
static tid fold_scaled_product(struct fold *f, tid x, double c)
{
	const struct node *product = rewrite_made_by(f->g, x, "multiply");
	if (!product || f->count[x] != 1 || f->g->tensor[x]->output)
		return NONE;
	for (int i = 0; i < 2; i++) {
		const struct node *n = rewrite_made_by(f->g, product->in[i], "scale");
		struct scale_attr *at = n ? n->attr : NULL;
		if (!n || at->shift != 0 || f->count[n->out[0]] != 1 || f->g->tensor[n->out[0]]->output)
			continue;
		at->factor *= c;
		return x;
	}
	return NONE;
}

/* A scale by 1 without shift; of a constant scalar; or of another scale without another reader
 * (means, weight decay and loss factors give chains of scales). */
static tid fold_scale(struct fold *f, struct node *n)
{
	struct scale_attr *at = n->attr;
	const struct tensor *x = f->g->tensor[n->in[0]];
	const struct node *inner = rewrite_made_by(f->g, n->in[0], "scale");
	if (x->role == ROLE_CONSTANT && x->shape.nd == 0 && x->dtype == DTYPE_F32)
		return graph_scalar(f->g, at->factor * tensor_number(x) + at->shift);
	if (inner && f->count[n->in[0]] == 1 && !x->output &&
	    is_stable(f->g, inner->in[0])) {
		const struct scale_attr *first = inner->attr;
		at->shift += at->factor * first->shift;
		at->factor *= first->factor;
		n->in[0] = inner->in[0];
	}
	if (at->factor == 1 && at->shift == 0)
		return is_stable(f->g, n->in[0]) ? stands_for(f, n, 0) : NONE;
	return at->shift == 0 ? fold_scaled_product(f, n->in[0], at->factor) : NONE;
}

/* Whether n, a product with in[i], is a scale now. */
static bool becomes_scale(struct fold *f, struct node *n, int i)
{
	const tid x = n->in[1 - i];
	double number;
	if (!has_number(f->g, n->in[i], &number))
		return false;
	f->rc = rewrite_become(f->g, n, "scale", 1, &x);
	if (f->rc == 0)
		((struct scale_attr *)n->attr)->factor = number;
	return f->rc == 0;
}

/* x * 1 and 1 * x: the gradient of a sum times the seed. x times a number that a mean's gradient
 * has repeated is a scale of x. */
static tid fold_multiply(struct fold *f, struct node *n)
{
	for (int i = 0; i < 2; i++)
		if (is_filled(f->g, n->in[i], 1) && is_stable(f->g, n->in[1 - i]))
			return stands_for(f, n, 1 - i);
	for (int i = 0; i < 2; i++)
		if (becomes_scale(f, n, i))
			return fold_scale(f, n);
	return NONE;
}

/* A reshape to the same shape, or of a reshape: both are views, so looking through one is always
 * possible. */
static tid fold_reshape(struct fold *f, struct node *n)
{
	const struct node *inner = rewrite_made_by(f->g, n->in[0], "reshape");
	if (inner)
		n->in[0] = inner->in[0];
	return stands_for(f, n, 0);
}

/* A broadcast, slice or cast that changes nothing. */
static tid fold_unchanged(struct fold *f, struct node *n)
{
	return is_stable(f->g, n->in[0]) ? stands_for(f, n, 0) : NONE;
}

static bool is_identity(const struct ints *perm)
{
	for (int i = 0; i < perm->n; i++)
		if (perm->v[i] != i)
			return false;
	return true;
}

/* Two transposes become one; one that moves no axis is removed. The gradient of a transpose is a
 * transpose. */
static tid fold_transpose(struct fold *f, struct node *n)
{
	struct ints *perm = &((struct transpose_attr *)n->attr)->perm;
	const struct node *inner = rewrite_made_by(f->g, n->in[0], "transpose");
	if (inner && is_stable(f->g, inner->in[0])) {
		const struct ints *first = &((const struct transpose_attr *)inner->attr)->perm;
		int64_t *joined = ARENA_ARRAY(f->g->arena, int64_t, perm->n);
		for (int i = 0; i < perm->n; i++)
			joined[i] = first->v[perm->v[i]];
		perm->v = joined;
		n->in[0] = inner->in[0];
	}
	return is_identity(perm) && is_stable(f->g, n->in[0]) ? stands_for(f, n, 0) : NONE;
}

static const struct {
	const char *op;
	tid (*fold)(struct fold *f, struct node *n);
} rules[] = {
	{ "add", fold_add },
	{ "subtract", fold_subtract },
	{ "multiply", fold_multiply },
	{ "divide", fold_divide },
	{ "scale", fold_scale },
	{ "scale_by", fold_scale_by },
	{ "reshape", fold_reshape },
	{ "transpose", fold_transpose },
	{ "broadcast", fold_unchanged },
	{ "slice", fold_unchanged },
	{ "cast", fold_unchanged },
};

static tid apply(struct fold *f, struct node *n)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rewrite_is(n, rules[i].op))
			return rules[i].fold(f, n);
	return NONE;
}

/* Folds node n. Outputs the host reads keep their tensor. */
static void fold_node(struct fold *f, struct node *n)
{
	struct graph *g = f->g;
	struct tensor *out;
	tid same, from;
	rewrite_operands(g, n, f->same, f->ntensor);
	if (n->nout != 1 || n->out[0] == NONE)
		return;
	out = g->tensor[n->out[0]];
	from = n->nin ? n->in[0] : NONE;
	same = apply(f, n);
	if (n->nin && n->in[0] != from)
		f->count[n->in[0]]++;
	if (n->op->flags & OP_VIEW)
		out->alias = n->in[0];
	if (same == NONE || out->output)
		return;
	f->same[out->id] = same;
	if (same < f->ntensor)
		f->count[same] += f->count[out->id];
	if (g->tensor[same]->grad_of == NONE && g->tensor[same]->role == ROLE_ACTIVATION)
		g->tensor[same]->grad_of = out->grad_of;
}

int pass_fold(struct graph *g, struct pass_env *env)
{
	struct arena *scratch = arena_new();
	const struct readers readers = rewrite_readers(g, scratch);
	struct fold f = { .g = g, .ntensor = g->ntensor };
	f.same = ARENA_ARRAY(scratch, tid, g->ntensor + 1);
	f.count = ARENA_ARRAY(scratch, int, g->ntensor + 1);
	for (int t = 0; t < f.ntensor; t++) {
		f.same[t] = NONE;
		f.count[t] = readers_count(&readers, t);
	}
	for (int i = 0; f.rc == 0 && i < g->nnode; i++)
		fold_node(&f, g->node[i]);
	arena_free(scratch);
	return f.rc;
}
