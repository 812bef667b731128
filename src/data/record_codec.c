/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses how a chunk is stored by trying, and decodes it. What saves little is stored as it is:
 * a byte that zstd has to decode costs ten times as much as one that is copied, and bytes that look
 * random, as the last ones of measured floats do, save nothing. */
#include "data/record_codec.h"

#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/mem.h"
#include "data/record_format.h"
#include "data/record_planes.h"

#define LEAST_GAIN 8             /* a frame has to save one of so many bytes */
#define FAST_LEVEL 1             /* of zstd; a plane then has to save two of three */
#define PLANE_LEVEL 6            /* of zstd at least, and the length of a match, for planes */
#define PLANE_MATCH 6

/* --- writing --- */

/* Of a plane of a field with noise, short matches save little and take long to decode: 1.4 GB/s and
 * 39.7 % at level 3, 1.8 GB/s and 37.7 % with these. As it is, that plane makes the field 75 % in
 * place of 60 % and reading it 2.9 GB/s in place of 2.1: less for all that is read from a disk, as
 * none gives each core 1.6 GB/s, but more from memory. So that is what level 1 does. */
int codec_writer_open(struct codec_writer *w, int level)
{
	const int plane_level = level < PLANE_LEVEL ? PLANE_LEVEL : level;
	*w = (struct codec_writer){ .zstd = ZSTD_createCCtx(), .zstd_plane = ZSTD_createCCtx(),
		.fast = level <= FAST_LEVEL };
	if (!w->zstd || !w->zstd_plane)
		return ERR(E_NOMEM, NULL, "no memory for the compressor");
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(w->zstd_plane, ZSTD_c_compressionLevel, plane_level);
	ZSTD_CCtx_setParameter(w->zstd_plane, ZSTD_c_minMatch, PLANE_MATCH);
	return 0;
}

void codec_writer_release(struct codec_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	ZSTD_freeCCtx(w->zstd_plane);
	mem_free(w->frame);
	mem_free(w->planes);
	mem_free(w->parts);
}

static void writer_reserve(struct codec_writer *w, size_t n)
{
	const size_t most = ZSTD_compressBound(n) + PLANES_MOST * 8;
	if (n <= w->room)
		return;
	w->room = n;
	w->frame = mem_realloc(w->frame, most);
	w->planes = mem_realloc(w->planes, n);
	w->parts = mem_realloc(w->parts, most);
}

static bool gains(size_t stored, size_t n)
{
	return stored < n - n / LEAST_GAIN;
}

/* The bytes of a frame of n bytes at `from`, in w->frame, or n where it saves too little; 0: zstd
 * failed. */
static size_t try_frame(struct codec_writer *w, ZSTD_CCtx *zstd, const uint8_t *from, size_t n)
{
	const size_t size = ZSTD_compress2(zstd, w->frame, ZSTD_compressBound(n), from, n);
	if (ZSTD_isError(size)) {
		ERR(E_BUG, NULL, "zstd: %s", ZSTD_getErrorName(size));
		return 0;
	}
	return gains(size, n) ? size : n;
}

/* The planes in w->parts with their header, and how many bytes these are; 0: zstd failed. */
static size_t try_planes(struct codec_writer *w, const uint8_t *raw, size_t n, size_t width)
{
	const size_t each = n / width;
	size_t at = 8 * width;
	planes_split(w->planes, raw, each, width);
	for (size_t k = 0; k < width; k++) {
		const uint8_t *plane = w->planes + k * each;
		size_t size = try_frame(w, w->zstd_plane, plane, each);

		if (size == 0)
			return 0;
		if (w->fast && size > each / 3)
			size = each;
		memcpy(w->parts + at, size == each ? plane : w->frame, size);
		put_u64(w->parts + 8 * k, size);
		at += size;
	}
	return at;
}

const uint8_t *codec_encode(struct codec_writer *w, const uint8_t *raw, size_t n, size_t width,
                            struct record_chunk *c)
{
	size_t planes = n;
	writer_reserve(w, n);
	if (width > 1)
		planes = try_planes(w, raw, n, width);
	c->stored = planes ? try_frame(w, w->zstd, raw, n) : 0;
	if (c->stored == 0)
		return NULL;
	c->codec = c->stored < n ? RECORD_ZSTD : RECORD_RAW;
	if (gains(planes, n) && planes < c->stored) {
		c->codec = RECORD_PLANES;
		c->stored = planes;
	}
	return c->codec == RECORD_RAW ? raw : c->codec == RECORD_ZSTD ? w->frame : w->parts;
}

