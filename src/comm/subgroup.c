/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbouring ranks as a communicator of their own. Hosts and processes are known already: nothing
 * is exchanged again, and the slots of the liveness table are shared, so that reports name ranks by
 * the launcher's numbers. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "comm/world.h"

/* Hosts are counted in the order of the subgroup's ranks. */
static void number_hosts(struct comm *c, const struct comm_state *whole)
{
	struct comm_state *s = c->state;
	int *old = mem_calloc((size_t)c->size, sizeof *old);
	c->hosts = 0;
	for (int i = 0; i < c->size; i++) {
		int host = whole->host_of[s->first + i], h = 0;
		while (h < c->hosts && old[h] != host)
			h++;
		if (h == c->hosts) {
			memcpy(s->host_name[h], whole->host_name[host], sizeof *s->host_name);
			old[c->hosts++] = host;
		}
		s->host_of[i] = h;
	}
	c->host = s->host_of[c->rank];
	mem_free(old);
}

/* Local ranks are in the order of ranks, so the ranks of a subgroup are neighbours there, too. */
static void find_neighbours(struct comm *c, const struct comm *whole)
{
	struct comm_state *s = c->state, *w = whole->state;
	int lo = 0, hi;
	while (w->local[lo] < s->first)
		lo++;
	for (hi = lo; hi < whole->local_size && w->local[hi] < s->first + c->size; hi++)
		;
	c->local_rank = whole->local_rank - lo;
	c->local_size = hi - lo;
	s->local = w->local + lo;
	s->liveness = (struct liveness){ w->liveness.slot + lo, s->local, c->local_size, c->local_rank,
		whole->host_name };
}

void comm_subgroup(struct comm **out, struct comm *whole, int size)
{
	struct comm *c = mem_alloc(sizeof *c);
	struct comm_state *s = mem_calloc(1, sizeof *s);
	BUG_IF(whole->size == 1 || whole->size % size, "parts of %d of %d ranks", size, whole->size);
	*c = *whole;
	*s = (struct comm_state){ .whole = whole, .first = whole->rank / size * size };
	c->state = s;
	c->size = size;
	c->rank = whole->rank - s->first;
	s->host_of = mem_calloc((size_t)size, sizeof *s->host_of);
	s->host_name = mem_calloc((size_t)size, sizeof *s->host_name);
	number_hosts(c, whole->state);
	find_neighbours(c, whole);
	world_subgroup(c, whole, s->first);
	*out = c;
}

void comm_subgroup_close(struct comm *subgroup)
{
	if (!subgroup)
		return;
	world_subgroup_leave(subgroup);
	mem_free(subgroup->state->host_of);
	mem_free(subgroup->state->host_name);
	mem_free(subgroup->state);
	mem_free(subgroup);
}
