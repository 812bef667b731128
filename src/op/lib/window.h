/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The windows of pooling: attributes, sizes, and which inputs a window covers.
 *   size of the output = floor((input + pad_lo + pad_hi - kernel) / stride) + 1
 * Padding is less than the kernel on either side, so no window is all padding. */
#ifndef DLX_OP_LIB_WINDOW_H
#define DLX_OP_LIB_WINDOW_H

#include "op/lib/grid.h"

struct pool {
	struct ints kernel, stride, pad_lo, pad_hi;
	struct ints input_size; /* gradients only */
	bool count_padding;     /* means only */
};

#define POOL_LIMIT (1 << 20)
#define POOL_FIELD(key, dflt, lo, doc) FIELD_INTS(struct pool, key, dflt, lo, POOL_LIMIT, doc)
#define POOL_FIELDS                                                                           \
	FIELD_SHORT(struct pool, kernel, FT_INTS, "", 1, POOL_LIMIT,                          \
	            "window size, one for all or one per spatial axis"),                      \
	POOL_FIELD(stride, NULL, 1, "step between windows; left out: the kernel"),            \
	POOL_FIELD(pad_lo, "0", 0, "padding before each spatial axis, less than the kernel"), \
	POOL_FIELD(pad_hi, "0", 0, "padding after each spatial axis, less than the kernel")
#define POOL_INPUT_FIELD \
	FIELD_INTS(struct pool, input_size, "", 1, INT32_MAX, "spatial size of the pooled input")

struct window {
	struct grid in, out; /* out: the pooled tensor; in.n == out.n, in.c == out.c */
	int64_t k[3], s[3], lo[3], hi[3];
	bool count_padding;
	bool bf16;             /* the CPU kernels' input (the gradient's dy) is bf16 */
};

int64_t window_volume(const struct window *w);

/* The positions [*first, *last) of window o along axis a that are inside the input, not in
 * padding. */
void window_taps(const struct window *w, int a, int64_t o, int64_t *first, int64_t *last);
/* The windows [*first, *last) along the innermost axis that are completely inside the input. */
void window_whole(const struct window *w, int64_t *first, int64_t *last);
/* The windows [*first, *last) along axis a that contain input index i. */
void window_covers(const struct window *w, int a, int64_t i, int64_t *first, int64_t *last);
/* The row-major index, in a plane of the input, of position `tap` in window number o; -1:
 * padding. */
int64_t window_input(const struct window *w, int64_t o, int64_t tap);

/* The windows of a pooling node that has passed its shape rule. */
struct window window_get(const struct graph *g, const struct node *n);
/* Shape rules: forward pools input 0 into output 0; backward has the opposite shapes. */
int window_forward_shape(struct graph *g, struct node *n, struct window *w);
int window_backward_shape(struct graph *g, struct node *n, struct window *w);
/* The attributes for the gradient of forward node n, including the size of its input. */
struct pool window_grad_attr(struct graph *g, const struct node *n);
/* The op callback `reads` of max and average pooling. */
bool window_reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                  int64_t *hi);
void window_cost(const struct graph *g, const struct node *n, struct cost *c);
/* Kernel plans. k->state is the struct window of a forward or a gradient node; the workspace has
 * the rows of the result (row.h). */
int window_plan(struct kplan *k);
int window_plan_grad(struct kplan *k);

#endif
