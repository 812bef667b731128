/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request is one small message that contains a tag for the answer; the answer is a header with
 * the error code, and the bytes. All calls of MPI are non-blocking and polled with pauses, so that
 * a thread that waits leaves its processor to others. */
#include "comm/fetch.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/deadline.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/thread.h"
#include "comm/ranks_text.h"
#include "comm/watchdog.h"
#include "comm/world_mpi.h"

#define TAG_QUESTION 0
#define TAGS 512                 /* most tags of answers in use at a time */
#define TEXT 1000
#define QUEUE 256                /* questions that wait for a thread */
#define SHORT_NAP 20e-6
#define LONG_NAP 1e-3
#define IDLE_NAP 10e-3           /* after a second without a question */
#define IDLE_LOOKS 1000

struct question {
	struct fetch_range range;
	int32_t from, tag;
	bool last;                   /* sent by a rank to itself: there are no more requests */
};

struct answer_head {
	int32_t rc;
	char text[TEXT];
};

/* A question that is being answered. */
struct answering {
	struct fetch *f;
	struct question q;
	struct answer_head head;
	char *bytes;
	uint64_t room;
	struct answering *next;
};

/* A question of this rank. */
struct asking {
	bool used;                   /* under the lock */
	struct question q;
	struct answer_head head;
};

struct fetch {
	struct comm *c;
	MPI_Comm all;
	fetch_answer *answer;
	void *self;
	pthread_t listener;
	struct pool *pool;
	struct question heard;       /* outlives a listener that is given up */
	_Atomic bool dropped;        /* this rank has failed alone */
	_Atomic int64_t sent, received;
	pthread_mutex_t lock;
	pthread_cond_t tag_free;
	struct asking tag[TAGS];     /* answers have the tags 1, 2, ... */
	struct answering *idle;      /* under the lock */
};

static void nap(double *pause, double most)
{
	nanosleep(&(struct timespec){ 0, (long)(*pause * 1e9) }, NULL);
	*pause = *pause < most / 2 ? 2 * *pause : most;
}

/* --- answers --- */

/* Until it is done; false if the whole is given up. */
static bool finish(const struct fetch *f, MPI_Request *r)
{
	double pause = SHORT_NAP;
	for (int64_t looks = 0;; looks++) {
		int done;

		MPI_MUST(Test, r, &done, MPI_STATUS_IGNORE);
		if (done || atomic_load(&f->dropped))
			return done;
		nap(&pause, looks < IDLE_LOOKS ? LONG_NAP : IDLE_NAP);
	}
}

static void make_head(struct answer_head *h, int rc)
{
	h->rc = rc;
	h->text[0] = '\0';
	if (rc < 0)
		snprintf(h->text, sizeof h->text, "%s",
		         err_count() > 0 ? err_get(0)->text : err_name(rc));
	err_clear();
}

static void send_answer(struct answering *a)
{
	struct fetch *f = a->f;
	MPI_Request head, bytes;
	MPI_MUST(Isend, &a->head, sizeof a->head, mpi.byte, a->q.from, a->q.tag, f->all, &head);
	if (a->head.rc == 0)
		MPI_MUST(Isend, a->bytes, (int)a->q.range.n, mpi.byte, a->q.from, a->q.tag, f->all, &bytes);
	if (!finish(f, &head) || (a->head.rc == 0 && !finish(f, &bytes)))
		return;
	if (a->head.rc == 0)
		atomic_fetch_add(&f->sent, (int64_t)a->q.range.n);
}

static void answer(void *arg)
{
	struct answering *a = arg;
	struct fetch *f = a->f;
	if (atomic_load(&f->dropped))
		return;
	if (a->q.range.n > a->room) {
		mem_free(a->bytes);
		a->bytes = mem_alloc(a->room = a->q.range.n);
	}
	make_head(&a->head, f->answer(f->self, &a->q.range, a->bytes));
	send_answer(a);
	pthread_mutex_lock(&f->lock);
	a->next = f->idle;
	f->idle = a;
	pthread_mutex_unlock(&f->lock);
}

