/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses how a chunk is stored, and decodes it. If compression saves little, bytes are stored as
 * they are: a byte that zstd has to decode costs ten times as much as one that is copied, and
 * random-looking bytes, such as the low bytes of measured floats, save nothing.
 *
 * A sample of a large chunk is first compressed with all methods; the whole chunk is compressed
 * only with those that may give the smallest result. Which bytes are sampled depends only on the
 * chunk's length, so that equal raw bytes are always stored equally, on any machine and thread. */
#include "data/record_codec.h"

#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/mem.h"
#include "data/record_format.h"
#include "data/record_planes.h"

#define LEAST_GAIN 8             /* compression has to save at least one byte in this many */
#define FAST_LEVEL 1             /* of zstd; a plane then has to save two of three */
#define DEFAULT_LEVEL 3          /* of zstd; levels above are meant */
#define PLANE_LEVEL 6            /* of zstd at least, and the length of a match, for planes */
#define PLANE_MATCH 6

#define SAMPLE_PARTS 8           /* contiguous parts of a chunk's sample, evenly spread */
#define SAMPLE_PART ((size_t)16384)
#define SAMPLED (16 * SAMPLE_PARTS * SAMPLE_PART)   /* bytes; shorter chunks are compressed with all
                                                     * methods */
#define SURE_PERCENT 3           /* margin by which one method must beat another in the sample */

/* --- writing --- */

/* Of a plane of a field with noise, short matches save little and take long to decode: 1.4 GB/s and
 * 39.7 % at level 3, 1.8 GB/s and 37.7 % with these. As it is, that plane makes the field 75 % in
 * place of 60 % and reading it 2.9 GB/s in place of 2.1: less for all that is read from a disk, as
 * none gives each core 1.6 GB/s, but more from memory. So that is what level 1 does. */
int codec_writer_open(struct codec_writer *w, int level)
{
	return codec_writer_open_with(w, &(struct codec_settings){ .level = level,
		.plane_level = level < PLANE_LEVEL ? PLANE_LEVEL : level, .plane_match = PLANE_MATCH,
		.least_gain = LEAST_GAIN, .fast = level <= FAST_LEVEL,
		.quick = level > FAST_LEVEL && level <= DEFAULT_LEVEL });
}

int codec_writer_open_with(struct codec_writer *w, const struct codec_settings *set)
{
	*w = (struct codec_writer){ .set = *set, .zstd = ZSTD_createCCtx(),
		.zstd_plane = ZSTD_createCCtx() };
	if (!w->zstd || !w->zstd_plane)
		return ERR(E_NOMEM, NULL, "no memory for the compressor");
	ZSTD_CCtx_setParameter(w->zstd_plane, ZSTD_c_compressionLevel, set->plane_level);
	if (set->plane_match)
		ZSTD_CCtx_setParameter(w->zstd_plane, ZSTD_c_minMatch, set->plane_match);
	if (set->plane_hash)
		ZSTD_CCtx_setParameter(w->zstd_plane, ZSTD_c_hashLog, set->plane_hash);
	return 0;
}

void codec_writer_release(struct codec_writer *w)
{
	ZSTD_freeCCtx(w->zstd);
	ZSTD_freeCCtx(w->zstd_plane);
	mem_free(w->frame);
	mem_free(w->planes);
	mem_free(w->parts);
	mem_free(w->sample);
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
	w->sample = mem_realloc(w->sample, SAMPLE_PARTS * SAMPLE_PART);
}

static bool gains(const struct codec_writer *w, size_t stored, size_t n)
{
	return stored < n - n / w->set.least_gain;
}

/* The bytes of a frame of n bytes at `from`, in w->frame; 0: zstd failed. */
static size_t frame(struct codec_writer *w, ZSTD_CCtx *zstd, const uint8_t *from, size_t n)
{
	const size_t size = ZSTD_compress2(zstd, w->frame, ZSTD_compressBound(n), from, n);
	if (!ZSTD_isError(size))
		return size;
	ERR(E_BUG, NULL, "zstd: %s", ZSTD_getErrorName(size));
	return 0;
}

