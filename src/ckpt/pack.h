/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An image in memory to a zstd file and back. The file is a row of frames of PACK_CHUNK raw bytes
 * each, with content size and checksum, so that `zstd -d` reads it and damage can be placed. */
#ifndef DLX_CKPT_PACK_H
#define DLX_CKPT_PACK_H

#include "ckpt/manifest.h"

#define PACK_CHUNK ((size_t)4 << 20)

struct packer;                         /* working memory, reused from file to file */

struct packer *packer_new(int level);
void packer_free(struct packer *p);    /* NULL is fine */
/* Writes n bytes at raw to path, durable on return, and describes the file in *out. E_IO,
 * E_CANTCREATE; nothing is left then. */
int pack_file(struct packer *p, const char *path, const void *raw, size_t n,
              struct manifest_file *out);
/* The image of path in new memory (mem_map of expect->raw_bytes, the caller's), only if every byte
 * is as the manifest says; else E_DATA with the place. E_NOMEM, E_IO. */
int unpack_file(void **raw, const char *path, const struct manifest_file *expect);

#endif
