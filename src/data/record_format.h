/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fixed parts of a record file as bytes; private to its writer and reader. See record.h for
 * the drawing. */
#ifndef DLX_DATA_RECORD_FORMAT_H
#define DLX_DATA_RECORD_FORMAT_H

#include "data/record.h"

#define PREAMBLE_BYTES 16
#define ENTRY_BYTES 40
#define FOOTER_BYTES 48
#define FOOTER_HASHED 32      /* of the footer, before its own hash */
#define RECORD_MAGIC "DLXREC\r\n"
#define RECORD_END_MAGIC "DLXEND\r\n"
#define MAGIC_BYTES 8

struct record_footer {
	uint64_t description, index, samples, size, hash;
};

uint64_t get_u64(const uint8_t *p);
void record_preamble(uint8_t out[PREAMBLE_BYTES]);
void record_entry_put(uint8_t out[ENTRY_BYTES], const struct record_entry *e);
void record_entry_read(const uint8_t in[ENTRY_BYTES], struct record_entry *e);
void record_footer_put(uint8_t out[FOOTER_BYTES], const struct record_footer *f);
void record_footer_read(const uint8_t in[FOOTER_BYTES], struct record_footer *f);
/* tail: the n bytes of description and index. */
uint64_t record_footer_hash(const uint8_t preamble[PREAMBLE_BYTES], const void *tail, size_t n,
                            const uint8_t footer[FOOTER_BYTES]);

#endif
