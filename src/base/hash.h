/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Hashes for integrity and identity (XXH3 of libxxhash; not for security). */
#ifndef DLX_BASE_HASH_H
#define DLX_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *p, size_t n, uint64_t seed);   /* XXH3 64 */
uint64_t hash_name(const char *s);                             /* of a C string, seed 0 */

/* 128 bits: an address of content, for which 64 are too few. */
struct hash128 {
	uint64_t high, low;
};
struct hash128 hash128_bytes(const void *p, size_t n);         /* XXH3 128 */
#define HASH128_TEXT 33                  /* 32 hexadecimal digits and the NUL */
const char *hash128_text(struct hash128 h, char text[HASH128_TEXT]);   /* returns text */
/* false: text does not begin with 32 lower-case hexadecimal digits */
bool hash128_parse(const char *text, struct hash128 *out);
bool hash128_equal(struct hash128 a, struct hash128 b);
int hash128_order(struct hash128 a, struct hash128 b);         /* as strcmp of their texts */

/* A running hash. The result equals hash_bytes of the concatenation, seed 0. */
struct hash_state;
struct hash_state *hash_new(void);
void hash_begin(struct hash_state *h);                         /* from the start, again */
void hash_update(struct hash_state *h, const void *p, size_t n);
uint64_t hash_value(const struct hash_state *h);
void hash_free(struct hash_state *h);

#endif
