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
	const uint8_t *image;          /* of record_parse, else NULL */
	const struct record_source *source;   /* of chunks; NULL: the file */
	const char *head;              /* while it is opened: see record_heads.h; NULL: the file */
	const char *path;
	uint64_t size;
	uint8_t preamble[PREAMBLE_BYTES];
	uint8_t *tail;                 /* all that follows the samples, in memory */
	uint64_t largest;              /* bytes of a chunk as stored, of those that are decoded */
	uint64_t largest_planes;       /* raw bytes of a chunk that may be decoded in two steps */
	struct record_footer footer;
	struct record_info info;
};

struct record_decoder {
	bool fresh;                    /* the source's last bytes were damaged */
	struct codec_reader codec;
	struct hash_state *hash;
	uint8_t *piece;                /* room for what a taker is given */
	uint8_t *stored, *raw;         /* room for a chunk */
	uint64_t stored_room, raw_room;
	uint64_t read;                 /* stored bytes of samples, so far */
};

/* E_DATA: what is wrong at byte `at`. */
int record_bad(const struct record *r, uint64_t at, const char *what);
int record_bytes(const struct record *r, uint64_t at, void *p, size_t n);
/* Byte `at` of the file, which is after the samples. */
const uint8_t *record_tail_at(const struct record *r, uint64_t at);
/* After rc: whether to read the same again, from a source that has had damaged bytes and may have
 * others; the error is dropped then. */
bool record_fetch_again(const struct record *r, struct record_decoder *d, int rc, int errors);
/* The n stored bytes at byte `at`, in the image or in d. */
int record_stored(const struct record *r, struct record_decoder *d, uint64_t at, uint64_t n,
                  const uint8_t **out);
/* Room for n bytes, with any content. */
uint8_t *record_decoder_raw(struct record_decoder *d, uint64_t n);

/* Whether table and index before the footer at byte `end` have the sizes that it says; their order
 * is checked. */
int record_check_parts(const struct record *r, uint64_t end);
/* Whether the index, read and hashed, is that of the samples in the description; finds which chunk
 * is largest. */
int record_check_index(struct record *r);

#endif
