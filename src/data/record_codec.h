/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the bytes of a chunk are stored: as they are, as a zstd frame, or as byte planes, which are
 * the bytes of equal significance of all elements, each plane by itself as it is or a zstd frame.
 *
 *   planes: u64 stored bytes of each plane, in the order of their significance | the planes
 *
 * A plane whose stored bytes are as many as it has is stored as it is. */
#ifndef DLX_DATA_RECORD_CODEC_H
#define DLX_DATA_RECORD_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "data/record.h"
#include "data/record_sink.h"

/* zstd codes a block of at most 128 KiB in at least 4 bytes: no frame holds more than this
 * times its size. */
#define CODEC_MAX_EXPANSION 32768

struct codec_settings {
	int level, plane_level;          /* zstd levels; level 0: all is stored uncompressed */
	int plane_match;                 /* zstd's minimum match length in a plane; 0: its default */
	int plane_hash;                  /* zstd's log2 of the hash table size for a plane; 0: its
	                                  * default */
	size_t least_gain;               /* compression is used if it saves at least one byte in this
	                                  * many */
	bool fast;                       /* a plane is stored raw if compression saves less than two
	                                  * thirds of it */
	bool quick;                      /* a chunk that level 1 compresses as well as `level` is
	                                  * compressed by level 1 */
	bool planes_alone;               /* elements with planes are not also tried as a whole, and
	                                  * planes that look random are not compressed */
};

#define CODEC_SEEN 16384

struct codec_writer {
	struct codec_settings set;
	void *zstd, *zstd_plane;
	uint8_t *frame, *planes, *parts, *sample;
	size_t room;                     /* raw bytes for which these buffers have room */
	uint32_t seen[CODEC_SEEN];       /* hashes of windows of the chunk */
};

int codec_writer_open(struct codec_writer *w, int level);     /* for records; E_NOMEM */
int codec_writer_open_with(struct codec_writer *w, const struct codec_settings *set);
void codec_writer_release(struct codec_writer *w);
/* Codes n > 0 raw bytes, elements of `width` bytes. Returns the bytes as they are to be stored, in
 * raw or in w, with c's codec and stored bytes; NULL and an error where zstd fails. */
const uint8_t *codec_encode(struct codec_writer *w, const uint8_t *raw, size_t n, size_t width,
                            struct record_chunk *c);

struct codec_reader {
	void *zstd;
	uint8_t *planes;                 /* planes, or a chunk that goes to several strips */
	size_t room;
};

void codec_reader_open(struct codec_reader *r);
void codec_reader_release(struct codec_reader *r);
/* Allocates memory for chunks of n raw bytes in advance. */
void codec_reader_reserve(struct codec_reader *r, size_t n);
/* Decodes c->stored bytes to exactly c->raw bytes, in strips of whole elements; the sink must have
 * room for them. The input is not trusted: returns NULL if it is valid, else what is wrong, also
 * for an unknown codec. */
const char *codec_decode(struct codec_reader *r, const struct record_chunk *c, size_t width,
                         const uint8_t *stored, struct record_sink *sink);

#endif
