/* SPDX-License-Identifier: BSD-3-Clause
 *
 * SipHash-2-4 with a result of 64 bits (Aumasson and Bernstein 2012). Task Bench derives its random
 * edges and its imbalance from it, so that every implementation runs the same graph. */
#ifndef DLX_BENCH_SIPHASH_H
#define DLX_BENCH_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t siphash(const void *p, size_t n, const uint8_t key[16]);
/* A number in [0, 1] that depends on n integers, with Task Bench's key. */
double siphash_uniform(const int64_t *v, int n);

#endif
