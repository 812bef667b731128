/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The invariants of graph.h, checked after every pass. Rules come in groups: tensors alone, nodes
 * alone, order, storage, layouts, memory (memcheck.c). The first broken one is reported as E_BUG
 * with the node, the tensor and the rule. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/deps.h"
#include "graph/layout_rule.h"
#include "graph/memcheck.h"
#include "graph/verify.h"
#include "graph/view.h"

#define BAD_TENSOR(t, ...) return bad_tensor((t), __FILE__, __LINE__, __VA_ARGS__)
#define BAD_NODE(n, ...) return bad_node((n), __FILE__, __LINE__, __VA_ARGS__)

static int bad_tensor(const struct tensor *t, const char *file, int line, const char *rule)
{
	return err_raise(E_BUG, &t->loc, file, line, "tensor %d '%s': %s", t->id,
	                 t->name ? t->name : "?", rule);
}

static int bad_node(const struct node *n, const char *file, int line, const char *rule)
{
	return err_raise(E_BUG, &n->loc, file, line, "node %d '%s' of '%s': %s", n->id,
	                 n->op ? n->op->name : "?", n->name ? n->name : "?", rule);
}

/* --- tensors --- */

static bool valid(const struct graph *g, tid t)
{
	return t >= 0 && t < g->ntensor;
}

static int check_shape(const struct tensor *t)
{
	if (t->shape.nd < 0 || t->shape.nd > MAXD)
		BAD_TENSOR(t, "number of axes out of range");
	for (int d = 0; d < t->shape.nd; d++)
		if (t->shape.d[d] < 1)
			BAD_TENSOR(t, "an axis is empty");
	if (shape_count(&t->shape) > INT64_MAX / 64)
		BAD_TENSOR(t, "too many elements to count");
	return 0;
}

static int check_tensor(const struct graph *g, int i)
{
	const struct tensor *t = g->tensor[i];

	if (t->id != i)
		BAD_TENSOR(t, "id is not its index");
	if (!t->name)
		BAD_TENSOR(t, "has no name");
	if ((unsigned)t->dtype >= DTYPE_COUNT)
		BAD_TENSOR(t, "unknown element type");
	if ((unsigned)t->role > ROLE_STATE)
		BAD_TENSOR(t, "unknown role");
	TRY(check_shape(t));
	if (t->producer != NONE && (t->producer < 0 || t->producer >= g->nnode))
		BAD_TENSOR(t, "its producer is no node");
	if (t->role != ROLE_ACTIVATION && (t->producer != NONE || t->alias != NONE))
		BAD_TENSOR(t,
		           "a param, state, input or constant has a producer or aliases something");
	if (t->role == ROLE_CONSTANT && !t->value)
		BAD_TENSOR(t, "a constant without a value");
	if (t->role == ROLE_ACTIVATION && t->producer == NONE && t->output)
		BAD_TENSOR(t, "an output that no node makes");
	if (t->grad_of != NONE &&
	    (!valid(g, t->grad_of) || g->tensor[t->grad_of]->role != ROLE_PARAM))
		BAD_TENSOR(t, "the gradient of something that is no param");
	if (t->grad_of != NONE && !shape_equal(&t->shape, &g->tensor[t->grad_of]->shape))
		BAD_TENSOR(t, "a gradient has another shape than its param");
	return 0;
}

static bool is_named(const struct tensor *t)
{
	return t->role == ROLE_PARAM || t->role == ROLE_STATE || t->role == ROLE_INPUT;
}

/* A named tensor is what its name finds; two of one name cannot both be. */
static int check_names(const struct graph *g)
{
	for (int i = 0; i < g->ntensor; i++)
		if (is_named(g->tensor[i]) && graph_find(g, g->tensor[i]->name) != i)
			BAD_TENSOR(g->tensor[i],
			           "the name of a param, state or input is not unique");
	return 0;
}

/* --- nodes --- */

/* maker: by tensor, the last node so far that has it among its outputs; a node that updates a
 * network's states at once has thousands. */
