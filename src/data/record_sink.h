/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the raw bytes of a chunk are written: to strips of its array, a piece at a time, each
 * hashed while it is in the processor's cache; or to a taker (record.h), which processes each
 * piece. */
#ifndef DLX_DATA_RECORD_SINK_H
#define DLX_DATA_RECORD_SINK_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_SINK_PIECE ((size_t)128 << 10)    /* bytes of a piece; a core's cache holds
                                                  * several */

struct hash_state;
struct record_taker;

struct record_sink {
	uint8_t *out;                  /* the array; with a taker, memory for a piece */
	size_t from;                   /* byte of the array where the first strip begins */
	size_t strip, stride;          /* bytes of a strip, and bytes from one strip to the next */
	struct hash_state *hash;       /* hash of all bytes written; NULL: not needed */
	size_t at;                     /* number of bytes written */
	const struct record_taker *taker;   /* receives the pieces; NULL: they stay in the array */
	size_t width;                  /* bytes of an element; for a taker */
};

/* Where to write the next bytes. *n: the number of bytes wanted; reduced to the room there is, at
 * least one. */
uint8_t *record_sink_next(const struct record_sink *s, size_t *n);
/* Reports that n bytes were written to the address from record_sink_next. */
void record_sink_done(struct record_sink *s, size_t n);
/* Writes n bytes from other memory. */
void record_sink_put(struct record_sink *s, const uint8_t *from, size_t n);

#endif
