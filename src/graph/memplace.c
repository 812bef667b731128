/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Offline memory allocation is strip packing and NP-hard; greedy orders do well on the
 * nested lifetimes of training. Each strategy places the items in one order, into the
 * lowest or the tightest gap between those placed that are alive at the same time; the
 * smallest arena wins. Orders by time need only look at what is alive and are nearly
 * linear; others look at everything placed and run only if the first ones missed the
 * lower bound. What is then still missing is sought by bumping: the item on top of the
 * arena goes first next time. Since the large items decide, this is done for them alone,
 * which takes little, and the small ones are placed into the gaps they leave. The work
 * is bounded by counting, not by a clock, so that the result is the same everywhere. */
#include "graph/memplace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/simd.h"

#define NOWHERE INT64_MAX
/* pairs of items that a search among large ones may look at: some 3 ms */
#define BUDGET 3000000
/* the same with all items, which are more and mostly do not meet */
#define FULL_BUDGET 16000000
#define ENOUGH 200               /* the search is over when less than 1/200 is lost */

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

/* The placed items, by rising offset: separate arrays, since mostly only the times are read. */
struct placed {
	int *start, *end;
	int64_t *offset, *size;
	uint8_t *meets;              /* whether it is alive with the item at
	                              * hand; zeros after the last one */
	int n;
};

#define WORD 8                   /* of meets[], looked at together */

SIMD_CLONES(void, mark_meeting,
            (const int *restrict start, const int *restrict end, int n, int from, int to,
             uint8_t *restrict meets), (start, end, n, from, to, meets))
{
	SIMD_LOOP
	for (int i = 0; i < n; i++)
		meets[i] = (end[i] >= from) & (start[i] <= to);
}

/* The lowest (or tightest) gap for m among those placed that are alive with it. */
static int64_t find_gap(const struct placed *p, const struct memitem *m, bool tightest)
{
	int64_t top = 0, best = NOWHERE, best_gap = NOWHERE;
	mark_meeting(p->start, p->end, p->n, m->start, m->end, p->meets);
	memset(p->meets + p->n, 0, WORD);
	for (int w = 0; w < p->n; w += WORD) {
		uint64_t some;
		memcpy(&some, p->meets + w, WORD);
		for (int i = w; some && i < w + WORD; i++) {
			if (!p->meets[i])
				continue;
			int64_t gap = p->offset[i] - top;
			if (gap >= m->size && gap < best_gap) {
				best = top;
				best_gap = gap;
				if (!tightest)
					return best;
			}
			if (p->offset[i] + p->size[i] > top)
				top = p->offset[i] + p->size[i];
		}
	}
	return best != NOWHERE ? best : top;
}

static void insert(struct placed *p, const struct memitem *m)
{
	int lo = 0, hi = p->n;
	while (lo < hi) {
		int mid = (lo + hi) / 2;
		if (p->offset[mid] <= m->offset)
			lo = mid + 1;
		else
			hi = mid;
	}
#define OPEN(a) memmove(p->a + lo + 1, p->a + lo, (size_t)(p->n - lo) * sizeof *p->a), \
	p->a[lo] = m->a
	OPEN(start);
	OPEN(end);
	OPEN(offset);
	OPEN(size);
#undef OPEN
	p->n++;
}

#define EXPIRE_EVERY 16          /* items between expiries: dead items block no space meanwhile, and
                                  * looking takes longer than skipping them */

