/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PNG pictures by libpng: (height, width) of grey ones, (height, width, 3) of coloured ones, 8
 * or 16 bits. Fewer bits of grey become 8 and a palette its colours; "FILE.png:index", and a
 * picture of labels, is the file's own numbers. A colour that is declared transparent (tRNS)
 * makes a channel of transparency, as colours of a palette do; one that is opaque everywhere is
 * left out. The rows are decoded in their order: an earlier one needs all before it again. Of an
 * interlaced picture each row is complete with the last byte of the file, so that its rows are
 * kept in memory. */
#include <png.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/pixels.h"

#define DEFLATED_MOST 1040       /* deflate packs no more than 1032 : 1 */

struct handle {
	struct pixels pixels;
	FILE *file;
	png_struct *png;
	png_info *info;
	int passes;                  /* 1 unless it is interlaced */
	size_t row;                  /* bytes */
	int bits;                    /* of a value in the file */
	int64_t height, at;          /* the row that is next */
	uint32_t frames;             /* of an animation; 0: it is none */
	char why[80];                /* what libpng has said */
};

static _Noreturn void on_error(png_struct *png, const char *text)
{
	struct handle *h = png_get_error_ptr(png);
	snprintf(h->why, sizeof h->why, "png: %s", text);
	longjmp(png_jmpbuf(png), 1);
}

static void on_warning(png_struct *png, const char *text)
{
}

/* Of the chunks that libpng does not know: that of an animation, which begins with its frames. */
static int on_chunk(png_struct *png, png_unknown_chunk *chunk)
{
	struct handle *h = png_get_user_chunk_ptr(png);
	if (memcmp(chunk->name, "acTL", 4) == 0 && chunk->size >= 4)
		h->frames = png_get_uint_32(chunk->data);
	return 1;
}

/* The numbers of a palette or grey as bytes, or colours; grey as 8 or 16 bits. */
static void set_values(const struct source *s, struct handle *h)
{
	const int colour = png_get_color_type(h->png, h->info);
	const bool index = s->numbers &&
	                   (colour == PNG_COLOR_TYPE_PALETTE || colour == PNG_COLOR_TYPE_GRAY);
	if (index)
		png_set_packing(h->png);
	else if (colour == PNG_COLOR_TYPE_PALETTE)
		png_set_palette_to_rgb(h->png);
	else if (colour == PNG_COLOR_TYPE_GRAY)
		png_set_expand_gray_1_2_4_to_8(h->png);
	if (!index && png_get_valid(h->png, h->info, PNG_INFO_tRNS))
		png_set_tRNS_to_alpha(h->png);
	if (png_get_bit_depth(h->png, h->info) == 16)
		png_set_swap(h->png);
	h->passes = png_set_interlace_handling(h->png);
	png_read_update_info(h->png, h->info);
}

/* Up to the first value. An error of libpng's ends the call here. */
static int read_head(struct source *s)
{
	struct handle *h = s->handle;
	if (setjmp(png_jmpbuf(h->png)))
		return source_bad(s, h->why);
	png_set_user_limits(h->png, 1 << 24, 1 << 24);
	png_set_read_user_chunk_fn(h->png, h, on_chunk);
	png_init_io(h->png, h->file);
	png_read_info(h->png, h->info);
	h->bits = png_get_bit_depth(h->png, h->info);
	set_values(s, h);
	return 0;
}

static int begin(struct source *s)
{
	struct handle *h = s->handle;
	int rc;
	png_destroy_read_struct(&h->png, &h->info, NULL);
	rewind(h->file);
	h->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, h, on_error, on_warning);
	h->info = h->png ? png_create_info_struct(h->png) : NULL;
	rc = h->info ? read_head(s) : ERR(E_NOMEM, NULL, "no memory for a picture");
	h->at = rc == 0 ? 0 : INT64_MAX;
	return rc;
}

/* The rows' room was found for the picture that was opened. */
static int begin_again(struct source *s)
{
	struct handle *h = s->handle;
	const int passes = h->passes;
	TRY(begin(s));
	if (png_get_image_height(h->png, h->info) == h->height &&
	    png_get_rowbytes(h->png, h->info) == h->row && h->passes == passes)
		return 0;
	return ERR(E_IO, NULL, "'%s' was changed while it was in use", s->path);
}

static int decode_on(struct source *s, int64_t first, int64_t n, uint8_t *out)
{
	struct handle *h = s->handle;
	if (setjmp(png_jmpbuf(h->png))) {
		h->at = INT64_MAX;
		return source_bad(s, h->why);
	}
	for (; h->at < first; h->at++)
		png_read_row(h->png, NULL, NULL);
	for (int pass = 0; pass < h->passes; pass++)
		for (int64_t y = 0; y < n; y++)
			png_read_row(h->png, out + (size_t)y * h->row, NULL);
	h->at = first + n;
	if (h->at == h->height)
		png_read_end(h->png, NULL);
	return 0;
}

