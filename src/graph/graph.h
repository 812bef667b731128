/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The intermediate representation: one static graph holds forward, backward, reductions and update.
 *
 * Invariants (graph_verify checks them after every pass):
 *  - nodes and tensors live in the graph's arena, never move and are addressed by dense ids;
 *  - a tensor has at most one producer; node[] is in a valid execution order at all times: every
 *    input is produced before it is used (passes that insert nodes put them in the right place or
 *    call graph_sort);
 *  - a tensor may alias another (`alias`): same storage. Update nodes write a new tensor that
 *    aliases the state they replace (w' aliases w); every other reader of w runs before the node
 *    that produces w'. Views alias their input;
 *  - a tensor may be a view of another (`view`, graph/view.h): some channels of its buffer, so
 *    that concatenating and slicing need no copy;
 *  - params and states have no producer and a unique name; all that survives a step is the storage
 *    of params and states.
 *
 * The graph is single-threaded and owns everything reachable from it. */
#ifndef DLX_GRAPH_GRAPH_H
#define DLX_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/types.h"
#include "graph/layout.h"

typedef int32_t tid;     /* tensor id; NONE where there is none */
typedef int32_t nid;     /* node id */
#define NONE (-1)

struct op;
struct kplan;

enum role {
	ROLE_ACTIVATION,     /* made and consumed within a step */
	ROLE_INPUT,          /* written by the host before a step: batch, labels, learning rate */
	ROLE_CONSTANT,       /* value known at build time (tensor.value) */
	ROLE_PARAM,          /* trained; kept between steps */
	ROLE_STATE           /* kept, not trained: moments, running statistics, accumulators */
};

/* Which part of a step a node belongs to. With gradient accumulation, forward and backward run once
 * for each micro-batch and update once. */
enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_COUNT };

/* How a param or state gets its first value. Random ones are keyed by (run seed, tensor name,
 * row-major index), so they do not depend on layout, backend or rank. */
enum init_kind {
	INIT_CONSTANT,       /* a */
	INIT_UNIFORM,        /* [-a, a) */
	INIT_NORMAL          /* mean 0, standard deviation a */
};
struct init {
	enum init_kind kind;
	double a;
};

/* The purpose of a state, which decides which files contain it. */
enum state_use {
	STATE_OF_TRAINING,   /* moments: in checkpoints, so that training goes on */
	STATE_OF_NETWORK,    /* running statistics: a weight like a param, in exports too */
	STATE_OF_STEP,       /* sums over micro-batches: nothing outside a step, in no file */
	STATE_COPY           /* a copy of a param in another type or layout, which the update rewrites;
	                      * saved in no file */
};
/* Whether a state of this use outlives a step: it is in checkpoints and is equal on all ranks. */
static inline bool state_is_kept(enum state_use u)
{
	return u != STATE_OF_STEP && u != STATE_COPY;
}

struct tensor {
	tid id;
	const char *name;            /* unique for params, states and inputs; of others it only appears
	                              * in messages */
	struct shape shape;          /* logical, (N, C, [D,] H, W) order */
	enum dtype dtype;
	enum role role;
	bool requires_grad;          /* true for a param and for what depends on one */
	bool prefetched;             /* an input whose next value is copied to the device while kernels
	                              * read the current one; it has a second buffer on the device
	                              * unless read_first is set */
	bool read_first;             /* an input that only the first nodes of a step read; the next
	                              * value may overwrite it after those (pass/intake.c) */
	bool pinned;                 /* an input whose values arrive row-major and in its dtype, in
	                              * pinned host memory, so that the device copies them directly */
	bool output;                 /* the host reads the tensor after a step, so its storage is not
	                              * reused */
	tid alias;                   /* shares the storage of this tensor, or NONE */
	tid grad_of;                 /* the param that this tensor is the gradient of (both have the
	                              * same layout), or NONE */
	nid producer;                /* NONE for inputs, constants, params, states */
	struct init init;            /* params, states */
	enum state_use use;          /* states */
	const void *value;           /* constants: row-major elements of type dtype, in the arena */
	const double *exact;         /* F32 constants made from doubles: the unrounded values, for
	                              * devices that compute in F64; else NULL */
	struct loc loc;
	/* set by later passes */
	struct layout layout;        /* layout */
	tid view;                    /* views: the root tensor whose buffer holds this one
	                              * (graph/view.h), or NONE */
	int view_axis;               /* views and their roots: the axis along which a view is a range of
	                              * the root: 1, channels, or that of rows */
	int64_t view_at;             /* views: the first channel or row within the root */
	int64_t offset;              /* memplan: byte offset in the step's arena; -1 for tensors outside
	                              * of it (params, states, constants, inputs) */
	int64_t bytes;               /* memplan */
};

/* Whether t is a range of the channels of a larger buffer, so that other channels lie between its
 * pixels. */
static inline bool view_is_strided(const struct tensor *t)
{
	return t->view != NONE && t->view_axis == 1;
}

struct node {
	nid id;                      /* index in graph.node */
	const struct op *op;
	void *attr;                  /* op->attr_size bytes, or NULL */
	int nin, nout;
	tid *in;                     /* NONE for an absent optional input */
	tid *out;                    /* NONE: an output that is not needed, where the op allows that */
	const char *name;            /* the layer that the node comes from: "dense1/conv2" */
	enum phase phase;
	struct loc loc;              /* the YAML line that caused it; passes inherit it */
	nid join;                    /* for a node on the device's second stream: the node before which
	                              * the main stream waits for it (nnode: the end of the step). NONE:
	                              * the node runs on the main stream. Reordering of nodes resets it
	                              * to NONE */
};

