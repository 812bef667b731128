/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The contract between the graph and its ops. One record per op; one file per op family holds
 * everything about it: attributes, documentation, shape rule, gradient rule, cost, kernels for
 * every backend, test samples. The file ends with OPSET(file_name, &op1, &op2, ...); the build
 * lists the files once, in src/op/local.mk (OPS), and generates src/op/table.inc from that list.
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

/* BACKEND_DOUBLE is the CPU with all floats in F64, with its own kernels ('precision.compute:
 * f64'). */
enum backend { BACKEND_REFERENCE, BACKEND_CPU, BACKEND_CUDA, BACKEND_DOUBLE, BACKEND_COUNT };

/* Whether all floats are F64 on this backend. */
static inline bool backend_is_double(enum backend b)
{
	return b == BACKEND_REFERENCE || b == BACKEND_DOUBLE;
}

/* --- kernels: plan, run, free --- */

/* An implementation whose choice depends on the machine. It is tested on that machine before it is
 * used (backend/proof/proof.h). */
struct kernel_choice {
	const char *impl;            /* the name of the chosen implementation; NULL: no such choice was
	                              * made */
	uint64_t problem;            /* a hash of the computation (shapes, types, attributes), the same
	                              * for all layouts */
};

/* One node prepared for one device. Kernels fill state, ws_bytes and impl in plan(). */
struct kplan {
	const struct graph *g;
	const struct node *n;
	const struct device *dev;
	const struct plan_env *env;  /* settings of the run that the choice of a kernel depends on
	                              * (backend/plan_env.h) */
	struct arena *arena;         /* plan lifetime: descriptors, index tables */
	void *state;                 /* the kernel's own */
	size_t ws_bytes;             /* bytes of workspace that the kernel needs; run() gets it as
	                              * kargs.ws, 64-byte aligned */
	const char *impl;            /* the implementation, for --plan: "brgconv:avx512"; NULL: the op
	                              * has only one */
	struct kernel_choice choice;
	double work;                 /* the kernel's own estimate of its time, as the number of float32
	                              * flops that take as long; 0: no estimate */
	int64_t piece;               /* > 0: each run computes only this many elements of out[0]
	                              * (op/lib/walk_double.h); 0: all */
};

/* The arguments of a run. in/out have nin/nout entries, NULL where the node has NONE. */
struct kargs {
	void *const *in;
	void *const *out;
	void *ws;
	const struct links *sums;    /* the reducers and message channels to other ranks
	                              * (comm/reducer.h); NULL: one rank */
};

/* The optional input in[i], or NULL if the node has none. i < 0: NULL, for an op without such an
 * input. */
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
	KL_CHOOSE    /* the kernel's choose() decides, see below */
};

/* How a kernel handles 16-bit floats, on a device that computes in them: bf16 on a CPU; bf16 or
 * fp16 on a GPU, as plan_env.compute says. "bf16" below stands for either. */
enum kernel_bf16 {
	KB_EACH,     /* each tensor that may be bf16 is bf16 or f32, independently of the others */
	KB_ALIKE,    /* all those tensors are bf16 or all are f32: the kernel copies bytes */
	KB_FASTER,   /* the kernel is faster in bf16, so the pass inserts casts to it: all those inputs
	              * are bf16 and each such output is bf16 or f32; or all are f32 */
	KB_SOURCE    /* the types of inputs are left as they are; each such output is bf16 if its
	              * readers want that */
};

