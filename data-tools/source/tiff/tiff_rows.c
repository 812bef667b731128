/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rows of TIFF pages. Strips of values that are not compressed are read where they are in the
 * file. Others are decoded one at a time, and tiles row by row of them. GDAL leaves out strips and
 * tiles that have nothing but missing values or zeros. */
#include "data-tools/source/tiff/tiff_file.h"

#ifdef HAVE_TIFF
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

/* Rows of the page, from y on, n of them. */
struct rows {
	int64_t y, n;
	uint8_t *out;
};

/* Puts what the rows have of a block of rows x columns, as the library gives it, from place (y, x)
 * of the page; plane -1: all channels are together. */
static void place(const struct tiff_page *p, const struct rows *r, const uint8_t *block, int64_t y,
                  int64_t x, int64_t rows, int64_t columns, int plane)
{
	const int64_t size = p->bits < 8 ? 1 : p->bits / 8, pixel = size * p->channels,
	              step = plane < 0 ? pixel : size,
	              wide = x + columns > p->width ? p->width - x : columns,
	              end = y + rows < r->y + r->n ? y + rows : r->y + r->n;
	for (int64_t k = y > r->y ? y : r->y; k < end; k++) {
		uint8_t *to = r->out + ((k - r->y) * p->width + x) * pixel + (plane < 0 ? 0 : plane * size);
		const uint8_t *from = block + (k - y) * columns * step;

		if (plane < 0)
			memcpy(to, from, (size_t)(wide * pixel));
		else
			for (int64_t i = 0; i < wide; i++)
				memcpy(to + i * pixel, from + i * size, (size_t)size);
	}
}

/* What is in h->block, with a byte for each value where they have less: n rows. */
static const uint8_t *whole_bytes(struct tiff_file *h, int64_t rows)
{
	const struct tiff_blocks *b = &h->blocks;
	const int bits = h->page.bits;
	const int64_t n = (int64_t)b->wide * h->page.channels / b->planes;
	uint8_t *to = h->bytewise;
	if (bits >= 8)
		return h->block;
	for (int64_t y = 0; y < rows; y++)
		for (int64_t i = 0; i < n; i++) {
			const int shift = 8 - bits - (int)(i * bits % 8);

			*to++ = (uint8_t)(h->block[y * b->row + i * bits / 8] >> shift & ((1 << bits) - 1));
		}
	return h->bytewise;
}

/* --- strips and tiles that are not in the file --- */

static bool is_absent(const struct tiff_file *h, uint32_t strile)
{
	return TIFFGetStrileByteCount(h->file, strile) == 0 &&
	       TIFFGetStrileOffset(h->file, strile) == 0;
}

/* Missing values if the file says which they are and its type has them, else zeros, as they are
 * stored. */
static void fill(const struct source *s, const struct tiff_file *h, uint8_t *out, int64_t bytes)
{
	const int bits = h->page.bits, size = bits < 8 ? 1 : bits / 8;
	const bool sign = h->page.kind == SAMPLEFORMAT_INT;
	const double range = ldexp(1, bits);
	double v = h->nodata ? strtod(h->nodata, NULL) : 0;
	uint64_t slot = 0;
	if (h->page.kind == SAMPLEFORMAT_IEEEFP) {
		dtype_set(s->dtype, &slot, 0, v);
	} else {
		v = v >= (sign ? -range / 2 : 0) && v < (sign ? range / 2 : range) ? trunc(v) : 0;
		slot = v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
		slot *= bits < 8 ? 255 / ((1u << bits) - 1) : 1;
	}
	for (int64_t i = 0; i + size <= bytes; i += size)
		memcpy(out + i, &slot, (size_t)size);
}

