/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bands of the gradient to a convolution's input: all together they are the gradient, and each of
 * its pixels belongs to one band. One channel, and integers, so that sums are exact. */
#include "cases.h"
#include "base/rng.h"
#include "op/conv/conv_bands.h"

enum { MOST = 4096 };        /* pixels */

static uint64_t rng_at;
static int dice(int n)
{
	return (int)(rng_u32(17, 1, 0, rng_at++) % (uint32_t)n);
}

static int64_t x_pixels(const struct conv_geom *g) { return g->n * g->in[0] * g->in[1]; }
static int64_t y_pixels(const struct conv_geom *g) { return g->n * g->out[0] * g->out[1]; }

/* Two spatial axes. dx is overwritten. */
static void grad_input(const struct conv_geom *g, const int *dy, const int *w, int *dx)
{
	memset(dx, 0, (size_t)x_pixels(g) * sizeof *dx);
	for (int64_t n = 0; n < g->n; n++)
		for (int64_t j = 0; j < g->out[0]; j++)
			for (int64_t l = 0; l < g->out[1]; l++)
				for (int64_t a = 0; a < g->kernel[0]; a++)
					for (int64_t b = 0; b < g->kernel[1]; b++) {
						const int64_t i = j * g->stride[0] - g->pad_lo[0] + a * g->dilation[0],
						              k = l * g->stride[1] - g->pad_lo[1] + b * g->dilation[1];
						if (i >= 0 && i < g->in[0] && k >= 0 && k < g->in[1])
							dx[(n * g->in[0] + i) * g->in[1] + k] +=
								dy[(n * g->out[0] + j) * g->out[1] + l] *
								w[a * g->kernel[1] + b];
					}
}

/* False if there is no output. */
static bool any_geometry(struct conv_geom *g)
{
	*g = (struct conv_geom){ .ns = 2, .n = 1 + dice(5), .ci = 1, .co = 1, .groups = 1,
		.in = { 1 + dice(24), 1 + dice(6), 1 }, .kernel = { 1, 1, 1 }, .out = { 1, 1, 1 },
		.stride = { 1, 1, 1 }, .dilation = { 1, 1, 1 } };
	for (int a = 0; a < 2; a++) {
		g->kernel[a] = 1 + dice(5);
		g->dilation[a] = 1 + dice(2);
		g->stride[a] = dice(4) ? 1 : 2;
		g->pad_lo[a] = dice(5);
		g->pad_hi[a] = dice(3) ? g->pad_lo[a] : dice(5);
		g->out[a] = (g->in[a] + g->pad_lo[a] + g->pad_hi[a] -
		             g->dilation[a] * (g->kernel[a] - 1) - 1) / g->stride[a] + 1;
		if (g->in[a] + g->pad_lo[a] + g->pad_hi[a] < g->dilation[a] * (g->kernel[a] - 1) + 1)
			return false;
	}
	return true;
}

static void check(const struct conv_geom *g, const struct conv_bands *b)
{
	static int dy[MOST], w[25], dx[MOST], made[MOST], together[MOST];
	assert_true(x_pixels(g) <= MOST && y_pixels(g) <= MOST);
	for (int i = 0; i < MOST; i++) {
		dy[i] = dice(100) - 50;
		together[i] = INT32_MIN;
	}
	for (int i = 0; i < 25; i++)
		w[i] = dice(100) - 50;
	grad_input(g, dy, w, dx);
	for (int i = 0; i < b->count; i++) {
		const struct conv_band at = conv_band_at(b, i);
		assert_true(at.dy >= 0 && at.dy + y_pixels(&b->geom) <= y_pixels(g));
		assert_true(at.count > 0 && at.skipped >= 0);
		assert_true(at.skipped + at.count <= x_pixels(&b->geom));
		assert_true(at.dx >= 0 && at.dx + at.count <= x_pixels(g));
		grad_input(&b->geom, dy + at.dy, w, made);
		for (int64_t p = 0; p < at.count; p++) {
			assert_int_equal(together[at.dx + p], INT32_MIN);
			together[at.dx + p] = made[at.skipped + p];
		}
	}
	assert_memory_equal(together, dx, (size_t)x_pixels(g) * sizeof *dx);
}

static void test_random(void **state)
{
	int rows = 0, samples = 0, whole = 0;
	for (int i = 0; i < 4000; i++) {
		struct conv_geom g;
		struct conv_bands b;
		if (!any_geometry(&g))
			continue;
		conv_bands_init(&b, &g, 1 + dice(9));
		check(&g, &b);
		rows += b.rows;
		samples += !b.rows && b.count > 1;
		whole += b.count == 1;
	}
	assert_true(rows > 200 && samples > 200 && whole > 200);
}

/* 5 x 5 over 768 rows: two samples in two bands each, with two rows more above or below. */
static void test_sizes(void **state)
{
	const struct conv_geom g = { .ns = 2, .n = 2, .ci = 1, .co = 1, .groups = 1,
		.in = { 768, 1152, 1 }, .out = { 768, 1152, 1 }, .kernel = { 5, 5, 1 },
		.stride = { 1, 1, 1 }, .dilation = { 1, 1, 1 }, .pad_lo = { 2, 2 }, .pad_hi = { 2, 2 } };
	struct conv_bands b;
	conv_bands_init(&b, &g, 4);
	assert_int_equal(b.count, 4);
	assert_int_equal(b.geom.n, 1);
	assert_int_equal(b.geom.in[0], 388);
	assert_int_equal(b.geom.out[0], 388);
	const struct conv_band last = conv_band_at(&b, 3);
	assert_int_equal(last.dx, (768 + 384) * 1152);
	assert_int_equal(last.dy, (768 + 380) * 1152);
	assert_int_equal(last.skipped, 4 * 1152);
	assert_int_equal(last.count, 384 * 1152);
	conv_bands_init(&b, &g, 2);                  /* a sample each */
	assert_int_equal(b.count, 2);
	assert_false(b.rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random), cmocka_unit_test(test_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
