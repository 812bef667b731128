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
	int level, plane_level;          /* of zstd; level 0: all is stored as it is */
	int plane_match;                 /* least length of a match in a plane; 0: as zstd thinks */
	int plane_hash;                  /* log2 of the places that matches in a plane are looked up
	                                  * in; 0: as zstd thinks */
	size_t least_gain;               /* a frame has to save one of this many bytes */
	bool fast;                       /* a plane that saves less than two of three is stored raw */
	bool quick;                      /* what level 1 makes as small as `level` does is coded so */
	bool planes_alone;               /* what has planes is not also tried as a whole, and a plane
	                                  * that looks random not at all */
};

#define CODEC_SEEN 16384

struct codec_writer {
	struct codec_settings set;
	void *zstd, *zstd_plane;
	uint8_t *frame, *planes, *parts, *sample;
	size_t room;                     /* raw bytes that they are large enough for */
	uint32_t seen[CODEC_SEEN];       /* of windows of the chunk */
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
	uint8_t *planes;                 /* or a chunk that goes to several strips */
	size_t room;
};

void codec_reader_open(struct codec_reader *r);
void codec_reader_release(struct codec_reader *r);
/* Room for chunks of n raw bytes. */
void codec_reader_reserve(struct codec_reader *r, size_t n);
/* Decodes c->stored bytes to exactly c->raw bytes, which the sink has room for, in strips of whole
 * elements. Believes nothing of them: NULL if all is well, else what is wrong, also where the codec
 * is none. */
const char *codec_decode(struct codec_reader *r, const struct record_chunk *c, size_t width,
                         const uint8_t *stored, struct record_sink *sink);

#endif
