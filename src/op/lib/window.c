/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The windows of pooling: attributes, sizes, and which inputs a window covers. */
#include "op/lib/window.h"

#include <string.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/emit.h"
#include "op/lib/reads.h"
#include "op/lib/row.h"

static int window_axis(const struct loc *loc, const struct node *n, struct window *w, int a)
{
	int64_t padded = w->in.d[a] + w->lo[a] + w->hi[a];
	if (w->lo[a] >= w->k[a] || w->hi[a] >= w->k[a])
		return ERR(E_CONFIG, loc,
		           "layer '%s': padding %lld of '%s' is not less than the kernel %lld",
		           check_layer(n), (long long)(w->lo[a] > w->hi[a] ? w->lo[a] : w->hi[a]),
		           n->op->name, (long long)w->k[a]);
	if (w->k[a] > padded)
		return ERR(E_SHAPE, loc,
		           "layer '%s': kernel %lld of '%s' exceeds the input's size %lld (%lld "
		           "with padding); it takes a smaller kernel, or fewer pools and strides before it",
		           check_layer(n), (long long)w->k[a], n->op->name, (long long)w->in.d[a],
		           (long long)padded);
	w->out.d[a] = (padded - w->k[a]) / w->s[a] + 1;
	return 0;
}

/* Sets the windows of node n, whose attributes are a struct pool, over the input `in`. Errors are
 * reported at loc. */
static int init(struct window *w, const struct loc *loc, const struct node *n,
                const struct grid *in)
{
	const struct pool *at = n->attr;
	*w = (struct window){ .in = *in, .out = *in, .count_padding = at->count_padding };
	TRY(grid_ints(loc, n, "kernel", &at->kernel, in->axes, 1, w->k));
	TRY(grid_ints(loc, n, "stride", &at->stride, in->axes, 1, w->s));
	TRY(grid_ints(loc, n, "pad_lo", &at->pad_lo, in->axes, 0, w->lo));
	TRY(grid_ints(loc, n, "pad_hi", &at->pad_hi, in->axes, 0, w->hi));
	if (at->stride.n == 0)
		memcpy(w->s, w->k, sizeof w->s);
	for (int a = 0; a < 3; a++)
		TRY(window_axis(loc, n, w, a));
	if (window_volume(w) > INT32_MAX)
		return ERR(E_CONFIG, loc, "layer '%s': the window of '%s' has more than %d places",
		           check_layer(n), n->op->name, INT32_MAX);
	return 0;
}

/* Sets the windows of a gradient node, whose input 0 has the pooled shape dy. */
static int init_grad(struct window *w, const struct loc *loc, const struct node *n,
                     const struct shape *dy)
{
	const struct pool *at = n->attr;
	struct grid in = grid_of(dy), out = in;
	TRY(grid_ints(loc, n, "input_size", &at->input_size, in.axes, 1, in.d));
	TRY(init(w, loc, n, &in));
	if (memcmp(w->out.d, out.d, sizeof out.d) == 0)
		return 0;
	char text[SHAPE_TEXT];
	return ERR(E_SHAPE, loc, "layer '%s': gradient %s does not fit the windows of '%s'",
	           check_layer(n), shape_text(dy, text), n->op->name);
}

void window_taps(const struct window *w, int a, int64_t o, int64_t *first, int64_t *last)
{
	int64_t start = o * w->s[a] - w->lo[a];
	*first = start < 0 ? -start : 0;
	*last = start + w->k[a] > w->in.d[a] ? w->in.d[a] - start : w->k[a];
}

void window_whole(const struct window *w, int64_t *first, int64_t *last)
{
	const int64_t room = w->in.d[2] + w->lo[2] - w->k[2], n = w->out.d[2];
	*first = (w->lo[2] + w->s[2] - 1) / w->s[2];
	*last = room < 0 ? 0 : room / w->s[2] + 1;
	*last = *last < n ? *last : n;
	*first = *first < *last ? *first : *last;
}

