/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures come back as they were written; the scale of fields rises evenly in lightness;
 * classes can be distinguished. */
#include <math.h>
#include <png.h>

#include "cases.h"
#include "base/err.h"
#include "base/io.h"
#include "report/png.h"

static void test_roundtrip(void **state)
{
	static const char path[] = "test_png.tmp.png";
	uint8_t pixels[5 * 7 * 3], back[5 * 7 * 3];
	png_image image = { .version = PNG_IMAGE_VERSION };

	for (size_t i = 0; i < sizeof(pixels); i++)
		pixels[i] = (uint8_t)(i * 37);
	assert_int_equal(png_write_rgb(path, 7, 5, pixels), 0);
	assert_true(png_image_begin_read_from_file(&image, path));
	assert_int_equal(image.width, 7);
	assert_int_equal(image.height, 5);
	image.format = PNG_FORMAT_RGB;
	assert_true(png_image_finish_read(&image, NULL, back, 0, NULL));
	assert_memory_equal(back, pixels, sizeof(pixels));
	unlink(path);
}

static void test_refusals(void **state)
{
	const uint8_t pixel[3] = { 1, 2, 3 };
	assert_int_equal(png_write_rgb("no/such/dir/x.png", 1, 1, pixel), E_CANTCREATE);
	err_clear();
	assert_int_equal(png_write_rgb("x.png", 1 << 20, 1 << 20, pixel), E_DATA);
	err_clear();
	assert_false(io_exists("x.png"));
}

/* Relative luminance, as a grey printer would see the colour. */
static double luminance(const uint8_t rgb[3])
{
	static const double weight[3] = { 0.2126, 0.7152, 0.0722 };
	double y = 0;
	for (int i = 0; i < 3; i++) {
		const double v = rgb[i] / 255.;

		y += weight[i] * (v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4));
	}
	return y;
}

static void test_field_scale(void **state)
{
	uint8_t rgb[3], low[3], high[3];
	double last = -1;
	for (int i = 0; i <= 40; i++) {
		colour_field(i / 40., rgb);
		assert_true(luminance(rgb) > last);
		last = luminance(rgb);
	}
	colour_field(-3, low);
	colour_field(0, rgb);
	assert_memory_equal(low, rgb, 3);
	colour_field(INFINITY, high);
	colour_field(1, rgb);
	assert_memory_equal(high, rgb, 3);
	colour_field(NAN, rgb);
	assert_memory_equal(rgb, colour_missing, 3);
}

static int distance(const uint8_t a[3], const uint8_t b[3])
{
	return abs(a[0] - b[0]) + abs(a[1] - b[1]) + abs(a[2] - b[2]);
}

static void test_class_colours(void **state)
{
	uint8_t rgb[12][3];
	for (int i = 0; i < 12; i++) {
		colour_class(i, rgb[i]);
		assert_true(distance(rgb[i], colour_missing) > 60);
		for (int j = 0; j < i; j++)
			if (distance(rgb[i], rgb[j]) < 45)
				fail_msg("classes %d and %d have the same colour", j, i);
	}
	colour_class(-1, rgb[0]);
	colour_class(INT64_MAX, rgb[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roundtrip),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_field_scale),
		cmocka_unit_test(test_class_colours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
