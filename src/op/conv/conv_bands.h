/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Computes the gradient of a convolution to its input band by band, so that its consumer needs
 * memory for one band only. A band is a number of samples, or of rows of one sample along the first
 * spatial axis, so that it is contiguous in a channels-last tensor. All bands are problems of one
 * size, for which one engine is chosen. A band also computes the rows at its border that need dy
 * outside the band; these incomplete rows are discarded, as another band computes them, too. */
#ifndef DLX_OP_CONV_CONV_BANDS_H
#define DLX_OP_CONV_CONV_BANDS_H

#include <stdbool.h>

#include "backend/dnn/conv_geom.h"

struct conv_bands {
	struct conv_geom geom;       /* geometry of one band */
	int count;
	bool rows;                   /* a band is rows of a sample; false: it is samples */
	int per_sample;              /* bands of a sample; 1 if a band is samples */
	int64_t total, each, top;    /* in units of samples or rows of a sample: total: all; each: those
	                              * that a band contributes; top: incomplete rows that it computes
	                              * above these */
	int64_t dx_row, dy_row;      /* pixels of a row; if a band is samples, of a sample */
	int64_t dx_sample, dy_sample;        /* pixels of a sample */
	int64_t made;                /* pixels of dx that a band computes */
};
/* Divides g into about `want` bands, or fewer if g cannot be divided so: rows need stride 1. A
 * single band equals g. */
void conv_bands_init(struct conv_bands *b, const struct conv_geom *g, int want);

/* The position of band i. All members count pixels. */
struct conv_band {
	int64_t dy;                  /* first pixel of dy that the band reads */
	int64_t skipped;             /* pixels that it computes before those that it contributes */
	int64_t dx, count;           /* first pixel of dx that it contributes, and their number */
};
struct conv_band conv_band_at(const struct conv_bands *b, int i);

#endif
