/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Offline memory allocation is strip packing and NP-hard; greedy orders do well on the nested
 * lifetimes of training. Each strategy places the items in one order, into the lowest or the
 * tightest gap between those placed that are alive at the same time; the smallest arena wins.
 * Orders by time need only look at what is alive and are nearly linear; orders by size look at
 * everything placed and run only if the first ones missed the lower bound. What is then still
 * missing is sought by bumping: the item on top of the arena goes first next time. The work is
 * bounded by counting, not by a clock, so that the result is the same everywhere. */
#include "graph/memplace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NOWHERE INT64_MAX
#define BUDGET 40000000          /* pairs of items the search may look at: some 50 ms */

struct key {
	int64_t a, b;                /* larger a first, then larger b, then smaller index */
	int i;
};

static int by_key(const void *p, const void *q)
{
	const struct key *x = p, *y = q;

	if (x->a != y->a)
		return x->a > y->a ? -1 : 1;
	if (x->b != y->b)
		return x->b > y->b ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

enum order { BY_START, BY_END, BY_SIZE, BY_LIFE, BY_AREA, ORDERS };

static void sort(const struct memitem *item, int n, enum order order, struct key *key)
{
	for (int i = 0; i < n; i++) {
		const struct memitem *m = &item[i];
		int64_t life = (int64_t)m->end - m->start + 1;
		key[i].i = i;
		switch (order) {
		case BY_START: key[i].a = -(int64_t)m->start; key[i].b = life; break;
		case BY_END: key[i].a = m->end; key[i].b = life; break;
		case BY_SIZE: key[i].a = m->size; key[i].b = life; break;
		case BY_LIFE: key[i].a = life; key[i].b = m->size; break;
		default: key[i].a = m->size / MEM_ALIGN * life; key[i].b = m->size; break;
		}
	}
	qsort(key, (size_t)n, sizeof *key, by_key);
}

/* What has been placed, by rising offset. */
struct placed {
	struct memitem *m;
	int n;
};

/* The lowest (or tightest) gap for m among those placed that are alive with it. */
static int64_t find_gap(const struct placed *p, const struct memitem *m, bool tightest)
{
	int64_t top = 0, best = NOWHERE, best_gap = NOWHERE;

	for (int i = 0; i < p->n; i++) {
		const struct memitem *q = &p->m[i];
		if (q->end < m->start || q->start > m->end)
			continue;
		if (q->offset - top >= m->size && q->offset - top < best_gap) {
			best = top;
			best_gap = q->offset - top;
			if (!tightest)
				return best;
		}
		if (q->offset + q->size > top)
			top = q->offset + q->size;
	}
	return best != NOWHERE ? best : top;
}

static void insert(struct placed *p, const struct memitem *m)
{
	int lo = 0, hi = p->n;

	while (lo < hi) {
		int mid = (lo + hi) / 2;
		if (p->m[mid].offset <= m->offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	memmove(p->m + lo + 1, p->m + lo, (size_t)(p->n - lo) * sizeof *p->m);
	p->m[lo] = *m;
	p->n++;
}

/* Forgets what can never meet an item of the rest of a time order. */
static void expire(struct placed *p, const struct memitem *m, enum order order)
{
	int k = 0;

	if (order != BY_START && order != BY_END)
		return;
	for (int i = 0; i < p->n; i++)
		if (order == BY_START ? p->m[i].end >= m->start : p->m[i].start <= m->end)
			p->m[k++] = p->m[i];
	p->n = k;
}

struct search {
	const struct memitem *item;
	int n;
	struct key *key;             /* the order at hand */
	struct placed placed;
	int64_t *at;                 /* offsets of the order at hand */
	int64_t best, *best_at;
	int *best_order;
	int64_t budget;
};

/* Places the items in the order of key[]; keeps the result if it is the best so far. Gives up as
 * soon as it is not. */
static bool place(struct search *s, enum order order, bool tightest)
{
	int64_t peak = 0;

	s->placed.n = 0;
	for (int k = 0; k < s->n; k++) {
		struct memitem m = s->item[s->key[k].i];
		expire(&s->placed, &m, order);
		s->budget -= s->placed.n;
		if (s->budget < 0 && s->best != NOWHERE)
			return false;
		m.offset = find_gap(&s->placed, &m, tightest);
		if (m.offset + m.size > peak)
			peak = m.offset + m.size;
		if (peak >= s->best)
			return false;
		s->at[s->key[k].i] = m.offset;
		insert(&s->placed, &m);
	}
	s->best = peak;
	memcpy(s->best_at, s->at, (size_t)s->n * sizeof *s->at);
	for (int k = 0; k < s->n; k++)
		s->best_order[k] = s->key[k].i;
	return true;
}

/* Where in the best order the item stands that reaches highest among those not tried; -1 if all
 * were. */
static int topmost(const struct search *s, const bool *tried)
{
	int64_t high = -1;
	int top = -1;

	for (int k = 0; k < s->n; k++) {
		int i = s->best_order[k];
		if (tried[i] || s->best_at[i] + s->item[i].size <= high)
			continue;
		high = s->best_at[i] + s->item[i].size;
		top = k;
	}
	return top;
}

/* Starts again and again from the best order with the topmost item moved to the front, each time
 * one that was not tried. */
static void bump(struct search *s, int64_t lower_bound)
{
	bool *tried = mem_calloc((size_t)s->n, sizeof *tried);

	while (s->best > lower_bound && s->budget > 0) {
		int top = topmost(s, tried), to = 0;
		if (top < 0)
			break;
		tried[s->best_order[top]] = true;
		s->key[to++].i = s->best_order[top];
		for (int k = 0; k < s->n; k++)
			if (k != top)
				s->key[to++].i = s->best_order[k];
		s->budget -= s->n;
		if (place(s, ORDERS, false))
			memset(tried, 0, (size_t)s->n * sizeof *tried);
	}
	mem_free(tried);
}

int64_t memplace(struct memitem *item, int n, int64_t lower_bound)
{
	struct search s = { .item = item, .n = n, .best = NOWHERE, .budget = BUDGET };
	size_t room = (size_t)n + 1;

	if (n == 0)
		return 0;
	s.key = mem_alloc(room * sizeof *s.key);
	s.placed.m = mem_alloc(room * sizeof *s.placed.m);
	s.at = mem_alloc(room * sizeof *s.at);
	s.best_at = mem_alloc(room * sizeof *s.best_at);
	s.best_order = mem_alloc(room * sizeof *s.best_order);
	for (int k = 0; k < 2 * ORDERS && s.best > lower_bound && s.budget > 0; k++) {
		sort(item, n, (enum order)(k / 2), s.key);
		place(&s, (enum order)(k / 2), k % 2);
	}
	bump(&s, lower_bound);
	for (int i = 0; i < n; i++)
		item[i].offset = s.best_at[i];
	mem_free(s.key);
	mem_free(s.placed.m);
	mem_free(s.at);
	mem_free(s.best_at);
	mem_free(s.best_order);
	return s.best;
}

int64_t memplace_lower_bound(const struct memitem *item, int n, int nnode, int *peak_node)
{
	int64_t *change = mem_calloc((size_t)nnode + 2, sizeof *change), live = 0, most = 0;

	*peak_node = -1;
	for (int i = 0; i < n; i++) {
		change[item[i].start] += item[i].size;
		change[item[i].end + 1] -= item[i].size;
	}
	for (int i = 0; i < nnode; i++) {
		live += change[i];
		if (live > most) {
			most = live;
			*peak_node = i;
		}
	}
	mem_free(change);
	return most;
}
