/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums over the records of replays: medians, time in which nothing runs, names. */
#include <math.h>

#include "cases.h"
#include "backend/replay.h"

#define NS 1e-9
#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-12)

/* Three replays in the wrong order: two kernels of node 4 that overlap, a pause, a copy of node 7.
 * Of the slow second replay only the medians' neighbours may be seen. */
static void test_medians(void **state)
{
	struct replay_span s[9];
	size_t n = 0;
	(void)state;
	for (uint32_t launch = 3; launch-- > 0;) {
		uint64_t t = 100000 * (launch + 1), more = launch == 1 ? 5000 : launch * 10;
		s[n++] = (struct replay_span){ 30, launch, 7, "copy", t + 900, t + 1000 + more };
		s[n++] = (struct replay_span){ 10, launch, 4, "_ZN3dlx4sumsIfLi2EEvPKf", t, t + 400 };
		s[n++] = (struct replay_span){ 20, launch, 4, "gemm", t + 300, t + 600 };
	}
	struct replay r;
	replay_sum(&r, s, n);
	assert_int_equal(r.replays, 3);
	assert_int_equal(r.nkernel, 3);
	assert_near(r.span, 1020 * NS);
	assert_near(r.busy, 720 * NS);
	const char *const name[] = { "sums", "gemm", "copy" };
	const double start[] = { 0, 300, 900 }, seconds[] = { 400, 300, 120 };
	const nid node[] = { 4, 4, 7 };
	for (int i = 0; i < 3; i++) {
		assert_string_equal(r.kernel[i].name, name[i]);
		assert_int_equal(r.kernel[i].node, node[i]);
		assert_near(r.kernel[i].start, start[i] * NS);
		assert_near(r.kernel[i].seconds, seconds[i] * NS);
	}
	replay_release(&r);
	assert_null(r.arena);
	replay_release(&r);
}

static void test_names(void **state)
{
	static const char *const row[][2] = {
		{ "_Z4kernPf", "kern" }, { "_ZN12_GLOBAL__N_14mapsI6__halfEEvPT_l", "maps" },
		{ "sm90_xmma_fprop", "sm90_xmma_fprop" }, { "_Z99cut", "_Z99cut" }, { "_Z", "_Z" },
		{ "", "" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct replay_span s = { 1, 1, NONE, row[i][0], 5, 9 };
		struct replay r;
		replay_sum(&r, &s, 1);
		assert_string_equal(r.kernel[0].name, row[i][1]);
		replay_release(&r);
	}
}

static void test_nothing(void **state)
{
	struct replay r;
	(void)state;
	replay_sum(&r, NULL, 0);
	assert_int_equal(r.nkernel, 0);
	assert_near(r.span, 0);
	replay_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_medians),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
