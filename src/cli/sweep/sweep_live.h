/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the user sees of a sweep: while it lasts, a line for each run that ends and, on a terminal,
 * one that is renewed for each run under way; at the end the table. Output goes to stdout. */
#ifndef DLX_CLI_SWEEP_LIVE_H
#define DLX_CLI_SWEEP_LIVE_H

#include "base/buf.h"
#include "cli/sweep/sweep_desk.h"

struct sweep_live;

/* live: on a terminal; quiet: nothing is shown. */
struct sweep_live *sweep_live_new(const struct sweep *s, const char *metric, bool rises, bool live,
                                  bool quiet);
void sweep_live_free(struct sweep_live *l);      /* NULL is fine */
/* Called under the desk's lock. */
void sweep_live_begin(struct sweep_live *l, const struct sweep_row *row, int run);
void sweep_live_end(struct sweep_live *l, const struct sweep_row *row, int run);
void sweep_live_draw(struct sweep_live *l, const struct sweep_row *row);

/* Appends the table of all runs, which of them is the best, and how many have failed. */
void sweep_table(struct buf *out, const struct sweep *s, const struct sweep_row *row,
                 const char *metric, int best, const char *dir);

#endif
