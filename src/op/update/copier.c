/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An offset is a sum over axes (graph/layout.h), so a table for each axis gives an element's offset
 * on either side. If 16 elements of the first axis are adjacent, as in all layouts that
 * convolutions prefer, blocks of 16 x 16 over the first two axes are transposed as a whole; other
 * layouts are copied element by element. */
#include "op/update/copier.h"

#include <string.h>

#include "base/half.h"
#include "op/lib/regroup.h"
#include "op/lib/simd.h"
#include "op/update/copier_block.h"

enum way { SAME, BLOCKS, ELEMENTS };

struct side {
	const int64_t *a, *b, *tap;      /* tables of offsets: of the first axis, the second, and all
	                                  * others together, row-major */
	int64_t na, nb, ntap;            /* lengths of the tables; a and b include padding */
};

struct copier {
	enum way way;
	bool bf16;
	int64_t grain;                   /* alignment of ranges, in elements; 0: only the whole
	                                  * tensor */
	bool rows;                       /* for BLOCKS: in the source the first axis is the innermost,
	                                  * and the taps are outermost */
	size_t size;                     /* bytes of an element of the source */
	int64_t count;                   /* what a range counts: SAME: elements; BLOCKS: blocks;
	                                  * ELEMENTS: indices of the first axis, without padding */
	int64_t na, nb;                  /* numbers of blocks along the first two axes */
	struct side from, to;
	enum copier_form form;
	copier_block_fn *block;
};

/* --- tables --- */

static const int64_t *axis(struct arena *arena, const struct layout *l, int d, int64_t *n)
{
	const int64_t block = d < l->nd ? layout_block(l, d) : 1, extent = d < l->nd ? l->dims[d] : 1;
	*n = (extent + block - 1) / block * block;
	int64_t *t = ARENA_ARRAY(arena, int64_t, *n);
	for (int64_t i = 0; i < *n && d < l->nd; i++)
		t[i] = layout_axis_offset(l, d, i);
	return t;
}

/* Tabulates the offsets of all axes from the third on; false if one of them is padded. */
static bool taps(struct arena *arena, const struct layout *l, struct side *s)
{
	s->ntap = 1;
	for (int d = 2; d < l->nd; d++) {
		s->ntap *= l->dims[d];
		if (l->dims[d] % layout_block(l, d))
			return false;
	}
	int64_t *t = ARENA_ARRAY(arena, int64_t, s->ntap);
	for (int64_t i = 0; i < s->ntap; i++) {
		int64_t left = i;
		for (int d = l->nd - 1; d >= 2; left /= l->dims[d], d--)
			t[i] += layout_axis_offset(l, d, left % l->dims[d]);
	}
	s->tap = t;
	return true;
}

static bool make_side(struct arena *arena, const struct layout *l, struct side *s)
{
	s->a = axis(arena, l, 0, &s->na);
	s->b = axis(arena, l, 1, &s->nb);
	return taps(arena, l, s);
}

/* --- blocks --- */

/* Whether all entries within each group of 16 are `step` apart. */
static bool strides(const int64_t *t, int64_t n, int64_t step)
{
	for (int64_t i = 0; i < n; i++)
		if (i % 16 && t[i] != t[i - 1] + step)
			return false;
	return n % 16 == 0;
}

static bool in_pairs(const int64_t *t, int64_t n)
{
	for (int64_t i = 1; i < n; i += 2)
		if (t[i] != t[i - 1] + 1)
			return false;
	return n % 2 == 0;
}

/* Finds the form of blocks (struct copier_block). Elements of the source that the other side's
 * padding does not cover are zero, and are left out in whole pieces of a block. */
static bool find_form(struct copier *c)
{
	const struct side *to = &c->to;
	const int64_t na = c->from.na, nb = c->from.nb, least_a = na < to->na ? na : to->na,
	              least_b = nb < to->nb ? nb : to->nb;
	const bool all_a = least_a == na, all_b = least_b == nb && nb % 16 == 0;
	if (all_a && strides(to->a, na, 1))
		c->form = COPIER_ROWS;
	else if (c->bf16 && all_a && nb % 16 == 0 && strides(to->a, na, 2) && in_pairs(to->b, least_b))
		c->form = COPIER_PAIRS;
	else if (c->bf16 && all_b && strides(to->b, nb, 2) && in_pairs(to->a, least_a))
		c->form = COPIER_TRANSPOSED;
	else if (all_b && strides(to->b, nb, 1))
		c->form = COPIER_COLUMNS;
	else
		return false;
	c->block = copier_block_of(c->form, c->bf16);
	return true;
}

