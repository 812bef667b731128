/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC11). The value is a
 * pure function of (seed, stream, step, index), so results never depend on rank, thread or order.
 * stream names the consumer: hash_name("dropout/3"). */
#ifndef DLX_BASE_RNG_H
#define DLX_BASE_RNG_H

#include <stdint.h>

void rng_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t out[4]);
/* Four 32-bit words for block `block` of (seed, stream, step). Words 4*block .. 4*block+3. */
void rng_block(uint64_t seed, uint64_t stream, uint64_t step, uint64_t block, uint32_t out[4]);
/* The words of n blocks from `block` on, many at a time: out holds 4 * n. */
void rng_blocks(uint64_t seed, uint64_t stream, uint64_t step, uint64_t block, int n,
                uint32_t *out);
uint32_t rng_u32(uint64_t seed, uint64_t stream, uint64_t step, uint64_t index);
double rng_uniform(uint64_t seed, uint64_t stream, uint64_t step, uint64_t index);  /* [0, 1) */
/* Mean 0, variance 1. */
double rng_normal(uint64_t seed, uint64_t stream, uint64_t step, uint64_t index);
/* The values of the indices first..first+n-1, many at a time; first is even. */
void rng_uniforms(uint64_t seed, uint64_t stream, uint64_t step, int64_t first, int64_t n,
                  double *out);
void rng_normals(uint64_t seed, uint64_t stream, uint64_t step, int64_t first, int64_t n,
                 double *out);
/* A permutation of 0..n-1 in out, by (seed, stream, step). */
void rng_permutation(uint64_t seed, uint64_t stream, uint64_t step, int64_t n, int64_t *out);

#endif
