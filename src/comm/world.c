/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Joining: MPI is initialised, ranks are sorted by host, and hosts
 * counted in the order of their first ranks. MPI must allow calls
 * from several threads, since sums proceed in one of their own. */
#include "comm/world.h"

#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/mem.h"
#include "comm/watchdog.h"
#include "comm/world_mpi.h"

const char *world_library(void)
{
	return DLX_MPI_NAME " (" DLX_MPI_LIBRARY ")";
}

/* --- joining --- */

static int initialise(const struct comm *c, const struct launched *by, char *library, size_t n)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int level, length;
	TRY(mpi_library_open());
	setenv("MPIR_CVAR_SUPPRESS_ABORT_MESSAGE", "1", 0);      /* dlx prints the error itself */
	watchdog_begin(c->timeout, by->rank, "MPI_Init");
	int rc = mpi.Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
	watchdog_end();
	if (rc != MPI_SUCCESS)
		return ERR(E_UNAVAILABLE, NULL, "MPI cannot start ('%s')", DLX_MPI_LIBRARY);
	if (level < MPI_THREAD_MULTIPLE)
		return ERR(E_UNAVAILABLE, NULL,
		           "'%s' was built without MPI_THREAD_MULTIPLE, which sums beside a step need",
		           DLX_MPI_LIBRARY);
	MPI_MUST(Get_library_version, version, &length);
	version[strcspn(version, "\n")] = '\0';
	snprintf(library, n, "%s", DLX_MPI_NAME);
	/* MPICH: "MPICH Version:\t4.0.2", which may be newer than what was configured. */
	if (strncmp(version, "MPICH Version:", 14) == 0)
		snprintf(library, n, "MPICH %.40s", version + 14 + strspn(version + 14, "\t "));
	return 0;
}

static int another_mpi(const struct launched *by, int size)
{
	if (by->size <= 1 || by->size == size)
		return 0;
	return ERR(E_UNAVAILABLE, NULL,
	           "%s started %d processes, but %s, which this dlx-train was built with, "
	           "finds %d; start them with its own mpiexec%s", by->by, by->size, DLX_MPI_NAME, size,
	           getenv("SLURM_JOB_ID") ? ", or by 'srun --mpi=pmi2'" : "");
}

static void find_host(struct comm *c, struct world *w)
{
	int per_host = (int)debug.ranks_per_host, at;
	MPI_MUST(Comm_split_type, w->all, MPI_COMM_TYPE_SHARED, c->rank, mpi.no_info, &w->host);
	gethostname(c->host_name, sizeof c->host_name - 1);
	c->host_name[strcspn(c->host_name, ".")] = '\0';
	if (per_host) {
		MPI_Comm real = w->host;
		size_t used = strlen(c->host_name);
		MPI_MUST(Comm_rank, real, &at);
		MPI_MUST(Comm_split, real, at / per_host, c->rank, &w->host);
		snprintf(c->host_name + used, sizeof c->host_name - used, "-%d", at / per_host);
		MPI_MUST(Comm_free, &real);
	}
	MPI_MUST(Comm_set_errhandler, w->host, mpi.errors_return);
	MPI_MUST(Comm_rank, w->host, &c->local_rank);
	MPI_MUST(Comm_size, w->host, &c->local_size);
}

struct place {
	int leader;                  /* the first rank of the host */
	char host_name[64];
};

/* Gathers each rank's host name and first rank. */
static int find_places(struct comm *c)
{
	struct comm_state *s = c->state;
	struct place mine = { c->rank }, *all = mem_calloc((size_t)c->size, sizeof *all);
	int local = 0;
	MPI_Request r;
	memcpy(mine.host_name, c->host_name, sizeof mine.host_name);
	MPI_MUST(Ibcast, &mine.leader, sizeof mine.leader, mpi.byte, 0, s->world->host, &r);
	int rc = world_finish(c, &r);
	if (rc == 0)
		rc = world_all_gather(c, &mine, sizeof mine, all);
	s->host_of = mem_calloc((size_t)c->size, sizeof *s->host_of);
	s->local = mem_calloc((size_t)c->local_size, sizeof *s->local);
	s->host_name = mem_calloc((size_t)c->size, sizeof *s->host_name);
	c->hosts = 0;
	for (int i = 0; rc == 0 && i < c->size; i++) {
		int first = all[i].leader;
		s->host_of[i] = first == i ? c->hosts : s->host_of[first];
		if (first == i)
			memcpy(s->host_name[c->hosts++], all[i].host_name, sizeof *s->host_name);
		if (first == mine.leader)
			s->local[local++] = i;
	}
	c->host = s->host_of[c->rank];
	mem_free(all);
	return rc;
}

