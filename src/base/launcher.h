/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Information from the launcher and the batch scheduler: this process's rank, the number of
 * processes and hosts, the job, and its remaining time. All of it is read from environment
 * variables, by the tables in launcher.c; only the remaining time may need a query to the
 * scheduler. */
#ifndef DLX_BASE_LAUNCHER_H
#define DLX_BASE_LAUNCHER_H

#include <stdbool.h>

struct launcher_place {
	const char *launcher;        /* "slurm", "open mpi", ...; NULL: none, one process */
	int rank, size;              /* 0 of 1 without a launcher */
	int local_rank, local_size;  /* this rank's number among the ranks of its host; -1: unknown */
	int host, hosts;             /* -1: unknown */
	const char *variable;        /* the environment variable that contains the rank; NULL without a
	                              * launcher */
};
void launcher_place(struct launcher_place *out);

struct launcher_job {
	const char *scheduler;       /* "slurm", "lsf", "pbs", "flux" */
	const char *id;
	const char *element;         /* index in a job array; NULL: no array */
	int restarts;                /* how often the scheduler has restarted it; 0 if it does not
	                              * count */
};
/* False outside of batch jobs. The texts are the environment's. */
bool launcher_job(struct launcher_job *out);

/* Seconds until the scheduler ends the job; INFINITY if there is no limit or it is unknown. Taken
 * from DLX_JOB_END (seconds since 1970), from the scheduler's environment variables, else by a
 * query to the scheduler, which takes milliseconds to five seconds: call it once, on one rank. */
double launcher_time_left(void);

#endif