/* Whether the rows within each block are equally spaced. */
static bool even(const int64_t *t, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (i % 16 > 1 && t[i] - t[i - 1] != t[i - 1] - t[i - 2])
			return false;
	return true;
}

/* Whether entries 0, each, 2 each, ... are 0, step, 2 step, ... */
static bool runs(const int64_t *t, int64_t n, int64_t each, int64_t step)
{
	for (int64_t i = 0; i < n; i += each)
		if (t[i] != i / each * step)
			return false;
	return true;
}

/* Finds the order of blocks in the source: either all taps of a block of channels are adjacent, or
 * rows of the first axis are, 16 of which are blocks side by side. */
static void find_order(struct copier *c)
{
	const struct side *s = &c->from;
	if (s->nb % 16)
		return;
	if (strides(s->b, s->nb, 16) && runs(s->a, s->na, 16, 16 * s->nb * s->ntap) &&
	    runs(s->b, s->nb, 16, 256 * s->ntap) && runs(s->tap, s->ntap, 1, 256))
		c->grain = 256;
	c->rows = runs(s->a, s->na, 1, 1) && runs(s->b, s->nb, 1, s->na) &&
	          runs(s->tap, s->ntap, 1, s->na * s->nb);
	if (c->rows)
		c->grain = 16 * s->na;
}

static int64_t blocks(int64_t n, int64_t padded, bool fill)
{
	return ((fill && padded > n ? padded : n) + 15) / 16;
}

/* fill: blocks, or pieces of them, that consist of padding are written, too; no block may consist
 * of padding in part. */
static bool plan_blocks(struct copier *c, bool fill)
{
	if (fill && c->to.nb > c->from.nb && c->from.nb % 16)
		return false;
	if (!strides(c->from.a, c->from.na, 1) || !even(c->from.b, c->from.nb) || !find_form(c))
		return false;
	c->way = BLOCKS;
	c->na = blocks(c->from.na, c->to.na, fill);
	c->nb = blocks(c->from.nb, c->to.nb, fill);
	c->count = c->na * c->nb * c->from.ntap;
	find_order(c);
	return true;
}

void copier_new(struct copier **out, struct arena *arena, struct copier_side x,
                struct copier_side y, bool fill)
{
	struct copier *c = ARENA_NEW(arena, struct copier);
	const struct layout *from = &x.tensor->layout, *to = &y.tensor->layout;
	struct layout a = *from, b = *to;
	*out = NULL;
	c->bf16 = y.type == DTYPE_BF16;
	c->size = dtype_size(x.type);
	if (!(x.type == DTYPE_F32 && c->bf16) && (x.type != y.type || c->size < 4))
		return;
	if (layout_equal(&a, &b) && !fill) {
		c->way = SAME;
		c->count = layout_elements(&a);
		c->grain = 16;
		*out = c;
		return;
	}
	if ((a.nd + 1 == b.nd && !layout_split_first(from, b.dims[0], &a)) ||
	    (b.nd + 1 == a.nd && !layout_split_first(to, a.dims[0], &b)))
		return;
	if (a.nd != b.nd || memcmp(a.dims, b.dims, sizeof a.dims) || !make_side(arena, &a, &c->from) ||
	    !make_side(arena, &b, &c->to))
		return;
	if ((x.type == DTYPE_F32 && plan_blocks(c, fill)) || !fill)
		*out = c;
	if (c->way == BLOCKS)
		return;
	c->way = ELEMENTS;
	c->count = a.dims[0];
	c->nb = a.nd > 1 ? a.dims[1] : 1;
}

/* --- run --- */

/* How many of the indices i .. i + 15 are below n. */
static int within(int64_t n, int64_t i)
{
	return n - i < 0 ? 0 : n - i < 16 ? (int)(n - i) : 16;
}

