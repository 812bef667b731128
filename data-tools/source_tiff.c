/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TIFF pictures by libtiff: (height, width) of grey ones, (height, width, channels) of others, in
 * whole bytes, integers or floats. Several pages of one kind are a volume, (depth, height, width);
 * reduced copies of a page do not count. A channel of transparency that is opaque everywhere is
 * left out. */
#include "config.h"

#include "base/err.h"
#include "base/mem.h"
#include "source.h"

static const char *const extensions[] = { ".tif", ".tiff", ".TIF", ".TIFF", NULL };

#ifdef HAVE_TIFF
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>

#define PACKED_MOST 20000        /* no method of the library packs more than about so much : 1 */
#define MOST_PAGES 65000

/* One page's values: what has to be the same on all. */
struct page {
	uint32_t width, height;
	uint16_t channels, bits, kind, planar, photometric, compression;
	bool alpha;                  /* the last channel is transparency */
};

struct handle {
	TIFF *file;
	struct page page;
	int npages;
	tdir_t *at;                  /* numbers of the directories that are pages */
	uint8_t *values;             /* NULL: not decoded yet */
};

static _Thread_local char why[120];            /* the library's last words */

static void on_error(const char *module, const char *format, va_list args)
{
	vsnprintf(why, sizeof why, format, args);
}

static int bad(const struct source *s, const char *what)
{
	char text[200];
	snprintf(text, sizeof text, "tiff: %s%s%s%s", what, *why ? " (" : "", why, *why ? ")" : "");
	return source_bad(s, text);
}

static struct page read_page(TIFF *f)
{
	struct page p = { 0 };
	uint16_t extra = 0, *kinds = NULL;
	TIFFGetField(f, TIFFTAG_IMAGEWIDTH, &p.width);
	TIFFGetField(f, TIFFTAG_IMAGELENGTH, &p.height);
	TIFFGetFieldDefaulted(f, TIFFTAG_SAMPLESPERPIXEL, &p.channels);
	TIFFGetFieldDefaulted(f, TIFFTAG_BITSPERSAMPLE, &p.bits);
	TIFFGetFieldDefaulted(f, TIFFTAG_SAMPLEFORMAT, &p.kind);
	TIFFGetFieldDefaulted(f, TIFFTAG_PLANARCONFIG, &p.planar);
	TIFFGetFieldDefaulted(f, TIFFTAG_COMPRESSION, &p.compression);
	if (!TIFFGetField(f, TIFFTAG_PHOTOMETRIC, &p.photometric))
		p.photometric = PHOTOMETRIC_MINISBLACK;
	if (TIFFGetFieldDefaulted(f, TIFFTAG_EXTRASAMPLES, &extra, &kinds) && extra > 0)
		p.alpha = kinds[extra - 1] != EXTRASAMPLE_UNSPECIFIED;
	p.kind = p.kind == SAMPLEFORMAT_VOID ? SAMPLEFORMAT_UINT : p.kind;
	return p;
}

static bool same(const struct page *a, const struct page *b)
{
	return a->width == b->width && a->height == b->height && a->channels == b->channels &&
	       a->bits == b->bits && a->kind == b->kind && a->photometric == b->photometric &&
	       a->alpha == b->alpha;
}

static int find_dtype(const struct page *p)
{
	static const struct { int kind, bits, dtype; } types[] = {
		{ SAMPLEFORMAT_UINT, 8, DTYPE_U8 }, { SAMPLEFORMAT_UINT, 16, DTYPE_U16 },
		{ SAMPLEFORMAT_UINT, 32, DTYPE_I64 }, { SAMPLEFORMAT_INT, 8, DTYPE_I8 },
		{ SAMPLEFORMAT_INT, 16, DTYPE_I16 }, { SAMPLEFORMAT_INT, 32, DTYPE_I32 },
		{ SAMPLEFORMAT_INT, 64, DTYPE_I64 }, { SAMPLEFORMAT_IEEEFP, 16, DTYPE_F16 },
		{ SAMPLEFORMAT_IEEEFP, 32, DTYPE_F32 }, { SAMPLEFORMAT_IEEEFP, 64, DTYPE_F64 },
	};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].kind == p->kind && types[i].bits == p->bits)
			return types[i].dtype;
	return -1;
}