/* The last node that may run while n's operands and workspace are in use: n itself, or, on the
 * second stream, the node before its join. */
static inline nid node_last(const struct node *n)
{
	return n->join == NONE ? n->id : n->join - 1;
}

/* Operand k of n, where inputs are counted first, then outputs; NONE if it is absent. */
static inline tid node_operand(const struct node *n, int k)
{
	return k < n->nin ? n->in[k] : n->out[k - n->nin];
}

/* For a graph that computes one spatial part of a network: the graph of the whole network, built by
 * the same code, so that node ids correspond. in[id] and out[id] are the shapes there of the node's
 * first input and first output. */
struct graph_whole {
	int n;
	const struct shape *in, *out;
};

struct graph {
	struct arena *arena;
	struct node **node;          /* execution order; node[i]->id == i */
	int nnode, node_cap;
	struct tensor **tensor;
	int ntensor, tensor_cap;
	/* The name, place and phase that new nodes get; set by the code that emits them. */
	const char *cur_name;
	struct loc cur_loc;
	enum phase cur_phase;
	const struct graph_whole *whole;     /* of a part: shapes of the whole, from which op.cut adapts
	                                      * attributes; NULL: no part */
	/* Results of passes, which --plan prints. */
	int backend;                 /* layout: the enum backend that the layouts were chosen for; NONE
	                              * before that pass */
	int64_t arena_bytes;         /* memplan: bytes of the step's arena */
	int64_t arena_lower_bound;   /* memplan: most bytes live at once */
	nid arena_peak_node;
};

struct graph *graph_new(void);
void graph_free(struct graph *g);              /* NULL is fine */

/* --- building --- */

/* name is copied. */
struct tensor *graph_tensor_new(struct graph *g, enum role role, enum dtype dtype,
                                const struct shape *s, const char *name);
/* Params, states and inputs have unique names. A second call with the same name returns the same
 * tensor; E_SHAPE if the shapes differ. */
int graph_param(struct graph *g, const char *name, enum dtype dtype, const struct shape *s,
                struct init init, tid *out);
int graph_state(struct graph *g, const char *name, enum dtype dtype, const struct shape *s,
                struct init init, tid *out);
int graph_input(struct graph *g, const char *name, enum dtype dtype, const struct shape *s,
                tid *out);
/* value is copied. */
tid graph_constant(struct graph *g, enum dtype dtype, const struct shape *s, const void *value);
/* The value of a constant of one element: the unrounded double if it is known (tensor.exact). */
double tensor_number(const struct tensor *x);
tid graph_floats(struct graph *g, const struct shape *s, const double *value);    /* F32 */
tid graph_scalar(struct graph *g, double value);           /* F32 scalar; equal ones shared */
tid graph_find(const struct graph *g, const char *name);   /* param, state or input; or NONE */
/* Gives a param, state or input another name, which must be
 * unused and live as long as the graph. */
void graph_rename(struct graph *g, tid t, const char *name);

/* Appends a node of the named op: checks arity, copies attr (lists and strings in it too; NULL: the
 * defaults of the op's table), runs the op's shape rule, which makes the output tensors, and
 * returns them in out[0..nout-1] (out may be NULL). A shape that does not fit is E_SHAPE placed at
 * g->cur_loc, naming the layer and both shapes. requires_grad is derived from the inputs. */
int graph_emit(struct graph *g, const char *op, const void *attr, int nin, const tid *in, int nout,
               tid *out);
/* The common case of one output. */
int graph_emit1(struct graph *g, const char *op, const void *attr, int nin, const tid *in,
                tid *out);

static inline struct tensor *graph_t(const struct graph *g, tid t) { return g->tensor[t]; }
/* The tensor whose storage t uses, wholly or in part: follows aliases and views. */
tid graph_root(const struct graph *g, tid t);
/* Whether n reads the storage of an input that is read_first. */
bool node_reads_first(const struct graph *g, const struct node *n);

/* --- used by shape rules --- */

/* Makes output i of n with this dtype and shape. */
int graph_out(struct graph *g, struct node *n, int i, enum dtype dtype, const struct shape *s);
/* Makes output i an in-place new version of state/param input `in` (alias). */
int graph_out_alias(struct graph *g, struct node *n, int i, int in);
const struct shape *node_in_shape(const struct graph *g, const struct node *n, int i);
const struct shape *node_out_shape(const struct graph *g, const struct node *n, int i);

/* --- used by passes --- */

/* Makes the context of `like` (name, loc, phase) current; restore with the returned value. */
struct graph_context { const char *name; struct loc loc; enum phase phase; };
struct graph_context graph_enter(struct graph *g, const struct node *like);
void graph_leave(struct graph *g, struct graph_context saved);
/* Replaces node[] by this permutation or subset (new ids are assigned; producers of dropped nodes'
 * outputs become NONE). */
void graph_reorder(struct graph *g, struct node **order, int n);
/* Stable topological order that keeps the current one where it can and honours aliases. BUG on a
 * cycle. */
void graph_sort(struct graph *g);
/* A topological order too, but among nodes whose operands are ready the one with the smallest
 * rank[id] comes next. */
void graph_sort_by(struct graph *g, const int64_t *rank);
/* Appends a copy of the node `like` (not an update) with the inputs `in`. Its outputs are new
 * tensors of the same shape, type and layout; its phase is g->cur_phase. */
struct node *graph_copy(struct graph *g, const struct node *like, const tid *in);
/* Recomputes the shapes of n's outputs by its op's shape rule, after inputs or attributes have
 * changed. Returns the rule's error. */
int graph_reshape(struct graph *g, const struct node *n);

#endif