static void run_block(const struct copier *c, const void *from, void *to, int64_t i)
{
	static const float zero[16];
	const int64_t taps = c->from.ntap;
	const int64_t tap = c->rows ? i / c->na / c->nb : i % taps;
	const int64_t b = 16 * (c->rows ? i / c->na % c->nb : i / taps % c->nb);
	const int64_t a = 16 * (c->rows ? i % c->na : i / taps / c->nb);
	const int64_t *ta = c->to.a + a, *tb = c->to.b + b, base = c->to.tap[tap];
	const bool padding = a >= c->from.na || b >= c->from.nb;
	const int na = within(c->to.na, a),
	          nb = within(c->to.nb < c->from.nb || padding ? c->to.nb : c->from.nb, b);
	int64_t at[16];
	int n = 0;
	switch (c->form) {
	case COPIER_ROWS:
		for (; n < nb; n++)
			at[n] = base + ta[0] + tb[n];
		break;
	case COPIER_PAIRS:
		for (; n < nb / 2; n++)
			at[n] = base + ta[0] + tb[2 * n];
		break;
	case COPIER_TRANSPOSED:
		for (; n < na / 2; n++)
			at[n] = base + tb[0] + ta[2 * n];
		break;
	case COPIER_COLUMNS:
		for (; n < na; n++)
			at[n] = base + tb[0] + ta[n];
		break;
	}
	if (padding) {
		c->block(&(struct copier_block){ zero, 0, at, n }, to);
		return;
	}
	const int64_t step = c->from.nb > 1 ? c->from.b[b + 1 < c->from.nb ? b + 1 : b] - c->from.b[b] :
	                     0;
	c->block(&(struct copier_block){
		(const float *)from + c->from.a[a] + c->from.b[b] + c->from.tap[tap], step, at, n }, to);
}

static void put_element(const struct copier *c, const char *from, char *to, int64_t x, int64_t y)
{
	if (c->bf16)
		((uint16_t *)to)[y] = simd_bfloat(((const float *)from)[x]);
	else
		memcpy(to + (size_t)y * c->size, from + (size_t)x * c->size, c->size);
}

/* Copies all elements at one index of the first axis. */
static void run_elements(const struct copier *c, const void *from, void *to, int64_t a)
{
	for (int64_t b = 0; b < c->nb; b++)
		for (int64_t t = 0; t < c->from.ntap; t++)
			put_element(c, from, to, c->from.a[a] + c->from.b[b] + c->from.tap[t],
			            c->to.a[a] + c->to.b[b] + c->to.tap[t]);
}

static void run_same(const struct copier *c, const char *from, char *to, int64_t lo, int64_t hi)
{
	if (c->bf16)
		bfloat_from_floats((uint16_t *)to + lo, (const float *)from + lo, hi - lo);
	else
		memcpy(to + (size_t)lo * c->size, from + (size_t)lo * c->size, (size_t)(hi - lo) * c->size);
}

int64_t copier_grain(const struct copier *c)
{
	return c->grain;
}

void copier_range(const struct copier *c, const void *from, void *to, int64_t lo, int64_t hi)
{
	if (c->way == SAME)
		run_same(c, from, to, lo, hi);
	else
		for (int64_t i = lo / 256; i < hi / 256; i++)
			run_block(c, from, to, i);
#if SIMD_AVX512
	__builtin_ia32_sfence();         /* blocks are written with non-temporal stores */
#endif
}

#define PART 16384               /* elements that are worth a thread */

void copier_all(const struct copier *c, const void *from, void *to)
{
	const int64_t each = c->way == SAME ? 1 : c->way == BLOCKS ? 256 : c->nb * c->from.ntap;
	const int64_t units = c->count, parts = units * each / PART + 1;
#pragma omp parallel for schedule(static) if (parts > 2)
	for (int64_t p = 0; p < parts; p++) {
		const int64_t lo = units * p / parts, hi = units * (p + 1) / parts;
		if (c->way == SAME) {
			run_same(c, from, to, lo, hi);
			continue;
		}
		for (int64_t i = lo; i < hi; i++)
			(c->way == BLOCKS ? run_block : run_elements)(c, from, to, i);
#if SIMD_AVX512
		__builtin_ia32_sfence();
#endif
	}
}

const char *copier_name(const struct copier *c)
{
	static const char *const name[] = { [SAME] = "same", [BLOCKS] = "blocks",
		[ELEMENTS] = "elements" };
	return name[c->way];
}
