/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes PNG files by libpng's memory interface, so that a file appears whole or not at all,
 * and computes colours in Oklab (Ottosson 2020), a space in which equal distances look about
 * equal. Colours outside sRGB lose chroma until they are inside. */
#include "report/png.h"

#include <math.h>
#include <png.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"

const uint8_t colour_missing[3] = { 150, 150, 150 };

int png_encode_rgb(struct buf *out, int64_t width, int64_t height, const uint8_t *pixels)
{
	png_image image = { .version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB };
	png_alloc_size_t n = 0;
	if (width < 1 || height < 1 || width > INT32_MAX / 3 / height)
		return ERR(E_DATA, NULL, "a picture of %lld x %lld pixels is too large", (long long)width,
		           (long long)height);
	image.width = (png_uint_32)width;
	image.height = (png_uint_32)height;
	if (!png_image_write_to_memory(&image, NULL, &n, 0, pixels, 0, NULL))
		return ERR(E_IO, NULL, "libpng: %s", image.message);
	buf_reserve(out, n);
	if (!png_image_write_to_memory(&image, out->data + out->len, &n, 0, pixels, 0, NULL))
		return ERR(E_IO, NULL, "libpng: %s", image.message);
	out->len += n;
	return 0;
}

int png_write_rgb(const char *path, int64_t width, int64_t height, const uint8_t *pixels)
{
	struct buf file = BUF_INIT;
	int rc = png_encode_rgb(&file, width, height, pixels);
	if (rc == 0)
		rc = io_write_file(path, file.data, file.len);
	else
		err_context(rc, "while making '%s'", path);
	buf_release(&file);
	return rc;
}

/* --- colours --- */

static void oklab_to_linear(double l, double a, double b, double rgb[3])
{
	const double lc = l + 0.3963377774 * a + 0.2158037573 * b;
	const double mc = l - 0.1055613458 * a - 0.0638541728 * b;
	const double sc = l - 0.0894841775 * a - 1.2914855480 * b;
	const double l3 = lc * lc * lc, m3 = mc * mc * mc, s3 = sc * sc * sc;
	rgb[0] = 4.0767416621 * l3 - 3.3077115913 * m3 + 0.2309699292 * s3;
	rgb[1] = -1.2684380046 * l3 + 2.6097574011 * m3 - 0.3413193965 * s3;
	rgb[2] = -0.0041960863 * l3 - 0.7034186147 * m3 + 1.7076147010 * s3;
}

static int in_gamut(const double rgb[3])
{
	for (int i = 0; i < 3; i++)
		if (rgb[i] < 0 || rgb[i] > 1)
			return 0;
	return 1;
}

static uint8_t encode(double v)
{
	v = v <= 0.0031308 ? 12.92 * v : 1.055 * pow(v, 1 / 2.4) - 0.055;
	return (uint8_t)lround(255 * fmin(fmax(v, 0), 1));
}

/* Lightness 0..1, chroma about 0..0.3, hue in degrees. */
static void from_oklch(double l, double chroma, double hue, uint8_t out[3])
{
	const double h = hue * 3.14159265358979323846 / 180;
	double rgb[3];
	oklab_to_linear(l, chroma * cos(h), chroma * sin(h), rgb);
	while (!in_gamut(rgb) && chroma > 0.005) {
		chroma *= 0.95;
		oklab_to_linear(l, chroma * cos(h), chroma * sin(h), rgb);
	}
	for (int i = 0; i < 3; i++)
		out[i] = encode(rgb[i]);
}

void colour_field(double v, uint8_t rgb[3])
{
	if (isnan(v)) {
		memcpy(rgb, colour_missing, 3);
		return;
	}
	v = fmin(fmax(v, 0), 1);
	/* hue from violet (310) backwards to yellow (105), lightness straight up */
	from_oklch(0.24 + 0.70 * v, 0.13 + 0.05 * v, 310 - 205 * v, rgb);
}

void colour_signed(double v, uint8_t rgb[3])
{
	if (isnan(v)) {
		memcpy(rgb, colour_missing, 3);
		return;
	}
	const double size = fmin(fabs(v), 1);
	from_oklch(0.98 - 0.5 * size, 0.2 * size, v < 0 ? 260 : 28, rgb);
}

void colour_class(int64_t label, uint8_t rgb[3])
{
	static const double lightness[] = { 0.55, 0.80, 0.67 };
	const uint64_t k = (uint64_t)label;

	/* steps of the golden angle never come close to an earlier hue soon */
	from_oklch(lightness[k % 3], 0.15, fmod(255 + 137.50776 * (double)(k % 4096), 360), rgb);
}
