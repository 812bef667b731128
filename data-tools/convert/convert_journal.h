/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The journal of a conversion, from which a killed conversion can resume: a file OUTPUT.journal in
 * the folder of the output. It lists the record files that were begun, as FILE.part, and the
 * complete samples in them, in order. It exists while the conversion runs, and is locked by that
 * process. */
#ifndef DLX_DATA_TOOLS_CONVERT_JOURNAL_H
#define DLX_DATA_TOOLS_CONVERT_JOURNAL_H

#include "data-tools/convert/convert_piece.h"

struct journal;

struct journal_sample {
	struct shape shape[2];
	struct piece_counts counts;
	int64_t nchunks;
};

/* what: a hash of all that the output depends on. resume: continue an existing journal, which must
 * have the same hash (else E_USAGE); without it, an existing journal is removed. E_CANTCREATE if
 * another process has locked it. */
int journal_open(struct journal **out, const char *output, uint64_t what, bool resume);
/* Removes the journal if rc is 0, or if the complete samples must not be kept. Frees j, which may
 * be NULL. */
void journal_close(struct journal *j, int rc);

/* Gets the next complete sample, and its chunks in memory that is valid until the next call; false
 * after the last. */
bool journal_next(struct journal *j, struct journal_sample *out,
                  const struct record_chunk **chunks);
/* Restarts journal_next at the first sample. */
void journal_rewind(struct journal *j);
/* Removes all samples after the first n. Call it before a sample is added. */
int journal_cut(struct journal *j, int64_t n);

int journal_add_file(struct journal *j, const char *path);
int journal_add(struct journal *j, const struct journal_sample *s,
                const struct record_chunk *chunks);

/* Removes the files of a child process that was killed by a signal. */
void journal_forget(const char *output);

#endif
