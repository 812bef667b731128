/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packs row-major elements into a layout, and back. The offset of an element is a sum of one term
 * for each axis, so a tensor is copied by an odometer over the outer axes and a loop along the
 * innermost. The terms of blocked axes, which cost divisions, are looked up in a table. */
#include <string.h>

#include "base/err.h"
#include "graph/layout.h"

#define RUN 256                  /* elements converted at a time */

/* The part of the offset from index i of axis d. */
static int64_t axis_offset(const struct layout *l, int d, int64_t i)
{
	int64_t b = layout_block(l, d), r = i % b, inner = 1, at = i / b * l->stride[d];
	for (int k = l->nblk - 1; k >= 0; k--) {
		if (l->blk_dim[k] == d) {
			at += r % l->blk[k] * inner;
			r /= l->blk[k];
		}
		inner *= l->blk[k];
	}
	return at;
}

int64_t layout_offset(const struct layout *l, int64_t flat)
{
	int64_t at = 0;
	for (int d = l->nd - 1; d >= 0; d--) {
		at += axis_offset(l, d, flat % l->dims[d]);
		flat /= l->dims[d];
	}
	return at;
}

void layout_walk_init(struct layout_walk *w, const struct layout *l, const struct shape *s,
                      enum dtype laid)
{
	int64_t used = 0, count = 1;
	w->l = layout_normal(l);
	w->size = dtype_size(laid);
	if (w->l.nd == 0) {
		w->l.nd = 1;
		w->l.dims[0] = 1;
	}
	for (int d = 0; d < w->l.nd; d++) {
		count *= w->l.dims[d];
		w->index[d] = 0;
		w->blocked[d] = layout_block(&w->l, d) > 1;
		w->term[d] = NULL;
		if (!w->blocked[d] || w->l.dims[d] > LAYOUT_TERMS - used)
			continue;
		w->term[d] = &w->table[used];
		for (int64_t i = 0; i < w->l.dims[d]; i++)
			w->table[used++] = axis_offset(&w->l, d, i);
	}
	int last = w->l.nd - 1;
	w->row = w->l.dims[last];
	w->count = count;
	w->dense = !w->blocked[last] && (w->l.stride[last] == 1 || w->row == 1);
	BUG_IF(!l->set || count != shape_count(s), "layout of %lld elements for a shape of %lld",
	       (long long)count, (long long)shape_count(s));
}

static inline int64_t place(const struct layout_walk *w, int d, int64_t i)
{
	if (!w->blocked[d])
		return i * w->l.stride[d];
	return w->term[d] ? w->term[d][i] : axis_offset(&w->l, d, i);
}

static int64_t row_offset(const struct layout_walk *w)
{
	int64_t at = 0;
	for (int d = 0; d < w->l.nd - 1; d++)
		at += place(w, d, w->index[d]);
	return at;
}

/* Steps the odometer over all axes but the innermost; false at the end. */
static bool next_row(struct layout_walk *w)
{
	for (int d = w->l.nd - 2; d >= 0; d--) {
		if (++w->index[d] < w->l.dims[d])
			return true;
		w->index[d] = 0;
	}
	return false;
}

/* Elements `from` to `from + n` of a row that begins at
 * base, from or to a dense run of the same type. */
#define MOVE(type, to, of)                                               \
	for (int64_t k = 0; k < n; k++)                                      \
		memcpy(to, of, sizeof(type));                                    \
	break
#define PLACE(type) (base + (size_t)place(w, d, from + k) * sizeof(type))
#define DENSE(type) (run + (size_t)k * sizeof(type))

static void scatter(const struct layout_walk *w, char *base, int64_t from, int64_t n,
                    const char *run)
{
	const int d = w->l.nd - 1;
	switch (w->size) {
	case 1: MOVE(int8_t, PLACE(int8_t), DENSE(int8_t));
	case 2: MOVE(int16_t, PLACE(int16_t), DENSE(int16_t));
	case 4: MOVE(int32_t, PLACE(int32_t), DENSE(int32_t));
	default: MOVE(int64_t, PLACE(int64_t), DENSE(int64_t));
	}
}

static void gather(const struct layout_walk *w, const char *base, int64_t from, int64_t n,
                   char *run)
{
	const int d = w->l.nd - 1;
	switch (w->size) {
	case 1: MOVE(int8_t, DENSE(int8_t), PLACE(int8_t));
	case 2: MOVE(int16_t, DENSE(int16_t), PLACE(int16_t));
	case 4: MOVE(int32_t, DENSE(int32_t), PLACE(int32_t));
	default: MOVE(int64_t, DENSE(int64_t), PLACE(int64_t));
	}
}

