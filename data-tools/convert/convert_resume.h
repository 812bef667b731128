/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Goes on with a conversion that was killed: what its journal says is verified by its hashes, and
 * the first sample that is not there as it should be and all that follow are converted again. */
#ifndef DLX_DATA_TOOLS_CONVERT_RESUME_H
#define DLX_DATA_TOOLS_CONVERT_RESUME_H

#include "data-tools/convert/convert_files.h"
#include "data-tools/convert/convert_journal.h"

/* Of all that the content depends on: options, sources with their order and times, versions. */
uint64_t resume_identity(const struct conversion *c);
/* Takes over the samples that are complete into f, adds what was counted of them to counts; *done:
 * how many they are. */
int resume_take(struct files *f, struct journal *j, const struct conversion *c, int64_t *done,
                struct piece_counts *counts);
/* What a record keeps of the sample at this place in c->sample, but its data. */
struct record_sample resume_sample(const struct conversion *c, int64_t at,
                                   const struct shape shape[2]);

#endif
