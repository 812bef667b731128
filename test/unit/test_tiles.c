/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fields cut into windows: every output comes from one window that has all it depends on, or from
 * several whose weights fall off. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "plan/extent/field.h"
#include "plan/extent/tiles.h"

/* One axis: outputs num / den inputs apart, which see lo before to hi after. */
struct net {
	int64_t num, den, stride;
	double lo, hi;
};

static int64_t first_of(const struct net *n, int64_t o)
{
	return (int64_t)ceil((double)(o * n->num) / (double)n->den + n->lo);
}

static int64_t last_of(const struct net *n, int64_t o)
{
	return (int64_t)floor((double)(o * n->num) / (double)n->den + n->hi);
}

static struct receptive_field field_of(const struct net *n, int64_t tile)
{
	struct receptive_field r = { .axes = 1, .finite = true, .exact = true };
	struct receptive_axis x = { n->num, n->den, tile * n->den / n->num, first_of(n, 0),
		last_of(n, 0), 0, 0 };
	while (first_of(n, x.begin) < 0)
		x.begin++;
	while (last_of(n, x.end) < tile)
		x.end++;
	r.axis[0] = x;
	r.stride[0] = n->stride;
	return r;
}

static void check_exact(const struct net *n, const struct receptive_field *r,
                        const struct tile_axis *t)
{
	int64_t next = 0;
	for (int i = 0; i < t->n; i++) {
		const int64_t origin = t->from[i] * r->axis[0].den / r->axis[0].num;
		assert_int_equal(t->from[i] % r->stride[0], 0);
		assert_true(t->from[i] >= 0 && t->from[i] + t->tile <= t->whole);
		assert_int_equal(t->begin[i], next);
		assert_int_equal(t->at[i], t->begin[i] - origin);
		assert_true(t->end[i] > t->begin[i] && t->end[i] - origin <= t->out_tile);
		for (int64_t o = t->begin[i]; o < t->end[i]; o++) {
			if (t->from[i] > 0)
				assert_true(first_of(n, o - origin) >= 0);
			if (t->from[i] + t->tile < t->whole)
				assert_true(last_of(n, o - origin) <= t->tile - 1);
		}
		next = t->end[i];
	}
	assert_int_equal(next, t->out_whole);
}

static void test_exact(void **state)
{
	static const struct net nets[] = {
		{ 1, 1, 1, -3, 3 }, { 1, 1, 4, -9, 10 }, { 4, 1, 4, -6, 9 }, { 1, 2, 2, -4.5, 4 },
		{ 1, 1, 8, 0, 12 }, { 1, 1, 1, 0, 0 },
	};
	for (size_t k = 0; k < sizeof nets / sizeof *nets; k++)
		for (int64_t tile = 32; tile <= 72; tile += nets[k].stride)
			for (int64_t whole = tile; whole < 200; whole += nets[k].stride) {
				struct receptive_field r = field_of(&nets[k], tile);
				struct arena *a = arena_new();
				struct tiling t;
				if (tile % nets[k].stride || whole % nets[k].stride)
					fail_msg("extents that are no multiples");
				assert_int_equal(tiles_cut(&t, a, &r, false, &whole, &tile), 0);
				assert_int_equal(t.axis[0].out_whole, whole * nets[k].den / nets[k].num);
				check_exact(&nets[k], &r, &t.axis[0]);
				if (whole == tile)
					assert_int_equal(t.axis[0].n, 1);
				arena_free(a);
			}
}

static void test_too_small(void **state)
{
	struct receptive_field r = field_of(&(struct net){ 1, 1, 4, -20, 20 }, 40);
	const int64_t whole = 100, tile = 40;
	struct arena *a = arena_new();
	struct tiling t;
	assert_int_equal(tiles_cut(&t, a, &r, false, &whole, &tile), E_USAGE);
	assert_non_null(strstr(err_get(0)->text, "about 41 inputs"));
	err_clear();
	/* the whole needs no halo */
	assert_int_equal(tiles_cut(&t, a, &r, false, &tile, &tile), 0);
	arena_free(a);
}

static void test_blended(void **state)
{
	for (int64_t tile = 16; tile <= 64; tile += 8)
		for (int64_t whole = tile; whole < 150; whole += 8) {
			struct receptive_field r = field_of(&(struct net){ 1, 1, 8, 0, 0 }, tile);
			struct arena *a = arena_new();
			struct tiling t;
			assert_int_equal(tiles_cut(&t, a, &r, true, &whole, &tile), 0);
			const struct tile_axis *x = &t.axis[0];
			double before = 0;
			for (int64_t o = 0; o < whole; o++) {
				double sum = 0, first = 0;
				for (int i = 0; i < x->n; i++)
					if (o >= x->begin[i] && o < x->end[i]) {
						const double w = tile_weight(x, i, o);
						assert_true(w > 0 && w <= 1);
						sum += w;
						first = i == 0 ? w : first;
					}
				assert_true(sum > 0);
				if (o > 0)
					assert_true(before >= first - 1e-12);      /* the first window fades */
				before = first;
			}
			arena_free(a);
		}
}

static void test_padding(void **state)
{
	struct plan_field f = { .input = { 3, { 2, 33, 64 } } };
	const int64_t stride[FIELD_AXES] = { 8, 16, 1 };
	field_pad_to(&f, stride);
	const struct shape s = field_padded(&f);
	assert_int_equal(s.d[0], 2);
	assert_int_equal(s.d[1], 40);
	assert_int_equal(s.d[2], 64);
	assert_int_equal(field_cut_extent(40, 40, 33), 33);
	assert_int_equal(field_cut_extent(10, 40, 33), 9);
	assert_int_equal(field_cut_extent(80, 40, 33), 66);
	assert_int_equal(field_cut_extent(38, 40, 33), 38);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_too_small),
		cmocka_unit_test(test_blended),
		cmocka_unit_test(test_padding),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
