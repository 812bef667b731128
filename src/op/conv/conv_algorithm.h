/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of convolution algorithms on the CPU. Each algorithm reports which convolutions and
 * layouts it supports, and estimates its time. The dispatcher (conv_cpu.c) chooses the fastest one
 * twice: when layouts are chosen, and again when they are final. Nothing is measured: an estimate
 * is a function of geometry, layouts and the class of the processor's bf16 products
 * (backend/bf16_ratio.h), so that every run makes the same choice and computes the same bits.
 * Estimates assume two AVX-512 cores whatever the machine has, since only their ratios matter.
 *
 * The weights take the layout that conv_dnn prefers at their first use, whichever algorithm runs
 * there; the other algorithms read and write weights in any layout (weights are small), and choose
 * the layouts of x and y. */
#ifndef DLX_OP_CONV_CONV_ALGORITHM_H
#define DLX_OP_CONV_CONV_ALGORITHM_H

#include "backend/dnn/conv_geom.h"
#include "backend/plan_env.h"
#include "graph/op.h"

/* One convolution. x, w and y are the layouts of the geometry's tensors. Until an algorithm has
 * chosen, those of the result, and of weights at their first use, are unset. */
struct conv_task {
	enum conv_kind kind;
	struct conv_geom geom;
	bool bias;               /* the node has a bias: it is added to the result, or its gradient is
	                          * computed */
	bool sum;                /* CONV_BACKWARD_DATA only: another tensor is added to the result,
	                          * which may overwrite it. sum_dtype: its type; sum_px: elements from
	                          * pixel to pixel */
	enum dtype sum_dtype;
	int64_t sum_px;
	enum dtype dtype;        /* type of the factors: f32 or bf16 */
	enum dtype result;       /* type of the result: f32; or bf16 if the factors are bf16, but not
	                          * for gradients to weights */
	const struct node *n;
	const struct plan_env *env;
	struct layout x, w, y;
};

/* The speed of bf16 dot products relative to float32 on the processors where the estimates were
 * measured. A processor with a higher ratio has a matrix unit (AMX). There oneDNN uses the unit,
 * and dot products have 0.6 of the rate of float32 (232 of 371 GFLOP/s on two cores). */
#define CONV_DOT_RATIO 2.0

static inline bool conv_has_matrix_unit(const struct conv_task *t)
{
	return t->dtype == DTYPE_BF16 && t->env->bf16_ratio > CONV_DOT_RATIO;
}

struct conv_algorithm {
	const char *name;
	/* Returns 1 and the preferred layouts in t, 0 if the algorithm does not support this
	 * convolution, or an error. */
	int (*choose)(struct conv_task *t);
	double (*seconds)(const struct conv_task *t);    /* estimate for the layouts in t */
	/* Called when layouts are final. Returns 1 and sets k->state (which begins with a struct
	 * conv_kernel), k->ws_bytes and k->impl; 0 if the algorithm does not support these layouts; or
	 * an error. */
	int (*plan)(struct kplan *k, const struct conv_task *t);
	int (*run)(const struct kplan *k, const struct kargs *a);
	void (*free)(struct kplan *k);                   /* may be NULL */
	bool slices;             /* x and y may be channel slices of larger buffers */
};

/* A hash of the problem that t computes, for backend/proof/passed.h. */
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
