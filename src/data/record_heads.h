/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cache of the metadata that record_open reads, so that it need not be read again. One rank
 * collects the bytes while it opens files, and other ranks open the same files from them. A folder
 * keeps them for later runs, as long as the file's device, inode, size and times are the same. All
 * functions must be called in the thread that opens files. */
#ifndef DLX_DATA_RECORD_HEADS_H
#define DLX_DATA_RECORD_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"

/* From now on record_open appends the metadata that it has read to `out`; NULL: no longer. */
void record_heads_note(struct buf *out);
/* From now on record_open uses the metadata in `from` for files with the same name and size; `from`
 * is borrowed. NULL: no longer. */
void record_heads_use(const struct buf *from);
/* From now on record_open looks for metadata in cache files whose names begin with prefix (copied),
 * and writes it there if it was missing. NULL: no longer. */
void record_heads_keep(const char *prefix);

/* --- for record_open --- */

/* Adds the metadata of a file to the cache. st: of the file. tail: its bytes from byte `at` to the
 * end. */
void record_head_note(const char *path, const struct stat *st, const uint8_t *preamble,
                      const uint8_t *tail, uint64_t at);
/* The cached metadata of a file, valid until the next call; NULL: none. */
const char *record_head_find(const char *path, const struct stat *st);
/* Copies the n bytes of the file from byte `at` on; false if the cache does not have them. */
bool record_head_read(const char *head, uint64_t at, void *p, size_t n);

#endif
