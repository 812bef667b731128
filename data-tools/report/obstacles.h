/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decides whether two runs can be compared by a speed-up or a parallel efficiency. */
#ifndef DLX_DATA_TOOLS_OBSTACLES_H
#define DLX_DATA_TOOLS_OBSTACLES_H

#include "data-tools/report/runs.h"

/* Each member is NULL, or one line of text with the obstacle, in the arena. Properties that a run
 * does not report are assumed to be equal. */
struct obstacles {
	const char *work;            /* the work of a sample differs, so nothing can be compared */
	const char *ranks;           /* more than the number of ranks differs, so an efficiency would be
	                              * misleading */
};
void obstacles_find(struct obstacles *out, struct arena *a, const struct run *run,
                    const struct run *base);

#endif
