/* SPDX-License-Identifier: BSD-3-Clause
 *
 * In a collective each rank publishes a pointer to its data between two barriers: after the first
 * barrier all pointers are set, after the second none is used any more. */
#include "comm/rank_threads.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"
#include "comm/meet.h"

struct shared_map {
	struct shared_map *next;
	void *p;
	size_t bytes;
};

struct comm_threads {
	pthread_mutex_t lock;
	pthread_cond_t all_came;
	int n, came;
	uint64_t meetings;
	const void **shown;          /* the published pointers, by rank */
	struct shared_map *maps;
	struct comm_threads *next;   /* a team of the same ranks; of a team: another one */
};

struct rank_thread {
	struct comm c;
	struct comm_state state;
	int (*work)(struct comm *c, void *arg);
	void *arg;
	pthread_t thread;
	int rc;
	struct err_record record;
};

int threads_barrier(struct comm *c)
{
	struct comm_threads *t = c->state->threads;
	struct timespec until;
	int failed = 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)c->timeout + 1;
	pthread_mutex_lock(&t->lock);
	uint64_t meeting = t->meetings;
	if (++t->came == t->n) {
		t->came = 0;
		t->meetings++;
		pthread_cond_broadcast(&t->all_came);
	}
	while (t->meetings == meeting && failed != ETIMEDOUT)
		failed = pthread_cond_timedwait(&t->all_came, &t->lock, &until);
	failed = t->meetings == meeting;
	pthread_mutex_unlock(&t->lock);
	return failed;
}

static int show(struct comm *c, const void *p)
{
	c->state->threads->shown[c->rank] = p;
	return threads_barrier(c);
}

int threads_broadcast(struct comm *c, void *p, size_t bytes, int root)
{
	int rc = show(c, p);
	if (rc == 0 && c->rank != root)
		memcpy(p, c->state->threads->shown[root], bytes);
	return rc ? rc : threads_barrier(c);
}

int threads_all_gather(struct comm *c, const void *mine, size_t bytes, void *all)
{
	int rc = show(c, mine);
	for (int i = 0; rc == 0 && i < c->size && bytes > 0; i++)
		memmove((char *)all + (size_t)i * bytes, c->state->threads->shown[i], bytes);
	return rc ? rc : threads_barrier(c);
}

static void *map_for_all(struct comm_threads *t, size_t bytes)
{
	struct shared_map *m = mem_calloc(1, sizeof *m);
	*m = (struct shared_map){ t->maps, mem_map(bytes), bytes };
	t->maps = m;
	return m->p;
}

int threads_share(struct comm *c, size_t bytes, void **p)
{
	*p = c->rank == 0 ? map_for_all(c->state->threads, bytes) : NULL;
	int rc = show(c, *p);
	*p = rc == 0 ? (void *)c->state->threads->shown[0] : NULL;
	if (rc == 0)
		rc = threads_barrier(c);
	return rc || *p ? rc : ERR(E_NOMEM, NULL, "no memory for %.1f MB that %d ranks share",
	                           (double)bytes / 1e6, c->size);
}

static void begin(struct comm_threads *t, int ranks)
{
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->all_came, &monotonic);
	pthread_condattr_destroy(&monotonic);
	t->n = ranks;
	t->shown = mem_calloc((size_t)ranks, sizeof *t->shown);
}

static void end(struct comm_threads *t)
{
	for (struct shared_map *m = t->maps, *next; m; m = next) {
		next = m->next;
		mem_unmap(m->p, m->bytes);
		mem_free(m);
	}
	pthread_cond_destroy(&t->all_came);
	pthread_mutex_destroy(&t->lock);
	mem_free(t->shown);
}

/* The first rank of each team makes it, and shows it to all ranks. */
void threads_subgroup(struct comm *c, struct comm *whole, const int *member)
{
	struct comm_threads *t = whole->state->threads, *own = NULL;
	if (c->rank == 0) {
		own = mem_calloc(1, sizeof *own);
		begin(own, c->size);
		pthread_mutex_lock(&t->lock);
		own->next = t->next;
		t->next = own;
		pthread_mutex_unlock(&t->lock);
	}
	int late = show(whole, own);
	c->state->threads = (struct comm_threads *)t->shown[member[0]];
	late = threads_barrier(whole) || late;
	BUG_IF(late, "ranks do not come to make teams");
}

static void end_teams(struct comm_threads *t)
{
	for (struct comm_threads *next; t; t = next) {
		next = t->next;
		end(t);
		mem_free(t);
	}
}

static void *run(void *member)
{
	struct rank_thread *m = member;
	m->rc = m->work(&m->c, m->arg);
	err_take(&m->record);
	return NULL;
}

static void join(struct rank_thread *m, struct comm_threads *t, struct liveness_slot *slots,
                 const int *rank, char (*host)[64])
{
	struct comm_state *s = &m->state;
	m->c.state = s;
	s->threads = t;
	s->local = (int *)rank;
	s->host_of = mem_calloc((size_t)m->c.size, sizeof *s->host_of);
	s->host_name = host;
	s->liveness = (struct liveness){ .slots = slots, .rank = rank, .n = m->c.size, .me = m->c.rank,
		.host = *host };
	liveness_register(&s->liveness);
}

/* Of the ranks that failed the one that reports, or the first. */
static int give_record(struct rank_thread *m, int ranks)
{
	int first = -1;
	for (int r = ranks - 1; r >= 0; r--)
		if (m[r].rc < 0 && (first < 0 || comm_prints(&m[r].c) || !comm_prints(&m[first].c)))
			first = r;
	for (int r = 0; r < ranks; r++) {
		int mark = err_count();
		err_give(&m[r].record);
		if (r != first)
			err_truncate(mark);
	}
	return first < 0 ? 0 : m[first].rc;
}

int rank_threads_run(int ranks, double timeout, int (*work)(struct comm *c, void *arg), void *arg)
{
	struct rank_thread *m = mem_calloc((size_t)ranks, sizeof *m);
	struct comm_threads t = { .maps = NULL };
	struct liveness_slot *slots = mem_map(liveness_bytes(ranks));
	int *rank = mem_calloc((size_t)ranks, sizeof *rank), failed = slots ? 0 : ENOMEM, n = 0;
	char host[1][64] = { "here" };
	begin(&t, ranks);
	for (int r = 0; r < ranks && slots; r++) {
		rank[r] = r;
		m[r] = (struct rank_thread){ .work = work, .arg = arg, .c = { .rank = r, .size = ranks,
			.local_rank = r, .local_size = ranks, .hosts = 1, .host_name = "here",
			.timeout = timeout } };
		join(&m[r], &t, slots, rank, host);
	}
	while (n < ranks && !failed)
		n += (failed = thread_start(&m[n].thread, run, &m[n])) == 0;
	BUG_IF(failed && n > 0, "%d of %d threads started", n, ranks);
	for (int r = 0; r < n; r++)
		pthread_join(m[r].thread, NULL);
	int rc = failed ? ERR(E_NOMEM, NULL, "cannot start %d threads as ranks", ranks) :
	         give_record(m, ranks);
	for (int r = 0; r < ranks; r++)
		mem_free(m[r].state.host_of);
	mem_unmap(slots, liveness_bytes(ranks));
	end_teams(t.next);
	end(&t);
	mem_free(rank);
	mem_free(m);
	return rc;
}
