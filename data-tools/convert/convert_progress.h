/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shows the progress of a conversion on a terminal: the number of samples, the rate, and the
 * remaining time. */
#ifndef DLX_DATA_TOOLS_CONVERT_PROGRESS_H
#define DLX_DATA_TOOLS_CONVERT_PROGRESS_H

#include "data-tools/convert/convert_piece.h"

struct convert_progress;

/* Shows nothing if the standard output is not a terminal, or with --quiet or --separate. done:
 * number of samples that a resumed conversion has already completed. */
struct convert_progress *convert_progress_new(const struct conversion *c, int64_t done);
/* Counts a written piece. */
void convert_progress_add(struct convert_progress *p, const struct piece *piece);
void convert_progress_free(struct convert_progress *p);     /* NULL is fine */

#endif
