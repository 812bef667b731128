/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A place is written only when its request is complete, and read between the completion of its
 * request and the next start of it: MPI keeps messages whole and in order, since each place of an
 * edge has requests of its own at both ends, and messages use the places in turn. Receives are
 * posted before the first step, so that no message is buffered on the way.
 *
 * One lock for all requests: the thread that runs the step, and those of reducers, test them. */
#include "comm/exchange_mpi.h"

#include <limits.h>
#include <pthread.h>

#include "base/err.h"
#include "base/mem.h"
#include "comm/link_delay.h"
#include "comm/world_mpi.h"

struct exchange_request {
	MPI_Request *of;             /* by place */
	bool *active;                /* by buffer: the request was started and is not known to be
	                              * complete */
	int64_t *due;                /* by buffer: time from which the received message may be read; 0:
	                              * at once */
};

struct exchange_mpi {
	MPI_Comm comm;
	char *memory;                /* buffers of received messages */
	int64_t bytes;
	struct exchange *x;
	struct exchange_mpi *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct exchange_mpi *all;
static _Atomic int sending;

static int64_t received_bytes(const struct comm *c, const struct exchange_edge *e)
{
	bool here = e->sends || comm_local_of(c, e->peer) >= 0;
	return here ? 0 : exchange_padded(e->bytes);
}

static int64_t all_received_bytes(const struct exchange *x)
{
	int64_t bytes = 0;
	for (int k = 0; k < x->n; k++)
		bytes += received_bytes(x->c, &x->end[k].edge) * x->end[k].edge.depth;
	return (int64_t)mem_pages((size_t)bytes);
}

static char *send_place(const struct exchange_end *e, int64_t at)
{
	return e->place ? e->place + at * e->apart : e->line[at].small;
}

/* tag: of the edge among those from one rank to another, as both count them. */
static void open_end(struct exchange_mpi *m, struct exchange_end *e, int tag)
{
	const struct exchange_edge *d = &e->edge;
	struct exchange_request *r = e->request = mem_calloc(1, sizeof *r);
	r->of = mem_calloc((size_t)d->depth, sizeof *r->of);
	r->active = mem_calloc((size_t)d->depth, sizeof *r->active);
	r->due = mem_calloc((size_t)d->depth, sizeof *r->due);
	for (int i = 0; i < d->depth; i++) {
		if (d->sends) {
			MPI_MUST(Send_init, send_place(e, i), (int)d->bytes, mpi.byte, d->peer, tag, m->comm,
			         &r->of[i]);
			continue;
		}
		MPI_MUST(Recv_init, e->place + i * e->apart, (int)d->bytes, mpi.byte, d->peer, tag,
		         m->comm, &r->of[i]);
		MPI_MUST(Start, &r->of[i]);
	}
}

static void open_ends(struct exchange *x)
{
	char *at = x->mpi->memory;
	for (int i = 0, tag = 0; i < x->n; i++) {
		struct exchange_end *e = &x->end[x->order[i]];
		const struct exchange_edge *d = &e->edge,
		                           *before = i ? &x->end[x->order[i - 1]].edge : NULL;
		tag = before && before->peer == d->peer && before->sends == d->sends ? tag + 1 : 0;
		if (comm_local_of(x->c, d->peer) >= 0)
			continue;
		if (!d->sends) {
			e->place = at;
			e->apart = received_bytes(x->c, d);
			at += e->apart * d->depth;
		}
		open_end(x->mpi, e, tag);
	}
}

int exchange_mpi_new(struct exchange *x)
{
	if (x->c->hosts == 1)
		return 0;
	for (int k = 0; k < x->n; k++)
		if (x->end[k].edge.bytes > INT_MAX)
			return ERR(E_UNSUPPORTED, NULL, "message '%s' has more bytes than MPI sends at once",
			           x->end[k].edge.name);
	struct exchange_mpi *m = x->mpi = mem_calloc(1, sizeof *m);
	*m = (struct exchange_mpi){ .x = x, .bytes = all_received_bytes(x) };
	m->memory = m->bytes ? mem_map((size_t)m->bytes) : NULL;
	x->bytes += m->bytes;
	MPI_MUST(Comm_dup, x->c->state->world->all, &m->comm);
	if (m->bytes && !m->memory)
		return ERR(E_NOMEM, NULL, "no memory for %.1f MB of messages", (double)m->bytes / 1e6);
	open_ends(x);
	pthread_mutex_lock(&lock);
	m->next = all;
	all = m;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void close_end(struct exchange_end *e)
{
	struct exchange_request *r = e->request;
	for (int i = 0; i < e->edge.depth; i++) {
		int done = 0;
		if (!e->edge.sends)
			MPI_MUST(Cancel, &r->of[i]);
		while (!done)
			MPI_MUST(Test, &r->of[i], &done, MPI_STATUS_IGNORE);
		MPI_MUST(Request_free, &r->of[i]);
	}
	mem_free(r->of);
	mem_free(r->active);
	mem_free(r->due);
	mem_free(r);
}

void exchange_mpi_free(struct exchange *x)
{
	struct exchange_mpi *m = x->mpi, **at = &all;
	if (!m)
		return;
	pthread_mutex_lock(&lock);
	while (*at && *at != m)
		at = &(*at)->next;
	if (*at)
		*at = m->next;
	pthread_mutex_unlock(&lock);
	for (int k = 0; k < x->n; k++)
		if (x->end[k].request)
			close_end(&x->end[k]);
	MPI_MUST(Comm_free, &m->comm);
	mem_unmap(m->memory, (size_t)m->bytes);
	mem_free(m);
}

/* --- in a step --- */

static int64_t place_now(const struct exchange_end *e)
{
	return (int64_t)(e->count % (uint64_t)e->edge.depth);
}

static bool test(const struct exchange_end *e, int64_t i)
{
	struct exchange_request *r = e->request;
	int done;
	MPI_MUST(Test, &r->of[i], &done, MPI_STATUS_IGNORE);
	if (done && r->active[i])
		atomic_fetch_sub(&sending, 1);
	if (done)
		r->active[i] = false;
	return done;
}

bool exchange_mpi_room(const struct exchange_end *e)
{
	pthread_mutex_lock(&lock);
	bool done = test(e, place_now(e));
	pthread_mutex_unlock(&lock);
	return done;
}

bool exchange_mpi_came(const struct exchange_end *e)
{
	int64_t *due = &e->request->due[place_now(e)];
	if (exchange_mpi_room(e) && *due == 0)
		*due = link_delay_on() ? link_delay_message(e->edge.bytes) : -1;
	return *due != 0 && link_delay_over(*due);
}

int64_t exchange_mpi_due(const struct exchange_end *e)
{
	return e->request->due[place_now(e)];
}

void *exchange_mpi_place(const struct exchange_end *e)
{
	return e->edge.sends ? send_place(e, place_now(e)) : e->place + place_now(e) * e->apart;
}

void exchange_mpi_send(struct exchange *x, struct exchange_end *e)
{
	struct exchange_request *r = e->request;
	int64_t i = place_now(e);
	atomic_fetch_add_explicit(&comm_whole(x->c)->state->messages, 1, memory_order_relaxed);
	pthread_mutex_lock(&lock);
	r->active[i] = true;
	atomic_fetch_add(&sending, 1);
	MPI_MUST(Start, &r->of[i]);
	pthread_mutex_unlock(&lock);
	e->count++;
}

void exchange_mpi_taken(struct exchange_end *e)
{
	int64_t i = place_now(e);
	e->request->due[i] = 0;
	pthread_mutex_lock(&lock);
	MPI_MUST(Start, &e->request->of[i]);
	pthread_mutex_unlock(&lock);
	e->count++;
}

bool exchange_mpi_pending(void)
{
	return atomic_load_explicit(&sending, memory_order_relaxed) > 0;
}

void exchange_mpi_progress(void)
{
	if (!exchange_mpi_pending() || pthread_mutex_trylock(&lock) != 0)
		return;
	for (struct exchange_mpi *m = all; m; m = m->next)
		for (int k = 0; k < m->x->n; k++) {
			const struct exchange_end *e = &m->x->end[k];
			for (int i = 0; e->request && e->edge.sends && i < e->edge.depth; i++)
				if (e->request->active[i])
					test(e, i);
		}
	pthread_mutex_unlock(&lock);
}
