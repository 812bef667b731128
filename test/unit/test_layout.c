/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Physical layouts by brute force: offsets against the formula of layout.h, packing against
 * offsets. */
#include "cases.h"
#include "base/mem.h"
#include "graph/layout.h"

static struct shape dims(int nd, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f)
{
	return shape_of(nd, (int64_t[]){ a, b, c, d, e, f });
}

/* Row-major over the outer blocks, then these blocks. */
static struct layout blocked(const struct shape *s, int nblk, const int64_t *blk, const int *dim)
{
	struct layout l = { .set = true, .nd = s->nd, .nblk = nblk };
	int64_t stride = 1;
	for (int k = 0; k < nblk; k++) {
		l.blk[k] = blk[k];
		l.blk_dim[k] = (int8_t)dim[k];
		stride *= blk[k];
	}
	for (int d = s->nd - 1; d >= 0; d--) {
		int64_t b = 1;
		for (int k = 0; k < nblk; k++)
			b *= dim[k] == d ? blk[k] : 1;
		l.dims[d] = s->d[d];
		l.stride[d] = stride;
		stride *= (s->d[d] + b - 1) / b;
	}
	return l;
}

/* The layouts the tests go through. */
#define SAMPLES 13
static void sample(int i, struct shape *s, struct layout *l)
{
	switch (i) {
	case 0: *s = dims(0, 0, 0, 0, 0, 0, 0); *l = layout_plain(s); break;
	case 1: *s = dims(1, 7, 0, 0, 0, 0, 0); *l = layout_native(s); break;
	case 2: *s = dims(4, 2, 3, 4, 5, 0, 0); *l = layout_plain(s); break;
	case 3: *s = dims(4, 2, 3, 4, 5, 0, 0); *l = layout_native(s); break;
	case 4: *s = dims(5, 2, 3, 4, 2, 3, 0); *l = layout_native(s); break;
	case 5:
		*s = dims(4, 2, 21, 3, 3, 0, 0);
		*l = blocked(s, 1, (int64_t[]){ 8 }, (int[]){ 1 });
		break;
	case 6:
		*s = dims(4, 35, 18, 3, 3, 0, 0);
		*l = blocked(s, 2, (int64_t[]){ 16, 16 }, (int[]){ 1, 0 });
		break;
	case 7:
		*s = dims(4, 32, 32, 1, 1, 0, 0);
		*l = blocked(s, 3, (int64_t[]){ 4, 16, 4 }, (int[]){ 1, 0, 1 });
		break;
	case 8: *s = dims(4, 1, 1, 5, 6, 0, 0); *l = layout_native(s); break;
	case 9: /* grouped weights (8, 3, 2, 2) as (4, 2, 3, 2, 2), axis 1 in blocks */
		*s = dims(5, 4, 2, 3, 2, 2, 0);
		*l = blocked(s, 1, (int64_t[]){ 2 }, (int[]){ 1 });
		*s = dims(4, 8, 3, 2, 2, 0, 0);
		break;
	case 10: /* channels 2..4 of a channels-last buffer of 9 channels */
		*s = dims(4, 2, 3, 4, 5, 0, 0);
		*l = (struct layout){
			.set = true, .nd = 4, .dims = { 2, 3, 4, 5 }, .stride = { 180, 1, 45, 9 }
		};
		break;
	case 11: *s = dims(2, 300, 700, 0, 0, 0, 0);
		*l = (struct layout){
			.set = true, .nd = 2, .dims = { 300, 700 }, .stride = { 1, 300 }
		};
		break;
	default:
		*s = dims(2, 3, 601, 0, 0, 0, 0);
		*l = blocked(s, 1, (int64_t[]){ 16 }, (int[]){ 1 });
		break;
	}
}

