/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that shape rules share, so that one mistake has one wording. */
#include "op/lib/check.h"

#include "base/err.h"

const char *check_layer(const struct node *n)
{
	return n->name ? n->name : n->op->name;
}

int check_dtype(struct graph *g, const struct node *n, int i, enum dtype t)
{
	enum dtype have = graph_t(g, n->in[i])->dtype;
	if (have == t)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "layer '%s': '%s' takes %s as input %d, got %s",
	           check_layer(n), n->op->name, dtype_name(t), i, dtype_name(have));
}

int check_float(struct graph *g, const struct node *n, int i)
{
	return dtype_is_16bit(graph_t(g, n->in[i])->dtype) ? 0 : check_dtype(g, n, i, DTYPE_F32);
}

int check_one_type(const struct graph *g, const struct node *n)
{
	const enum dtype t = graph_t(g, n->in[0])->dtype;
	for (int i = 0; i < n->nin; i++) {
		const struct tensor *in = n->in[i] == NONE ? NULL : graph_t(g, n->in[i]);
		if (in && (in->dtype != t || !dtype_is_float(t)))
			return ERR(E_SHAPE, &g->cur_loc,
				   "'%s' takes floats of one type, not %s and %s", n->op->name,
				   dtype_name(t), dtype_name(in->dtype));
	}
	return 0;
}

int check_rank(struct graph *g, const struct node *n, int i, int lo, int hi)
{
	const struct shape *s = node_in_shape(g, n, i);
	char text[SHAPE_TEXT];
	if (s->nd >= lo && s->nd <= hi)
		return 0;
	if (lo == hi)
		return ERR(E_SHAPE, &g->cur_loc, "layer '%s': '%s' takes %d axes, got %s",
		           check_layer(n), n->op->name, lo, shape_text(s, text));
	return ERR(E_SHAPE, &g->cur_loc, "layer '%s': '%s' takes %d to %d axes, got %s",
	           check_layer(n), n->op->name, lo, hi, shape_text(s, text));
}

int check_shape(struct graph *g, const struct node *n, int i, const struct shape *want)
{
	const struct shape *s = node_in_shape(g, n, i);
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	if (shape_equal(s, want))
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "layer '%s': input %d of '%s' is %s, expected %s",
	           check_layer(n), i, n->op->name, shape_text(s, a), shape_text(want, b));
}

int check_equal(struct graph *g, const struct node *n, int i, int j)
{
	const struct shape *s = node_in_shape(g, n, i), *t = node_in_shape(g, n, j);
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	if (shape_equal(s, t))
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "layer '%s': '%s' takes equal shapes, got %s and %s",
	           check_layer(n), n->op->name, shape_text(s, a), shape_text(t, b));
}

int check_vector(struct graph *g, const struct node *n, int i, int64_t length)
{
	struct shape want = shape_of(1, &length);
	return check_shape(g, n, i, &want);
}

int check_axis(struct graph *g, const struct node *n, int64_t axis, int nd)
{
	if (axis >= 0 && axis < nd)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc,
	           "layer '%s': '%s' has axis %lld, but its input has %d axes", check_layer(n),
	           n->op->name, (long long)axis, nd);
}
