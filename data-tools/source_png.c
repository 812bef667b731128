/* SPDX-License-Identifier: BSD-3-Clause
 *
 * PNG pictures by libpng: (height, width) of grey ones, (height, width, 3) of coloured ones, 8 or
 * 16 bits. Fewer bits of grey become 8 and a palette its colours; "FILE.png:index" is the numbers
 * in the palette, as masks have them. A channel of transparency that is opaque everywhere is left
 * out. */
#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "source.h"

#define DEFLATED_MOST 1040       /* deflate packs no more than 1032 : 1 */

struct handle {
	FILE *file;
	png_struct *png;
	png_info *info;
	char why[80];                /* what libpng has said */
	uint8_t *values;
	png_byte **row;
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

/* A palette's numbers as bytes, or its colours; grey as 8 or 16 bits. */
static void set_values(struct handle *h, bool index)
{
	const int colour = png_get_color_type(h->png, h->info);
	if (colour == PNG_COLOR_TYPE_PALETTE && index)
		png_set_packing(h->png);
	else if (colour == PNG_COLOR_TYPE_PALETTE)
		png_set_palette_to_rgb(h->png);
	else if (colour == PNG_COLOR_TYPE_GRAY)
		png_set_expand_gray_1_2_4_to_8(h->png);
	if (colour == PNG_COLOR_TYPE_PALETTE && !index && png_get_valid(h->png, h->info, PNG_INFO_tRNS))
		png_set_tRNS_to_alpha(h->png);
	if (png_get_bit_depth(h->png, h->info) == 16)
		png_set_swap(h->png);
	png_set_interlace_handling(h->png);
	png_read_update_info(h->png, h->info);
}

static int take_shape(struct source *s)
{
	struct handle *h = s->handle;
	const int64_t height = png_get_image_height(h->png, h->info),
	              width = png_get_image_width(h->png, h->info),
	              row = (int64_t)png_get_rowbytes(h->png, h->info);
	struct stat st;
	s->dtype = png_get_bit_depth(h->png, h->info) == 16 ? DTYPE_U16 : DTYPE_U8;
	source_picture_shape(s, 1, height, width, png_get_channels(h->png, h->info));
	if (fstat(fileno(h->file), &st) != 0 || row > INT64_MAX / height ||
	    row * height / DEFLATED_MOST > st.st_size)
		return source_bad(s, "damaged: impossible size");
	h->values = mem_calloc((size_t)height, (size_t)row);
	h->row = mem_calloc((size_t)height, sizeof *h->row);
	for (int64_t y = 0; y < height; y++)
		h->row[y] = h->values + y * row;
	return 0;
}

/* Up to the first value. An error of libpng's ends the call here. */
static int begin(struct source *s, bool index)
{
	struct handle *h = s->handle;
	if (setjmp(png_jmpbuf(h->png)))
		return source_bad(s, h->why);
	png_set_user_limits(h->png, 1 << 24, 1 << 24);
	png_init_io(h->png, h->file);
	png_read_info(h->png, h->info);
	if (index && png_get_color_type(h->png, h->info) != PNG_COLOR_TYPE_PALETTE)
		return source_bad(s, "a picture without a palette has no 'index'");
	set_values(h, index);
	return 0;
}

static int decode(struct source *s)
{
	struct handle *h = s->handle;
	if (setjmp(png_jmpbuf(h->png)))
		return source_bad(s, h->why);
	png_read_image(h->png, h->row);
	png_read_end(h->png, NULL);
	return 0;
}

static int open_png(struct source *s, const char *variable)
{
	static const char *const names[] = { "index" };
	struct handle *h;
	const bool index = variable && strcmp(variable, names[0]) == 0;
	if (variable && !index)
		return source_no_variable(s->path, variable, names, 1);
	s->handle = h = mem_calloc(1, sizeof *h);
	source_take_stem(s);
	h->file = fopen(s->path, "rb");
	if (!h->file)
		return ERR(E_NOINPUT, NULL, "cannot open '%s': %m", s->path);
	h->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, h, on_error, on_warning);
	h->info = h->png ? png_create_info_struct(h->png) : NULL;
	if (!h->info)
		return ERR(E_NOMEM, NULL, "no memory for a picture");
	TRY(begin(s, index));
	TRY(take_shape(s));
	TRY(decode(s));
	source_drop_opaque(s, h->values);
	return 0;
}

static int read_png(struct source *s, int64_t first, int64_t n, void *out)
{
	const struct handle *h = s->handle;
	source_copy_rows(s, h->values, first, n, out);
	return 0;
}

static void close_png(struct source *s)
{
	struct handle *h = s->handle;
	if (h->png)
		png_destroy_read_struct(&h->png, &h->info, NULL);
	if (h->file)
		fclose(h->file);
	mem_free(h->row);
	mem_free(h->values);
	mem_free(h);
}

static const char *const extensions[] = { ".png", ".PNG", NULL };

const struct source_format source_png = { "png", extensions, open_png, read_png, close_png,
                                         .picture = true, .apart = true, .whole = true };
