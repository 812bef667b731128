/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rates that the processor can reach, measured. */
#ifndef DLX_BACKEND_DNN_CPU_H
#define DLX_BACKEND_DNN_CPU_H

/* float32 flop/s of a matrix multiplication that fits in
 * the cache, all threads; takes about 50 ms. */
double cpu_measure_peak(void);
/* flop/s of the instruction that multiplies pairs of bfloat16,
 * all threads; 0 where there is none. About 20 ms. */
double cpu_measure_peak_bf16(void);
/* Bytes a second of reading two arrays and writing a third that do not fit in the caches, all
 * threads; about 50 ms. */
double cpu_measure_bandwidth(void);

#endif
