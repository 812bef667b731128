/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Replaces world.c in a build without MPI: one process works, several are refused. */
#include <stdlib.h>

#include "base/err.h"
#include "comm/across.h"
#include "comm/exchange_mpi.h"
#include "comm/fetch.h"
#include "comm/world.h"

int world_join(struct comm *c, const struct launched *by)
{
	return ERR(E_UNAVAILABLE, NULL,
	           "%s started several processes, but this dlx-train was built without MPI; "
	           "start one, or build it where mpicc is found", by->by);
}

const char *world_library(void)
{
	return NULL;
}

void world_leave(const struct comm *c)
{
}

void world_subgroup(struct comm *c, const struct comm *whole, int colour)
{
	BUG("no MPI");
}

void world_subgroup_leave(const struct comm *c)
{
}

_Noreturn void world_abort(struct world *w, int status)
{
	exit(status);
}

int world_broadcast(struct comm *c, void *p, size_t bytes, int root)
{
	BUG("no MPI");
}

int world_all_gather(struct comm *c, const void *mine, size_t bytes, void *all)
{
	BUG("no MPI");
}

int world_barrier(struct comm *c)
{
	BUG("no MPI");
}

int world_host_barrier(struct comm *c)
{
	BUG("no MPI");
}

int world_share(struct comm *c, size_t bytes, struct world_memory **out, void **p)
{
	BUG("no MPI");
}

void world_unshare(struct world_memory *m)
{
}

/* --- across.h --- */

int across_shards(struct comm *c)
{
	BUG("no MPI");
}

int across_new(struct across **out, struct comm *c, const int64_t *most,
               const struct reducer_bucket *bucket, int buckets, int shards)
{
	BUG("no MPI");
}

void across_free(struct across *a)
{
}

void across_start(struct across *a, int k, void *p, int64_t n)
{
	BUG("no MPI");
}

bool across_test(struct across *a, int k)
{
	BUG("no MPI");
}

/* --- exchange_mpi.h --- */

int exchange_mpi_new(struct exchange *x)
{
	return 0;
}

void exchange_mpi_free(struct exchange *x)
{
}

bool exchange_mpi_room(const struct exchange_end *e)
{
	BUG("no MPI");
}

bool exchange_mpi_came(const struct exchange_end *e)
{
	BUG("no MPI");
}

void *exchange_mpi_place(const struct exchange_end *e)
{
	BUG("no MPI");
}

void exchange_mpi_send(struct exchange *x, struct exchange_end *e)
{
	BUG("no MPI");
}

void exchange_mpi_taken(struct exchange_end *e)
{
	BUG("no MPI");
}

bool exchange_mpi_pending(void)
{
	return false;
}

void exchange_mpi_progress(void)
{
}

/* --- fetch.h --- */

int fetch_open(struct fetch **out, struct comm *c, int threads, fetch_answer *answer, void *self)
{
	BUG("no MPI");
}

void fetch_give_up(struct fetch *f)
{
}

void fetch_close(struct fetch *f, bool alone)
{
}

int fetch_ask(struct fetch *f, int rank, const struct fetch_range *range, void *p)
{
	BUG("no MPI");
}

struct fetch_counts fetch_counts(const struct fetch *f)
{
	return (struct fetch_counts){ 0 };
}
