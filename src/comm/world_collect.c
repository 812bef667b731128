/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Set-up collectives: MPI's non-blocking ones, polled until
 * they are done or the deadline has passed. */
#include <limits.h>
#include <time.h>

#include "base/deadline.h"
#include "comm/world_mpi.h"

#define LOOKS 40               /* before the first sleep */
#define SHORT_NAP 20e-6
#define LONG_NAP 1e-3

static void nap(double seconds)
{
	struct timespec t = { 0, (long)(seconds * 1e9) };
	nanosleep(&t, NULL);
}

/* Whether all ranks of this host have come as far as this one. */
static bool all_here(const struct liveness *b)
{
	const int64_t own = b->n ? atomic_load(&liveness_slot(b, b->me)->entered) : 0;
	for (int i = 0; i < b->n; i++)
		if (atomic_load(&liveness_slot(b, i)->entered) < own)
			return false;
	return b->n > 0 && !liveness_halted(b);
}

static bool too_late(struct comm *c, double waited)
{
	if (waited <= c->timeout)
		return false;
	return waited > c->timeout + liveness_patience(c->host) || c->hosts == 1 ||
	       !all_here(&c->state->liveness);
}

int world_finish(struct comm *c, MPI_Request *request)
{
	struct deadline d = deadline_begin();
	double round = DEADLINE_ROUND, pause = SHORT_NAP;
	for (int looks = 0;; looks++) {
		int done;
		MPI_MUST(Test, request, &done, MPI_STATUS_IGNORE);
		if (done)
			return 0;
		if (looks < LOOKS)
			continue;
		nap(pause);
		pause = pause < LONG_NAP / 2 ? 2 * pause : LONG_NAP;
		double waited = deadline_waited(&d);
		if (too_late(c, waited))
			return 1;
		if (waited > round && liveness_gone(&c->state->liveness) >= 0)
			return 1;
		round = waited > round ? waited + DEADLINE_ROUND : round;
	}
}

/* MPI counts in int: more than fits goes in parts. */
int world_broadcast(struct comm *c, void *p, size_t bytes, int root)
{
	char *at = p;
	int rc = 0;
	while (bytes > 0 && rc == 0) {
		int part = bytes < INT_MAX ? (int)bytes : INT_MAX;
		MPI_Request r;
		MPI_MUST(Ibcast, at, part, mpi.byte, root, c->state->world->all, &r);
		rc = world_finish(c, &r);
		at += part;
		bytes -= (size_t)part;
	}
	return rc;
}

int world_all_gather(struct comm *c, const void *mine, size_t bytes, void *all)
{
	MPI_Request r;
	MPI_MUST(Iallgather, mine, (int)bytes, mpi.byte, all, (int)bytes, mpi.byte,
	         c->state->world->all, &r);
	return world_finish(c, &r);
}

int world_barrier(struct comm *c)
{
	MPI_Request r;
	MPI_MUST(Ibarrier, c->state->world->all, &r);
	return world_finish(c, &r);
}

int world_host_barrier(struct comm *c)
{
	MPI_Request r;
	MPI_MUST(Ibarrier, c->state->world->host, &r);
	return world_finish(c, &r);
}
