/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The graph as a container: tensors by id, names, constants, and emitting nodes. Emitting is where
 * an op's shape rule runs, so a graph that was built at all has shapes everywhere. After the
 * public struct are two hash tables: names of params, states and inputs to ids, and op names to
 * records (the registry itself is a list). */
#include "graph/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "graph/attr.h"
#include "graph/derive.h"

#define OP_CACHE 256             /* power of two */
/* The most outputs of an op whose shape rule decides how many there are: as many as it has inputs,
 * but at least this many. */
#define MANY_OUT 64

struct graph_own {
	struct graph g;              /* first member: own() casts a graph to this struct */
	tid *name;                   /* open addressing by hash of the name; NONE: free */
	int name_cap, nname;         /* cap is a power of two */
	tid *scalar;                 /* the shared F32 constants */
	int nscalar, scalar_cap;
	const struct op *op[OP_CACHE];
};

static struct graph_own *own(struct graph *g)
{
	return (struct graph_own *)g;
}

struct graph *graph_new(void)
{
	struct graph_own *o = mem_calloc(1, sizeof *o);
	o->g.arena = arena_new();
	o->g.arena_peak_node = NONE;
	o->g.backend = NONE;
	o->g.cur_name = "";
	return &o->g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	arena_free(g->arena);
	mem_free(g->node);
	mem_free(g->tensor);
	mem_free(own(g)->name);
	mem_free(own(g)->scalar);
	mem_free(own(g));
}

/* --- names --- */

static int name_slot(const struct graph_own *o, const char *name)
{
	int mask = o->name_cap - 1, i = (int)(hash_name(name) & (uint64_t)mask);
	while (o->name[i] != NONE && strcmp(o->g.tensor[o->name[i]]->name, name) != 0)
		i = (i + 1) & mask;
	return i;
}

static void name_grow(struct graph_own *o)
{
	tid *old = o->name;
	int n = o->name_cap;
	o->name_cap = n ? n * 2 : 64;
	o->name = mem_alloc((size_t)o->name_cap * sizeof *o->name);
	for (int i = 0; i < o->name_cap; i++)
		o->name[i] = NONE;
	for (int i = 0; i < n; i++)
		if (old[i] != NONE)
			o->name[name_slot(o, o->g.tensor[old[i]]->name)] = old[i];
	mem_free(old);
}

static void name_add(struct graph_own *o, tid t)
{
	if (2 * (o->nname + 1) > o->name_cap)
		name_grow(o);
	o->name[name_slot(o, o->g.tensor[t]->name)] = t;
	o->nname++;
}

tid graph_find(const struct graph *g, const char *name)
{
	const struct graph_own *o = (const struct graph_own *)g;
	return o->nname ? o->name[name_slot(o, name)] : NONE;
}

void graph_rename(struct graph *g, tid t, const char *name)
{
	BUG_IF(graph_find(g, name) != NONE, "two tensors named '%s'", name);
	graph_t(g, t)->name = name;
	name_add(own(g), t);
}

/* --- tensors --- */

struct tensor *graph_tensor_new(struct graph *g, enum role role, enum dtype dtype,
                                const struct shape *s, const char *name)
{
	struct tensor *t = ARENA_NEW(g->arena, struct tensor);
	if (g->ntensor == g->tensor_cap) {
		g->tensor_cap = g->tensor_cap ? g->tensor_cap * 2 : 256;
		g->tensor = mem_realloc(g->tensor, (size_t)g->tensor_cap * sizeof(struct tensor *));
	}
	t->id = g->ntensor;
	t->name = arena_strdup(g->arena, name ? name : "");
	t->shape = *s;
	t->dtype = dtype;
	t->role = role;
	t->requires_grad = role == ROLE_PARAM;
	t->alias = t->grad_of = t->view = NONE;
	t->view_axis = 1;
	t->producer = NONE;
	t->loc = g->cur_loc;
	t->offset = -1;
	g->tensor[g->ntensor++] = t;
	return t;
}

/* No machine can store a tensor of more values, and libraries count wrongly before they say so. */
#define MAX_VALUES ((int64_t)1 << 44)

static int check_count(const struct graph *g, const char *what, const struct shape *s)
{
	char text[SHAPE_TEXT];
	if (shape_count(s) <= MAX_VALUES)
		return 0;
	return ERR(E_UNSUPPORTED, &g->cur_loc,
	           "%s of shape %s has more than the %lld values that a tensor can have", what,
	           shape_text(s, text), (long long)MAX_VALUES);
}

static int check_outputs(const struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE)
			TRY(check_count(g, "a result", &graph_t(g, n->out[i])->shape));
	return 0;
}

