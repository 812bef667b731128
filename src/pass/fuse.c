/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fusion: nodes that one kernel can do in fewer passes over memory become one node, by the rows of
 * fuse_rules.c.
 *
 * The last term of `from` is looked for; the others are found as producers of what is known by
 * then. A tensor that `to` does not make must have no reader but the nodes replaced, and must not
 * be read by `to`: the sum of a tensor with itself stays. Attributes carry over by their names, and
 * those of one name must agree in `given` and `from`. The operands of add may be swapped: the one
 * made later is tried first, so that of two that fit the sum is made where its last summand is.
 *
 * Replaced nodes are of one phase. In a row that goes `across` phases they need not be; then the
 * new node is of that of the first.
 *
 * The new node is where the last replaced one was. What was in between and depends on the
 * replaced nodes moves after it, so that the order stays valid; a row does not apply if the new
 * node would depend on itself. Tensors keep their ids, and nodes take place, name and phase from
 * the replaced one that reads most, which is the layer with the parameters. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/attr.h"
#include "graph/deps.h"
#include "pass/fuse_rules.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

/* --- matching --- */

struct fuse {
	struct graph *g;
	int *uses;                   /* by tensor: inputs that read it */
	struct node **early, **late; /* room for a stretch of the order */
	int nearly, nlate;
	int *derived, *touched;      /* by tensor: number of the attempt in which it was marked */
	int attempt;
};

struct match {
	const struct fuse_pattern *p;
	tid bind[LETTERS];           /* UNBOUND: nothing yet */
	struct node *node[MAX_TERMS], *given[MAX_TERMS];
	unsigned swap;               /* bit k: the operands of the k-th add are swapped */
	int adds;
};
#define UNBOUND (-2)

static bool bind(struct match *m, int letter, tid t)
{
	if (m->bind[letter] == UNBOUND)
		m->bind[letter] = t;
	return m->bind[letter] == t;
}

/* Whether the operands of this add are matched in swapped order. */
static bool swapped(const struct graph *g, struct match *m, const struct node *n)
{
	bool later = g->tensor[n->in[1]]->producer > g->tensor[n->in[0]]->producer;
	return later ^ (m->swap >> m->adds++ & 1);
}

/* Whether the node's op is one of those of the term. */
static bool is_op_of(const struct fuse_term *t, const struct op *op)
{
	const size_t all = strcspn(t->op, " /"), length = strlen(op->name);
	for (size_t at = 0; at < all; at += strcspn(t->op + at, "| /") + 1)
		if (strcspn(t->op + at, "| /") == length && !memcmp(t->op + at, op->name, length))
			return true;
	return false;
}

/* Whether the node's slope is what the term says, if it says one. */
static bool has_slope(const struct fuse_term *t, const struct node *n)
{
	const double *slope = attr_find(n->op, n->attr, "slope", FT_FLOAT);
	return isnan(t->slope) || (slope && *slope == t->slope);
}

static bool unify(const struct graph *g, struct match *m, const struct fuse_term *t,
                  const struct node *n)
{
	if (!is_op_of(t, n->op) || n->nout != t->nout || !has_slope(t, n))
		return false;
	const bool swap = rewrite_is(n, "add") && swapped(g, m, n);
	for (int i = 0; i < t->nin || i < n->nin; i++) {
		const tid in = i < n->nin ? n->in[swap ? 1 - i : i] : NONE;
		if (i >= t->nin ? in != NONE : !bind(m, t->in[i], in))
			return false;
		if (in == NONE && i < t->nin && t->in[i] != NO_LETTER && !(t->optional >> i & 1))
			return false;
	}
	for (int i = 0; i < n->nout; i++)
		if (!bind(m, t->out[i], n->out[i]))
			return false;
	return true;
}

