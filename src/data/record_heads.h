/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What opening record files reads of them, so that it need not be read again: one rank notes the
 * bytes while it opens files, and others open the same files by them; and a folder keeps them for
 * later runs, each for as long as the file's device, inode, size and times are the same.
 * All calls are for the thread that opens files. */
#ifndef DLX_DATA_RECORD_HEADS_H
#define DLX_DATA_RECORD_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buf.h"

/* From now on record_open appends what it has read to `out`; NULL: no longer. */
void record_heads_note(struct buf *out);
/* From now on record_open takes what `from` has of files of the same name and size; it stays the
 * caller's; NULL: no longer. */
void record_heads_use(const struct buf *from);
/* From now on record_open finds what it has read in files whose names begin with prefix, which is
 * copied, or leaves it there if that is possible; NULL: no longer. */
void record_heads_keep(const char *prefix);

/* --- for record_open --- */

/* st: of the file. tail: from byte `at` to the end of the file. */
void record_head_note(const char *path, const struct stat *st, const uint8_t *preamble,
                      const uint8_t *tail, uint64_t at);
/* What is known of a file, until the next call; NULL: nothing. */
const char *record_head_find(const char *path, const struct stat *st);
/* The n bytes from byte `at` on; false if it does not have them. */
bool record_head_read(const char *head, uint64_t at, void *p, size_t n);

#endif
