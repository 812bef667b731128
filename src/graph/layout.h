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
/* Whether both put every element in the same place, however they group the axes. */
bool layout_equal(const struct layout *a, const struct layout *b);
bool layout_is_plain(const struct layout *l, const struct shape *s);
bool layout_is_native(const struct layout *l, const struct shape *s);
/* Channels-last pixels that may be apart: (N, C, ...) as `rows` rows of C neighbouring channels,
 * `stride` elements from one row to the next. A slice of the channels of a larger channels-last
 * buffer is such a layout; a native one is where stride == C. Two axes and more. */
struct layout_rows {
	int64_t rows, c, stride;
};
bool layout_rows(const struct layout *l, const struct shape *s, struct layout_rows *out);
/* The native layout, but with `stride` elements from pixel to pixel. */
struct layout layout_slice(const struct shape *s, int64_t stride);
/* True if no element is padding and none is skipped: elements == product of the dims. */
bool layout_is_dense(const struct layout *l);
int64_t layout_elements(const struct layout *l);   /* the buffer must hold, padding included */
int64_t layout_offset(const struct layout *l, int64_t flat);   /* of the row-major index flat */
/* The part of the offset from index i of axis d, whatever the other indices are. */
int64_t layout_axis_offset(const struct layout *l, int d, int64_t i);
/* The same places with the fewest axes: none of extent 1
 * unless blocked, contiguous neighbours joined. */
struct layout layout_normal(const struct layout *l);
int64_t layout_block(const struct layout *l, int d);   /* elements of axis d in one block */

/* --- layout_pack.c --- */

/* Elements between plain src and laid-out dst and back, converting dtypes. pack zeroes padding. */
void layout_pack(const struct layout *l, const struct shape *s, enum dtype td, void *dst,
                 enum dtype ts, const void *src);
void layout_unpack(const struct layout *l, const struct shape *s, enum dtype td, void *dst,
                   enum dtype ts, const void *src);

/* For one tensor packed in pieces: what the places of its elements are summed from. */
/* of them that are kept; those of axes for which no room is left are computed anew */
#define LAYOUT_TERMS 4096
struct layout_walk {
	struct layout l;             /* normal form, one axis at least */
	size_t size;                 /* of an element where it is laid out */
	bool blocked[MAXD];
	const int64_t *term[MAXD];   /* of a blocked axis by index, or NULL */
	int64_t index[MAXD];         /* of the row */
	int64_t row;                 /* elements of the innermost axis */
	int64_t count;               /* elements of all */
	bool dense;                  /* the innermost axis is one run */
	int64_t table[LAYOUT_TERMS];
};
void layout_walk_init(struct layout_walk *w, const struct layout *l, const struct shape *s,
                      enum dtype laid);
/* The n elements from the row-major index `first` on, which are at src; padding stays as it is.
 * td: as in layout_walk_init. */
void layout_walk_pack(struct layout_walk *w, enum dtype td, void *dst, int64_t first, int64_t n,
                      enum dtype ts, const void *src);
/* Whether rows of the first axis are interleaved, element by element, in blocks of a number of rows
 * that is a multiple of LAYOUT_ROWS. */
#define LAYOUT_ROWS 16
bool layout_walk_has_rows(const struct layout_walk *w);
/* The n elements from `first` on of that row and of those that follow it, `rows` in all, up to the
 * end of their block: of row r at src + r * step. */
void layout_walk_pack_rows(struct layout_walk *w, float *dst, int64_t first, int64_t n, int rows,
                           const float *src, int64_t step);

#define LAYOUT_TEXT 64
/* "plain", "native", "slice" or the blocked form ("ABcd16b16a") into buf; returns buf. */
const char *layout_text(const struct layout *l, const struct shape *s, char *buf);
/* Appends extent:stride of each axis, with commas between: a name for what was measured. */
void layout_name(const struct layout *l, struct buf *b);

#endif
