/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reuses what an earlier writer of the same file wrote before it was killed. Each chunk is decoded,
 * verified by its hash and measured, so that the result is the same as if one writer had written
 * everything. */
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/record_codec.h"
#include "data/record_piece.h"
#include "data/record_writer.h"

struct again {
	struct codec_reader codec;
	struct record_coder *coder;
	uint8_t *stored, *raw;
	size_t stored_room, raw_room;
};

static struct again *again_new(const struct record_writer *w)
{
	struct again *a = mem_calloc(1, sizeof *a);
	codec_reader_open(&a->codec);
	a->coder = record_coder_new(&w->info, w->level);
	return a;
}

static void make_room(struct again *a, const struct record_chunk *c)
{
	if (c->stored > a->stored_room) {
		mem_free(a->stored);
		a->stored = mem_alloc(c->stored);
		a->stored_room = c->stored;
	}
	if (c->raw > a->raw_room) {
		mem_free(a->raw);
		a->raw = mem_alloc(c->raw);
		a->raw_room = c->raw;
	}
}

/* Whether the chunk exists and matches its hash; if so, its raw bytes are in a. */
static bool load(struct again *a, const struct record_writer *w, const struct record_piece *p,
                 const struct record_chunk *c)
{
	const size_t width = dtype_size(record_array_get(&w->info, p->array)->dtype);
	if (c->offset != w->at || c->raw != p->bytes || c->stored > c->raw)
		return false;
	make_room(a, c);
	if (!io_read_back(w->file, c->offset, a->stored, c->stored))
		return false;
	struct record_sink sink = { .out = a->raw, .strip = p->bytes, .stride = p->bytes };
	return !codec_decode(&a->codec, c, width, a->stored, &sink) && sink.at == p->bytes &&
	       record_chunk_hash(w->n - 1, p->array, p->number, hash_bytes(a->raw, p->bytes, 0),
	                         record_hash_stored(c, a->stored)) == c->hash;
}

int record_again(struct record_writer *w, const struct record_piece *p,
                 const struct record_chunk *c, bool *good)
{
	struct record_coded coded;
	if (!w->again)
		w->again = again_new(w);
	if (!w->again->coder)
		return E_NOMEM;
	*good = load(w->again, w, p, c);
	if (!*good)
		return 0;
	TRY(record_measure_piece(w->again->coder, &w->info, p, w->again->raw, w->n - 1, &coded));
	return record_count_piece(w, &coded, c);
}

void record_again_free(struct again *a)
{
	if (!a)
		return;
	codec_reader_release(&a->codec);
	record_coder_free(a->coder);
	mem_free(a->stored);
	mem_free(a->raw);
	mem_free(a);
}

int record_again_end(struct record_writer *w)
{
	struct again *a = w->again;
	const bool uncut = w->uncut;
	w->again = NULL;
	w->uncut = false;
	record_again_free(a);
	return uncut ? io_cut(w->file, w->at) : 0;
}
