/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Physical layouts. They are compared and walked in a normal form: axes of extent 1 dropped,
 * neighbours that are contiguous joined. Two layouts with the same normal form put every element in
 * the same place, however their axes are grouped. */
#include "graph/layout.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

int64_t layout_block(const struct layout *l, int d)
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

struct layout layout_normal(const struct layout *l)
{
	struct layout n = { .set = l->set };
	bool open = false;
	for (int d = 0; d < l->nd; d++) {
		bool blocked = layout_block(l, d) > 1;
		if (l->dims[d] == 1 && !blocked)
			continue;
		normal_axis(&n, l, d, blocked, &open);
		if (l->dims[d] <= layout_block(l, d))
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

/* Whether the descriptions are equal, which settles it for most equal layouts. */
static bool same(const struct layout *a, const struct layout *b)
{
	if (a->nd != b->nd || a->nblk != b->nblk)
		return false;
	for (int d = 0; d < a->nd; d++)
		if (a->dims[d] != b->dims[d] || a->stride[d] != b->stride[d])
			return false;
	for (int k = 0; k < a->nblk; k++)
		if (a->blk[k] != b->blk[k] || a->blk_dim[k] != b->blk_dim[k])
			return false;
	return true;
}

bool layout_equal(const struct layout *a, const struct layout *b)
{
	struct layout m, n;
	if (!a->set || !b->set)
		return a->set == b->set;
	if (same(a, b))
		return true;
	m = layout_normal(a);
	n = layout_normal(b);
	return same(&m, &n);
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
	for (int d = s->nd - 1; d >= 0 && !stride; d--)    /* from the innermost spatial axis of extent
	                                                    * > 1, or axis 0 */
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
		int64_t b = layout_block(l, d);
		if (l->dims[d] == 0)
			return 0;
		n += ((l->dims[d] + b - 1) / b - 1) * l->stride[d];
	}
	return n;
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
		buf[at++] = (char)((layout_block(l, order[d]) > 1 ? 'A' : 'a') + order[d]);
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

/* Digits in the inner blocks, the rest outside. */
int64_t layout_axis_offset(const struct layout *l, int d, int64_t i)
{
	int64_t offset = 0, step = 1;
	for (int b = l->nblk - 1; b >= 0; b--) {
		if (l->blk_dim[b] == d) {
			offset += i % l->blk[b] * step;
			i /= l->blk[b];
		}
		step *= l->blk[b];
	}
	return offset + i * l->stride[d];
}

void layout_name(const struct layout *l, struct buf *b)
{
	for (int i = 0; i < l->nd; i++)
		buf_printf(b, "%s%lld:%lld", i ? "," : "", (long long)l->dims[i], (long long)l->stride[i]);
}
