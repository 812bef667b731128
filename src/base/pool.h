/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A fixed set of background threads that run jobs in the order given: sample decoding,
 * checkpoint writing. Not for compute: kernels use OpenMP.
 *
 * All calls are for the owner's thread unless said otherwise. */
#ifndef DLX_BASE_POOL_H
#define DLX_BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool;

/* nthreads >= 1 threads and room for `queue` waiting jobs. Threads take no signals. NULL with
 * an error record if a thread cannot be started. */
struct pool *pool_new(int nthreads, int queue);
/* Finishes every job given, then ends the threads. NULL is fine. */
void pool_free(struct pool *p);
/* Blocks while the queue is full. run(arg) is called on one of the threads; arg must live until
 * then. May be called from any thread except one of the pool's own. */
void pool_add(struct pool *p, void (*run)(void *arg), void *arg);
/* n jobs, whose arguments are those of `size` bytes from args on: cheaper than one by one. */
void pool_add_all(struct pool *p, void (*run)(void *arg), void *args, size_t size, int64_t n);
/* Like pool_add, but only if a thread of the pool is idle; otherwise returns false. Never blocks;
 * any thread may call it. */
bool pool_offer(struct pool *p, void (*run)(void *arg), void *arg);
/* Blocks until every job given so far has run. */
void pool_wait(struct pool *p);

#endif
