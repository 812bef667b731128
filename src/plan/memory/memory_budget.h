/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory that is available to a run, and the memory that it will take, computed before anything
 * is allocated. It is that of the machine or, on a GPU, that of the GPU for plans and that of its
 * host for batches and copies of the state. */
#ifndef DLX_PLAN_MEMORY_BUDGET_H
#define DLX_PLAN_MEMORY_BUDGET_H

#include "plan/session.h"

struct memory_budget {
	int64_t have;                    /* bytes that the run may still take; 0: unknown */
	int64_t all;                     /* `have` and the bytes that the run has already taken */
	int64_t now;                     /* bytes of `have` that no other process uses at the moment */
	const char *by, *by_now;         /* what limits `have` and `now`: "machine", "control group",
	                                  * "GPU" */
	int64_t total, reserve;          /* on a GPU, else 0: its bytes; bytes of it that are left to
	                                  * its libraries */
};

/* Bytes that plans need on their device. */
struct memory_need {
	int64_t fixed;                   /* parameters, states, inputs, constants, all-reduces */
	int64_t arena;
};

/* Gets the memory that s's device can give to plans. */
void memory_budget_get(const struct session *s, struct memory_budget *r);
/* The memory that p, a plan of s or one similar, needs in addition to what is already allocated. */
struct memory_need memory_need(const struct session *s, const struct plan *p);
/* The bytes that all plans of s together take on its device once they are bound. */
struct memory_parts {
	int64_t values;                  /* parameters and states, without those that are part of
	                                  * `sums` */
	int64_t inputs;                  /* inputs and constants */
	int64_t arena;
	int64_t sums;                    /* buckets for all-reduces over ranks, and messages */
	int64_t tables;                  /* tables of kernels, which planning has already allocated */
};
void memory_parts(const struct session *s, struct memory_parts *p);
int64_t memory_budget_run(const struct session *s); /* the sum of these members */
/* The bytes of `sums` that are for the messages between the ranks of a sample. */
int64_t memory_messages(const struct session *s);
/* Bytes of host memory that a run on a device with a memory of its own takes for batches and, on
 * rank 0, checkpoints. */
int64_t memory_budget_host(const struct session *s);
/* E_TOO_LARGE, with a table and advice, if p needs more than the available memory. On a CPU that is
 * the whole memory of the machine or control group, since other processes may free what they use
 * now. */
int memory_budget_check(const struct session *s, const struct plan *p);
/* Warns if s's plans fit in the whole memory, but not in the part that other processes leave free
 * now. */
void memory_budget_warn(const struct session *s);
/* Appends members of a JSON object, each after ", ". */
void memory_budget_json(const struct session *s, struct buf *out);

#endif
