/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory against time, for "--check" and "--plan": what computing activations again would save
 * and cost, and the largest batch. */
#ifndef DLX_PLAN_SURVEY_H
#define DLX_PLAN_SURVEY_H

#include "plan/session.h"

/* The largest batches that fit, as plans of them say. 0: not even one sample; -1: nothing says
 * how much memory there is. */
struct survey_batch {
	int64_t have;                    /* bytes: the limit of the config, or what the machine offers */
	const char *by;                  /* the source of the number */
	int64_t plain, again;            /* with everything kept, and with as much as needed computed again */
};

int survey_batch(const struct session *s, struct survey_batch *b);
/* The table of s's survey; nothing without one. */
void survey_text(const struct session *s, struct buf *out);
/* Keys for an object of JSON, each with ", " in front of it. */
void survey_json(const struct session *s, struct buf *out);

#endif
