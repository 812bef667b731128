/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common part of the readers of pictures: a buffer of decoded values. A small picture is
 * decoded when it is opened. Of a large one only the requested rows are decoded, in order. */
#ifndef DLX_DATA_TOOLS_PIXELS_H
#define DLX_DATA_TOOLS_PIXELS_H

#include "data-tools/source/source.h"

#define PIXELS_KEPT ((int64_t)64 << 20)       /* approximate bytes of decoded values to keep in
                                               * memory */

enum { PIXELS_PAGE, PIXELS_ROW, PIXELS_COLUMN, PIXELS_CHANNEL, PIXELS_AXES };

/* An axis that counts pages. If there are several, pages are listed with the first axis varying
 * slowest. */
struct pixels_axis {
	const char *name;                          /* NULL: none */
	int64_t n;
	char kind;                                 /* kind of the axis, as in struct source */
};

/* The first member of a format's handle. */
struct pixels {
	int npages;                                /* number of axes in `page`; set by the format */
	struct pixels_axis page[MAXD];
	/* Decodes n rows from row `first` on, counted over all pages. Set by the format. */
	int (*decode)(struct source *s, int64_t first, int64_t n, uint8_t *out);
	int64_t extent[PIXELS_AXES];              /* extents of the decoded picture */
	bool opaque;                               /* the last channel, transparency, is opaque
	                                            * everywhere and is left out */
	uint8_t *box;                              /* decoded values, without that channel */
	size_t room;
	int64_t start[PIXELS_AXES], count[PIXELS_AXES];      /* position and extents of the box in
	                                                      * memory; count[PIXELS_PAGE] 0: it is
	                                                      * empty */
};

/* Sets the source's shape and names of axes: pages, height, width and, if there are several,
 * channels. Decodes a small picture. s->dtype must be set. alpha: the last channel is transparency,
 * which is left out if it is opaque everywhere; to find this, a large picture is decoded once.
 * whole: rows cannot be decoded in order, so even a large picture is kept in memory. */
int pixels_open(struct source *s, const int64_t *extent, bool alpha, bool whole);
void pixels_release(struct pixels *p);
/* The functions of the same names in struct source_format. */
int pixels_read(struct source *s, int64_t first, int64_t n, void *out);
int pixels_read_box(struct source *s, const int64_t *start, const int64_t *count, void *out);

#endif
