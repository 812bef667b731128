/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables in the dialect of RFC 4180, but for line ends, which are newlines alone. */
#ifndef DLX_REPORT_CSV_H
#define DLX_REPORT_CSV_H

#include "base/buf.h"

/* Appends a text as a field: in quotes where it has to be. */
void csv_text(struct buf *b, const char *text);

#endif