static struct answering *take_idle(struct fetch *f)
{
	struct answering *a;
	pthread_mutex_lock(&f->lock);
	a = f->idle;
	if (a)
		f->idle = a->next;
	pthread_mutex_unlock(&f->lock);
	if (!a)
		a = mem_calloc(1, sizeof *a);
	a->f = f;
	a->q = f->heard;
	return a;
}

static void *listen(void *arg)
{
	struct fetch *f = arg;
	for (;;) {
		MPI_Request r;

		MPI_MUST(Irecv, &f->heard, sizeof f->heard, mpi.byte, MPI_ANY_SOURCE, TAG_QUESTION, f->all,
		         &r);
		if (!finish(f, &r) || f->heard.last)
			return NULL;
		pool_add(f->pool, answer, take_idle(f));
	}
}

/* --- questions --- */

static struct asking *take_tag(struct fetch *f)
{
	int k = 0;
	pthread_mutex_lock(&f->lock);
	for (;; k = 0) {
		while (k < TAGS && f->tag[k].used)
			k++;
		if (k < TAGS)
			break;
		pthread_cond_wait(&f->tag_free, &f->lock);
	}
	f->tag[k].used = true;
	pthread_mutex_unlock(&f->lock);
	return &f->tag[k];
}

static void give_tag(struct fetch *f, struct asking *a)
{
	pthread_mutex_lock(&f->lock);
	a->used = false;
	pthread_cond_signal(&f->tag_free);
	pthread_mutex_unlock(&f->lock);
}

/* As in the reports of sums, the first rank of a host that misses another rank reports for all. */
static int missing(struct fetch *f, int rank, double waited)
{
	const struct comm *whole = comm_whole(f->c);
	struct comm_state *s = f->c->state;
	struct liveness *b = &s->liveness;
	int speaker = b->n ? liveness_reporter(b, whole->rank) : whole->rank, gone;
	char name[160] = "";
	whole->state->printer = speaker;
	whole->state->reported = true;
	if (speaker != whole->rank)
		return ERR(E_UNAVAILABLE, NULL, "rank %d does not send data; rank %d says why",
		           comm_whole_rank(f->c, rank), speaker);
	gone = b->n ? liveness_gone(b) : -1;
	if (gone >= 0)
		ranks_text_who(f->c, gone, name, sizeof name);
	return ERR(E_UNAVAILABLE, NULL, "rank %d (host %s) has not sent the data that it was asked for "
	           "%.1f s ago%s%s", comm_whole_rank(f->c, rank),
	           s->host_name[s->host_of[rank]], waited, *name ? "; " : "", name);
}

/* Beyond the deadline another host may have a missing rank to name. */
static bool too_late(const struct fetch *f, int rank, double waited)
{
	const struct comm *c = f->c;
	const bool elsewhere = c->state->host_of[rank] != c->host;
	return waited > c->timeout + (elsewhere ? liveness_patience(c->host) : 0);
}

/* Cancels the receive of an answer that is too late, so that its memory may be freed. */
static int give_up(struct fetch *f, int rank, double waited, MPI_Request *r)
{
	MPI_MUST(Cancel, r);
	if (atomic_load(&f->dropped))
		return ERR(E_UNAVAILABLE, NULL, "this rank ends");
	return missing(f, rank, waited);
}

static int await(struct fetch *f, int rank, struct deadline *d, MPI_Request *r)
{
	double pause = SHORT_NAP, round = DEADLINE_ROUND;
	for (;;) {
		double waited;
		int done;

		MPI_MUST(Test, r, &done, MPI_STATUS_IGNORE);
		if (done)
			return 0;
		nap(&pause, LONG_NAP);
		waited = deadline_waited(d);
		if (atomic_load(&f->dropped) || too_late(f, rank, waited) ||
		    (waited > round && liveness_gone(&f->c->state->liveness) >= 0))
			return give_up(f, rank, waited, r);
		round = waited > round ? waited + DEADLINE_ROUND : round;
	}
}