/* The node that makes one of the term's outputs that are bound already, or NULL. */
static struct node *producer_of(const struct graph *g, const struct match *m,
                                const struct fuse_term *t)
{
	struct node *n = NULL;
	for (int i = 0; i < t->nout && !n; i++)
		if (m->bind[t->out[i]] != UNBOUND)
			n = rewrite_producer(g, m->bind[t->out[i]]);
	return n;
}

static bool find(const struct graph *g, struct match *m, struct node *last)
{
	const struct fuse_pattern *p = m->p;
	struct node *n;
	for (int i = 0; i < LETTERS; i++)
		m->bind[i] = i == NO_LETTER ? NONE : UNBOUND;
	m->adds = 0;
	for (int k = p->nfrom - 1; k >= 0; k--) {
		n = m->node[k] = k == p->nfrom - 1 ? last : producer_of(g, m, &p->from[k]);
		if (!n || (n->phase != last->phase && !p->across) || !unify(g, m, &p->from[k], n))
			return false;
	}
	for (int k = p->ngiven - 1; k >= 0; k--) {
		n = m->given[k] = producer_of(g, m, &p->given[k]);
		if (!n || !unify(g, m, &p->given[k], n))
			return false;
	}
	return true;
}

static bool is_replaced(const struct match *m, const struct node *n)
{
	for (int k = 0; k < m->p->nfrom; k++)
		if (m->node[k] == n)
			return true;
	return false;
}

static bool has_letter(const int *list, int n, int letter)
{
	for (int i = 0; i < n; i++)
		if (list[i] == letter)
			return true;
	return false;
}

static bool is_read_by_new(const struct match *m, tid t)
{
	for (int i = 0; i < m->p->to->nin; i++)
		if (m->bind[m->p->to->in[i]] == t)
			return true;
	return false;
}

/* Whether tensors that will no longer exist have no other reader. */
static bool is_private(const struct fuse *f, const struct match *m)
{
	const struct fuse_pattern *p = m->p;
	for (int k = 0; k < p->nfrom; k++)
		for (int i = 0; i < p->from[k].nout; i++) {
			int letter = p->from[k].out[i], inside = 0;
			tid t = m->bind[letter];
			if (t == NONE || has_letter(p->to->out, p->to->nout, letter))
				continue;
			for (int r = 0; r < p->nfrom; r++)
				for (int q = 0; q < m->node[r]->nin; q++)
					inside += m->node[r]->in[q] == t;
			if (f->g->tensor[t]->output || f->uses[t] != inside || is_read_by_new(m, t))
				return false;
		}
	return true;
}

/* Whether all floating-point tensors are of one type. */
static bool is_of_one_type(const struct graph *g, const struct match *m)
{
	const struct tensor *first = NULL;
	for (int i = 0; i < LETTERS; i++) {
		const struct tensor *t = m->bind[i] < 0 ? NULL : g->tensor[m->bind[i]];
		if (!t || !dtype_is_float(t->dtype))
			continue;
		first = first ? first : t;
		if (t->dtype != first->dtype)
			return false;
	}
	return true;
}

/* The term that the i-th matched node belongs to; nodes to be replaced come first. */
static const struct fuse_term *term_of(const struct fuse_pattern *p, int i)
{
	return i < p->nfrom ? &p->from[i] : &p->given[i - p->nfrom];
}

/* Whether attributes with the same name have the same value in all nodes whose slope the rule does
 * not specify. */
static bool agrees(const struct match *m)
{
	const struct fuse_pattern *p = m->p;
	for (int k = 0; k < p->nfrom; k++) {
		const struct node *a = m->node[k];
		for (int i = 0; i < p->nfrom + p->ngiven; i++) {
			const struct node *b = i < p->nfrom ? m->node[i] : m->given[i - p->nfrom];
			if (isnan(term_of(p, k)->slope) && isnan(term_of(p, i)->slope) &&
			    !attr_agree(a->op, a->attr, b->op, b->attr))
				return false;
		}
	}
	return true;
}

/* --- order --- */

