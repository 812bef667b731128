/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The row of all elements: first[t] is where group t begins in it. A cut of the row falls into one
 * tensor and is moved down to a multiple of 16 elements of it, so that every piece but a tensor's
 * last has whole vectors and an element's result depends on nothing but the element. */
#include "op/bundle.h"

#include <omp.h>

#include "base/err.h"
#include "op/walk.h"

#define SERIAL 12288         /* elements that are not worth waking a thread for */
#define WHOLE_VECTORS (~(int64_t)15)

struct bundle {
	int n;
	int64_t *first;              /* n + 1: in elements */
	int64_t *piece;              /* n + 1: in pieces */
};

int bundle_groups(const struct node *n, struct bundle_form f)
{
	return n->nin > f.head ? (n->nin - f.head) / f.in : 0;
}

int bundle_check(struct graph *g, const struct node *n, struct bundle_form f)
{
	if (bundle_groups(n, f) < 1 || (n->nin - f.head) % f.in)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' takes %d inputs and groups of %d, but has %d",
		           n->op->name, f.head, f.in, n->nin);
	for (int i = f.head; i < n->nin; i++) {
		int j = (i - f.head) % f.in;
		if (n->in[i] == NONE)
			return ERR(E_SHAPE, &g->cur_loc, "'%s' lacks the %s of a group", n->op->name, f.member[j]);
		TRY(node_want_float(g, n, i, f.member[j]));
		TRY(node_want_like(g, n, i, i - j, f.member[j]));
	}
	return 0;
}

int bundle_choose(struct kplan *k, struct bundle_form f, struct layout *in, struct layout *out)
{
	const struct graph *g = k->g;
	const struct node *n = k->n;

	for (int i = 0; i < f.head; i++)
		if (node_has(n, i))
			in[i] = layout_plain(node_in_shape(g, n, i));
	for (int i = 0; i < n->nout; i++)    /* those that belong to no group */
		if (n->out[i] != NONE)
			out[i] = layout_plain(node_out_shape(g, n, i));
	for (int t = 0; t < bundle_groups(n, f); t++) {
		struct layout *member = in + f.head + t * f.in, l = layout_plain(node_in_shape(g, n, f.head + t * f.in));
		for (int i = f.in - 1; i >= 0; i--)
			if (member[i].set)
				l = member[i];
		for (int i = 0; i < f.in; i++)
			member[i] = l;
		for (int i = 0; i < f.out; i++)
			if (n->out[t * f.out + i] != NONE)
				out[t * f.out + i] = l;
	}
	return 0;
}

int bundle_plan(struct kplan *k, struct bundle_form f)
{
	struct bundle *b = ARENA_NEW(k->arena, struct bundle);

	b->n = bundle_groups(k->n, f);
	b->first = ARENA_ARRAY(k->arena, int64_t, b->n + 1);
	b->piece = ARENA_ARRAY(k->arena, int64_t, b->n + 1);
	for (int t = 0; t < b->n; t++) {
		int64_t n = kplan_in_elements(k, f.head + t * f.in);
		b->first[t + 1] = b->first[t] + n;
		b->piece[t + 1] = b->piece[t] + (n + BUNDLE_PIECE - 1) / BUNDLE_PIECE;
	}
	k->state = b;
	return 0;
}

/* The last t with first[t] <= at. */
static int find(const int64_t *first, int n, int64_t at)
{
	int lo = 0, hi = n;

	while (hi - lo > 1) {
		int mid = (lo + hi) / 2;
		if (first[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Elements [lo, hi) of the row, both moved down to whole vectors of the tensor they fall into. */
static void run_part(const struct kplan *k, const struct kargs *a, bundle_range *range, int64_t lo,
                     int64_t hi)
{
	const struct bundle *b = k->state;

	for (int t = find(b->first, b->n, lo); t < b->n && b->first[t] < hi; t++) {
		int64_t n = b->first[t + 1] - b->first[t], from = lo - b->first[t], to = hi - b->first[t];
		from = from > 0 ? from & WHOLE_VECTORS : 0;
		to = to < n ? to & WHOLE_VECTORS : n;
		if (from < to)
			range(k, a, t, from, to);
	}
}

void bundle_run(const struct kplan *k, const struct kargs *a, bundle_range *range)
{
	const struct bundle *b = k->state;
	int64_t n = b->first[b->n], parts = n / SERIAL, most = omp_get_max_threads();

	if (parts > most)
		parts = most;
	if (parts <= 1) {
		run_part(k, a, range, 0, n);
		return;
	}
#pragma omp parallel for schedule(static, 1)
	for (int64_t i = 0; i < parts; i++)
		run_part(k, a, range, n * i / parts, n * (i + 1) / parts);
}

int64_t bundle_pieces(const struct kplan *k)
{
	const struct bundle *b = k->state;

	return b->piece[b->n];
}

int64_t bundle_first_piece(const struct kplan *k, int t)
{
	const struct bundle *b = k->state;

	return b->piece[t];
}

void bundle_run_pieces(const struct kplan *k, const struct kargs *a,
                       void (*piece)(const struct kplan *k, const struct kargs *a, int t, int64_t lo,
                                     int64_t hi, int64_t number))
{
	const struct bundle *b = k->state;
	int64_t pieces = b->piece[b->n];

#pragma omp parallel for schedule(static) if (b->first[b->n] > 2 * BUNDLE_PIECE)
	for (int64_t i = 0; i < pieces; i++) {
		int t = find(b->piece, b->n, i);
		int64_t lo = (i - b->piece[t]) * BUNDLE_PIECE, n = b->first[t + 1] - b->first[t];
		piece(k, a, t, lo, lo + BUNDLE_PIECE < n ? lo + BUNDLE_PIECE : n, i);
	}
}
