/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The contract between the graph and its ops. One record per op; one file per op family holds
 * everything about it: attributes, documentation, shape rule, gradient rule, cost, kernels for
 * every backend, test samples. The file ends with OPSET(file_name, &op1, &op2, ...); the build
 * lists the files once, in src/op/local.mk (OPS), and makes src/op/table.inc from it.
 *
 * Fixed order inside an op file: purpose and maths - attribute struct and table - shape - grad -
 * cost - reference kernel - cpu kernel - cuda region - samples - records - OPSET. */
#ifndef DLX_GRAPH_OP_H
#define DLX_GRAPH_OP_H

#include "graph/graph.h"
#include "graph/picks.h"
#include "yaml/schema.h"

struct device;
struct plan_env;
struct links;

/* DOUBLE is the CPU where floats are F64, with kernels of its own ('precision.compute: f64'). */
enum backend { BACKEND_REFERENCE, BACKEND_CPU, BACKEND_CUDA, BACKEND_DOUBLE, BACKEND_COUNT };

/* Whether all floats are F64 there. */
static inline bool backend_is_double(enum backend b)
{
	return b == BACKEND_REFERENCE || b == BACKEND_DOUBLE;
}

/* --- kernels: plan, run, free --- */

/* An implementation that was chosen by what the machine has, and so is proven there before it is
 * used (backend/proof/proof.h). */
struct kernel_choice {
	const char *impl;            /* its name among those for the problem; NULL: none was made */
	uint64_t problem;            /* what is computed, whatever the layouts: a hash */
};

/* One node prepared for one device. Kernels fill state, ws_bytes and impl in plan(). */
struct kplan {
	const struct graph *g;
	const struct node *n;
	const struct device *dev;
	const struct plan_env *env;  /* what else the kernel is chosen by (backend/plan_env.h) */
	struct arena *arena;         /* plan lifetime: descriptors, index tables */
	void *state;                 /* the kernel's own */
	size_t ws_bytes;             /* workspace booked; arrives in run, 64-byte aligned */
	const char *impl;            /* for --plan: "brgconv:avx512"; NULL: the name says it */
	struct kernel_choice choice;
	double work;                 /* what the kernel's own estimate says, in float32 flops that would
	                              * take as long; 0: none */
	int64_t piece;               /* a run over this many elements of out[0] alone
	                              * (op/lib/walk_double.h); 0: over all */
};

/* The arguments of a run. in/out have nin/nout entries, NULL where the node has NONE. */
struct kargs {
	void *const *in;
	void *const *out;
	void *ws;
	const struct links *sums;    /* what all-reduces are made by
	                                  * (comm/reducer.h); NULL: one rank */
};

/* An input that the node may lack: in[i], or NULL; i < 0 stands for one that the op lacks. */
static inline const void *kargs_in(const struct kplan *k, const struct kargs *a, int i)
{
	return i >= 0 && i < k->n->nin ? a->in[i] : NULL;
}

/* Which physical layouts a kernel takes. The layout pass inserts reorder nodes where tensors
 * differ. */
enum kernel_layout {
	KL_PLAIN,    /* every tensor row-major */
	KL_SAME,     /* element-wise: tensors with out[0]'s shape (in[0]'s if no input has that)
	                share one layout, any; the kernel walks kplan_*_elements() flat,
	                padding included. Other tensors (scalars, ...) are row-major */
	KL_NATIVE,   /* every tensor in layout_native of its shape */
	KL_CHOOSE    /* the kernel says: choose() below */
};

/* A kernel's rule for 16 bits on a device that computes in them: bf16 on a CPU; bf16 or fp16 on a
 * GPU, as plan_env.compute says. What is said of bf16 here holds for both. */
enum kernel_bf16 {
	KB_EACH,     /* each of the tensors that may be bf16 is, or is f32 */
	KB_ALIKE,    /* all of them are, or none: bytes are copied */
	KB_FASTER,   /* asks for it: all such inputs are bf16, each such
	              * output is or is f32; or all f32 */
	KB_SOURCE    /* its inputs are what they are, each such output is
	              * bf16 where that is asked for */
};

