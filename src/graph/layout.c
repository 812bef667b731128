/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Physical layouts. The offset of an element is a sum of one term for each axis (block digits
 * included), so moving a tensor is an odometer over the outer axes and a run along the innermost.
 * Layouts are compared and walked in a normal form: axes of extent 1 dropped, neighbours that are
 * contiguous joined. Two layouts with the same normal form put every element in the same place,
 * however their axes are grouped. */
#include "graph/layout.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

#define RUN 256                  /* elements converted at a time */

static int64_t block_of(const struct layout *l, int d)
{
	int64_t b = 1;

	for (int k = 0; k < l->nblk; k++)
		if (l->blk_dim[k] == d)
			b *= l->blk[k];
	return b;
}

static int64_t blocks_size(const struct layout *l)
{
	int64_t n = 1;

	for (int k = 0; k < l->nblk; k++)
		n *= l->blk[k];
	return n;
}

/* Row-major strides over the axes in this order (a permutation of 0 .. nd-1). */
static struct layout ordered(const struct shape *s, const int *order)
{
	struct layout l = { .set = true, .nd = s->nd };
	int64_t stride = 1;

	for (int k = s->nd - 1; k >= 0; k--) {
		int d = order[k];
		l.dims[d] = s->d[d];
		l.stride[d] = stride;
		if (s->d[d] > 0 && __builtin_mul_overflow(stride, s->d[d], &stride))
			stride = INT64_MAX;
	}
	return l;
}

struct layout layout_plain(const struct shape *s)
{
	static const int order[MAXD] = { 0, 1, 2, 3, 4, 5 };

	return ordered(s, order);
}

struct layout layout_native(const struct shape *s)
{
	int order[MAXD] = { 0 };

	if (s->nd < 3)
		return layout_plain(s);
	for (int k = 1; k < s->nd - 1; k++)
		order[k] = k + 1;
	order[s->nd - 1] = 1;
	return ordered(s, order);
}

/* Appends axis d of l to the normal form n, or joins it to the last one. */
static void normal_axis(struct layout *n, const struct layout *l, int d, bool blocked, bool *open)
{
	int last = n->nd - 1;

	if (!blocked && *open && n->stride[last] == l->dims[d] * l->stride[d]) {
		n->dims[last] *= l->dims[d];
		n->stride[last] = l->stride[d];
		return;
	}
	n->dims[n->nd] = l->dims[d];
	n->stride[n->nd] = l->stride[d];
	n->nd++;
	*open = !blocked;
}

static struct layout normal(const struct layout *l)
{
	struct layout n = { .set = l->set };
	bool open = false;

	for (int d = 0; d < l->nd; d++) {
		bool blocked = block_of(l, d) > 1;
		if (l->dims[d] == 1 && !blocked)
			continue;
		normal_axis(&n, l, d, blocked, &open);
		if (l->dims[d] <= block_of(l, d))
			n.stride[n.nd - 1] = 0;   /* one block: its stride is never used */
		for (int k = 0; k < l->nblk; k++)
			if (l->blk_dim[k] == d && l->blk[k] > 1)
				n.blk_dim[k] = (int8_t)(n.nd - 1);
	}
	for (int k = 0; k < l->nblk; k++) {
		if (l->blk[k] <= 1)
			continue;
		n.blk_dim[n.nblk] = n.blk_dim[k];
		n.blk[n.nblk++] = l->blk[k];
	}
	for (int k = n.nblk; k < LAYOUT_MAXBLK; k++)
		n.blk_dim[k] = 0;
	return n;
}

bool layout_equal(const struct layout *a, const struct layout *b)
{
	struct layout m, n;

	if (!a->set || !b->set)
		return a->set == b->set;
	m = normal(a);
	n = normal(b);
	if (m.nd != n.nd || m.nblk != n.nblk)
		return false;
	for (int d = 0; d < m.nd; d++)
		if (m.dims[d] != n.dims[d] || m.stride[d] != n.stride[d])
			return false;
	for (int k = 0; k < m.nblk; k++)
		if (m.blk[k] != n.blk[k] || m.blk_dim[k] != n.blk_dim[k])
			return false;
	return true;
}

