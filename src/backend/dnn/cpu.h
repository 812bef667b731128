/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the peak rates of the CPU. */
#ifndef DLX_BACKEND_DNN_CPU_H
#define DLX_BACKEND_DNN_CPU_H

#include "base/types.h"

/* float32 flop/s of a matrix multiplication that fits in
 * the cache, all threads; takes about 50 ms. */
double cpu_measure_peak(void);
/* flop/s of a bfloat16 convolution by oneDNN with this many threads (by AMX or dot-product
 * instructions); 0 if the processor has neither. Takes about 50 ms. */
double cpu_measure_peak_bf16(int threads);
/* The same by one thread, in F32 or BF16. */
double cpu_measure_core(enum dtype type);
/* Memory bandwidth in bytes/s: all threads read two arrays and write a third, none of which fits in
 * the caches. Takes about 50 ms. */
double cpu_measure_bandwidth(void);

#endif