struct kernel {
	enum kernel_layout layouts;
	/* KL_CHOOSE, required: fills the wanted layout of each input and output. On entry in[i] holds
	 * what the tensor has now (unset if no kernel has chosen yet: a param before its first use) and
	 * out[i] is unset, except that of a gradient (tensor.grad_of) whose param has a layout: then
	 * that one. Keeping what is there avoids a reorder. */
	int (*choose)(struct kplan *k, struct layout *in, struct layout *out);
	/* Optional, in addition to choose. Queries libraries in advance for what choose will ask, where
	 * they cache the answers. Called before layouts are chosen, on several threads at a time. */
	void (*foresee)(const struct kplan *k);
	/* Optional. Layouts are final. Makes descriptors, books workspace; may refuse with
	 * E_UNSUPPORTED and a reason. */
	int (*plan)(struct kplan *k);
	/* Required. No allocation, no choice. Returns 0 or an error. */
	int (*run)(const struct kplan *k, const struct kargs *a);
	void (*free)(struct kplan *k);   /* optional */
	/* KL_NATIVE, KL_SAME: bit i (31: and all after it): in[i] (out[i]) may be a slice of the
	 * channels of a larger channels-last buffer too (layout_slice); the kernel goes by layout_rows
	 * of its tensors. The views pass makes use of it; every other tensor is as `layouts` says. */
	unsigned slice_in, slice_out;
	/* Bit i: out[0], a sum with in[i], may be stored where in[i] is, a slice of the channels of a
	 * larger buffer (pass/in_place.c): each element there is read before its sum is written. */
	unsigned sums_into;
	/* The same for KL_CHOOSE, where it depends on the node: whether in[i] (out[i]) may become a
	 * slice after all; asked when layouts are chosen, before plan(). NULL: never. */
	bool (*takes_slice)(const struct kplan *k, bool output, int i);
	/* Bit i: in[i] (out[i]) may be bf16; bit 31 says it of all from there on. Other floats are
	 * f32, and the pass that chooses types (pass/precision.c) puts casts where tensors differ. */
	unsigned bf16_in, bf16_out;
	enum kernel_bf16 bf16;
	/* Optional, of gradients of params, which are f32 but where all agree. Whether in[i] may be of
	 * 16 bits next to f32; whether out[i] is made in 16 bits and then cast, so that a kernel that
	 * reads it may as well do so. */
	bool (*takes_narrow)(const struct node *n, int i);
	bool (*makes_narrow)(const struct node *n, int i);
};

/* The kernels of an op whose reference is also what the CPU runs in float64: loops without much
 * arithmetic, or over few elements. */
#define REFERENCE_AND_DOUBLE(...) \
	[BACKEND_REFERENCE] = { __VA_ARGS__ }, [BACKEND_DOUBLE] = { __VA_ARGS__ }

/* Whether the kernel takes in[i] (out[i], if output) as bf16. */
bool kernel_takes_bf16(const struct kernel *k, bool output, int i);
/* Whether n's kernel takes in[i], a gradient, in 16 bits. */
bool kernel_takes_narrow(const struct kernel *k, const struct node *n, int i);

/* Elements of the tensor's buffer, padding included (its layout is final); of a view its own; of
 * out[i] in a run over a piece those of the piece. */
int64_t kplan_in_elements(const struct kplan *k, int i);
int64_t kplan_out_elements(const struct kplan *k, int i);

/* --- cost --- */

struct cost {
	double flops;       /* a multiply-add is 2; convolutions and dense count as the papers do */
	double bytes;       /* compulsory traffic: each tensor once */
};

/* --- parts --- */

/* Rows of a node's in[0] and out[0] along one axis: from lo to hi - 1 of `all`. What outputs read
 * beyond in[0] is padding: before and after. */
