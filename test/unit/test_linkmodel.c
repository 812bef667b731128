/* SPDX-License-Identifier: BSD-3-Clause
 *
 * comm/linkmodel.h: the formulas at values worked out by hand, how they grow, and when a
 * measurement counts. */
#include <math.h>

#include "cases.h"
#include "backend/device.h"
#include "comm/linkmodel.h"

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fabs(b)))
		fail_msg("%.12g instead of %.12g", a, b);
}

/* A message of 1 s, a byte in 0.01 s, added in 0.001 s. */
static const struct link slow = { 1, 100, 1000 };

static void formulas(void **state)
{
	near(link_ring(&slow, 4, 800), 6 + 2 * 600 / 100.0 + 0.6);
	near(link_ring(&slow, 5, 1000), 8 + 2 * 800 / 100.0 + 0.8);
	near(link_doubling(&slow, 4, 800), 2 * (1 + 8 + 0.8));
	near(link_doubling(&slow, 5, 800), 3 * (1 + 8 + 0.8));
	near(link_halving(&slow, 8, 800), 6 + 2 * 700 / 100.0 + 0.7);
	near(link_halving(&slow, 6, 600), 2 * (1 + 6) + 0.6 + 4 + 2 * 500 / 100.0 + 0.5);
	/* nothing to send without others; with one other all of it once, or halves twice */
	for (int p = 1; p <= 2; p++)
		near(link_ring(&slow, p, 800), p == 1 ? 0 : 2 + 8 + 0.4);
}

/* A measured curve: of two sizes, between them, before the first and beyond the last. */
static void curves(void **state)
{
	const double bytes[] = { 100, 200, 400 }, seconds[] = { 1, 3, 4 };
	const struct link l = { .points = 3, .bytes = bytes, .seconds = seconds };
	const double at[][2] = { { 0, 1 }, { 100, 1 }, { 150, 2 }, { 200, 3 }, { 300, 3.5 }, { 400, 4 },
		{ 800, 6 } };
	struct linkmodel m;
	for (size_t i = 0; i < sizeof at / sizeof *at; i++)
		near(link_message(&l, at[i][0]), at[i][1]);
	near(link_ring(&l, 4, 800), 6 * 3);
	near(link_doubling(&l, 4, 800), 2 * 6);
	near(link_halving(&l, 4, 800), 2 * (4 + 3));
	/* Between hosts each rank has the curve; within one it is that of the sum. */
	linkmodel_of_each(&m, 4, &l);
	near(linkmodel_seconds(&m, 800), 12);
	linkmodel_of_each(&m, 1, &l);
	assert_true(linkmodel_seconds(&m, 800) == 0);
	linkmodel_of_hosts(&m, 1, 4, 0, false, 8);
	m.inside = l;
	near(linkmodel_seconds(&m, 150), 2);
	/* All shards of a host are one message. */
	linkmodel_of_hosts(&m, 4, 2, 2, false, 8);
	m.across = l;
	near(linkmodel_seconds(&m, 800) - m.inside.latency - 4 * 800 / m.inside.bandwidth, 12);
}

/* On a host a message costs its latency alone: its bytes are copied by the nodes at both ends. */
static void messages(void **state)
{
	struct linkmodel m;
	linkmodel_flat(&m, 1, 100);
	near(linkmodel_message(&m, false, 800), 9);
	linkmodel_of_hosts(&m, 2, 4, 4, false, 8);
	near(linkmodel_message(&m, true, 0), linkmodel_message(&m, true, 1e9));
	near(linkmodel_message(&m, false, 11e9) - linkmodel_message(&m, false, 0), 1);
	/* A measured curve; a link of its own, also to a rank of the same host. */
	m.across = (struct link){ .points = 2, .bytes = (double[]){ 100, 200 },
		.seconds = (double[]){ 2, 3 } };
	near(linkmodel_message(&m, false, 150), 2.5);
	linkmodel_of_each(&m, 4, &(struct link){ .latency = 1, .bandwidth = 100 });
	near(linkmodel_message(&m, true, 800), 9);
}

static void algorithm(const struct linkmodel *m, double bytes, const char *name)
{
	assert_string_equal(linkmodel_algorithm(m, bytes), name);
}

