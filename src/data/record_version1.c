/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Record files of version 1, which are no longer written: a sample is one zstd frame with hashes
 * of its stored and of its raw bytes. */
#include "base/err.h"
#include "base/hash.h"
#include "data/record_file.h"

int record1_check_parts(const struct record *r, uint64_t end)
{
	const struct record_footer *f = &r->footer;
	if ((end - f->index) % ENTRY_BYTES != 0 || (end - f->index) / ENTRY_BYTES != f->samples)
		return record_bad(r, end,
		                  "damaged footer: the index does not hold the samples it should");
	return 0;
}

struct record_entry record1_entry(const struct record *r, int64_t i)
{
	struct record_entry e;
	record_entry_read(record_tail_at(r, r->footer.index + (uint64_t)i * ENTRY_BYTES), &e);
	return e;
}

/* The samples' only size. */
static void add_size(struct record *r)
{
	struct shape *shape = ARENA_ARRAY(r->a, struct shape, 2);
	struct record_size *size = ARENA_NEW(r->a, struct record_size);
	shape[0] = r->info.input.shape;
	shape[1] = r->info.target.shape;
	*size = (struct record_size){ r->info.samples, shape, ARENA_ARRAY(r->a, int64_t, 2) };
	r->info.size = size;
	r->info.nsizes = 1;
}

/* Frames must be back to back from the preamble to the description and hold whole samples. */
int record1_check(struct record *r)
{
	uint64_t expected = PREAMBLE_BYTES, raw;
	if (r->info.nextra || r->info.nsizes)
		return record_bad(r, r->footer.description, "a description of another version");
	add_size(r);
	raw = record_raw_bytes(&r->info);
	for (int64_t i = 0; i < r->info.samples; i++) {
		const struct record_entry e = record1_entry(r, i);
		const uint64_t at = r->footer.index + (uint64_t)i * ENTRY_BYTES;

		if (e.offset != expected || e.frame_bytes > r->footer.description - expected)
			return record_bad(r, at, "damaged index: frames are not back to back");
		if (e.raw_bytes != raw || raw / CODEC_MAX_EXPANSION > e.frame_bytes)
			return record_bad(r, at + 16, "damaged index: impossible size of a sample");
		expected += e.frame_bytes;
		r->largest = e.frame_bytes > r->largest ? e.frame_bytes : r->largest;
	}
	if (expected != r->footer.description)
		return record_bad(r, r->footer.index,
		                  "damaged index: bytes between frames and description");
	return 0;
}

/* Of a file that was overwritten this is said, and not that it is damaged. */
static int bad_sample(const struct record *r, int64_t i, uint64_t at, const char *what)
{
	if (!r->image)
		TRY(io_reader_unchanged(&r->file));
	return ERR(E_DATA, NULL, "'%s': sample %lld at byte %llu: damaged: %s", r->path, (long long)i,
	           (unsigned long long)at, what);
}

static int read_once(const struct record *r, struct record_decoder *d, int64_t i, void *raw)
{
	const struct record_entry e = record1_entry(r, i);
	const struct record_chunk c = { .stored = e.frame_bytes, .raw = e.raw_bytes,
	                               .codec = RECORD_ZSTD };
	struct record_sink sink = { .out = raw, .strip = e.raw_bytes };
	const uint8_t *frame;
	const char *why;
	TRYC(record_stored(r, d, e.offset, e.frame_bytes, &frame), "reading sample %lld",
	     (long long)i);
	d->read += e.frame_bytes;
	if (hash_bytes(frame, e.frame_bytes, 0) != e.frame_hash)
		return bad_sample(r, i, e.offset, "hash mismatch");
	why = codec_decode(&d->codec, &c, 1, frame, &sink);
	if (why)
		return bad_sample(r, i, e.offset, why);
	if (hash_bytes(raw, e.raw_bytes, 0) != e.raw_hash)
		return bad_sample(r, i, e.offset, "hash of the decoded bytes mismatches");
	return 0;
}

int record1_read(const struct record *r, struct record_decoder *d, int64_t i, void *raw)
{
	const int errors = err_count();
	int rc;
	do
		rc = read_once(r, d, i, raw);
	while (record_fetch_again(r, d, rc, errors));
	return rc;
}
