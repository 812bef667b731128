/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small C interface to oneDNN. Everything that differs between its C API v2 (Debian's 2.6) and v3
 * stays in dnn.c, and so do its types: callers use struct layout and plain pointers.
 *
 *   dnn_*_new queries oneDNN for an implementation, which chooses layouts that are NULL
 *   dnn_prim_layout the layout that it chose, if struct layout can represent it
 *   dnn_prim_prepare announces that it will run: makes memory objects, requests code
 *   dnn_generate generates the requested code, on all threads (milliseconds each)
 *   dnn_prim_run     executes; allocates no memory of dlx's; scratch memory is the caller's
 *
 * Equal problems share one primitive, since a network has many equal layers, and evaluation has the
 * same ones as training. Primitives live as long as the process.
 *
 * Planning and running belong to one thread; the parallel part is oneDNN's OpenMP. The number of
 * threads must not change between new and run: scratch memory is sized for it. */
#ifndef DLX_BACKEND_DNN_DNN_H
#define DLX_BACKEND_DNN_DNN_H

#include "backend/dnn/conv_geom.h"
#include "base/isa.h"
#include "graph/layout.h"
#include "graph/op.h"

struct dnn_prim;

/* A convolution. x, w, y: layouts of the input, the weights, the output (or of the gradients of
 * their shapes); NULL: open. With groups > 1 that of w is over (g, O/g, I/g, kernel...). Types are
 * all f32, or bf16 for operands that are read and f32 or bf16 for the result; sums are accumulated
 * in f32. Biases are dense vectors in f32. Arguments, in the order of dnn_prim_run and
 * dnn_prim_layout:
 *   forward           x, w, [bias], y
 *   backward data     dy, w, dx
 *   backward weights  x, dy, dw, [dbias] */
struct dnn_conv {
	enum conv_kind kind;
	struct conv_geom geom;
	bool bias;
	const struct layout *x, *w, *y;
	enum dtype x_type, w_type, y_type;
	bool any_threads;        /* the weight gradient has the same bits for any number of threads: a
	                          * single thread computes it */
	bool any_extent;         /* sums of the input gradient have the same order for all extents of
	                          * the input */
};
/* All of these: 0, or E_UNSUPPORTED with oneDNN's reason, or E_NOMEM. */
int dnn_conv_new(struct dnn_prim **out, const struct dnn_conv *c);

/* c (m, n) = a (m, k) * b (k, n) [+ bias (n)], element strides in rows and columns. a and b are f32
 * or both bf16, c is either, the bias f32. Arguments: a, b, [bias], c. */
struct dnn_matmul {
	int64_t m, n, k;
	int64_t a_stride[2], b_stride[2], c_stride[2];
	enum dtype a_type, b_type, c_type;
	bool bias;
	bool any_threads;        /* as above */
};
int dnn_matmul_new(struct dnn_prim **out, const struct dnn_matmul *m);

/* Copies between two layouts over the same dims, and two types; padding of `to` becomes zero.
 * Arguments: from, to. */
int dnn_reorder_new(struct dnn_prim **out, enum dtype from_type, const struct layout *from,
                    enum dtype to_type, const struct layout *to);

/* The name of the implementation ("brgconv:avx512_core"); lives as long as p. */
const char *dnn_prim_impl(const struct dnn_prim *p);
/* The implementation, with the name of dnn_prim_impl, for tests on this machine
 * (backend/proof/proof.h). oneDNN's reference code needs no test and gives none. */
struct kernel_choice dnn_prim_choice(const struct dnn_prim *p);
/* The hash of the computation c that backend/proof/passed.h uses as a key, for any implementation,
 * oneDNN's or not. */
uint64_t dnn_conv_problem(const struct dnn_conv *c);
/* True if oneDNN has only its reference code for this: correct, about a thousand times slower. */
bool dnn_prim_is_reference(const struct dnn_prim *p);
/* Layout of argument i; E_UNSUPPORTED if struct layout cannot say it. */
int dnn_prim_layout(const struct dnn_prim *p, int i, struct layout *out);
size_t dnn_prim_workspace(const struct dnn_prim *p);      /* bytes of scratch memory for run */

int dnn_prim_prepare(struct dnn_prim *p);
/* Generates all requested code that does not exist yet. */
int dnn_generate(void);
/* arg: one pointer per argument, 64-byte aligned; ws: dnn_prim_workspace bytes. */
int dnn_prim_run(struct dnn_prim *p, void *const *arg, void *ws);
void dnn_prim_free(struct dnn_prim *p);                   /* NULL is fine */

/* The instruction set that oneDNN uses, limited by isa_cap(): the highest level of base/isa.h that
 * it uses completely. */
enum isa dnn_isa(void);

/* Support of bf16 on this processor: none, emulated by float32 instructions, or native
 * instructions. */
enum dnn_bf16 { DNN_BF16_NONE, DNN_BF16_EMULATED, DNN_BF16_NATIVE };
enum dnn_bf16 dnn_bf16_support(void);

/* "oneDNN 2.6.3 avx512_core_bf16": library version and the instruction set it uses here. buf of n
 * bytes; returns buf. */
const char *dnn_describe(char *buf, size_t n);

#endif
