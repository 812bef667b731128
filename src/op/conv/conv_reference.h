/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What convolutions share with ops that begin with one. Their attributes begin with a struct
 * conv_attr, and their inputs with those of conv or conv_grad_input (the bias is NONE or missing if
 * there is none); further attributes and inputs follow. */
#ifndef DLX_OP_CONV_CONV_REFERENCE_H
#define DLX_OP_CONV_CONV_REFERENCE_H

#include "backend/dnn/conv_geom.h"
#include "graph/op.h"

/* All inputs are floats of one type; makes out[0]. */
int conv_shape_rule(struct graph *g, struct node *n, enum conv_kind kind);
void conv_count_flops(const struct graph *g, const struct node *n, enum conv_kind kind,
                      struct cost *c);
/* Reference kernels. */
int conv_reference(const struct kplan *k, const struct kargs *a);
int conv_grad_input_reference(const struct kplan *k, const struct kargs *a);
int conv_grad_weight_reference(const struct kplan *k, const struct kargs *a);

/* Keys of all convolutions, for tables of fields. */
#define CONV_INTS(m, dflt, min, doc) FIELD_INTS(struct conv_attr, m, dflt, min, 1 << 20, doc)
#define CONV_FIELDS                                                                 \
	CONV_INTS(stride, "1", 1, "step of the window, one or per axis"),               \
	CONV_INTS(dilation, "1", 1, "distance of elements under the kernel; 1: dense"), \
	CONV_INTS(pad_lo, "0", 0, "zeros before each axis"),                            \
	CONV_INTS(pad_hi, "0", 0, "zeros after each axis"),                             \
	FIELD_INT(struct conv_attr, groups, "1", 1, INT32_MAX,                          \
	          "channel groups that do not see each other")

/* The expected values of elements of a result (the callback `expect` of struct op). */
int conv_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                const struct picks *p, struct expected *e);
/* For conv_grad_input and conv_grad_input_add. */
int conv_grad_input_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                           const struct picks *p, struct expected *e);
int conv_grad_weight_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                            const struct picks *p, struct expected *e);

/* Test samples (struct op). */
extern const char *const conv_samples[], *const conv_grad_input_samples[],
	*const conv_grad_input_add_samples[], *const conv_grad_weight_samples[];

#endif
