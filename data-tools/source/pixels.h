/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the formats of pictures share: which values are in memory. A small picture is decoded when
 * it is opened; of a large one the rows that are asked for are, in their order. */
#ifndef DLX_DATA_TOOLS_PIXELS_H
#define DLX_DATA_TOOLS_PIXELS_H

#include "data-tools/source/source.h"

#define PIXELS_KEPT ((int64_t)64 << 20)       /* bytes of decoded values in memory, about */

enum { PIXELS_PAGE, PIXELS_ROW, PIXELS_COLUMN, PIXELS_CHANNEL, PIXELS_AXES };

/* One axis of pages, of which several make one list, the first running slowest. */
struct pixels_axis {
	const char *name;                          /* NULL: none */
	int64_t n;
	char kind;                                 /* as in struct source */
};

/* The first member of a format's handle. */
struct pixels {
	int npages;                                /* axes of more than one page; set by the format */
	struct pixels_axis page[MAXD];
	/* n rows from `first` on, where the pages are one below the other. Set by the format. */
	int (*decode)(struct source *s, int64_t first, int64_t n, uint8_t *out);
	int64_t extent[PIXELS_AXES];              /* the channels as they are decoded */
	bool opaque;                               /* and the last of them is left out */
	uint8_t *box;                              /* decoded values, without that channel */
	size_t room;
	int64_t start[PIXELS_AXES], count[PIXELS_AXES];      /* of the box; no page: nothing */
};

/* With s->dtype: takes the shape and the names of axes, those of pages, height and width, with
 * several channels these last, and decodes a small picture. A last channel of
 * transparency (alpha) is left out if it is opaque everywhere, for which a large picture is decoded
 * too. whole: the rows have no order, so that a large picture is in memory as a small one is. */
int pixels_open(struct source *s, const int64_t *extent, bool alpha, bool whole);
void pixels_release(struct pixels *p);
/* Those of struct source_format. */
int pixels_read(struct source *s, int64_t first, int64_t n, void *out);
int pixels_read_box(struct source *s, const int64_t *start, const int64_t *count, void *out);

#endif
