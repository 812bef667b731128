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

/* Opens the packs in root/packs; a missing folder has none. A pack with a damaged index is ignored
 * with a warning that names it; chunks that only it contains are then missing. E_IO; E_UNSUPPORTED
 * for packs of a later version, by name. */
int packs_open(struct packs **out, struct disk *d, const char *root);
void packs_close(struct packs *p);                /* NULL is fine */
/* Lists the packs again, because other processes add and remove packs. */
int packs_refresh(struct packs *p);
bool packs_has(const struct packs *p, struct hash128 address, size_t raw);
/* Reads the raw bytes of a chunk and verifies them against its address. E_DATA names the pack, the
 * byte and what is wrong, or says that the chunk is missing; E_IO; E_NOINPUT if the pack was
 * removed after the last refresh: refresh and try again. Any thread, while no packs_refresh
 * runs. */
int packs_read(const struct packs *p, struct hash128 address, void *raw, size_t n);
/* As packs_read, but refreshes itself if another process has moved the chunk to a new pack. */
int packs_read_moved(struct packs *p, struct hash128 address, void *raw, size_t n);

struct pack_stat {
	const char *name;             /* the file's name without folder; valid until the next refresh */
	uint64_t bytes;               /* of the file */
	int chunks;
};
int packs_count(const struct packs *p);
struct pack_stat packs_at(const struct packs *p, int i);
/* Chunk i of pack `pack`: its address, and its stored and raw size in bytes. */
struct pack_chunk {
	struct hash128 address;
	uint32_t stored, raw;
};
struct pack_chunk packs_chunk(const struct packs *p, int pack, int i);

/* --- a new pack --- */

struct pack_writer;

/* Begins a pack. name: the file's name without suffix, which no other save may use. level: zstd
 * level for pack_put. Nothing is visible before pack_finish. */
int pack_begin(struct pack_writer **out, struct packs *p, const char *name, int level);
/* Compresses and writes a chunk of n raw bytes, elements of `width` bytes (1: no byte planes); a
 * chunk that the pack already contains is not written again. raw must not change until the next
 * call for w: a large chunk is written while the next one is compressed, and an error in writing it
 * is returned by a later call. */
int pack_put(struct pack_writer *w, struct hash128 address, const void *raw, size_t n, int width);
/* Makes the pack durable and refreshes the packs; a pack without chunks is not kept. The names of
 * all packs that existed when this one began are durable then too. *bytes: size of the file, 0
 * without one. Frees w whatever the outcome; after an error no file is left. */
int pack_finish(struct pack_writer *w, uint64_t *bytes);
void pack_discard(struct pack_writer *w);         /* NULL is fine */

/* Copies chunk i of pack `from`, as it is stored and after verification, to the new pack. */
int pack_put_from(struct pack_writer *w, int from, int i);

/* Removes the pack with this file name, durably. The list of packs stays as it is until the next
 * refresh. */
int pack_remove(struct packs *p, const char *name);

#endif
