/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which runs can be compared: what a speed-up or an efficiency would be of. */
#ifndef DLX_DATA_TOOLS_ALIKE_H
#define DLX_DATA_TOOLS_ALIKE_H

#include "data-tools/report/runs.h"

/* Each NULL, or one line that says why not, in the arena. What a run does not say is no
 * difference. */
struct likeness {
	const char *work;            /* one sample is not the same work: nothing can be compared */
	const char *ranks;           /* more than the number of ranks differs: an
	                              * efficiency would be of that too */
};
void alike_find(struct likeness *out, struct arena *a, const struct run *run,
                const struct run *base);

#endif