static int check_arity(const struct graph *g, const struct node *n, nid *maker)
{
	if (n->nin < n->op->min_in || n->nin > n->op->max_in)
		BAD_NODE(n, "wrong number of inputs");
	if (n->op->nout >= 0 && n->nout != n->op->nout)
		BAD_NODE(n, "wrong number of outputs");
	if (n->op->attr_size && !n->attr)
		BAD_NODE(n, "attributes are missing");
	if ((unsigned)n->phase >= PHASE_COUNT)
		BAD_NODE(n, "unknown phase");
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] == NONE ? k < n->op->min_in : !valid(g, n->in[k]))
			BAD_NODE(n, "an input is missing or no tensor");
	for (int k = 0; k < n->nout; k++) {
		if (n->out[k] == NONE)
			continue;
		if (!valid(g, n->out[k]))
			BAD_NODE(n, "an output is no tensor");
		if (maker[n->out[k]] == n->id)
			BAD_NODE(n, "an output occurs twice");
		maker[n->out[k]] = n->id;
		if (g->tensor[n->out[k]]->producer != n->id)
			BAD_NODE(n, "an output has another producer");
	}
	return 0;
}

static int check_order(const struct graph *g, const struct node *n)
{
	for (int k = 0; k < n->nin; k++) {
		const struct tensor *t = n->in[k] == NONE ? NULL : g->tensor[n->in[k]];
		if (!t)
			continue;
		if (t->role == ROLE_ACTIVATION && t->producer == NONE)
			BAD_NODE(n, "reads a tensor that nothing makes");
		if (t->producer >= n->id)
			BAD_NODE(n, "reads a tensor before it is made");
		if (t->producer != NONE && g->node[t->producer]->phase == PHASE_UPDATE &&
		    n->phase != PHASE_UPDATE)
			BAD_NODE(n, "forward or backward reads what the update makes");
	}
	return 0;
}

static int check_each_node(const struct graph *g, nid *maker)
{
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		if (!n->op)
			BAD_NODE(n, "has no op");
		if (n->id != i)
			BAD_NODE(n, "id is not its index");
		if (!n->name)
			BAD_NODE(n, "has no name");
		TRY(check_arity(g, n, maker));
		TRY(check_order(g, n));
	}
	return 0;
}

/* A producer lists its outputs. */
static int check_producers(const struct graph *g, const nid *maker)
{
	for (int i = 0; i < g->ntensor; i++)
		if (g->tensor[i]->producer != NONE && maker[i] != g->tensor[i]->producer)
			BAD_TENSOR(g->tensor[i], "its producer does not make it");
	return 0;
}

static nid *by_tensor(const struct graph *g)
{
	nid *of = mem_alloc(((size_t)g->ntensor + 1) * sizeof *of);

	for (int t = 0; t < g->ntensor; t++)
		of[t] = NONE;
	return of;
}

static int check_nodes(const struct graph *g)
{
	nid *maker = by_tensor(g);
	int rc = check_each_node(g, maker);

	if (rc == 0)
		rc = check_producers(g, maker);
	mem_free(maker);
	return rc;
}

/* --- storage --- */

/* The tensor that t aliases must be an input of n, which
 * makes t. reader: by tensor, n where it is one of them. */
static int check_alias(const struct graph *g, const struct node *n, const struct tensor *t,
                       const nid *reader)
{
	const struct tensor *of = g->tensor[t->alias];

	if (reader[t->alias] != n->id)
		BAD_TENSOR(t, "aliases something its producer does not read");
	if (t->dtype != of->dtype || shape_count(&t->shape) != shape_count(&of->shape))
		BAD_TENSOR(t, "aliases something of another type or size");
	if (n->op->flags & OP_VIEW)
		return 0;
	if (!(n->op->flags & OP_UPDATE))
		BAD_TENSOR(t, "aliases something, but its op is neither view nor update");
	if (!shape_equal(&t->shape, &of->shape))
		BAD_TENSOR(t, "an update changes the shape");
	return 0;
}

/* After the aliases of nodes in order were found to point to inputs, made earlier, following them
 * ends. */
static int check_update(const struct graph *g, const struct tensor *t)
{
	const struct tensor *old = g->tensor[t->alias], *root = g->tensor[graph_root(g, t->id)];

	if (root->role != ROLE_PARAM && root->role != ROLE_STATE)
		BAD_TENSOR(t, "an update of something that is neither param nor state");
	if (version_of(g, old->id) != old->id)
		BAD_TENSOR(t, "an update through a view");
	return 0;
}

