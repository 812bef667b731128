/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Timing on the GPU: engines of cuDNN during planning, and the rates of a profile. */
#ifndef DLX_BACKEND_CUDA_CUDA_TIME_H
#define DLX_BACKEND_CUDA_CUDA_TIME_H

#include <stddef.h>

/* What a first run takes at most to be worth more runs, in times of the best so far. */
#define CUDA_TIME_MUCH 3.0

/* Memory of the GPU for a trial, which may hold anything; E_NOMEM if there is none. */
int cuda_scratch(void **out, size_t bytes);
void cuda_scratch_free(void *p);                 /* NULL is fine */
/* The time in microseconds of what `enqueue` puts on the
 * stream: the best of several trials after a warm-up. much: after one run
 * that takes longer than that there is no other one; 0: no limit. */
int cuda_time(void *stream, int (*enqueue)(void *user), void *user, double much, double *us);

#endif