static int decode_tiles(const struct source *s, struct tiff_file *h, const struct rows *r)
{
	const struct tiff_page *p = &h->page;
	const struct tiff_blocks *b = &h->blocks;
	for (int k = 0; k < b->planes; k++)
		for (int64_t y = r->y - r->y % b->high; y < r->y + r->n; y += b->high)
			for (int64_t x = 0; x < p->width; x += b->wide) {
				const uint32_t tile = TIFFComputeTile(h->file, (uint32_t)x, (uint32_t)y, 0,
				                                      (uint16_t)k);

				if (is_absent(h, tile))
					fill(s, h, h->block, b->bytes);
				else if (TIFFReadEncodedTile(h->file, tile, h->block, b->bytes) < 0)
					return tiff_bad(s, "damaged: cannot read the values");
				place(p, r, whole_bytes(h, b->high), y, x, b->high, b->wide,
				      b->planes > 1 ? k : -1);
			}
	return 0;
}

/* In a strip the library goes forward row by row. */
static int decode_strips(const struct source *s, struct tiff_file *h, const struct rows *r)
{
	const struct tiff_page *p = &h->page;
	const struct tiff_blocks *b = &h->blocks;
	for (int k = 0; k < b->planes; k++) {
		const int64_t strip = r->y - r->y % b->high;
		const bool on = h->plane == k && h->next >= strip && h->next <= r->y;
		int64_t y = on ? h->next : strip;

		h->next = -1;
		h->plane = k;
		for (; y < r->y + r->n; y++) {
			if (is_absent(h, TIFFComputeStrip(h->file, (uint32_t)y, (uint16_t)k)))
				fill(s, h, h->block, b->row);
			else if (TIFFReadScanline(h->file, h->block, (uint32_t)y, (uint16_t)k) < 0)
				return tiff_bad(s, "damaged: cannot read the values");
			place(p, r, whole_bytes(h, 1), y, 0, 1, p->width, b->planes > 1 ? k : -1);
		}
		h->next = y;
	}
	return 0;
}

/* How many rows from y on follow each other in the file, from byte *at on, as far as that is
 * within the strips and the file; 0: not even this one. */
static int64_t find_run(struct tiff_file *h, int plane, int64_t y, int64_t most, uint64_t *at)
{
	const struct tiff_blocks *b = &h->blocks;
	const uint64_t row = (uint64_t)b->row;
	int64_t n = 0;
	while (n < most) {
		const uint32_t k = TIFFComputeStrip(h->file, (uint32_t)(y + n), (uint16_t)plane);
		const uint64_t first = (uint64_t)((y + n) % b->high),
		               bytes = TIFFGetStrileByteCount(h->file, k),
		               start = TIFFGetStrileOffset(h->file, k) + h->at[h->now].after + first * row,
		               left = start < h->bytes.size ? (h->bytes.size - start) / row : 0,
		               have = bytes / row > first ? bytes / row - first : 0;
		int64_t rows = (int64_t)(b->high - first);

		*at = n ? *at : start;
		if (start != *at + (uint64_t)n * row || left == 0 || have == 0)
			break;
		rows = (uint64_t)rows > left ? (int64_t)left : rows;
		rows = (uint64_t)rows > have ? (int64_t)have : rows;
		n += rows;
	}
	return n < most ? n : most;
}

static int read_strips(const struct source *s, struct tiff_file *h, const struct rows *r)
{
	const struct tiff_page *p = &h->page;
	const struct tiff_blocks *b = &h->blocks;
	const int64_t step = b->planes == 1 ? r->n : b->bytes / b->row;
	for (int k = 0; k < b->planes; k++)
		for (int64_t y = 0, n; y < r->n; y += n) {
			uint8_t *to = b->planes == 1 ? r->out + y * b->row : h->block;
			uint64_t at = 0;

			n = find_run(h, k, r->y + y, step < r->n - y ? step : r->n - y, &at);
			if (n == 0 && is_absent(h, TIFFComputeStrip(h->file, (uint32_t)(r->y + y),
			                                            (uint16_t)k))) {
				n = 1;
				fill(s, h, to, b->row);
			} else if (n == 0) {
				return tiff_bad(s, "damaged: cannot read the values");
			} else {
				TRY(io_reader_read(&h->bytes, at, to, (size_t)(n * b->row)));
				if (TIFFIsByteSwapped(h->file))
					source_swap(to, p->bits / 8, n * b->row / (p->bits / 8));
			}
			if (b->planes > 1)
				place(p, r, to, r->y + y, 0, n, p->width, k);
		}
	return 0;
}

