/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Physical layouts: where the element with a logical index is in memory. A layout is strided
 * and blocked, which covers row-major, channels-last, slices of a larger buffer, and oneDNN's
 * channel-blocked forms:
 *
 *   offset(i) = sum_d (i_d / B_d) * stride[d]  +  offset inside the block
 *
 * where B_d is the product of the inner blocks of axis d; inner blocks are dense, the last one
 * innermost ("ABcd16b16a": outer axes a b c d with strides, then 16 of b, then 16 of a).
 *
 * dims may regroup the tensor's axes in row-major order: grouped convolution weights (O, I/g, kh,
 * kw) have a layout over (g, O/g, I/g, kh, kw). Axes are padded up to whole blocks; kernels keep
 * the padding zero. Vendor-neutral on purpose: a plan can be made, printed and compared without a
 * device, and weights can be read by any code. */
#ifndef DLX_GRAPH_LAYOUT_H
#define DLX_GRAPH_LAYOUT_H

#include "base/types.h"

struct buf;

#define LAYOUT_MAXBLK 4

struct layout {
	bool set;                        /* false: not chosen yet; all else is zero */
	int nd;
	int64_t dims[MAXD];
	int64_t stride[MAXD];            /* elements */
	int nblk;
	int64_t blk[LAYOUT_MAXBLK];
	int8_t blk_dim[LAYOUT_MAXBLK];
};

struct layout layout_plain(const struct shape *s);       /* row-major */
/* The layout of activations on CPU and GPU: channels-last for 3 axes and more ((N, C, ...) stored
 * as (N, ..., C)), row-major below. */
struct layout layout_native(const struct shape *s);
/* Whether both give every element the same offset, even if they group the axes differently. */
bool layout_equal(const struct layout *a, const struct layout *b);
bool layout_is_plain(const struct layout *l, const struct shape *s);
bool layout_is_native(const struct layout *l, const struct shape *s);
/* A channels-last tensor (N, C, ...) seen as a matrix: one row for each pixel, c contiguous
 * channels in a row, `stride` elements from row to row. stride == c is the native layout; stride >
 * c is a slice of the channels of a larger channels-last buffer. For tensors of two axes or
 * more. */
struct layout_rows {
	int64_t rows, c, stride;
};
bool layout_rows(const struct layout *l, const struct shape *s, struct layout_rows *out);
/* The native layout, but with `stride` elements from pixel to pixel. */
struct layout layout_slice(const struct shape *s, int64_t stride);
/* True if no element is padding and none is skipped: elements == product of the dims. */
bool layout_is_dense(const struct layout *l);
int64_t layout_elements(const struct layout *l);   /* size of the buffer, padding included */
int64_t layout_offset(const struct layout *l, int64_t flat);   /* in elements, for row-major index
                                                                * flat */
/* What index i of axis d contributes to the offset, in elements; it does not depend on the other
 * indices. */
int64_t layout_axis_offset(const struct layout *l, int d, int64_t i);
/* An equivalent layout with the fewest axes: axes of extent 1 are dropped unless blocked, and
 * contiguous neighbours are merged. */
struct layout layout_normal(const struct layout *l);
int64_t layout_block(const struct layout *l, int d);   /* B_d above: elements of axis d in one
                                                        * block */

/* --- layout_pack.c --- */

/* layout_pack copies row-major src (type ts) to dst in layout l (type td) and zeroes the padding;
 * layout_unpack copies from layout l (type ts) to row-major dst (type td). */
void layout_pack(const struct layout *l, const struct shape *s, enum dtype td, void *dst,
                 enum dtype ts, const void *src);
void layout_unpack(const struct layout *l, const struct shape *s, enum dtype td, void *dst,
                   enum dtype ts, const void *src);

/* State for packing one tensor piece by piece: tables of the terms whose sum is the offset of an
 * element. */
/* Room for terms in the table; terms of axes that do not fit are recomputed. */
#define LAYOUT_TERMS 4096
struct layout_walk {
	struct layout l;             /* normal form, one axis at least */
	size_t size;                 /* bytes of an element in the layout */
	bool blocked[MAXD];
	const int64_t *term[MAXD];   /* for a blocked axis: offset in elements, by index; NULL: not
	                              * tabulated */
	int64_t index[MAXD];         /* index of the current row along each axis */
	int64_t row;                 /* extent of the innermost axis */
	int64_t count;               /* elements of the tensor */
	bool dense;                  /* the innermost axis is contiguous */
	int64_t table[LAYOUT_TERMS];
};
void layout_walk_init(struct layout_walk *w, const struct layout *l, const struct shape *s,
                      enum dtype laid);
/* Packs the n elements at src, whose row-major indices are first, first + 1, ...; padding is not
 * touched. td: the type `laid` given to layout_walk_init. */
void layout_walk_pack(struct layout_walk *w, enum dtype td, void *dst, int64_t first, int64_t n,
                      enum dtype ts, const void *src);
/* Whether the layout interleaves rows of the first axis element by element, in blocks of a multiple
 * of LAYOUT_ROWS rows (as blocked weights do). */
#define LAYOUT_ROWS 16
bool layout_walk_has_rows(const struct layout_walk *w);
/* Packs n elements of each of `rows` consecutive rows of one block: the first row begins at
 * row-major index `first`, and row r is at src + r * step. */
void layout_walk_pack_rows(struct layout_walk *w, float *dst, int64_t first, int64_t n, int rows,
                           const float *src, int64_t step);

#define LAYOUT_TEXT 64
/* "plain", "native", "slice" or the blocked form ("ABcd16b16a") into buf; returns buf. */
const char *layout_text(const struct layout *l, const struct shape *s, char *buf);
/* Appends "extent:stride" of each axis, separated by commas: part of the key of a measurement. */
void layout_name(const struct layout *l, struct buf *b);

#endif
