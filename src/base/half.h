/* SPDX-License-Identifier: BSD-3-Clause
 *
 * float16 and bfloat16 <-> float32, round to nearest even; NaN stays NaN, overflow becomes
 * infinity. */
#ifndef DLX_BASE_HALF_H
#define DLX_BASE_HALF_H

#include <stdint.h>

float half_to_float(uint16_t h);
uint16_t half_from_float(float f);
float bfloat_to_float(uint16_t b);
uint16_t bfloat_from_float(float f);

/* The same for n of them, vectorised. */
void bfloat_to_floats(float *dst, const uint16_t *src, int64_t n);
void bfloat_from_floats(uint16_t *dst, const float *src, int64_t n);
void half_to_floats(float *dst, const uint16_t *src, int64_t n);
void half_from_floats(uint16_t *dst, const float *src, int64_t n);

#endif
