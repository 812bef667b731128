/* SPDX-License-Identifier: BSD-3-Clause
 *
 * plan/sums/buckets.h: the cut that is solved against all cuts
 * there are; the simple rules; their spelling. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "plan/sums/buckets.h"

#define MOST 12

static double total(const double *v, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += v[i];
	return sum;
}

/* When the last update is done if bit i of `cuts` says that a group begins at gradient i + 1. */
static double finish(const struct linkmodel *link, const struct gradients *g, unsigned cuts)
{
	double now = 0, end = g->ready[g->n - 1];
	for (int from = 0, to; from < g->n; from = to) {
		double sum = 0;
		for (to = from; to == from || (to < g->n && !(cuts >> (to - 1) & 1)); to++)
			sum += (double)g->bytes[to];
		now = fmax(now, g->ready[to - 1]) + linkmodel_seconds(link, sum);
		end = fmax(end, now) + total(g->update + from, to - from);
	}
	return end;
}

static int bits(unsigned x)
{
	int n = 0;
	for (; x; x &= x - 1)
		n++;
	return n;
}

/* The best time, and the fewest messages with it. */
static double best_of_all(const struct linkmodel *link, const struct gradients *g, int *messages)
{
	double best = INFINITY;
	*messages = g->n;
	for (unsigned cuts = 0; cuts < 1u << (g->n - 1); cuts++)
		best = fmin(best, finish(link, g, cuts));
	for (unsigned cuts = 0; cuts < 1u << (g->n - 1); cuts++)
		if (bits(cuts) + 1 < *messages && finish(link, g, cuts) <= best * (1 + 1e-11))
			*messages = bits(cuts) + 1;
	return best;
}

static unsigned mask_of(const int *first, int groups)
{
	unsigned cuts = 0;
	for (int k = 1; k < groups; k++)
		cuts |= 1u << (first[k] - 1);
	return cuts;
}

struct problem {
	struct gradients g;
	double ready[MOST], update[MOST];
	int64_t bytes[MOST];
};

/* No gradient is so small that it is joined to another. */
static void draw(struct problem *p, int n, bool updates, unsigned *seed)
{
	double now = 0;
	for (int i = 0; i < n; i++) {
		*seed = *seed * 1664525 + 1013904223;
		now += (*seed >> 16) * 1e-8;
		p->ready[i] = now;
		p->update[i] = updates ? (*seed >> 20) * 1e-7 : 0;
		p->bytes[i] = 70000 + (*seed >> 8) % 3000000;
	}
	p->g = (struct gradients){ n, p->ready, p->update, p->bytes };
}

/* Over ever slower links a step does not end earlier. */
static void solved_is_best(void **state)
{
	struct grouping how = { GROUPING_AUTO, 0 };
	unsigned seed = 5;
	for (int trial = 0; trial < 60; trial++) {
		struct problem p;
		double before = 0;
		draw(&p, 1 + trial % MOST, trial >= 30, &seed);
		for (int slower = 1; slower <= 5; slower++) {
			struct linkmodel link;
			int first[MOST + 1], messages;
			linkmodel_flat(&link, 1e-4 * slower, 1e9 / slower);
			int groups = buckets_cut(&how, &link, &p.g, first);
			assert_int_equal(first[0], 0);
			assert_int_equal(first[groups], p.g.n);
			double end = finish(&link, &p.g, mask_of(first, groups));
			assert_true(end <= best_of_all(&link, &p.g, &messages) * (1 + 1e-11));
			assert_int_equal(groups, messages);
			assert_true(end >= before * (1 - 1e-11));
			before = end;
		}
	}
}

/* All at once: one message. One a second: all but the last have time enough together. */
static void extremes(void **state)
{
	static const int64_t bytes[4] = { 100000, 200000, 300000, 400000 };
	static const double once[4] = { 1, 1, 1, 1 }, later[4] = { 1, 2, 3, 4 };
	struct grouping how = { GROUPING_AUTO, 0 };
	struct linkmodel link;
	int first[5];
	linkmodel_flat(&link, 1e-5, 1e9);
	struct gradients g = { 4, once, NULL, bytes };
	assert_int_equal(buckets_cut(&how, &link, &g, first), 1);
	g.ready = later;
	assert_int_equal(buckets_cut(&how, &link, &g, first), 2);
	assert_int_equal(first[1], 3);
}

static void many_parameters(void **state)
{
	enum { N = 10000 };
	static double ready[N];
	static int64_t bytes[N];
	static int first[N + 1];
	struct grouping how = { GROUPING_AUTO, 0 };
	struct linkmodel link;
	linkmodel_flat(&link, 1e-5, 1e9);
	for (int scale = 1; scale <= 1000; scale *= 1000) {
		for (int i = 0; i < N; i++) {
			ready[i] = i * 1e-5;
			bytes[i] = scale * (64 + i % 1000);
		}
		const struct gradients g = { N, ready, NULL, bytes };
		int groups = buckets_cut(&how, &link, &g, first);
		assert_in_range(groups, 1, N / 50);
		for (int k = 0; k < groups; k++)
			assert_true(first[k] < first[k + 1]);
	}
}

static void rules(void **state)
{
	static const int64_t bytes[5] = { 10, 10, 30, 5, 5 };
	static const double ready[5] = { 0 };
	int first[6];
	struct grouping none = { GROUPING_NONE, 0 }, size = { GROUPING_SIZE, 20 },
	                count = { GROUPING_COUNT, 2 };
	const struct gradients g = { 5, ready, NULL, bytes };
	assert_int_equal(buckets_cut(&none, NULL, &g, first), 5);
	assert_int_equal(buckets_cut(&size, NULL, &g, first), 3);
	assert_int_equal(first[1], 2);
	assert_int_equal(first[2], 3);
	assert_int_equal(buckets_cut(&count, NULL, &g, first), 2);
	assert_int_equal(first[2], 5);
	count.value = 9;
	assert_in_range(buckets_cut(&count, NULL, &g, first), 2, 5);
}

static void spelling(void **state)
{
	static const char *const bad[] = { "", "size", "size:", "size:-1", "size:x", "count:0",
		"count:1.5", "some", "count:" };
	struct loc loc = { "config.yaml", 3, 5 };
	struct grouping g;
	assert_int_equal(grouping_parse("auto", &loc, &g), 0);
	assert_int_equal(g.kind, GROUPING_AUTO);
	assert_int_equal(grouping_parse("none", &loc, &g), 0);
	assert_int_equal(g.kind, GROUPING_NONE);
	assert_int_equal(grouping_parse("size:25MiB", &loc, &g), 0);
	assert_true(g.kind == GROUPING_SIZE && g.value == 25 << 20);
	assert_int_equal(grouping_parse("count:4", &loc, &g), 0);
	assert_true(g.kind == GROUPING_COUNT && g.value == 4);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(grouping_parse(bad[i], &loc, &g), E_CONFIG);
		assert_non_null(strstr(err_get(0)->text, "expected auto, none, size:BYTES"));
		err_clear();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(solved_is_best), cmocka_unit_test(extremes),
		cmocka_unit_test(many_parameters), cmocka_unit_test(rules), cmocka_unit_test(spelling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
