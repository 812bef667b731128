/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gradient of a convolution to its input, computed a band at a time, so that what is done with
 * it needs room for a band only. A band is some samples, or some rows of one: of the first spatial
 * axis, so that it is contiguous in tensors stored channels-last. All bands are one problem of one
 * size, for which one engine is chosen. Rows at a band's border, to which dy outside the band
 * contributes, are computed and left out: another band has them. */
#ifndef DLX_OP_CONV_CONV_BANDS_H
#define DLX_OP_CONV_CONV_BANDS_H

#include <stdbool.h>

#include "backend/dnn/conv_geom.h"

struct conv_bands {
	struct conv_geom geom;       /* of a band */
	int count;
	bool rows;                   /* of a sample; else samples */
	int per_sample;              /* bands of a sample; 1 where a band is samples */
	int64_t total, each, top;    /* samples, or rows of a sample: all; those that a band is for;
	                              * rows above these that it computes, too */
	int64_t dx_row, dy_row;      /* pixels of a row; of a sample where a band is samples */
	int64_t dx_sample, dy_sample;        /* pixels of a sample */
	int64_t made;                /* pixels of dx that are made with a band */
};
/* In about `want` bands, or fewer if g cannot be split so: rows are split with stride 1 only. A
 * single band is g. */
void conv_bands_init(struct conv_bands *b, const struct conv_geom *g, int want);

/* Where band i is, in pixels. */
struct conv_band {
	int64_t dy;                  /* the first of dy that it reads */
	int64_t skipped;             /* how many it makes before those that it is for */
	int64_t dx, count;           /* where those are in dx, and how many they are */
};
struct conv_band conv_band_at(const struct conv_bands *b, int i);

#endif