/* Short sums by fewest messages, long ones by least bytes. */
static void choice(void **state)
{
	struct linkmodel m;
	linkmodel_of_hosts(&m, 64, 1, 1, false, 8);
	algorithm(&m, 64, "recursive doubling");
	algorithm(&m, 1 << 26, "halving and doubling");
	near(linkmodel_seconds(&m, 1 << 26), link_halving(&m.across, 64, 1 << 26));
	linkmodel_of_hosts(&m, 5, 1, 1, false, 8);
	algorithm(&m, 1 << 26, "ring");
	linkmodel_of_hosts(&m, 5, 1, 1, true, 8);
	algorithm(&m, 64, "all-to-all and all-gather");
	linkmodel_of_hosts(&m, 1, 4, 0, false, 8);
	algorithm(&m, 64, "shared memory");
	linkmodel_of_hosts(&m, 1, 1, 0, false, 8);
	assert_true(linkmodel_seconds(&m, 1e9) == 0);
}

/* Shards share their host's link: eight ranks of a host send no more than one would, and add in
 * parallel. */
static void shards(void **state)
{
	struct linkmodel one, eight;
	linkmodel_of_hosts(&one, 16, 1, 1, false, 8);
	linkmodel_of_hosts(&eight, 16, 8, 8, false, 8);
	double n = 1 << 26, inside = eight.inside.latency + 16 * n / eight.inside.bandwidth;
	double most = linkmodel_seconds(&one, n) + inside, least = most - n / one.across.adding;
	assert_true(linkmodel_seconds(&eight, n) < most && linkmodel_seconds(&eight, n) > least);
}

static void grows(const struct linkmodel *a, const struct linkmodel *b)
{
	for (double n = 1; n < 1e10; n *= 3) {
		assert_true(linkmodel_seconds(a, 3 * n) > linkmodel_seconds(a, n));
		assert_true(linkmodel_seconds(b, n) > linkmodel_seconds(a, n));
	}
}

/* With bytes, and with hosts as long as they are powers of two. */
static void monotonic(void **state)
{
	struct device gpu = { .model = NULL };
	for (int hosts = 1; hosts <= 8192; hosts *= 2) {
		struct linkmodel a, b;
		linkmodel_of_hosts(&a, hosts, 2, 2, false, 8);
		linkmodel_of_hosts(&b, 2 * hosts, 2, 2, false, 8);
		grows(&a, &b);
		linkmodel_of_gpus(&a, hosts, 8, &gpu);
		linkmodel_of_gpus(&b, 2 * hosts, 8, &gpu);
		grows(&a, &b);
	}
}

/* Many hosts have a tree, since a ring through all takes a step for each of them. */
static void trees(void **state)
{
	struct device gpu = { .model = NULL };
	struct linkmodel one, few, many;
	linkmodel_of_gpus(&one, 1, 8, &gpu);
	linkmodel_of_gpus(&few, 2, 1, &gpu);
	linkmodel_of_gpus(&many, 2048, 8, &gpu);
	algorithm(&one, 1e6, "ring");
	algorithm(&few, 1e6, "ring");
	algorithm(&many, 1e6, "tree");
	near(linkmodel_seconds(&many, 0) - linkmodel_seconds(&one, 0), 2 * 11 * many.across.latency);
}

/* What is about as known changes nothing; what is not does by a power of eight. */
static void corrections(void **state)
{
	struct linkmodel m, known;
	const double bytes[2] = { 4096, 1 << 24 };
	linkmodel_of_hosts(&known, 4, 1, 1, false, 8);
	double small = linkmodel_seconds(&known, bytes[0]), large = linkmodel_seconds(&known, bytes[1]);
	m = known;
	linkmodel_correct(&m, bytes, (double[]){ small * 2.5, large * 2.5 });
	assert_memory_equal(&m, &known, sizeof m);
	linkmodel_correct(&m, bytes, (double[]){ small / 2.5, large / 2.5 });
	assert_memory_equal(&m, &known, sizeof m);
	linkmodel_correct(&m, bytes, (double[]){ small, small + 10 * (large - small) });
	near(m.slower[0], 1);
	near(m.slower[1], 8);
	near(linkmodel_seconds(&m, 1e9) - linkmodel_seconds(&m, 0),
	     8 * (linkmodel_seconds(&known, 1e9) - linkmodel_seconds(&known, 0)));
	linkmodel_correct(&m, bytes, (double[]){ 60 * small, 0 });
	near(m.slower[0], 64);
	near(m.slower[1], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(formulas), cmocka_unit_test(curves), cmocka_unit_test(messages),
		cmocka_unit_test(choice),
		cmocka_unit_test(shards),
		cmocka_unit_test(monotonic), cmocka_unit_test(trees), cmocka_unit_test(corrections),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
