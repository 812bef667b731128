/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processes of one run. Every process (rank) holds the same plan, so the ranks need no
 * coordination: all ranks call the collectives in the same order, and a deadline on each wait
 * turns a rank that died or hangs into one report and an end.
 *
 * Without a launcher there is one rank and no library is loaded. Under one (mpiexec, srun with a
 * PMI), the MPI library that dlx was configured with is opened at run time.
 *
 * DLX_DEBUG=join_timeout=SECONDS sets how long ranks wait for each other to join, in place of the
 * timeout given to comm_open. DLX_DEBUG=ranks_per_host=N pretends that the ranks of a host are on
 * several, N on each. */
#ifndef DLX_COMM_COMM_H
#define DLX_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comm {
	int rank, size;                    /* among all processes */
	int local_rank, local_size;        /* among the processes of this host */
	int host, hosts;                   /* hosts are counted in the order of their first rank */
	char host_name[64];
	const char *library;               /* "MPICH 4.0.2"; NULL: one process */
	double timeout;                    /* seconds that a wait may take (parallel.timeout) */
	struct comm_state *state;          /* the implementation's */
};

/* Joins the other processes of the launcher, if there is one. timeout: seconds that a wait may
 * take, 0 if that is not known yet; joining may take ten seconds at least, since processes do not
 * start at the same moment, and five minutes at most. E_UNAVAILABLE with the remedy: started by a
 * launcher whose interface is not there (srun --mpi=none) or is another MPI's, the MPI library
 * cannot be loaded, or it is one without threads. One process: always works. */
int comm_open(struct comm **out, double timeout);
/* NULL is fine. Collective; after an error on this rank alone comm_abort ends the job instead. */
void comm_close(struct comm *c);
/* Makes a team, a communicator of the ranks of c that pass the same colour (>= 0), numbered from 0
 * in their order in c. c has at least two ranks; it may be a team itself. Reports use the numbers
 * of all ranks, whose comm_counts also counts the team's communication. Collective over c;
 * comm_subgroup_close over the team. The communicator of all ranks must live longer. */
void comm_subgroup(struct comm **out, struct comm *c, int colour);
void comm_subgroup_close(struct comm *part);     /* NULL is fine */
/* The number among all ranks of rank r of the team c. */
int comm_whole_rank(const struct comm *c, int r);
/* The number of this rank among all processes of its host, also those of other teams. */
int comm_host_place(const struct comm *c);
/* Call when teams meet that have not made the same number of collectives since they parted, by
 * which a report counts the missing ranks. Collective over the communicator of all ranks c. */
void comm_rejoin(struct comm *c);
/* For a team that goes on after a failure which all of its ranks know: rank 0 prints again. */
void comm_forget_failure(struct comm *c);
/* Ends all ranks with this exit status. The error has been printed before; a rank that does not
 * print it (comm_prints) gives the printing rank time to do so. */
_Noreturn void comm_abort(struct comm *c, int status);

/* --- for set-up and between steps: collective and blocking. At the deadline they print a report
 * and end the job; `what` names the purpose in that report ("the size of the plan"). With one rank
 * they do nothing. --- */

/* All ranks learn whether one failed: rc is this rank's (0 or a code with its record in
 * base/err.h). Returns 0 if all gave 0. If this rank failed: its own code; if another did: that
 * rank's code, with a record "rank R (host H) failed: TEXT" of the first such rank's first line.
 * comm_prints is then true on that first rank only. */
int comm_agree(struct comm *c, int rc, const char *what);
/* Whether this rank prints the error that comm_agree or
 * reducer_wait found; where none was found, rank 0 prints. */
bool comm_prints(const struct comm *c);
/* Whether another rank reports the error that this rank has found too (a sum that did not
 * complete). */
bool comm_told(const struct comm *c);
void comm_broadcast(struct comm *c, void *p, size_t bytes, int root, const char *what);
/* all: size * bytes, by rank. */
void comm_all_gather(struct comm *c, const void *mine, size_t bytes, void *all, const char *what);
/* Sums in the order of the ranks: the same bits on all of them. */
void comm_sum(struct comm *c, double *v, int64_t n, const char *what);
void comm_max(struct comm *c, double *v, int64_t n, const char *what);
void comm_barrier(struct comm *c, const char *what);

/* The MPI that was configured, for --version: "MPICH 4.0.2 (libmpich.so.12)"; NULL if none was.
 * Loads nothing. */
const char *comm_library(void);

/* Counts of this rank's communication, so that a test can
 * see that nothing grows outside the plan. */
struct comm_counts {
	int64_t setup_collectives;
	int64_t step_reductions;           /* starts of buckets, over all reducers */
	int64_t messages;                  /* messages given to MPI in steps; 0 with one host */
	double bytes;                      /* of buckets */
};
struct comm_counts comm_counts(const struct comm *c);

/* These three accept NULL, which stands for a single process. */
static inline bool comm_many(const struct comm *c)
{
	return c && c->size > 1;
}

static inline int comm_count(const struct comm *c)
{
	return c ? c->size : 1;
}

/* True on rank 0 and in a single process: the rank that writes files and prints. */
static inline bool comm_first(const struct comm *c)
{
	return !c || c->rank == 0;
}

#endif
