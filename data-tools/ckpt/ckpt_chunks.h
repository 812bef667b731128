/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chunks of a store's packs by their address. */
#ifndef DLX_DATA_TOOLS_CKPT_CHUNKS_H
#define DLX_DATA_TOOLS_CKPT_CHUNKS_H

#include "ckpt/packs.h"

struct chunk_entry {
	struct hash128 address;
	uint32_t raw, stored;          /* bytes */
	int pack;
	enum { CHUNK_UNREAD, CHUNK_INTACT, CHUNK_DAMAGED } state;    /* for the caller */
};

struct chunk_table;
/* Of a chunk that several packs have the first counts. */
struct chunk_table *chunk_table_new(const struct packs *p);
void chunk_table_free(struct chunk_table *t);
/* NULL: no pack has it. */
struct chunk_entry *chunk_table_find(const struct chunk_table *t, struct hash128 address);

#endif