struct op_part {
	int axis;
	int64_t in_lo, in_hi, in_all;
	int64_t before, after;
	int64_t out_lo, out_hi, out_all;
};

/* --- the record --- */

enum {
	OP_LAYER = 1,       /* may be an entry of `layers`; its input is the entry before, or
	                     * `inputs` */
	OP_UPDATE = 2,      /* writes state in place; has no gradient by design */
	OP_VIEW = 4,        /* out[0] shares in[0]'s storage; no kernel runs. Both are row-major */
	OP_RANDOM = 8,      /* uses the "random_key" input (see op/lib/random.h) */
	OP_NOGRAD = 16,     /* gradient ends here by design (metrics) */
	OP_NODCE = 32,      /* kept although its outputs have no reader */
	OP_ONCE = 64,       /* a gradient op without a rule: a second derivative is refused */
	OP_COUNTED = 128,   /* its flops are in published counts: convolutions and dense layers */
	OP_CONCAT = 256,    /* its inputs are pieces of out[0] (see `piece`) */
	OP_SLICE = 512,     /* its out[0] is a slice of in[0] */
	OP_MEET = 1024,     /* may wait for other ranks (node_meets in graph/attr.h): such nodes keep
	                     * their order, and recomputation does not repeat them */
	OP_SETUP = 2048,    /* no part of a step: runs after anything but
	                     * the plan's own update changed params */
	OP_ASIDE = 4096,    /* a GPU may run it on its second stream (pass/second_stream.c): its kernel
	                     * shares no memory with others but operands and workspace */
	OP_BEGINS = 16384,  /* begins what a node of OP_AWAITS then waits for: a sum over ranks, a
	                     * message. Runs as soon as it can; what it gives is not the result */
	OP_AWAITS = 32768,  /* waits for other ranks, for what was begun before. In the update phase it
	                     * is put off until all else has run. Where it has a gradient it is
	                     * differentiated whether or not its outputs are used here: what it reads
	                     * is of value to other ranks */
	OP_FLAT = 8192      /* its derivative by what has no gradient (nondiff) is zero wherever it
	                     * exists: signs, masks of ReLU. Where that is part of a derivative, what
	                     * is left may not be what was meant (autodiff_flat) */
};

struct op {
	const char *name;               /* the YAML key and the name in every message */
	const char *doc;                /* one line */
	unsigned flags;
	int min_in, max_in;             /* inputs; optional ones are NONE or left off */
	int nout;                       /* outputs; -1: as many as the shape rule makes */
	size_t attr_size;
	const struct field *attrs;      /* NULL if attr_size is 0 */
	unsigned nondiff;               /* bit i: input i has no gradient (labels, statistics) */
	unsigned diff_out;              /* bit i: output i carries gradient too; output 0 always
	                                   does, the others not (saved for backward, counts). Bit
	                                   31: and all after it */
	unsigned inplace;               /* bit i: out[0] may take over in[i]'s buffer at its last
	                                   use (same type, shape and layout) */