int world_join(struct comm *c, const struct launched *by)
{
	struct world *w = mem_calloc(1, sizeof *w);
	int rc = initialise(c, by, w->library, sizeof w->library);
	if (rc < 0) {
		mem_free(w);
		return rc;
	}
	MPI_MUST(Comm_size, mpi.world, &c->size);
	MPI_MUST(Comm_rank, mpi.world, &c->rank);
	rc = another_mpi(by, c->size);
	if (rc < 0 || c->size == 1) {
		MPI_MUST(Finalize);
		mem_free(w);
		return rc;
	}
	c->state->world = w;
	c->library = w->library;
	watchdog_begin(c->timeout, c->rank, "MPI_Comm_split");
	MPI_MUST(Comm_dup, mpi.world, &w->all);
	MPI_MUST(Comm_set_errhandler, w->all, mpi.errors_return);
	find_host(c, w);
	watchdog_end();
	if (find_places(c) != 0)
		rc = ERR(E_UNAVAILABLE, NULL, "the processes that %s started do not meet", by->by);
	return rc;
}

void world_leave(const struct comm *c)
{
	struct world *w = c->state->world;
	watchdog_begin(c->timeout, c->rank, "MPI_Finalize");
	MPI_MUST(Comm_free, &w->host);
	MPI_MUST(Comm_free, &w->all);
	MPI_MUST(Finalize);
	watchdog_end();
	mem_free(w);
}

static void split(MPI_Comm from, int colour, int rank, MPI_Comm *to)
{
	MPI_MUST(Comm_split, from, colour, rank, to);
	MPI_MUST(Comm_set_errhandler, *to, mpi.errors_return);
}

void world_subgroup(struct comm *c, const struct comm *whole, int colour)
{
	const struct world *from = whole->state->world;
	struct world *w = c->state->world = mem_calloc(1, sizeof *w);
	memcpy(w->library, from->library, sizeof w->library);
	c->library = w->library;
	watchdog_begin(c->timeout, whole->rank, "MPI_Comm_split");
	split(from->all, colour, whole->rank, &w->all);
	split(from->host, colour, whole->rank, &w->host);
	watchdog_end();
}

void world_subgroup_leave(const struct comm *c)
{
	struct world *w = c->state->world;
	MPI_MUST(Comm_free, &w->host);
	MPI_MUST(Comm_free, &w->all);
	mem_free(w);
}

_Noreturn void world_abort(struct world *w, int status)
{
	mpi.Abort(mpi.world, status);
	_exit(status);
}

/* --- memory of a host --- */

struct world_memory {
	const struct comm *c;
	MPI_Win window;
};

/* A file in /dev/shm can be made larger than the free memory;
 * a process that then touches the excess is killed. */
static int64_t room(void)
{
	struct statvfs s;
	return statvfs("/dev/shm", &s) == 0 ? (int64_t)s.f_bavail * (int64_t)s.f_frsize : INT64_MAX;
}

static int host_broadcast(struct comm *c, void *p, int bytes)
{
	MPI_Request r;
	MPI_MUST(Ibcast, p, bytes, mpi.byte, 0, c->state->world->host, &r);
	return world_finish(c, &r);
}

static int no_room(struct comm *c, size_t bytes, int64_t has)
{
	return ERR(E_NOMEM, NULL,
	           "no room for %.1f MB that the %d ranks of host %s share: /dev/shm has %.1f MB left",
	           (double)bytes / 1e6, c->local_size, c->host_name, (double)has / 1e6);
}

int world_share(struct comm *c, size_t bytes, struct world_memory **out, void **p)
{
	struct world_memory *m = mem_calloc(1, sizeof *m);
	struct { int64_t room, offset; } say = { 0 };
	void *mine, *base = NULL;
	MPI_Aint size;
	int unit;
	*out = NULL;
	say.room = room();
	int rc = host_broadcast(c, &say, sizeof say);
	if (rc == 0 && (say.room < MEM_PAGE || (uint64_t)say.room - MEM_PAGE < bytes))
		rc = no_room(c, bytes, say.room);
	if (rc == 0) {
		watchdog_begin(c->timeout, c->rank, "MPI_Win_allocate_shared");
		if (mpi.Win_allocate_shared(c->local_rank == 0 ? (MPI_Aint)(bytes + MEM_PAGE) :
		                            0, 1, mpi.no_info, c->state->world->host, &mine,
		                            &m->window) != MPI_SUCCESS)
			rc = no_room(c, bytes, say.room);
		watchdog_end();
	}
	if (rc != 0) {
		mem_free(m);
		return rc;
	}
	m->c = c;
	MPI_MUST(Win_shared_query, m->window, 0, &size, &unit, &base);
	say.offset = (int64_t)(-(uintptr_t)base % MEM_PAGE);
	rc = host_broadcast(c, &say, sizeof say);
	*out = m;
	*p = (char *)base + say.offset;
	return rc;
}

void world_unshare(struct world_memory *m)
{
	if (!m)
		return;
	watchdog_begin(m->c->timeout, m->c->rank, "MPI_Win_free");
	MPI_MUST(Win_free, &m->window);
	watchdog_end();
	mem_free(m);
}
