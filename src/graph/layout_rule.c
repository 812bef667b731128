/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rules of enum kernel_layout as code. */
#include "graph/layout_rule.h"

const struct shape *layout_shared_shape(const struct graph *g, const struct node *n)
{
	const struct shape *out = n->nout && n->out[0] != NONE ? node_out_shape(g, n, 0) : NULL;
	if (out && n->nin == 0)
		return out;
	for (int i = 0; out && i < n->nin; i++)
		if (n->in[i] != NONE && shape_equal(node_in_shape(g, n, i), out))
			return out;
	return n->nin && n->in[0] != NONE ? node_in_shape(g, n, 0) : out;
}

bool layout_shares(const struct graph *g, const struct node *n, tid t)
{
	const struct shape *s = layout_shared_shape(g, n);
	return s && shape_equal(&g->tensor[t]->shape, s);
}

/* The first tensor of n that passes `wrong`, inputs first; NONE if there is none. */
static tid find_wrong(const struct graph *g, const struct node *n,
                      bool (*wrong)(const struct graph *, const struct node *,
                                    const struct tensor *, const struct layout *),
                      const struct layout *shared)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && wrong(g, n, g->tensor[n->in[i]], shared))
			return n->in[i];
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE && wrong(g, n, g->tensor[n->out[i]], shared))
			return n->out[i];
	return NONE;
}

static bool not_plain(const struct graph *g, const struct node *n, const struct tensor *t,
                      const struct layout *shared)
{
	return !layout_is_plain(&t->layout, &t->shape);
}

/* The layout of t if it were no view. */
static struct layout alone(const struct tensor *t)
{
	return t->view == NONE ? t->layout : layout_native(&t->shape);
}

static bool not_native(const struct graph *g, const struct node *n, const struct tensor *t,
                       const struct layout *shared)
{
	struct layout l = alone(t);
	return !layout_is_native(&l, &t->shape);
}

static bool not_same(const struct graph *g, const struct node *n, const struct tensor *t,
                     const struct layout *shared)
{
	struct layout l = alone(t);
	if (layout_shares(g, n, t->id))
		return !layout_equal(&l, shared);
	return !layout_is_plain(&t->layout, &t->shape);
}

/* The layout of any tensor that shares; unset if none does. */
static struct layout any_shared(const struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && layout_shares(g, n, n->in[i]))
			return alone(g->tensor[n->in[i]]);
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE && layout_shares(g, n, n->out[i]))
			return alone(g->tensor[n->out[i]]);
	return (struct layout){ 0 };
}

bool kernel_takes_view(const struct graph *g, const struct node *n, enum backend b, bool output,
                       int i)
{
	const struct kernel *k = &n->op->kernel[b];
	if ((n->op->flags & OP_VIEW) || (n->op->piece && n->op->piece(g, n, output ? 0 : i).axis != 1))
		return false;
	if (k->layouts == KL_SAME && !layout_shares(g, n, output ? n->out[i] : n->in[i]))
		return false;
	if (k->layouts != KL_SAME && k->layouts != KL_NATIVE)
		return false;
	return (output ? k->slice_out : k->slice_in) >> (i < 31 ? i : 31) & 1;
}

/* A view where the kernel takes none; NONE if there is none. */
static tid wrong_view(const struct graph *g, const struct node *n, enum backend b)
{
	for (int i = 0; i < n->nin + n->nout; i++) {
		bool output = i >= n->nin;
		tid t = output ? n->out[i - n->nin] : n->in[i];
		if (t != NONE && view_is_strided(g->tensor[t]) &&
		    !kernel_takes_view(g, n, b, output, output ? i - n->nin : i))
			return t;
	}
	return NONE;
}

const char *layout_mismatch(const struct graph *g, const struct node *n, enum backend b, tid *which)
{
	static const char *const text[] = {
		[KL_PLAIN] = "is not row-major",
		[KL_SAME] = "has another layout than the rest",
		[KL_NATIVE] = "is not native",
	};
	enum kernel_layout kl = n->op->flags & OP_VIEW ? KL_PLAIN : n->op->kernel[b].layouts;
	struct layout shared;
	switch (kl) {
	case KL_PLAIN: *which = find_wrong(g, n, not_plain, NULL); break;
	case KL_NATIVE: *which = find_wrong(g, n, not_native, NULL); break;
	case KL_SAME:
		shared = any_shared(g, n);
		*which = find_wrong(g, n, not_same, &shared);
		break;
	case KL_CHOOSE: *which = NONE; return NULL;
	}
	if (*which == NONE && (*which = wrong_view(g, n, b)) != NONE)
		return "is a window, which the kernel does not take";
	return *which == NONE ? NULL : text[kl];
}
