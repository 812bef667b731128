/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Set-up and waits. The ends of all edges are compared without sending them: each end adds a hash
 * of what both must agree on, the receiver's with the other sign, and the sum over all ranks is 0
 * if every end has its counterpart. Only if it is not do ranks gather the edges, to name one. */
#include "comm/exchange.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "comm/board.h"
#include "comm/exchange_mpi.h"
#include "comm/exchange_state.h"
#include "comm/futex.h"
#include "comm/link_delay.h"
#include "comm/meet.h"

#define LOOK 3000              /* nanoseconds, by default */
#define SHORT_NAP 20e-6        /* between looks at what MPI does: from here, */
#define LONG_NAP 500e-6        /* doubled up to here */

/* --- edges --- */

int64_t exchange_lay_out(struct exchange_edge *edge, int n)
{
	int64_t at = 0;
	for (int k = 0; k < n; k++) {
		edge[k].offset = at;
		at += edge[k].sends ? exchange_apart(&edge[k]) * edge[k].depth : 0;
	}
	return at;
}

int64_t exchange_bytes(const struct exchange_hosts *hosts, const struct exchange_edge *edge, int n)
{
	const int *host = hosts->of;
	int64_t received = 0;
	for (int k = 0; k < n && host; k++)
		if (!edge[k].sends && host[edge[k].peer] != host[hosts->rank])
			received += exchange_padded(edge[k].bytes) * edge[k].depth;
	return exchange_host_bytes(edge, n) + (int64_t)mem_pages((size_t)received);
}

int64_t exchange_allocated(const struct exchange *x)
{
	return x->bytes;
}

static int compare(int peer, bool sends, int64_t id, const struct exchange_edge *e)
{
	if (peer != e->peer)
		return peer < e->peer ? -1 : 1;
	if (sends != e->sends)
		return sends < e->sends ? -1 : 1;
	return id < e->id ? -1 : id > e->id;
}

static int by_number(const void *a, const void *b, void *exchange)
{
	const struct exchange *x = exchange;
	const struct exchange_edge *p = &x->end[*(const int *)a].edge;
	return compare(p->peer, p->sends, p->id, &x->end[*(const int *)b].edge);
}