bool layout_is_plain(const struct layout *l, const struct shape *s)
{
	struct layout p = layout_plain(s);

	return layout_equal(l, &p);
}

bool layout_is_native(const struct layout *l, const struct shape *s)
{
	struct layout p = layout_native(s);

	return layout_equal(l, &p);
}

struct layout layout_slice(const struct shape *s, int64_t stride)
{
	struct layout l = layout_native(s);

	for (int d = 0; d < l.nd; d++)
		if (d != 1)
			l.stride[d] = l.stride[d] / s->d[1] * stride;
	return l;
}

bool layout_rows(const struct layout *l, const struct shape *s, struct layout_rows *out)
{
	int64_t stride = 0;

	if (s->nd < 2 || l->nd != s->nd || l->nblk)
		return false;
	for (int d = s->nd - 1; d >= 0 && !stride; d--)    /* of the innermost axis with a step */
		if (d != 1 && s->d[d] > 1) {
			struct layout dense = layout_native(s);
			stride = l->stride[d] / (dense.stride[d] / s->d[1]);
		}
	stride = stride ? stride : s->d[1];
	if (stride < s->d[1])
		return false;
	struct layout want = layout_slice(s, stride);
	if (!layout_equal(l, &want))
		return false;
	*out = (struct layout_rows){ shape_count(s) / s->d[1], s->d[1], stride };
	return true;
}

static int64_t count(const struct layout *l)
{
	int64_t n = 1;

	for (int d = 0; d < l->nd; d++)
		n *= l->dims[d];
	return n;
}

bool layout_is_dense(const struct layout *l)
{
	return layout_elements(l) == count(l);
}

int64_t layout_elements(const struct layout *l)
{
	int64_t n = blocks_size(l);

	for (int d = 0; d < l->nd; d++) {
		int64_t b = block_of(l, d);
		if (l->dims[d] == 0)
			return 0;
		n += ((l->dims[d] + b - 1) / b - 1) * l->stride[d];
	}
	return n;
}

