/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulation is exact. Each edge has a fixed number of buffers, each sum a fixed number of
 * ranks, and no rank's order depends on timing: so the same waits end, whichever rank goes on
 * first. A step leaves at most `depth` messages of an edge and one start of a sum in flight; after
 * as many steps as the largest depth, plus two, the state at the end of a step repeats. */
#include "comm/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

/* A message's edge, or a sum. */
struct channel {
	bool sum;
	int from, to;                /* ranks of an edge; of a sum: the first rank of its team, and 0 */
	int64_t id;
	int64_t sent, taken;         /* messages of an edge; of a sum `sent` counts the starts of all
	                              * ranks */
};

struct player {
	struct order order;
	int *channel;                /* by event */
	int *first;                  /* by event: the first event of the same channel, at whose index
	                              * counts are kept */
	int64_t *mine, *waited;      /* how often this rank has started, and waited for, the sum */
	int at, step;
};

struct game {
	struct player *player;
	int ranks, steps;
	struct channel *channel;
	int channels;
};

static bool is_sum(const struct order_event *e)
{
	return e->kind == ORDER_START || e->kind == ORDER_SUM;
}

static struct channel channel_of(int rank, const struct order_event *e)
{
	if (is_sum(e))
		return (struct channel){ .sum = true, .from = e->peer, .id = e->id };
	return (struct channel){ .from = e->kind == ORDER_SEND ? rank : e->peer,
		.to = e->kind == ORDER_SEND ? e->peer : rank, .id = e->id };
}

static int compare(const void *a, const void *b)
{
	const struct channel *p = a, *q = b;
	if (p->sum != q->sum)
		return p->sum ? 1 : -1;
	if (p->from != q->from)
		return p->from < q->from ? -1 : 1;
	if (p->to != q->to)
		return p->to < q->to ? -1 : 1;
	return p->id < q->id ? -1 : p->id > q->id;
}

static void collect_channels(struct game *g)
{
	int n = 0, kept = 0;
	for (int r = 0; r < g->ranks; r++)
		n += g->player[r].order.n;
	g->channel = mem_calloc((size_t)n + 1, sizeof *g->channel);
	n = 0;
	for (int r = 0; r < g->ranks; r++)
		for (int i = 0; i < g->player[r].order.n; i++)
			g->channel[n++] = channel_of(r, &g->player[r].order.event[i]);
	qsort(g->channel, (size_t)n, sizeof *g->channel, compare);
	for (int i = 0; i < n; i++)
		if (i == 0 || compare(&g->channel[i], &g->channel[kept - 1]) != 0)
			g->channel[kept++] = g->channel[i];
	g->channels = kept;
}

static void prepare(struct game *g, int r)
{
	struct player *p = &g->player[r];
	size_t n = (size_t)p->order.n + 1;
	int *seen = mem_alloc((size_t)(g->channels + 1) * sizeof *seen);
	p->channel = mem_calloc(n, sizeof *p->channel);
	p->mine = mem_calloc(n, sizeof *p->mine);
	p->waited = mem_calloc(n, sizeof *p->waited);
	p->first = mem_calloc(n, sizeof *p->first);
	for (int i = 0; i < g->channels; i++)
		seen[i] = -1;
	for (int i = 0; i < p->order.n; i++) {
		struct channel key = channel_of(r, &p->order.event[i]);
		const struct channel *found = bsearch(&key, g->channel, (size_t)g->channels,
		                                      sizeof key, compare);
		int c = p->channel[i] = (int)(found - g->channel);
		if (seen[c] < 0)
			seen[c] = i;
		p->first[i] = seen[c];
		int steps = p->order.event[i].of + 2;
		if (!is_sum(&p->order.event[i]) && steps > g->steps)
			g->steps = steps;
	}
	mem_free(seen);
}

static void release(struct game *g)
{
	for (int r = 0; r < g->ranks; r++) {
		mem_free(g->player[r].channel);
		mem_free(g->player[r].mine);
		mem_free(g->player[r].waited);
		mem_free(g->player[r].first);
	}
	mem_free(g->player);
	mem_free(g->channel);
}

/* Executes the next event of p, unless it has to wait. */
static bool advance(struct game *g, struct player *p)
{
	const struct order_event *e = &p->order.event[p->at];
	struct channel *c = &g->channel[p->channel[p->at]];
	int64_t *mine = &p->mine[p->first[p->at]], *waited = &p->waited[p->first[p->at]];
	switch (e->kind) {
	case ORDER_SEND:
		if (c->sent - c->taken >= e->of)
			return false;
		c->sent++;
		break;
	case ORDER_RECEIVE:
		if (c->sent == c->taken)
			return false;
		c->taken++;
		break;
	case ORDER_START:
		++*mine;
		c->sent++;
		break;
	case ORDER_SUM:
		if (*mine > *waited && c->sent < *mine * e->of)
			return false;
		*waited = *mine;
		break;
	}
	if (++p->at == p->order.n) {
		p->at = 0;
		p->step++;
	}
	return true;
}