int exchange_find(const struct exchange *x, int peer, bool sends, int64_t id)
{
	for (int lo = 0, hi = x->n; lo < hi;) {
		int mid = lo + (hi - lo) / 2, k = x->order[mid];
		int side = compare(peer, sends, id, &x->end[k].edge);
		if (side == 0)
			return k;
		if (side < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return -1;
}

struct exchange *exchange_allocate(struct comm *c, const struct exchange_edge *edge, int n)
{
	struct exchange *x = mem_calloc(1, sizeof *x);
	x->c = c;
	x->n = n;
	x->look = LOOK;
	x->end = mem_calloc((size_t)n + 1, sizeof *x->end);
	x->order = mem_calloc((size_t)n + 1, sizeof *x->order);
	for (int k = 0; k < n; k++) {
		const struct exchange_edge *e = &edge[k];
		BUG_IF(e->peer < 0 || e->peer >= c->size || e->peer == c->rank || e->bytes < 1 ||
		       e->depth < 1, "message '%s' with rank %d", e->name, e->peer);
		x->end[k].edge = *e;
		x->order[k] = k;
	}
	qsort_r(x->order, (size_t)n, sizeof *x->order, by_number, x);
	for (int i = 1; i < n; i++)
		BUG_IF(by_number(&x->order[i - 1], &x->order[i], x) == 0, "messages '%s' and '%s' with "
		       "rank %d have the same number", x->end[x->order[i - 1]].edge.name,
		       x->end[x->order[i]].edge.name, x->end[x->order[i]].edge.peer);
	return x;
}

/* --- comparing ends --- */

static uint64_t hash_of(int from, int to, const struct exchange_edge *e)
{
	const int64_t v[] = { from, to, e->id, e->bytes, e->depth };
	return hash_bytes(v, sizeof v, 0);
}

static bool ends_match(struct exchange *x)
{
	struct comm *c = x->c;
	uint64_t mine = 0, sum = 0, *all = mem_calloc((size_t)c->size, sizeof *all);
	for (int k = 0; k < x->n; k++) {
		const struct exchange_edge *e = &x->end[k].edge;
		mine += e->sends ? hash_of(c->rank, e->peer, e) : -hash_of(e->peer, c->rank, e);
	}
	comm_all_gather(c, &mine, sizeof mine, all, "the messages of a step");
	for (int r = 0; r < c->size; r++)
		sum += all[r];
	mem_free(all);
	return sum == 0;
}

struct edge_end {              /* one end of an edge, as ranks send it to each other */
	int peer, sends, depth;
	int64_t bytes, id;
	char name[96];
};

static void describe(const struct comm *c, int rank, const struct edge_end *e, struct buf *out)
{
	buf_printf(out, "rank %d %s '%s' (number %" PRId64 ", %" PRId64 " bytes, depth %d) %s rank %d",
	           comm_whole_rank(c, rank), e->sends ? "sends" : "expects", e->name, e->id, e->bytes,
	           e->depth, e->sends ? "to" : "from", comm_whole_rank(c, e->peer));
}

/* Among the edges of a rank, the other end of e, or the edge that would be it if their ids were
 * equal. */
static const struct edge_end *other_end(const struct edge_end *edge, int n, int rank,
                                        const struct edge_end *e, bool *same)
{
	const struct edge_end *near = NULL;
	*same = false;
	for (int k = 0; k < n; k++) {
		const struct edge_end *o = &edge[k];
		if (o->depth == 0 || o->peer != rank || o->sends == e->sends)
			continue;
		if (o->id == e->id) {
			*same = o->bytes == e->bytes && o->depth == e->depth;
			return o;
		}
		if (!near)
			near = o;
	}
	return near;
}

/* most: edges of a rank. */
static int name_mismatch(const struct comm *c, const struct edge_end *all, int most)
{
	struct buf text = BUF_INIT;
	for (int r = 0; r < c->size && !text.len; r++)
		for (int k = 0; k < most && !text.len; k++) {
			const struct edge_end *e = &all[r * most + k];
			bool same;
			if (e->depth == 0)
				continue;
			const struct edge_end *o = other_end(&all[e->peer * most], most, r, e, &same);
			if (same)
				continue;
			describe(c, r, e, &text);
			buf_puts(&text, o ? ", but " : ", which knows of no such message");
			if (o)
				describe(c, e->peer, o, &text);
		}
	int rc = ERR(E_BUG, NULL, "messages of ranks do not fit: %s", text.len ? text.data : "hashes");
	buf_release(&text);
	return rc;
}

static int refuse(struct exchange *x)
{
	double most = x->n;
	comm_max(x->c, &most, 1, "the messages of a step");
	size_t n = (size_t)most;
	struct edge_end *mine = mem_calloc(n + 1, sizeof *mine),
	            *all = mem_calloc(n * (size_t)x->c->size + 1, sizeof *all);
	for (int k = 0; k < x->n; k++) {
		const struct exchange_edge *e = &x->end[k].edge;
		mine[k] = (struct edge_end){ e->peer, e->sends, e->depth, e->bytes, e->id, "" };
		snprintf(mine[k].name, sizeof mine[k].name, "%s", e->name);
	}
	comm_all_gather(x->c, mine, n * sizeof *mine, all, "the messages of a step");
	int rc = name_mismatch(x->c, all, (int)n);
	mem_free(mine);
	mem_free(all);
	return rc;
}

int exchange_compare(struct exchange *x)
{
	return x->c->size == 1 || ends_match(x) ? 0 : refuse(x);
}

/* --- set-up --- */

static int share(struct exchange *x, const int64_t *bytes, size_t *offset)
{
	struct comm *c = x->c;
	size_t all = 0;
	void *memory = NULL;
	for (int r = 0; r < c->size; r++) {
		int local = comm_local_of(c, r);
		if (local < 0)
			continue;
		offset[local] = all;
		all += (size_t)bytes[r];
	}
	int rc = meet_share(c, all, &x->memory, &memory);
	if (rc > 0)
		rc = ERR(E_UNAVAILABLE, NULL, "the ranks of host %s timed out while sharing memory",
		         c->host_name);
	TRY(comm_agree(c, rc, "memory for messages"));
	char **part = mem_calloc((size_t)c->local_size, sizeof *part);
	for (int i = 0; i < c->local_size; i++)
		part[i] = (char *)memory + offset[i];
	memset(part[c->local_rank], 0, (size_t)bytes[c->rank]);
	exchange_host_write(x, part[c->local_rank]);
	comm_barrier(c, "messages in memory");
	exchange_host_connect(x, part);
	mem_free(part);
	return comm_agree(c, exchange_mpi_new(x), "messages between hosts");
}

static int open_shared(struct exchange *x, const struct exchange_edge *edge)
{
	struct comm *c = x->c;
	int64_t mine = exchange_host_bytes(edge, x->n),
	        *bytes = mem_calloc((size_t)c->size, sizeof *bytes);
	size_t *offset = mem_calloc((size_t)c->local_size, sizeof *offset);
	comm_all_gather(c, &mine, sizeof mine, bytes, "memory for messages");
	int rc = share(x, bytes, offset);
	x->bytes += mine;
	x->ready = rc == 0;
	mem_free(bytes);
	mem_free(offset);
	return rc;
}

int exchange_new(struct exchange **out, struct comm *c, const struct exchange_edge *edge, int n)
{
	struct exchange *x = exchange_allocate(c, edge, n);
	int rc = exchange_compare(x);
	if (rc == 0 && c->size > 1)
		rc = open_shared(x, edge);
	if (rc < 0) {
		exchange_free(x);
		x = NULL;
	}
	*out = x;
	return rc;
}

void exchange_free(struct exchange *x)
{
	if (!x)
		return;
	if (x->ready)
		comm_barrier(x->c, "the end of messages");
	exchange_gpu_free(x->gpu);
	exchange_mpi_free(x);
	world_unshare(x->memory);
	mem_free(x->end);
	mem_free(x->order);
	mem_free(x);
}

void exchange_look(struct exchange *x, int64_t nanoseconds)
{
	x->look = nanoseconds;
}

struct exchange_stats exchange_stats(const struct exchange *x)
{
	return x->stats;
}

/* --- waits --- */

static bool has_room(struct exchange_end *e)
{
	return e->request ? exchange_mpi_room(e) : exchange_host_room(e);
}

/* When a message that has come may be read. */
static int64_t due_of(const struct exchange_end *e)
{
	return e->request ? exchange_mpi_due(e) : e->line[e->count % (uint64_t)e->edge.depth].due;
}

static bool has_come(const struct exchange_end *e)
{
	if (e->request)
		return exchange_mpi_came(e);
	return exchange_host_came(e) && link_delay_over(due_of(e));
}

static bool is_ready(struct exchange_end *e)
{
	return e->edge.sends ? has_room(e) : has_come(e);
}

static int report(struct exchange *x, const struct exchange_end *e, double waited)
{
	struct buf text = BUF_INIT;
	int me = comm_whole_rank(x->c, x->c->rank), peer = comm_whole_rank(x->c, e->edge.peer);
	int speaker = board_reporter(x->c, &x->mine->reporter);
	if (speaker != me)
		return ERR(E_UNAVAILABLE, NULL, "'%s' waits for rank %d; rank %d says why", e->edge.name,
		           peer, speaker);
	if (!board_follow(x->c, me, &text))
		buf_printf(&text, " waits for '%s' of rank %d", e->edge.name, peer);
	ERR(E_UNAVAILABLE, NULL, "a message has not come after %.1f s: rank %d%s", waited, me,
	    text.data);
	buf_release(&text);
	return E_UNAVAILABLE;
}

static bool too_late(const struct exchange *x, double waited)
{
	const struct comm *c = x->c;
	const struct liveness *b = &comm_whole((struct comm *)c)->state->liveness;
	if (waited <= c->timeout)
		return liveness_gone(b) >= 0;
	return c->hosts == 1 || liveness_halted(b) || waited > c->timeout + liveness_patience(c->host);
}

static void sleep_on(struct exchange *x, struct exchange_end *e, double seconds)
{
	struct timespec t = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
	_Atomic uint32_t *asleep = &x->mine->asleep;
	atomic_store(asleep, 1);
	if (!is_ready(e))
		syscall(SYS_futex, asleep, FUTEX_WAIT, 1, &t, NULL, 0);
	atomic_store(asleep, 0);
}

/* Seconds until the next look, if nothing wakes this rank. */
static double nap(const struct exchange *x, const struct exchange_end *e, double *pause)
{
	double now = *pause;
	if (!link_delay_on() && !e->request && !exchange_mpi_pending())
		return DEADLINE_ROUND;
	*pause = now < LONG_NAP / 2 ? 2 * now : LONG_NAP;
	return now;
}

static int sleep_until_ready(struct exchange *x, struct exchange_end *e, int64_t begin)
{
	struct deadline d = { begin, begin };
	double pause = SHORT_NAP, round = DEADLINE_ROUND;
	board_wait(x->c, e->edge.sends ? BOARD_ROOM : BOARD_MESSAGE, e->edge.name,
	           comm_whole_rank(x->c, e->edge.peer));
	while (!is_ready(e)) {
		exchange_mpi_progress();
		sleep_on(x, e, nap(x, e, &pause));
		double waited = deadline_waited(&d);
		if (waited < round)
			continue;
		round = waited + DEADLINE_ROUND;
		if (!is_ready(e) && too_late(x, waited))
			return report(x, e, waited);
	}
	board_go(x->c);
	return 0;
}

static int await(struct exchange *x, struct exchange_end *e)
{
	if (is_ready(e))
		return 0;
	int64_t begin = io_nanoseconds();
	int rc = 0;
	bool ready = false;
	while (!ready && io_nanoseconds() - begin < x->look)
		for (int i = 0; i < 16 && !ready; i++)
			ready = is_ready(e);
	if (!ready)
		rc = sleep_until_ready(x, e, begin);
	if (!model_clock_on())
		x->stats.waited += (double)(io_nanoseconds() - begin) * 1e-9;
	return rc;
}

static void *place_of(const struct exchange_end *e)
{
	uint64_t at = e->count % (uint64_t)e->edge.depth;
	if (e->request)
		return exchange_mpi_place(e);
	return e->place ? e->place + (int64_t)at * e->apart : e->line[at].small;
}

int exchange_room(struct exchange *x, int k, void **p)
{
	struct exchange_end *e = &x->end[k];
	TRY(await(x, e));
	*p = place_of(e);
	return 0;
}

void exchange_send(struct exchange *x, int k)
{
	struct exchange_end *e = &x->end[k];
	x->stats.bytes += (double)e->edge.bytes;
	x->stats.messages++;
	if (e->request)
		exchange_mpi_send(x, e);
	else
		exchange_host_send(e, link_delay_message(e->edge.bytes));
}

/* A message of a modelled link has come before its time. */
static void wait_until_due(struct exchange *x, const struct exchange_end *e)
{
	const int64_t begin = model_clock;
	model_clock_wait(due_of(e));
	x->stats.waited += (double)(model_clock - begin) * 1e-9;
}

int exchange_wait(struct exchange *x, int k, const void **p)
{
	struct exchange_end *e = &x->end[k];
	TRY(await(x, e));
	if (model_clock_on())
		wait_until_due(x, e);
	*p = place_of(e);
	return 0;
}

void exchange_taken(struct exchange *x, int k)
{
	struct exchange_end *e = &x->end[k];
	if (e->request)
		exchange_mpi_taken(e);
	else
		exchange_host_taken(e);
}
