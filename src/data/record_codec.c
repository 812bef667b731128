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

#define LEAST_GAIN 16            /* a frame has to save one of so many bytes */

/* --- writing --- */

int codec_writer_open(struct codec_writer *w, int level)
{
	*w = (struct codec_writer){.zstd = ZSTD_createCCtx()};
	if (!w->zstd)
		return ERR(E_NOMEM, NULL, "no memory for the compressor");
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level);
	return 0;
}

void codec_writer_release(struct codec_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
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

/* The bytes of a frame of n bytes at `from`, or n where it saves too little; 0: zstd failed. to has
 * room for n bytes and what a frame may be larger. */
static size_t try_frame(struct codec_writer *w, uint8_t *to, size_t room, const uint8_t *from,
                        size_t n)
{
	const size_t size = ZSTD_compress2(w->zstd, to, room, from, n);

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
		const size_t size = try_frame(w, w->frame, ZSTD_compressBound(each), plane, each);

		if (size == 0)
			return 0;
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
	c->stored = planes ? try_frame(w, w->frame, ZSTD_compressBound(n), raw, n) : 0;
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
	*r = (struct codec_reader){.zstd = ZSTD_createDCtx()};
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

static const char *decode_planes(struct codec_reader *r, const struct record_chunk *c,
                                 size_t width, const uint8_t *stored, uint8_t *raw)
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
	planes_merge(raw, plane, each, width);
	return NULL;
}

const char *codec_decode(struct codec_reader *r, const struct record_chunk *c, size_t width,
                         const uint8_t *stored, uint8_t *raw)
{
	if (c->codec == RECORD_ZSTD)
		return decode_frame(r, stored, c->stored, raw, c->raw);
	if (c->codec == RECORD_PLANES)
		return decode_planes(r, c, width, stored, raw);
	if (c->codec != RECORD_RAW || c->stored != c->raw)
		return "no such codec";
	memcpy(raw, stored, c->raw);
	return NULL;
}