static int decode(struct source *s, int64_t first, int64_t n, uint8_t *out)
{
	const struct handle *h = s->handle;
	if (first < h->at)
		TRY(begin_again(s));
	return decode_on(s, first, n, out);
}

static int open_pixels(struct source *s)
{
	struct handle *h = s->handle;
	const int64_t extent[] = { 1, png_get_image_height(h->png, h->info),
	                          png_get_image_width(h->png, h->info),
	                          png_get_channels(h->png, h->info) };
	struct stat st;
	s->dtype = png_get_bit_depth(h->png, h->info) == 16 ? DTYPE_U16 : DTYPE_U8;
	h->pixels.decode = decode;
	h->height = extent[PIXELS_ROW];
	h->row = png_get_rowbytes(h->png, h->info);
	if (fstat(fileno(h->file), &st) != 0 || (int64_t)h->row > INT64_MAX / h->height ||
	    (int64_t)h->row != extent[PIXELS_COLUMN] * extent[PIXELS_CHANNEL] *
	                       (int64_t)dtype_size(s->dtype) ||
	    (int64_t)h->row * h->height / DEFLATED_MOST > st.st_size)
		return source_bad(s, "damaged: impossible size");
	return pixels_open(s, extent, true, h->passes > 1);
}

/* pCAL: what a value is worth; of its equations the straight line alone is read. */
static int take_calibration(struct source *s)
{
	const struct handle *h = s->handle;
	char *purpose, *units, **p;
	png_int_32 x0, x1;
	int equation, n;
	double most;

	if (!png_get_pCAL(h->png, h->info, &purpose, &x0, &x1, &equation, &n, &units, &p))
		return 0;
	if (equation != PNG_EQUATION_LINEAR || n != 2 || x0 == x1)
		return source_bad(s, "png: its values are calibrated (pCAL) by a curve, which is not read; "
		                  "save the values that they mean in another format, as float32 TIFF");
	if (png_get_color_type(h->png, h->info) == PNG_COLOR_TYPE_PALETTE ? !s->numbers :
	    png_get_channels(h->png, h->info) % 2 == 0 && !h->pixels.opaque)
		return source_bad(s, "png: its values are calibrated (pCAL), which is not read of colours "
		                  "of a palette or next to transparency; save it without these");
	most = s->numbers ? ldexp(1, h->bits) - 1 : s->dtype == DTYPE_U16 ? UINT16_MAX : UINT8_MAX;
	s->scale = strtod(p[1], NULL) / most;
	s->offset = strtod(p[0], NULL) + strtod(p[1], NULL) * x0 / ((double)x1 - x0);
	return isfinite(s->scale) && isfinite(s->offset) ? 0 : source_no_number(s, "pCAL");
}

static int open_png(struct source *s, const char *variable)
{
	static const char *const names[] = { "index" };
	struct handle *h;
	if (variable && strcmp(variable, names[0]) != 0)
		return source_no_variable(s->path, variable, names, 1);
	s->numbers |= variable != NULL;
	s->handle = h = mem_calloc(1, sizeof *h);
	source_take_stem(s);
	h->file = fopen(s->path, "rb");
	if (!h->file)
		return ERR(E_NOINPUT, NULL, "cannot open '%s': %m", s->path);
	TRY(begin(s));
	const int colour = png_get_color_type(h->png, h->info);
	if (variable && colour != PNG_COLOR_TYPE_PALETTE && colour != PNG_COLOR_TYPE_GRAY)
		return source_bad(s, "a coloured picture without a palette has no 'index'");
	if (h->frames > 1) {
		snprintf(h->why, sizeof h->why, "png: an animation of %u pictures; save each to a file of "
		         "its own", h->frames);
		return source_bad(s, h->why);
	}
	TRY(open_pixels(s));
	return take_calibration(s);
}

static void close_png(struct source *s)
{
	struct handle *h = s->handle;
	png_destroy_read_struct(&h->png, &h->info, NULL);
	if (h->file)
		fclose(h->file);
	pixels_release(&h->pixels);
	mem_free(h);
}

static const char *const extensions[] = { ".png", ".PNG", NULL };

const struct source_format source_png = { "png", extensions, open_png, pixels_read, close_png,
                                         .read_box = pixels_read_box, .picture = true,
                                         .apart = true, .whole = true };
