/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Common subexpression elimination: of several nodes with equal op, attributes and inputs, which
 * compute the same, only the first is kept. This matters for derivatives of derivatives, which
 * repeat most of what the derivatives before them computed: each reverse pass emits the slopes of
 * the activations again, and the passes with respect to x and y share everything that does not
 * depend on x or y.
 *
 * The nodes are visited once, in order. The inputs of a node are replaced first, so that chains of
 * equal nodes merge in one traversal; a hash table finds the candidates. Inputs of add, minimum and
 * maximum are compared as a set. The outputs of multiply, square and scale are represented as a
 * product of a number and factors, and equal products merge in whatever order they were multiplied:
 * the second derivative of a network is symmetric, so that both halves of a third derivative
 * multiply the same tensors by the same weights.
 *
 * Random ops merge too: their numbers are a function of the key, which is an input, and of their
 * attributes. Some nodes are not merged: nodes that write one of their inputs, wait for other
 * ranks, or are kept for their own sake. A node whose output the host reads is not replaced by
 * another. Nodes of the update phase merge only with one another, because with gradient
 * accumulation they run separately from the rest. */
#include "pass/pass.h"

#include <string.h>

#include "graph/attr.h"
#include "graph/deps.h"
#include "op/lib/elementwise.h"
#include "pass/rewrite.h"

/* Longer products are treated as single factors. */
#define MOST_FACTORS 32

struct product {
	double number;
	int n;
	tid factor[];                /* in ascending order */
};

struct cse {
	struct graph *g;
	struct arena *scratch;
	int ntensor;
	tid *same;                   /* by tensor: an equal one, or NONE */
	const struct product **product;      /* by tensor; NULL: it is a factor */
	nid *slot;                   /* hash table with open addressing of nodes that are kept */
	int cap;                     /* its size, a power of two */
};

static bool may_merge(const struct graph *g, const struct node *n)
{
	if (n->op->flags & (OP_UPDATE | OP_NODCE | OP_MEET | OP_SETUP))
		return false;
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE && overwrites(g, n, i))
			return false;
	return true;
}

/* --- products --- */

static double number_of(const struct cse *c, tid t)
{
	return c->product[t] ? c->product[t]->number : 1;
}

/* Copies the factors of t. */
static int factors_of(const struct cse *c, tid t, tid *factor)
{
	const struct product *p = c->product[t];
	if (!p) {
		*factor = t;
		return 1;
	}
	memcpy(factor, p->factor, (size_t)p->n * sizeof *factor);
	return p->n;
}

static void sort(tid *v, int n)
{
	for (int i = 1; i < n; i++)
		for (int k = i; k > 0 && v[k] < v[k - 1]; k--) {
			tid t = v[k];
			v[k] = v[k - 1];
			v[k - 1] = t;
		}
}

/* If n multiplies, records the factors of its output. */
static void note_product(struct cse *c, const struct node *n)
{
	const bool scale = rewrite_is(n, "scale"), square = rewrite_is(n, "square");
	const struct scale_attr *at = n->attr;
	tid factor[2 * MOST_FACTORS];
	double number;
	int count;
	if (!square && !rewrite_is(n, "multiply") && !(scale && at->shift == 0))
		return;
	number = number_of(c, n->in[0]) * (scale ? at->factor : number_of(c, n->in[square ? 0 : 1]));
	count = factors_of(c, n->in[0], factor);
	if (!scale)
		count += factors_of(c, n->in[square ? 0 : 1], factor + count);
	if (count > MOST_FACTORS)
		return;
	sort(factor, count);
	struct product *p =
		arena_alloc(c->scratch, sizeof *p + (size_t)count * sizeof *p->factor);
	p->number = number;
	p->n = count;
	memcpy(p->factor, factor, (size_t)count * sizeof *factor);
	c->product[n->out[0]] = p;
}

static bool same_product(const struct product *p, const struct product *q)
{
	return p->n == q->n && p->number == q->number &&
	       memcmp(p->factor, q->factor, (size_t)p->n * sizeof *p->factor) == 0;
}

/* --- nodes --- */

static const struct product *product_of(const struct cse *c, const struct node *n)
{
	return n->nout == 1 && n->out[0] != NONE ? c->product[n->out[0]] : NULL;
}

static bool is_commutative(const struct node *n)
{
	return rewrite_is(n, "add") || rewrite_is(n, "minimum") || rewrite_is(n, "maximum") ||
	       rewrite_is(n, "multiply");
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9E3779B97F4A7C15;
	return h ^ h >> 29;
}

