/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What opening record files reads of them, so that one rank can read it for all: it notes the bytes
 * while it opens files, and others open the same files by them. A file of another size than was
 * noted is read itself. All calls are for the thread that opens files. */
#ifndef DLX_DATA_RECORD_HEADS_H
#define DLX_DATA_RECORD_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* From now on record_open appends what it has read to `out`; NULL: no longer. */
void record_heads_note(struct buf *out);
/* From now on record_open takes what `from` has, which stays the caller's; NULL: no longer. */
void record_heads_use(const struct buf *from);

/* --- for record_open --- */

/* tail: from byte `at` to the end of the file. */
void record_head_note(const char *path, uint64_t size, const uint8_t *preamble,
                      const uint8_t *tail, uint64_t at);
/* What is known of a file; NULL: nothing. */
const char *record_head_find(const char *path, uint64_t size);
/* The n bytes from byte `at` on; false if it does not have them. */
bool record_head_read(const char *head, uint64_t at, void *p, size_t n);

#endif
