/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Timing on the GPU: engines of cuDNN during planning, and the rates of a profile. */
#ifndef DLX_BACKEND_CUDA_CUDA_TIME_H
#define DLX_BACKEND_CUDA_CUDA_TIME_H

#include <stddef.h>

/* A candidate whose first run takes more than this multiple of the best time so far is not run
 * again. */
#define CUDA_TIME_MUCH 3.0

/* Uninitialised GPU memory for a trial; E_NOMEM if there is none. */
int cuda_scratch(void **out, size_t bytes);
void cuda_scratch_free(void *p);                 /* NULL is fine */
/* *us: the time of the work that enqueue puts on the stream, in microseconds: the minimum of
 * several runs after a warm-up. much: if the first run takes longer than this many microseconds, it
 * is the only one; 0: no limit. */
int cuda_time(void *stream, int (*enqueue)(void *user), void *user, double much, double *us);

#endif
