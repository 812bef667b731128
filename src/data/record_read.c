/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens a record file from its end: footer, its hash over all but the frames, description,
 * index; then samples by index. No number of the file is used before it is checked, even behind
 * a matching hash: a hostile file can have one. */
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/file_kind.h"
#include "base/hash.h"
#include "base/io_reader.h"
#include "base/mem.h"
#include "data/description.h"
#include "data/record.h"
#include "data/record_format.h"

/* zstd codes a block of at most 128 KiB in at least 4 bytes: no frame holds more than this
 * times its size. */
#define MAX_EXPANSION 32768

struct record {
	struct arena *a;
	struct io_reader file;          /* zeroed for record_parse */
	const uint8_t *image;          /* of record_parse, else NULL */
	const char *path;
	uint64_t size;
	uint8_t preamble[PREAMBLE_BYTES];
	uint8_t *tail;                 /* all behind the frames, in memory */
	uint64_t largest;              /* frame */
	struct record_footer footer;
	struct record_info info;
};

struct record_decoder {
	ZSTD_DCtx *zstd;
	uint8_t *frame;
	uint64_t room;
};

static int bad(const struct record *r, uint64_t at, const char *what)
{
	return ERR(E_DATA, NULL, "'%s': byte %llu: %s", r->path, (unsigned long long)at, what);
}

static int read_bytes(const struct record *r, uint64_t at, void *p, size_t n)
{
	if (!r->image)
		return io_reader_read(&r->file, at, p, n);
	memcpy(p, r->image + at, n);
	return 0;
}

/* --- opening --- */

/* What a file that is no record file is, so far as its first bytes tell, and what to do. */
static int foreign(const struct record *r)
{
	static const char *const advice[] = {
		[FILE_WEIGHTS_TORCH] =
			": 'data' takes record files, which dlx-convert makes of arrays; weights are "
		                       "given as 'model.init_from'",
		[FILE_WEIGHTS_OTHER] = ": 'data' takes record files, which dlx-convert makes of arrays",
		[FILE_ARRAYS] = ": convert it with dlx-convert",
		[FILE_PICTURE] = ": dlx-convert makes record files of PNG and TIFF pictures and of "
		"arrays (.npy, .npz, .nc, .h5)",
		[FILE_RECORD] = ", damaged by a transfer in text mode",
		[FILE_SAFETENSORS] = ": weights are given as 'model.init_from'",
		[FILE_PACKED] = ": unpack it first",
	};
	uint8_t head[FILE_KIND_BYTES];
	const uint64_t n = r->size < sizeof head ? r->size : sizeof head;
	enum file_use use;
	const char *kind;

	TRY(read_bytes(r, 0, head, n));
	kind = file_kind(head, n, &use);
	if (kind)
		return ERR(E_DATA, NULL, "'%s': byte 0: not a dlx record file; it is %s%s", r->path, kind,
		           advice[use]);
	return ERR(E_DATA, NULL, "'%s': byte 0: not a dlx record file; dlx-convert makes one of "
	           "arrays (.npy, .npz, .nc, .h5)", r->path);
}

static int check_preamble(struct record *r)
{
	const uint64_t n = r->size < PREAMBLE_BYTES ? r->size : PREAMBLE_BYTES;
	uint64_t version;

	TRY(read_bytes(r, 0, r->preamble, n));
	if (n < MAGIC_BYTES || memcmp(r->preamble, RECORD_MAGIC, MAGIC_BYTES) != 0)
		return foreign(r);
	if (r->size < PREAMBLE_BYTES + FOOTER_BYTES)
		return bad(r, r->size, "truncated: the file ends before its footer");
	version = get_u64(r->preamble + MAGIC_BYTES);
	if (version != RECORD_VERSION)
		return ERR(E_DATA, NULL, "'%s': byte 8: record version %llu; this program reads version %d",
		           r->path, (unsigned long long)version, RECORD_VERSION);
	return 0;
}

static uint64_t tail_bytes(const struct record *r)
{
	return r->size - r->footer.description;
}

static int read_tail(struct record *r)
{
	const uint64_t n = tail_bytes(r);

	r->tail = mem_map(n);
	if (!r->tail)
		return ERR(E_NOMEM, NULL, "'%s': no memory for the %llu bytes of its index", r->path,
		           (unsigned long long)n);
	return read_bytes(r, r->footer.description, r->tail, n);
}

/* Places in order, multiples where promised, and exactly as many index entries as samples. */
static int check_footer(struct record *r)
{
	const uint64_t at = r->size - FOOTER_BYTES;
	uint8_t p[FOOTER_BYTES];
	struct record_footer *f = &r->footer;

	TRY(read_bytes(r, at, p, sizeof(p)));
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
	TRY(read_tail(r));
	if (record_footer_hash(r->preamble, r->tail, at - f->description, p) != f->hash)
		return bad(r, at + FOOTER_HASHED, "description, index or footer damaged: hash mismatch");
	return 0;
}

static int read_description(struct record *r)
{
	const struct record_footer *f = &r->footer;

	TRY(description_read(r->a, r->path, f->description, (const char *)r->tail,
	                     f->index - f->description, &r->info));
	if ((uint64_t)r->info.samples != f->samples)
		return bad(r, f->description, "description and footer disagree on the number of samples");
	return 0;
}

/* Frames must be back to back from the preamble to the description and hold whole samples. */
static int check_index(struct record *r)
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
		r->largest = e.frame_bytes > r->largest ? e.frame_bytes : r->largest;
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
	r->image = image;
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
	int rc = io_reader_open(&r->file, path);

	*out = NULL;
	if (rc == 0) {
		r->size = r->file.size;
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
	io_reader_close(&r->file);
	if (r->tail)
		mem_unmap(r->tail, tail_bytes(r));
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

	record_entry_read(r->tail + (r->footer.index - r->footer.description) +
	                  (uint64_t)i * ENTRY_BYTES, &e);
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
	return (const char *)r->tail;
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
	mem_free(d->frame);
	mem_free(d);
}

void record_decoder_reserve(struct record_decoder *d, const struct record *r)
{
	if (r->largest <= d->room)
		return;
	mem_free(d->frame);
	d->frame = mem_alloc(r->largest);
	d->room = r->largest;
}

/* Of a file that was overwritten this is said, and not that it is damaged. */
static int bad_sample(const struct record *r, int64_t i, uint64_t at, const char *what,
                      const char *detail)
{
	if (!r->image)
		TRY(io_reader_unchanged(&r->file));
	return ERR(E_DATA, NULL, "'%s': sample %lld at byte %llu: %s%s", r->path, (long long)i,
	           (unsigned long long)at, what, detail);
}

int record_read(const struct record *r, struct record_decoder *d, int64_t i, void *raw)
{
	const struct record_entry e = record_entry_get(r, i);
	const uint8_t *frame = r->image ? r->image + e.offset : NULL;
	size_t n;

	if (!d->zstd)
		return ERR(E_NOMEM, NULL, "no memory for the decompressor");
	if (!r->image) {
		record_decoder_reserve(d, r);
		TRYC(io_reader_read(&r->file, e.offset, d->frame, e.frame_bytes), "reading sample %lld",
		     (long long)i);
		frame = d->frame;
	}
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
