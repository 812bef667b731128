/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the program that started this process says of it: which of how many processes it is, on
 * which host of how many, of which job, and how long the job may still run. All of it comes from
 * the environment, by the tables in launcher.c; only the time that is left may take a question to
 * the scheduler. */
#ifndef DLX_BASE_LAUNCHER_H
#define DLX_BASE_LAUNCHER_H

#include <stdbool.h>

struct launcher_place {
	const char *launcher;        /* "slurm", "open mpi", ...; NULL: none, one process */
	int rank, size;              /* 0 of 1 without a launcher */
	int local_rank, local_size;  /* this rank's number among the ranks of its host; -1: unknown */
	int host, hosts;             /* -1: unknown */
	const char *variable;        /* of the environment, that has the
	                              * rank; NULL without a launcher */
};
void launcher_place(struct launcher_place *out);

struct launcher_job {
	const char *scheduler;       /* "slurm", "lsf", "pbs", "flux" */
	const char *id;
	const char *element;         /* of a job array; NULL: none */
	int restarts;                /* how often the scheduler started it again;
	                              * 0 where it does not count */
};
/* False outside of batch jobs. The texts are the environment's. */
bool launcher_job(struct launcher_job *out);

/* Seconds until the job is ended; INFINITY if nothing limits it or says so. By DLX_JOB_END (seconds
 * since 1970), by what the
 * scheduler put into the environment, else by asking it, which takes milliseconds to five seconds:
 * call it once, on one rank. */
double launcher_time_left(void);

#endif
