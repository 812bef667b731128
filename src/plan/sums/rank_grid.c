/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hosts of all ranks are found by one gather. If there are many, the text names only the first
 * few. */
#include "plan/sums/rank_grid.h"

#include <string.h>

#include "base/mem.h"

#define NAMED 8                  /* hosts that the text names */

struct rank_place {
	int host;
	char name[64];
};

static void settle(struct rank_grid *g)
{
	bool even = true;
	for (int h = 0; h < g->hosts; h++) {
		g->most = g->host[h].n > g->most ? g->host[h].n : g->most;
		even &= g->host[h].n == g->host[0].n;
	}
	g->shards = g->hosts == 1 ? 0 : even ? g->most : 1;
}

static void set_places(struct rank_grid *g, struct arena *a, const struct rank_place *all)
{
	for (int r = 0; r < g->ranks; r++)
		g->host[all[r].host].n++;
	for (int h = 0; h < g->hosts; h++) {
		g->host[h].rank = ARENA_ARRAY(a, int, g->host[h].n + 1);
		g->host[h].n = 0;
	}
	for (int r = 0; r < g->ranks; r++) {
		struct rank_grid_host *h = &g->host[all[r].host];
		if (h->n == 0)
			h->name = arena_strdup(a, all[r].name);
		h->rank[h->n++] = r;
	}
	settle(g);
}

void rank_grid_learn(struct rank_grid *g, struct arena *a, struct comm *c)
{
	struct rank_place mine = { .host = c->host }, *all = mem_calloc((size_t)c->size, sizeof *all);
	memcpy(mine.name, c->host_name, sizeof mine.name);
	comm_all_gather(c, &mine, sizeof mine, all, "the hosts of the ranks");
	*g = (struct rank_grid){ .hosts = c->hosts, .ranks = c->size, .there = true };
	g->host = ARENA_ARRAY(a, struct rank_grid_host, g->hosts);
	set_places(g, a, all);
	mem_free(all);
}

void rank_grid_assume(struct rank_grid *g, struct arena *a, int hosts, int ranks)
{
	struct rank_place *all = mem_calloc((size_t)ranks, sizeof *all);
	for (int r = 0; r < ranks; r++)
		all[r].host = (int)((int64_t)r * hosts / ranks);
	*g = (struct rank_grid){ .hosts = hosts, .ranks = ranks };
	g->host = ARENA_ARRAY(a, struct rank_grid_host, hosts);
	set_places(g, a, all);
	mem_free(all);
}

int rank_grid_host_of(const struct rank_grid *g, int rank)
{
	for (int h = 0; h < g->hosts; h++)
		for (int i = 0; i < g->host[h].n; i++)
			if (g->host[h].rank[i] == rank)
				return h;
	return 0;
}

/* Sums of 16 bits are exchanged, summed and gathered. */
int rank_grid_messages(const struct rank_grid *g, bool converted)
{
	return g->hosts == 1 ? 0 : converted ? 2 : 1;
}

static void put_ranks(struct buf *out, const struct rank_grid_host *h)
{
	for (int i = 0, from = 0; i < h->n; i++) {
		if (i + 1 < h->n && h->rank[i + 1] == h->rank[i] + 1)
			continue;
		buf_puts(out, from ? "," : " ");
		buf_printf(out, from == i ? "%d" : "%d-%d", h->rank[from], h->rank[i]);
		from = i + 1;
	}
}

static bool even(const struct rank_grid *g)
{
	return g->most * g->hosts == g->ranks;
}

void rank_grid_text(const struct rank_grid *g, struct buf *out)
{
	buf_printf(out, "%d host%s x %s%d rank%s", g->hosts, g->hosts == 1 ? "" : "s",
	           even(g) ? "" : "up to ", g->most, g->most == 1 ? "" : "s");
	for (int h = 0; g->there && h < g->hosts && h < NAMED; h++) {
		buf_printf(out, "%s%s", h ? ", " : ": ", g->host[h].name);
		put_ranks(out, &g->host[h]);
	}
	if (g->there && g->hosts > NAMED)
		buf_printf(out, " and %d more", g->hosts - NAMED);
}

static void json_host(const struct rank_grid_host *h, struct buf *out)
{
	buf_puts(out, "{");
	if (h->name[0]) {
		buf_puts(out, "\"host\": ");
		buf_json_string(out, h->name);
		buf_puts(out, ", ");
	}
	buf_puts(out, "\"ranks\": [");
	for (int i = 0; i < h->n; i++)
		buf_printf(out, "%s%d", i ? ", " : "", h->rank[i]);
	buf_puts(out, "]}");
}

void rank_grid_json(const struct rank_grid *g, struct buf *out)
{
	buf_printf(out, "{\"hosts\": %d, \"ranks\": %d, \"shards\": %d, \"grid\": [", g->hosts,
	           g->ranks, g->shards);
	for (int h = 0; h < g->hosts; h++) {
		buf_puts(out, h ? ",\n  " : "");
		json_host(&g->host[h], out);
	}
	buf_puts(out, "]}");
}
