/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses a physical layout for every tensor in one traversal along the order. Each node is queried
 * for its preferred layouts. Its outputs get theirs; an input in another layout is reordered
 * directly before its first such use, and later readers of the same layout share the copy. A param
 * keeps the layout that its first reader prefers for the whole run: its gradient is offered the
 * same layout, its moments use it in the update, and nothing is converted during a step. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/layout_rule.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

/* A reordered copy of a tensor. */
struct copy {
	tid t;
	enum phase phase;
	int next;                    /* index of the next copy of the same tensor, or NONE */
};

struct choice {
	struct graph *g;
	struct rewrite edit;
	struct pass_env *env;
	struct arena *scratch;       /* for choose() */
	struct copy *copy;
	int ncopy, copy_cap;
	int *first_copy;             /* by tensor, or NONE */
	struct layout *want;         /* of the node at hand: inputs, then outputs */
	int want_cap;
};

static bool is_unset(const struct graph *g, tid t)
{
	return !g->tensor[t]->layout.set;
}

/* --- preferences --- */

/* The layout that KL_SAME selects: in updates, that of the updated state; else the one that most of
 * the inputs in question have (at a tie the first), preferring gradients that have their param's
 * layout. Row-major if no tensor has a layout. */
static struct layout shared_layout(const struct graph *g, const struct node *n)
{
	const struct layout *best = NULL;
	int best_votes = 0;
	if ((n->op->flags & OP_UPDATE) && !is_unset(g, n->in[0]) && layout_shares(g, n, n->in[0]))
		return g->tensor[n->in[0]]->layout;
	for (int i = 0; i < n->nin; i++) {
		int votes = 0;
		if (n->in[i] == NONE || is_unset(g, n->in[i]) || !layout_shares(g, n, n->in[i]))
			continue;
		for (int k = 0; k < n->nin; k++)
			votes += n->in[k] != NONE && layout_equal(&g->tensor[n->in[k]]->layout,
			                                          &g->tensor[n->in[i]]->layout);
		if (votes > best_votes) {
			best = &g->tensor[n->in[i]]->layout;
			best_votes = votes;
		}
	}
	return best ? *best : layout_plain(layout_shared_shape(g, n));
}

static void want_fixed(const struct graph *g, const struct node *n, enum kernel_layout kl,
                       struct layout *in, struct layout *out)
{
	struct layout same = { 0 };
	if (kl == KL_SAME && layout_shared_shape(g, n))
		same = shared_layout(g, n);
	for (int i = 0; i < n->nin + n->nout; i++) {
		tid t = i < n->nin ? n->in[i] : n->out[i - n->nin];
		struct layout *w = i < n->nin ? &in[i] : &out[i - n->nin];
		if (t == NONE)
			continue;
		if (kl == KL_SAME && layout_shares(g, n, t))
			*w = same;
		else
			*w = kl == KL_NATIVE ? layout_native(&g->tensor[t]->shape)
			                     : layout_plain(&g->tensor[t]->shape);
	}
}

static int want_chosen(struct choice *c, struct node *n, struct layout *in, struct layout *out)
{
	struct graph *g = c->g;
	struct kplan k = { .g = g, .n = n, .dev = c->env->dev, .env = c->env->plan,
		.arena = c->scratch };
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE)
			in[i] = g->tensor[n->in[i]]->layout;
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE && g->tensor[n->out[i]]->grad_of != NONE)
			out[i] = g->tensor[g->tensor[n->out[i]]->grad_of]->layout;
	TRY(n->op->kernel[c->env->backend].choose(&k, in, out));
	for (int i = 0; i < n->nin + n->nout; i++) {
		tid t = i < n->nin ? n->in[i] : n->out[i - n->nin];
		if (t != NONE && !(i < n->nin ? in[i] : out[i - n->nin]).set)
			return ERR(E_BUG, &n->loc, "'%s' chose no layout for tensor %d",
			           n->op->name, t);
	}
	return 0;
}

