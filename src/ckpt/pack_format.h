/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of a pack's index; packs.h has the file as a whole. */
#ifndef DLX_CKPT_PACK_FORMAT_H
#define DLX_CKPT_PACK_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"
#include "base/hash.h"

#define PACK_MAGIC_BYTES 8
#define PACK_ENTRY_BYTES 48
#define PACK_END_BYTES 32
extern const uint8_t pack_magic[PACK_MAGIC_BYTES];

struct pack_entry {
	struct hash128 address;
	uint64_t at;
	uint32_t stored, raw;
	uint8_t codec, width;          /* enum record_codec; bytes of an element */
};

/* Appends the index and the end of a pack with n entries, whose chunks end at byte `at`, to out. */
void pack_index_put(struct buf *out, const struct pack_entry *e, int n, uint64_t at);
/* Reads the entries of the pack at path into new memory, which the caller owns. When it returns 0,
 * every entry's chunk lies within the file. E_DATA with what is wrong, E_IO, E_NOINPUT. */
int pack_index_read(struct disk *d, const char *path, struct pack_entry **out, int *n,
                    uint64_t *bytes);

#endif