/* Forgets what can never meet an item of the rest of a time order. */
static void expire(struct placed *p, const struct memitem *m, enum order order)
{
	int k = 0;
	if (order != BY_START && order != BY_END)
		return;
	for (int i = 0; i < p->n; i++) {
		if (order == BY_START ? p->end[i] < m->start : p->start[i] > m->end)
			continue;
		p->start[k] = p->start[i];
		p->end[k] = p->end[i];
		p->offset[k] = p->offset[i];
		p->size[k++] = p->size[i];
	}
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
		if (k % EXPIRE_EVERY == 0)
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

/* The place in the best order of the untried item that ends highest; -1 if all were tried. */
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

static void search_init(struct search *s, const struct memitem *item, int n)
{
	size_t room = (size_t)n + 1;
	*s = (struct search){ .item = item, .n = n, .best = NOWHERE, .budget = BUDGET };
	s->key = mem_alloc(room * sizeof *s->key);
	s->placed.start = mem_alloc(room * sizeof *s->placed.start);
	s->placed.end = mem_alloc(room * sizeof *s->placed.end);
	s->placed.offset = mem_alloc(room * sizeof *s->placed.offset);
	s->placed.size = mem_alloc(room * sizeof *s->placed.size);
	s->placed.meets = mem_alloc(room + WORD);
	s->at = mem_alloc(room * sizeof *s->at);
	s->best_at = mem_alloc(room * sizeof *s->best_at);
	s->best_order = mem_alloc(room * sizeof *s->best_order);
}

static void search_release(struct search *s)
{
	mem_free(s->key);
	mem_free(s->placed.start);
	mem_free(s->placed.end);
	mem_free(s->placed.offset);
	mem_free(s->placed.size);
	mem_free(s->placed.meets);
	mem_free(s->at);
	mem_free(s->best_at);
	mem_free(s->best_order);
}

/* Each order from `first` on, lowest gap and tightest. */
static void try_orders(struct search *s, int first, int end, int64_t lower_bound)
{
	for (int k = 2 * first; k < 2 * end && s->best > lower_bound && s->budget > 0; k++) {
		sort(s->item, s->n, (enum order)(k / 2), s->key);
		place(s, (enum order)(k / 2), k % 2);
	}
}

/* Searches an order for the items of at least `least` bytes,
 * and places the others after them, large ones first. */
static void search_large(struct search *s, int64_t least, int nnode)
{
	struct memitem *large = mem_alloc(((size_t)s->n + 1) * sizeof *large);
	int *id = mem_alloc(((size_t)s->n + 1) * sizeof *id), n = 0, peak;
	struct search sub;
	for (int i = 0; i < s->n; i++)
		if (s->item[i].size >= least) {
			large[n] = s->item[i];
			id[n++] = i;
		}
	search_init(&sub, large, n);
	int64_t bound = memplace_lower_bound(large, n, nnode, &peak);
	try_orders(&sub, 0, ORDERS, bound);
	bump(&sub, bound);
	for (int k = 0; k < n; k++)
		sub.key[k].i = id[sub.best_order[k]];
	sort(s->item, s->n, BY_SIZE, s->key);
	memcpy(s->key, sub.key, (size_t)n * sizeof *s->key);    /* the n largest, in that order */
	s->budget = FULL_BUDGET;
	if (n > 0 && sub.best < s->best)
		place(s, ORDERS, false);
	search_release(&sub);
	mem_free(large);
	mem_free(id);
}

int64_t memplace(struct memitem *item, int n, int64_t lower_bound)
{
	static const int parts[] = { 1000, 500, 2000 };
	const int64_t enough = lower_bound + lower_bound / ENOUGH;
	struct search s;
	int nnode = 0;
	if (n == 0)
		return 0;
	for (int i = 0; i < n; i++)
		nnode = item[i].end >= nnode ? item[i].end + 1 : nnode;
	search_init(&s, item, n);
	s.budget = FULL_BUDGET;
	try_orders(&s, BY_START, BY_LIFE, lower_bound);
	for (int i = 0; i < 3 && s.best > enough; i++)
		search_large(&s, lower_bound / parts[i], nnode);
	s.budget = BUDGET;
	if (s.best > enough)
		try_orders(&s, BY_LIFE, ORDERS, lower_bound);
	if (s.best > enough)
		bump(&s, lower_bound);
	for (int i = 0; i < n; i++)
		item[i].offset = s.best_at[i];
	search_release(&s);
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
