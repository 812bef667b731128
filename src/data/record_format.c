/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The fixed parts of record files as bytes, and their hashes. */
#include "data/record_format.h"

#include <string.h>

#include "base/hash.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "record files are read as they are: a big-endian machine needs a swap in record_read"
#endif

uint64_t get_u64(const uint8_t *p)
{
	uint64_t v = 0;
	for (int i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

void put_u64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static void put_all(uint8_t *out, const uint64_t *v, int n)
{
	for (int i = 0; i < n; i++)
		put_u64(out + 8 * i, v[i]);
}

void record_preamble(uint8_t out[PREAMBLE_BYTES])
{
	memcpy(out, RECORD_MAGIC, MAGIC_BYTES);
	put_u64(out + 8, RECORD_VERSION);
}

void record_row_put(uint8_t out[SAMPLE_BYTES], const struct record_row *s)
{
	put_all(out, (uint64_t[]){ s->first, s->key, s->group, s->size }, 4);
}

void record_row_read(const uint8_t in[SAMPLE_BYTES], struct record_row *s)
{
	s->first = get_u64(in);
	s->key = get_u64(in + 8);
	s->group = get_u64(in + 16);
	s->size = get_u64(in + 24);
}

void record_chunk_put(uint8_t out[CHUNK_BYTES], const struct record_chunk *c)
{
	put_all(out, (uint64_t[]){ c->offset, c->stored, c->raw, c->codec, c->hash }, 5);
}

void record_chunk_read(const uint8_t in[CHUNK_BYTES], struct record_chunk *c)
{
	c->offset = get_u64(in);
	c->stored = get_u64(in + 8);
	c->raw = get_u64(in + 16);
	c->codec = get_u64(in + 24);
	c->hash = get_u64(in + 32);
}

void record_footer_put(uint8_t out[FOOTER_BYTES], const struct record_footer *f)
{
	put_all(out, (uint64_t[]){ f->description, f->texts, f->table, f->index, f->samples,
	                          f->chunks, f->size, f->hash }, 8);
	memcpy(out + FOOTER_HASHED + 8, RECORD_END_MAGIC, MAGIC_BYTES);
}

void record_footer_read(const uint8_t in[FOOTER_BYTES], struct record_footer *f)
{
	f->description = get_u64(in);
	f->texts = get_u64(in + 8);
	f->table = get_u64(in + 16);
	f->index = get_u64(in + 24);
	f->samples = get_u64(in + 32);
	f->chunks = get_u64(in + 40);
	f->size = get_u64(in + 48);
	f->hash = get_u64(in + FOOTER_HASHED);
}

uint64_t record_footer_hash(const uint8_t preamble[PREAMBLE_BYTES], const void *tail, size_t n,
                            const uint8_t footer[FOOTER_BYTES])
{
	struct hash_state *h = hash_new();
	uint64_t v;
	hash_update(h, preamble, PREAMBLE_BYTES);
	hash_update(h, tail, n);
	hash_update(h, footer, FOOTER_HASHED);
	v = hash_value(h);
	hash_free(h);
	return v;
}

uint64_t record_hash_stored(const struct record_chunk *c, const void *stored)
{
	return c->codec == RECORD_RAW ? 0 : hash_bytes(stored, c->stored, 0);
}

uint64_t record_chunk_hash(int64_t sample, int array, int64_t chunk, uint64_t content,
                           uint64_t stored)
{
	uint8_t all[40];
	put_all(all, (uint64_t[]){ content, stored, (uint64_t)sample, (uint64_t)array,
	                          (uint64_t)chunk }, 5);
	return hash_bytes(all, sizeof all, 0);
}