struct kernel {
	enum kernel_layout layouts;
	/* KL_CHOOSE, required: fills the wanted layout of each input and output. On entry in[i] holds
	 * what the tensor has now (unset if no kernel has chosen yet: a param before its first use) and
	 * out[i] is unset, except that of a gradient (tensor.grad_of) whose param has a layout: then
	 * that one. Keeping what is there avoids a reorder. */
	int (*choose)(struct kplan *k, struct layout *in, struct layout *out);
	/* Optional, in addition to choose. Makes in advance the library queries that choose() will
	 * make, so that their answers are cached. Called before layouts are chosen, on several threads
	 * at a time. */
	void (*foresee)(const struct kplan *k);
	/* Optional. Layouts are final. Makes descriptors, books workspace; may refuse with
	 * E_UNSUPPORTED and a reason. */
	int (*plan)(struct kplan *k);
	/* Required. No allocation, no choice. Returns 0 or an error. */
	int (*run)(const struct kplan *k, const struct kargs *a);
	void (*free)(struct kplan *k);   /* optional */
	/* KL_NATIVE, KL_SAME: bit i: in[i] (out[i]) may also be a slice of the channels of a larger
	 * channels-last buffer (layout_slice); the kernel then addresses it by layout_rows. Bit 31
	 * stands for operand 31 and all after it. The views pass uses this; all other tensors are as
	 * `layouts` says. */
	unsigned slice_in, slice_out;
	/* Bit i: out[0], a sum that has in[i] as a term, may overwrite in[i], also if that is a slice
	 * of the channels of a larger buffer (pass/in_place.c): the kernel reads each element before it
	 * writes the sum there. */
	unsigned sums_into;
	/* Like slice_in and slice_out, for KL_CHOOSE, where the answer depends on the node: whether
	 * in[i] (out[i]) may be a slice. Called when layouts are known, before plan(). NULL: never. */
	bool (*takes_slice)(const struct kplan *k, bool output, int i);
	/* Bit i: in[i] (out[i]) may be bf16; bit 31 stands for operand 31 and all after it. Other
	 * floats are f32. The pass that chooses types (pass/precision.c) inserts casts where tensors
	 * differ. */
	unsigned bf16_in, bf16_out;
	enum kernel_bf16 bf16;
	/* Optional, for gradients of params. They are f32 unless their producer and all readers allow
	 * 16 bits. takes_narrow: whether in[i], a gradient, may have 16 bits while other inputs are
	 * f32. makes_narrow: whether the kernel computes out[i] in 16 bits and would cast it to f32, so
	 * that the cast can be left to the readers. */
	bool (*takes_narrow)(const struct node *n, int i);
	bool (*makes_narrow)(const struct node *n, int i);
};

/* The kernels of an op whose reference kernel also serves as its float64 kernel on the CPU: loops
 * with little arithmetic or over few elements. */
#define REFERENCE_AND_DOUBLE(...) \
	[BACKEND_REFERENCE] = { __VA_ARGS__ }, [BACKEND_DOUBLE] = { __VA_ARGS__ }

/* Whether the kernel takes in[i] (out[i], if output) as bf16. */
bool kernel_takes_bf16(const struct kernel *k, bool output, int i);
/* Whether n's kernel takes in[i], a gradient, in 16 bits. */
bool kernel_takes_narrow(const struct kernel *k, const struct node *n, int i);

/* Elements of in[i] (out[i]) that a run covers: of the tensor's buffer, padding included, once its
 * layout is final; of a view only its own elements; of out[i], if kplan.piece is set, those of the
 * piece. */
int64_t kplan_in_elements(const struct kplan *k, int i);
int64_t kplan_out_elements(const struct kplan *k, int i);

/* --- cost --- */

struct cost {
	double flops;       /* a multiply-add is 2; convolutions and dense count as the papers do */
	double bytes;       /* compulsory memory traffic: each tensor is read or written once */
};

/* --- parts --- */

/* Where a piece of a concatenation, or a slice, begins in the whole. */
struct op_piece {
	int axis;
	int64_t first;               /* index along the axis */
};

/* A part of a node along one spatial axis: rows out_lo .. out_hi - 1 (of out_all) of out[0],
 * computed from rows in_lo .. in_hi - 1 (of in_all) of in[0], with `before` and `after` rows of
 * padding. */
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
	OP_CONCAT = 256,    /* its inputs are concatenated to out[0] (see `piece`) */
	OP_SLICE = 512,     /* its out[0] is a slice of in[0] */
	OP_MEET = 1024,     /* may wait for other ranks (node_meets in graph/attr.h): such nodes keep
	                     * their order, and recomputation does not repeat them */
	OP_SETUP = 2048,    /* not part of a step: it runs before the next step if anything but the
	                     * plan's own update has changed params */
	OP_ASIDE = 4096,    /* a GPU may run it on its second stream (pass/second_stream.c): apart from
	                     * operands and workspace, its kernel uses no memory of other kernels */
	OP_BEGINS = 16384,  /* starts communication (a sum over ranks, a message) that a node with
	                     * OP_AWAITS later waits for. Scheduled as early as possible; its output is
	                     * not yet the result */
	OP_AWAITS = 32768,  /* waits for communication that an OP_BEGINS node started. In the update
	                     * phase it is scheduled after all other nodes. If it has a gradient rule,
	                     * it is differentiated even if no node of this rank uses its outputs, since
	                     * other ranks need the gradient */
	OP_ELEMENTWISE = 65536,    /* if all inputs have the shape of out[0], each of its elements is a
	                     * function of the same elements of the inputs, and grad gives the product
	                     * of that function's derivatives with dy */
	OP_FLAT = 8192      /* piecewise constant in its inputs without a gradient (nondiff), such as
	                     * signs and masks of ReLU: the derivative is zero wherever it exists. A
	                     * second derivative through it loses terms, which autodiff_flat reports */
};

