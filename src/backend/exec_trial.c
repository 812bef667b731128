/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Single nodes of a plan that is not bound, run on buffers that follow one another in the caller's
 * memory, to measure their kernels. */
#include "backend/exec_state.h"
#include "base/err.h"
#include "base/io.h"
#include "graph/view.h"

/* Plans the memory again, to know which nodes write in place, which a memory sweep leaves open. */
int exec_trial_begin(struct exec *e)
{
	TRY(exec_plan_memory(e));
	if (!e->inputs)
		TRY(inputs_new(&e->inputs, e->g, e->dev));
	return device_prepare(e->dev);
}

void exec_trial_end(struct exec *e)
{
	inputs_free(e->inputs);
	e->inputs = NULL;
}

/* The buffers of a node, one after the other. */
struct trial {
	const struct exec *e;
	char *memory;
	size_t bytes;
	tid *root;
	char **at;
	int n;
};

static size_t whole_lines(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

static bool in_one_place(const struct graph *g, tid a, tid b)
{
	return a == b || (graph_t(g, a)->offset >= 0 && graph_t(g, a)->offset == graph_t(g, b)->offset);
}

static size_t tensor_bytes(const struct tensor *t)
{
	return (size_t)layout_elements(&t->layout) * dtype_size(t->dtype);
}

/* The position of the tensor; tensors not met before are placed after the others. */
static void *trial_place(struct trial *t, tid x)
{
	const struct graph *g = t->e->g;
	tid root = x == NONE ? NONE : graph_root(g, x);
	int i = 0;
	if (x == NONE || inputs_place(t->e->inputs, root))
		return x == NONE ? NULL : inputs_place(t->e->inputs, root);
	while (i < t->n && !in_one_place(g, t->root[i], root))
		i++;
	if (i == t->n) {
		t->root[t->n] = root;
		t->at[t->n++] = t->memory + t->bytes;
		t->bytes += whole_lines(tensor_bytes(graph_t(g, root)));
	}
	return t->at[i] + view_offset(g, x);
}

static void **trial_places(struct trial *t, struct arena *a, const tid *x, int n)
{
	void **p = ARENA_ARRAY(a, void *, n + 1);
	for (int i = 0; i < n; i++)
		p[i] = trial_place(t, x[i]);
	return p;
}

static struct kargs trial_args(struct trial *t, const struct node *n, struct arena *a)
{
	t->root = ARENA_ARRAY(a, tid, n->nin + n->nout + 1);
	t->at = ARENA_ARRAY(a, char *, n->nin + n->nout + 1);
	void **in = trial_places(t, a, n->in, n->nin), **out = trial_places(t, a, n->out, n->nout);
	void *ws = t->memory + t->bytes;
	t->bytes += whole_lines(t->e->plan[n->id].ws_bytes);
	return (struct kargs){ .in = in, .out = out, .ws = t->e->plan[n->id].ws_bytes ? ws : NULL };
}

size_t exec_trial_bytes(const struct exec *e, nid id)
{
	struct arena *a = arena_new();
	struct trial t = { .e = e };
	trial_args(&t, e->g->node[id], a);
	arena_free(a);
	return t.bytes;
}

/* A cache line at a time. */
static void read_through(const struct exec *e, const bool *cached, const tid *x, void *const *at,
                         int n)
{
	volatile char sink = 0;
	for (int i = 0; i < n; i++)
		for (int64_t k = 0; cached[i] && at[i] && k < graph_t(e->g, x[i])->bytes; k += 64)
			sink = (char)(sink + ((const char *)at[i])[k]);
	(void)sink;
}

int exec_trial(struct exec *e, nid id, const bool *cached, void *memory, double *seconds)
{
	const struct node *n = e->g->node[id];
	struct arena *a = arena_new();
	struct trial t = { .e = e, .memory = memory };
	struct kargs args = trial_args(&t, n, a);
	read_through(e, cached, n->in, args.in, n->nin);
	read_through(e, cached + n->nin, n->out, args.out, n->nout);
	double start = io_seconds();
	int rc = exec_kernel_of(e, n)->run(&e->plan[id], &args);
	*seconds = io_seconds() - start;
	arena_free(a);
	return rc < 0 ? exec_explain(rc, n) : 0;
}
