/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening, and the set-up collectives over those of world.c. Each rank
 * counts a collective on the host's liveness table before it begins;
 * when one takes too long, ranks with a lower count are missing. */
#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "comm/launched.h"
#include "comm/meet.h"
#include "comm/ranks_text.h"
#include "comm/siblings.h"

#define JOIN_LEAST 10          /* seconds; or what join_timeout of DLX_DEBUG says */
#define JOIN_MOST 300
#define GRACE 2                /* seconds for the rank that prints, before the others end it */
#define REPORT_GRACE 10        /* seconds, if another rank is known to report: it may have to wait
                                * for a processor */
#define FORWARD 200000000      /* nanoseconds in which the launcher passes on what was printed */
#define LINGER 1000            /* milliseconds in which all ranks that a signal ends remove files */

/* --- opening --- */

/* rc: as the functions of world.h return it. */
static int met(const struct comm *c, int rc)
{
	if (rc <= 0)
		return rc;
	struct buf text = BUF_INIT;
	siblings_text(&text);
	rc = ERR(E_UNAVAILABLE, NULL, "the ranks of host %s do not meet%s", c->host_name,
	         text.len ? text.data : "");
	buf_release(&text);
	return rc;
}

static int open_liveness(struct comm *c)
{
	struct liveness *b = &c->state->liveness;
	void *slots;
	TRY(met(c, world_share(c, liveness_bytes(c->local_size), &c->state->liveness_memory, &slots)));
	*b = (struct liveness){ .slots = slots, .rank = c->state->local, .me = c->local_rank,
		.host = c->host_name };
	liveness_register(b);
	TRY(met(c, world_host_barrier(c)));
	b->n = c->local_size;
	return 0;
}

static int join(struct comm *c, const struct launched *by)
{
	if (!by->interface)
		return ERR(E_UNAVAILABLE, NULL,
		           "srun started %d tasks without an interface by which they could meet; "
		           "add '--mpi=pmi2', or start them by mpiexec", by->size);
	TRY(world_join(c, by));
	signals_linger(LINGER);
	return c->state->world ? open_liveness(c) : 0;
}

static void release(struct comm *c)
{
	struct comm_state *s = c->state;
	mem_free(s->local);
	mem_free(s->host_of);
	mem_free(s->host_name);
	mem_free(s);
	mem_free(c);
}

static double join_timeout(double timeout)
{
	if (debug.join_timeout > 0)
		return debug.join_timeout;
	return timeout <= 0 || timeout > JOIN_MOST ? JOIN_MOST : timeout < JOIN_LEAST ? JOIN_LEAST :
	       timeout;
}

int comm_open(struct comm **out, double timeout)
{
	struct comm *c = mem_calloc(1, sizeof *c);
	struct launched by;
	int rc = 0;
	*c = (struct comm){ .size = 1, .local_size = 1, .hosts = 1, .timeout = join_timeout(timeout) };
	c->state = mem_calloc(1, sizeof *c->state);
	gethostname(c->host_name, sizeof c->host_name - 1);
	launched_find(&by);
	if (by.by && by.size != 1)
		rc = join(c, &by);
	if (rc < 0) {
		release(c);
		return rc;
	}
	if (timeout > 0)
		c->timeout = timeout;
	*out = c;
	return 0;
}

void comm_close(struct comm *c)
{
	if (!c)
		return;
	if (c->state->world) {
		comm_barrier(c, "the end");
		liveness_remember(&c->state->liveness);
		c->state->liveness.n = 0;
		world_unshare(c->state->liveness_memory);
		world_leave(c);
	}
	release(c);
}

const char *comm_library(void)
{
	return world_library();
}

struct comm_counts comm_counts(const struct comm *c)
{
	const struct comm_state *s = comm_whole((struct comm *)c)->state;
	struct comm_counts now = s->counts;
	now.messages = atomic_load_explicit(&s->messages, memory_order_relaxed);
	return now;
}

int comm_whole_rank(const struct comm *c, int r)
{
	return c->state->member ? c->state->member[r] : r;
}

int comm_host_place(const struct comm *c)
{
	return c->state->place ? c->state->place[c->local_rank] : c->local_rank;
}

void comm_rejoin(struct comm *c)
{
	struct liveness_slot *mine = liveness_slot(&c->state->liveness, c->local_rank);
	if (!c->state->liveness.n)
		return;
	double most = (double)atomic_load(&mine->entered);
	comm_max(c, &most, 1, "the teams' next meeting");
	atomic_store(&mine->entered, (int64_t)most + 1);
}

void comm_forget_failure(struct comm *c)
{
	struct comm_state *s = comm_whole(c)->state;
	s->printer = 0;
	s->reported = false;
}

bool comm_prints(const struct comm *c)
{
	const struct comm *whole = comm_whole((struct comm *)c);
	return whole->state->printer == whole->rank;
}

bool comm_told(const struct comm *c)
{
	return comm_whole((struct comm *)c)->state->reported && !comm_prints(c);
}

_Noreturn void comm_abort(struct comm *c, int status)
{
	fflush(NULL);
	io_abandon();
	if (!c->state->world)
		exit(status);
	const time_t grace = comm_prints(c) ? 0 : comm_told(c) ? REPORT_GRACE : GRACE;
	nanosleep(&(struct timespec){ grace, FORWARD }, NULL);
	world_abort(c->state->world, status);
}

/* --- collectives --- */

/* Names the missing ranks of this host: those that have not entered this collective, are in another
 * one, or are stopped or ended. The first rank of the host to arrive here reports. Of ranks of
 * other hosts nothing is known. */
