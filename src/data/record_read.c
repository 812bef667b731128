/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens a record file from its end: footer, its hash over all but the frames, description,
 * index; then samples by index. No number of the file is used before it is checked, even behind
 * a matching hash: a hostile file can have one. */
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/description.h"
#include "data/record.h"
#include "data/record_format.h"

/* zstd codes a block of at most 128 KiB in at least 4 bytes: no frame holds more than this
 * times its size. */
#define MAX_EXPANSION 32768

struct record {
	struct arena *a;
	struct io_map map;             /* zeroed for record_parse */
	const char *path;
	const uint8_t *data;
	uint64_t size;
	struct record_footer footer;
	struct record_info info;
};

struct record_decoder {
	ZSTD_DCtx *zstd;
};

static int bad(const struct record *r, uint64_t at, const char *what)
{
	return ERR(E_DATA, NULL, "'%s': byte %llu: %s", r->path, (unsigned long long)at, what);
}

/* --- opening --- */

/* What a file that is no record file is, so far as its first bytes tell. */
static const char *foreign(const uint8_t *p, uint64_t n)
{
	static const struct {
		const char *magic, *hint;
	} known[] = {
		{"CDF", "a NetCDF file: convert it with dlx-convert"},
		{"\x89HDF\r\n", "an HDF5 or NetCDF-4 file: convert it with dlx-convert"},
		{"\x93NUMPY", "a NumPy file: convert it with dlx-convert"},
		{"PK\x03\x04", "a zip or .npz file: convert it with dlx-convert"},
		{"DLXREC", "damaged by a transfer in text mode"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const size_t m = strlen(known[i].magic);

		if (n >= m && memcmp(p, known[i].magic, m) == 0)
			return known[i].hint;
	}
	return NULL;
}

static int check_preamble(const struct record *r)
{
	const char *hint;
	uint64_t version;

	if (r->size < MAGIC_BYTES || memcmp(r->data, RECORD_MAGIC, MAGIC_BYTES) != 0) {
		hint = foreign(r->data, r->size);
		return ERR(E_DATA, NULL, "'%s': byte 0: not a dlx record file%s%s", r->path,
		           hint ? "; it is " : "", hint ? hint : "");
	}
	if (r->size < PREAMBLE_BYTES + FOOTER_BYTES)
		return bad(r, r->size, "truncated: the file ends before its footer");
	version = get_u64(r->data + MAGIC_BYTES);
	if (version != RECORD_VERSION)
		return ERR(E_DATA, NULL, "'%s': byte 8: record version %llu; this program reads version %d",
		           r->path, (unsigned long long)version, RECORD_VERSION);
	return 0;
}

/* Places in order, multiples where promised, and exactly as many index entries as samples. */
static int check_footer(struct record *r)
{
	const uint64_t at = r->size - FOOTER_BYTES;
	const uint8_t *p = r->data + at;
	struct record_footer *f = &r->footer;

	if (memcmp(p + FOOTER_BYTES - MAGIC_BYTES, RECORD_END_MAGIC, MAGIC_BYTES) != 0)
		return bad(r, r->size - MAGIC_BYTES,
		           "truncated or damaged: no footer at the end of the file");
	record_footer_read(p, f);
	if (f->size != r->size)
		return ERR(E_DATA, NULL, "'%s': byte %llu: the footer says %llu bytes, the file has %llu",
		           r->path, (unsigned long long)at + 24, (unsigned long long)f->size,
		           (unsigned long long)r->size);
	if (f->description < PREAMBLE_BYTES || f->index < f->description || f->index > at)
		return bad(r, at, "damaged footer: parts out of order");
	if ((at - f->index) % ENTRY_BYTES != 0 || (at - f->index) / ENTRY_BYTES != f->samples)
		return bad(r, at, "damaged footer: the index does not hold the samples it should");
	if (record_footer_hash(r->data, r->data + f->description, at - f->description, p) != f->hash)
		return bad(r, at + FOOTER_HASHED, "description, index or footer damaged: hash mismatch");
	return 0;
}

static int read_description(struct record *r)
{
	const struct record_footer *f = &r->footer;
	const char *text = (const char *)r->data + f->description;

	TRY(description_read(r->a, r->path, f->description, text, f->index - f->description, &r->info));
	if ((uint64_t)r->info.samples != f->samples)
		return bad(r, f->description, "description and footer disagree on the number of samples");
	return 0;
}

/* Frames must lie back to back from the preamble to the description and hold whole samples. */
static int check_index(const struct record *r)
{
	const uint64_t raw = record_raw_bytes(&r->info);
	uint64_t expected = PREAMBLE_BYTES;

	for (int64_t i = 0; i < r->info.samples; i++) {
		const struct record_entry e = record_entry_get(r, i);
		const uint64_t at = r->footer.index + (uint64_t)i * ENTRY_BYTES;

		if (e.offset != expected || e.frame_bytes > r->footer.description - expected)
			return bad(r, at, "damaged index: frames are not back to back");
		if (e.raw_bytes != raw || raw / MAX_EXPANSION > e.frame_bytes)
			return bad(r, at + 16, "damaged index: impossible size of a sample");
		expected += e.frame_bytes;
	}
	if (expected != r->footer.description)
		return bad(r, r->footer.index, "damaged index: bytes between frames and description");
	return 0;
}

static int open_image(struct record *r)
{
	TRY(check_preamble(r));
	TRY(check_footer(r));
	TRY(read_description(r));
	return check_index(r);
}

static struct record *record_alloc(const char *path)
{
	struct record *r = mem_calloc(1, sizeof(*r));

	r->a = arena_new();
	r->path = arena_strdup(r->a, path);
	return r;
}

int record_parse(struct record **out, const char *name, const void *image, size_t size)
{
	struct record *r = record_alloc(name);
	int rc;

	*out = NULL;
	r->data = image;
	r->size = size;
	rc = open_image(r);
	if (rc < 0)
		record_free(r);
	else
		*out = r;
	return rc;
}

int record_open(struct record **out, const char *path)
{
	struct record *r = record_alloc(path);
	int rc = io_map_open(&r->map, path);

	*out = NULL;
	if (rc == 0) {
		r->data = r->map.data;
		r->size = r->map.size;
		rc = open_image(r);
	}
	if (rc < 0)
		record_free(r);
	else
		*out = r;
	return rc;
}

void record_free(struct record *r)
{
	if (!r)
		return;
	io_map_close(&r->map);
	arena_free(r->a);
	mem_free(r);
}

/* --- questions --- */

const struct record_info *record_info(const struct record *r)
{
	return &r->info;
}

const char *record_path(const struct record *r)
{
	return r->path;
}

struct record_entry record_entry_get(const struct record *r, int64_t i)
{
	struct record_entry e;

	record_entry_read(r->data + r->footer.index + (uint64_t)i * ENTRY_BYTES, &e);
	return e;
}

uint64_t record_hash(const struct record *r)
{
	return r->footer.hash;
}

uint64_t record_size(const struct record *r)
{
	return r->size;
}

const char *record_description(const struct record *r, size_t *n)
{
	*n = r->footer.index - r->footer.description;
	return (const char *)r->data + r->footer.description;
}

/* --- samples --- */

struct record_decoder *record_decoder_new(void)
{
	struct record_decoder *d = mem_calloc(1, sizeof(*d));

	d->zstd = ZSTD_createDCtx();
	return d;
}

void record_decoder_free(struct record_decoder *d)
{
	if (!d)
		return;
	ZSTD_freeDCtx(d->zstd);
	mem_free(d);
}

static int bad_sample(const struct record *r, int64_t i, uint64_t at, const char *what,
                      const char *detail)
{
	return ERR(E_DATA, NULL, "'%s': sample %lld at byte %llu: %s%s", r->path, (long long)i,
	           (unsigned long long)at, what, detail);
}

int record_read(const struct record *r, struct record_decoder *d, int64_t i, void *raw)
{
	const struct record_entry e = record_entry_get(r, i);
	const uint8_t *frame = r->data + e.offset;
	size_t n;

	if (!d->zstd)
		return ERR(E_NOMEM, NULL, "no memory for the decompressor");
	if (hash_bytes(frame, e.frame_bytes, 0) != e.frame_hash)
		return bad_sample(r, i, e.offset, "damaged: hash mismatch", "");
	if (ZSTD_getFrameContentSize(frame, e.frame_bytes) != e.raw_bytes)
		return bad_sample(r, i, e.offset, "not a zstd frame of the right size", "");
	n = ZSTD_decompressDCtx(d->zstd, raw, e.raw_bytes, frame, e.frame_bytes);
	if (ZSTD_isError(n))
		return bad_sample(r, i, e.offset, "zstd: ", ZSTD_getErrorName(n));
	if (n != e.raw_bytes || hash_bytes(raw, n, 0) != e.raw_hash)
		return bad_sample(r, i, e.offset, "damaged: hash of the decoded bytes mismatches", "");
	return 0;
}
