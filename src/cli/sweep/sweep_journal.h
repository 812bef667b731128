/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sweep.jsonl: a line for each start of the sweep, for each run that begins, is validated or ends.
 * By the thread that holds the desk's lock. */
#ifndef DLX_CLI_SWEEP_JOURNAL_H
#define DLX_CLI_SWEEP_JOURNAL_H

#include "cli/sweep/sweep_desk.h"

struct sweep_journal;

/* E_CANTCREATE if the file is there already and the sweep is not resumed. */
int sweep_journal_open(struct sweep_journal **out, const struct sweep *s, const char *dir,
                       const char *metric, bool resume);
void sweep_journal_close(struct sweep_journal *j);           /* NULL is fine */
/* What the lines of earlier starts say of the runs. Runs whose folder is gone wait again. */
void sweep_journal_read(const struct sweep_journal *j, struct sweep_row *row, bool rises);
void sweep_journal_begin(struct sweep_journal *j, int run);
void sweep_journal_value(struct sweep_journal *j, int run, int64_t step, double value);
void sweep_journal_end(struct sweep_journal *j, int run, const struct sweep_row *r);
/* 0, or E_IO if a line could not be written: every call then raises that error. */
int sweep_journal_failed(struct sweep_journal *j);

#endif