static bool reads(const struct fuse *f, const struct node *n, const int *mark, bool storage)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE &&
		    mark[storage ? graph_root(f->g, n->in[k]) : n->in[k]] == f->attempt)
			return true;
	return false;
}

/* Whether a replaced node reads a tensor that other nodes compute from outputs of replaced
 * nodes. */
static bool reads_derived(const struct fuse *f, const struct match *m, const struct node *n)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE && f->derived[n->in[k]] == f->attempt &&
		    !is_replaced(m, rewrite_producer(f->g, n->in[k])))
			return true;
	return false;
}

/* Sorts the nodes from the first to the last replaced one into those that come before the new node
 * and those that depend on it. False if that cannot be: the new node would depend on itself, or
 * something would be read after it was overwritten. */
static bool part(struct fuse *f, const struct match *m, int from, int to)
{
	struct graph *g = f->g;
	f->nearly = f->nlate = 0;
	f->attempt++;
	for (int i = from; i <= to; i++) {
		struct node *n = g->node[i];
		bool replaced, late;
		if (!n)
			continue;
		replaced = is_replaced(m, n);
		late = replaced || reads(f, n, f->derived, false);
		if (replaced && reads_derived(f, m, n))
			return false;
		if (late && reads(f, n, f->touched, true))
			return false;
		for (int k = 0; k < n->nout; k++) {
			if (n->out[k] != NONE && late)
				f->derived[n->out[k]] = f->attempt;
			if (!late && overwrites(g, n, k))
				f->touched[graph_root(g, n->out[k])] = f->attempt;
		}
		if (!replaced && late)
			f->late[f->nlate++] = n;
		else if (!replaced)
			f->early[f->nearly++] = n;
	}
	return true;
}

/* --- replacing --- */

static void put(struct graph *g, int at, struct node *n)
{
	g->node[at] = n;
	if (!n)
		return;
	n->id = at;
	for (int k = 0; k < n->nout; k++)
		if (n->out[k] != NONE)
			g->tensor[n->out[k]]->producer = at;
}

static void count_uses(struct fuse *f, const struct node *n, int by)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE)
			f->uses[n->in[k]] += by;
}

static const struct node *widest(const struct match *m)
{
	const struct node *n = m->node[0];
	for (int k = 1; k < m->p->nfrom; k++)
		n = m->node[k]->nin > n->nin ? m->node[k] : n;
	return n;
}

/* Sets the attributes of the new node. *fits: its op has all attributes of the replaced nodes,
 * except a slope that the rule specifies. */
static int make_attr(struct graph *g, const struct match *m, void **attr, bool *fits)
{
	const struct fuse_pattern *p = m->p;
	TRY(rewrite_attr(g, p->op, p->nfrom, (const struct node *const *)m->node, attr));
	if (!isnan(p->to->slope))
		*(double *)attr_find(p->op, *attr, "slope", FT_FLOAT) = p->to->slope;
	*fits = true;
	for (int k = 0; k < p->nfrom; k++)
		if (isnan(p->from[k].slope))
			*fits &= attr_carry(p->op, *attr, m->node[k]->op, m->node[k]->attr);
	return 0;
}

/* Emits the new node and takes it off the end of the order;
 * its outputs become the existing tensors. */
static int make_node(struct fuse *f, const struct match *m, const void *attr, struct node **out)
{
	struct graph *g = f->g;
	const struct fuse_term *to = m->p->to;
	struct graph_context saved = graph_enter(g, widest(m));
	int rc, ntensor = g->ntensor, nin = to->nin;
	tid in[MAX_TENSORS];
	if (m->p->across)
		g->cur_phase = m->node[0]->phase;
	for (int i = 0; i < to->nin; i++)
		in[i] = m->bind[to->in[i]];
	while (nin > 0 && in[nin - 1] == NONE)
		nin--;
	rc = graph_emit(g, m->p->op->name, attr, nin, in, 0, NULL);
	graph_leave(g, saved);
	TRY(rc);
	*out = g->node[--g->nnode];
	for (int i = 0; i < to->nout; i++) {
		const struct tensor *made = g->tensor[(*out)->out[i]];
		tid t = m->bind[to->out[i]];
		BUG_IF(t != NONE && (!shape_equal(&made->shape, &g->tensor[t]->shape) ||
		                     made->dtype != g->tensor[t]->dtype),
		       "output %d of '%s' is not what it replaces", i, m->p->op->name);
		(*out)->out[i] = t;
	}
	for (int i = to->nout; i < (*out)->nout; i++)    /* outputs that the rule does not have */
		(*out)->out[i] = NONE;
	g->ntensor = ntensor;
	return 0;
}

