/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Anti-aliasing in PNG: a pixel at an edge gets the fraction of the colour that the shape covers:
 * for a line, by the distance of the pixel's centre from it; for an area, by four scan lines per
 * row. */
#include "report/drawing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "report/glyphs.h"
#include "report/png.h"
#include "report/svg.h"

#define SCALE 2              /* pixels of a unit */
#define SCANS 4              /* lines of a row of pixels */
#define DASH 6.0
#define GAP 3.0
#define MOST_UNITS 16384     /* of a side */

struct drawing {
	char *path;
	int width, height;       /* units */
	struct buf svg;
	uint8_t *pixels;         /* NULL: SVG */
	int columns, rows;
	int rc;                  /* the first error in between */
};

bool drawing_is(const char *path)
{
	return io_ends_in(path, ".svg") || io_ends_in(path, ".png");
}

int drawing_new(struct drawing **out, const char *path, int width, int height)
{
	*out = NULL;
	if (width > MOST_UNITS || height > MOST_UNITS)
		return ERR(E_DATA, NULL, "'%s': a page of %d x %d is too large", path, width, height);
	struct drawing *d = *out = mem_calloc(1, sizeof *d);
	*d = (struct drawing){ .path = mem_strdup(path), .width = width, .height = height,
		.svg = BUF_INIT, .columns = SCALE * width, .rows = SCALE * height };
	if (io_ends_in(path, ".svg")) {
		svg_begin(&d->svg, width, height);
		return 0;
	}
	const size_t bytes = 3 * (size_t)d->columns * (size_t)d->rows;
	d->pixels = mem_alloc(bytes);
	memset(d->pixels, 255, bytes);
	return 0;
}

void drawing_free(struct drawing *d)
{
	if (!d)
		return;
	mem_free(d->path);
	mem_free(d->pixels);
	buf_release(&d->svg);
	mem_free(d);
}

int drawing_write(struct drawing *d)
{
	TRY(d->rc);
	if (d->pixels)
		return png_write_rgb(d->path, d->columns, d->rows, d->pixels);
	svg_end(&d->svg);
	return io_write_file(d->path, d->svg.data, d->svg.len);
}

/* --- pixels --- */

static void blend(struct drawing *d, int x, int y, const uint8_t rgb[3], double share)
{
	if (x < 0 || y < 0 || x >= d->columns || y >= d->rows || !(share > 0))
		return;
	uint8_t *p = d->pixels + 3 * ((size_t)y * (size_t)d->columns + (size_t)x);
	for (int i = 0; i < 3; i++)
		p[i] = (uint8_t)lround(p[i] + fmin(share, 1) * (rgb[i] - p[i]));
}

static double from_segment(double x, double y, const double a[2], const double b[2])
{
	const double dx = b[0] - a[0], dy = b[1] - a[1], length2 = dx * dx + dy * dy;
	double t = length2 > 0 ? ((x - a[0]) * dx + (y - a[1]) * dy) / length2 : 0;
	t = fmin(fmax(t, 0), 1);
	return hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}

static void fill_segment(struct drawing *d, const struct drawing_pen *pen, const double from[2],
                         const double to[2])
{
	const double a[2] = { SCALE * from[0], SCALE * from[1] },
	             b[2] = { SCALE * to[0], SCALE * to[1] }, half = SCALE * pen->width / 2;
	const int left = (int)fmax(floor(fmin(a[0], b[0]) - half - 1), 0),
	          right = (int)fmin(fmax(a[0], b[0]) + half + 1, d->columns),
	          top = (int)fmax(floor(fmin(a[1], b[1]) - half - 1), 0),
	          bottom = (int)fmin(fmax(a[1], b[1]) + half + 1, d->rows);
	for (int y = top; y <= bottom; y++)
		for (int x = left; x <= right; x++)
			blend(d, x, y, pen->rgb, half + 0.5 - from_segment(x + 0.5, y + 0.5, a, b));
}

