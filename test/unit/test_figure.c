/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Figures: each value of a map where its coordinates are, in its colour; curves, dashes and bands
 * at their places, in pixels and in SVG; texts; what cannot be written. */
#include <math.h>
#include <png.h>

#include "cases.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "report/drawing.h"
#include "report/figure.h"
#include "report/png.h"

#define PNG "test_figure.tmp.png"
#define SVG "test_figure.tmp.svg"

struct image {
	int width, height;
	uint8_t *rgb;
};

static struct image read_image(const char *path)
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	assert_true(png_image_begin_read_from_file(&image, path));
	image.format = PNG_FORMAT_RGB;
	struct image out = { (int)image.width, (int)image.height, mem_alloc(PNG_IMAGE_SIZE(image)) };
	assert_true(png_image_finish_read(&image, NULL, out.rgb, 0, NULL));
	unlink(path);
	return out;
}

static const uint8_t *at(const struct image *i, double x, double y)
{
	return i->rgb + 3 * ((int)(2 * y) * i->width + (int)(2 * x));
}

/* The plot of a map is from (64, 34) to (312, 234) of a panel of 400 x 280. */
static void test_map(void **state)
{
	/* v[row + 2 * column]: rows upwards, the second column at the left */
	static const double v[] = { 0, 1, 2, NAN };
	const struct figure_map m = { .columns = 2, .rows = 2, .x = { 1, -1 }, .y = { 0, 1 }, .v = v,
		.x_step = 2, .y_step = 1, .low = 0, .high = 2 };
	const struct figure_panel p = { .title = "u", .x_label = "x", .y_label = "t", .map = &m };
	static const struct { double x, y, v; } corner[] = { { 250, 184, 0 }, { 250, 84, 0.5 },
		{ 126, 184, 1 }, { 126, 84, NAN } };
	assert_int_equal(figure_write(PNG, &p, 1, 1), 0);
	struct image i = read_image(PNG);
	assert_int_equal(i.width, 800);
	assert_int_equal(i.height, 560);
	for (int k = 0; k < 4; k++) {
		uint8_t rgb[3];
		colour_field(corner[k].v, rgb);
		assert_memory_equal(at(&i, corner[k].x, corner[k].y), rgb, 3);
	}
	mem_free(i.rgb);
}

static void test_signed_map(void **state)
{
	static const double v[] = { -1, 0, 1 };
	const struct figure_map m = { .columns = 3, .rows = 1, .x = { 0, 2 }, .v = v, .x_step = 1,
		.low = -1, .high = 1, .is_signed = true };
	const struct figure_panel p = { .title = "error", .x_label = "x", .y_label = "y", .map = &m };
	assert_int_equal(figure_write(PNG, &p, 1, 1), 0);
	struct image i = read_image(PNG);
	const uint8_t *below = at(&i, 100, 134), *zero = at(&i, 188, 134), *above = at(&i, 280, 134);
	assert_true(below[2] > below[0] + 60);
	assert_true(zero[0] > 240 && zero[1] > 240 && zero[2] > 240);
	assert_true(above[0] > above[2] + 60);
	mem_free(i.rgb);
}

/* A horizontal line at 0.5 with a band from 0.25 to 0.75, and a dashed one at 0 and 1: the plot is
 * from (64, 34) to (378, 234). */
static void test_curves(void **state)
{
	static const double x[] = { 0, 0.5, 1 }, y[] = { 0.5, 0.5, 0.5 }, low[] = { 0.25, 0.25, 0.25 },
	                    high[] = { 0.75, 0.75, 0.75 }, zero[] = { 0, 0, NAN }, one[] = { 1, 1, 1 };
	const struct figure_curve c[] = { { "u", 0, false, 3, x, y, low, high },
		{ "known", 4, true, 3, x, zero, NULL, NULL }, { NULL, 4, true, 3, x, one, NULL, NULL } };
	const struct figure_panel p[2] = { { .title = "u", .x_label = "x", .n = 3, .curve = c },
		{ 0 } };
	uint8_t blue[3];
	int gaps = 0, drawn = 0;
	colour_class(0, blue);
	assert_int_equal(figure_write(PNG, p, 2, 2), 0);
	struct image i = read_image(PNG);
	assert_int_equal(i.width, 1600);
	assert_memory_equal(at(&i, 200, 134), blue, 3);
	const uint8_t *band = at(&i, 200.5, 110), *outside = at(&i, 200.5, 60);
	assert_true(band[0] < 240 && band[0] > blue[0]);
	assert_true(outside[0] == 255 && outside[2] == 255);
	for (double s = 70; s < 210; s += 0.5) {
		const uint8_t *dash = at(&i, s, 233);
		gaps += dash[2] > 200;
		drawn += dash[2] < 150;
	}
	assert_true(gaps > 40 && drawn > 100);
	assert_true(at(&i, 600, 140)[0] == 255);
	mem_free(i.rgb);

	struct buf svg = BUF_INIT;
	assert_int_equal(figure_write(SVG, p, 2, 2), 0);
	assert_int_equal(io_read_file(SVG, &svg), 0);
	assert_non_null(strstr(svg.data, "points=\"64.0,134.0 221.0,134.0 378.0,134.0 \""));
	assert_non_null(strstr(svg.data,
	                       "stroke-dasharray=\"6 3\" points=\"64.0,234.0 221.0,234.0 \""));
	assert_non_null(strstr(svg.data, "fill-opacity=\"0.20\" points=\"64.0,84.0 "));
	assert_non_null(strstr(svg.data, ">known</text>"));
	buf_release(&svg);
	unlink(SVG);
}

/* A lower-case l is upright: a column of dots; turned, a row of them. */
static void test_text(void **state)
{
	struct drawing *d;
	assert_int_equal(drawing_new(&d, PNG, 40, 40), 0);
	drawing_text(d, 10, 20, DRAWING_START, "l");
	drawing_text_up(d, 30, 20, "l");
	assert_int_equal(drawing_write(d), 0);
	drawing_free(d);
	struct image i = read_image(PNG);
	for (int k = 1; k < 6; k++) {
		assert_int_equal(at(&i, 12.5, 20.5 - k)[0], 0);
		assert_int_equal(at(&i, 10.5, 20.5 - k)[0], 255);
		assert_int_equal(at(&i, 30.5 - k, 19.5)[0], 0);
	}
	mem_free(i.rgb);
}

static void test_refusals(void **state)
{
	struct drawing *d;
	const struct figure_panel empty = { 0 };
	assert_int_equal(drawing_new(&d, PNG, 1 << 20, 10), E_DATA);
	assert_null(d);
	assert_int_equal(figure_write("no/such/dir/x.png", &empty, 1, 1), E_CANTCREATE);
	assert_int_equal(figure_write("no/such/dir/x.svg", &empty, 1, 1), E_CANTCREATE);
	err_clear();
	assert_true(drawing_is("a.svg") && drawing_is("b.png") && !drawing_is("png"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_signed_map),
		cmocka_unit_test(test_curves),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
