/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "base/mem.h"
#include "bench/tb_weave.h"

#define MOST 64                /* payloads of a message */

struct find {
	const struct tb_graph *g;
	const struct tb_edges *edges;
	struct tb_range from, to;    /* columns of the sender, of the receiver */
};

static bool reads_any(struct tb_list readers, struct tb_range r)
{
	for (int64_t k = 0; k < readers.n; k++)
		if (tb_within(r, readers.v[k]))
			return true;
	return false;
}

static struct tb_message *add(struct tb_messages *m, const struct tb_message *like, int64_t most)
{
	m->v = mem_realloc(m->v, (size_t)(m->n + 1) * sizeof *m->v);
	struct tb_message *one = &m->v[m->n++];
	*one = *like;
	one->column = mem_calloc((size_t)most, sizeof *one->column);
	snprintf(one->name, sizeof one->name, "graph %d, set %d", (int)one->graph, (int)one->set);
	return one;
}

static void find_set(struct tb_messages *m, const struct find *f, struct tb_message like)
{
	struct tb_message *one = NULL;
	for (int64_t i = f->from.first; i < f->from.end; i++) {
		if (!reads_any(tb_readers(f->edges, like.set, i), f->to))
			continue;
		if (!one || one->n == MOST) {
			one = add(m, &like, MOST);
			like.id++;
		}
		one->column[one->n++] = i;
	}
}

/* Both ranks number their messages in the same order: by graph, set and columns. */
static void find_peer(struct tb_messages *m, const struct tb_app *app,
                      struct tb_edges *const *edges, int rank, int peer, int ranks)
{
	for (int sends = 0; sends < 2; sends++) {
		int64_t id = 0;
		for (int k = 0; k < app->ngraph; k++) {
			const struct tb_graph *g = &app->graph[k];
			const struct tb_range own = tb_share(g, rank, ranks), its = tb_share(g, peer, ranks);
			const struct find f = { g, edges[k], sends ? own : its, sends ? its : own };
			for (int64_t set = 0; set < tb_sets(g); set++) {
				const int before = m->n;
				find_set(m, &f, (struct tb_message){ .peer = peer, .sends = sends, .graph = k,
					.set = set, .id = id });
				id += m->n - before;
			}
		}
	}
}

struct tb_messages tb_messages_find(const struct tb_app *app, struct tb_edges *const *edges,
                                    int rank, int ranks)
{
	struct tb_messages m = { 0, NULL };
	for (int peer = 0; peer < ranks; peer++)
		if (peer != rank)
			find_peer(&m, app, edges, rank, peer, ranks);
	return m;
}

void tb_messages_release(struct tb_messages *m)
{
	for (int k = 0; k < m->n; k++)
		mem_free(m->v[k].column);
	mem_free(m->v);
	*m = (struct tb_messages){ 0, NULL };
}
