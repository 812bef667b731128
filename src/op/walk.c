/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared parts of element-wise ops. The walk hands out pieces of a fixed size, big enough to
 * hide the cost of a call and small enough to balance; tensors of few pieces are not worth waking
 * threads for. */
#include "op/walk.h"

#include "base/err.h"
#include "op/stage.h"

#define PIECE 8192            /* elements: 32 KiB of float32 */
#define SERIAL_PIECES 4

bool node_has(const struct node *n, int i)
{
	return i < n->nin && n->in[i] != NONE;
}

int node_want_float(const struct graph *g, const struct node *n, int i, const char *what)
{
	enum dtype t = graph_t(g, n->in[i])->dtype;

	if (t == DTYPE_F32 || t == DTYPE_BF16)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "'%s' works on f32, but its %s is %s", n->op->name, what,
	           dtype_name(t));
}

int node_want_scalar(const struct graph *g, const struct node *n, int i, const char *what)
{
	const struct shape *s = node_in_shape(g, n, i);
	char text[SHAPE_TEXT];

	if (s->nd == 0)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "the %s of '%s' must be a scalar, but has shape %s", what,
	           n->op->name, shape_text(s, text));
}

int node_want_like(const struct graph *g, const struct node *n, int i, int like, const char *what)
{
	const struct shape *s = node_in_shape(g, n, i), *t = node_in_shape(g, n, like);
	char a[SHAPE_TEXT], b[SHAPE_TEXT];

	if (shape_equal(s, t))
		return 0;
	return ERR(E_SHAPE, &g->cur_loc, "the %s of '%s' has shape %s, but must have shape %s", what,
	           n->op->name, shape_text(s, a), shape_text(t, b));
}

/* bf16 among the inputs: then the result is so, too. */
static enum dtype result_type(const struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (graph_t(g, n->in[i])->dtype == DTYPE_BF16)
			return DTYPE_BF16;
	return DTYPE_F32;
}

int walk_shape(struct graph *g, struct node *n)
{
	for (int i = 0; i < n->nin; i++) {
		const struct shape *s = node_in_shape(g, n, i), *first = node_in_shape(g, n, 0);
		char a[SHAPE_TEXT], b[SHAPE_TEXT];
		TRY(node_want_float(g, n, i, "input"));
		if (!shape_equal(s, first))
			return ERR(E_SHAPE, &g->cur_loc, "'%s' needs inputs of one shape, but has %s and %s",
			           n->op->name, shape_text(first, a), shape_text(s, b));
	}
	return graph_out(g, n, 0, result_type(g, n), node_in_shape(g, n, 0));
}

bool grad_wanted(const struct graph *g, const struct node *n, int i)
{
	return node_has(n, i) && graph_t(g, n->in[i])->requires_grad;
}

void walk_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops += (double)shape_count(node_out_shape(g, n, 0));
}

static int choose(struct kplan *k, struct layout *in, struct layout *out, bool padding)
{
	const struct node *n = k->n;
	const struct shape *s = node_out_shape(k->g, n, 0);
	struct layout l = layout_native(s);
	bool found = out[0].set && (padding || layout_is_dense(&out[0]));

	if (found)
		l = out[0];
	for (int i = 0; i < n->nin; i++) {
		if (!node_has(n, i))
			continue;
		if (!shape_equal(node_in_shape(k->g, n, i), s)) {
			in[i] = layout_plain(node_in_shape(k->g, n, i));
		} else if (!found && in[i].set && (padding || layout_is_dense(&in[i]))) {
			l = in[i];
			found = true;
		}
	}
	for (int i = 0; i < n->nin; i++)
		if (node_has(n, i) && shape_equal(node_in_shape(k->g, n, i), s))
			in[i] = l;
	out[0] = l;
	return 0;
}

int walk_choose_dense(struct kplan *k, struct layout *in, struct layout *out)
{
	return choose(k, in, out, false);
}

int walk_choose_any(struct kplan *k, struct layout *in, struct layout *out)
{
	return choose(k, in, out, true);
}

void walk_run(const struct kplan *k, const struct kargs *a, int64_t n, walk_range *range)
{
	const struct stage stage = stage_of(k, range);
	int64_t pieces = (n + PIECE - 1) / PIECE;

	if (pieces <= SERIAL_PIECES) {
		stage_range(&stage, a, 0, n);
		return;
	}
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < pieces; i++)
		stage_range(&stage, a, i * PIECE, i + 1 < pieces ? (i + 1) * PIECE : n);
}
