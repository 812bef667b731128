/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The shot noise of a finite electron dose: the count of a pixel is Poisson distributed. */
#ifndef DLX_DATA_TOOLS_STEM_DOSE_H
#define DLX_DATA_TOOLS_STEM_DOSE_H

#include <stdint.h>

/* A Poisson number with this mean (0 to 1e15), as a function of seed, sample and pixel. */
double dose_count(double mean, uint64_t seed, uint64_t sample, uint64_t pixel);

#endif