static int replace(struct fuse *f, const struct match *m, const void *attr, int from, int to)
{
	struct graph *g = f->g;
	struct node *made;
	int at = from;
	TRY(make_node(f, m, attr, &made));
	for (int k = 0; k < m->p->nfrom; k++) {
		count_uses(f, m->node[k], -1);
		for (int i = 0; i < m->node[k]->nout; i++)
			if (m->node[k]->out[i] != NONE)
				g->tensor[m->node[k]->out[i]]->producer = NONE;
	}
	count_uses(f, made, 1);
	for (int i = 0; i < f->nearly; i++)
		put(g, at++, f->early[i]);
	put(g, at++, made);
	for (int i = 0; i < f->nlate; i++)
		put(g, at++, f->late[i]);
	while (at <= to)
		put(g, at++, NULL);
	return 0;
}

/* Applies the rule at node `last` if it matches. */
static int apply(struct fuse *f, const struct fuse_pattern *p, int last, bool *done)
{
	struct match m = { .p = p };
	void *attr;
	int from = last;
	bool fits;
	for (m.swap = 0; m.swap < 1u << MAX_TERMS; m.swap++) {
		if (find(f->g, &m, f->g->node[last]) && is_private(f, &m) &&
		    is_of_one_type(f->g, &m) && agrees(&m))
			break;
		if (m.swap + 1 >= 1u << m.adds)
			return 0;
	}
	for (int k = 0; k < p->nfrom; k++)
		from = m.node[k]->id < from ? m.node[k]->id : from;
	if (!part(f, &m, from, last))
		return 0;
	TRY(make_attr(f->g, &m, &attr, &fits));
	if (!fits)
		return 0;
	*done = true;
	return replace(f, &m, attr, from, last);
}

static void close_gaps(struct graph *g)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		if (g->node[i])
			put(g, n++, g->node[i]);
	g->nnode = n;
}

static int apply_everywhere(struct fuse *f, const struct fuse_pattern *p)
{
	bool done = false;
	for (int i = 0; i < f->g->nnode; i++)
		if (f->g->node[i])
			TRY(apply(f, p, i, &done));
	if (done)
		close_gaps(f->g);
	return 0;
}

int pass_fuse(struct graph *g, struct pass_env *env)
{
	struct fuse f = { .g = g };
	struct fuse_pattern p;
	size_t ntensor = (size_t)g->ntensor + 1, nnode = (size_t)g->nnode + 1;
	int rc = 0;
	f.uses = mem_calloc(ntensor, sizeof *f.uses);
	f.derived = mem_calloc(ntensor, sizeof *f.derived);
	f.touched = mem_calloc(ntensor, sizeof *f.touched);
	f.early = mem_alloc(nnode * sizeof *f.early);
	f.late = mem_alloc(nnode * sizeof *f.late);
	for (int i = 0; i < g->nnode; i++)
		count_uses(&f, g->node[i], 1);
	for (int i = 0; rc == 0 && i < fuse_rules(); i++)
		if (fuse_rule(&p, i, env->backend))
			rc = apply_everywhere(&f, &p);
	mem_free(f.uses);
	mem_free(f.derived);
	mem_free(f.touched);
	mem_free(f.early);
	mem_free(f.late);
	return rc;
}
