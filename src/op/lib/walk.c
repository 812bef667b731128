/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shared parts of element-wise ops. Threads get pieces of a fixed size, large enough to hide
 * the cost of a call and small enough to balance. Tensors of few pieces run on one thread. */
#include "op/lib/walk.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "op/lib/stage.h"

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

/* The result is bf16 if an input is. */
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

/* --- views ---
 *
 * A row of a view has as few channels as a layer of a dense block adds, far too few for a call of
 * the kernel. So views are processed by tiles: their elements are gathered from the rows into a
 * tile that stays in the L1 cache, or scattered from it, and the kernel sees a flat array. */

#define TILE 2048             /* elements; a multiple of the alignment that ranges need */
#define MAX_TENSORS 8

struct views {
	int n;                    /* inputs, then outputs */
	int64_t stride[MAX_TENSORS];  /* bytes from row to row of a view; 0: contiguous */
	int64_t size[MAX_TENSORS];    /* bytes of an element */
	int64_t elements, row;    /* of out[0]: elements, and elements of a row */
};

static tid tensor_at(const struct node *n, int i)
{
	return i < n->nin ? n->in[i] : n->out[i - n->nin];
}

int walk_plan(struct kplan *k)
{
	const struct node *n = k->n;
	const struct shape *s = node_out_shape(k->g, n, 0);
	struct views w = { .n = n->nin + n->nout, .elements = shape_count(s) };
	bool any = false;
	k->state = NULL;
	BUG_IF(w.n > MAX_TENSORS, "'%s' walks %d tensors", n->op->name, w.n);
	for (int i = 0; i < w.n; i++) {
		tid t = tensor_at(n, i);
		if (t == NONE || !view_is_strided(graph_t(k->g, t)))
			continue;
		w.size[i] = (int64_t)dtype_size(graph_t(k->g, t)->dtype);
		w.stride[i] = graph_t(k->g, graph_t(k->g, t)->view)->shape.d[1] * w.size[i];
		w.row = s->d[1];
		any = true;
	}
	if (any)
		k->state = arena_copy(k->arena, &w, sizeof w);
	return 0;
}

/* Gathers elements [lo, hi) of a view from its rows into a tile, or scatters them back. */
static void move(const struct views *w, int i, char *rows, char *tile, int64_t lo, int64_t hi,
                 bool back)
{
	const int64_t size = w->size[i];
	int64_t row = lo / w->row, col = lo % w->row;
	for (char *at = rows + row * w->stride[i]; lo < hi; at += w->stride[i], col = 0) {
		int64_t n = w->row - col < hi - lo ? w->row - col : hi - lo;
		memcpy(back ? at + col * size : tile, back ? tile : at + col * size,
		       (size_t)(n * size));
		tile += n * size;
		lo += n;
	}
}

/* Processes one tile. A range function counts elements from the start of the tensor, so it gets a
 * pointer that many elements before the tile. */
static void tile_run(const struct stage *s, const struct kargs *a, int64_t lo, int64_t hi)
{
	const struct views *w = s->k->state;
	const int nin = s->k->n->nin;
	_Alignas(64) double tile[MAX_TENSORS][TILE];    /* elements may be of any type */
	void *p[MAX_TENSORS];
	for (int i = 0; i < w->n; i++) {
		p[i] = i < nin ? a->in[i] : a->out[i - nin];
		if (!w->stride[i])
			continue;
		if (i < nin)
			move(w, i, p[i], (char *)tile[i], lo, hi, false);
		p[i] = (void *)((uintptr_t)tile[i] - (uintptr_t)(lo * w->size[i]));
	}
	stage_range(s, &(struct kargs){ p, p + nin, a->ws }, lo, hi);
	for (int i = nin; i < w->n; i++)
		if (w->stride[i])
			move(w, i, a->out[i - nin], (char *)tile[i], lo, hi, true);
}

void walk_views(const struct kplan *k, const struct kargs *a, walk_range *range)
{
	const struct views *w = k->state;
	const struct stage stage = stage_of(k, range);
	int64_t tiles;
	if (!w) {
		walk_run(k, a, kplan_out_elements(k, 0), range);
		return;
	}
	tiles = (w->elements + TILE - 1) / TILE;
#pragma omp parallel for schedule(static) if (tiles > SERIAL_PIECES * PIECE / TILE)
	for (int64_t i = 0; i < tiles; i++)
		tile_run(&stage, a, i * TILE, i + 1 < tiles ? (i + 1) * TILE : w->elements);
}

bool walk_takes_slice(const struct kplan *k, bool output, int i)
{
	const struct tensor *t = graph_t(k->g, output ? k->n->out[i] : k->n->in[i]);
	return shape_equal(&t->shape, node_out_shape(k->g, k->n, 0)) &&
	       (view_is_strided(t) || layout_is_native(&t->layout, &t->shape));
}