static void name_missing(struct comm *c, struct buf *out, int64_t mine)
{
	struct comm_state *s = c->state;
	int *here = mem_calloc((size_t)c->local_size, sizeof *here), n = 0, missing = 0;
	char who[160], what[LIVENESS_TEXT], mine_at[LIVENESS_TEXT];
	liveness_collective(&s->liveness, c->local_rank, mine_at);
	for (int i = 0; i < c->local_size; i++) {
		int64_t entered = atomic_load(&liveness_slot(&s->liveness, i)->entered);
		bool late = entered < mine, elsewhere;
		enum slot_state state = liveness_state(&s->liveness, i);
		liveness_collective(&s->liveness, i, what);
		elsewhere = entered == mine && strcmp(what, mine_at) != 0;
		if (!late && !elsewhere && state != SLOT_STOPPED && state != SLOT_GONE) {
			here[n++] = s->local[i];
			continue;
		}
		buf_printf(out, "%s%s %s '%s'", missing++ ? "; " : "",
		           liveness_name(&s->liveness, i, who, sizeof who),
		           late ? "is missing, last seen at" : "is at", what);
	}
	if (!missing)
		buf_printf(out, "no rank of host %s is missing%s", c->host_name,
		           c->hosts > 1 ? ", but ranks of other hosts" : "");
	buf_puts(out, n == 1 ? "; rank " : "; ranks ");
	ranks_text(out, here, n);
	buf_printf(out, " of host %s wait%s", c->host_name, n == 1 ? "s" : "");
	c = comm_whole(c);
	c->state->printer = c->state->liveness.n ? liveness_reporter(&c->state->liveness, c->rank) :
	                    here[0];
	mem_free(here);
}

static void give_up(struct comm *c, const char *what)
{
	struct liveness_slot *mine = liveness_slot(&c->state->liveness, c->local_rank);
	struct buf text = BUF_INIT;
	if (c->state->liveness.n)
		name_missing(c, &text, atomic_load(&mine->entered));
	ERR(E_UNAVAILABLE, NULL, "timed out after %.1f s in %s: %s",
	    (double)(io_nanoseconds() - mine->since) * 1e-9, what,
	    text.len ? text.data : "nothing is known of the other ranks");
	buf_release(&text);
	if (comm_prints(c))
		err_print(stderr, log_program());
	comm_abort(c, err_exit_status(E_UNAVAILABLE));
}

static bool enter(struct comm *c, const char *what)
{
	if (!meets(c))
		return false;
	comm_whole(c)->state->counts.setup_collectives++;
	liveness_enter(&c->state->liveness, what);
	return true;
}

void comm_broadcast(struct comm *c, void *p, size_t bytes, int root, const char *what)
{
	if (enter(c, what) && meet_broadcast(c, p, bytes, root) != 0)
		give_up(c, what);
}

void comm_all_gather(struct comm *c, const void *mine, size_t bytes, void *all, const char *what)
{
	if (c->size == 1 && bytes > 0)
		memmove(all, mine, bytes);
	if (enter(c, what) && meet_all_gather(c, mine, bytes, all) != 0)
		give_up(c, what);
}

void comm_barrier(struct comm *c, const char *what)
{
	if (enter(c, what) && meet_barrier(c) != 0)
		give_up(c, what);
}

void comm_sum(struct comm *c, double *v, int64_t n, const char *what)
{
	if (c->size == 1)
		return;
	double *all = mem_alloc((size_t)c->size * (size_t)n * sizeof *all);
	comm_all_gather(c, v, (size_t)n * sizeof *v, all, what);
	memcpy(v, all, (size_t)n * sizeof *v);
	for (int r = 1; r < c->size; r++)
		for (int64_t i = 0; i < n; i++)
			v[i] += all[r * n + i];
	mem_free(all);
}

void comm_max(struct comm *c, double *v, int64_t n, const char *what)
{
	if (c->size == 1)
		return;
	double *all = mem_alloc((size_t)c->size * (size_t)n * sizeof *all);
	comm_all_gather(c, v, (size_t)n * sizeof *v, all, what);
	for (int r = 0; r < c->size; r++)
		for (int64_t i = 0; i < n; i++)
			v[i] = v[i] < all[r * n + i] ? all[r * n + i] : v[i];
	mem_free(all);
}

/* --- agreement --- */

#define STORY 400

static void first_line(char out[STORY], int rc)
{
	snprintf(out, STORY, "%s", err_name(rc));
	if (err_count() > 0) {
		const struct err_entry *e = err_get(0);
		if (e->loc.file)
			snprintf(out, STORY, "%s:%d:%d: %s", e->loc.file, e->loc.line, e->loc.col, e->text);
		else
			snprintf(out, STORY, "%s", e->text);
	}
}

int comm_agree(struct comm *c, int rc, const char *what)
{
	int *all = mem_calloc((size_t)c->size, sizeof *all), first = 0, theirs;
	char story[STORY];
	comm_all_gather(c, &rc, sizeof rc, all, what);
	while (first < c->size && all[first] == 0)
		first++;
	theirs = first < c->size ? all[first] : 0;
	mem_free(all);
	if (theirs == 0)
		return 0;
	first_line(story, rc < 0 ? rc : theirs);
	comm_broadcast(c, story, sizeof story, first, what);
	comm_whole(c)->state->printer = comm_whole_rank(c, first);
	if (rc == 0)
		return ERR(theirs, NULL, "rank %d (host %s) failed: %s", comm_whole_rank(c, first),
		           c->state->host_name[c->state->host_of[first]], story);
	return rc;
}
