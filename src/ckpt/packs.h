/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chunks of a checkpoint store: pieces of tensors of at most CHUNK_RAW bytes, each stored once,
 * under the 128-bit hash of its raw bytes, however many versions, forks or runs refer to it.
 *
 * A save adds its new chunks as one file, a pack: one file to sync, one to remove, whatever the
 * number of chunks.
 *
 *   packs/NAME.pack, little-endian:
 *     "dlxpack2"                       format and version
 *     stored bytes of each chunk       as data/record_codec.h codes them
 *     index: 48 bytes a chunk          hash high, low; u64 offset; u32 stored, raw bytes;
 *                                      u8 codec, element width; 14 bytes of zero
 *     end: u64 index offset, u64 number of chunks, u64 XXH3 of all the index and these two,
 *          "dlxpackE", which a later version must change
 *
 * A pack is written under a temporary name, synced, renamed, its folder synced; it never changes
 * afterwards. What has a chunk's address has its bytes: every read verifies them. */
#ifndef DLX_CKPT_PACKS_H
#define DLX_CKPT_PACKS_H

#include <stdbool.h>

#include "base/disk.h"
#include "base/hash.h"

#define CHUNK_RAW ((size_t)4 << 20)
#define PACKS_FOLDER "packs"
#define PACK_SUFFIX ".pack"

struct packs;

/* The packs in root/packs; a missing folder has none. A pack that is damaged in its index is left
 * out and named in a warning: the chunks that it alone has are missing then. E_IO; E_UNSUPPORTED
 * for packs of a later version, by name. */
int packs_open(struct packs **out, struct disk *d, const char *root);
void packs_close(struct packs *p);                /* NULL is fine */
/* Looks again: other processes add packs and remove them. */
int packs_refresh(struct packs *p);
bool packs_has(const struct packs *p, struct hash128 address, size_t raw);
/* The raw bytes of a chunk, verified against its address. E_DATA names the pack, the byte and what
 * is wrong, or says that the chunk is missing; E_IO; E_NOINPUT if the pack has been removed since
 * the last refresh: look again. Any thread, while no packs_refresh runs. */
int packs_read(const struct packs *p, struct hash128 address, void *raw, size_t n);
/* The same, but looks again itself where another process has packed the chunk anew. */
int packs_read_moved(struct packs *p, struct hash128 address, void *raw, size_t n);

struct pack_stat {
	const char *name;             /* file's name without folder; valid until the next refresh */
	uint64_t bytes;               /* of the file */
	int chunks;
};
int packs_count(const struct packs *p);
struct pack_stat packs_at(const struct packs *p, int i);
/* Chunk i of pack `pack`: its address, and how many bytes it is raw and stored. */
struct pack_chunk {
	struct hash128 address;
	uint32_t stored, raw;
};
struct pack_chunk packs_chunk(const struct packs *p, int pack, int i);

/* --- a new pack --- */

struct pack_writer;

/* name: the file's, without suffix, that no other save uses. level: zstd's for pack_put. Nothing is
 * visible before pack_finish. */
int pack_begin(struct pack_writer **out, struct packs *p, const char *name, int level);
/* Codes and writes a chunk of n raw bytes, elements of `width` bytes (1: no planes); one that the
 * pack has already is written once. raw stays as it is until the next call for w: a large chunk is
 * written while the next one is coded, and its failure is that of a later call. */
int pack_put(struct pack_writer *w, struct hash128 address, const void *raw, size_t n, int width);
/* Makes it durable and refreshes the packs; without any chunk it leaves nothing. The names of all
 * packs that were there when it began are durable then. *bytes: of the file, 0 without one. Frees w
 * whatever the outcome; after an error nothing is left. */
int pack_finish(struct pack_writer *w, uint64_t *bytes);
void pack_discard(struct pack_writer *w);         /* NULL is fine */

/* The chunk as it is stored in pack `from`, verified, into the new pack. */
int pack_put_from(struct pack_writer *w, int from, int i);

/* Removes the pack whose file has this name, durably. The packs are as before until the next
 * refresh. */
int pack_remove(struct packs *p, const char *name);

#endif