/* What index i of axis d adds to the offset. */
static int64_t axis_offset(const struct layout *l, int d, int64_t i)
{
	int64_t b = block_of(l, d), r = i % b, inner = 1, at = i / b * l->stride[d];

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

/* Moves n elements of `size` bytes between a dense run and places base + i * step, or base +
 * axis_offset(i) where the axis is blocked. */
struct walk {
	struct layout l;             /* normal form, one axis at least */
	bool blocked;                /* the innermost axis */
	size_t size;
};

static int64_t place(const struct walk *w, int64_t i)
{
	int d = w->l.nd - 1;

	return w->blocked ? axis_offset(&w->l, d, i) : i * w->l.stride[d];
}

static void scatter(const struct walk *w, char *base, int64_t from, int n, const char *run)
{
	for (int k = 0; k < n; k++)
		memcpy(base + (size_t)place(w, from + k) * w->size, run + (size_t)k * w->size,
		       w->size);
}

static void gather(const struct walk *w, const char *base, int64_t from, int n, char *run)
{
	for (int k = 0; k < n; k++)
		memcpy(run + (size_t)k * w->size, base + (size_t)place(w, from + k) * w->size,
		       w->size);
}

static struct walk walk_of(const struct layout *l, const struct shape *s, enum dtype laid)
{
	struct walk w = { .l = normal(l), .size = dtype_size(laid) };

	BUG_IF(!l->set || count(l) != shape_count(s), "layout of %lld elements for a shape of %lld",
	       (long long)count(l), (long long)shape_count(s));
	if (w.l.nd == 0) {
		w.l.nd = 1;
		w.l.dims[0] = 1;
	}
	w.blocked = block_of(&w.l, w.l.nd - 1) > 1;
	return w;
}

/* Whether the innermost axis is one dense run. */
static bool contiguous(const struct walk *w)
{
	int d = w->l.nd - 1;

	return !w->blocked && (w->l.stride[d] == 1 || w->l.dims[d] == 1);
}

/* Steps the odometer over all axes but the innermost; false at the end. */
static bool next_row(const struct layout *l, int64_t *index)
{
	for (int d = l->nd - 2; d >= 0; d--) {
		if (++index[d] < l->dims[d])
			return true;
		index[d] = 0;
	}
	return false;
}

static int64_t row_offset(const struct layout *l, const int64_t *index)
{
	int64_t at = 0;

	for (int d = 0; d < l->nd - 1; d++)
		at += axis_offset(l, d, index[d]);
	return at;
}

void layout_pack(const struct layout *l, const struct shape *s, enum dtype td, void *dst,
                 enum dtype ts, const void *src)
{
	struct walk w = walk_of(l, s, td);
	int64_t index[MAXD] = { 0 }, row = w.l.dims[w.l.nd - 1];
	const char *from = src;
	char run[RUN * 8];

	if (shape_count(s) == 0)
		return;
	if (w.l.nblk)
		memset(dst, 0, (size_t)layout_elements(&w.l) * w.size);
	do {
		char *base = (char *)dst + (size_t)row_offset(&w.l, index) * w.size;
		if (contiguous(&w)) {
			dtype_convert(td, base, ts, from, row);
			from += (size_t)row * dtype_size(ts);
			continue;
		}
		for (int64_t i = 0; i < row; i += RUN) {
			int n = row - i < RUN ? (int)(row - i) : RUN;
			dtype_convert(td, run, ts, from, n);
			scatter(&w, base, i, n, run);
			from += (size_t)n * dtype_size(ts);
		}
	} while (next_row(&w.l, index));
}

void layout_unpack(const struct layout *l, const struct shape *s, enum dtype td, void *dst,
                   enum dtype ts, const void *src)
{
	struct walk w = walk_of(l, s, ts);
	int64_t index[MAXD] = { 0 }, row = w.l.dims[w.l.nd - 1];
	char *to = dst;
	char run[RUN * 8];

	if (shape_count(s) == 0)
		return;
	do {
		const char *base = (const char *)src + (size_t)row_offset(&w.l, index) * w.size;
		if (contiguous(&w)) {
			dtype_convert(td, to, ts, base, row);
			to += (size_t)row * dtype_size(td);
			continue;
		}
		for (int64_t i = 0; i < row; i += RUN) {
			int n = row - i < RUN ? (int)(row - i) : RUN;
			gather(&w, base, i, n, run);
			dtype_convert(td, to, ts, run, n);
			to += (size_t)n * dtype_size(td);
		}
	} while (next_row(&w.l, index));
}

/* "ABcd16b16a": axes by falling stride, capitals for blocked ones, then the blocks. */
static const char *blocked_text(const struct layout *l, char *buf)
{
	int order[MAXD], at = 0;

	for (int d = 0; d < l->nd; d++) {
		int k = d;
		for (; k > 0 && l->stride[order[k - 1]] < l->stride[d]; k--)
			order[k] = order[k - 1];
		order[k] = d;
	}
	for (int d = 0; d < l->nd; d++)
		buf[at++] = (char)((block_of(l, order[d]) > 1 ? 'A' : 'a') + order[d]);
	buf[at] = '\0';
	for (int k = 0; k < l->nblk && at < LAYOUT_TEXT - 1; k++)
		at += snprintf(buf + at, (size_t)(LAYOUT_TEXT - at), "%lld%c", (long long)l->blk[k],
		               'a' + l->blk_dim[k]);
	return buf;
}

const char *layout_text(const struct layout *l, const struct shape *s, char *buf)
{
	struct layout_rows rows;

	if (!l->set)
		return strcpy(buf, "?");
	if (layout_is_plain(l, s))
		return strcpy(buf, "plain");
	if (layout_is_native(l, s))
		return strcpy(buf, "native");
	if (layout_rows(l, s, &rows))
		return strcpy(buf, "slice");
	return blocked_text(l, buf);
}
