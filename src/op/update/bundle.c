/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tensors of a bundle form one row of elements, in which group t begins at first[t]; threads
 * take pieces of the row. The border of a piece is rounded down to a multiple of 16 elements of the
 * tensor that contains it (to whole blocks, if the tensor has copies in other layouts). So every
 * piece but a tensor's last consists of whole vectors, and an element's result does not depend on
 * the number of threads. */
#include "op/update/bundle.h"

#include <omp.h>

#include "backend/device.h"
#include "base/err.h"
#include "op/lib/walk.h"
#include "op/update/copier.h"

#define SERIAL 12288         /* elements that are too few to start a thread for */
#define IN_CACHE 8192        /* elements that are updated before they are copied, so that they are
                              * in the cache */

struct copy {
	struct copier *copier;
	int from, to;                /* indices of outputs */
};

struct bundle {
	int n;
	int64_t *first;              /* n + 1 entries: offset of each group, in elements */
	int64_t *piece;              /* n + 1 entries: number of the first piece of each group */
	struct copy *copy;
	int *first_copy;             /* n + 1 entries: first copy of each group; NULL: there are no
	                              * copies */
	int64_t *grain;              /* borders of pieces in a tensor are multiples of this */
};

int bundle_groups(const struct node *n, struct bundle_form f)
{
	return n->nin > f.head + f.copy_of.n ? (n->nin - f.head - f.copy_of.n) / f.in : 0;
}

bool bundle_is_gradient(const struct node *n, struct bundle_form f, int i)
{
	return i >= f.head && i < n->nin - f.copy_of.n && (i - f.head) % f.in == f.gradient;
}

int bundle_copy_in(const struct node *n, struct bundle_form f, int i)
{
	return n->nin - f.copy_of.n + i;
}

int bundle_copy_out(const struct node *n, struct bundle_form f, int i)
{
	return bundle_groups(n, f) * f.out + i;
}

static int check_copies(struct graph *g, const struct node *n, struct bundle_form f)
{
	for (int i = 0; i < f.copy_of.n; i++) {
		const int64_t t = f.copy_of.v[i], before = i ? f.copy_of.v[i - 1] : 0;
		const int in = bundle_copy_in(n, f, i);
		if (t < before || t >= bundle_groups(n, f))
			return ERR(E_SHAPE, &g->cur_loc, "'copy_of' of '%s' must name groups below %d in order",
			           n->op->name, bundle_groups(n, f));
		if (n->in[in] == NONE || !dtype_is_float(graph_t(g, n->in[in])->dtype))
			return ERR(E_SHAPE, &g->cur_loc, "a copy of '%s' is missing, or has no floats",
			           n->op->name);
		TRY(node_want_like(g, n, in, f.head + (int)t * f.in, "copy"));
	}
	return 0;
}

int bundle_check(struct graph *g, const struct node *n, struct bundle_form f)
{
	if (bundle_groups(n, f) < 1 || (n->nin - f.head - f.copy_of.n) % f.in)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' takes %d inputs and groups of %d, but has %d",
		           n->op->name, f.head, f.in, n->nin);
	TRY(check_copies(g, n, f));
	for (int i = f.head; i < n->nin - f.copy_of.n; i++) {
		int j = (i - f.head) % f.in;
		if (n->in[i] == NONE)
			return ERR(E_SHAPE, &g->cur_loc, "'%s' lacks the %s of a group", n->op->name,
			           f.member[j]);
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
	for (int i = 0; i < n->nout; i++)    /* the outputs that belong to no group */
		if (n->out[i] != NONE)
			out[i] = layout_plain(node_out_shape(g, n, i));
	for (int t = 0; t < bundle_groups(n, f); t++) {
		struct layout *member = in + f.head + t * f.in,
		              l = layout_plain(node_in_shape(g, n, f.head + t * f.in));
		for (int i = f.in - 1; i >= 0; i--)
			if (member[i].set)
				l = member[i];
		for (int i = 0; i < f.in; i++)
			member[i] = l;
		for (int i = 0; i < f.out; i++)
			if (n->out[t * f.out + i] != NONE)
				out[t * f.out + i] = l;
	}
	for (int i = 0; i < f.copy_of.n; i++) {
		struct layout *copy = &in[bundle_copy_in(n, f, i)];
		if (!copy->set)
			*copy = in[f.head + f.copy_of.v[i] * f.in];
		out[bundle_copy_out(n, f, i)] = *copy;
	}
	return 0;
}

