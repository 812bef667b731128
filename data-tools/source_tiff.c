/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TIFF pictures by libtiff: (height, width) of grey ones, (height, width, channels) of others, in
 * whole bytes, integers or floats. Several pages of one kind are a volume, (depth, height, width);
 * reduced copies of a page do not count. A channel of transparency that is opaque everywhere is
 * left out. Strips of values that are not compressed are read where they are in the file. Others
 * are decoded one at a time, and tiles row by row of them. */
#include "config.h"

#include "base/err.h"
#include "base/mem.h"
#include "pixels.h"

static const char *const extensions[] = { ".tif", ".tiff", ".TIF", ".TIFF", NULL };

#ifdef HAVE_TIFF
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tiffio.h>

#include "base/io_reader.h"

#define PACKED_MOST 20000        /* no method of the library packs more than about so much : 1 */
#define MOST_PAGES 65000
#define STEP ((int64_t)1 << 16)  /* bytes of rows that are read before they are taken apart */

/* One page's values: what has to be the same on all. */
struct page {
	uint32_t width, height;
	uint16_t channels, bits, kind, planar, photometric, compression;
	bool alpha;                  /* the last channel is transparency */
};

/* How the values of a page are in the file: in strips or tiles. */
struct blocks {
	bool tiled, stored;          /* stored: values as they are, though in any order of bytes */
	int planes;                  /* 1: all channels are together */
	uint32_t wide, high;         /* of a block */
	int64_t row, bytes;          /* of its row, and that are decoded or read at a time */
	int64_t band;                /* rows that need the same blocks; at most as many as are kept */
};

