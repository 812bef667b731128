/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a conversion that was killed has written: a file OUTPUT.journal next to its output, which
 * lists the record files that were begun, as FILE.part, and the samples that are complete in them,
 * in their order. It is there while the conversion runs, and one process at a time has it. */
#ifndef DLX_DATA_TOOLS_CONVERT_JOURNAL_H
#define DLX_DATA_TOOLS_CONVERT_JOURNAL_H

#include "data-tools/convert/convert_piece.h"

struct journal;

struct journal_sample {
	struct shape shape[2];
	struct piece_counts counts;
	int64_t nchunks;
};

/* what: a hash of all that the content depends on. resume: what is there is kept, if it is of this
 * conversion (E_USAGE), else it is removed. E_CANTCREATE where another process has it. */
int journal_open(struct journal **out, const char *output, uint64_t what, bool resume);
/* Removes it if rc is 0, or if what is complete is not to be kept; frees j, which may be NULL. */
void journal_close(struct journal *j, int rc);

/* The next sample that was complete, and its chunks in memory that is good until the next call;
 * false after the last. */
bool journal_next(struct journal *j, struct journal_sample *out,
                  const struct record_chunk **chunks);
/* From the first one again. */
void journal_rewind(struct journal *j);
/* What follows the first n samples is forgotten; before the first of the following. */
int journal_cut(struct journal *j, int64_t n);

int journal_add_file(struct journal *j, const char *path);
int journal_add(struct journal *j, const struct journal_sample *s,
                const struct record_chunk *chunks);

/* For a process whose child was killed by a signal: removes what it has left. */
void journal_forget(const char *output);

#endif