static int find_pages(struct source *s)
{
	struct handle *h = s->handle;
	tdir_t n = 0;
	bool more;
	do {
		uint32_t kind = 0;
		const struct page p = read_page(h->file);

		more = !TIFFLastDirectory(h->file);
		TIFFGetFieldDefaulted(h->file, TIFFTAG_SUBFILETYPE, &kind);
		if (n >= MOST_PAGES)
			return bad(s, "too many pages");
		if (kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK))
			continue;
		if (h->npages && !same(&p, &h->page))
			return source_bad(s, "tiff: its pages differ in size or type");
		h->page = p;
		h->at = mem_realloc(h->at, ((size_t)h->npages + 1) * sizeof *h->at);
		h->at[h->npages++] = n;
	} while (n++, TIFFReadDirectory(h->file));
	if (more)
		return bad(s, "damaged: a page cannot be read");
	return h->npages ? 0 : bad(s, "no page in it");
}

static int check_kind(struct source *s)
{
	const struct handle *h = s->handle;
	const struct page *p = &h->page;
	const int t = find_dtype(p);
	char text[80];
	snprintf(text, sizeof text, "tiff: values of %d bits of this kind are not read", p->bits);
	if (t < 0)
		return source_bad(s, text);
	if (p->photometric == PHOTOMETRIC_PALETTE)
		return source_bad(s, "tiff: a palette's colours are not read; save it as RGB, or as grey");
	if (p->photometric == PHOTOMETRIC_YCBCR && p->compression != COMPRESSION_JPEG)
		return source_bad(s, "tiff: YCbCr colours are not read; save it as RGB");
	s->dtype = (enum dtype)t;
	return 0;
}

static int check_size(struct source *s)
{
	const struct handle *h = s->handle;
	const struct page *p = &h->page;
	struct stat st;
	int64_t n;
	if (p->width < 1 || p->height < 1 || p->channels < 1)
		return bad(s, "damaged: no size");
	if (__builtin_mul_overflow((int64_t)p->width * p->height, (int64_t)p->channels * h->npages,
	                           &n) ||
	    n > INT64_MAX / 8 || fstat(TIFFFileno(h->file), &st) != 0 ||
	    n * (p->bits / 8) / PACKED_MOST > st.st_size)
		return source_bad(s, "tiff: damaged: impossible size");
	return 0;
}

/* --- values --- */

/* Puts a block of rows x columns, as the library gives it, to its place (y, x) in a page; plane -1:
 * all channels are together. */
static void place(const struct page *p, uint8_t *page, const uint8_t *block, int64_t y, int64_t x,
                  int64_t rows, int64_t columns, int plane)
{
	const int64_t size = p->bits / 8, pixel = size * p->channels, step = plane < 0 ? pixel : size,
	              wide = x + columns > p->width ? p->width - x : columns;
	for (int64_t r = 0; r < rows && y + r < p->height; r++) {
		uint8_t *to = page + ((y + r) * p->width + x) * pixel + (plane < 0 ? 0 : plane * size);
		const uint8_t *from = block + r * columns * step;

		if (plane < 0)
			memcpy(to, from, (size_t)(wide * pixel));
		else
			for (int64_t i = 0; i < wide; i++)
				memcpy(to + i * pixel, from + i * size, (size_t)size);
	}
}

static int decode_tiles(const struct source *s, uint8_t *page)
{
	const struct handle *h = s->handle;
	const struct page *p = &h->page;
	const int planes = p->planar == PLANARCONFIG_SEPARATE ? p->channels : 1;
	const tmsize_t bytes = TIFFTileSize(h->file);
	uint32_t wide = 0, high = 0;
	int rc = 0;
	TIFFGetField(h->file, TIFFTAG_TILEWIDTH, &wide);
	TIFFGetField(h->file, TIFFTAG_TILELENGTH, &high);
	if (wide < 1 || high < 1 || (int64_t)bytes < (int64_t)wide * high * (p->bits / 8) *
	    (planes > 1 ? 1 : p->channels) || (int64_t)bytes > (int64_t)1 << 32)
		return bad(s, "damaged: impossible tiles");
	uint8_t *block = mem_calloc(1, (size_t)bytes);
	for (int k = 0; k < planes && rc == 0; k++)
		for (uint32_t y = 0; y < p->height && rc == 0; y += high)
			for (uint32_t x = 0; x < p->width && rc == 0; x += wide) {
				if (TIFFReadTile(h->file, block, x, y, 0, (uint16_t)k) < 0)
					rc = bad(s, "damaged: cannot read the values");
				else
					place(p, page, block, y, x, high, wide, planes > 1 ? k : -1);
			}
	mem_free(block);
	return rc;
}

