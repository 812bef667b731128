/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Merges adds of slices into slices of one add. Where two concats share pieces, the gradient of one
 * is sliced into pieces, each of which is added to a slice of the other's gradient:
 *
 *   s = slice b [0, 80) ; o = add (slice a [0, 80)) s          becomes   t = add (slice a [0, 92)) b
 *   s = slice b [80, 92) ; q = add (slice a [80, 92)) s                  o = slice t [0, 80) ; q = slice t [80, 92)
 *
 * for all channels of b and neighbouring ones of a. The one add can then be fused into the kernel
 * that makes b (`fuse`), and slices are free (`views`). The numbers are the same, since the same
 * two are added. Dead code is left to the pass `dce`. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/attr.h"
#include "pass/pass.h"

struct use {
	nid node;
	struct use *next;
};

struct cuts {
	struct graph *g;
	struct arena *scratch;
	struct use **use;            /* by tensor */
	int *place;                  /* by new node: the old node that it stands before */
	int nplace;
};

struct range {
	int64_t from, to;
};

/* If n is a channel slice, its range. */
static bool is_cut(const struct graph *g, const struct node *n, struct range *r)
{
	if (!n || strcmp(n->op->name, "slice") != 0 || !n->op->part(g, n, 0, &r->from))
		return false;
	r->to = r->from + g->tensor[n->out[0]]->shape.d[1];
	return true;
}

static const struct node *maker(const struct graph *g, tid t)
{
	const nid p = g->tensor[t]->producer;

	return p == NONE ? NULL : g->node[p];
}

/* b, and the tensor to which its slices are added: a from
 * channel `shift` on; b is operand `side` of each add. */
struct pair {
	tid a, b;
	int64_t shift;
	int side;
	int n;                       /* sums */
	nid first;                   /* the first of them */
};

/* The add that alone reads this slice of b, if its other
 * operand is the matching slice of a; else NULL. */
