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

#endif