static int decode_rows(const struct source *s, uint8_t *page)
{
	const struct handle *h = s->handle;
	const struct page *p = &h->page;
	const int planes = p->planar == PLANARCONFIG_SEPARATE ? p->channels : 1;
	const tmsize_t bytes = TIFFScanlineSize(h->file);
	int rc = 0;
	if ((int64_t)bytes != (int64_t)p->width * (p->bits / 8) * (planes > 1 ? 1 : p->channels))
		return bad(s, "damaged: impossible rows");
	uint8_t *row = mem_calloc(1, (size_t)bytes);
	for (int k = 0; k < planes && rc == 0; k++)
		for (uint32_t y = 0; y < p->height && rc == 0; y++) {
			if (TIFFReadScanline(h->file, row, y, (uint16_t)k) < 0)
				rc = bad(s, "damaged: cannot read the values");
			else
				place(p, page, row, y, 0, 1, p->width, planes > 1 ? k : -1);
		}
	mem_free(row);
	return rc;
}

/* Grey where the least value is white, turned round. */
static void invert(const struct page *p, uint8_t *page)
{
	const int64_t n = (int64_t)p->width * p->height * p->channels * (p->bits / 8);
	for (int64_t i = 0; i < n; i++)
		page[i] = (uint8_t)~page[i];
}

/* A page of 32-bit numbers without sign is spread to 64 bits, from its end. */
static void widen(uint8_t *page, int64_t n)
{
	for (int64_t i = n - 1; i >= 0; i--) {
		uint32_t v;
		int64_t wide;

		memcpy(&v, page + 4 * i, sizeof v);
		wide = v;
		memcpy(page + 8 * i, &wide, sizeof wide);
	}
}

static int decode(struct source *s)
{
	struct handle *h = s->handle;
	const struct page *p = &h->page;
	const int64_t n = (int64_t)p->width * p->height * p->channels;
	const size_t each = (size_t)n * dtype_size(s->dtype);
	h->values = mem_calloc((size_t)h->npages, each);
	for (int i = 0; i < h->npages; i++) {
		uint8_t *page = h->values + (size_t)i * each;

		if (!TIFFSetDirectory(h->file, h->at[i]))
			return bad(s, "damaged: cannot find a page");
		if (p->photometric == PHOTOMETRIC_YCBCR)
			TIFFSetField(h->file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
		TRY(TIFFIsTiled(h->file) ? decode_tiles(s, page) : decode_rows(s, page));
		if (p->photometric == PHOTOMETRIC_MINISWHITE && p->kind == SAMPLEFORMAT_UINT)
			invert(p, page);
		if (p->bits == 32 && s->dtype == DTYPE_I64)
			widen(page, n);
	}
	return 0;
}

/* --- the format --- */

static int open_tiff(struct source *s, const char *variable)
{
	struct handle *h;
	if (variable)
		return ERR(E_USAGE, NULL, "'%s' is one array without a name; '%s' cannot be chosen",
		           s->path, variable);
	s->handle = h = mem_calloc(1, sizeof *h);
	source_take_stem(s);
	TIFFSetErrorHandler(on_error);
	TIFFSetWarningHandler(NULL);
	why[0] = '\0';
	h->file = TIFFOpen(s->path, "rm");       /* m: read, not mapped */
	if (!h->file)
		return bad(s, "damaged, or not a TIFF file");
	TRY(find_pages(s));
	why[0] = '\0';
	TRY(check_kind(s));
	TRY(check_size(s));
	source_picture_shape(s, h->npages, h->page.height, h->page.width, h->page.channels);
	TRY(decode(s));
	if (h->page.alpha)
		source_drop_opaque(s, h->values);
	return 0;
}

static int read_tiff(struct source *s, int64_t first, int64_t n, void *out)
{
	const struct handle *h = s->handle;
	source_copy_rows(s, h->values, first, n, out);
	return 0;
}

static void close_tiff(struct source *s)
{
	struct handle *h = s->handle;
	if (h->file)
		TIFFClose(h->file);
	mem_free(h->at);
	mem_free(h->values);
	mem_free(h);
}

#else

static int open_tiff(struct source *s, const char *variable)
{
	return ERR(E_UNAVAILABLE, NULL, "'%s' is a TIFF file, and dlx was built without libtiff "
	           "(Debian: libtiff-dev, then configure again)", s->path);
}

static int read_tiff(struct source *s, int64_t first, int64_t n, void *out)
{
	return source_bad(s, "dlx was built without libtiff");
}

static void close_tiff(struct source *s)
{
}
#endif

const struct source_format source_tiff = { "tiff", extensions, open_tiff, read_tiff, close_tiff,
                                          .picture = true, .apart = true, .whole = true };