/* Grey of less than a byte, or where the least value is white. */
static void turn(const struct tiff_file *h, uint8_t *v, int64_t n)
{
	const int bits = h->page.bits, most = bits < 8 ? 255 / ((1 << bits) - 1) : 1;
	for (int64_t i = 0; most > 1 && i < n; i++)
		v[i] = (uint8_t)(v[i] * most);
	for (int64_t i = 0; h->slope < 0 && i < n * (bits < 8 ? 1 : bits / 8); i++)
		v[i] = (uint8_t)~v[i];
}

/* A palette's numbers become colours, from the end. */
static void paint(const struct tiff_file *h, uint8_t *v, int64_t n)
{
	for (int64_t i = n - 1; i >= 0; i--) {
		uint16_t k = v[i];

		if (h->page.bits == 16)
			memcpy(&k, v + 2 * i, sizeof k);
		memcpy(v + 3 * i, h->colours + 3 * k, 3);
	}
}

/* 32-bit numbers without sign are spread to 64 bits, from their end. */
static void widen(uint8_t *v, int64_t n)
{
	for (int64_t i = n - 1; i >= 0; i--) {
		uint32_t narrow;
		int64_t wide;

		memcpy(&narrow, v + 4 * i, sizeof narrow);
		wide = narrow;
		memcpy(v + 8 * i, &wide, sizeof wide);
	}
}

static int decode_rows(const struct source *s, struct tiff_file *h, const struct rows *r)
{
	const struct tiff_page *p = &h->page;
	const int64_t n = r->n * p->width * p->channels;
	TRY(h->blocks.tiled ? decode_tiles(s, h, r) :
	    h->blocks.stored ? read_strips(s, h, r) : decode_strips(s, h, r));
	if (h->colours)
		paint(h, r->out, n);
	else if (h->slope != 1)
		turn(h, r->out, n);
	if (p->bits == 32 && s->dtype == DTYPE_I64)
		widen(r->out, n);
	return 0;
}

/* The band of rows from y on, which stays: the rows that are requested next are in it as well. */
static int keep_band(const struct source *s, struct tiff_file *h, int64_t y)
{
	const int64_t n = h->blocks.band, left = h->page.height - y, bytes = n * tiff_row_bytes(s, h);
	if (h->band_page == h->now && h->band_at == y)
		return 0;
	h->band_page = -1;
	if (bytes > h->band_room) {
		mem_free(h->band);
		h->band = mem_alloc((size_t)bytes);
		h->band_room = bytes;
	}
	const struct rows r = { y, n < left ? n : left, h->band };
	TRY(decode_rows(s, h, &r));
	h->band_page = h->now;
	h->band_at = y;
	return 0;
}

/* Of the page that is read: whole bands to their place, parts of one by way of it. */
static int decode_page(const struct source *s, struct tiff_file *h, const struct rows *r)
{
	const int64_t band = h->blocks.band, row = tiff_row_bytes(s, h);
	for (int64_t k = 0, n; k < r->n; k += n) {
		const int64_t y = r->y + k, inside = y % band, left = r->n - k;
		uint8_t *out = r->out + k * row;

		n = y + left == h->page.height ? left : left - left % band;
		if (inside == 0 && n > 0) {
			const struct rows whole = { y, n, out };

			TRY(decode_rows(s, h, &whole));
			continue;
		}
		n = left < band - inside ? left : band - inside;
		TRY(keep_band(s, h, y - inside));
		memcpy(out, h->band + inside * row, (size_t)(n * row));
	}
	return 0;
}

int tiff_decode(struct source *s, int64_t first, int64_t n, uint8_t *out)
{
	struct tiff_file *h = s->handle;
	const int64_t height = h->page.height;
	while (n > 0) {
		const int64_t y = first % height, rows = n < height - y ? n : height - y;
		const struct rows r = { y, rows, out };

		TRY(tiff_turn_to(s, h, (int)(first / height)));
		TRY(decode_page(s, h, &r));
		out += rows * tiff_row_bytes(s, h);
		first += rows;
		n -= rows;
	}
	return 0;
}
#endif
