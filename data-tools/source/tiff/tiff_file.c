/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which directories of a TIFF file are pages, how their values are in the file and what they
 * become: grey of less than a byte is scaled to one, 0 is black, and a palette's numbers become its
 * colours, unless the file's own numbers are wanted. */
#include "data-tools/source/tiff/tiff_file.h"

#ifdef HAVE_TIFF
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"

#define PACKED_MOST 20000        /* no method of the library packs more than about so much : 1 */
#define STEP ((int64_t)1 << 16)  /* bytes of rows that are read before they are taken apart */

static _Thread_local char why[120];            /* the library's last words */

static void on_error(const char *module, const char *format, va_list args)
{
	vsnprintf(why, sizeof why, format, args);
}

int tiff_bad(const struct source *s, const char *what)
{
	char text[200];
	snprintf(text, sizeof text, "tiff: %s%s%s%s", what, *why ? " (" : "", why, *why ? ")" : "");
	return source_bad(s, text);
}

static struct tiff_page read_page(TIFF *f)
{
	struct tiff_page p = { 0 };
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

static bool same(const struct tiff_page *a, const struct tiff_page *b)
{
	return a->width == b->width && a->height == b->height && a->channels == b->channels &&
	       a->bits == b->bits && a->kind == b->kind && a->photometric == b->photometric &&
	       a->alpha == b->alpha;
}

static int find_dtype(const struct tiff_page *p)
{
	static const struct { int kind, bits, dtype; } types[] = {
		{ SAMPLEFORMAT_UINT, 1, DTYPE_U8 }, { SAMPLEFORMAT_UINT, 2, DTYPE_U8 },
		{ SAMPLEFORMAT_UINT, 4, DTYPE_U8 }, { SAMPLEFORMAT_UINT, 8, DTYPE_U8 },
		{ SAMPLEFORMAT_UINT, 16, DTYPE_U16 },
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

static int add_page(struct source *s, struct tiff_file *h, tdir_t directory)
{
	const struct tiff_page p = read_page(h->file);
	if (h->npages && !same(&p, &h->page))
		return source_bad(s, "tiff: its pages differ in size or type");
	h->page = p;
	h->at = mem_realloc(h->at, ((size_t)h->npages + 1) * sizeof *h->at);
	h->at[h->npages] = (struct tiff_at){ .directory = directory };
	if (!h->masks) {
		TRY(tiff_values_take(s, h, h->npages));
		TRY(tiff_stack_take(s, h, h->npages));
	}
	h->npages++;
	return 0;
}

static int find_pages(struct source *s, struct tiff_file *h)
{
	tdir_t n = 0;
	bool last;
	do {
		uint32_t kind = 0;

		last = TIFFLastDirectory(h->file);
		TIFFGetFieldDefaulted(h->file, TIFFTAG_SUBFILETYPE, &kind);
		if (n >= TIFF_PAGES_MOST)
			return tiff_bad(s, "too many pages");
		if (kind & FILETYPE_REDUCEDIMAGE)
			continue;
		h->nmasks += (kind & FILETYPE_MASK) != 0;
		if (!(kind & FILETYPE_MASK) == !h->masks)
			TRY(add_page(s, h, n));
	} while (n++, !last && TIFFReadDirectory(h->file));
	if (!last)
		return tiff_bad(s, "damaged: a page cannot be read");
	h->directory = (int64_t)n - 1;
	return h->npages || h->masks ? 0 : tiff_bad(s, "no page in it");
}

/* A map of colours has 16 bits for each, of which some programs use 8. */
static int read_colours(const struct source *s, struct tiff_file *h)
{
	const int n = 1 << h->page.bits;
	uint16_t *of[3], all = 0;
	if (h->page.channels != 1 || h->page.bits > 16)
		return source_bad(s, "tiff: a palette of this kind is not read");
	if (!TIFFGetField(h->file, TIFFTAG_COLORMAP, &of[0], &of[1], &of[2]))
		return tiff_bad(s, "damaged: no colours of the palette");
	h->colours = mem_alloc(3 * (size_t)n);
	for (int k = 0; k < 3 * n; k++)
		all |= of[k / n][k % n];
	for (int k = 0; k < 3 * n; k++) {
		const uint16_t v = of[k % 3][k / 3];

		h->colours[k] = (uint8_t)(all > UINT8_MAX ? v >> 8 : v);
	}
	return 0;
}

/* What values become as they are read. */
static int find_reading(struct source *s, struct tiff_file *h)
{
	const struct tiff_page *p = &h->page;
	const double most = p->bits < 8 ? 255 : ldexp(1, p->bits) - 1;
	h->channels = p->channels;
	h->slope = 1;
	if (p->kind != SAMPLEFORMAT_UINT || s->numbers)
		return 0;
	if (p->photometric == PHOTOMETRIC_PALETTE) {
		TRY(read_colours(s, h));
		h->channels = 3;
		s->dtype = DTYPE_U8;
		return 0;
	}
	h->slope = p->bits < 8 ? most / ((1 << p->bits) - 1) : 1;
	if (p->photometric == PHOTOMETRIC_MINISWHITE) {
		h->slope = -h->slope;
		h->base = most;
	}
	return 0;
}

static int check_kind(struct source *s)
{
	struct tiff_file *h = s->handle;
	const struct tiff_page *p = &h->page;
	const int t = find_dtype(p);
	char text[80];
	snprintf(text, sizeof text, "tiff: values of %d bits of this kind are not read", p->bits);
	if (t < 0)
		return source_bad(s, text);
	if (p->photometric == PHOTOMETRIC_YCBCR && p->compression != COMPRESSION_JPEG)
		return source_bad(s, "tiff: YCbCr colours are not read; save it as RGB");
	s->dtype = (enum dtype)t;
	return find_reading(s, h);
}

static int check_size(struct source *s)
{
	const struct tiff_file *h = s->handle;
	const struct tiff_page *p = &h->page;
	struct stat st;
	int64_t n;
	if (p->width < 1 || p->height < 1 || p->channels < 1)
		return tiff_bad(s, "damaged: no size");
	if (__builtin_mul_overflow((int64_t)p->width * p->height, (int64_t)p->channels * h->npages,
	                           &n) ||
	    n > INT64_MAX / 64 || fstat(TIFFFileno(h->file), &st) != 0 ||
	    n / 8 * p->bits / PACKED_MOST > st.st_size)
		return source_bad(s, "tiff: damaged: impossible size");
	return 0;
}

/* --- a page --- */

int64_t tiff_row_bytes(const struct source *s, const struct tiff_file *h)
{
	return (int64_t)h->page.width * h->channels * (int64_t)dtype_size(s->dtype);
}

/* The number of pixels of a row in a block. */
static int64_t block_row(const struct tiff_file *h, int64_t pixels)
{
	return (pixels * h->page.channels / h->blocks.planes * h->page.bits + 7) / 8;
}

static int find_tiles(const struct source *s, struct tiff_file *h)
{
	struct tiff_blocks *b = &h->blocks;
	TIFFGetField(h->file, TIFFTAG_TILEWIDTH, &b->wide);
	TIFFGetField(h->file, TIFFTAG_TILELENGTH, &b->high);
	b->bytes = TIFFTileSize(h->file);
	b->row = block_row(h, b->wide);
	if (b->wide < 1 || b->high < 1 || b->bytes < b->row * b->high || b->bytes > (int64_t)1 << 32)
		return tiff_bad(s, "damaged: impossible tiles");
	return 0;
}

static int find_strips(const struct source *s, struct tiff_file *h)
{
	struct tiff_blocks *b = &h->blocks;
	uint16_t compression = 0, order = 0;
	TIFFGetFieldDefaulted(h->file, TIFFTAG_ROWSPERSTRIP, &b->high);
	TIFFGetFieldDefaulted(h->file, TIFFTAG_COMPRESSION, &compression);
	TIFFGetFieldDefaulted(h->file, TIFFTAG_FILLORDER, &order);
	b->wide = h->page.width;
	b->high = b->high > h->page.height ? h->page.height : b->high;
	b->row = TIFFScanlineSize(h->file);
	b->stored = compression == COMPRESSION_NONE && order == FILLORDER_MSB2LSB && h->page.bits >= 8;
	if (b->high < 1 || b->row != block_row(h, b->wide))
		return tiff_bad(s, "damaged: impossible rows");
	b->bytes = b->stored && b->row < STEP ? STEP / b->row * b->row : b->row;
	if (b->stored && !h->bytes.path)
		return io_reader_open(&h->bytes, s->path);
	return 0;
}

/* Rows in a strip are decoded in their order, which channels apart need in turn. */
static int64_t find_band(const struct source *s, const struct tiff_file *h)
{
	const struct tiff_blocks *b = &h->blocks;
	const int64_t row = tiff_row_bytes(s, h), most = row < PIXELS_KEPT ? PIXELS_KEPT / row : 1;
	if (!b->tiled && (b->stored || b->planes == 1))
		return 1;
	return b->high < most ? b->high : most;
}

/* Makes the tags of page i those that are read: reading them takes as long as reading a small
 * picture. */
static int read_directory(const struct source *s, struct tiff_file *h, int i)
{
	if (h->directory == (int64_t)h->at[i].directory)
		return 0;
	h->directory = -1;
	if (!TIFFSetDirectory(h->file, h->at[i].directory))
		return tiff_bad(s, "damaged: cannot find a page");
	h->directory = h->at[i].directory;
	return 0;
}

/* Makes page i the one that is read. */
int tiff_turn_to(const struct source *s, struct tiff_file *h, int i)
{
	uint16_t planar = PLANARCONFIG_CONTIG;
	if (h->now == i)
		return 0;
	if (h->now >= 0 && h->blocks.stored && h->at[h->now].directory == h->at[i].directory) {
		h->now = i;
		return 0;
	}
	h->now = -1;
	h->next = -1;
	TRY(read_directory(s, h, i));
	if (h->page.photometric == PHOTOMETRIC_YCBCR)
		TIFFSetField(h->file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
	TIFFGetFieldDefaulted(h->file, TIFFTAG_PLANARCONFIG, &planar);
	h->blocks = (struct tiff_blocks){ .tiled = TIFFIsTiled(h->file) };
	h->blocks.planes = planar == PLANARCONFIG_SEPARATE ? h->page.channels : 1;
	TRY(h->blocks.tiled ? find_tiles(s, h) : find_strips(s, h));
	h->blocks.band = find_band(s, h);
	mem_free(h->block);
	mem_free(h->bytewise);
	h->block = mem_calloc(1, (size_t)h->blocks.bytes);
	h->bytewise = h->page.bits < 8 ? mem_calloc(8, (size_t)h->blocks.bytes) : NULL;
	h->now = i;
	return 0;
}

/* --- the file --- */

/* libtiff reads tags that it does not know, but not as the type that they should have. */
static void add_tags(TIFF *f)
{
	static char scale[] = "ModelPixelScale", planes[] = "UIC2", tie[] = "ModelTiepoint",
	            matrix[] = "ModelTransformation", keys[] = "GeoKeyDirectory",
	            metadata[] = "GDAL_METADATA", nodata[] = "GDAL_NODATA";
	static const TIFFFieldInfo tags[] = {
		{ TIFF_PIXEL_SCALE, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, scale },
		{ TIFF_UIC2, -3, -3, TIFF_RATIONAL, FIELD_CUSTOM, 1, 1, planes },
		{ TIFF_TIEPOINT, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, tie },
		{ TIFF_TRANSFORMATION, -3, -3, TIFF_DOUBLE, FIELD_CUSTOM, 1, 1, matrix },
		{ TIFF_GEO_KEYS, -3, -3, TIFF_SHORT, FIELD_CUSTOM, 1, 1, keys },
		{ TIFF_GDAL_METADATA, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, metadata },
		{ TIFF_GDAL_NODATA, -1, -1, TIFF_ASCII, FIELD_CUSTOM, 1, 0, nodata },
	};

	TIFFMergeFieldInfo(f, tags, sizeof tags / sizeof *tags);
}

int tiff_open(struct source *s, struct tiff_file *h)
{
	h->now = h->band_page = h->directory = -1;
	h->pixels.decode = tiff_decode;
	TIFFSetErrorHandler(on_error);
	TIFFSetWarningHandler(NULL);
	TIFFSetTagExtender(add_tags);
	why[0] = '\0';
	h->file = TIFFOpen(s->path, "rm");       /* m: read, not mapped */
	if (!h->file)
		return tiff_bad(s, "damaged, or not a TIFF file");
	TRY(find_pages(s, h));
	why[0] = '\0';
	if (h->npages == 0)
		return 0;
	TRY(read_directory(s, h, 0));
	TRY(check_kind(s));
	return check_size(s);
}

void tiff_release(struct tiff_file *h)
{
	if (h->file)
		TIFFClose(h->file);
	io_reader_close(&h->bytes);
	pixels_release(&h->pixels);
	source_close(h->mask);
	mem_free(h->at);
	mem_free(h->colours);
	mem_free(h->packing);
	mem_free(h->nodata);
	mem_free(h->stack.place);
	mem_free(h->block);
	mem_free(h->bytewise);
	mem_free(h->band);
	mem_free(h);
}
#endif
