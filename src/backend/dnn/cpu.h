/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rates that the processor can reach, measured. */
#ifndef DLX_BACKEND_DNN_CPU_H
#define DLX_BACKEND_DNN_CPU_H

#include "base/types.h"

/* float32 flop/s of a matrix multiplication that fits in
 * the cache, all threads; takes about 50 ms. */
double cpu_measure_peak(void);
/* flop/s of a convolution in bfloat16 by the unit that oneDNN takes for it (AMX, or dot products),
 * all of this many threads; 0 where that is emulated. About 50 ms. */
double cpu_measure_peak_bf16(int threads);
/* The same by one thread, in F32 or BF16. */
double cpu_measure_core(enum dtype type);
/* Bytes a second of reading two arrays and writing a third that do not fit in the caches, all
 * threads; about 50 ms. */
double cpu_measure_bandwidth(void);

#endif
