/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Some ranks as a communicator of their own. Hosts and processes are known already: only colours
 * are exchanged, and the slots of the liveness table are shared, so that reports name ranks by the
 * launcher's numbers. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "comm/meet.h"

static void find_members(struct comm *c, struct comm *from, int colour)
{
	int *all = mem_calloc((size_t)from->size, sizeof *all);
	comm_all_gather(from, &colour, sizeof colour, all, "the teams of ranks");
	c->state->member = mem_calloc((size_t)from->size, sizeof *c->state->member);
	c->size = 0;
	for (int r = 0; r < from->size; r++) {
		if (all[r] != colour)
			continue;
		if (r == from->rank)
			c->rank = c->size;
		c->state->member[c->size++] = comm_whole_rank(from, r);
	}
	mem_free(all);
}

/* Hosts are counted in the order of the subgroup's ranks. */
static void number_hosts(struct comm *c, const struct comm_state *whole)
{
	struct comm_state *s = c->state;
	int *old = mem_calloc((size_t)c->size, sizeof *old);
	c->hosts = 0;
	for (int i = 0; i < c->size; i++) {
		int host = whole->host_of[s->member[i]], h = 0;
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

/* Of the ranks of this host those of the team: their numbers, and their places in the liveness
 * table. */
static void find_local(struct comm *c, const struct comm *whole)
{
	struct comm_state *s = c->state, *w = whole->state;
	s->local = mem_calloc((size_t)c->size, sizeof *s->local);
	s->place = mem_calloc((size_t)c->size, sizeof *s->place);
	c->local_size = 0;
	for (int i = 0, m = 0; i < whole->local_size; i++) {
		while (m < c->size && s->member[m] < w->local[i])
			m++;
		if (m == c->size || s->member[m] != w->local[i])
			continue;
		if (i == whole->local_rank)
			c->local_rank = c->local_size;
		s->local[c->local_size] = w->local[i];
		s->place[c->local_size++] = i;
	}
	s->liveness = (struct liveness){ .slots = w->liveness.slots, .place = s->place,
		.rank = s->local, .n = c->local_size, .me = c->local_rank, .host = whole->host_name };
}

void comm_subgroup(struct comm **out, struct comm *from, int colour)
{
	struct comm *c = mem_alloc(sizeof *c), *whole = comm_whole(from);
	struct comm_state *s = mem_calloc(1, sizeof *s);
	BUG_IF(from->size == 1 || (from != whole && from->state->threads) || colour < 0,
	       "a team %d of %d ranks", colour, from->size);
	*c = *whole;
	*s = (struct comm_state){ .whole = whole };
	c->state = s;
	find_members(c, from, colour);
	s->host_of = mem_calloc((size_t)c->size, sizeof *s->host_of);
	s->host_name = mem_calloc((size_t)c->size, sizeof *s->host_name);
	number_hosts(c, whole->state);
	find_local(c, whole);
	meet_subgroup(c, from, colour);
	*out = c;
}

void comm_subgroup_close(struct comm *subgroup)
{
	if (!subgroup)
		return;
	meet_subgroup_leave(subgroup);
	mem_free(subgroup->state->member);
	mem_free(subgroup->state->local);
	mem_free(subgroup->state->place);
	mem_free(subgroup->state->host_of);
	mem_free(subgroup->state->host_name);
	mem_free(subgroup->state);
	mem_free(subgroup);
}