/* A tensor the host or the store knows by name: made, or found again with the same properties. */
static int named(struct graph *g, enum role role, const char *name, enum dtype dtype,
                 const struct shape *s, struct init init, tid *out)
{
	tid t = graph_find(g, name);
	char a[SHAPE_TEXT], b[SHAPE_TEXT];
	if (t == NONE) {
		TRY(check_count(g, role == ROLE_INPUT ? "a batch" : "a parameter", s));
		struct tensor *x = graph_tensor_new(g, role, dtype, s, name);
		x->init = init;
		name_add(own(g), x->id);
		*out = x->id;
		return 0;
	}
	*out = t;
	if (!shape_equal(&graph_t(g, t)->shape, s))
		return ERR(E_SHAPE, &g->cur_loc, "'%s' has shape %s here and %s before", name,
		           shape_text(s, a), shape_text(&graph_t(g, t)->shape, b));
	if (graph_t(g, t)->role != role || graph_t(g, t)->dtype != dtype)
		return ERR(E_CONFIG, &g->cur_loc, "'%s' is used for two different things", name);
	return 0;
}

int graph_param(struct graph *g, const char *name, enum dtype dtype, const struct shape *s,
                struct init init, tid *out)
{
	return named(g, ROLE_PARAM, name, dtype, s, init, out);
}

int graph_state(struct graph *g, const char *name, enum dtype dtype, const struct shape *s,
                struct init init, tid *out)
{
	return named(g, ROLE_STATE, name, dtype, s, init, out);
}

int graph_input(struct graph *g, const char *name, enum dtype dtype, const struct shape *s,
                tid *out)
{
	return named(g, ROLE_INPUT, name, dtype, s, (struct init){ 0 }, out);
}

tid graph_constant(struct graph *g, enum dtype dtype, const struct shape *s, const void *value)
{
	struct tensor *t = graph_tensor_new(g, ROLE_CONSTANT, dtype, s, "constant");
	t->value = arena_copy(g->arena, value, (size_t)shape_count(s) * dtype_size(dtype));
	return t->id;
}

double tensor_number(const struct tensor *x)
{
	return x->exact ? *x->exact : dtype_get(x->dtype, x->value, 0);
}

tid graph_floats(struct graph *g, const struct shape *s, const double *value)
{
	const int64_t n = shape_count(s);
	struct tensor *t = graph_tensor_new(g, ROLE_CONSTANT, DTYPE_F32, s, "constant");
	void *floats = arena_alloc(g->arena, (size_t)n * sizeof(float));
	dtype_convert(DTYPE_F32, floats, DTYPE_F64, value, n);
	t->value = floats;
	t->exact = arena_copy(g->arena, value, (size_t)n * sizeof *value);
	return t->id;
}

tid graph_scalar(struct graph *g, double value)
{
	struct graph_own *o = own(g);
	struct shape s = { 0 };
	for (int i = 0; i < o->nscalar; i++) {
		const struct tensor *t = g->tensor[o->scalar[i]];
		if (t->dtype == DTYPE_F32 && !memcmp(t->exact, &value, sizeof value))
			return t->id;
	}
	if (o->nscalar == o->scalar_cap) {
		o->scalar_cap = o->scalar_cap ? o->scalar_cap * 2 : 16;
		o->scalar = mem_realloc(o->scalar, (size_t)o->scalar_cap * sizeof *o->scalar);
	}
	o->scalar[o->nscalar] = graph_floats(g, &s, &value);
	return o->scalar[o->nscalar++];
}

tid graph_root(const struct graph *g, tid t)
{
	while (g->tensor[t]->alias != NONE)
		t = g->tensor[t]->alias;
	return g->tensor[t]->view == NONE ? t : g->tensor[t]->view;
}

bool node_reads_first(const struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && graph_t(g, graph_root(g, n->in[i]))->read_first)
			return true;
	return false;
}

/* --- nodes --- */

static const struct op *find_op(struct graph *g, const char *name)
{
	const struct op **slot = &own(g)->op[hash_name(name) & (OP_CACHE - 1)];
	if (!*slot || strcmp((*slot)->name, name) != 0)
		*slot = op_find(name);
	return *slot;
}

static int check_arity(struct graph *g, const struct op *op, int nin, const tid *in)
{
	if (nin < op->min_in)
		return ERR(E_CONFIG, &g->cur_loc, "'%s' needs %s%d input%s, not %d", op->name,
		           op->max_in > op->min_in ? "at least " : "", op->min_in,
		           op->min_in == 1 ? "" : "s", nin);
	if (nin > op->max_in)
		return ERR(E_CONFIG, &g->cur_loc, "'%s' takes %s%d input%s, not %d", op->name,
		           op->max_in > op->min_in ? "at most " : "", op->max_in,
		           op->max_in == 1 ? "" : "s", nin);
	for (int i = 0; i < nin; i++) {
		BUG_IF(in[i] == NONE && i < op->min_in, "'%s' without its input %d", op->name, i);
		BUG_IF(in[i] != NONE && (in[i] < 0 || in[i] >= g->ntensor), "'%s': no tensor %d",
		       op->name, in[i]);
	}
	return 0;
}