	/* Checks input shapes and attributes, makes outputs with graph_out. Errors at g->cur_loc.
	 * Required. */
	int (*shape)(struct graph *g, struct node *n);
	/* Emits nodes that compute the gradient. dy[i]: gradient of output i, or NONE. Fills dx[i]
	 * for inputs whose tensor requires_grad (NONE: zero or not differentiable). NULL: no rule. */
	int (*grad)(struct graph *g, const struct node *n, const tid *dy, tid *dx);
	/* Optional: emits one node that makes out[0] of n once more from `in`, which holds the same
	 * values as n->in, and from the other outputs of n, which are still there: cheaper than n, to
	 * the same bits. *out: NONE if that cannot be. NULL, or NONE: n itself is run once more. */
	int (*recompute)(struct graph *g, const struct node *n, const tid *in, tid *out);
	/* OP_CONCAT, OP_SLICE: whether in[i] (out[0], i is 0) is a range of channels of the whole, and
	 * which is its first. The kernel copies those that are not in place (view_in_place). */
	bool (*piece)(const struct graph *g, const struct node *n, int i, int64_t *first);
	/* Optional, of ops whose kernels make a kernel_choice: picked elements of out[o] of node n,
	 * from in[], which are laid out as the tensors of g are. */
	int (*expect)(const struct graph *g, const struct node *n, void *const *in, int o,
	              const struct picks *p, struct expected *e);
	/* What of in[i] outputs need: on entry *lo..*hi is an interval of indices of out[0] along
	 * `axis`, on return that of in[i] along its axis of the same number. axis: 2 .. nd - 1 of
	 * out[0], a spatial one. Both ends are included, and both intervals are in the coordinates of
	 * the tensors as a whole: the graph is that of the whole, or the node has an attribute `whole`.
	 * Neither is cut to its tensor: below 0, and beyond the end, are border and what pads it. Both
	 * ends of the result grow with those of the outputs. An interval that is empty, *hi < *lo, is
	 * one of outputs that read nothing of in[i].
	 * False: all of in[i] along that axis is read, or in[i] has no such axis; *lo and *hi are then
	 * as before. NULL: false for every i and axis. */
	bool (*reads)(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
	              int64_t *hi);
	/* Optional, of ops whose attributes have extents. n is about to be made in the graph of a piece
	 * (graph.whole), where in[0] is shorter than `in`, its shape in the graph of the whole: changes
	 * attributes so that out[0] is the part of `out` that belongs to it. The piece begins where
	 * steps of all tensors begin; other attributes stay. Runs before the shape rule. */
	void (*cut)(struct graph *g, struct node *n, const struct shape *in, const struct shape *out);
	/* Optional, of ops whose attributes have extents or places along axes for which they have
	 * `reads`. n is to compute the part p of out[0] alone, from the part of in[0] that this reads:
	 * changes attributes along axis p->axis. False: no attributes make it so. Operands are still
	 * those of the whole, or their parts. NULL: attributes stay. */
	bool (*part)(struct graph *g, struct node *n, const struct op_part *p);
	/* Adds to c->flops; c->bytes is preset to the bytes of all inputs and outputs. NULL: no
	 * arithmetic worth counting. */
	void (*cost)(const struct graph *g, const struct node *n, struct cost *c);

	struct kernel kernel[BACKEND_COUNT];
	/* Test and bench samples, NULL-terminated; at least one for every op. Grammar
	 * (op/lib/sample.h):
	 *   "INPUT INPUT ... ; key: value, key: value"   attributes as inside a YAML flow map
	 *   INPUT = SHAPE[:KIND]   SHAPE = 2x3x9x9 | s (scalar) | - (absent)
	 *   KIND  = normal (default) | positive (0.5..1.5)
	 *         | away (0.2 < |x| < 1.5: no kink nearby)
	 *         | distinct (all values differ by 0.05 at least)
	 *         | indexK (i32 in 0..K-1) | labelsK (i32 in 0..K-1, some 255)
	 *         | key (random_key) | one (1.0) | zero
	 *         | flags (0 or 1, some NaN) | gaps (normal, some NaN)
	 *         | f32, f16, bf16, i8, u8, i16, u16, i32: of that type
	 * A trailing '!' makes the input a param (weights), '@' a state (updated in place). */
	const char *const *samples;
};

struct opset {
	const struct op *const *op;     /* NULL-terminated */
};
#define OPSET(file, ...)                                                     \
	static const struct op *const file##_list_[] = { __VA_ARGS__, NULL };    \
	const struct opset opset_##file = { file##_list_ }

const struct op *op_find(const char *name);       /* or NULL. Defined in op/table.c */
const struct op *op_at(int i);                    /* i-th of all ops, NULL at the end */

/* Cost of one node, with the default for bytes. */
struct cost op_cost(const struct graph *g, const struct node *n);

#endif
