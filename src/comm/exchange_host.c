/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Why no message is torn, lost or doubled. Let an edge have depth d, and places 0 .. d - 1. Message
 * m (from 0) has place m mod d. `sent` of that place and `taken` of the edge are stored by one rank
 * each, so they are counters without read-modify-write, and only grow.
 *
 * - The sender writes message m only after it has read taken >= m - d + 1 (acquire; for m < d that
 *   is so from the beginning; the value may be that of an earlier read, since taken only grows).
 *   The receiver stored that (release) after its last read of message m - d, which had the same
 *   place: it reads nothing of m - d while m is written.
 * - The sender stores sent = m + 1 in the place after it has written m there (release). The
 *   receiver, whose count of taken messages is m, reads the place after it has read sent == m + 1
 *   (acquire): all of m is there. There is no larger value yet, since m + d needs taken >= m + 1,
 *   and a smaller one belongs to m - d. So it reads m, and nothing but m.
 * - Both counts grow by one with each message, so none is skipped or read twice.
 *
 * No wake-up is lost either. A rank stores asleep = 1, then looks at the counter once more, then
 * sleeps if asleep is still 1. The other rank stores the counter, then reads asleep. All four are
 * sequentially consistent: either the sleeper sees the counter, or the other one sees the sleeper,
 * stores asleep = 0 and wakes it; the kernel compares asleep as it puts it to sleep. */
#include <string.h>

#include "base/mem.h"
#include "comm/exchange_state.h"
#include "comm/futex.h"

int64_t exchange_apart(const struct exchange_edge *e)
{
	return exchange_is_small(e) ? 0 : exchange_padded(e->bytes);
}

static int64_t lines_of(const struct exchange_edge *e)
{
	return e->sends ? e->depth : 0;
}

struct measure {
	int sends;
	int64_t lines, block;
};

static struct measure measure(const struct exchange_edge *edge, int n)
{
	struct measure m = { 0 };
	for (int k = 0; k < n; k++) {
		const struct exchange_edge *e = &edge[k];
		m.sends += e->sends;
		m.lines += lines_of(e);
		m.block += e->sends ? exchange_apart(e) * e->depth : 0;
	}
	return m;
}

static struct exchange_sends *table_of(char *part)
{
	return (struct exchange_sends *)(void *)(part + sizeof(struct exchange_rank));
}

static struct exchange_line *lines_at(char *part)
{
	const struct exchange_rank *r = (const struct exchange_rank *)(const void *)part;
	return (struct exchange_line *)(void *)(table_of(part) + r->sends);
}

static char *block_at(char *part)
{
	const struct exchange_rank *r = (const struct exchange_rank *)(const void *)part;
	return (char *)(lines_at(part) + r->lines);
}

int64_t exchange_host_bytes(const struct exchange_edge *edge, int n)
{
	struct measure m = measure(edge, n);
	return (int64_t)mem_pages(sizeof(struct exchange_rank) +
	                          (size_t)m.sends * sizeof(struct exchange_sends) +
	                          (size_t)m.lines * sizeof(struct exchange_line) + (size_t)m.block);
}

void exchange_host_write(struct exchange *x, char *part)
{
	struct exchange_rank *r = x->mine = (struct exchange_rank *)(void *)part;
	struct exchange_sends *s = table_of(part);
	int64_t line = 0;
	for (int k = 0; k < x->n; k++) {
		const struct exchange_edge *e = &x->end[k].edge;
		if (!e->sends)
			continue;
		*s++ = (struct exchange_sends){ .id = e->id, .peer = e->peer, .line = line,
			.at = e->offset };
		line += lines_of(e);
	}
	r->sends = (int)(s - table_of(part));
	r->lines = line;
}

static void connect(struct exchange_end *e, char *from, char *to, int receiver)
{
	const struct exchange_rank *r = (const struct exchange_rank *)(const void *)from;
	struct exchange_sends *s = table_of(from);
	for (int i = 0; i < r->sends && (s->peer != receiver || s->id != e->edge.id); i++)
		s++;
	e->sends = s;
	e->line = lines_at(from) + s->line;
	e->apart = exchange_apart(&e->edge);
	e->place = e->apart ? block_at(from) + s->at : NULL;
	e->other = (struct exchange_rank *)(void *)(e->edge.sends ? to : from);
}

void exchange_host_connect(struct exchange *x, char *const *part)
{
	for (int k = 0; k < x->n; k++) {
		struct exchange_end *e = &x->end[k];
		int local = comm_local_of(x->c, e->edge.peer);
		char *mine = part[x->c->local_rank], *theirs = local < 0 ? mine : part[local];
		if (e->edge.sends)
			connect(e, mine, theirs, e->edge.peer);
		else if (local >= 0)
			connect(e, theirs, mine, x->c->rank);
	}
}

/* The receiver's counter is in the cache of the receiver, so that it is read only if the count of
 * the last time does not suffice. */
bool exchange_host_room(struct exchange_end *e)
{
	if (e->count >= e->known + (uint64_t)e->edge.depth)
		e->known = atomic_load(&e->sends->taken);
	return e->count < e->known + (uint64_t)e->edge.depth;
}

bool exchange_host_came(const struct exchange_end *e)
{
	const struct exchange_line *l = &e->line[e->count % (uint64_t)e->edge.depth];
	return atomic_load(&l->sent) == e->count + 1;
}

static void wake(struct exchange_rank *r)
{
	if (atomic_load(&r->asleep) == 0)
		return;
	atomic_store(&r->asleep, 0);
	syscall(SYS_futex, &r->asleep, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void exchange_host_send(struct exchange_end *e, int64_t due)
{
	struct exchange_line *l = &e->line[e->count % (uint64_t)e->edge.depth];
	l->due = due;
	atomic_store(&l->sent, ++e->count);
	wake(e->other);
}

void exchange_host_taken(struct exchange_end *e)
{
	atomic_store(&e->sends->taken, ++e->count);
	wake(e->other);
}
