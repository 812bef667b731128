/* SPDX-License-Identifier: BSD-3-Clause
 *
 * --replay: repeats the steps between two checkpoints, and checks that the result equals the second
 * one to the last bit. The steps are made in memory; the run's folder is only read. */
#ifndef DLX_TRAIN_REPLAY_VERSIONS_H
#define DLX_TRAIN_REPLAY_VERSIONS_H

#include "plan/session.h"

struct replay_range {
	char *from, *to;               /* names of the two checkpoints, as in ckpt_load; from NULL: the
	                                * run's beginning */
};
/* Parses "A..B"; A may be 0, the beginning. E_USAGE. */
int replay_range_parse(struct replay_range *out, const char *text);
void replay_range_release(struct replay_range *r);        /* a zeroed one is fine */

/* s must be opened with SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN. first: also compares with
 * each kept checkpoint in between, and ends at the first that differs. Appends a report to out on
 * rank 0, and sets *differs on all ranks. E_NOINPUT if there is no such checkpoint, E_USAGE if `to`
 * is not after `from`. Collective. */
int replay_versions(struct session *s, const struct replay_range *r, bool first, struct buf *out,
                    bool *differs);

#endif