static int ask(struct choice *c, struct node *n, struct layout **in, struct layout **out)
{
	const struct kernel *k = &n->op->kernel[c->env->backend];
	int room = n->nin + n->nout;
	if (room > c->want_cap) {
		c->want_cap = room + 16;
		c->want = mem_realloc(c->want, (size_t)c->want_cap * sizeof *c->want);
	}
	memset(c->want, 0, (size_t)room * sizeof *c->want);
	*in = c->want;
	*out = c->want + n->nin;
	if (n->op->flags & OP_VIEW) {
		want_fixed(c->g, n, KL_PLAIN, *in, *out);
		return 0;
	}
	if (!k->run)
		return ERR(E_UNSUPPORTED, &n->loc, "'%s' cannot run on this device", n->op->name);
	if (k->layouts == KL_CHOOSE)
		return want_chosen(c, n, *in, *out);
	want_fixed(c->g, n, k->layouts, *in, *out);
	return 0;
}

/* --- reorders --- */

/* Finds a copy of t in this layout that node n may read. A copy made in the update phase is too
 * late for forward and backward. */
static tid find_copy(const struct choice *c, tid t, const struct layout *want, enum phase phase)
{
	for (int i = c->first_copy[t]; i != NONE; i = c->copy[i].next)
		if (layout_equal(&c->g->tensor[c->copy[i].t]->layout, want) &&
		    (phase == PHASE_UPDATE || c->copy[i].phase != PHASE_UPDATE))
			return c->copy[i].t;
	return NONE;
}

static int make_copy(struct choice *c, const struct node *n, tid t, const struct layout *want,
                     tid *out)
{
	rewrite_before(&c->edit, n, n);
	TRY(graph_emit1(c->g, "reorder", NULL, 1, &t, out));
	c->g->tensor[*out]->layout = *want;
	if (c->ncopy == c->copy_cap) {
		c->copy_cap = c->copy_cap ? c->copy_cap * 2 : 64;
		c->copy = mem_realloc(c->copy, (size_t)c->copy_cap * sizeof *c->copy);
	}
	c->copy[c->ncopy] = (struct copy){ *out, n->phase, c->first_copy[t] };
	c->first_copy[t] = c->ncopy++;
	return 0;
}

/* Whether n overwrites its input t, which then cannot be a copy. */
static bool is_updated(const struct graph *g, const struct node *n, tid t)
{
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE && g->tensor[n->out[i]]->alias == t &&
		    !(n->op->flags & OP_VIEW))
			return true;
	return false;
}

static int fix_input(struct choice *c, struct node *n, int i, const struct layout *want)
{
	struct graph *g = c->g;
	struct tensor *t = g->tensor[n->in[i]];
	tid copy;
	if (!t->layout.set)
		t->layout = *want;
	if (layout_equal(&t->layout, want))
		return 0;
	if (is_updated(g, n, t->id))
		return ERR(E_BUG, &n->loc, "'%s' cannot update '%s' in the layout it has",
		           n->op->name, t->name);
	copy = find_copy(c, t->id, want, n->phase);
	if (copy == NONE)
		TRY(make_copy(c, n, t->id, want, &copy));
	n->in[i] = copy;
	if ((n->op->flags & OP_VIEW) && i == 0)
		g->tensor[n->out[0]]->alias = copy;
	return 0;
}

static int fix_layouts(struct choice *c, struct node *n)
{
	struct graph *g = c->g;
	struct layout *in, *out;
	TRY(ask(c, n, &in, &out));
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE)
			TRY(fix_input(c, n, i, &in[i]));
	for (int i = 0; i < n->nout; i++) {
		struct tensor *t;
		if (n->out[i] == NONE)
			continue;
		t = g->tensor[n->out[i]];
		t->layout = t->alias == NONE ? out[i] : g->tensor[t->alias]->layout;
		if (n->op->flags & OP_VIEW)
			t->layout = out[i];
	}
	return 0;
}

/* Initial layouts: constants are row-major, and so are inputs, unless the host requires another
 * layout; params and states keep the layout of the store. */
static void preset(struct graph *g)
{
	for (int t = 0; t < g->ntensor; t++)
		if ((g->tensor[t]->role == ROLE_INPUT && is_unset(g, t)) ||
		    g->tensor[t]->role == ROLE_CONSTANT)
			g->tensor[t]->layout = layout_plain(&g->tensor[t]->shape);
}