/* The parts of a segment that dashes have, `*at` along the line. */
static void fill_dashes(struct drawing *d, const struct drawing_pen *pen, const double a[2],
                        const double b[2], double *at)
{
	const double length = hypot(b[0] - a[0], b[1] - a[1]);
	double done = 0;
	while (done < length) {
		const double phase = fmod(*at, DASH + GAP), rest = (phase < DASH ? DASH : DASH + GAP) -
		             phase, end = fmin(done + fmax(rest, 1e-3), length);
		const double p[2] = { a[0] + (b[0] - a[0]) * done / length,
			a[1] + (b[1] - a[1]) * done / length };
		const double q[2] = { a[0] + (b[0] - a[0]) * end / length,
			a[1] + (b[1] - a[1]) * end / length };
		if (phase < DASH)
			fill_segment(d, pen, p, q);
		*at += end - done;
		done = end;
	}
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Where the outline meets a scan line, in order; how many. */
static int crossings(int n, const double *x, const double *y, double at, double *out)
{
	int count = 0;
	for (int i = 0; i < n; i++) {
		const int k = (i + 1) % n;
		const double a = SCALE * y[i], b = SCALE * y[k];
		if ((a <= at) == (b <= at))
			continue;
		out[count++] = SCALE * (x[i] + (x[k] - x[i]) * (at - a) / (b - a));
	}
	qsort(out, (size_t)count, sizeof *out, ascending);
	return count;
}

static void cover(double *row, int columns, double from, double to)
{
	from = fmax(from, 0);
	to = fmin(to, columns);
	for (int x = (int)from; x < to; x++)
		row[x] += (fmin(to, x + 1) - fmax(from, x)) / SCANS;
}

static void fill_area(struct drawing *d, const uint8_t rgb[3], double opacity, int n,
                      const double *x, const double *y)
{
	double *row = mem_alloc(sizeof *row * (size_t)d->columns),
	       *cross = mem_alloc(sizeof *cross * (size_t)(n + 1)), top = y[0], bottom = y[0];
	for (int i = 0; i < n; i++) {
		top = fmin(top, y[i]);
		bottom = fmax(bottom, y[i]);
	}
	const int last = (int)fmin(SCALE * bottom, d->rows - 1);
	for (int k = (int)fmax(SCALE * top, 0); k <= last; k++) {
		memset(row, 0, sizeof *row * (size_t)d->columns);
		for (int s = 0; s < SCANS; s++) {
			const int count = crossings(n, x, y, k + (s + 0.5) / SCANS, cross);
			for (int i = 0; i + 1 < count; i += 2)
				cover(row, d->columns, cross[i], cross[i + 1]);
		}
		for (int i = 0; i < d->columns; i++)
			blend(d, i, k, rgb, opacity * row[i]);
	}
	mem_free(row);
	mem_free(cross);
}

/* A dot of a text: along and across its base line. */
static void fill_dot(struct drawing *d, double x, double y, bool up, int along, int across)
{
	static const uint8_t black[3] = { 0, 0, 0 };
	const int left = (int)lround(SCALE * (up ? x + across : x + along)),
	          top = (int)lround(SCALE * (up ? y - along - 1 : y + across));
	for (int i = 0; i < SCALE * SCALE; i++)
		blend(d, left + i % SCALE, top + i / SCALE, black, 1);
}

static void fill_text(struct drawing *d, double x, double y, bool up, const char *text)
{
	for (int k = 0; text[k]; k++)
		for (int row = 0; row < GLYPH_HEIGHT; row++)
			for (int column = 0; column < GLYPH_WIDTH; column++)
				if (glyph_dot((unsigned char)text[k], column, row))
					fill_dot(d, x, y, up, k * GLYPH_STEP + column, row - GLYPH_ABOVE);
}

/* --- what is drawn --- */

void drawing_text(struct drawing *d, double x, double y, enum drawing_anchor at, const char *text)
{
	static const char *const anchors[] = { "start", "middle", "end" };
	const double length = GLYPH_STEP * (double)strlen(text) - 1;
	if (d->pixels)
		fill_text(d, x - length * at / 2, y, false, text);
	else
		svg_text(&d->svg, x, y, anchors[at], text);
}

void drawing_text_up(struct drawing *d, double x, double y, const char *text)
{
	if (d->pixels) {
		fill_text(d, x, y + (GLYPH_STEP * (double)strlen(text) - 1) / 2, true, text);
		return;
	}
	buf_printf(&d->svg, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">\n", x, y);
	svg_text(&d->svg, 0, 0, "middle", text);
	buf_puts(&d->svg, "</g>\n");
}

static void put_points(struct buf *b, int n, const double *x, const double *y)
{
	buf_puts(b, " points=\"");
	for (int i = 0; i < n; i++)
		buf_printf(b, "%.1f,%.1f ", x[i], y[i]);
	buf_puts(b, "\"/>\n");
}

void drawing_line(struct drawing *d, const struct drawing_pen *pen, int n, const double *x,
                  const double *y)
{
	double at = 0;
	for (int i = 0; d->pixels && i + 1 < n; i++) {
		const double a[2] = { x[i], y[i] }, b[2] = { x[i + 1], y[i + 1] };
		if (pen->dashed)
			fill_dashes(d, pen, a, b, &at);
		else
			fill_segment(d, pen, a, b);
	}
	if (d->pixels)
		return;
	buf_printf(&d->svg, "<polyline fill=\"none\" stroke=\"#%02x%02x%02x\" stroke-width=\"%.1f\"%s",
	           pen->rgb[0], pen->rgb[1], pen->rgb[2], pen->width,
	           pen->dashed ? " stroke-dasharray=\"6 3\"" : "");
	put_points(&d->svg, n, x, y);
}

void drawing_area(struct drawing *d, const uint8_t rgb[3], double opacity, int n, const double *x,
                  const double *y)
{
	if (d->pixels) {
		fill_area(d, rgb, opacity, n, x, y);
		return;
	}
	buf_printf(&d->svg, "<polygon stroke=\"none\" fill=\"#%02x%02x%02x\" fill-opacity=\"%.2f\"",
	           rgb[0], rgb[1], rgb[2], opacity);
	put_points(&d->svg, n, x, y);
}

void drawing_pixels(struct drawing *d, double x, double y, double width, double height, int columns,
                    int rows, const uint8_t *rgb)
{
	const int left = (int)lround(SCALE * x), top = (int)lround(SCALE * y),
	          wide = (int)lround(SCALE * width), high = (int)lround(SCALE * height);
	if (!d->pixels) {
		struct buf png = BUF_INIT;
		const int rc = png_encode_rgb(&png, columns, rows, rgb);
		d->rc = d->rc ? d->rc : rc;
		buf_printf(&d->svg, "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
		           "preserveAspectRatio=\"none\" image-rendering=\"pixelated\" "
		           "href=\"data:image/png;base64,", x, y, width, height);
		base64_write(&d->svg, (const uint8_t *)png.data, png.len);
		buf_puts(&d->svg, "\"/>\n");
		buf_release(&png);
		return;
	}
	for (int i = 0; i < high; i++)
		for (int k = 0; k < wide; k++)
			blend(d, left + k, top + i,
			      rgb + 3 * ((int64_t)i * rows / high * columns + (int64_t)k * columns / wide), 1);
}
