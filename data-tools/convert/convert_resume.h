/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Resumes a conversion that was killed. The samples in its journal are verified by their hashes;
 * the first sample that is missing or damaged, and all later ones, are converted again. */
#ifndef DLX_DATA_TOOLS_CONVERT_RESUME_H
#define DLX_DATA_TOOLS_CONVERT_RESUME_H

#include "data-tools/convert/convert_files.h"
#include "data-tools/convert/convert_journal.h"

/* A hash of all that the output depends on: options, sources with their order and modification
 * times, versions. */
uint64_t resume_identity(const struct conversion *c);
/* Takes over the complete samples to f, and adds their counts to *counts. *done: the number of
 * these samples. */
int resume_take(struct files *f, struct journal *j, const struct conversion *c, int64_t *done,
                struct piece_counts *counts);
/* The record's metadata of the sample at index `at` of c->sample. */
struct record_sample resume_sample(const struct conversion *c, int64_t at,
                                   const struct shape shape[2]);

#endif
