/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The noise of a dose: electrons arrive one by one, and a pixel counts a Poisson number of them. */
#ifndef DLX_DATA_TOOLS_STEM_DOSE_H
#define DLX_DATA_TOOLS_STEM_DOSE_H

#include <stdint.h>

/* Electrons counted where `mean` (0 to 1e15) are expected: a function of seed and numbers alone. */
double dose_count(double mean, uint64_t seed, uint64_t sample, uint64_t pixel);

#endif