/* The formula of layout.h, from scratch. */
static int64_t offset_by_formula(const struct layout *l, int64_t flat)
{
	int64_t index[MAXD], at = 0, inner = 0;
	int64_t rest[MAXD];
	for (int d = l->nd - 1; d >= 0; d--) {
		index[d] = flat % l->dims[d];
		flat /= l->dims[d];
	}
	for (int d = 0; d < l->nd; d++) {
		int64_t b = 1;
		for (int k = 0; k < l->nblk; k++)
			b *= l->blk_dim[k] == d ? l->blk[k] : 1;
		at += index[d] / b * l->stride[d];
		rest[d] = index[d] % b;
	}
	for (int k = 0; k < l->nblk; k++) {      /* digits, most significant first */
		int64_t below = 1;
		for (int j = k + 1; j < l->nblk; j++)
			below *= l->blk_dim[j] == l->blk_dim[k] ? l->blk[j] : 1;
		inner = inner * l->blk[k] + rest[l->blk_dim[k]] / below % l->blk[k];
	}
	return at + inner;
}

static void test_offsets(void **state)
{
	for (int i = 0; i < SAMPLES; i++) {
		struct shape s;
		struct layout l;
		sample(i, &s, &l);
		int64_t n = shape_count(&s), room = layout_elements(&l), last = 0;
		char *seen = mem_calloc((size_t)room, 1);
		for (int64_t k = 0; k < n; k++) {
			int64_t at = layout_offset(&l, k);
			assert_int_equal(at, offset_by_formula(&l, k));
			assert_true(at >= 0 && at < room && !seen[at]);
			seen[at] = 1;
			last = at > last ? at : last;
		}
		if (l.nblk == 0)
			assert_int_equal(last, room - 1);
		assert_int_equal(layout_is_dense(&l), room == n);
		mem_free(seen);
	}
}

static void test_pack(void **state)
{
	for (int i = 0; i < SAMPLES; i++) {
		struct shape s;
		struct layout l;
		sample(i, &s, &l);
		int64_t n = shape_count(&s), room = layout_elements(&l), filled = 0;
		double *plain = mem_calloc((size_t)n, sizeof *plain),
		       *back = mem_calloc((size_t)n, sizeof *back);
		float *laid = mem_alloc((size_t)room * sizeof *laid);
		for (int64_t k = 0; k < n; k++)
			plain[k] = (double)k + 1;
		for (int64_t k = 0; k < room; k++)
			laid[k] = -1;
		layout_pack(&l, &s, DTYPE_F32, laid, DTYPE_F64, plain);
		for (int64_t k = 0; k < n; k++)
			assert_true(laid[layout_offset(&l, k)] == (float)(k + 1));
		for (int64_t k = 0; k < room; k++)
			filled += laid[k] > 0;
		assert_int_equal(filled, n);
		/* padding is zero; what a slice skips is not touched */
		for (int64_t k = 0; k < room; k++)
			assert_true(laid[k] > 0 || (l.nblk ? laid[k] == 0 : laid[k] == -1));
		layout_unpack(&l, &s, DTYPE_F64, back, DTYPE_F32, laid);
		assert_memory_equal(plain, back, (size_t)n * sizeof *plain);
		mem_free(plain);
		mem_free(back);
		mem_free(laid);
	}
}

/* Piece by piece it is the same, and what is not requested stays. */
static void test_pack_part(void **state)
{
	for (int i = 0; i < SAMPLES; i++) {
		struct shape s;
		struct layout l;
		sample(i, &s, &l);
		int64_t n = shape_count(&s), room = layout_elements(&l);
		double *plain = mem_calloc((size_t)n, sizeof *plain);
		float *whole = mem_calloc((size_t)room, sizeof *whole),
		      *parts = mem_calloc((size_t)room, sizeof *parts);
		struct layout_walk w;
		for (int64_t k = 0; k < n; k++)
			plain[k] = (double)k + 1;
		layout_pack(&l, &s, DTYPE_F32, whole, DTYPE_F64, plain);
		layout_walk_init(&w, &l, &s, DTYPE_F32);
		for (int64_t at = 0, m = 1; at < n; at += m, m = m % 5 + 2)
			layout_walk_pack(&w, DTYPE_F32, parts, at, n - at < m ? n - at : m, DTYPE_F64,
			                 plain + at);
		assert_memory_equal(parts, whole, (size_t)room * sizeof *parts);
		memset(parts, 0, (size_t)room * sizeof *parts);
		layout_walk_pack(&w, DTYPE_F32, parts, n / 2, 1, DTYPE_F64, plain + n / 2);
		for (int64_t k = 0; k < room; k++)
			assert_true(parts[k] == (k == layout_offset(&l, n / 2) ? (float)(n / 2 + 1) : 0));
		mem_free(plain);
		mem_free(whole);
		mem_free(parts);
	}
}

