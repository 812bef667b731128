/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Functions shared by the parts of the record reader: reading bytes, error messages, and buffers
 * for decoding. */
#include "data/record_file.h"

#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/record_heads.h"

int record_bad(const struct record *r, uint64_t at, const char *what)
{
	return ERR(E_DATA, NULL, "'%s': byte %llu: %s", r->path, (unsigned long long)at, what);
}

int record_bytes(const struct record *r, uint64_t at, void *p, size_t n)
{
	if (!r->image && r->head && record_head_read(r->head, at, p, n))
		return 0;
	if (!r->image)
		return io_reader_read(&r->file, at, p, n);
	memcpy(p, r->image + at, n);
	return 0;
}

bool record_fetch_again(const struct record *r, struct record_decoder *d, int rc, int errors)
{
	const bool again = rc == E_DATA && r->source && !d->fresh;
	if (again)
		err_truncate(errors);
	d->fresh = again;
	return again;
}

void record_read_from(struct record *r, const struct record_source *s)
{
	r->source = s;
}

const uint8_t *record_tail_at(const struct record *r, uint64_t at)
{
	return r->tail + (at - r->footer.description);
}

void record_free(struct record *r)
{
	if (!r)
		return;
	io_reader_close(&r->file);
	if (r->tail)
		mem_unmap(r->tail, r->size - r->footer.description);
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

uint64_t record_hash(const struct record *r)
{
	return r->footer.hash;
}

uint64_t record_file_bytes(const struct record *r)
{
	return r->size;
}

const char *record_description(const struct record *r, size_t *n)
{
	*n = r->footer.texts - r->footer.description;
	return (const char *)r->tail;
}

/* --- decoders --- */

struct record_decoder *record_decoder_new(void)
{
	struct record_decoder *d = mem_calloc(1, sizeof(*d));
	codec_reader_open(&d->codec);
	d->hash = hash_new();
	d->piece = mem_alloc(RECORD_SINK_PIECE);
	return d;
}

uint64_t record_decoder_bytes(const struct record_decoder *d)
{
	return d->read;
}

void record_decoder_free(struct record_decoder *d)
{
	if (!d)
		return;
	codec_reader_release(&d->codec);
	hash_free(d->hash);
	mem_free(d->piece);
	mem_free(d->stored);
	mem_free(d->raw);
	mem_free(d);
}

static void reserve(uint8_t **p, uint64_t *room, uint64_t n)
{
	if (n <= *room)
		return;
	mem_free(*p);
	*p = mem_alloc(n);
	*room = n;
}

uint8_t *record_decoder_raw(struct record_decoder *d, uint64_t n)
{
	reserve(&d->raw, &d->raw_room, n);
	return d->raw;
}

void record_decoder_reserve(struct record_decoder *d, const struct record *r)
{
	reserve(&d->stored, &d->stored_room, r->largest);
	codec_reader_reserve(&d->codec, r->largest_planes);
}

int record_stored(const struct record *r, struct record_decoder *d, uint64_t at, uint64_t n,
                  const uint8_t **out)
{
	*out = r->image ? r->image + at : NULL;
	if (r->image)
		return 0;
	reserve(&d->stored, &d->stored_room, n);
	*out = d->stored;
	if (r->source)
		return r->source->read(r->source->self, at, d->stored, n, d->fresh);
	return io_reader_read(&r->file, at, d->stored, n);
}