static int plan_copies(struct kplan *k, struct bundle_form f, struct bundle *b)
{
	const int n = f.copy_of.n;
	b->copy = ARENA_ARRAY(k->arena, struct copy, n + 1);
	b->first_copy = ARENA_ARRAY(k->arena, int, b->n + 1);
	for (int i = 0; i < n; i++) {
		const int t = (int)f.copy_of.v[i];
		struct copy *c = &b->copy[i];
		*c = (struct copy){ NULL, t * f.out, bundle_copy_out(k->n, f, i) };
		const struct tensor *from = graph_t(k->g, k->n->out[c->from]),
		                    *to = graph_t(k->g, k->n->out[c->to]);
		copier_new(&c->copier, k->arena,
		           (struct copier_side){ from, device_dtype(k->dev, from->dtype) },
		           (struct copier_side){ to, device_dtype(k->dev, to->dtype) }, false);
		if (!c->copier)
			return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' cannot copy '%s'", k->n->op->name,
			           from->name);
		for (int u = t + 1; u <= b->n; u++)
			b->first_copy[u] = i + 1;
		if (copier_grain(c->copier) > b->grain[t])
			b->grain[t] = copier_grain(c->copier);       /* a multiple of the smaller grains */
	}
	return 0;
}

int bundle_plan(struct kplan *k, struct bundle_form f)
{
	struct bundle *b = ARENA_NEW(k->arena, struct bundle);
	b->n = bundle_groups(k->n, f);
	b->first = ARENA_ARRAY(k->arena, int64_t, b->n + 1);
	b->piece = ARENA_ARRAY(k->arena, int64_t, b->n + 1);
	b->grain = ARENA_ARRAY(k->arena, int64_t, b->n + 1);
	for (int t = 0; t < b->n; t++) {
		int64_t n = kplan_in_elements(k, f.head + t * f.in);
		b->grain[t] = 16;
		b->first[t + 1] = b->first[t] + n;
		b->piece[t + 1] = b->piece[t] + (n + BUNDLE_PIECE - 1) / BUNDLE_PIECE;
	}
	k->state = b;
	return f.copy_of.n ? plan_copies(k, f, b) : 0;
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

/* Updates elements [lo, hi) of a group, and the copies that can be made piece by piece. */
static void run_group(const struct kplan *k, const struct kargs *a, bundle_range *range, int t,
                      int64_t lo, int64_t hi)
{
	const struct bundle *b = k->state;
	if (!b->first_copy || b->first_copy[t] == b->first_copy[t + 1]) {
		range(k, a, t, lo, hi);
		return;
	}
	const int64_t each = b->grain[t] < IN_CACHE ? IN_CACHE / b->grain[t] * b->grain[t] :
	                     b->grain[t];
	for (int64_t at = lo; at < hi; at += each) {
		const int64_t end = hi - at < each ? hi : at + each;
		range(k, a, t, at, end);
		for (int i = b->first_copy[t]; i < b->first_copy[t + 1]; i++)
			if (copier_grain(b->copy[i].copier))
				copier_range(b->copy[i].copier, a->out[b->copy[i].from], a->out[b->copy[i].to],
				             at, end);
	}
}

/* Writes the copies that could not be written piece by piece, because of their layout. */
static void run_rest(const struct kplan *k, const struct kargs *a)
{
	const struct bundle *b = k->state;
	for (int i = 0; b->first_copy && i < b->first_copy[b->n]; i++)
		if (!copier_grain(b->copy[i].copier))
			copier_all(b->copy[i].copier, a->out[b->copy[i].from], a->out[b->copy[i].to]);
}

/* Processes elements [lo, hi) of the row, both rounded down to whole grains of the tensor that
 * contains them. */
static void run_part(const struct kplan *k, const struct kargs *a, bundle_range *range, int64_t lo,
                     int64_t hi)
{
	const struct bundle *b = k->state;
	for (int t = find(b->first, b->n, lo); t < b->n && b->first[t] < hi; t++) {
		int64_t n = b->first[t + 1] - b->first[t], from = lo - b->first[t], to = hi - b->first[t];
		from = from > 0 ? from - from % b->grain[t] : 0;
		to = to < n ? to - to % b->grain[t] : n;
		if (from < to)
			run_group(k, a, range, t, from, to);
	}
}

void bundle_run(const struct kplan *k, const struct kargs *a, bundle_range *range)
{
	const struct bundle *b = k->state;
	int64_t n = b->first[b->n], parts = n / SERIAL, most = omp_get_max_threads();
	if (parts > most)
		parts = most;
	if (parts < 1)
		parts = 1;
#pragma omp parallel for schedule(static, 1) if (parts > 1)
	for (int64_t i = 0; i < parts; i++)
		run_part(k, a, range, n * i / parts, n * (i + 1) / parts);
	run_rest(k, a);
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
                       void (*piece)(const struct kplan *k, const struct kargs *a, int t,
                                     int64_t lo, int64_t hi, int64_t number))
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
