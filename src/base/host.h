/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The resources of this machine for this process.
 * DLX_DEBUG=host_root=DIR, for tests, is prepended to /proc and /sys. */
#ifndef DLX_BASE_HOST_H
#define DLX_BASE_HOST_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of memory: what the machine says is available now, and no more than the limit of any
 * control group (v1 and v2) that this process is in. 0 where nothing says. by: "machine" or
 * "control group", whichever is less. */
int64_t host_memory(const char **by);

/* The same of all memory there is, free or not: more than that never fits. */
int64_t host_memory_whole(const char **by);

/* A whole number from 0 to INT_MAX in an environment variable, or -1: another text, or none. NULL
 * is no variable. */
int host_number(const char *variable);

/* Whole processors that the control groups (v1 and v2) let this process use at a time, at least 1;
 * 0 where nothing limits it. More threads than that would stand still together for the rest of each
 * period. */
int host_processor_quota(void);

/* Processors that are this process's own: those it may run on, or its quota or SLURM_CPUS_PER_TASK
 * where that is less, shared with whom it shares them; at least 1. What it may run on is what it
 * might at the first call, before threads are bound. */
int host_processors(void);

/* What this process has had of its processors, as counted by the system since it began; NaN: not
 * known. Two such tell what happened between them. */
struct host_load {
	double cpu_seconds;          /* of all its threads, user and system */
	double queued_seconds;       /* its threads were ready, but had no processor */
	double involuntary;          /* times that a thread was made to give up its processor */
	double periods, throttled_periods, throttled_seconds;    /* of its control groups (v1, v2) */
	double load;                 /* threads of the machine that were ready or ran, the mean of the
	                              * last minute: no count */
};
void host_load(struct host_load *out);

/* How many processes of this run, this one included, use the very same processors: each takes its
 * share. 1 unless it is set. */
void host_share(int processes);

#endif
