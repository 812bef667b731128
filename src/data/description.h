/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The description of a record file as JSON text. Private to the record writer and reader. */
#ifndef DLX_DATA_DESCRIPTION_H
#define DLX_DATA_DESCRIPTION_H

#include "base/arena.h"
#include "base/buf.h"
#include "data/record.h"

/* description_write_arrays writes the text of a record file, with arrays and sizes;
 * description_write that of a set of samples, with the shapes of input and target. */
void description_write_arrays(struct buf *out, const struct record_info *i);
void description_write(struct buf *out, const struct record_info *i);
/* Reads n bytes at text, which are at byte `base` of `file`, into *i; strings and lists in a.
 * E_DATA. */
int description_read(struct arena *a, const char *file, size_t base, const char *text, size_t n,
                     struct record_info *i);

#endif