/* The same of bytes that are no plane, at a level. */
static size_t whole_frame(struct codec_writer *w, int level, const uint8_t *from, size_t n)
{
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level);
	return frame(w, w->zstd, from, n);
}

/* The stored bytes for n bytes whose compressed size is `size`: n if that saves too little. */
static size_t stored_whole(const struct codec_writer *w, size_t size, size_t n)
{
	return gains(w, size, n) ? size : n;
}

static size_t stored_plane(const struct codec_writer *w, size_t size, size_t n)
{
	return w->set.fast && size > n / 3 ? n : stored_whole(w, size, n);
}

#define LOOKED_AT 512                /* bytes of a plane */
#define RANDOM_VALUES 190            /* different ones among them; of random bytes it is 221 +- 5 */

/* Whether a plane looks so random that a frame of it would save nothing. */
static bool looks_random(const uint8_t *plane, size_t n)
{
	bool seen[256] = { false };
	int values = 0;
	if (n < LOOKED_AT)
		return false;
	for (size_t k = 0; k < LOOKED_AT; k++) {
		bool *is = &seen[plane[n / LOOKED_AT * k]];
		values += !*is;
		*is = true;
	}
	return values > RANDOM_VALUES;
}

/* The planes in w->parts with their header, and how many bytes these are; 0: zstd failed. Planes
 * whose bit is in `plain` are not tried. */
static size_t try_planes(struct codec_writer *w, const uint8_t *raw, size_t n, size_t width,
                         unsigned plain)
{
	const size_t each = n / width;
	size_t at = 8 * width;
	planes_split(w->planes, raw, each, width);
	for (size_t k = 0; k < width; k++) {
		const uint8_t *plane = w->planes + k * each;
		size_t size = each;

		if (!(plain >> k & 1) && !(w->set.planes_alone && looks_random(plane, each))) {
			size = frame(w, w->zstd_plane, plane, each);
			if (size == 0)
				return 0;
			size = stored_plane(w, size, each);
		}
		memcpy(w->parts + at, size == each ? plane : w->frame, size);
		put_u64(w->parts + 8 * k, size);
		at += size;
	}
	return at;
}

/* --- ways --- */

/* The methods that are tried for a chunk; the smallest result is kept. */
struct ways {
	bool whole, planes;
	bool quick;                    /* whole at level 1, which makes it as small */
	unsigned plain;                /* planes that are stored as they are, a bit each */
};

/* Whole elements, to w->sample. */
static void take_sample(const struct codec_writer *w, const uint8_t *raw, size_t n, size_t width)
{
	const size_t elements = n / width, part = SAMPLE_PART / width;
	for (size_t k = 0; k < SAMPLE_PARTS; k++)
		memcpy(w->sample + k * part * width,
		       raw + (elements - part) * k / (SAMPLE_PARTS - 1) * width, part * width);
}