/* By groups of rows that stand side by side it is the same too; those at the end may be fewer. */
static void test_pack_rows(void **state)
{
	const struct shape all[] = { dims(4, 35, 18, 3, 3, 0, 0), dims(2, 48, 7, 0, 0, 0, 0),
		dims(4, 72, 5, 1, 1, 0, 0) };
	const int64_t block[] = { 16, 48, 64 };
	for (int i = 0; i < 3; i++) {
		const struct shape s = all[i];
		const struct layout l = blocked(&s, 1, &block[i], (int[]){ 0 });
		const int64_t n = shape_count(&s), room = layout_elements(&l), row = n / s.d[0];
		float *plain = mem_calloc((size_t)n, sizeof *plain),
		      *whole = mem_calloc((size_t)room, sizeof *whole),
		      *parts = mem_calloc((size_t)room, sizeof *parts);
		struct layout_walk w;
		for (int64_t k = 0; k < n; k++)
			plain[k] = (float)k + 1;
		layout_pack(&l, &s, DTYPE_F32, whole, DTYPE_F32, plain);
		layout_walk_init(&w, &l, &s, DTYPE_F32);
		assert_true(layout_walk_has_rows(&w));
		for (int64_t r = 0; r < s.d[0]; r += LAYOUT_ROWS)
			for (int64_t at = 0, m = 5; at < row; at += m) {
				const int rows = s.d[0] - r < LAYOUT_ROWS ? (int)(s.d[0] - r) : LAYOUT_ROWS;
				layout_walk_pack_rows(&w, parts, r * row + at, row - at < m ? row - at : m, rows,
				                      plain + r * row + at, row);
			}
		assert_memory_equal(parts, whole, (size_t)room * sizeof *parts);
		mem_free(plain);
		mem_free(whole);
		mem_free(parts);
	}
}

/* Same type both ways, of every size. */
static void test_pack_types(void **state)
{
	struct shape s;
	struct layout l;
	sample(6, &s, &l);
	for (int t = 0; t < DTYPE_COUNT; t++) {
		int64_t n = shape_count(&s);
		size_t size = dtype_size((enum dtype)t);
		char *plain = mem_calloc((size_t)n, size), *back = mem_calloc((size_t)n, size);
		char *laid = mem_alloc((size_t)layout_elements(&l) * size);
		for (int64_t k = 0; k < n; k++)
			dtype_set((enum dtype)t, plain, k, (double)(k % 120));
		layout_pack(&l, &s, (enum dtype)t, laid, (enum dtype)t, plain);
		layout_unpack(&l, &s, (enum dtype)t, back, (enum dtype)t, laid);
		assert_memory_equal(plain, back, (size_t)n * size);
		mem_free(plain);
		mem_free(back);
		mem_free(laid);
	}
}