struct handle {
	struct pixels pixels;
	TIFF *file;
	struct io_reader bytes;      /* of the file; opened when it is needed */
	struct page page;
	int npages;
	tdir_t *at;                  /* numbers of the directories that are pages */
	int now;                     /* the page whose directory is read; -1: none */
	struct blocks blocks;        /* its */
	int plane;                   /* of which row `next` follows in a strip; next -1: none does */
	int64_t next;
	uint8_t *block, *band;       /* what is decoded at a time; rows of a page */
	int64_t band_room;
	int band_page;               /* -1: none */
	int64_t band_at;
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

/* --- a page --- */

static int unreadable(const struct source *s)
{
	return bad(s, "damaged: cannot read the values");
}

static int64_t pixel_bytes(const struct page *p)
{
	return (int64_t)p->channels * (p->bits / 8);
}

static int64_t row_bytes(const struct source *s, const struct page *p)
{
	return (int64_t)p->width * p->channels * (int64_t)dtype_size(s->dtype);
}

static int find_tiles(const struct source *s, struct handle *h)
{
	struct blocks *b = &h->blocks;
	TIFFGetField(h->file, TIFFTAG_TILEWIDTH, &b->wide);
	TIFFGetField(h->file, TIFFTAG_TILELENGTH, &b->high);
	b->bytes = TIFFTileSize(h->file);
	b->row = (int64_t)b->wide * pixel_bytes(&h->page) / b->planes;
	if (b->wide < 1 || b->high < 1 || b->bytes < b->row * b->high || b->bytes > (int64_t)1 << 32)
		return bad(s, "damaged: impossible tiles");
	return 0;
}

static int find_strips(const struct source *s, struct handle *h)
{
	struct blocks *b = &h->blocks;
	uint16_t compression = 0, order = 0;
	TIFFGetFieldDefaulted(h->file, TIFFTAG_ROWSPERSTRIP, &b->high);
	TIFFGetFieldDefaulted(h->file, TIFFTAG_COMPRESSION, &compression);
	TIFFGetFieldDefaulted(h->file, TIFFTAG_FILLORDER, &order);
	b->wide = h->page.width;
	b->high = b->high > h->page.height ? h->page.height : b->high;
	b->row = TIFFScanlineSize(h->file);
	b->stored = compression == COMPRESSION_NONE && order == FILLORDER_MSB2LSB;
	if (b->high < 1 || b->row != (int64_t)b->wide * pixel_bytes(&h->page) / b->planes)
		return bad(s, "damaged: impossible rows");
	b->bytes = b->stored && b->row < STEP ? STEP / b->row * b->row : b->row;
	if (b->stored && !h->bytes.path)
		return io_reader_open(&h->bytes, s->path);
	return 0;
}

/* Rows in a strip are decoded in their order, which channels apart need in turn. */
static int64_t find_band(const struct source *s, const struct handle *h)
{
	const struct blocks *b = &h->blocks;
	const int64_t row = row_bytes(s, &h->page), most = row < PIXELS_KEPT ? PIXELS_KEPT / row : 1;
	if (!b->tiled && (b->stored || b->planes == 1))
		return 1;
	return b->high < most ? b->high : most;
}

/* Makes page i the one that is read. */
static int turn_to(const struct source *s, struct handle *h, int i)
{
	uint16_t planar = PLANARCONFIG_CONTIG;
	if (h->now == i)
		return 0;
	h->now = -1;
	h->next = -1;
	if (!TIFFSetDirectory(h->file, h->at[i]))
		return bad(s, "damaged: cannot find a page");
	if (h->page.photometric == PHOTOMETRIC_YCBCR)
		TIFFSetField(h->file, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
	TIFFGetFieldDefaulted(h->file, TIFFTAG_PLANARCONFIG, &planar);
	h->blocks = (struct blocks){ .tiled = TIFFIsTiled(h->file) };
	h->blocks.planes = planar == PLANARCONFIG_SEPARATE ? h->page.channels : 1;
	TRY(h->blocks.tiled ? find_tiles(s, h) : find_strips(s, h));
	h->blocks.band = find_band(s, h);
	mem_free(h->block);
	h->block = mem_calloc(1, (size_t)h->blocks.bytes);
	h->now = i;
	return 0;
}

/* --- values --- */

/* Rows of the page, from y on, n of them. */
struct rows {
	int64_t y, n;
	uint8_t *out;
};

/* Puts what the rows have of a block of rows x columns, as the library gives it, from place (y, x)
 * of the page; plane -1: all channels are together. */
static void place(const struct page *p, const struct rows *r, const uint8_t *block, int64_t y,
                  int64_t x, int64_t rows, int64_t columns, int plane)
{
	const int64_t size = p->bits / 8, pixel = size * p->channels, step = plane < 0 ? pixel : size,
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

static int decode_tiles(const struct source *s, struct handle *h, const struct rows *r)
{
	const struct page *p = &h->page;
	const struct blocks *b = &h->blocks;
	for (int k = 0; k < b->planes; k++)
		for (int64_t y = r->y - r->y % b->high; y < r->y + r->n; y += b->high)
			for (int64_t x = 0; x < p->width; x += b->wide) {
				if (TIFFReadTile(h->file, h->block, (uint32_t)x, (uint32_t)y, 0, (uint16_t)k) < 0)
					return unreadable(s);
				place(p, r, h->block, y, x, b->high, b->wide, b->planes > 1 ? k : -1);
			}
	return 0;
}

/* In a strip the library goes forward row by row. */
static int decode_strips(const struct source *s, struct handle *h, const struct rows *r)
{
	const struct page *p = &h->page;
	const struct blocks *b = &h->blocks;
	for (int k = 0; k < b->planes; k++) {
		const int64_t strip = r->y - r->y % b->high;
		const bool on = h->plane == k && h->next >= strip && h->next <= r->y;
		int64_t y = on ? h->next : strip;

		h->next = -1;
		h->plane = k;
		for (; y < r->y + r->n; y++) {
			if (TIFFReadScanline(h->file, h->block, (uint32_t)y, (uint16_t)k) < 0)
				return unreadable(s);
			place(p, r, h->block, y, 0, 1, p->width, b->planes > 1 ? k : -1);
		}
		h->next = y;
	}
	return 0;
}

/* How many rows from y on are behind each other in the file, from byte *at on, as far as that is
 * within the strips and the file; 0: not even this one. */
static int64_t find_run(struct handle *h, int plane, int64_t y, int64_t most, uint64_t *at)
{
	const struct blocks *b = &h->blocks;
	const uint64_t row = (uint64_t)b->row;
	int64_t n = 0;
	while (n < most) {
		const uint32_t k = TIFFComputeStrip(h->file, (uint32_t)(y + n), (uint16_t)plane);
		const uint64_t first = (uint64_t)((y + n) % b->high),
		               bytes = TIFFGetStrileByteCount(h->file, k),
		               start = TIFFGetStrileOffset(h->file, k) + first * row,
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

static int read_strips(const struct source *s, struct handle *h, const struct rows *r)
{
	const struct page *p = &h->page;
	const struct blocks *b = &h->blocks;
	const int64_t step = b->planes == 1 ? r->n : b->bytes / b->row;
	for (int k = 0; k < b->planes; k++)
		for (int64_t y = 0, n; y < r->n; y += n) {
			uint8_t *to = b->planes == 1 ? r->out + y * b->row : h->block;
			uint64_t at = 0;

			n = find_run(h, k, r->y + y, step < r->n - y ? step : r->n - y, &at);
			if (n == 0)
				return unreadable(s);
			TRY(io_reader_read(&h->bytes, at, to, (size_t)(n * b->row)));
			if (TIFFIsByteSwapped(h->file))
				source_swap(to, p->bits / 8, n * b->row / (p->bits / 8));
			if (b->planes > 1)
				place(p, r, to, r->y + y, 0, n, p->width, k);
		}
	return 0;
}

/* Grey where the least value is white, turned round. */
static void invert(uint8_t *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		v[i] = (uint8_t)~v[i];
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

static int decode_rows(const struct source *s, struct handle *h, const struct rows *r)
{
	const struct page *p = &h->page;
	const int64_t n = r->n * p->width * p->channels;
	TRY(h->blocks.tiled ? decode_tiles(s, h, r) :
	    h->blocks.stored ? read_strips(s, h, r) : decode_strips(s, h, r));
	if (p->photometric == PHOTOMETRIC_MINISWHITE && p->kind == SAMPLEFORMAT_UINT)
		invert(r->out, n * (p->bits / 8));
	if (p->bits == 32 && s->dtype == DTYPE_I64)
		widen(r->out, n);
	return 0;
}

/* The band of rows from y on, which stays: the rows that are asked for next are in it as well. */
static int keep_band(const struct source *s, struct handle *h, int64_t y)
{
	const int64_t n = h->blocks.band, left = h->page.height - y, bytes = n * row_bytes(s, &h->page);
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
static int decode_page(const struct source *s, struct handle *h, const struct rows *r)
{
	const int64_t band = h->blocks.band, row = row_bytes(s, &h->page);
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

static int decode(struct source *s, int64_t first, int64_t n, uint8_t *out)
{
	struct handle *h = s->handle;
	const int64_t height = h->page.height;
	while (n > 0) {
		const int64_t y = first % height, rows = n < height - y ? n : height - y;
		const struct rows r = { y, rows, out };

		TRY(turn_to(s, h, (int)(first / height)));
		TRY(decode_page(s, h, &r));
		out += rows * row_bytes(s, &h->page);
		first += rows;
		n -= rows;
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
	h->now = h->band_page = -1;
	h->pixels.decode = decode;
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
	const int64_t extent[] = { h->npages, h->page.height, h->page.width, h->page.channels };
	return pixels_open(s, extent, h->page.alpha, false);
}

static void close_tiff(struct source *s)
{
	struct handle *h = s->handle;
	if (h->file)
		TIFFClose(h->file);
	io_reader_close(&h->bytes);
	pixels_release(&h->pixels);
	mem_free(h->at);
	mem_free(h->block);
	mem_free(h->band);
	mem_free(h);
}

#else

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
                                          .read_box = pixels_read_box, .picture = true,
                                          .apart = true, .whole = true };
