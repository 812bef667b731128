/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Persistent copies of weights in the type and layout that kernels read. A step in bf16 or fp16
 * would begin each forward convolution with a cast of its weights (which pairs input channels) and
 * each gradient to an input with a reorder (which pairs output channels), so that all weights are
 * read twice more from memory. Instead each copy is a state: `weight_copy` makes it once, forward
 * and backward read it, and the optimizer's node overwrites it together with the weight, block by
 * block while the new weights are in the cache:
 *
 *   w ── cast ── conv       becomes       w, s ── weight_copy (once) ── s' ── conv
 *   w, g ── sgd ── w'                     w, g, s' ── sgd ── w', s''
 *
 * The state is named after param, type and layout, so that plans for batches of another size share
 * it. The executor knows whether a copy is up to date (backend/exec.c): code that writes values in
 * the store calls store_touch, and a plan makes its copies anew if anything but its own update has
 * written. A copy takes as much memory as the cast, which lives from the forward to the backward
 * part; copies of reorders take more. So under a memory limit copies are made in each step.
 *
 * DeepCAM has 56 million parameters; its update takes an eighth of the step in float32 and a fifth
 * in bf16. Casts and reorders took 51 ms of a step on two cores, the copies take 10; with a memory
 * limit 27 ms and 0.18 less memory (dlx-train --bench --profile). */
#include "pass/pass.h"

#include <string.h>

#include "backend/device.h"
#include "base/err.h"
#include "op/reorder.h"
#include "op/update/copier.h"
#include "op/update/descent.h"
#include "op/update/update.h"
#include "pass/rewrite.h"

struct made {
	tid copy;
	int next;                    /* index of the next copy of the same param, or NONE */
};

struct copies {
	struct graph *g;
	struct rewrite edit;
	const struct device *dev;
	struct arena *scratch;
	bool keep;
	tid *param;                  /* by tensor: the trained param that it is or is a copy of; or
	                              * NONE */
	int *first;                  /* by param: its last copy in made[], or NONE */
	struct made *made;
	int nmade;
};

/* --- what can be --- */

static void find_updates(struct copies *c)
{
	const struct graph *g = c->g;
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		struct bundle_form f;
		for (int t = 0; descent_form(n, &f) && t < bundle_groups(n, f); t++) {
			tid w = n->in[f.head + t * f.in];
			if (graph_t(g, w)->role == ROLE_PARAM)
				c->param[w] = w;
		}
	}
}

/* Copies may have only direct readers, in forward and backward: a view would need memory within the
 * copy. */
static void find_readers(const struct copies *c, bool *other)
{
	const struct graph *g = c->g;
	for (int i = 0; i < g->nnode; i++)
		for (int k = 0; k < g->node[i]->nin; k++)
			if (g->node[i]->in[k] != NONE &&
			    (g->node[i]->phase == PHASE_UPDATE || (g->node[i]->op->flags & OP_VIEW)))
				other[g->node[i]->in[k]] = true;
}

static bool takes(const struct copies *c, tid param, const struct tensor *to)
{
	const struct tensor *from = graph_t(c->g, param);
	struct copier *copier;
	if (from->dtype != DTYPE_F32)
		return false;
	if (c->dev->backend == BACKEND_CUDA)     /* one pointer more in the update's table */
		return layout_equal(&from->layout, &to->layout) && c->first[param] == NONE;
	copier_new(&copier, c->scratch, (struct copier_side){ from, from->dtype },
	           (struct copier_side){ to, to->dtype }, false);
	return copier != NULL;
}

static bool is_copy(const struct copies *c, const struct node *n, const bool *other)
{
	if ((!rewrite_is(n, "cast") && !rewrite_is(n, "reorder")) || n->phase == PHASE_UPDATE)
		return false;
	const struct tensor *x = graph_t(c->g, n->out[0]);
	tid param = c->param[n->in[0]];
	return param != NONE && dtype_is_16bit(x->dtype) && !x->output && !other[x->id] &&
	       takes(c, param, x);
}

/* --- making them --- */

static const char *name_of(struct graph *g, const struct tensor *param, const struct tensor *x)
{
	char text[LAYOUT_TEXT];
	return arena_printf(g->arena, "%s.%s.%s", param->name, dtype_name(x->dtype),
	                    layout_text(&x->layout, &x->shape, text));
}

/* Two casts may be equal. */
static tid find_made(const struct copies *c, tid param, const struct tensor *x)
{
	for (int i = c->first[param]; i != NONE; i = c->made[i].next) {
		const struct tensor *y = graph_t(c->g, c->made[i].copy);
		if (y->dtype == x->dtype && layout_equal(&y->layout, &x->layout))
			return y->id;
	}
	return NONE;
}

