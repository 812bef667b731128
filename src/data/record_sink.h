/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the raw bytes of a chunk go: to strips of its array, a piece at a time, each hashed while
 * it is in the processor's cache; or to a taker, which makes of each piece what it wants. */
#ifndef DLX_DATA_RECORD_SINK_H
#define DLX_DATA_RECORD_SINK_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_SINK_PIECE ((size_t)128 << 10)    /* bytes, of which a core's cache has several */

struct hash_state;
struct record_taker;

struct record_sink {
	uint8_t *out;                  /* the array, or for a taker room for a piece */
	size_t from;                   /* byte of the array where the first strip begins */
	size_t strip, stride;          /* bytes of a strip, and from one to the next */
	struct hash_state *hash;       /* of all that went there; NULL: is not wanted */
	size_t at;                     /* bytes that did */
	const struct record_taker *taker;   /* NULL: they stay in the array */
	size_t width;                  /* bytes of an element; for a taker */
};

/* Where the next bytes go, and in *n how many: as many as it says, or fewer, but one at least. */
uint8_t *record_sink_next(const struct record_sink *s, size_t *n);
/* n bytes are there. */
void record_sink_done(struct record_sink *s, size_t n);
/* The same of n bytes that are elsewhere, in a row. */
void record_sink_put(struct record_sink *s, const uint8_t *from, size_t n);

#endif
