/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Timing on the GPU while a run is planned. */
#ifndef DLX_BACKEND_CUDA_MEASURE_H
#define DLX_BACKEND_CUDA_MEASURE_H

#include <stddef.h>

/* Memory of the GPU for a trial; E_NOMEM if there is none. */
int cuda_scratch(void **out, size_t bytes);
void cuda_scratch_free(void *p);                 /* NULL is fine */
/* The time in microseconds of what `enqueue` puts on the stream: the best of some trials after one that counts for nothing. */
int cuda_measure(void *stream, int (*enqueue)(void *user), void *user, double *us);

#endif
