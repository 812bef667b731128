/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much faster a processor multiplies in bfloat16 than in float32. Algorithms and types are
 * chosen by it, and a measurement varies from run to run; so it is a class, a power of two that few
 * measurements are near the border of, and it is measured once and kept (base/cache_dir.h) for
 * all runs on processors of this name, with this version of oneDNN and these instructions. It is
 * that of one core: runs with other numbers of threads or ranks choose the same. */
#ifndef DLX_BACKEND_BF16_RATIO_H
#define DLX_BACKEND_BF16_RATIO_H

#include "backend/device.h"

struct bf16_ratio {
	double class;            /* 1/2, 1, 2, 4 or 8; 0: bfloat16 is not native, or not measured */
	double f32, bf16;        /* flop/s that it follows from; 0: not known */
	bool core;               /* those are of one core */
};

/* Of a CPU; takes about 200 ms where nothing is kept, which is no failure. Zeros for any other
 * device. */
struct bf16_ratio bf16_ratio_find(const struct device *d);
/* The same of a processor with this description, whose rates these are; for tests. */
struct bf16_ratio bf16_ratio_keep(const char *processor, double (*measure)(enum dtype));
/* The class of these rates; 0 if one of them is not known. */
double bf16_ratio_class(double f32, double bf16);

#endif
