/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Merges adds of slices into slices of one add. If two concatenations share pieces, the gradient of
 * one is sliced into pieces, each of which is added to a slice of the other's gradient:
 *
 *   s = slice b [0, 80)                       t = add (slice a [0, 92)) b
 *   o = add (slice a [0, 80)) s     becomes   o = slice t [0, 80)
 *   s = slice b [80, 92)                      q = slice t [80, 92)
 *   q = add (slice a [80, 92)) s
 *
 * if the slices cover all channels of b and are contiguous in a. The single add can then be fused
 * into the kernel that makes b (`fuse`), and the slices are free (`views`). Results are bitwise the
 * same. Dead code is left to the pass `dce`. */
#include "base/err.h"
#include "op/lib/emit.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

struct slice_adds {
	struct graph *g;
	struct rewrite edit;
	struct arena *scratch;
	struct readers readers;
};

struct range {
	int64_t from, to;
};

/* If n is a channel slice, its range. */
static bool is_slice(const struct graph *g, const struct node *n, struct range *r)
{
	if (!rewrite_is(n, "slice"))
		return false;
	const struct op_piece p = n->op->piece(g, n, 0);
	if (p.axis != 1)
		return false;
	r->from = p.first;
	r->to = r->from + g->tensor[n->out[0]]->shape.d[1];
	return true;
}

/* Tensor b, and tensor a to which its slices are added, from channel `shift` of a on; b is operand
 * `side` of each add. */
struct pair {
	tid a, b;
	int64_t shift;
	int side;
	int n;                       /* number of adds */
	nid first;                   /* the first add */
};

/* The add that alone reads this slice of b, if its other
 * operand is the matching slice of a; else NULL. */
static const struct node *add_of(const struct slice_adds *c, struct pair *p,
                                 const struct node *slice, struct range r)
{
	const struct graph *g = c->g;
	const bool once = readers_count(&c->readers, slice->out[0]) == 1;
	const struct node *sum = once ? readers_of(&c->readers, slice->out[0])->n : NULL;
	struct range other;
	if (!rewrite_is(sum, "add") || g->tensor[slice->out[0]]->output)
		return NULL;
	const int side = sum->in[1] == slice->out[0];
	const struct node *with = rewrite_producer(g, sum->in[1 - side]);
	if (!is_slice(g, with, &other) || with->in[0] == p->b || sum->phase != slice->phase)
		return NULL;
	if (p->n == 0) {
		p->a = with->in[0];
		p->shift = other.from - r.from;
		p->side = side;
		p->first = sum->id;
	}
	if (with->in[0] != p->a || other.from - r.from != p->shift || side != p->side)
		return NULL;
	p->first = sum->id < p->first ? sum->id : p->first;
	p->n++;
	return sum;
}

/* Whether the slices cover b, and each is added to a slice of the same a. Overlapping slices would
 * have more channels than b. */
static bool find_pair(const struct slice_adds *c, tid b, struct pair *p)
{
	const struct graph *g = c->g;
	const struct tensor *x = g->tensor[b];
	int64_t channels = 0;
	struct range r;
	*p = (struct pair){ .b = b };
	if (x->shape.nd < 2 || x->output || x->producer == NONE || x->role != ROLE_ACTIVATION)
		return false;
	for (int i = 0; i < readers_count(&c->readers, b); i++) {
		const struct node *slice = readers_of(&c->readers, b)[i].n;
		if (!is_slice(g, slice, &r) || slice->in[0] != b || !add_of(c, p, slice, r))
			return false;
		channels += r.to - r.from;
	}
	if (p->n < 2 || channels != x->shape.d[1])
		return false;
	const struct shape *a = &g->tensor[p->a]->shape;
	return p->shift >= 0 && p->shift + channels <= a->d[1] && g->tensor[p->a]->dtype == x->dtype;
}

/* Replaces the adds by slices of the new add. */
static void change_adds(struct slice_adds *c, const struct pair *p, tid sum)
{
	for (int i = 0; i < readers_count(&c->readers, p->b); i++) {
		const struct node *slice = readers_of(&c->readers, p->b)[i].n;
		struct node *n = readers_of(&c->readers, slice->out[0])->n;
		n->op = slice->op;
		n->attr = slice->attr;
		n->in = arena_copy(c->g->arena, &sum, sizeof sum);
		n->nin = 1;
	}
}

/* New nodes are before the first add that they replace. */
static int merge_adds(struct slice_adds *c, const struct pair *p)
{
	struct graph *g = c->g;
	const struct slice range = { 1, p->shift, g->tensor[p->b]->shape.d[1] };
	tid in[2], sum;
	rewrite_before(&c->edit, g->node[p->first], g->node[p->first]);
	in[p->side] = p->b;
	TRY(emit_slice(g, p->a, &range, &in[1 - p->side]));
	TRY(graph_emit1(g, "add", NULL, 2, in, &sum));
	change_adds(c, p, sum);
	return 0;
}

static int apply(struct slice_adds *c, bool *any)
{
	const int known = c->edit.ntensor;
	bool *done = ARENA_ARRAY(c->scratch, bool, known + 1);
	struct pair p;
	*any = false;
	for (tid t = 0; t < known; t++) {
		if (done[t] || !find_pair(c, t, &p) || p.a >= known || done[p.a])
			continue;
		TRY(merge_adds(c, &p));
		done[p.a] = done[p.b] = *any = true;  /* their readers have changed */
	}
	return 0;
}

int pass_slice_adds(struct graph *g, struct pass_env *env)
{
	struct slice_adds c = { .g = g, .scratch = arena_new() };
	bool any;
	int rc = 0;
	do {                                         /* repeat for adds of adds */
		c.readers = rewrite_readers(g, c.scratch);
		rewrite_begin(&c.edit, g);
		rc = rewrite_commit(&c.edit, apply(&c, &any));
		if (rc == 0 && any)
			rc = pass_dce(g, env);
	} while (rc == 0 && any);
	arena_free(c.scratch);
	return rc;
}
