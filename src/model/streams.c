/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Streams, and the terms of an activation's derivatives (Faa di Bruno): the derivative by x1 ... xn
 * of f(z) is the sum, over all ways to part the n coordinates into blocks, of f^(blocks)(z) times
 * the derivatives of z by the coordinates of each block. */
#include "model/streams.h"

#include <string.h>

#include "base/err.h"

static void sort(struct stream *s)
{
	for (int i = 1; i < s->n; i++)
		for (int k = i; k > 0 && s->by[k] < s->by[k - 1]; k--) {
			const tid t = s->by[k];
			s->by[k] = s->by[k - 1];
			s->by[k - 1] = t;
		}
}

bool stream_derive(const struct stream *s, tid x, struct stream *out)
{
	*out = *s;
	if (s->sum || s->n >= STREAM_ORDER)
		return false;
	out->by[out->n++] = x;
	sort(out);
	return true;
}

bool stream_equal(const struct stream *a, const struct stream *b)
{
	return a->sum == b->sum && a->n == b->n &&
	       memcmp(a->by, b->by, (size_t)a->n * sizeof *a->by) == 0;
}

/* The index of s in list, or NONE. */
static int find(const struct streams *list, const struct stream *s)
{
	for (int i = 0; i < list->n; i++)
		if (stream_equal(&list->v[i], s))
			return i;
	return NONE;
}

void streams_add(struct streams *list, const struct stream *s)
{
	if (find(list, s) != NONE)
		return;
	if (list->n == list->cap) {
		struct stream *v = ARENA_ARRAY(list->arena, struct stream, 2 * list->cap + 8);
		if (list->n)
			memcpy(v, list->v, (size_t)list->n * sizeof *v);
		list->cap = 2 * list->cap + 8;
		list->v = v;
	}
	list->v[list->n++] = *s;
}

/* The coordinates of s whose bits are set. */
static struct stream part_of(const struct stream *s, unsigned bits)
{
	struct stream part = { 0 };
	for (int i = 0; i < s->n; i++)
		if (bits >> i & 1)
			part.by[part.n++] = s->by[i];
	return part;
}

void streams_add_all(struct streams *list, const struct stream *s)
{
	streams_add(list, &(struct stream){ 0 });
	for (int i = 0; s->sum && i < s->n; i++)
		streams_add(list, &(struct stream){ .n = 1, .by = { s->by[i] } });
	for (unsigned bits = 1; !s->sum && bits < 1u << s->n; bits++) {
		const struct stream part = part_of(s, bits);
		streams_add(list, &part);
	}
	streams_add(list, s);
}

/* --- terms --- */

struct parting {
	struct arena *arena;
	const struct streams *in;
	struct taylor_terms *terms;
	const struct stream *of;
	int out;
};

/* Adds what is left, the coordinates in `rest`, to the term so far: the first of them is in a block
 * with any of the others. */
static int part(const struct parting *p, unsigned rest, struct taylor_term t)
{
	if (!rest)
		return taylor_add(p->arena, p->terms, &t);
	const unsigned first = rest & -rest, others = rest & ~first;
	for (unsigned with = others;; with = (with - 1) & others) {
		const struct stream block = part_of(p->of, first | with);
		const int at = find(p->in, &block);
		struct taylor_term more = t;
		if (at != NONE) {
			more.order++;
			more.factor[more.n++] = at;
			TRY(part(p, others & ~with, more));
		}
		if (!with)
			return 0;
	}
}

static int sum_terms(const struct parting *p)
{
	struct taylor_term t = { .out = p->out, .order = 1, .coefficient = 1, .n = 1 };
	t.factor[0] = find(p->in, p->of);
	if (t.factor[0] != NONE)
		TRY(taylor_add(p->arena, p->terms, &t));
	t.order = t.n = 2;
	for (int i = 0; i < p->of->n; i++) {
		t.factor[0] = t.factor[1] = find(p->in, &(struct stream){ .n = 1,
		                                                                  .by = { p->of->by[i] } });
		if (t.factor[0] != NONE)
			TRY(taylor_add(p->arena, p->terms, &t));
	}
	return 0;
}

int streams_layer(struct graph *g, enum taylor_of f, const struct streams *in,
                  const struct streams *out, tid x, tid weight, tid bias, tid *y)
{
	struct taylor_terms terms = { 0 };
	tid z;
	for (int i = 0; i < out->n; i++) {
		const struct parting p = { g->arena, in, &terms, &out->v[i], i };
		if (p.of->sum)
			TRY(sum_terms(&p));
		else
			TRY(part(&p, (1u << p.of->n) - 1,
			         (struct taylor_term){ .out = i, .coefficient = 1 }));
	}
	TRY(graph_emit1(g, "dense", NULL, 2, (tid[]){ x, weight }, &z));
	return taylor_emit(g, f, z, in->n, bias, out->n, &terms, y);
}
