/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How far a conversion is, on a terminal: how many samples, how fast, how long yet. */
#ifndef DLX_DATA_TOOLS_CONVERT_PROGRESS_H
#define DLX_DATA_TOOLS_CONVERT_PROGRESS_H

#include "data-tools/convert/convert_piece.h"

struct convert_progress;

/* Shows nothing where the standard output is no terminal, or c says --quiet or --separate. done:
 * the samples that are complete before it begins. */
struct convert_progress *convert_progress_new(const struct conversion *c, int64_t done);
/* A piece is written. */
void convert_progress_add(struct convert_progress *p, const struct piece *piece);
void convert_progress_free(struct convert_progress *p);     /* NULL is fine */

#endif
