/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The resources of this machine for this process.
 * DLX_DEBUG=host_root=DIR, for tests, is prepended to /proc and /sys. */
#ifndef DLX_BASE_HOST_H
#define DLX_BASE_HOST_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of memory available now: the machine's, limited by the control groups (v1 and v2) of this
 * process. 0 if unknown. *by: which of them is the lower limit, "machine" or "control group". */
int64_t host_memory(const char **by);

/* The same for all memory, used or not: an upper bound on what can ever be allocated. */
int64_t host_memory_whole(const char **by);

/* The value of an environment variable as an integer from 0 to INT_MAX; -1 if it is unset or
 * another text, or if variable is NULL. */
int host_number(const char *variable);

/* The CPU quota of the control groups (v1 and v2) in whole processors, at least 1; 0: no quota. If
 * more threads ran than that, the system would stop all of them for the rest of each period. */
int host_processor_quota(void);

/* The number of processors for this process, at least 1: those in its affinity mask, limited by its
 * quota and SLURM_CPUS_PER_TASK, divided by the number of processes that use the same ones
 * (host_share). The mask is read at the first call, before threads are bound. */
int host_processors(void);

/* Counters of the system on this process's use of processors, from its start; NaN: unknown. The
 * difference of two readings describes the time between them. */
struct host_load {
	double cpu_seconds;          /* of all its threads, user and system */
	double queued_seconds;       /* time in which threads were ready but had no processor */
	double involuntary;          /* number of involuntary context switches */
	double periods, throttled_periods, throttled_seconds;    /* quota periods of its control groups
	                                                          * (v1, v2): all; those in which it was
	                                                          * throttled; seconds throttled */
	double load;                 /* the machine's load average of the last minute (not a counter) */
};
void host_load(struct host_load *out);

/* Sets how many processes of this run, this one included, use the same processors, so that
 * host_processors divides them. 1 by default. */
void host_share(int processes);

#endif
