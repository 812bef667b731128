/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A node in bytes, and back. Members are set one by one in zeroed memory, so that equal problems
 * have equal bytes. */
#include "backend/proof/proof.h"

#include <string.h>

#include "backend/device.h"
#include "base/err.h"
#include "graph/attr.h"
#include "yaml/ytree.h"

static const char *const fault_text[PROOF_FAULTS] = {
	[PROOF_NONE] = "right",
	[PROOF_VALUE] = "wrong values",
	[PROOF_UNWRITTEN] = "values that are not written or not finite",
	[PROOF_PADDING] = "padding that is not 0",
	[PROOF_BITS] = "other bits the second time",
	[PROOF_THREADS] = "other bits with one thread",
	[PROOF_OUTSIDE] = "writes outside of its memory",
	[PROOF_CRASH] = "ends the process",
	[PROOF_HANG] = "does not return",
	[PROOF_REFUSED] = "is refused by its library",
	[PROOF_UNKNOWN] = "not proven",
};

const char *proof_fault_text(enum proof_fault f)
{
	return fault_text[f];
}

enum proof_fault proof_fault_find(const char *text)
{
	int f = 0;
	while (f < PROOF_FAULTS && strcmp(fault_text[f], text) != 0)
		f++;
	return (enum proof_fault)f;
}

static void set_shape(struct shape *to, const struct shape *s)
{
	to->nd = s->nd;
	for (int d = 0; d < s->nd; d++)
		to->d[d] = s->d[d];
}

static void set_layout(struct layout *to, const struct layout *l)
{
	to->set = l->set;
	to->nd = l->nd;
	to->nblk = l->nblk;
	for (int d = 0; d < l->nd; d++) {
		to->dims[d] = l->dims[d];
		to->stride[d] = l->stride[d];
	}
	for (int b = 0; b < l->nblk; b++) {
		to->blk[b] = l->blk[b];
		to->blk_dim[b] = l->blk_dim[b];
	}
}

static bool set_tensor(struct proof_tensor *to, const struct graph *g, tid t)
{
	if (t == NONE)
		return true;
	const struct tensor *x = graph_t(g, t);
	to->there = 1;
	to->dtype = x->dtype;
	set_shape(&to->shape, &x->shape);
	set_layout(&to->layout, &x->layout);
	return x->layout.set && (x->dtype == DTYPE_F32 || dtype_is_16bit(x->dtype));
}

static bool set_text(char *to, size_t n, const char *from)
{
	if (strlen(from) >= n)
		return false;
	memcpy(to, from, strlen(from));
	return true;
}

static bool set_attr(struct proof_case *c, const struct node *n)
{
	struct buf text = BUF_INIT;
	if (n->op->attr_size)
		attr_text(&text, n->op, n->attr, true);
	const bool fits = set_text(c->attr, sizeof c->attr, text.data ? text.data : "");
	buf_release(&text);
	return fits;
}

bool proof_case_of(struct proof_case *c, const struct kplan *k)
{
	const struct node *n = k->n;
	memset(c, 0, sizeof *c);
	if (!k->choice.impl || !n->op->expect || n->nin > PROOF_IN || n->nout > PROOF_OUT)
		return false;
	c->problem = k->choice.problem;
	c->gpu = k->dev->driver != NULL;
	c->threads = c->gpu ? 0 : k->dev->threads;
	c->tf32 = c->gpu && k->env->tf32;
	c->compute = k->env->compute;
	c->winograd = k->env->winograd;
	c->deterministic = k->env->deterministic;
	c->any_threads = k->env->any_threads;
	c->any_extent = k->env->any_extent;
	c->bf16_ratio = k->env->bf16_ratio;
	c->nin = n->nin;
	c->nout = n->nout;
	bool fits = set_text(c->op, sizeof c->op, n->op->name) &&
	            set_text(c->impl, sizeof c->impl, k->choice.impl) && set_attr(c, n);
	for (int i = 0; i < n->nin; i++)
		fits = fits && set_tensor(&c->in[i], k->g, n->in[i]);
	for (int i = 0; i < n->nout; i++)
		fits = fits && set_tensor(&c->out[i], k->g, n->out[i]);
	return fits;
}