static int make_attr(struct graph *g, const struct op *op, const void *attr, void **out)
{
	char what[80];
	*out = NULL;
	if (!op->attr_size)
		return 0;
	if (attr) {
		*out = attr_copy(g->arena, op, attr);
		return 0;
	}
	snprintf(what, sizeof what, "'%s'", op->name);
	*out = arena_alloc(g->arena, op->attr_size);
	return schema_read(g->arena, NULL, op->attrs, what, &g->cur_loc, *out);
}

static void node_append(struct graph *g, struct node *n)
{
	if (g->nnode == g->node_cap) {
		g->node_cap = g->node_cap ? g->node_cap * 2 : 256;
		g->node = mem_realloc(g->node, (size_t)g->node_cap * sizeof(struct node *));
	}
	g->node[g->nnode++] = n;
}

bool passes_gradient(const struct node *n, int i)
{
	if (n->in[i] == NONE || (n->op->flags & (OP_NOGRAD | OP_UPDATE)))
		return false;
	return i >= 32 || !(n->op->nondiff >> i & 1);
}

/* Outputs need a gradient if something differentiable that goes in does. */
static bool wants_grad(const struct graph *g, const struct node *n)
{
	for (int i = 0; i < n->nin; i++)
		if (passes_gradient(n, i) && g->tensor[n->in[i]]->requires_grad)
			return true;
	return false;
}

/* The current name, copied unless the node before has the same. */
static const char *current_name(struct graph *g)
{
	const char *last = g->nnode ? g->node[g->nnode - 1]->name : "";
	if (!g->cur_name)
		return "";
	return !strcmp(last, g->cur_name) ? last : arena_strdup(g->arena, g->cur_name);
}

bool carries_gradient(const struct graph *g, const struct node *n, int i)
{
	if (n->out[i] == NONE || !dtype_is_float(g->tensor[n->out[i]]->dtype))
		return false;
	return i == 0 || (n->op->diff_out >> (i < 31 ? i : 31) & 1);
}

void derive_requires_grad(struct graph *g, const struct node *n)
{
	bool grad = wants_grad(g, n);
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE)
			g->tensor[n->out[i]]->requires_grad = grad && carries_gradient(g, n, i);
}

/* Sets what follows from the op's flags and the inputs,
 * once the shape rule has made the outputs. */
static void finish_outputs(struct graph *g, struct node *n)
{
	derive_requires_grad(g, n);
	if (n->op->flags & OP_VIEW)
		g->tensor[n->out[0]]->alias = n->in[0];
}

static int most_outputs(const struct op *op, int nin)
{
	if (op->nout >= 0)
		return op->nout;
	return nin > MANY_OUT ? nin : MANY_OUT;
}

static struct node *node_new(struct graph *g, const struct op *op, int nin, const tid *in)
{
	struct node *n = ARENA_NEW(g->arena, struct node);
	n->id = g->nnode;
	n->op = op;
	n->nin = nin;
	n->in = arena_copy(g->arena, in, (size_t)nin * sizeof *in);
	n->nout = op->nout < 0 ? 0 : op->nout;
	n->out = ARENA_ARRAY(g->arena, tid, most_outputs(op, nin));
	for (int i = 0; i < most_outputs(op, nin); i++)
		n->out[i] = NONE;
	n->name = current_name(g);
	n->phase = g->cur_phase;
	n->loc = g->cur_loc;
	n->join = NONE;
	return n;
}

int graph_emit(struct graph *g, const char *name, const void *attr, int nin, const tid *in,
               int nout, tid *out)
{
	const struct op *op = find_op(g, name);
	int rc, ntensor = g->ntensor;
	struct node *n;
	if (!op)
		return ERR(E_BUG, &g->cur_loc, "no op is called '%s'", name);
	n = node_new(g, op, nin, in);
	rc = check_arity(g, op, nin, in);
	if (rc == 0)
		rc = make_attr(g, op, attr, &n->attr);
	if (rc == 0 && op->cut && g->whole && n->id < g->whole->n)
		op->cut(g, n, &g->whole->in[n->id], &g->whole->out[n->id]);
	if (rc == 0)
		rc = op->shape(g, n);
	if (rc == 0)
		rc = check_outputs(g, n);
	if (rc < 0) {
		g->ntensor = ntensor;    /* outputs a failed rule made already */
		err_locate(rc, &g->cur_loc);
		return err_context(rc, "in layer '%s' (op '%s')", n->name, op->name);
	}
	node_append(g, n);
	finish_outputs(g, n);
	BUG_IF(out && nout > n->nout, "'%s' has %d outputs, %d asked for", name, n->nout, nout);
	for (int i = 0; out && i < nout; i++)
		out[i] = n->out[i];
	return 0;
}

