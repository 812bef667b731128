/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the pages of a TIFF file, which must be of one kind, with libtiff. The tags about values
 * are read in tiff_values.c, those about pages in tiff_stack.c, about the geographic place in
 * tiff_place.c, and about missing points in tiff_mask.c. tiff_beside.c reads companion files in the
 * same folder. */
#ifndef DLX_DATA_TOOLS_TIFF_FILE_H
#define DLX_DATA_TOOLS_TIFF_FILE_H

#include "config.h"

#ifdef HAVE_TIFF
#include <tiffio.h>

#include "base/io_reader.h"
#include "data-tools/source/pixels.h"

#define TIFF_PAGES_MOST 65000

/* Tags that libtiff does not define. */
enum {
	TIFF_PIXEL_SCALE = 33550,
	TIFF_UIC2 = 33629,           /* MetaMorph's stacks: its count is the number of planes */
	TIFF_TIEPOINT = 33922,
	TIFF_TRANSFORMATION = 34264,
	TIFF_GEO_KEYS = 34735,
	TIFF_GDAL_METADATA = 42112,
	TIFF_GDAL_NODATA = 42113,
};

/* The properties of a page that must be the same on all pages. */
struct tiff_page {
	uint32_t width, height;
	uint16_t channels, bits, kind, planar, photometric, compression;
	bool alpha;                  /* the last channel is transparency */
};

/* The storage of a page's values: in blocks, which are strips or tiles. */
struct tiff_blocks {
	bool tiled, stored;          /* stored: values are uncompressed, in either byte order */
	int planes;                  /* number of colour planes; 1: channels are interleaved */
	uint32_t wide, high;         /* width and height of a block in pixels */
	int64_t row, bytes;          /* bytes of a block's row; bytes that are decoded or read at a
	                              * time */
	int64_t band;                /* rows that need the same blocks, limited to the number that is
	                              * kept in memory */
};

/* The position of a page: its values begin `after` bytes past the beginning of the directory's
 * values. */
struct tiff_at {
	tdir_t directory;
	uint64_t after;
};

/* The axes that pages form (tiff_stack.c). */
#define TIFF_AXES_MOST 6
struct tiff_axis {
	const char *name;            /* name of the axis; NULL: not known */
	int64_t n, step;             /* extent; number of pages from one element to the next */
};
struct tiff_stack {
	const char *by;              /* program whose description gives the axes; NULL: there is none */
	int naxes;                   /* number of axes, of which the first varies slowest */
	struct tiff_axis axis[TIFF_AXES_MOST];
	int64_t said;                /* number of pages according to the description */
	int series;                  /* number of series in the description */
	int64_t *place;              /* OME: the directory of each page; NULL: pages are in the order of
	                              * directories */
};

/* Values of the model key in a GeoTIFF file. */
enum { TIFF_PROJECTED = 1, TIFF_GEOGRAPHIC = 2 };

/* The geographic place according to companion files (tiff_beside.c). */
struct tiff_beside {
	bool has_place;
	double place[6];             /* of the upper left corner of (column, row): [0] + column * [1] +
	                              * row * [2], and the same of y */
	bool has_system;
	int model, epsg;             /* 0: not known */
	const char *unit;            /* unit of the projection, or NULL */
};

/* A source's handle. */
struct tiff_file {
	struct pixels pixels;
	TIFF *file;
	struct io_reader bytes;      /* reader of the file's bytes; opened on first use */
	bool masks;                  /* the pages read are masks of other pages */
	struct tiff_page page;
	int npages, nmasks;          /* nmasks: directories that are masks of pages */
	struct tiff_at *at;
	int64_t channels;            /* number of channels of a page after reading */
	uint8_t *colours;            /* palette, 3 values for each number; NULL: numbers are not
	                              * replaced by colours */
	double slope, base;          /* a value as it is read = slope * stored + base */
	struct packing *packing;     /* packing of each stored channel; NULL: none is given */
	char *nodata;
	struct tiff_beside beside;
	struct tiff_stack stack;
	struct source *mask;         /* the mask of missing points; NULL: none */
	int64_t directory;           /* directory whose tags libtiff has loaded; -1: not known */
	int now;                     /* page whose layout is in `blocks`; -1: none */
	struct tiff_blocks blocks;   /* blocks of page `now` */
	int plane;                   /* colour plane of row `next`, which continues a strip; next -1:
	                              * none does */
	int64_t next;
	uint8_t *block, *bytewise;   /* decoded data of a block; the same with a byte for each value */
	uint8_t *band;               /* decoded rows of page band_page */
	int64_t band_room;
	int band_page;               /* -1: none */
	int64_t band_at;
};

/* Raises the error `what` with libtiff's last message. */
int tiff_bad(const struct source *s, const char *what);
/* Opens the file, and finds its pages and their properties. */
int tiff_open(struct source *s, struct tiff_file *h);
void tiff_release(struct tiff_file *h);
int64_t tiff_row_bytes(const struct source *s, const struct tiff_file *h);
/* Makes page i the one that is read. */
int tiff_turn_to(const struct source *s, struct tiff_file *h, int i);
/* The `decode` of struct pixels (tiff_rows.c). */
int tiff_decode(struct source *s, int64_t first, int64_t n, uint8_t *out);

/* --- what the tags say --- */

/* Reads the tags about values in the current directory, which is page i. */
int tiff_values_take(struct source *s, struct tiff_file *h, int i);
/* Parses a number in a text, which errors call `name`. */
int tiff_read_number(const struct source *s, const char *name, const char *text, double *out);
/* Call it next: reads companion files. */
int tiff_beside_take(struct source *s, struct tiff_file *h);
/* Call it next, for all pages together: sets the missing value and the packing for the values as
 * they are read. */
int tiff_values_settle(struct source *s, struct tiff_file *h);
int tiff_stack_take(struct source *s, struct tiff_file *h, int i);
/* Sorts the pages by their axes, and sets the axes for pixels_open. */
int tiff_stack_settle(struct source *s, struct tiff_file *h);
/* Whether the current directory has tags of a geographic place. */
bool tiff_has_place(TIFF *f);
/* Names the axes of a picture with a geographic place. Call it after pixels_open. */
void tiff_place_name(struct source *s);
void tiff_place_coordinates(struct source *s, int i, struct arena *a, struct axis *out);
/* Finds a mask, in the file or in a companion file. Call it after pixels_open. */
int tiff_mask_open(struct source *s);
int tiff_mask_read(struct source *s, const int64_t *start, const int64_t *count, uint8_t *valid);

#endif
#endif