static bool ended(const struct game *g, const struct player *p)
{
	return p->order.n == 0 || p->step == g->steps;
}

static const struct order_event *next_of(const struct game *g, int r)
{
	const struct player *p = &g->player[r];
	return ended(g, p) ? NULL : &p->order.event[p->at];
}

/* A rank for which rank r waits; -1: there is none. */
static int blocker(const struct game *g, int r)
{
	const struct player *p = &g->player[r];
	const struct order_event *e = next_of(g, r);
	if (!is_sum(e))
		return e->peer;
	int64_t mine = p->mine[p->first[p->at]];
	for (int o = 0; o < g->ranks; o++) {
		const struct player *q = &g->player[o];
		for (int i = 0; i < q->order.n; i++)
			if (q->channel[i] == p->channel[p->at] && q->order.event[i].kind == ORDER_START) {
				if (q->mine[q->first[i]] < mine)
					return o;
				break;
			}
	}
	return -1;
}

/* Whether the steps of rank `by` contain the event that rank r waits for. */
static bool brings(const struct game *g, int r, int by)
{
	static const enum order_kind other[] = {
		[ORDER_SEND] = ORDER_RECEIVE, [ORDER_RECEIVE] = ORDER_SEND, [ORDER_SUM] = ORDER_START,
	};
	const struct player *p = &g->player[r], *q = &g->player[by];
	for (int i = 0; i < q->order.n && !ended(g, q); i++)
		if (q->channel[i] == p->channel[p->at] &&
		    q->order.event[i].kind == other[next_of(g, r)->kind])
			return true;
	return false;
}

static void describe(const struct order_event *e, struct buf *out)
{
	static const char *const text[] = {
		[ORDER_SEND] = "room to send", [ORDER_RECEIVE] = "the message", [ORDER_SUM] = "the sum of",
		[ORDER_START] = "",
	};
	buf_printf(out, "waits in '%s' for %s '%s'", e->node, text[e->kind], e->name);
	if (!is_sum(e))
		buf_printf(out, " %s rank %d", e->kind == ORDER_SEND ? "to" : "of", e->peer);
}

static int report(const struct game *g, int first)
{
	struct buf text = BUF_INIT;
	int r = first;
	do {
		const struct order_event *e = next_of(g, r);
		const char *missing = e->kind == ORDER_SEND ? "taking it" : is_sum(e) ? "starting it" :
		                      "sending it";
		buf_printf(&text, "%srank %d ", text.len ? "; " : "", r);
		describe(e, &text);
		int by = blocker(g, r);
		bool never = by >= 0 && !brings(g, r, by);
		r = never ? -1 : by;
		if (by < 0)
			buf_printf(&text, ", which fewer than %d ranks start", e->of);
		else if (never)
			buf_printf(&text, ", but rank %d goes through its steps without %s", by, missing);
		else if (is_sum(e))
			buf_printf(&text, ", which rank %d has not started", r);
	} while (r >= 0 && r != first);
	int rc = ERR(E_BUG, NULL, "a step would never end: %s", text.data);
	buf_release(&text);
	return rc;
}

/* A rank that never ends: one that waits for an event of no rank, or else one in a cycle of waiting
 * ranks. -1: all ranks end. */
static int stuck(const struct game *g)
{
	int found = -1;
	for (int r = 0; r < g->ranks; r++) {
		if (ended(g, &g->player[r]))
			continue;
		int by = blocker(g, r);
		if (by < 0 || !brings(g, r, by))
			return r;
		if (found < 0)
			found = r;
	}
	for (int i = 0; found >= 0 && i < g->ranks; i++)
		found = blocker(g, found);
	return found;
}

static int play(struct game *g)
{
	for (bool any = true; any;) {
		any = false;
		for (int r = 0; r < g->ranks; r++)
			while (!ended(g, &g->player[r]) && advance(g, &g->player[r]))
				any = true;
	}
	int r = stuck(g);
	return r < 0 ? 0 : report(g, r);
}

/* --- one order of starts --- */

/* Teams that have a first rank in common differ in their ranks, or have reducers of their own. */
static bool same_reducer(const struct order_event *a, const struct order_event *b)
{
	return a->peer == b->peer && a->of == b->of && a->id >> 32 == b->id >> 32;
}

/* Of the same reducer as `like`. */
static const struct order_event *next_start(const struct order *o, const struct order_event *like,
                                            int *at)
{
	while (*at < o->n) {
		const struct order_event *e = &o->event[(*at)++];
		if (e->kind == ORDER_START && same_reducer(e, like))
			return e;
	}
	return NULL;
}