/* A hash; equal nodes have equal hashes. It does not depend on the order of inputs. */
static uint64_t hash_of(const struct cse *c, const struct node *n)
{
	const struct product *p = product_of(c, n);
	const int count = p ? p->n : n->nin;
	const tid *in = p ? p->factor : n->in;
	uint64_t sum = 0;
	for (int i = 0; i < count; i++)
		sum += mix(1, (uint64_t)in[i]);
	return mix(mix(mix(1, p ? 0 : (uint64_t)(uintptr_t)n->op), (uint64_t)count), sum);
}

static bool same_inputs(const struct node *a, const struct node *b)
{
	if (a->nin != b->nin)
		return false;
	if (is_commutative(a) && a->in[0] == b->in[1] && a->in[1] == b->in[0])
		return true;
	return memcmp(a->in, b->in, (size_t)a->nin * sizeof *a->in) == 0;
}

static bool same_values(const struct cse *c, const struct node *a, const struct node *b)
{
	const struct product *p = product_of(c, a), *q = product_of(c, b);
	if (p || q)
		return p && q && same_product(p, q);
	return a->op == b->op && a->nout == b->nout && same_inputs(a, b) &&
	       attr_agree(a->op, a->attr, b->op, b->attr);
}

/* Whether b may be removed and its readers read a instead. */
static bool stands_for(const struct cse *c, const struct node *a, const struct node *b)
{
	if ((a->phase == PHASE_UPDATE) != (b->phase == PHASE_UPDATE) || !same_values(c, a, b))
		return false;
	for (int i = 0; i < a->nout; i++) {
		const struct tensor *x, *y;
		if (b->out[i] == NONE)
			continue;
		if (a->out[i] == NONE)
			return false;
		x = c->g->tensor[a->out[i]];
		y = c->g->tensor[b->out[i]];
		if (y->output || x->dtype != y->dtype || !shape_equal(&x->shape, &y->shape) ||
		    (x->grad_of != NONE && y->grad_of != NONE && x->grad_of != y->grad_of))
			return false;
	}
	return true;
}

/* Finds an earlier node that is equal to n; if there is none, adds n to the table. */
static const struct node *find(struct cse *c, const struct node *n)
{
	for (uint64_t i = hash_of(c, n);; i++) {
		nid *slot = &c->slot[i & (uint64_t)(c->cap - 1)];
		if (*slot == NONE) {
			*slot = n->id;
			return NULL;
		}
		if (stands_for(c, c->g->node[*slot], n))
			return c->g->node[*slot];
	}
}

static void merge(struct cse *c, const struct node *kept, const struct node *n)
{
	for (int i = 0; i < n->nout; i++) {
		struct tensor *x;
		if (n->out[i] == NONE)
			continue;
		x = c->g->tensor[kept->out[i]];
		c->same[n->out[i]] = x->id;
		if (x->grad_of == NONE)
			x->grad_of = c->g->tensor[n->out[i]]->grad_of;
	}
}

static void visit(struct cse *c, struct rewrite *r, struct node *n)
{
	const struct node *kept;
	rewrite_operands(c->g, n, c->same, c->ntensor);
	if (!may_merge(c->g, n))
		return;
	note_product(c, n);
	kept = find(c, n);
	if (!kept)
		return;
	merge(c, kept, n);
	rewrite_drop(r, n);
}

int pass_cse(struct graph *g, struct pass_env *env)
{
	struct cse c = { .g = g, .scratch = arena_new(), .ntensor = g->ntensor, .cap = 64 };
	struct rewrite r;
	while (c.cap < 2 * g->nnode)
		c.cap *= 2;
	c.product = ARENA_ARRAY(c.scratch, const struct product *, g->ntensor + 1);
	c.same = ARENA_ARRAY(c.scratch, tid, g->ntensor + 1);
	c.slot = ARENA_ARRAY(c.scratch, nid, c.cap);
	for (tid t = 0; t < g->ntensor; t++)
		c.same[t] = NONE;
	for (int i = 0; i < c.cap; i++)
		c.slot[i] = NONE;
	rewrite_begin(&r, g);
	for (int i = 0; i < r.nnode; i++)
		visit(&c, &r, g->node[i]);
	arena_free(c.scratch);
	return rewrite_commit(&r, 0);
}
