/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the raw bytes of a chunk go: to strips of its array, a piece at a time, each hashed while
 * it is in the processor's cache. */
#ifndef DLX_DATA_RECORD_SINK_H
#define DLX_DATA_RECORD_SINK_H

#include <stddef.h>
#include <stdint.h>

struct hash_state;

struct record_sink {
	uint8_t *out;
	size_t strip, stride;          /* bytes of a strip, and from one to the next */
	struct hash_state *hash;       /* of all that went there; NULL: is not wanted */
	size_t at;                     /* bytes that did */
};

/* Where the next bytes go, and in *n how many: as many as it says, or fewer, but one at least. */
uint8_t *record_sink_next(const struct record_sink *s, size_t *n);
/* n bytes are there. */
void record_sink_done(struct record_sink *s, size_t n);

#endif
