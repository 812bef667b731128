/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Splits elements of several bytes into byte planes: plane k has byte k of every element. */
#ifndef DLX_DATA_RECORD_PLANES_H
#define DLX_DATA_RECORD_PLANES_H

#include <stddef.h>
#include <stdint.h>

#define PLANES_MOST 8            /* most bytes of an element */

/* Converts n elements of `width` bytes (2, 4 or 8) to `width` consecutive planes of n bytes, and
 * back. */
void planes_split(uint8_t *planes, const uint8_t *raw, size_t n, size_t width);
void planes_merge(uint8_t *raw, const uint8_t *const plane[PLANES_MOST], size_t n, size_t width);

#endif
