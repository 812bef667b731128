/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of algorithms for convolutions on the CPU. Each says which convolutions it takes, in
 * which layouts, and how long it needs by its own estimate; the dispatcher (conv_cpu.c) takes the
 * fastest, when layouts are chosen and once more when they are final. Nothing is measured: an
 * estimate is a function of geometry, layouts and the class of the processor's products in bf16
 * (backend/bf16_ratio.h), so that every run decides alike and gives the same bits. It is for two
 * AVX-512 cores, whatever the machine has; only ratios matter.
 *
 * The weights take the layout that conv_dnn wants at their first use, whichever algorithm runs
 * there; the other algorithms read and write weights in any layout (weights are small), and choose
 * the layouts of x and y. */
#ifndef DLX_OP_CONV_CONV_ALGORITHM_H
#define DLX_OP_CONV_CONV_ALGORITHM_H

#include "backend/dnn/conv_geom.h"
#include "backend/plan_env.h"
#include "graph/op.h"

/* One convolution. x, w, y are the layouts of the tensors that the geometry calls so; those of the
 * result, and of weights at their first use, are unset until an algorithm has chosen. */
struct conv_task {
	enum conv_kind kind;
	struct conv_geom geom;
	bool bias;               /* there is one: added to the result, or its gradient made */
	bool sum;                /* of kind CONV_BACKWARD_DATA: another tensor is added to the result,
	                          * which may take its place; its type; elements from pixel to pixel */
	enum dtype sum_dtype;
	int64_t sum_px;
	enum dtype dtype;        /* of what is multiplied: f32 or bf16 */
	enum dtype result;       /* f32; of bf16 products, except gradients of weights, bf16 too */
	const struct node *n;
	const struct plan_env *env;
	struct layout x, w, y;
};

/* Dot products in bf16 are twice as fast as float32's on the processors that estimates were
 * measured on. More is reached by a matrix unit (AMX) alone; where there is one, oneDNN takes it,
 * and dot products have 0.6 of the rate of float32 (232 of 371 GFLOP/s on two cores). */
#define CONV_DOT_RATIO 2.0

static inline bool conv_has_matrix_unit(const struct conv_task *t)
{
	return t->dtype == DTYPE_BF16 && t->env->bf16_ratio > CONV_DOT_RATIO;
}

struct conv_algorithm {
	const char *name;
	/* 1 and the layouts it wants in t, 0 if it does not take this convolution, or an error. */
	int (*choose)(struct conv_task *t);
	double (*seconds)(const struct conv_task *t);    /* estimate, in the task's layouts */
	/* Layouts are final. 1 and k->state (which begins with a struct conv_kernel), k->ws_bytes,
	 * k->impl; 0 if it does not take these layouts; or an error. */
	int (*plan)(struct kplan *k, const struct conv_task *t);
	int (*run)(const struct kplan *k, const struct kargs *a);
	void (*free)(struct kplan *k);                   /* optional */
	bool slices;             /* x and y may be slices of the channels of larger buffers */
};

/* What t computes, as backend/proof/passed.h names it. */
uint64_t conv_problem(const struct conv_task *t);

struct conv_kernel {
	const struct conv_algorithm *algorithm;
	enum conv_kind kind;
};

extern const struct conv_algorithm conv_dnn, conv_direct_weights;
#if defined(__x86_64__)
#define CONV_HAS_WINOGRAD
extern const struct conv_algorithm conv_winograd, conv_depthwise, conv_point;
#endif

#endif
