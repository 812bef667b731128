/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A TIFF file's pages of one kind, by libtiff. What the tags say of the values is in
 * tiff_values.c, of the pages in tiff_stack.c, of the place in tiff_place.c and of missing points
 * in tiff_mask.c; what files next to it say, in tiff_beside.c. */
#ifndef DLX_DATA_TOOLS_TIFF_FILE_H
#define DLX_DATA_TOOLS_TIFF_FILE_H

#include "config.h"

#ifdef HAVE_TIFF
#include <tiffio.h>

#include "base/io_reader.h"
#include "data-tools/source/pixels.h"

#define TIFF_PAGES_MOST 65000

/* Tags that libtiff does not know by itself. */
enum {
	TIFF_PIXEL_SCALE = 33550,
	TIFF_UIC2 = 33629,           /* of MetaMorph's stacks: as many as there are planes */
	TIFF_TIEPOINT = 33922,
	TIFF_TRANSFORMATION = 34264,
	TIFF_GEO_KEYS = 34735,
	TIFF_GDAL_METADATA = 42112,
	TIFF_GDAL_NODATA = 42113,
};

/* One page's values: what has to be the same on all. */
struct tiff_page {
	uint32_t width, height;
	uint16_t channels, bits, kind, planar, photometric, compression;
	bool alpha;                  /* the last channel is transparency */
};

/* How the values of a page are in the file: in strips or tiles. */
struct tiff_blocks {
	bool tiled, stored;          /* stored: values as they are, though in any order of bytes */
	int planes;                  /* 1: all channels are together */
	uint32_t wide, high;         /* of a block */
	int64_t row, bytes;          /* of its row, and that are decoded or read at a time */
	int64_t band;                /* rows that need the same blocks; at most as many as are kept */
};

/* Where a page is: a directory's values, or as many bytes after them. */
struct tiff_at {
	tdir_t directory;
	uint64_t after;
};

/* Of tiff_stack.c. */
#define TIFF_AXES_MOST 6
struct tiff_axis {
	const char *name;            /* NULL: not known */
	int64_t n, step;             /* pages from one to the next */
};
struct tiff_stack {
	const char *by;              /* whose description it is; NULL: there is none */
	int naxes;                   /* the first runs slowest */
	struct tiff_axis axis[TIFF_AXES_MOST];
	int64_t said;                /* pages that the descriptions speak of */
	int series;                  /* how many they are */
	int64_t *place;              /* OME: the directory of each page; NULL: in their order */
};

/* As the key of the model in a GeoTIFF file has them. */
enum { TIFF_PROJECTED = 1, TIFF_GEOGRAPHIC = 2 };

/* What files next to it say of the place (tiff_beside.c). */
struct tiff_beside {
	bool has_place;
	double place[6];             /* of the upper left corner of (column, row): [0] + column * [1] +
	                              * row * [2], and the same of y */
	bool has_system;
	int model, epsg;             /* 0: not known */
	const char *unit;            /* of a projection, or NULL */
};

/* A source's handle. */
struct tiff_file {
	struct pixels pixels;
	TIFF *file;
	struct io_reader bytes;      /* of the file; opened when it is needed */
	bool masks;                  /* the pages are masks of others */
	struct tiff_page page;
	int npages, nmasks;          /* nmasks: directories that are masks of pages */
	struct tiff_at *at;
	int64_t channels;            /* of a page as it is read */
	uint8_t *colours;            /* of a palette, 3 for each number; NULL: numbers stay */
	double slope, base;          /* a value as it is read = slope * stored + base */
	struct packing *packing;     /* of each channel as stored; NULL: none is said */
	char *nodata;
	struct tiff_beside beside;
	struct tiff_stack stack;
	struct source *mask;         /* NULL: none */
	int64_t directory;           /* whose tags the library has; -1: not known */
	int now;                     /* the page whose blocks are known; -1: none */
	struct tiff_blocks blocks;   /* its */
	int plane;                   /* of which row `next` follows in a strip; next -1: none does */
	int64_t next;
	uint8_t *block, *bytewise;   /* what is decoded at a time, also with a byte for each value */
	uint8_t *band;               /* rows of a page */
	int64_t band_room;
	int band_page;               /* -1: none */
	int64_t band_at;
};

/* The error with the library's last words. */
int tiff_bad(const struct source *s, const char *what);
/* Opens the file, finds its pages and what they are. */
int tiff_open(struct source *s, struct tiff_file *h);
void tiff_release(struct tiff_file *h);
int64_t tiff_row_bytes(const struct source *s, const struct tiff_file *h);
/* Makes page i the one that is read. */
int tiff_turn_to(const struct source *s, struct tiff_file *h, int i);
/* That of struct pixels (tiff_rows.c). */
int tiff_decode(struct source *s, int64_t first, int64_t n, uint8_t *out);

/* --- what the tags say --- */

/* Of the directory at hand, page i. */
int tiff_values_take(struct source *s, struct tiff_file *h, int i);
/* A number of a text of this name. */
int tiff_read_number(const struct source *s, const char *name, const char *text, double *out);
/* Then: what files next to it say. */
int tiff_beside_take(struct source *s, struct tiff_file *h);
/* Then, of all pages: the missing value and the packing, as values are read. */
int tiff_values_settle(struct source *s, struct tiff_file *h);
int tiff_stack_take(struct source *s, struct tiff_file *h, int i);
/* Puts the pages in the order of their axes, which pixels_open takes. */
int tiff_stack_settle(struct source *s, struct tiff_file *h);
/* Whether the tags at hand say a place. */
bool tiff_has_place(TIFF *f);
/* After pixels_open: names the axes of a place. */
void tiff_place_name(struct source *s);
void tiff_place_coordinates(struct source *s, int i, struct arena *a, struct axis *out);
/* After pixels_open: finds a mask, in the file or next to it. */
int tiff_mask_open(struct source *s);
int tiff_mask_read(struct source *s, const int64_t *start, const int64_t *count, uint8_t *valid);

#endif
#endif
