/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--bench": timed training steps on in-memory data after warm-up, as one line of JSON. */
#ifndef DLX_TRAIN_BENCH_H
#define DLX_TRAIN_BENCH_H

#include "plan/session.h"

/* steps timed steps. Collective: the line is of all ranks, and shows how they differ. Appends the
 * line to out. s needs SESSION_TRAIN | SESSION_RUN. profile: the line has a profile too, and
 * `tables` gets it for people (plan/time/profile.h). */
int bench(struct session *s, int64_t steps, bool profile, struct buf *out, struct buf *tables);

#endif
