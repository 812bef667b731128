/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opens a record file from its end: footer, its hash over all but the samples,
 * description, index. No number of the file is used before it is checked, even after a matching
 * hash: a hostile file can have one. */
#include <string.h>

#include "base/err.h"
#include "base/file_kind.h"
#include "base/mem.h"
#include "data/description.h"
#include "data/record_file.h"
#include "data/record_heads.h"

/* Guesses from the first bytes what a file is that is not a record file, and suggests what to
 * do. */
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
		[FILE_FOREIGN] = "; dlx-convert reads that",
	};
	uint8_t head[FILE_KIND_BYTES];
	const uint64_t n = r->size < sizeof head ? r->size : sizeof head;
	enum file_use use;
	const char *kind;
	if (r->size == 0)
		return ERR(E_DATA, NULL, "'%s': byte 0: not a dlx record file; it is empty", r->path);
	TRY(record_bytes(r, 0, head, n));
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
	TRY(record_bytes(r, 0, r->preamble, n));
	if (n < MAGIC_BYTES || memcmp(r->preamble, RECORD_MAGIC, MAGIC_BYTES) != 0)
		return foreign(r);
	if (r->size < PREAMBLE_BYTES + FOOTER_BYTES)
		return record_bad(r, r->size, "truncated: the file ends before its footer");
	version = get_u64(r->preamble + MAGIC_BYTES);
	if (version < RECORD_VERSION)
		return ERR(E_DATA, NULL, "'%s': byte 8: record version %llu, of a dlx before its first "
		           "release, is no longer read: convert the data again with dlx-convert", r->path,
		           (unsigned long long)version);
	if (version > RECORD_VERSION)
		return ERR(E_DATA, NULL, "'%s': byte 8: record version %llu; this program reads version %d",
		           r->path, (unsigned long long)version, RECORD_VERSION);
	return 0;
}

static int read_tail(struct record *r)
{
	const uint64_t n = r->size - r->footer.description;
	r->tail = mem_map(n);
	if (!r->tail)
		return ERR(E_NOMEM, NULL, "'%s': no memory for the %llu bytes of its index", r->path,
		           (unsigned long long)n);
	return record_bytes(r, r->footer.description, r->tail, n);
}

/* What the footer says of the file, which is not yet that its parts are in order. */
static int read_footer(struct record *r, uint64_t at)
{
	uint8_t p[FOOTER_BYTES];
	TRY(record_bytes(r, at, p, r->size - at));
	if (memcmp(p + r->size - at - MAGIC_BYTES, RECORD_END_MAGIC, MAGIC_BYTES) != 0)
		return record_bad(r, r->size - MAGIC_BYTES,
		                  "truncated or damaged: no footer at the end of the file");
	record_footer_read(p, &r->footer);
	if (r->footer.size != r->size)
		return ERR(E_DATA, NULL, "'%s': byte %llu: the footer says %llu bytes, the file has %llu",
		           r->path, (unsigned long long)at + FOOTER_HASHED - 8,
		           (unsigned long long)r->footer.size, (unsigned long long)r->size);
	return 0;
}

/* Places in order, multiples where promised, and as many entries as it says. */
static int check_footer(struct record *r)
{
	const uint64_t at = r->size - FOOTER_BYTES;
	const struct record_footer *f = &r->footer;
	TRY(read_footer(r, at));
	if (f->description < PREAMBLE_BYTES || f->texts < f->description || f->table < f->texts ||
	    f->index < f->table || f->index > at)
		return record_bad(r, at, "damaged footer: parts out of order");
	TRY(record_check_parts(r, at));
	TRY(read_tail(r));
	if (record_footer_hash(r->preamble, r->tail, at - f->description, record_tail_at(r, at)) !=
	    f->hash)
		return record_bad(r, at + FOOTER_HASHED,
		                  "description, index or footer damaged: hash mismatch");
	return 0;
}

static int read_description(struct record *r)
{
	const struct record_footer *f = &r->footer;
	TRY(description_read(r->a, r->path, f->description, (const char *)r->tail,
	                     f->texts - f->description, &r->info));
	if ((uint64_t)r->info.samples != f->samples)
		return record_bad(r, f->description,
		                  "description and footer disagree on the number of samples");
	return 0;
}

static int open_image(struct record *r)
{
	TRY(check_preamble(r));
	TRY(check_footer(r));
	TRY(read_description(r));
	return record_check_index(r);
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
		r->head = record_head_find(path, &r->file.opened);
		rc = open_image(r);
		r->head = NULL;
	}
	if (rc == 0)
		record_head_note(path, &r->file.opened, r->preamble, r->tail, r->footer.description);
	if (rc < 0)
		record_free(r);
	else
		*out = r;
	return rc;
}
