/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collective exchange between ranks: checks that they have the same files, finds their hosts, and
 * assigns owners to extents. */
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "data/staging_state.h"

#define MOST_MAPS ((size_t)64 << 20)     /* bytes */

struct introduction {
	int64_t host;
	uint64_t data;
};

static uint64_t identity(const struct staging *s)
{
	uint64_t h = 0;
	for (int i = 0; i < s->nfile; i++) {
		const uint64_t of[2] = { record_hash(s->file[i].r), (uint64_t)s->file[i].n };

		h = hash_bytes(of, sizeof of, h);
	}
	return h;
}

/* The ranks in the order of their hosts. */
static void sort_ranks(struct staging *s, const struct introduction *all, int n)
{
	int at = 0;
	s->hosts = s->c ? s->c->hosts : 1;
	s->host = mem_calloc((size_t)s->hosts + 1, sizeof *s->host);
	s->rank = mem_calloc((size_t)n, sizeof *s->rank);
	for (int h = 0; h < s->hosts; h++) {
		s->host[h] = at;
		for (int r = 0; r < n; r++)
			if (all[r].host == h)
				s->rank[at++] = r;
	}
	s->host[s->hosts] = at;
}

/* --- owners --- */

/* A bit for each extent that this host keeps. */
static uint8_t *kept_map(const struct staging *s, size_t bytes)
{
	uint8_t *map = mem_calloc(bytes + 1, 1);
	for (int i = 0; i < s->nfile; i++)
		for (int64_t k = 0; k < s->file[i].n; k++) {
			const int64_t e = s->file[i].first + k;

			if (atomic_load(&s->file[i].state[k]) == EXTENT_KEPT)
				map[e / 8] |= (uint8_t)(1 << e % 8);
		}
	return map;
}

/* The host that owns extent e: one that keeps it according to the maps of all hosts, preferring the
 * one that is next in turn; if none keeps it, the one that is next in turn. */
static int holder(const struct staging *s, const uint8_t *all, size_t bytes, int64_t e)
{
	const int turn = (int)(e % s->hosts);
	for (int j = 0; j < s->hosts; j++) {
		const int h = (turn + j) % s->hosts;
		const uint8_t *map = all + bytes * (size_t)s->rank[s->host[h]];

		if (map[e / 8] >> e % 8 & 1)
			return h;
	}
	return turn;
}

/* Extents that an earlier run kept are assigned to the hosts that keep them, instead of
 * round-robin; unless the maps of all ranks would be too large. */
static void find_holders(struct staging *s)
{
	const size_t bytes = (size_t)ceil_div(s->extents, 8);
	uint8_t *mine, *all;
	if (s->hosts < 2 || bytes * (size_t)comm_count(s->c) > MOST_MAPS)
		return;
	mine = kept_map(s, bytes);
	all = mem_calloc((size_t)comm_count(s->c) * bytes + 1, 1);
	comm_all_gather(s->c, mine, bytes, all, "what hosts have staged");
	s->holder = mem_calloc((size_t)s->extents + 1, sizeof *s->holder);
	for (int64_t e = 0; e < s->extents; e++)
		s->holder[e] = holder(s, all, bytes, e);
	mem_free(mine);
	mem_free(all);
}

int staging_owner_host(const struct staging *s, int64_t extent)
{
	return s->holder ? s->holder[extent] : (int)(extent % s->hosts);
}

int staging_owner(const struct staging *s, int64_t extent)
{
	return staging_rank_for(s, staging_owner_host(s, extent), extent);
}

int staging_rank_for(const struct staging *s, int host, int64_t extent)
{
	const int64_t among = s->host[host + 1] - s->host[host];
	return s->rank[s->host[host] + extent / s->hosts % among];
}

/* --- the meeting --- */

int staging_meet(struct staging *s)
{
	const int n = comm_count(s->c);
	struct introduction me = { .host = s->c ? s->c->host : 0, .data = identity(s) }, *all;
	int other = 0;
	all = mem_calloc((size_t)n, sizeof *all);
	all[0] = me;
	if (s->c)
		comm_all_gather(s->c, &me, sizeof me, all, "the data to stage");
	sort_ranks(s, all, n);
	while (other < n && all[other].data == all[0].data)
		other++;
	mem_free(all);
	if (other < n)
		return ERR(E_CONFIG, NULL, "'data.stage': rank %d has other record files than rank 0",
		           other);
	find_holders(s);
	return 0;
}