int graph_emit1(struct graph *g, const char *op, const void *attr, int nin, const tid *in, tid *out)
{
	return graph_emit(g, op, attr, nin, in, 1, out);
}

int graph_reshape(struct graph *g, const struct node *n)
{
	struct node made = *n;
	const int ntensor = g->ntensor;
	made.nout = n->op->nout < 0 ? 0 : n->op->nout;
	made.out = ARENA_ARRAY(g->arena, tid, most_outputs(n->op, n->nin));
	for (int i = 0; i < most_outputs(n->op, n->nin); i++)
		made.out[i] = NONE;
	int rc = n->op->shape(g, &made);
	for (int i = 0; rc == 0 && i < made.nout && i < n->nout; i++)
		if (n->out[i] != NONE && made.out[i] != NONE)
			g->tensor[n->out[i]]->shape = g->tensor[made.out[i]]->shape;
	g->ntensor = ntensor;
	return rc;
}

struct node *graph_copy(struct graph *g, const struct node *like, const tid *in)
{
	struct node *n = arena_copy(g->arena, like, sizeof *like);
	n->id = g->nnode;
	n->join = NONE;
	n->phase = g->cur_phase;
	n->in = arena_copy(g->arena, in, (size_t)like->nin * sizeof *in);
	n->out = arena_copy(g->arena, like->out, (size_t)like->nout * sizeof *in);
	for (int i = 0; i < n->nout; i++) {
		const struct tensor *from = n->out[i] == NONE ? NULL : g->tensor[n->out[i]];
		struct tensor *t;
		if (!from)
			continue;
		t = graph_tensor_new(g, ROLE_ACTIVATION, from->dtype, &from->shape, from->name);
		t->layout = from->layout;
		t->loc = from->loc;
		t->producer = n->id;
		n->out[i] = t->id;
	}
	if (n->op->flags & OP_VIEW)
		g->tensor[n->out[0]]->alias = n->in[0];
	node_append(g, n);
	return n;
}

/* --- used by shape rules --- */

/* Outputs are made in ascending order. Beyond most_outputs the room is doubled. */
static void make_room_for_output(struct graph *g, struct node *n, int i)
{
	int room = most_outputs(n->op, n->nin);
	while (room < i)
		room *= 2;
	if (n->op->nout >= 0 || i != room)
		return;
	tid *out = ARENA_ARRAY(g->arena, tid, 2 * room);
	for (int k = 0; k < 2 * room; k++)
		out[k] = k < n->nout ? n->out[k] : NONE;
	n->out = out;
}

int graph_out(struct graph *g, struct node *n, int i, enum dtype dtype, const struct shape *s)
{
	struct tensor *t;
	char name[256];
	BUG_IF(i < 0 || (n->op->nout >= 0 && i >= n->op->nout), "'%s' has no output %d", n->op->name,
	       i);
	for (int d = 0; d < s->nd; d++)
		if (s->d[d] < 1)
			return ERR(E_SHAPE, &g->cur_loc,
			           "'%s' would have an output of size %" PRId64 " along axis %d",
			           n->op->name, s->d[d], d);
	if (shape_count(s) > INT64_MAX / 64)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' would have an output too large to count",
		           n->op->name);
	snprintf(name, sizeof name, i ? "%s:%s%d" : "%s:%s", n->name, n->op->name, i);
	t = graph_tensor_new(g, ROLE_ACTIVATION, dtype, s, name);
	t->producer = n->id;
	make_room_for_output(g, n, i);
	n->out[i] = t->id;
	if (i >= n->nout)
		n->nout = i + 1;
	return 0;
}

int graph_out_alias(struct graph *g, struct node *n, int i, int in)
{
	const struct tensor *t = g->tensor[n->in[in]];
	TRY(graph_out(g, n, i, t->dtype, &t->shape));
	g->tensor[n->out[i]]->alias = t->id;
	return 0;
}

const struct shape *node_in_shape(const struct graph *g, const struct node *n, int i)
{
	return &g->tensor[n->in[i]]->shape;
}

const struct shape *node_out_shape(const struct graph *g, const struct node *n, int i)
{
	return &g->tensor[n->out[i]]->shape;
}
