/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples, chunk by chunk: read, decoded, hashed, and put where their rows belong. */
#include <string.h>

#include "base/err.h"
#include "base/shown.h"
#include "data/record_cut.h"
#include "data/record_file.h"

/* A chunk that is looked for: the k-th of its sample. */
struct place {
	int64_t sample;
	int array;
	int64_t number;
};

/* Of a file that was overwritten this is said, and not that it is damaged. */
static int bad_chunk(const struct record *r, const struct place *p, uint64_t at, const char *what)
{
	if (!r->image)
		TRY(io_reader_unchanged(&r->file));
	return ERR(E_DATA, NULL, "'%s': sample %lld, array '%s', chunk %lld at byte %llu: damaged: %s",
	           r->path, (long long)p->sample, shown(record_array_name(&r->info, p->array)),
	           (long long)p->number, (unsigned long long)at, what);
}

/* The raw bytes of chunk c, which are as many as its cut has. */
static int fetch(const struct record *r, struct record_decoder *d, const struct place *p,
                 const struct record_chunk *c, uint8_t *raw)
{
	const size_t width = dtype_size(record_array_get(&r->info, p->array)->dtype);
	const uint8_t *stored = NULL;
	const char *why = NULL;

	if (c->codec == RECORD_RAW)
		TRYC(record_bytes(r, c->offset, raw, c->raw), "reading sample %lld",
		     (long long)p->sample);
	else
		TRYC(record_stored(r, d, c->offset, c->stored, &stored), "reading sample %lld",
		     (long long)p->sample);
	if (stored)
		why = codec_decode(&d->codec, c, width, stored, raw);
	if (why)
		return bad_chunk(r, p, c->offset, why);
	if (record_chunk_hash(p->sample, p->array, p->number, raw, c->raw, c, stored) != c->hash)
		return bad_chunk(r, p, c->offset, "hash mismatch");
	return 0;
}

/* --- whole samples --- */

static int read_chunk(const struct record *r, struct record_decoder *d, const struct place *p,
                      const struct record_chunk *c, const struct record_cut *cut, uint8_t *array)
{
	const size_t n = (size_t)cut->rows * cut->row;
	uint8_t *raw;

	if (cut->strips == 1 || cut->rows == cut->extent)
		return fetch(r, d, p, c, array + (size_t)cut->first * cut->row);
	raw = record_decoder_raw(d, c->raw);
	TRY(fetch(r, d, p, c, raw));
	for (int64_t s = 0; s < cut->strips; s++)
		memcpy(array + (size_t)(s * cut->extent + cut->first) * cut->row, raw + (size_t)s * n, n);
	return 0;
}

int record_read(const struct record *r, struct record_decoder *d, int64_t i, void *raw)
{
	const struct record_info *info = &r->info;
	const int size = record_size_of(r, i);
	struct place p = {.sample = i};
	int64_t k = 0;

	if (r->version == 1)
		return record1_read(r, d, i, raw);
	for (; p.array < record_arrays(info); p.array++) {
		uint8_t *array = (uint8_t *)raw + record_array_at(info, size, p.array);
		const int64_t n = record_cuts(info, size, p.array);

		for (p.number = 0; p.number < n; p.number++) {
			const struct record_chunk c = record_chunk_get(r, i, k++);
			const struct record_cut cut = record_cut(info, size, p.array, p.number);

			TRY(read_chunk(r, d, &p, &c, &cut, array));
		}
	}
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

/* Version 1 has no parts of samples: the whole is decoded. */
static int read_rows1(const struct record *r, struct record_decoder *d, int64_t i, int k,
                      int64_t first, int64_t n, void *out)
{
	const struct record_cut cut = record_cut(&r->info, 0, k, 0);
	uint8_t *raw = record_decoder_raw(d, record_raw_bytes(&r->info));

	TRY(record1_read(r, d, i, raw));
	copy_rows(&cut, raw + record_array_at(&r->info, 0, k), first, n, out);
	return 0;
}

int record_read_rows(const struct record *r, struct record_decoder *d, int64_t i, int k,
                     int64_t first, int64_t n, void *out)
{
	const int size = record_size_of(r, i);
	int64_t before = 0;

	BUG_IF(record_axis(&r->info, k) < 0 || first < 0 || n < 1 ||
	       first + n > record_cut(&r->info, size, k, 0).extent, "rows %lld to %lld of an array",
	       (long long)first, (long long)(first + n - 1));
	if (r->version == 1)
		return read_rows1(r, d, i, k, first, n, out);
	for (int j = 0; j < k; j++)
		before += record_cuts(&r->info, size, j);
	for (int64_t c = first / record_cut(&r->info, size, k, 0).rows;; c++) {
		const struct record_cut cut = record_cut(&r->info, size, k, c);
		const struct place p = {i, k, c};

		if (cut.first >= first + n)
			return 0;
		const struct record_chunk chunk = record_chunk_get(r, i, before + c);
		uint8_t *raw = record_decoder_raw(d, chunk.raw);
		TRY(fetch(r, d, &p, &chunk, raw));
		copy_rows(&cut, raw, first, n, out);
	}
}