/* --- reading --- */

void codec_reader_open(struct codec_reader *r)
{
	*r = (struct codec_reader){ .zstd = ZSTD_createDCtx() };
}

void codec_reader_release(struct codec_reader *r)
{
	ZSTD_freeDCtx(r->zstd);
	mem_free(r->planes);
}

void codec_reader_reserve(struct codec_reader *r, size_t n)
{
	if (n <= r->room)
		return;
	mem_free(r->planes);
	r->planes = mem_alloc(n);
	r->room = n;
}

static const char *decode_frame(struct codec_reader *r, const uint8_t *frame, size_t stored,
                                uint8_t *to, size_t n)
{
	size_t size;
	if (!r->zstd)
		return "no memory for the decompressor";
	if (ZSTD_getFrameContentSize(frame, stored) != n)
		return "not a zstd frame of the right size";
	size = ZSTD_decompressDCtx(r->zstd, to, n, frame, stored);
	if (ZSTD_isError(size))
		return ZSTD_getErrorName(size);
	return size == n ? NULL : "a zstd frame that is shorter than it says";
}

/* Bytes in a row to where they belong. */
static void copy_to(struct record_sink *sink, const uint8_t *from, size_t n)
{
	for (size_t at = 0, piece; at < n; at += piece) {
		uint8_t *to;

		piece = n - at;
		to = record_sink_next(sink, &piece);
		memcpy(to, from + at, piece);
		record_sink_done(sink, piece);
	}
}

static const char *decode_whole(struct codec_reader *r, const struct record_chunk *c,
                                const uint8_t *stored, struct record_sink *sink)
{
	const bool direct = sink->strip >= c->raw;
	const char *why;
	if (!direct)
		codec_reader_reserve(r, c->raw);
	why = decode_frame(r, stored, c->stored, direct ? sink->out : r->planes, c->raw);
	if (!why && direct)
		record_sink_done(sink, c->raw);
	else if (!why)
		copy_to(sink, r->planes, c->raw);
	return why;
}

static void merge_to(struct record_sink *sink, const uint8_t *plane[PLANES_MOST], size_t n,
                     size_t width)
{
	while (n > 0) {
		size_t piece = n * width;
		uint8_t *to = record_sink_next(sink, &piece);
		const size_t elements = piece / width;

		planes_merge(to, plane, elements, width);
		record_sink_done(sink, piece);
		for (size_t k = 0; k < width; k++)
			plane[k] += elements;
		n -= elements;
	}
}

static const char *decode_planes(struct codec_reader *r, const struct record_chunk *c,
                                 size_t width, const uint8_t *stored, struct record_sink *sink)
{
	const size_t each = c->raw / width;
	const uint8_t *plane[PLANES_MOST];
	uint64_t at = 8 * width;
	if (width < 2 || c->raw % width || c->stored < at)
		return "byte planes of no such elements";
	codec_reader_reserve(r, c->raw);
	for (size_t k = 0; k < width; k++) {
		const uint64_t n = get_u64(stored + 8 * k);
		const char *why = NULL;

		if (n > c->stored - at || n > each)
			return "a byte plane beyond its chunk";
		plane[k] = n == each ? stored + at : r->planes + k * each;
		if (n < each)
			why = decode_frame(r, stored + at, n, r->planes + k * each, each);
		if (why)
			return why;
		at += n;
	}
	if (at != c->stored)
		return "bytes behind the last byte plane";
	merge_to(sink, plane, each, width);
	return NULL;
}

const char *codec_decode(struct codec_reader *r, const struct record_chunk *c, size_t width,
                         const uint8_t *stored, struct record_sink *sink)
{
	if (c->codec == RECORD_ZSTD)
		return decode_whole(r, c, stored, sink);
	if (c->codec == RECORD_PLANES)
		return decode_planes(r, c, width, stored, sink);
	if (c->codec != RECORD_RAW || c->stored != c->raw)
		return "no such codec";
	copy_to(sink, stored, c->raw);
	return NULL;
}