/* Every reader of a version runs before it is overwritten, even if the update phase runs
 * separately. */
static int check_readers(const struct graph *g)
{
	nid *killer = by_tensor(g);
	const struct node *bad = NULL;
	const char *rule = NULL;

	for (int i = 0; i < g->nnode && !rule; i++) {
		const struct node *n = bad = g->node[i];
		for (int k = 0; k < n->nin && !rule; k++) {
			nid by = n->in[k] == NONE ? NONE : killer[version_of(g, n->in[k])];
			if (by != NONE)
				rule = "reads a state that was overwritten before";
		}
		for (int k = 0; k < n->nout && !rule; k++) {
			tid old = overwrites(g, n, k) ? g->tensor[n->out[k]]->alias : NONE;
			if (old == NONE)
				continue;
			if (killer[old] != NONE)
				rule = "overwrites a state twice";
			killer[old] = i;
		}
	}
	for (int i = 0; i < g->nnode && !rule; i++) {
		const struct node *n = bad = g->node[i];
		for (int k = 0; k < n->nin && !rule; k++) {
			nid by = n->in[k] == NONE ? NONE : killer[version_of(g, n->in[k])];
			if (by != NONE && by != i && n->phase == PHASE_UPDATE &&
			    g->node[by]->phase != PHASE_UPDATE)
				rule = "the update reads what forward or backward overwrites";
		}
	}
	mem_free(killer);
	if (rule)
		BAD_NODE(bad, rule);
	return 0;
}

/* Tensors left over by a pass, which no node makes or reads, may alias anything. */
static int check_aliases(const struct graph *g, nid *reader)
{
	for (int i = 0; i < g->ntensor; i++)
		if (g->tensor[i]->alias != NONE && !valid(g, g->tensor[i]->alias))
			BAD_TENSOR(g->tensor[i], "aliases no tensor");
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		for (int k = 0; k < n->nin; k++)
			if (n->in[k] != NONE)
				reader[n->in[k]] = i;
		for (int k = 0; k < n->nout; k++)
			if (n->out[k] != NONE && g->tensor[n->out[k]]->alias != NONE)
				TRY(check_alias(g, n, g->tensor[n->out[k]], reader));
	}
	return 0;
}

static int check_storage(const struct graph *g)
{
	nid *reader = by_tensor(g);
	int rc = check_aliases(g, reader);

	mem_free(reader);
	TRY(rc);
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		if ((n->op->flags & OP_VIEW) && g->tensor[n->out[0]]->alias != n->in[0])
			BAD_NODE(n, "a view that does not alias its input");
		for (int k = 0; k < n->nout; k++)
			if (overwrites(g, n, k))
				TRY(check_update(g, g->tensor[n->out[k]]));
	}
	return check_readers(g);
}

/* --- layouts --- */

static bool live(const struct tensor *t)
{
	return t->role != ROLE_ACTIVATION || t->producer != NONE;
}

/* The blocks are sane and the axes hold the tensor's elements. */
static int check_layout(const struct tensor *t)
{
	const struct layout *l = &t->layout;
	int64_t n = 1;

	if (!l->set)
		BAD_TENSOR(t, "has no layout");
	if (l->nd < 0 || l->nd > MAXD || l->nblk < 0 || l->nblk > LAYOUT_MAXBLK)
		BAD_TENSOR(t, "layout with too many axes or blocks");
	for (int d = 0; d < l->nd; d++)
		if (l->dims[d] < 1 || l->stride[d] < 0 || __builtin_mul_overflow(n, l->dims[d], &n))
			BAD_TENSOR(t, "layout with a bad extent or stride");
	for (int k = 0; k < l->nblk; k++)
		if (l->blk[k] < 1 || l->blk_dim[k] < 0 || l->blk_dim[k] >= l->nd)
			BAD_TENSOR(t, "layout with a bad block");
	if (n != shape_count(&t->shape))
		BAD_TENSOR(t, "layout of another size than the shape");
	if (layout_elements(l) < n)
		BAD_TENSOR(t, "layout with elements on top of each other");
	return 0;
}