static const struct node *sum_of(const struct cuts *c, struct pair *p, const struct node *cut, struct range r)
{
	const struct graph *g = c->g;
	const struct use *u = c->use[cut->out[0]];
	const struct node *sum = u && !u->next ? g->node[u->node] : NULL;
	struct range other;

	if (!sum || strcmp(sum->op->name, "add") != 0 || g->tensor[cut->out[0]]->output)
		return NULL;
	const int side = sum->in[1] == cut->out[0];
	const struct node *with = maker(g, sum->in[1 - side]);
	if (!is_cut(g, with, &other) || with->in[0] == p->b || sum->phase != cut->phase)
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

/* Whether b is sliced completely, and each slice added to one of the same a. Overlapping slices
 * would be more channels than b has. */
static bool find_pair(const struct cuts *c, tid b, struct pair *p)
{
	const struct graph *g = c->g;
	const struct tensor *x = g->tensor[b];
	int64_t channels = 0;
	struct range r;

	*p = (struct pair){ .b = b };
	if (x->shape.nd < 2 || x->output || x->producer == NONE || x->role != ROLE_ACTIVATION)
		return false;
	for (const struct use *u = c->use[b]; u; u = u->next) {
		const struct node *cut = g->node[u->node];
		if (!is_cut(g, cut, &r) || cut->in[0] != b || !sum_of(c, p, cut, r))
			return false;
		channels += r.to - r.from;
	}
	if (p->n < 2 || channels != x->shape.d[1])
		return false;
	const struct shape *a = &g->tensor[p->a]->shape;
	return p->shift >= 0 && p->shift + channels <= a->d[1] && g->tensor[p->a]->dtype == x->dtype;
}

static int emit_cut(struct cuts *c, tid t, struct range r, tid *out)
{
	const struct op *op = op_find("slice");
	void *attr;

	*out = t;
	if (r.from == 0 && r.to == c->g->tensor[t]->shape.d[1])
		return 0;
	BUG_IF(!op, "no op is called 'slice'");
	attr = arena_alloc(c->g->arena, op->attr_size);
	*(int64_t *)attr_find(op, attr, "axis", FT_INT) = 1;
	*(int64_t *)attr_find(op, attr, "begin", FT_INT) = r.from;
	*(int64_t *)attr_find(op, attr, "size", FT_INT) = r.to - r.from;
	return graph_emit1(c->g, "slice", attr, 1, &t, out);
}

/* The adds become slices of the new add. */
static void change_sums(struct cuts *c, const struct pair *p, tid sum)
{
	for (const struct use *u = c->use[p->b]; u; u = u->next) {
		const struct node *cut = c->g->node[u->node];
		struct node *n = c->g->node[c->use[cut->out[0]]->node];
		n->op = cut->op;
		n->attr = cut->attr;
		n->in = arena_alloc(c->g->arena, sizeof *n->in);
		n->in[0] = sum;
		n->nin = 1;
	}
}

static int join_sums(struct cuts *c, const struct pair *p)
{
	struct graph *g = c->g;
	const int made = g->nnode;
	const int64_t channels = g->tensor[p->b]->shape.d[1];
	struct graph_context saved = graph_enter(g, g->node[p->first]);
	tid in[2], sum;

	in[p->side] = p->b;
	int rc = emit_cut(c, p->a, (struct range){ p->shift, p->shift + channels }, &in[1 - p->side]);
	if (rc == 0)
		rc = graph_emit1(g, "add", NULL, 2, in, &sum);
	graph_leave(g, saved);
	TRY(rc);
	for (int i = made; i < g->nnode; i++)
		c->place[c->nplace++] = p->first;
	change_sums(c, p, sum);
	return 0;
}

/* New nodes are placed before the first add that they replace. */
static void merge(struct cuts *c, int nold)
{
	struct graph *g = c->g;
	struct node **order = mem_alloc(((size_t)g->nnode + 1) * sizeof *order);
	int *first = ARENA_ARRAY(c->scratch, int, nold + 1), *next = ARENA_ARRAY(c->scratch, int, c->nplace + 1), n = 0;

	for (int i = 0; i < nold; i++)
		first[i] = NONE;
	for (int i = c->nplace - 1; i >= 0; i--) {
		next[i] = first[c->place[i]];
		first[c->place[i]] = i;
	}
	for (int i = 0; i < nold; i++) {
		for (int k = first[i]; k != NONE; k = next[k])
			order[n++] = g->node[nold + k];
		order[n++] = g->node[i];
	}
	graph_reorder(g, order, n);
	mem_free(order);
}

static void find_uses(struct cuts *c)
{
	struct graph *g = c->g;

	for (int i = g->nnode - 1; i >= 0; i--)
		for (int k = g->node[i]->nin - 1; k >= 0; k--) {
			const tid t = g->node[i]->in[k];
			if (t == NONE)
				continue;
			struct use *u = ARENA_NEW(c->scratch, struct use);
			*u = (struct use){ i, c->use[t] };
			c->use[t] = u;
		}
}

static int apply(struct cuts *c)
{
	const int nold = c->g->nnode, told = c->g->ntensor;
	bool *done = ARENA_ARRAY(c->scratch, bool, told + 1);
	struct pair p;

	for (tid t = 0; t < told; t++) {
		if (done[t] || !find_pair(c, t, &p) || p.a >= told || done[p.a])
			continue;
		TRY(join_sums(c, &p));
		done[p.a] = done[p.b] = true;        /* their uses have changed */
	}
	if (c->nplace)
		merge(c, nold);
	return 0;
}

int pass_cuts(struct graph *g, struct pass_env *env)
{
	struct cuts c = { .g = g, .scratch = arena_new() };
	int rc = 0;

	do {                                         /* sums of sums */
		c.use = ARENA_ARRAY(c.scratch, struct use *, g->ntensor + 1);
		c.place = ARENA_ARRAY(c.scratch, int, 2 * g->ntensor + 1);
		c.nplace = 0;
		find_uses(&c);
		rc = apply(&c);
		if (rc == 0 && c.nplace)
			rc = pass_dce(g, env);
	} while (rc == 0 && c.nplace);
	arena_free(c.scratch);
	return rc;
}