static void pack_row(const struct layout_walk *w, enum dtype td, char *base, int64_t from,
                     int64_t n, enum dtype ts, const char *src)
{
	char run[RUN * 8];
	if (w->dense)
		dtype_convert(td, base + (size_t)from * w->size, ts, src, n);
	else if (td == ts)
		scatter(w, base, from, n, src);
	else
		for (int64_t i = 0; i < n; i += RUN) {
			int64_t m = n - i < RUN ? n - i : RUN;
			dtype_convert(td, run, ts, src + (size_t)i * dtype_size(ts), m);
			scatter(w, base, from + i, m, run);
		}
}

static void unpack_row(const struct layout_walk *w, enum dtype td, char *dst, enum dtype ts,
                       const char *base)
{
	char run[RUN * 8];
	if (w->dense)
		dtype_convert(td, dst, ts, base, w->row);
	else if (td == ts)
		gather(w, base, 0, w->row, dst);
	else
		for (int64_t i = 0; i < w->row; i += RUN) {
			int64_t m = w->row - i < RUN ? w->row - i : RUN;
			gather(w, base, i, m, run);
			dtype_convert(td, dst + (size_t)i * dtype_size(td), ts, run, m);
		}
}

/* Sets the odometer; returns the place in the row. */
static int64_t seek(struct layout_walk *w, int64_t first)
{
	int64_t from = first % w->row;
	first /= w->row;
	for (int d = w->l.nd - 2; d >= 0; d--) {
		w->index[d] = first % w->l.dims[d];
		first /= w->l.dims[d];
	}
	return from;
}

static void pack(struct layout_walk *w, enum dtype td, char *dst, int64_t first, int64_t n,
                 enum dtype ts, const char *src)
{
	int64_t from = seek(w, first);
	while (n > 0) {
		int64_t m = n < w->row - from ? n : w->row - from;
		pack_row(w, td, dst + (size_t)row_offset(w) * w->size, from, m, ts, src);
		src += (size_t)m * dtype_size(ts);
		n -= m;
		from = 0;
		next_row(w);
	}
}

void layout_walk_pack(struct layout_walk *w, enum dtype td, void *dst, int64_t first, int64_t n,
                      enum dtype ts, const void *src)
{
	BUG_IF(first < 0 || n > w->count - first, "elements %lld to %lld of %lld", (long long)first,
	       (long long)(first + n), (long long)w->count);
	pack(w, td, dst, first, n, ts, src);
}

bool layout_walk_has_rows(const struct layout_walk *w)
{
	const struct layout *l = &w->l;
	return l->nd > 1 && l->nblk > 0 && l->blk_dim[l->nblk - 1] == 0 &&
	       l->blk[l->nblk - 1] % LAYOUT_ROWS == 0 && w->size == sizeof(float);
}

static void put_rows(const struct layout_walk *w, float *base, int64_t from, int64_t n, int rows,
                     const float *src, int64_t step)
{
	for (int64_t k = 0; k < n; k++) {
		float *to = base + place(w, w->l.nd - 1, from + k);
		if (rows == LAYOUT_ROWS)
			for (int r = 0; r < LAYOUT_ROWS; r++)
				to[r] = src[r * step + k];
		else
			for (int r = 0; r < rows; r++)
				to[r] = src[r * step + k];
	}
}

void layout_walk_pack_rows(struct layout_walk *w, float *dst, int64_t first, int64_t n, int rows,
                           const float *src, int64_t step)
{
	int64_t from = seek(w, first);
	BUG_IF(w->index[0] % LAYOUT_ROWS || rows > LAYOUT_ROWS || w->index[0] + rows > w->l.dims[0],
	       "%d rows from %lld on", rows, (long long)w->index[0]);
	while (n > 0) {
		int64_t m = n < w->row - from ? n : w->row - from;
		put_rows(w, dst + row_offset(w), from, m, rows, src, step);
		src += m;
		n -= m;
		from = 0;
		next_row(w);
	}
}

void layout_pack(const struct layout *l, const struct shape *s, enum dtype td, void *dst,
                 enum dtype ts, const void *src)
{
	struct layout_walk w;
	if (shape_count(s) > 0 && layout_normal(l).nblk)
		memset(dst, 0, (size_t)layout_elements(l) * dtype_size(td));
	if (shape_count(s) == 0)
		return;
	layout_walk_init(&w, l, s, td);
	pack(&w, td, dst, 0, w.count, ts, src);
}

void layout_unpack(const struct layout *l, const struct shape *s, enum dtype td, void *dst,
                   enum dtype ts, const void *src)
{
	struct layout_walk w;
	char *to = dst;
	if (shape_count(s) == 0)
		return;
	layout_walk_init(&w, l, s, ts);
	do {
		unpack_row(&w, td, to, ts, (const char *)src + (size_t)row_offset(&w) * w.size);
		to += (size_t)w.row * dtype_size(td);
	} while (next_row(&w));
}
