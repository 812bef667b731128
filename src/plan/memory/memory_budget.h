/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory that a run is given and what it will take, before anything is allocated: of the
 * machine, or of a GPU and, for batches and copies of the state, of the machine that it is in. */
#ifndef DLX_PLAN_MEMORY_BUDGET_H
#define DLX_PLAN_MEMORY_BUDGET_H

#include "plan/session.h"

struct memory_budget {
	int64_t have;                    /* bytes that the run may still take; 0: nothing says */
	int64_t all;                     /* that and what it has taken already */
	int64_t now;                     /* what of `have` no other process has at the moment */
	const char *by, *by_now;         /* "machine", "control group", "GPU": what says so */
	int64_t total, reserve;          /* of a GPU, else 0: what it has; what of
	                                  * that is left to its libraries */
};

/* What plans need on their device. */
struct memory_need {
	int64_t fixed;                   /* parameters, states, inputs, constants, all-reduces */
	int64_t arena;
};

/* What s's device can give to plans. */
void memory_budget_get(const struct session *s, struct memory_budget *r);
/* What p, made for s or much like its plans, adds to what is there. */
struct memory_need memory_need(const struct session *s, const struct plan *p);
/* What all that s has planned takes on its device once it is bound, in bytes. */
struct memory_parts {
	int64_t values;                  /* parameters and states, but those
	                                  * that are among the sums */
	int64_t inputs;                  /* and constants */
	int64_t arena;
	int64_t sums;                    /* over ranks */
	int64_t tables;                  /* of kernels, which are there since they were planned */
};
void memory_parts(const struct session *s, struct memory_parts *p);
int64_t memory_budget_run(const struct session *s); /* all of them */
/* Bytes of host memory that a run on a device with a memory of its own takes for batches and, on
 * rank 0, checkpoints. */
int64_t memory_budget_host(const struct session *s);
/* E_TOO_LARGE, with a table and what helps, where p is more than there is. On a CPU that is the
 * memory of the whole machine, or control group: others may give back what they have now. */
int memory_budget_check(const struct session *s, const struct plan *p);
/* Says so where what s has planned fits, but not into what other processes leave now. */
void memory_budget_warn(const struct session *s);
/* Keys for an object of JSON, each with ", " in front of it. */
void memory_budget_json(const struct session *s, struct buf *out);

#endif
