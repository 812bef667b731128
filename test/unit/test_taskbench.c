/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Task Bench's graphs: the edges of every pattern against lists, SipHash against its published
 * vectors, the counts of a run, refusals; METG of given times. */
#include "cases.h"
#include "base/buf.h"
#include "base/err.h"
#include "bench/metg_find.h"
#include "bench/siphash.h"
#include "bench/tb_app.h"
#include "bench/tb_kernel.h"

#define MOST_ARGS 64

static struct tb_app app;

static int read_flags(const char *text)
{
	static char copy[1024];
	char *argv[MOST_ARGS] = { (char *)"test" };
	int argc = 1;
	snprintf(copy, sizeof copy, "%s", text);
	for (char *word = strtok(copy, " "); word && argc < MOST_ARGS - 1; word = strtok(NULL, " "))
		argv[argc++] = word;
	return tb_app_read(&app, &argc, argv);
}

/* --- edges --- */

/* Of width 8 at one of 40 steps: the inputs of each column that exists, in order. */
static const struct {
	const char *flags;
	int step;
	const char *inputs;
} cases[] = {
	{ "trivial", 10, "|||||||" },
	{ "no_comm", 10, "0|1|2|3|4|5|6|7" },
	{ "stencil_1d", 0, "|||||||" },
	{ "stencil_1d", 10, "0 1|0 1 2|1 2 3|2 3 4|3 4 5|4 5 6|5 6 7|6 7" },
	{ "stencil_1d_periodic", 10, "0 1 7|0 1 2|1 2 3|2 3 4|3 4 5|4 5 6|5 6 7|6 7 0" },
	{ "dom", 0, "" },
	{ "dom", 2, "0|0 1|1" },
	{ "dom", 20, "0|0 1|1 2|2 3|3 4|4 5|5 6|6 7" },
	{ "dom", 38, "5 6|6 7" },
	{ "tree", 1, "0|0" },
	{ "tree", 3, "0|0|1|1|2|2|3|3" },
	{ "tree", 30, "0|0|1|1|2|2|3|3" },
	{ "fft", 10, "0 1|0 1 2|1 2 3|2 3 4|3 4 5|4 5 6|5 6 7|6 7" },
	{ "fft", 11, "0 2|1 3|0 2 4|1 3 5|2 4 6|3 5 7|4 6|5 7" },
	{ "fft", 12, "0 4|1 5|2 6|3 7|0 4|1 5|2 6|3 7" },
	{ "all_to_all", 1, "0 1 2 3 4 5 6 7|0 1 2 3 4 5 6 7|0 1 2 3 4 5 6 7|0 1 2 3 4 5 6 7|"
	  "0 1 2 3 4 5 6 7|0 1 2 3 4 5 6 7|0 1 2 3 4 5 6 7|0 1 2 3 4 5 6 7" },
	{ "nearest -radix 5", 10, "0 1 2|0 1 2 3|0 1 2 3 4|1 2 3 4 5|2 3 4 5 6|3 4 5 6 7|4 5 6 7|"
	  "5 6 7" },
	{ "nearest -radix 4", 10, "0 1|0 1 2|0 1 2 3|1 2 3 4|2 3 4 5|3 4 5 6|4 5 6 7|5 6 7" },
	{ "nearest -radix 0", 10, "|||||||" },
	{ "spread -radix 4 -period 2", 10, "0 2 4 6|1 3 5 7|2 4 6 0|3 5 7 1|4 6 0 2|5 7 1 3|6 0 2 4|"
	  "7 1 3 5" },
	{ "spread -radix 4 -period 2", 11, "0 3 5 7|1 4 6 0|2 5 7 1|3 6 0 2|4 7 1 3|5 0 2 4|6 1 3 5|"
	  "7 2 4 6" },
	{ "random_nearest -radix 5 -fraction 0.5", 10, "0 1 2|1 3|1 2 3 4|1 2 3|3 4 6|3 4 5 6 7|"
	  "4 5 6 7|6 7" },
	{ "random_nearest -radix 5 -fraction 0.5", 11, "0 2|1|1 2 3 4|3 5|2 4 5|3 5 6 7|6 7|5 6 7" },
	{ "random_nearest -radix 5 -fraction 0.5", 12, "0|0 1|2 4|1 3 4 5|3 4|5 6 7|4 6 7|7" },
};

