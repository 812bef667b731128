/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The short forms. An op that would have no effect (scale by 1, a sum over no axis, a broadcast or
 * reshape to the same shape, the identity permutation, a slice of everything, a concat of one)
 * emits no node and returns x itself. */
#include "op/lib/emit.h"

#include "op/lib/elementwise.h"

static int emit_binary(struct graph *g, const char *op, tid a, tid b, tid *out)
{
	tid in[2] = { a, b };
	return graph_emit1(g, op, NULL, 2, in, out);
}

int emit_sub(struct graph *g, tid a, tid b, tid *out)
{
	return emit_binary(g, "subtract", a, b, out);
}

int emit_mul(struct graph *g, tid a, tid b, tid *out)
{
	return emit_binary(g, "multiply", a, b, out);
}

int emit_div(struct graph *g, tid a, tid b, tid *out)
{
	return emit_binary(g, "divide", a, b, out);
}

int emit_unary(struct graph *g, const char *op, tid x, tid *out)
{
	return graph_emit1(g, op, NULL, 1, &x, out);
}

int emit_scale(struct graph *g, tid x, double factor, double shift, tid *out)
{
	struct scale_attr at = { .factor = factor, .shift = shift };
	if (factor == 1 && shift == 0) {
		*out = x;
		return 0;
	}
	return graph_emit1(g, "scale", &at, 1, &x, out);
}

int emit_sum(struct graph *g, tid x, unsigned axes, bool keep, tid *out)
{
	struct reduce_attr at = { .keep = keep };
	int64_t list[MAXD];
	int n = 0;
	for (int i = 0; i < graph_t(g, x)->shape.nd; i++)
		if (axes >> i & 1)
			list[n++] = i;
	if (n == 0) {             /* an empty list would mean all axes */
		*out = x;
		return 0;
	}
	at.axes = ints_make(g, n, list);
	return graph_emit1(g, "sum", &at, 1, &x, out);
}

/* Emits an op whose single attribute is the output's shape. */
static int emit_shaped(struct graph *g, const char *op, tid x, const struct shape *s, tid *out)
{
	struct shape_attr at = { ints_make(g, s->nd, s->d) };
	if (shape_equal(&graph_t(g, x)->shape, s)) {
		*out = x;
		return 0;
	}
	return graph_emit1(g, op, &at, 1, &x, out);
}

int emit_broadcast(struct graph *g, tid x, const struct shape *s, tid *out)
{
	return emit_shaped(g, "broadcast", x, s, out);
}

int emit_reshape(struct graph *g, tid x, const struct shape *s, tid *out)
{
	return emit_shaped(g, "reshape", x, s, out);
}

int emit_transpose(struct graph *g, tid x, const int *perm, tid *out)
{
	struct transpose_attr at;
	int64_t list[MAXD];
	int nd = graph_t(g, x)->shape.nd, fixed = 0;
	for (int i = 0; i < nd; i++) {
		list[i] = perm[i];
		fixed += perm[i] == i;
	}
	if (fixed == nd) {
		*out = x;
		return 0;
	}
	at.perm = ints_make(g, nd, list);
	return graph_emit1(g, "transpose", &at, 1, &x, out);
}

int emit_slice(struct graph *g, tid x, const struct slice *range, tid *out)
{
	if (range->begin == 0 && range->size == graph_t(g, x)->shape.d[range->axis]) {
		*out = x;
		return 0;
	}
	return graph_emit1(g, "slice", range, 1, &x, out);
}

int emit_concat(struct graph *g, int64_t axis, int n, const tid *in, tid *out)
{
	if (n == 1) {
		*out = in[0];
		return 0;
	}
	return graph_emit1(g, "concat", &(struct concat){ axis }, n, in, out);
}

int emit_fill(struct graph *g, double value, const struct shape *s, tid *out)
{
	struct fill_attr at = { .value = value, .shape = ints_make(g, s->nd, s->d) };
	return graph_emit1(g, "fill", &at, 0, NULL, out);
}

struct ints ints_make(struct graph *g, int n, const int64_t *v)
{
	struct ints list = { .n = n };
	if (n > 0)
		list.v = arena_copy(g->arena, v, (size_t)n * sizeof *v);
	return list;
}
