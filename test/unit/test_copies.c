/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of weights in other layouts and types, against packing element by element: all layouts
 * that convolutions read, channels that fill no block, pieces, and padding that is to be
 * written. */
#include "cases.h"
#include "base/mem.h"
#include "base/rng.h"
#include "op/lib/regroup.h"
#include "op/update/copier.h"

/* order: axes from outermost to innermost; then blocks: axis and extent, innermost last. */
struct form {
	const char *name, *order;
	int nblk;
	int8_t axis[4];
	int64_t extent[4];
};

static struct layout layout_of(const struct form *f, const struct shape *s)
{
	struct layout l = { .set = true, .nd = s->nd, .nblk = f->nblk };
	int64_t step = 1;
	memcpy(l.dims, s->d, sizeof *s->d * (size_t)s->nd);
	for (int b = 0; b < f->nblk; b++) {
		l.blk[b] = f->extent[b];
		l.blk_dim[b] = f->axis[b];
		step *= f->extent[b];
	}
	for (int i = s->nd - 1; i >= 0; i--) {
		int d = f->order[i] - 'a';
		int64_t block = layout_block(&l, d);
		l.stride[d] = step;
		step *= (l.dims[d] + block - 1) / block;
	}
	return l;
}

static const struct form forms[] = {
	{ "abcd", "abcd", 0, { 0 }, { 0 } },
	{ "cdba", "cdba", 0, { 0 }, { 0 } },
	{ "ABcd16b16a", "abcd", 2, { 1, 0 }, { 16, 16 } },
	{ "Acdb16a", "acdb", 1, { 0 }, { 16 } },
	{ "Acdb32a", "acdb", 1, { 0 }, { 32 } },
	{ "BAcd16a16b", "bacd", 2, { 0, 1 }, { 16, 16 } },
	{ "AcdB64a2b", "acdb", 2, { 0, 1 }, { 64, 2 } },
	{ "AcdB16a2b", "acdb", 2, { 0, 1 }, { 16, 2 } },
	{ "ABcd8a16b2a", "abcd", 3, { 0, 1, 0 }, { 8, 16, 2 } },
	{ "BAcd8a16b2a", "bacd", 3, { 0, 1, 0 }, { 8, 16, 2 } },
};
#define FORMS (sizeof forms / sizeof *forms)

static const struct shape shapes[] = {
	{ 4, { 64, 32, 3, 3 } }, { 4, { 728 % 96, 40, 1, 1 } }, { 4, { 7, 3, 2, 3 } },
	{ 4, { 48, 48, 1, 1 } }, { 4, { 16, 1, 3, 3 } }
};

static size_t bytes_of(const struct tensor *t)
{
	return (size_t)layout_elements(&t->layout) * dtype_size(t->dtype);
}

static void *packed(const struct tensor *t, const float *plain)
{
	void *p = mem_calloc(bytes_of(t) + 64, 1);
	layout_pack(&t->layout, &t->shape, t->dtype, p, DTYPE_F32, plain);
	return p;
}

static void compare(const void *got, const void *want, const struct tensor *t, const char *from,
                    const char *to, const char *what)
{
	if (memcmp(got, want, bytes_of(t)) != 0)
		fail_msg("%s to %s (%lld x %lld), %s: other values", from, to, (long long)t->shape.d[0],
		         (long long)t->shape.d[1], what);
}

/* In pieces of a grain, last one first. */
static void in_pieces(const struct copier *c, const struct tensor *x, const void *from, void *to)
{
	const int64_t n = layout_elements(&x->layout), grain = copier_grain(c);
	for (int64_t at = (n - 1) / grain * grain; at >= 0; at -= grain)
		copier_range(c, from, to, at, at + grain < n ? at + grain : n);
}

static int check_pair(struct arena *arena, const struct form *f, const struct form *t,
                      const struct shape *s, enum dtype type)
{
	struct tensor x = { .shape = *s, .dtype = DTYPE_F32, .layout = layout_of(f, s) };
	struct tensor y = { .shape = *s, .dtype = type, .layout = layout_of(t, s) };
	const struct copier_side a = { &x, DTYPE_F32 }, b = { &y, type };
	float *plain = mem_alloc((size_t)shape_count(s) * sizeof *plain);
	struct copier *c;
	int ranges = 0;
	for (int64_t i = 0; i < shape_count(s); i++)
		plain[i] = (float)rng_normal(7, 1, 0, (uint64_t)i);
	plain[0] = __builtin_nanf("");
	void *from = packed(&x, plain), *want = packed(&y, plain),
	     *got = mem_calloc(bytes_of(&y) + 64, 1);
	copier_new(&c, arena, a, b, false);
	assert_non_null(c);
	copier_all(c, from, got);
	compare(got, want, &y, f->name, t->name, "all");
	if (copier_grain(c)) {
		memset(got, 0, bytes_of(&y));
		in_pieces(c, &x, from, got);
		compare(got, want, &y, f->name, t->name, "pieces");
		ranges = 1;
	}
	copier_new(&c, arena, a, b, true);
	memset(got, 0x5a, bytes_of(&y));
	if (c) {
		copier_all(c, from, got);
		compare(got, want, &y, f->name, t->name, "padding too");
	}
	mem_free(plain);
	mem_free(from);
	mem_free(want);
	mem_free(got);
	return ranges;
}

static void test_all_pairs(void **state)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_BF16 };
	struct arena *arena = arena_new();
	int ranges = 0;
	(void)state;
	for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
		for (size_t f = 0; f < FORMS; f++)
			for (size_t t = 0; t < FORMS; t++)
				for (int k = 0; k < 2; k++)
					ranges += check_pair(arena, &forms[f], &forms[t], &shapes[s], types[k]);
	assert_true(ranges > 100);
	arena_free(arena);
}

/* Depthwise weights: groups in front on one side. */
static void test_buckets(void **state)
{
	const struct shape s = { 4, { 40, 1, 3, 3 } };
	struct tensor x = { .shape = s, .dtype = DTYPE_F32, .layout = layout_plain(&s) };
	struct tensor y = { .shape = s, .dtype = DTYPE_BF16 };
	struct arena *arena = arena_new();
	struct copier *c;
	float plain[360];
	uint16_t got[3 * 16 * 9] = { 0 };
	(void)state;
	for (int i = 0; i < 360; i++)
		plain[i] = (float)(i % 128);
	assert_true(layout_split_first(&x.layout, 40, &y.layout));
	y.layout.nblk = 1;                   /* Abcde16a */
	y.layout.blk[0] = 16;
	y.layout.blk_dim[0] = 0;
	y.layout.stride[0] = 144;
	y.layout.stride[1] = y.layout.stride[2] = 144;
	y.layout.stride[3] = 48;
	y.layout.stride[4] = 16;
	copier_new(&c, arena, (struct copier_side){ &x, DTYPE_F32 },
	           (struct copier_side){ &y, DTYPE_BF16 }, false);
	assert_non_null(c);
	copier_all(c, plain, got);
	for (int i = 0; i < 360; i++)
		assert_true(dtype_get(DTYPE_BF16, got, layout_offset(&y.layout, i)) == (double)(i % 128));
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_all_pairs),
		cmocka_unit_test(test_buckets) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
