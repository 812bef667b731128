/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads samples chunk by chunk: decodes and hashes each chunk and stores its rows in the array. */
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/shown.h"
#include "data/record_cut.h"
#include "data/record_file.h"

/* A chunk that is looked for: the k-th of its sample. */
struct place {
	int64_t sample;
	int array;
	int64_t number;
};

/* If the file was overwritten, the error says so, instead of calling it damaged. */
static int bad_chunk(const struct record *r, const struct place *p, uint64_t at, const char *what)
{
	if (!r->image)
		TRY(io_reader_unchanged(&r->file));
	return ERR(E_DATA, NULL, "'%s': sample %lld, array '%s', chunk %lld at byte %llu: damaged: %s",
	           r->path, (long long)p->sample, shown(record_array_name(&r->info, p->array)),
	           (long long)p->number, (unsigned long long)at, what);
}

/* Reads an uncompressed chunk from the file directly to its position. From another source it is
 * read as a whole, because that may be another rank. */
static int copy_stored(const struct record *r, struct record_decoder *d,
                       const struct record_chunk *c, struct record_sink *sink)
{
	const uint8_t *whole = NULL;
	if (r->source)
		TRY(record_stored(r, d, c->offset, c->raw, &whole));
	if (whole)
		record_sink_put(sink, whole, c->raw);
	while (sink->at < c->raw) {
		size_t n = c->raw - sink->at;
		uint8_t *to = record_sink_next(sink, &n);

		TRY(record_bytes(r, c->offset + sink->at, to, n));
		record_sink_done(sink, n);
	}
	return 0;
}

static int fetch_once(const struct record *r, struct record_decoder *d, const struct place *p,
                 const struct record_chunk *c, struct record_sink *sink)
{
	const size_t width = dtype_size(record_array_get(&r->info, p->array)->dtype);
	const uint8_t *stored = NULL;
	const char *why = NULL;
	sink->hash = d->hash;
	hash_begin(d->hash);
	TRYC(c->codec == RECORD_RAW ? copy_stored(r, d, c, sink)
	     : record_stored(r, d, c->offset, c->stored, &stored), "reading sample %lld",
	     (long long)p->sample);
	d->read += c->stored;
	if (stored)
		why = codec_decode(&d->codec, c, width, stored, sink);
	if (why)
		return bad_chunk(r, p, c->offset, why);
	if (record_chunk_hash(p->sample, p->array, p->number, hash_value(d->hash),
	                      record_hash_stored(c, stored)) != c->hash)
		return bad_chunk(r, p, c->offset, "hash mismatch");
	return 0;
}

/* The raw bytes of chunk c to the sink, which has room for them. */
static int fetch(const struct record *r, struct record_decoder *d, const struct place *p,
                 const struct record_chunk *c, struct record_sink *sink)
{
	const struct record_sink begin = *sink;
	const int errors = err_count();
	int rc;
	while (record_fetch_again(r, d, rc = fetch_once(r, d, p, c, sink), errors))
		*sink = begin;
	return rc;
}

/* --- whole samples --- */

static struct record_sink sink_of(const struct record_cut *cut)
{
	const size_t row = cut->row, stride = (size_t)cut->extent * row;
	const bool whole = cut->rows == cut->extent;
	return (struct record_sink){ .from = (size_t)cut->first * row, .stride = stride,
	                            .strip = whole ? (size_t)cut->strips * stride
	                                     : (size_t)cut->rows * row };
}

/* Chunk k of sample i, to its place in raw, or to the taker if that is not NULL. */
static int read_chunk(const struct record *r, struct record_decoder *d, int64_t i, int64_t k,
                      uint8_t *raw, const struct record_taker *taker)
{
	const struct record_info *info = &r->info;
	const int size = record_size_of(r, i);
	struct place p = { .sample = i, .number = k };
	for (int64_t n; p.number >= (n = record_cuts(info, size, p.array)); p.array++)
		p.number -= n;
	const struct record_chunk c = record_chunk_get(r, i, k);
	const struct record_cut cut = record_cut(info, size, p.array, p.number);
	struct record_sink sink = sink_of(&cut);
	sink.out = taker ? d->piece : raw + record_array_at(info, size, p.array);
	sink.taker = taker;
	sink.width = dtype_size(record_array_get(info, p.array)->dtype);
	return fetch(r, d, &p, &c, &sink);
}

int record_read_chunk(const struct record *r, struct record_decoder *d, int64_t i, int64_t k,
                      void *raw)
{
	return read_chunk(r, d, i, k, raw, NULL);
}

int record_take_chunk(const struct record *r, struct record_decoder *d, int64_t i, int64_t k,
                      const struct record_taker *taker)
{
	return read_chunk(r, d, i, k, NULL, taker);
}

int record_read(const struct record *r, struct record_decoder *d, int64_t i, void *raw)
{
	const int64_t n = record_chunks(r, i);
	for (int64_t k = 0; k < n; k++)
		TRY(record_read_chunk(r, d, i, k, raw));
	return 0;
}

/* --- rows --- */

/* The rows of a cut that are among n from `first` on, from raw to out, which has these n. */
static void copy_rows(const struct record_cut *cut, const uint8_t *raw, int64_t first, int64_t n,
                      uint8_t *out)
{
	const int64_t from = first > cut->first ? first : cut->first,
	              cut_end = cut->first + cut->rows, end = first + n < cut_end ? first + n : cut_end;
	for (int64_t s = 0; s < cut->strips; s++)
		memcpy(out + (size_t)(s * n + from - first) * cut->row,
		       raw + (size_t)(s * cut->rows + from - cut->first) * cut->row,
		       (size_t)(end - from) * cut->row);
}

int record_read_rows(const struct record *r, struct record_decoder *d, int64_t i, int k,
                     int64_t first, int64_t n, void *out)
{
	const int size = record_size_of(r, i);
	int64_t before = 0;
	BUG_IF(record_axis(&r->info, k) < 0 || first < 0 || n < 1 ||
	       first + n > record_cut(&r->info, size, k, 0).extent, "rows %lld to %lld of an array",
	       (long long)first, (long long)(first + n - 1));
	for (int j = 0; j < k; j++)
		before += record_cuts(&r->info, size, j);
	for (int64_t c = first / record_cut(&r->info, size, k, 0).rows;; c++) {
		const struct record_cut cut = record_cut(&r->info, size, k, c);
		const struct place p = { i, k, c };

		if (cut.first >= first + n)
			return 0;
		const struct record_chunk chunk = record_chunk_get(r, i, before + c);
		uint8_t *raw = record_decoder_raw(d, chunk.raw);
		struct record_sink sink = { .out = raw, .strip = chunk.raw };
		TRY(fetch(r, d, &p, &chunk, &sink));
		copy_rows(&cut, raw, first, n, out);
	}
}
