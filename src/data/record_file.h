/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An open record file; private to its reader. */
#ifndef DLX_DATA_RECORD_FILE_H
#define DLX_DATA_RECORD_FILE_H

#include "base/arena.h"
#include "base/io_reader.h"
#include "data/record_codec.h"
#include "data/record_format.h"

struct record {
	struct arena *a;
	struct io_reader file;         /* zeroed for record_parse */
	const uint8_t *image;          /* image of record_parse, else NULL */
	const struct record_source *source;   /* of chunks; NULL: the file */
	const char *head;              /* known bytes of the file while it is opened: see
	                                * record_heads.h; NULL: none */
	const char *path;
	uint64_t size;
	uint8_t preamble[PREAMBLE_BYTES];
	uint8_t *tail;                 /* all that follows the samples, in memory */
	uint64_t largest;              /* stored bytes of the largest chunk that has to be decoded */
	uint64_t largest_planes;       /* raw bytes of the largest chunk that may be decoded in two
	                                * steps */
	struct record_footer footer;
	struct record_info info;
};

struct record_decoder {
	bool fresh;                    /* the last bytes from the source were damaged */
	struct codec_reader codec;
	struct hash_state *hash;
	uint8_t *piece;                /* memory for the values that a taker receives */
	uint8_t *stored, *raw;         /* memory for a chunk */
	uint64_t stored_room, raw_room;
	uint64_t read;                 /* stored bytes of samples, so far */
};

/* Reports E_DATA: what is wrong at byte `at`. */
int record_bad(const struct record *r, uint64_t at, const char *what);
int record_bytes(const struct record *r, uint64_t at, void *p, size_t n);
/* Byte `at` of the file, which is after the samples. */
const uint8_t *record_tail_at(const struct record *r, uint64_t at);
/* After the error rc: whether to read the same bytes again, because they came damaged from a source
 * that may have another copy. If so, the error is dropped. */
bool record_fetch_again(const struct record *r, struct record_decoder *d, int rc, int errors);
/* *out: the n stored bytes at byte `at`, in the image or in a buffer of d. */
int record_stored(const struct record *r, struct record_decoder *d, uint64_t at, uint64_t n,
                  const uint8_t **out);
/* Returns memory for n bytes with undefined content. */
uint8_t *record_decoder_raw(struct record_decoder *d, uint64_t n);

/* Checks that the table and the index before the footer, which is at byte `end`, have the sizes
 * that the footer says; their order has been checked. */
int record_check_parts(const struct record *r, uint64_t end);
/* Checks that the index, whose hash has been verified, fits the samples in the description; finds
 * the largest chunk. */
int record_check_index(struct record *r);

#endif
