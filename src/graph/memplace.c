/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Offline memory allocation is strip packing and NP-hard; greedy orders do well on the nested lifetimes of training. Each strategy places
 * the items in one order, into the lowest or the tightest gap between those placed that are alive at the same time; the smallest arena
 * wins. Orders by time need only look at what is alive and are nearly linear; orders by size look at everything placed and run only
 * if the first ones missed the lower bound. */
#include "graph/memplace.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NOWHERE INT64_MAX

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

/* One strategy: offsets into at[], returns the arena it needs, or NOWHERE as soon as it is no better than `best`. */
static int64_t place(const struct memitem *item, int n, enum order order, bool tightest, int64_t best,
                     struct key *key, struct placed *p, int64_t *at)
{
	int64_t peak = 0;

	sort(item, n, order, key);
	p->n = 0;
	for (int k = 0; k < n; k++) {
		struct memitem m = item[key[k].i];
		expire(p, &m, order);
		m.offset = find_gap(p, &m, tightest);
		if (m.offset + m.size > peak)
			peak = m.offset + m.size;
		if (peak >= best)
			return NOWHERE;
		at[key[k].i] = m.offset;
		insert(p, &m);
	}
	return peak;
}

int64_t memplace(struct memitem *item, int n, int64_t lower_bound)
{
	struct key *key = mem_alloc(((size_t)n + 1) * sizeof *key);
	struct placed p = { .m = mem_alloc(((size_t)n + 1) * sizeof *p.m) };
	int64_t *at = mem_alloc(((size_t)n + 1) * sizeof *at), best = NOWHERE;

	for (int s = 0; s < 2 * ORDERS && best > lower_bound; s++) {
		int64_t peak = place(item, n, (enum order)(s / 2), s % 2, best, key, &p, at);
		if (peak == NOWHERE)
			continue;
		best = peak;
		for (int i = 0; i < n; i++)
			item[i].offset = at[i];
	}
	mem_free(key);
	mem_free(p.m);
	mem_free(at);
	return n ? best : 0;
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