/* As get_u64, but one load: a call for each window would take longer than all else. */
static inline uint64_t eight(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

/* Whether the chunk repeats bytes at a distance that the sample cannot show, such as the same map
 * in each hour. Of all 16-byte windows, one in 256 is chosen by a hash of eight bytes and looked up
 * among earlier ones. The fraction of windows found again is about what compression saves, so a few
 * do not matter. */
static bool repeats(struct codec_writer *w, const uint8_t *raw, size_t n, size_t width)
{
	size_t chosen = 0, again = 0;
	memset(w->seen, 0, sizeof w->seen);
	for (size_t i = 0; i + 16 <= n; i += width) {
		uint64_t h = eight(raw + i) * UINT64_C(0x9e3779b97f4a7c15);

		if (h >> 56)
			continue;
		h += eight(raw + i + 8) * UINT64_C(0xc2b2ae3d27d4eb4f);
		uint32_t *seen = &w->seen[(h >> 32) % CODEC_SEEN];
		chosen++;
		again += *seen == (uint32_t)h;
		*seen = (uint32_t)h;
	}
	return again * 100 > chosen * SURE_PERCENT;
}

/* Whether n is less than m by a margin large enough to expect the same of the whole chunk. */
static bool surely_less(size_t n, size_t m)
{
	return n < m - m * SURE_PERCENT / 100;
}

/* Whether a frame of `size` of n bytes is far from saving enough. */
static bool surely_plain(const struct codec_writer *w, size_t size, size_t n)
{
	return size > n - n / (2 * w->set.least_gain);
}

/* What n bytes of a sample take as planes; 0: zstd failed. Marks those that save nothing. */
static size_t sample_planes(struct codec_writer *w, size_t n, size_t width, unsigned *plain)
{
	const size_t each = n / width;
	size_t all = 0;
	planes_split(w->planes, w->sample, each, width);
	for (size_t k = 0; k < width; k++) {
		const size_t size = frame(w, w->zstd_plane, w->planes + k * each, each);

		if (size == 0)
			return 0;
		if (surely_plain(w, size, each))
			*plain |= 1U << k;
		all += stored_plane(w, size, each);
	}
	return all;
}

/* Keeps only the methods that the sample does not exclude. -1: zstd failed. */
static int rule_out(struct codec_writer *w, const uint8_t *raw, size_t n, size_t width,
                    struct ways *ways)
{
	const size_t size = SAMPLE_PARTS * (SAMPLE_PART / width) * width;
	if (repeats(w, raw, n, width))
		return 0;
	take_sample(w, raw, n, width);
	const size_t planes = ways->planes ? sample_planes(w, size, width, &ways->plain) : size;
	const size_t whole = planes ? whole_frame(w, w->set.level, w->sample, size) : 0;
	if (whole == 0)
		return -1;
	if (ways->planes && (surely_plain(w, whole, size) || surely_less(planes, whole)))
		ways->whole = false;
	else if (surely_less(whole, planes))
		ways->planes = false;
	if (!ways->whole || !w->set.quick)
		return 0;
	/* of pictures with noise level 3 saves 1.6 % more and takes 2.4 times as long */
	const size_t quick = whole_frame(w, FAST_LEVEL, w->sample, size);
	ways->quick = !surely_less(whole, quick);
	return quick ? 0 : -1;
}

static const uint8_t *encode_plain(const uint8_t *raw, size_t n, struct record_chunk *c)
{
	c->codec = RECORD_RAW;
	c->stored = n;
	return raw;
}

const uint8_t *codec_encode(struct codec_writer *w, const uint8_t *raw, size_t n, size_t width,
                            struct record_chunk *c)
{
	struct ways ways = { .planes = width > 1, .whole = width == 1 || !w->set.planes_alone };
	size_t planes = n;
	if (w->set.level == 0)
		return encode_plain(raw, n, c);
	writer_reserve(w, n);
	c->stored = n;
	if (n >= SAMPLED && ways.whole && rule_out(w, raw, n, width, &ways) < 0)
		return NULL;
	if (ways.planes && ways.plain != (1U << width) - 1)
		planes = try_planes(w, raw, n, width, ways.plain);
	if (planes && ways.whole) {
		c->stored = whole_frame(w, ways.quick ? FAST_LEVEL : w->set.level, raw, n);
		c->stored = c->stored ? stored_whole(w, c->stored, n) : 0;
	}
	if (planes == 0 || c->stored == 0)
		return NULL;
	c->codec = c->stored < n ? RECORD_ZSTD : RECORD_RAW;
	if (gains(w, planes, n) && planes < c->stored) {
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

static const char *decode_whole(struct codec_reader *r, const struct record_chunk *c,
                                const uint8_t *stored, struct record_sink *sink)
{
	const bool direct = sink->strip >= c->raw && !sink->taker;
	const char *why;
	if (!direct)
		codec_reader_reserve(r, c->raw);
	why = decode_frame(r, stored, c->stored, direct ? sink->out + sink->from : r->planes, c->raw);
	if (!why && direct)
		record_sink_done(sink, c->raw);
	else if (!why)
		record_sink_put(sink, r->planes, c->raw);
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
		return "bytes after the last byte plane";
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
	record_sink_put(sink, stored, c->raw);
	return NULL;
}
