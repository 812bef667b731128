/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ratio of a processor's bfloat16 speed to its float32 speed, for products. Algorithms and
 * types are chosen by it, so it must not vary from run to run as a measurement does. Therefore the
 * ratio is rounded to a power of two (the class), measured once and stored in a file
 * (base/cache_dir.h) that is valid for this processor model, version of oneDNN and instruction set.
 * It is measured on one core, so that runs with any number of threads or ranks make the same
 * choice. */
#ifndef DLX_BACKEND_BF16_RATIO_H
#define DLX_BACKEND_BF16_RATIO_H

#include "backend/device.h"

struct bf16_ratio {
	double class;            /* 1/2, 1, 2, 4 or 8; 0: bfloat16 is not native, or not measured */
	double f32, bf16;        /* measured flop/s in either type; 0: not known */
	bool core;               /* f32 and bf16 were measured on one core */
};

/* The ratio of the CPU d, from the file, or measured (about 200 ms) if the file does not have it.
 * All members are zero for other devices. */
struct bf16_ratio bf16_ratio_find(const struct device *d);
/* The same for a processor with this description, with `measure` in place of the measurement; for
 * tests. */
struct bf16_ratio bf16_ratio_keep(const char *processor, double (*measure)(enum dtype));
/* The class for these two rates in flop/s; 0 if one of them is 0 (not known). */
double bf16_ratio_class(double f32, double bf16);

#endif