static void write_inputs(const struct tb_graph *g, int64_t t, struct buf *out)
{
	struct tb_edges *e = tb_edges_new(g);
	const struct tb_range now = tb_active(g, t), last = tb_active(g, t - 1);
	for (int64_t i = now.first; i < now.end; i++) {
		const struct tb_list l = tb_inputs(e, tb_set(g, t), i);
		const char *between = "";
		buf_puts(out, i > now.first ? "|" : "");
		for (int64_t k = 0; k < l.n; k++) {
			if (!tb_within(last, l.v[k]))
				continue;
			buf_printf(out, "%s%d", between, (int)l.v[k]);
			between = " ";
		}
	}
	tb_edges_free(e);
}

static void test_lists(void **state)
{
	bool seen[16] = { false };
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
		char flags[128];
		struct buf text = BUF_INIT;
		snprintf(flags, sizeof flags, "-steps 40 -width 8 -type %s", cases[c].flags);
		assert_int_equal(read_flags(flags), 0);
		write_inputs(&app.graph[0], cases[c].step, &text);
		assert_string_equal(text.data ? text.data : "", cases[c].inputs);
		buf_release(&text);
		for (int k = 0; tb_pattern_at(k); k++)
			seen[k] |= tb_pattern_at(k) == app.graph[0].pattern;
	}
	for (int k = 0; tb_pattern_at(k); k++)
		assert_true(seen[k]);
}

static bool has(struct tb_list l, int64_t i)
{
	for (int64_t k = 0; k < l.n; k++)
		if (l.v[k] == i)
			return true;
	return false;
}

/* Readers are the inverse of inputs, in every set of every pattern at several widths. */
static void test_readers(void **state)
{
	for (int p = 0; tb_pattern_at(p); p++)
		for (int64_t width = 3; width < 20; width += 4) {
			struct tb_graph g = tb_graph_default(1);
			g.pattern = tb_pattern_at(p);
			g.width = width;
			g.period = -1;
			if (strcmp(tb_pattern_name(g.pattern), "spread") == 0)
				g.period = 1;
			assert_int_equal(tb_graph_finish(&g), 0);
			struct tb_edges *e = tb_edges_new(&g);
			for (int64_t s = 0; s < tb_sets(&g); s++)
				for (int64_t i = 0; i < width * width; i++)
					assert_int_equal(has(tb_inputs(e, s, i / width), i % width),
					                 has(tb_readers(e, s, i % width), i / width));
			tb_edges_free(e);
		}
}

/* --- random numbers --- */

/* Of the paper's vectors: the bytes 0, 1, 2, ... hashed with the key 0 .. 15. */
static void test_siphash(void **state)
{
	uint8_t v[16];
	for (int i = 0; i < 16; i++)
		v[i] = (uint8_t)i;
	assert_int_equal(siphash(v, 0, v), 0x726fdb47dd0e0e31);
	assert_int_equal(siphash(v, 1, v), 0x74f839c593dc67fd);
	assert_int_equal(siphash(v, 8, v), 0x93f5f5799a932462);
	assert_int_equal(siphash(v, 15, v), 0xa129ca6149be45e5);
}

/* --- counts --- */

/* Totals that the original prints for these graphs. */
static void test_totals(void **state)
{
	assert_int_equal(read_flags("-type dom -steps 9 -width 5 -nodes 2 -kernel load_imbalance "
	                            "-iter 100 -imbalance 1.5 -and -type random_nearest -steps 9 "
	                            "-width 8 -radix 5 -fraction 0.4"), 0);
	const struct tb_totals n = tb_app_totals(&app);
	assert_int_equal(n.tasks, 97);
	assert_int_equal(n.dependences, 188);
	assert_int_equal(n.local, 164);
	assert_int_equal(n.nonlocal, n.dependences - n.local);
	assert_int_equal(n.local_bytes, 16 * n.local);
	assert_int_equal(n.flops, 303168);
	assert_int_equal(n.bytes, 0);
	assert_int_equal(read_flags("-kernel memory_bound -scratch 4096 -sample 8 -iter 20"), 0);
	assert_int_equal(tb_app_totals(&app).bytes, 16 * 4096 * 20 / 8);
}

/* Every kernel computes, and in its scratch memory only. */
static void test_kernels(void **state)
{
	static double scratch[512 + 1];
	struct tb_graph g = tb_graph_default(0);
	g.scratch_bytes = 512 * sizeof *scratch;
	g.iterations = 21;
	g.imbalance = 1;
	for (int k = 0; tb_kernel_at(k); k++) {
		for (int i = 0; i < 512; i++)
			scratch[i] = i;
		scratch[512] = 0.5;
		for (int t = 0; t < 4; t++)
			tb_kernel_at(k)->run(&g, t, 1, scratch);
		assert_true(scratch[512] == 0.5);
	}
}