static int ask(struct fetch *f, int rank, struct asking *a, void *p)
{
	const struct comm_state *s = f->c->state;
	struct deadline d = deadline_begin();
	MPI_Request question, head, bytes;
	MPI_MUST(Irecv, &a->head, sizeof a->head, mpi.byte, rank, a->q.tag, f->all, &head);
	MPI_MUST(Isend, &a->q, sizeof a->q, mpi.byte, rank, TAG_QUESTION, f->all, &question);
	TRY(await(f, rank, &d, &head));
	TRY(await(f, rank, &d, &question));
	if (a->head.rc < 0)
		return ERR(a->head.rc, NULL, "rank %d (host %s), which reads this for all: %s", rank,
		           s->host_name[s->host_of[rank]], a->head.text);
	MPI_MUST(Irecv, p, (int)a->q.range.n, mpi.byte, rank, a->q.tag, f->all, &bytes);
	TRY(await(f, rank, &d, &bytes));
	atomic_fetch_add(&f->received, (int64_t)a->q.range.n);
	return 0;
}

int fetch_ask(struct fetch *f, int rank, const struct fetch_range *range, void *p)
{
	struct asking *a = take_tag(f);
	int rc;
	BUG_IF(range->n > FETCH_MOST, "a range of %llu bytes", (unsigned long long)range->n);
	a->q = (struct question){ .range = *range, .from = f->c->rank,
		.tag = (int32_t)(a - f->tag) + 1 };
	rc = ask(f, rank, a, p);
	if (rc != E_UNAVAILABLE)     /* else an answer may still come, and is not that of another */
		give_tag(f, a);
	return rc;
}

struct fetch_counts fetch_counts(const struct fetch *f)
{
	if (!f)
		return (struct fetch_counts){ 0 };
	return (struct fetch_counts){ atomic_load(&f->sent), atomic_load(&f->received) };
}

/* --- opening and closing --- */

int fetch_open(struct fetch **out, struct comm *c, int threads, fetch_answer *answer, void *self)
{
	struct fetch *f = mem_calloc(1, sizeof *f);
	*out = NULL;
	*f = (struct fetch){ .c = c, .answer = answer, .self = self };
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->tag_free, NULL);
	watchdog_begin(c->timeout, c->rank, "MPI_Comm_dup");
	MPI_MUST(Comm_dup, c->state->world->all, &f->all);
	MPI_MUST(Comm_set_errhandler, f->all, mpi.errors_return);
	watchdog_end();
	f->pool = pool_new(threads, QUEUE);
	if (f->pool && thread_start(&f->listener, listen, f) == 0) {
		*out = f;
		return 0;
	}
	pool_free(f->pool);
	mem_free(f);                 /* the communicator stays: the others may not free theirs */
	return ERR(E_NOMEM, NULL, "no thread to send data with can be started");
}

static void end_listener(struct fetch *f)
{
	struct question q = { .last = true };
	MPI_Request r;
	MPI_MUST(Isend, &q, sizeof q, mpi.byte, f->c->rank, TAG_QUESTION, f->all, &r);
	pthread_join(f->listener, NULL);
	finish(f, &r);
	pool_free(f->pool);
}

void fetch_give_up(struct fetch *f)
{
	atomic_store(&f->dropped, true);
}

/* MPI may still write to what is given up. */
static void drop(struct fetch *f)
{
	fetch_give_up(f);
	pthread_join(f->listener, NULL);
	pool_free(f->pool);
}

void fetch_close(struct fetch *f, bool alone)
{
	if (!f)
		return;
	if (alone) {
		drop(f);
		return;
	}
	end_listener(f);
	watchdog_begin(f->c->timeout, f->c->rank, "MPI_Comm_free");
	MPI_MUST(Comm_free, &f->all);
	watchdog_end();
	while (f->idle) {
		struct answering *a = f->idle;

		f->idle = a->next;
		mem_free(a->bytes);
		mem_free(a);
	}
	pthread_cond_destroy(&f->tag_free);
	pthread_mutex_destroy(&f->lock);
	mem_free(f);
}
