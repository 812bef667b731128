/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A hash table with open addressing. Chunk addresses are hashes, so their lower bits serve as
 * index. */
#include "data-tools/ckpt/ckpt_chunks.h"

#include "base/mem.h"

struct chunk_table {
	size_t slots;                  /* a power of two, less than half of it used */
	struct chunk_entry *entry;     /* raw 0: free */
};

/* The entry of the address, or the free one where it belongs. */
static struct chunk_entry *slot(const struct chunk_table *t, struct hash128 address)
{
	size_t i = address.low & (t->slots - 1);
	while (t->entry[i].raw && !hash128_equal(t->entry[i].address, address))
		i = (i + 1) & (t->slots - 1);
	return &t->entry[i];
}

struct chunk_table *chunk_table_new(const struct packs *p)
{
	struct chunk_table *t = mem_calloc(1, sizeof *t);
	size_t n = 1;
	for (int i = 0; i < packs_count(p); i++)
		n += (size_t)packs_at(p, i).chunks;
	for (t->slots = 16; t->slots < 2 * n; t->slots *= 2)
		;
	t->entry = mem_calloc(t->slots, sizeof *t->entry);
	for (int i = 0; i < packs_count(p); i++)
		for (int k = 0; k < packs_at(p, i).chunks; k++) {
			const struct pack_chunk c = packs_chunk(p, i, k);
			struct chunk_entry *e = slot(t, c.address);
			if (!e->raw && c.raw)
				*e = (struct chunk_entry){ c.address, c.raw, c.stored, i, CHUNK_UNREAD };
		}
	return t;
}

void chunk_table_free(struct chunk_table *t)
{
	if (!t)
		return;
	mem_free(t->entry);
	mem_free(t);
}

struct chunk_entry *chunk_table_find(const struct chunk_table *t, struct hash128 address)
{
	struct chunk_entry *e = slot(t, address);
	return e->raw ? e : NULL;
}
