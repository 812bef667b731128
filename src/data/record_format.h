/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Encoding and decoding of the fixed parts of a record file; private to its writer and reader.
 * record.h has the layout. */
#ifndef DLX_DATA_RECORD_FORMAT_H
#define DLX_DATA_RECORD_FORMAT_H

#include "data/record.h"

#define PREAMBLE_BYTES 16
#define RECORD_MAGIC "DLXREC\r\n"
#define RECORD_END_MAGIC "DLXEND\r\n"
#define MAGIC_BYTES 8

#define CHUNK_BYTES 40
#define SAMPLE_BYTES 32
#define FOOTER_BYTES 72
#define FOOTER_HASHED 56      /* bytes of the footer before its own hash */

struct record_row {              /* an entry of the table of samples */
	uint64_t first;              /* number of the sample's first entry in the index */
	uint64_t key, group;         /* byte offsets in the texts; 0: none */
	uint64_t size;
};

struct record_footer {
	uint64_t description, texts, table, index, samples, chunks, size, hash;
};

uint64_t get_u64(const uint8_t *p);
void put_u64(uint8_t *p, uint64_t v);
void record_preamble(uint8_t out[PREAMBLE_BYTES]);
void record_row_put(uint8_t out[SAMPLE_BYTES], const struct record_row *s);
void record_row_read(const uint8_t in[SAMPLE_BYTES], struct record_row *s);
/* The codec is not checked here. */
void record_chunk_put(uint8_t out[CHUNK_BYTES], const struct record_chunk *c);
void record_chunk_read(const uint8_t in[CHUNK_BYTES], struct record_chunk *c);
void record_footer_put(uint8_t out[FOOTER_BYTES], const struct record_footer *f);
void record_footer_read(const uint8_t in[FOOTER_BYTES], struct record_footer *f);
/* tail: the n bytes between the samples and the footer. */
uint64_t record_footer_hash(const uint8_t preamble[PREAMBLE_BYTES], const void *tail, size_t n,
                            const uint8_t footer[FOOTER_BYTES]);
/* The hash of a chunk's stored bytes; 0 for RECORD_RAW, which needs none. Different stored bytes
 * can decode to the same values (a match at another distance), so this hash is needed to detect
 * every flipped bit. */
uint64_t record_hash_stored(const struct record_chunk *c, const void *stored);
/* The hash of chunk `chunk` of an array of a sample. content: the hash of its raw bytes, seed 0;
 * stored: record_hash_stored. */
uint64_t record_chunk_hash(int64_t sample, int array, int64_t chunk, uint64_t content,
                           uint64_t stored);

#endif
