/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A table of the chunks in a store's packs, by address. */
#ifndef DLX_DATA_TOOLS_CKPT_CHUNKS_H
#define DLX_DATA_TOOLS_CKPT_CHUNKS_H

#include "ckpt/packs.h"

struct chunk_entry {
	struct hash128 address;
	uint32_t raw, stored;          /* bytes of the chunk, decompressed and as stored */
	int pack;
	enum { CHUNK_UNREAD, CHUNK_INTACT, CHUNK_DAMAGED } state;    /* set by the caller */
};

struct chunk_table;
/* If several packs have a chunk, the table has the first. */
struct chunk_table *chunk_table_new(const struct packs *p);
void chunk_table_free(struct chunk_table *t);
/* The chunk with this address; NULL: no pack has it. */
struct chunk_entry *chunk_table_find(const struct chunk_table *t, struct hash128 address);

#endif
