/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "--bench": timed training steps on in-memory data after warm-up, as one line of JSON. */
#ifndef DLX_TRAIN_BENCH_H
#define DLX_TRAIN_BENCH_H

#include "plan/session.h"

/* Times `steps` steps and appends the line to out. The line covers all ranks and shows their
 * differences. s needs SESSION_TRAIN | SESSION_RUN. profile: adds a profile to the line, and
 * appends it as text to `tables` (plan/time/profile.h). Collective. */
int bench(struct session *s, int64_t steps, bool profile, struct buf *out, struct buf *tables);

#endif