static int make(struct copies *c, const struct node *n, tid param, tid *out)
{
	struct graph *g = c->g;
	const struct tensor *x = graph_t(g, n->out[0]);
	tid state;
	rewrite_before(&c->edit, g->node[0], n);
	TRY(graph_state(g, name_of(g, graph_t(g, param), x), x->dtype, &x->shape,
	                (struct init){ INIT_CONSTANT, 0 }, &state));
	TRY(graph_emit1(g, "weight_copy", NULL, 2, (tid[]){ param, state }, out));
	graph_t(g, state)->use = STATE_COPY;
	graph_t(g, state)->layout = graph_t(g, *out)->layout = x->layout;
	c->made[c->nmade] = (struct made){ *out, c->first[param] };
	c->first[param] = c->nmade++;
	return 0;
}

/* Replaces node n. */
static int replace(struct copies *c, const struct node *n)
{
	tid param = c->param[n->in[0]], copy = find_made(c, param, graph_t(c->g, n->out[0]));
	if (copy == NONE)
		TRY(make(c, n, param, &copy));
	rewrite_drop(&c->edit, n);
	c->param[n->out[0]] = param;
	rewrite_instead(&c->edit, n->out[0], copy);
	return 0;
}

/* A copy that is made in each step is made directly from the param: dlx's transposed cast from 4 to
 * 2 bytes is faster than oneDNN's reorder of a cast. */
static int shorten(struct copies *c, struct node *n)
{
	tid param = c->param[n->in[0]];
	if (n->in[0] != param) {
		struct cast_attr *at = ARENA_NEW(c->g->arena, struct cast_attr);
		at->dtype = (int)graph_t(c->g, n->out[0])->dtype;
		n->op = op_find("cast");
		n->attr = at;
		n->in[0] = param;
	}
	c->param[n->out[0]] = param;
	return 0;
}

/* --- the graph with them --- */

static int copies_of(const struct copies *c, const struct node *n, struct bundle_form f)
{
	int count = 0;
	for (int t = 0; t < bundle_groups(n, f); t++)
		for (int i = c->first[n->in[f.head + t * f.in]]; i != NONE; i = c->made[i].next)
			count++;
	return count;
}

/* Makes the update write the copies too. */
static int extend(const struct copies *c, struct node *n, struct bundle_form f)
{
	struct graph *g = c->g;
	const int more = copies_of(c, n, f), groups = bundle_groups(n, f);
	struct each_attr *at = n->attr;
	int k = 0;
	if (more == 0)
		return 0;
	tid *in = ARENA_ARRAY(g->arena, tid, n->nin + more),
	    *out = ARENA_ARRAY(g->arena, tid, n->nout + more);
	int64_t *of = ARENA_ARRAY(g->arena, int64_t, more);
	memcpy(in, n->in, sizeof *in * (size_t)n->nin);
	memcpy(out, n->out, sizeof *out * (size_t)n->nout);
	for (int t = 0; t < groups; t++)
		for (int i = c->first[in[f.head + t * f.in]]; i != NONE; i = c->made[i].next) {
			in[n->nin + k] = c->made[i].copy;
			of[k++] = t;
		}
	n->in = in;
	n->out = out;
	n->nin += more;
	n->nout += more;
	at->copy_of = (struct ints){ more, of };
	f.copy_of = at->copy_of;
	struct graph_context saved = graph_enter(g, n);
	int rc = 0;
	for (int i = 0; i < more && rc == 0; i++) {
		rc = graph_out_alias(g, n, bundle_copy_out(n, f, i), bundle_copy_in(n, f, i));
		if (rc == 0)
			graph_t(g, n->out[bundle_copy_out(n, f, i)])->layout =
				graph_t(g, in[bundle_copy_in(n, f, i)])->layout;
	}
	graph_leave(g, saved);
	return rc;
}

static int run(struct copies *c)
{
	struct graph *g = c->g;
	bool *other = ARENA_ARRAY(c->scratch, bool, g->ntensor);
	find_updates(c);
	find_readers(c, other);
	for (int i = 0; i < c->edit.nnode; i++)
		if (is_copy(c, g->node[i], other))
			TRY(c->keep ? replace(c, g->node[i]) : shorten(c, g->node[i]));
	for (int i = 0; i < c->edit.nnode; i++) {
		struct bundle_form f;
		if (descent_form(g->node[i], &f))
			TRY(extend(c, g->node[i], f));
	}
	return 0;
}

static tid *none(struct arena *a, int n)
{
	tid *t = ARENA_ARRAY(a, tid, n + 1);
	for (int i = 0; i < n; i++)
		t[i] = NONE;
	return t;
}

int copies_make(struct graph *g, const struct device *dev, bool keep)
{
	struct copies c = { .g = g, .dev = dev, .keep = keep, .scratch = arena_new() };
	c.param = none(c.scratch, g->ntensor);
	c.first = none(c.scratch, g->ntensor);
	c.made = ARENA_ARRAY(c.scratch, struct made, g->nnode + 1);
	rewrite_begin(&c.edit, g);
	int rc = rewrite_commit(&c.edit, run(&c));
	arena_free(c.scratch);
	return rc;
}