static int finish(struct choice *c)
{
	struct graph *g = c->g;
	const char *wrong;
	tid t;
	for (t = 0; t < g->ntensor; t++)    /* a param without a reader */
		if (!g->tensor[t]->layout.set && g->tensor[t]->role != ROLE_ACTIVATION)
			g->tensor[t]->layout = layout_plain(&g->tensor[t]->shape);
	g->backend = (int)c->env->backend;
	for (int i = 0; i < g->nnode; i++) {
		wrong = layout_mismatch(g, g->node[i], c->env->backend, &t);
		if (wrong)
			return ERR(E_BUG, &g->node[i]->loc, "node %d '%s': '%s' %s", i,
			           g->node[i]->op->name, g->tensor[t]->name, wrong);
	}
	return 0;
}

/* The queries of the libraries take longer than the rest of the pass, so they run on all threads.
 * Neighbouring nodes are often equal, and equal queries are serialised, so threads take nodes
 * alternately from both halves of the list. */
static void foresee(struct graph *g, struct pass_env *env)
{
	struct kplan *k = mem_alloc(((size_t)g->nnode + 1) * sizeof *k);
	int n = 0;
	for (int i = 0; i < g->nnode; i++)
		if (g->node[i]->op->kernel[env->backend].foresee)
			k[n++] = (struct kplan){ .g = g, .n = g->node[i], .dev = env->dev, .env = env->plan };
#pragma omp parallel for schedule(dynamic)
	for (int i = 0; i < n; i++) {
		int at = i % 2 ? (n + 1) / 2 + i / 2 : i / 2;
		k[at].n->op->kernel[env->backend].foresee(&k[at]);
	}
	mem_free(k);
}

/* oneDNN uses 32-bit counts for the operations on one sample and on weights without a check: an
 * overflow to 0 makes it divide by zero. */
static int check_size(const struct graph *g, const struct node *n, tid t)
{
	const struct tensor *x = t == NONE ? NULL : g->tensor[t];
	char text[SHAPE_TEXT];
	if (!x)
		return 0;
	const bool shared = x->role == ROLE_PARAM || x->role == ROLE_STATE || x->shape.nd < 2;
	const int64_t values = shape_count(&x->shape) / (shared ? 1 : x->shape.d[0]);
	if (values <= UINT32_MAX)
		return 0;
	return ERR(E_UNSUPPORTED, &n->loc, "layer '%s': %s has %lld values%s, more than the %u "
	           "that the CPU's code takes", n->name, shape_text(&x->shape, text), (long long)values,
	           shared ? "" : " a sample", UINT32_MAX);
}

static int check_sizes(const struct graph *g, const struct pass_env *env)
{
	for (int i = 0; env->backend == BACKEND_CPU && i < g->nnode; i++) {
		const struct node *n = g->node[i];
		for (int k = 0; k < n->nin; k++)
			TRY(check_size(g, n, n->in[k]));
		for (int k = 0; k < n->nout; k++)
			TRY(check_size(g, n, n->out[k]));
	}
	return 0;
}

int pass_layout(struct graph *g, struct pass_env *env)
{
	TRY(check_sizes(g, env));
	struct choice c = { .g = g, .env = env, .scratch = arena_new() };
	int rc = 0;

	c.first_copy = mem_alloc(((size_t)g->ntensor + 1) * sizeof *c.first_copy);
	for (int t = 0; t < g->ntensor; t++)
		c.first_copy[t] = NONE;
	preset(g);
	foresee(g, env);
	rewrite_begin(&c.edit, g);
	for (int i = 0; rc == 0 && i < c.edit.nnode; i++) {
		rc = fix_layouts(&c, g->node[i]);
		if (rc < 0)
			err_context(rc, "in layer '%s'", g->node[i]->name);
	}
	rc = rewrite_commit(&c.edit, rc);
	if (rc == 0)
		rc = finish(&c);
	arena_free(c.scratch);
	mem_free(c.copy);
	mem_free(c.first_copy);
	mem_free(c.want);
	return rc;
}