static void test_equal(void **state)
{
	struct shape s = dims(4, 2, 3, 1, 1, 0, 0), t = dims(4, 1, 3, 4, 5, 0, 0),
		     u = dims(4, 8, 3, 2, 2, 0, 0);
	struct layout a = layout_plain(&s), b = layout_native(&s), unset = { 0 };
	assert_true(layout_equal(&a, &b));       /* one pixel: no difference */
	a.stride[3] = 99;
	assert_true(layout_is_plain(&a, &s));    /* of an axis of extent 1 */
	assert_false(layout_equal(&a, &unset));
	assert_true(layout_equal(&unset, &unset));
	a = layout_plain(&t);
	b = layout_native(&t);
	assert_false(layout_equal(&a, &b));
	assert_true(layout_is_native(&b, &t) && !layout_is_plain(&b, &t));
	/* other groupings of the axes */
	s = dims(5, 4, 2, 3, 2, 2, 0);
	a = layout_plain(&s);
	assert_true(layout_is_plain(&a, &u));
	s = dims(1, 96, 0, 0, 0, 0, 0);
	a = layout_plain(&s);
	assert_true(layout_is_plain(&a, &u));
	/* blocks */
	sample(6, &s, &a);
	b = a;
	assert_true(layout_equal(&a, &b));
	b.blk[1] = 8;
	assert_false(layout_equal(&a, &b));
	b = a;
	b.blk_dim[0] = 0, b.blk_dim[1] = 1;
	assert_false(layout_equal(&a, &b));
	b = a;
	b.blk[2] = 1, b.blk_dim[2] = 3, b.nblk = 3;
	assert_true(layout_equal(&a, &b));       /* a block of one is none */
	b = a;
	b.stride[0] *= 2;
	assert_false(layout_equal(&a, &b));
}

static void test_rows(void **state)
{
	struct shape s = dims(4, 2, 3, 4, 5, 0, 0), one = dims(4, 1, 3, 1, 1, 0, 0),
		     flat = dims(2, 6, 3, 0, 0, 0, 0), vector = dims(1, 3, 0, 0, 0, 0, 0);
	struct layout l = layout_slice(&s, 7), n = layout_native(&s), p = layout_plain(&s);
	struct layout_rows r;
	assert_true(layout_rows(&l, &s, &r));
	assert_true(r.rows == 40 && r.c == 3 && r.stride == 7);
	assert_int_equal(layout_offset(&l, 1 * 60 + 2 * 20 + 3 * 5 + 4), 7 * (20 + 3 * 5 + 4) + 2);
	assert_false(layout_is_native(&l, &s));
	assert_true(layout_rows(&n, &s, &r) && r.stride == 3);
	assert_false(layout_rows(&p, &s, &r));
	l.stride[0]++;                            /* samples not where the last pixel ends */
	assert_false(layout_rows(&l, &s, &r));
	l = layout_slice(&one, 9);                /* a single pixel has no distance */
	assert_true(layout_rows(&l, &one, &r) && r.rows == 1);
	l = layout_slice(&flat, 5);
	assert_true(layout_rows(&l, &flat, &r) && r.rows == 6 && r.stride == 5);
	l = layout_plain(&vector);
	assert_false(layout_rows(&l, &vector, &r));
	l = n;
	l.nblk = 1, l.blk[0] = 16, l.blk_dim[0] = 1;
	assert_false(layout_rows(&l, &s, &r));
}

static void test_text(void **state)
{
	static const char *const want[SAMPLES] = { "plain",  "plain",   "plain",      "native",
		                                   "native", "aBcd8b",  "ABcd16b16a", "ABcd4b16a4b",
		                                   "plain",  "aBcde2b", "slice",       "ba",
		                                   "aB16b" };
	char buf[LAYOUT_TEXT];
	for (int i = 0; i < SAMPLES; i++) {
		struct shape s;
		struct layout l;
		sample(i, &s, &l);
		assert_string_equal(layout_text(&l, &s, buf), want[i]);
	}
	struct shape s = dims(6, 1, 2, 3, 4, 5, 6);
	struct layout l = layout_plain(&s);
	assert_string_equal(layout_text(&(struct layout){ 0 }, &s, buf), "?");
	l.nblk = 4;
	for (int k = 0; k < 4; k++)
		l.blk[k] = INT64_MAX, l.blk_dim[k] = 1;
	l.blk[0] = l.blk[1] = l.blk[2] = 1;
	layout_text(&l, &s, buf);
	assert_true(strlen(buf) < LAYOUT_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets),    cmocka_unit_test(test_pack),
		cmocka_unit_test(test_pack_part),  cmocka_unit_test(test_pack_rows),
		cmocka_unit_test(test_pack_types), cmocka_unit_test(test_equal),
		cmocka_unit_test(test_text),       cmocka_unit_test(test_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
