/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TIFF pictures by libtiff: (height, width) of grey ones, (height, width, channels) of others,
 * integers or floats. Several pages of one kind are a volume, (depth, height, width), or have the
 * axes that the file's description says; reduced copies of a page do not count, and masks say where
 * values are missing. A channel of transparency that is opaque everywhere is left out. */
#include "config.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/pixels.h"
#include "data-tools/source/tiff/tiff_file.h"

static const char *const extensions[] = { ".tif", ".tiff", ".TIF", ".TIFF", NULL },
                         *const beside[] = { ".msk", ".aux.xml", NULL };

#ifdef HAVE_TIFF
static int check_name(const struct source *s, const char *variable, const struct tiff_page *p)
{
	static const char *const names[] = { "index" };
	const bool grey = p->photometric == PHOTOMETRIC_PALETTE ||
	                  p->photometric == PHOTOMETRIC_MINISWHITE ||
	                  p->photometric == PHOTOMETRIC_MINISBLACK;
	if (strcmp(variable, names[0]) != 0)
		return source_no_variable(s->path, variable, names, 1);
	return grey && p->channels == 1 ? 0 :
	       source_bad(s, "a coloured picture without a palette has no 'index'");
}

static int open_tiff(struct source *s, const char *variable)
{
	struct tiff_file *h = mem_calloc(1, sizeof *h);
	s->handle = h;
	source_take_stem(s);
	s->numbers |= variable != NULL;
	TRY(tiff_open(s, h));
	if (variable)
		TRY(check_name(s, variable, &h->page));
	TRY(tiff_stack_settle(s, h));
	const int64_t extent[] = { h->npages, h->page.height, h->page.width, h->channels };
	TRY(pixels_open(s, extent, h->page.alpha, false));
	TRY(tiff_values_settle(s, h));
	tiff_place_name(s);
	return tiff_mask_open(s);
}

static void close_tiff(struct source *s)
{
	tiff_release(s->handle);
}

#else
#define tiff_place_coordinates NULL
#define tiff_mask_read NULL

static int open_tiff(struct source *s, const char *variable)
{
	return ERR(E_UNAVAILABLE, NULL, "'%s' is a TIFF file, and dlx was built without libtiff "
	           "(Debian: libtiff-dev, then configure again)", s->path);
}

static void close_tiff(struct source *s)
{
}
#endif

const struct source_format source_tiff = { "tiff", extensions, open_tiff, pixels_read, close_tiff,
                                          .read_box = pixels_read_box,
                                          .coordinates = tiff_place_coordinates,
                                          .read_valid = tiff_mask_read, .beside = beside,
                                          .picture = true,
                                          .apart = true, .whole = true };