/* --- refusals --- */

static const struct {
	const char *flags, *text;
} refusals[] = {
	{ "-width 0", "-width: '0' is no whole number from 1" },
	{ "-width 4x", "-width: '4x' is no whole number" },
	{ "-width", "-width needs a value" },
	{ "-imbalance 2.5", "-imbalance: '2.5' is no number from 0 to 2" },
	{ "-with 4", "unknown flag '-with'; did you mean '-width'?" },
	{ "-type stencil", "-type: unknown pattern 'stencil'" },
	{ "-type random_spread", "-type: unknown pattern" },
	{ "-kernel compute_bond", "did you mean 'compute_bound'?" },
	{ "-kernel memory_bound", "needs -scratch" },
	{ "-output 8", "-output: '8'" },
	{ "-type nearest -period 2", "pattern 'nearest' has none" },
	{ "-type spread -period 0", "needs 1 or more" },
	{ "-type spread -width 8 -radix 5", "can have 2 at most" },
	{ "-type spread -width 4 -radix 5 -period 1", "column 0 depends twice on column 0" },
	{ "-type stencil_1d_periodic -width 2", "depends twice" },
};

static void test_refusals(void **state)
{
	for (size_t c = 0; c < sizeof refusals / sizeof *refusals; c++) {
		assert_int_equal(read_flags(refusals[c].flags), E_USAGE);
		assert_non_null(strstr(err_get(0)->text, refusals[c].text));
		err_clear();
	}
}

/* Options of a graph do not carry over to the next one; what is no flag remains. */
static void test_graphs(void **state)
{
	char *argv[] = { (char *)"test", (char *)"--ranks", (char *)"-width", (char *)"7", (char *)"2",
		(char *)"-and", (char *)"-iter", (char *)"3", NULL };
	int argc = 8;
	assert_int_equal(tb_app_read(&app, &argc, argv), 0);
	assert_int_equal(argc, 3);
	assert_string_equal(argv[1], "--ranks");
	assert_string_equal(argv[2], "2");
	assert_int_equal(app.ngraph, 2);
	assert_int_equal(app.graph[0].width, 7);
	assert_int_equal(app.graph[1].width, 4);
	assert_int_equal(app.graph[1].index, 1);
	assert_true(app.iterates);
}

/* --- METG --- */

static double metg_of(const struct metg_point *p, int n)
{
	double seconds = -1;
	return metg_find(p, n, 0.5, &seconds) == 0 ? seconds : -1;
}

/* The linear interpolation in efficiency between the last size above and the next one. */
static void test_metg(void **state)
{
	const struct metg_point p[] = {
		{ 64, 1, 8, 1 }, { 32, 2, 4.5, 0.9 }, { 16, 3, 2.6, 0.75 }, { 8, 4, 1.8, 0.45 },
		{ 4, 5, 1.5, 0.2 }
	};
	assert_float_equal(metg_of(p, 5), 1.8 + 0.8 * 0.05 / 0.3, 1e-12);
	/* A next size that takes longer is no improvement. */
	const struct metg_point slower[] = {
		{ 64, 1, 8, 1 }, { 32, 2, 4.5, 0.9 }, { 16, 3, 4.6, 0.3 }
	};
	assert_float_equal(metg_of(slower, 3), 4.5, 0);
}

static void test_no_metg(void **state)
{
	static const struct {
		int n;
		struct metg_point p[3];
		const char *text;
	} bad[] = {
		{ 2, { { 64, 1, 8, 1 }, { 32, 2, 2, 1.6 } }, "none can be 1.5" },
		{ 2, { { 64, 1, 8, 0.4 }, { 32, 2, 7, 0.2 } }, "no size has an efficiency of 0.50" },
		{ 2, { { 64, 1, 8, 1 }, { 32, 2, 4, 0.9 } }, "still has an efficiency of 0.90" },
		{ 3, { { 64, 5, 8, 1 }, { 32, 5, 4, 0.9 }, { 16, 4, 3, 0.4 } }, "4 repetitions" },
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		double seconds;
		assert_int_equal(metg_find(bad[i].p, bad[i].n, 0.5, &seconds), E_DATA);
		assert_non_null(strstr(err_get(0)->text, bad[i].text));
		err_clear();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),   cmocka_unit_test(test_readers),
		cmocka_unit_test(test_siphash), cmocka_unit_test(test_totals),
		cmocka_unit_test(test_kernels), cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_graphs),  cmocka_unit_test(test_metg),
		cmocka_unit_test(test_no_metg),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