static int compare_starts(const struct order *rank, int r, const struct order_event *like)
{
	int team = like->peer;
	for (int i = 0, k = 0;;) {
		const struct order_event *p = next_start(&rank[team], like, &i),
		                         *q = next_start(&rank[r], like, &k);
		if (!p && !q)
			return 0;
		if (p && q && p->id == q->id)
			continue;
		return ERR(E_BUG, NULL, "sums start in different orders: rank %d starts '%s' in '%s', "
		           "where rank %d starts '%s' in '%s'", team, p ? p->name : "none",
		           p ? p->node : "-", r, q ? q->name : "none", q ? q->node : "-");
	}
}

static int check_starts(const struct order *rank, int ranks)
{
	for (int r = 0; r < ranks; r++) {
		const struct order_event *last = NULL;
		for (int i = 0; i < rank[r].n; i++) {
			const struct order_event *e = &rank[r].event[i];
			if (e->kind != ORDER_START || (last && same_reducer(e, last)))
				continue;
			TRY(compare_starts(rank, r, e));
			last = e;
		}
	}
	return 0;
}

int order_play(const struct order *rank, int ranks, bool same_starts)
{
	struct game g = { .ranks = ranks, .steps = 2 };
	if (same_starts)
		TRY(check_starts(rank, ranks));
	g.player = mem_calloc((size_t)ranks, sizeof *g.player);
	for (int r = 0; r < ranks; r++)
		g.player[r].order = rank[r];
	collect_channels(&g);
	for (int r = 0; r < ranks; r++)
		prepare(&g, r);
	int rc = play(&g);
	release(&g);
	return rc;
}

/* --- gathering --- */

/* An order as text of lines: peers are counted from the rank itself. */
static void write_order(const struct order *o, int rank, struct buf *out)
{
	for (int i = 0; i < o->n; i++) {
		const struct order_event *e = &o->event[i];
		buf_printf(out, "%d %d %" PRId64 " %d ", (int)e->kind, e->peer - rank, e->id, e->of);
		buf_puts(out, e->node);
		buf_putc(out, '\0');
		buf_puts(out, e->name);
		buf_putc(out, '\0');
	}
}

/* Names stay in the text. */
static struct order read_order(const struct buf *text, int rank, struct order_event **own)
{
	const char *p = text->data, *end = p + text->len;
	int n = 0;
	for (const char *q = p; q < end; q++)
		n += *q == '\0';
	struct order_event *e = *own = mem_calloc((size_t)n / 2 + 1, sizeof *e);
	for (n = 0; p < end; n++) {
		char *rest;
		e[n].kind = (enum order_kind)strtol(p, &rest, 10);
		e[n].peer = rank + (int)strtol(rest, &rest, 10);
		e[n].id = strtoll(rest, &rest, 10);
		e[n].of = (int)strtol(rest, &rest, 10);
		e[n].node = rest + 1;
		e[n].name = e[n].node + strlen(e[n].node) + 1;
		p = e[n].name + strlen(e[n].name) + 1;
	}
	return (struct order){ e, n };
}

struct role {
	uint64_t hash;
	int64_t bytes;
};

/* The first rank whose order is the same. */
static int owner_of(const struct role *role, int rank)
{
	for (int r = 0; r < rank; r++)
		if (role[r].hash == role[rank].hash && role[r].bytes == role[rank].bytes)
			return r;
	return rank;
}

/* text[r]: of the ranks that are the first of their role. */
static void gather(struct comm *c, struct buf *mine, const struct role *role, struct buf *text)
{
	for (int r = 0; r < c->size; r++) {
		if (owner_of(role, r) != r)
			continue;
		if (r == c->rank)
			buf_add(&text[r], mine->data, mine->len);
		else
			for (int64_t i = 0; i < role[r].bytes; i++)
				buf_putc(&text[r], ' ');
		comm_broadcast(c, text[r].data, text[r].len, r, "the order of a step");
	}
}

int order_check(struct comm *c, struct order mine, bool same_starts)
{
	struct buf own = BUF_INIT, *text = mem_calloc((size_t)c->size, sizeof *text);
	struct role *role = mem_calloc((size_t)c->size, sizeof *role);
	struct order *order = mem_calloc((size_t)c->size, sizeof *order);
	struct order_event **event = mem_calloc((size_t)c->size, sizeof *event);
	write_order(&mine, c->rank, &own);
	const struct role me = { hash_bytes(own.data, own.len, 0), (int64_t)own.len };
	comm_all_gather(c, &me, sizeof me, role, "the order of a step");
	for (int r = 0; r < c->size; r++)
		buf_init(&text[r]);
	gather(c, &own, role, text);
	for (int r = 0; r < c->size; r++)
		order[r] = read_order(&text[owner_of(role, r)], r, &event[r]);
	int rc = order_play(order, c->size, same_starts);
	for (int r = 0; r < c->size; r++) {
		mem_free(event[r]);
		buf_release(&text[r]);
	}
	buf_release(&own);
	mem_free(event);
	mem_free(order);
	mem_free(role);
	mem_free(text);
	return rc;
}
