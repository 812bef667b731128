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
 *  - params and states have no producer and a unique name; what a step leaves is exactly the
 *    storage of params and states.
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
/* Whether it outlives a step: is in checkpoints, and on all ranks alike. */
static inline bool state_is_kept(enum state_use u)
{
	return u != STATE_OF_STEP && u != STATE_COPY;
}

struct tensor {
	tid id;
	const char *name;            /* unique for params, states, inputs; else for messages */
	struct shape shape;          /* logical, (N, C, [D,] H, W) order */
	enum dtype dtype;
	enum role role;
	bool requires_grad;          /* a param, or depends on one */
	bool prefetched;             /* an input whose next value travels to the device while this one
	                              * is read: to a place of its own, but for */
	bool read_first;             /* one that none but the first nodes of a step read, after which
	                              * its next value may come (pass/intake.c) */
	bool pinned;                 /* an input whose values, plain and of its type, come in memory
	                              * from which the device copies them */
	bool output;                 /* read by the host after a step: storage stays untouched */
	tid alias;                   /* shares the storage of this tensor, or NONE */
	tid grad_of;                 /* the gradient of this param: takes its layout; or NONE */
	nid producer;                /* NONE for inputs, constants, params, states */
	struct init init;            /* params, states */
	enum state_use use;          /* states */
	const void *value;           /* constants: plain, of dtype; in the arena */
	const double *exact;         /* constants of F32 made from doubles: the values before they were
	                              * rounded, for devices that compute in F64; or NULL */
	struct loc loc;
	/* set by later passes */
	struct layout layout;        /* layout */
	tid view;                    /* views: is in this tensor's buffer (graph/view.h), or NONE */
	int64_t view_at;             /* there from this channel on */
	int64_t offset;              /* memplan: bytes into the step arena; -1 if stored elsewhere
	                                (params, states, constants, inputs) */
	int64_t bytes;               /* memplan */
};

struct node {
	nid id;                      /* index in graph.node */
	const struct op *op;
	void *attr;                  /* op->attr_size bytes, or NULL */
	int nin, nout;
	tid *in;                     /* NONE for an absent optional input */
	tid *out;                    /* NONE: not asked for, and the op allows that */
	const char *name;            /* of the layer it stems from: "dense1/conv2" */
	enum phase phase;
	struct loc loc;              /* the YAML line that caused it; passes inherit it */
	nid join;                    /* a node that runs on the device's second stream: the node that
	                              * waits for it, nnode: the end of the step. NONE: it is in line.
	                              * A new order of the nodes sets it back */
};

/* The last node during which n's operands and workspace are in use. */
static inline nid node_last(const struct node *n)
{
	return n->join == NONE ? n->id : n->join - 1;
}

/* Operand k of n: its inputs, then its outputs; NONE for one that is absent. */
static inline tid node_operand(const struct node *n, int k)
{
	return k < n->nin ? n->in[k] : n->out[k - n->nin];
}

/* Of a graph that computes a piece of what another one does, which the same code has built: the
 * shapes of in[0] and out[0] that the node with the same id has there. */
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
	/* The context new nodes inherit: set by the code that emits. */
	const char *cur_name;
	struct loc cur_loc;
	enum phase cur_phase;
	const struct graph_whole *whole;     /* ops cut their sizes by it (op.cut); NULL: no piece */
	/* Results of passes, for --plan. */
	int backend;                 /* layout: enum backend the layouts are for; NONE before */
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
/* Params, states and inputs by unique name. Asking again for a name gives the same tensor; a
 * different shape is E_SHAPE. */
int graph_param(struct graph *g, const char *name, enum dtype dtype, const struct shape *s,
                struct init init, tid *out);
int graph_state(struct graph *g, const char *name, enum dtype dtype, const struct shape *s,
                struct init init, tid *out);
int graph_input(struct graph *g, const char *name, enum dtype dtype, const struct shape *s,
                tid *out);
/* value is copied. */
tid graph_constant(struct graph *g, enum dtype dtype, const struct shape *s, const void *value);
/* The number of a constant of one element, before it was rounded where that is known. */
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
/* The same, but of the nodes whose operands are there the one of the smallest rank[id] is next. */
void graph_sort_by(struct graph *g, const int64_t *rank);
/* Appends a node like `like` (which is no update) that reads `in`; its outputs are new tensors of
 * the same shape, type and layout. Its phase is the current one. */
struct node *graph_copy(struct graph *g, const struct node *like, const tid *in);
/* Gives the outputs of n the shapes that its rule makes of its inputs and attributes, which have
 * changed. Errors of the rule. */
int graph_reshape(struct graph *g, const struct node *n);

#endif