static void put_attr(const struct proof_case *c, struct buf *out)
{
	struct graph *g;
	struct plan_env env;
	const int mark = err_count();
	struct buf text = BUF_INIT;
	if (proof_case_graph(c, &g, &env) == 0) {
		const struct node *n = g->node[0];
		if (n->op->attr_size)
			attr_text(&text, n->op, n->attr, true);
		graph_free(g);
	}
	err_truncate(mark);
	if (text.len)
		buf_printf(out, " (%s)", text.data);
	buf_release(&text);
}

void proof_case_text(const struct proof_case *c, struct buf *out)
{
	char text[SHAPE_TEXT];
	buf_puts(out, c->op);
	for (int i = 0; i < c->nin; i++)
		if (c->in[i].there)
			buf_printf(out, "%s %s %s", i ? "," : "", shape_text(&c->in[i].shape, text),
			           dtype_name(c->in[i].dtype));
	put_attr(c, out);
}

static int read_attr(const struct proof_case *c, const struct op *op, struct arena *a, void **attr)
{
	struct ynode *map;
	*attr = NULL;
	if (!op->attr_size)
		return 0;
	*attr = arena_alloc(a, op->attr_size);
	memset(*attr, 0, op->attr_size);
	TRY(ytree_parse(a, "proof", arena_printf(a, "{%s}", c->attr), &map));
	return schema_read(a, map, op->attrs, op->name, &map->loc, *attr);
}

static int make_inputs(struct graph *g, const struct proof_case *c, tid *in)
{
	for (int i = 0; i < c->nin; i++) {
		char name[16];
		in[i] = NONE;
		if (!c->in[i].there)
			continue;
		snprintf(name, sizeof name, "in%d", i);
		TRY(graph_input(g, name, DTYPE_F32, &c->in[i].shape, &in[i]));
	}
	return 0;
}

/* What passes decide after a node is made. */
static void set_types(struct graph *g, const struct proof_tensor *from, const tid *t, int n)
{
	for (int i = 0; i < n; i++)
		if (from[i].there && t[i] != NONE) {
			graph_t(g, t[i])->dtype = from[i].dtype;
			graph_t(g, t[i])->layout = from[i].layout;
		}
}

static int make_node(struct graph *g, const struct proof_case *c)
{
	const struct op *op = op_find(c->op);
	tid in[PROOF_IN], out[PROOF_OUT];
	void *attr;
	if (!op)
		return ERR(E_DATA, NULL, "there is no op '%s'", c->op);
	TRY(read_attr(c, op, g->arena, &attr));
	TRY(make_inputs(g, c, in));
	TRY(graph_emit(g, c->op, attr, c->nin, in, c->nout, out));
	for (int i = 0; i < c->nout; i++)
		if (c->out[i].there && !shape_equal(&graph_t(g, out[i])->shape, &c->out[i].shape))
			return ERR(E_DATA, NULL, "'%s' makes another shape", c->op);
	set_types(g, c->in, in, c->nin);
	set_types(g, c->out, out, c->nout);
	return 0;
}

int proof_case_graph(const struct proof_case *c, struct graph **g, struct plan_env *env)
{
	*env = plan_env_default;
	env->compute = c->compute;
	env->tf32 = c->tf32;
	env->winograd = c->winograd;
	env->deterministic = c->deterministic;
	env->any_threads = c->any_threads;
	env->any_extent = c->any_extent;
	env->bf16_ratio = c->bf16_ratio;
	*g = graph_new();
	(*g)->cur_name = "proof";
	const int rc = make_node(*g, c);
	if (rc < 0)
		graph_free(*g);
	return rc;
}
