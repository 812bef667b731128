/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hashes for integrity and identity (XXH3 of libxxhash; not for security). */
#ifndef DLX_BASE_HASH_H
#define DLX_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);   /* XXH3 64 */
uint64_t hash_name(const char *s);                             /* of a C string, seed 0 */

/* A running hash. The result equals hash_bytes of the concatenation, seed 0. */
struct hash_state;
struct hash_state *hash_new(void);
/* From the start, with a seed: the result is that of hash_bytes with it. */
void hash_begin(struct hash_state *h, uint64_t seed);
void hash_update(struct hash_state *h, const void *p, size_t n);
uint64_t hash_value(const struct hash_state *h);
void hash_free(struct hash_state *h);

#endif