void window_covers(const struct window *w, int a, int64_t i, int64_t *first, int64_t *last)
{
	int64_t at = i + w->lo[a], before = at - w->k[a] + 1;
	*first = before <= 0 ? 0 : (before + w->s[a] - 1) / w->s[a];
	*last = at / w->s[a] + 1 < w->out.d[a] ? at / w->s[a] + 1 : w->out.d[a];
}

int64_t window_volume(const struct window *w)
{
	return w->k[0] * w->k[1] * w->k[2];
}

int64_t window_input(const struct window *w, int64_t flat, int64_t tap)
{
	int64_t at = 0, o[3], t[3];
	for (int a = 2; a >= 0; a--) {
		o[a] = flat % w->out.d[a], flat /= w->out.d[a];
		t[a] = tap % w->k[a], tap /= w->k[a];
	}
	for (int a = 0; a < 3; a++) {
		int64_t i = o[a] * w->s[a] - w->lo[a] + t[a];
		if (i < 0 || i >= w->in.d[a])
			return -1;
		at = at * w->in.d[a] + i;
	}
	return at;
}

int window_forward_shape(struct graph *g, struct node *n, struct window *w)
{
	TRY(check_float(g, n, 0));
	TRY(check_rank(g, n, 0, 3, 5));
	struct grid in = grid_of(node_in_shape(g, n, 0));
	TRY(init(w, &g->cur_loc, n, &in));
	struct shape y = grid_shape(&w->out);
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &y);
}

struct window window_get(const struct graph *g, const struct node *n)
{
	struct grid in = grid_of(node_in_shape(g, n, 0));
	struct window w;
	BUG_IF(init(&w, &n->loc, n, &in) < 0, "windows that no shape rule has checked");
	return w;
}

int window_backward_shape(struct graph *g, struct node *n, struct window *w)
{
	TRY(check_float(g, n, 0));
	TRY(check_rank(g, n, 0, 3, 5));
	TRY(init_grad(w, &g->cur_loc, n, node_in_shape(g, n, 0)));
	struct shape x = grid_shape(&w->in);
	return graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &x);
}

struct pool window_grad_attr(struct graph *g, const struct node *n)
{
	struct pool at = *(const struct pool *)n->attr;
	const struct shape *x = node_in_shape(g, n, 0);
	at.input_size = ints_make(g, x->nd - 2, x->d + 2);
	return at;
}

bool window_reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                  int64_t *hi)
{
	const struct window w = window_get(g, n);
	const int a = axis - 2 + 3 - w.in.axes;
	return reads_window(w.s[a], w.lo[a], w.k[a] - 1, lo, hi);
}

void window_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	const struct pool *at = n->attr;
	const struct shape *in = node_in_shape(g, n, 0), *out = node_out_shape(g, n, 0);
	int64_t a = shape_count(in), b = shape_count(out), k[3];
	if (grid_ints(NULL, n, "kernel", &at->kernel, in->nd - 2, 1, k) == 0)
		c->flops = (double)(a < b ? a : b) * (double)(k[0] * k[1] * k[2]);
}

static void plan_rows(struct kplan *k, struct window *w, const struct grid *result)
{
	w->bf16 = row_bf16(k, 0);
	k->ws_bytes = row_workspace(k, result->d[2] * result->c);
}

int window_plan(struct kplan *k)
{
	struct grid in = grid_of(node_in_shape(k->g, k->n, 0));
	struct window *w = k->state = ARENA_NEW(k->arena, struct window);
	TRY(init(w, &k->n->loc, k->n, &in));
	plan_rows(k, w, &w->out);
	return 0;
}

int window_plan_grad(struct kplan *k)
{
	struct window *w = k->state = ARENA_NEW(k->arena, struct window);
	TRY(init_grad(w, &k->n->loc, k->n, node_in_shape(k->g, k->n, 0)));
	plan_rows(k, w, &w->in);
	return 0;
}