struct op {
	const char *name;               /* the YAML key and the name in every message */
	const char *doc;                /* one line */
	unsigned flags;
	int min_in, max_in;             /* numbers of inputs; an optional one is NONE or omitted at the
	                                 * end */
	int nout;                       /* outputs; -1: as many as the shape rule makes */
	size_t attr_size;
	const struct field *attrs;      /* NULL if attr_size is 0 */
	unsigned nondiff;               /* bit i: input i has no gradient (labels, statistics) */
	unsigned diff_out;              /* bit i: output i >= 1 carries a gradient too (output 0 always
	                                 * does; others are counts or values saved for backward). Bit
	                                 * 31: output 31 and all after it */
	unsigned inplace;               /* bit i: out[0] may overwrite in[i] if this node is its last
	                                 * reader (same type, shape and layout) */

	/* Checks input shapes and attributes, makes outputs with graph_out. Errors at g->cur_loc.
	 * Required. */
	int (*shape)(struct graph *g, struct node *n);
	/* Emits nodes that compute the gradient. dy[i]: gradient of output i, or NONE. Fills dx[i]
	 * for inputs whose tensor requires_grad (NONE: zero or not differentiable). NULL: no rule. */
	int (*grad)(struct graph *g, const struct node *n, const tid *dy, tid *dx);
	/* Optional, for recomputation: emits one node, cheaper than n, that computes out[0] of n again
	 * with the same bits, from `in`, which holds the same values as n->in, and from the other
	 * outputs of n, which are still stored. *out is NONE if there is no such node. NULL, or NONE: n
	 * itself is repeated. */
	int (*recompute)(struct graph *g, const struct node *n, const tid *in, tid *out);
	/* OP_CONCAT: which range of out[0] in[i] is; OP_SLICE (i is 0): which range of in[0] out[0] is.
	 * The kernel copies the pieces that are not views already (view_in_place). */
	struct op_piece (*piece)(const struct graph *g, const struct node *n, int i);
	/* Optional, for ops whose kernels make a kernel_choice: computes the expected values (in
	 * double) of the elements p of out[o] of node n. in[]: the inputs, in the layouts of the
	 * tensors of g. */
	int (*expect)(const struct graph *g, const struct node *n, void *const *in, int o,
	              const struct picks *p, struct expected *e);
	/* The receptive field along one spatial axis (2 .. nd - 1 of out[0]): on entry *lo..*hi is an
	 * interval of indices of out[0], on return the interval of in[i] that these outputs read, along
	 * the axis of the same number. Intervals include both ends, in coordinates of the whole
	 * tensors: the graph is that of the whole, or the node has an attribute `whole`. They are not
	 * clipped: indices below 0 and beyond the end are padding. Both ends of the result grow
	 * monotonically with those of the outputs. *hi < *lo: the outputs read nothing of in[i].
	 * False: all of in[i] along that axis is read, or in[i] has no such axis; *lo and *hi are
	 * unchanged. NULL: false for every i and axis. */
	bool (*reads)(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
	              int64_t *hi);
	/* Optional, for ops with extents among their attributes. n is about to be added to the graph of
	 * a part (graph.whole), where in[0] is shorter than `in`, its shape in the whole graph: adapts
	 * the attributes so that out[0] is the corresponding part of `out`. A part begins at a multiple
	 * of all strides. Called before the shape rule. */
	void (*cut)(struct graph *g, struct node *n, const struct shape *in, const struct shape *out);
	/* Optional, for ops with extents or positions among their attributes, along axes for which they
	 * have `reads`. Adapts the attributes along p->axis so that n computes only the part p of
	 * out[0], from the part of in[0] that it reads. False: no attributes can express that. The
	 * operands of n may still be those of the whole. NULL: attributes need no change. */
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