/* 16-bit tensors occur only where the kernel accepts them, and have equal types where it requires
 * that (enum kernel_bf16). */
static int check_types(const struct graph *g, const struct node *n)
{
	const struct kernel *k = &n->op->kernel[g->backend];
	int narrow = 0, full = 0;            /* numbers of 16-bit and of 32-bit tensors among those that
	                                      * may have 16 bits */

	if (n->op->flags & OP_VIEW)
		return 0;
	for (int i = 0; i < n->nin + n->nout; i++) {
		const bool output = i >= n->nin,
		           takes = kernel_takes_bf16(k, output, output ? i - n->nin : i);
		const tid t = output ? n->out[i - n->nin] : n->in[i];
		const bool is = t != NONE && dtype_is_16bit(g->tensor[t]->dtype);
		if (is && !output && kernel_takes_narrow(k, n, i))
			continue;
		if (is && !takes && g->tensor[graph_root(g, t)]->use != STATE_COPY)
			BAD_NODE(n, "its kernel does not take 16 bits there");
		narrow += is;
		full += t != NONE && takes && !is && !(output && k->bf16 == KB_FASTER);
	}
	if (k->bf16 != KB_EACH && k->bf16 != KB_SOURCE && narrow && full)
		BAD_NODE(n, "16 bits and f32 side by side");
	return 0;
}

static int check_layouts(const struct graph *g)
{
	tid which;

	if (g->backend < 0 || g->backend >= BACKEND_COUNT)
		return ERR(E_BUG, NULL, "layouts were chosen for no backend");
	for (int i = 0; i < g->ntensor; i++) {
		const struct tensor *t = g->tensor[i];
		if (!live(t))
			continue;
		TRY(check_layout(t));
		if (t->alias != NONE && !(g->node[t->producer]->op->flags & OP_VIEW) &&
		    !layout_equal(&t->layout, &g->tensor[t->alias]->layout))
			BAD_TENSOR(t, "has another layout than the state it replaces");
	}
	for (int i = 0; i < g->nnode; i++) {
		const char *rule = layout_mismatch(g, g->node[i], (enum backend)g->backend, &which);
		TRY(check_types(g, g->node[i]));
		if (rule)
			return err_context(bad_node(g->node[i], __FILE__, __LINE__, rule),
			                   "tensor %d '%s'", which, g->tensor[which]->name);
	}
	return 0;
}

static bool uses_root(const struct graph *g, const struct node *n, tid root, bool writes)
{
	for (int k = writes ? n->nin : 0; k < n->nin + n->nout; k++) {
		const tid t = node_operand(n, k);
		if (t != NONE && graph_root(g, t) == root)
			return true;
	}
	return false;
}

/* Whether a may run concurrently with the later node b: neither writes a buffer that the other one
 * uses. */
static bool are_apart(const struct graph *g, const struct node *a, const struct node *b)
{
	for (int k = 0; k < a->nin + a->nout; k++) {
		const tid t = node_operand(a, k);
		if (t != NONE && uses_root(g, b, graph_root(g, t), k < a->nin))
			return false;
	}
	return true;
}

/* Nodes on the second stream keep their order, and those in line theirs. */
static int check_joins(const struct graph *g)
{
	nid joined = 0;
	for (nid i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		if (n->join == NONE)
			continue;
		if (n->join <= i || n->join > g->nnode || n->join < joined)
			BAD_NODE(n, "nothing after it waits for it");
		joined = n->join;
		for (nid j = i + 1; j < n->join; j++)
			if (g->node[j]->join == NONE && !are_apart(g, n, g->node[j]))
				return err_context(bad_node(n, __FILE__, __LINE__, "not waited for"), "by node %d",
				                   j);
	}
	return 0;
}

int graph_verify(const struct graph *g, enum stage stage)
{
	for (int i = 0; i < g->ntensor; i++)
		TRY(check_tensor(g, i));
	TRY(check_names(g));
	TRY(check_nodes(g));
	TRY(check_storage(g));
	if (stage >= STAGE_LAID_OUT) {
		TRY(check_layouts(g));
		TRY(view_check(g));
		TRY(check_joins(g));
	}
	if (stage >= STAGE_PLANNED)
		TRY(memcheck(g, NULL));
	return 0;
}
