/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pictures: a PNG writer and the colours that maps of fields and classes are drawn in, the same
 * in every tool. */
#ifndef DLX_REPORT_PNG_H
#define DLX_REPORT_PNG_H

#include <stddef.h>
#include <stdint.h>

struct buf;

/* height rows of width RGB pixels, top row first, as a PNG file, whole or not at all.
 * E_CANTCREATE, E_IO; E_DATA beyond 2^31 pixels. */
int png_write_rgb(const char *path, int64_t width, int64_t height, const uint8_t *pixels);

/* Appends the bytes of such a file. E_DATA, E_IO. */
int png_encode_rgb(struct buf *out, int64_t width, int64_t height, const uint8_t *pixels);

/* v in 0..1 (clipped) on a scale from dark violet over green to light yellow whose lightness
 * rises evenly, so that equal steps look equal, also in grey or to the colour-blind. NaN is
 * colour_missing. */
void colour_field(double v, uint8_t rgb[3]);
/* v in -1..1 (clipped): blue below 0, red above, the darker the farther from 0, which is white. */
void colour_signed(double v, uint8_t rgb[3]);
/* A colour for each class number, neighbours far apart; the same number always has the same
 * colour. */
void colour_class(int64_t label, uint8_t rgb[3]);
/* Grey: ignored labels, missing points. */
extern const uint8_t colour_missing[3];

#endif
