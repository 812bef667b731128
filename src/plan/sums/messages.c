/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the check of the order, a message of a node is an edge, and a node is one or more events. */
#include "plan/sums/messages.h"

#include "backend/device.h"
#include "base/err.h"
#include "comm/order.h"
#include "graph/attr.h"
#include "op/exchange.h"
#include "op/update/all_reduce.h"

struct messages {
	struct arena *arena;
	struct links links;
};

/* --- edges --- */

struct edges {
	struct exchange_edge *v;
	int n, nodes;                /* nodes that send */
};

static int count(const struct graph *g)
{
	int n = 0;
	for (int i = 0; i < g->nnode; i++) {
		const struct exchange_attr *sends = exchange_sends(g->node[i]),
		                           *waits = exchange_waits(g->node[i]);
		n += sends ? sends->to.n : waits ? waits->from.n : 0;
	}
	return n;
}

int64_t message_bytes(const struct graph *g, const struct device *dev, const struct node *n, int i)
{
	const struct layout *l = &graph_t(g, exchange_sends(n) ? n->in[i] : n->out[i])->layout;
	return layout_elements(l) * (int64_t)dtype_size(exchange_wire(dev, n));
}

/* node: the number of the sending node among those of the graph. */
static void add_edge(struct edges *e, const struct graph *g, const struct device *dev,
                     const struct node *n, bool sends, int i, int node)
{
	const struct exchange_attr *at = n->attr;
	e->v[e->n++] = (struct exchange_edge){
		.peer = (int)(sends ? at->to.v[i] : at->from.v[i]), .sends = sends,
		.bytes = message_bytes(g, dev, n, i),
		.id = sends ? at->to_id.v[i] : at->from_id.v[i], .depth = (int)at->depth,
		.name = sends ? at->to_name.v[i] : at->from_name.v[i], .node = node,
	};
}

static struct edges edges_of(struct arena *a, const struct graph *g, const struct device *dev)
{
	struct edges e = { .v = ARENA_ARRAY(a, struct exchange_edge, count(g) + 1) };
	int *number = ARENA_ARRAY(a, int, g->nnode + 1);
	for (int i = 0; i < g->nnode; i++) {
		const struct node *n = g->node[i];
		const struct exchange_attr *sends = exchange_sends(n), *waits = exchange_waits(n);
		if (sends)
			number[n->id] = e.nodes++;
		for (int k = 0; sends && k < sends->to.n; k++)
			add_edge(&e, g, dev, n, true, k, number[n->id]);
		for (int k = 0; waits && k < waits->from.n; k++)
			add_edge(&e, g, dev, n, false, k, number[graph_t(g, n->in[0])->producer]);
	}
	exchange_lay_out(e.v, e.n);
	return e;
}

/* Every message has rows of all samples of the batch. */
int64_t messages_bytes(const struct graph *g, const struct device *dev,
                       const struct exchange_hosts *hosts, int64_t batch, int64_t n)
{
	struct arena *a = arena_new();
	struct edges e = edges_of(a, g, dev);
	for (int i = 0; i < e.n; i++)
		e.v[i].bytes = e.v[i].bytes / batch * n;
	exchange_lay_out(e.v, e.n);
	int64_t bytes = dev->driver ? exchange_gpu_bytes(e.v, e.n, e.nodes) :
	                exchange_bytes(hosts, e.v, e.n);
	arena_free(a);
	return bytes;
}

int64_t messages_allocated(const struct messages *m)
{
	return exchange_allocated(m->links.messages);
}

/* --- the order of a step --- */

struct events {
	const struct messages_teams *teams;
	struct order_event *v;
	int n;
};

/* The number among teams.all of rank r of a team. These may be some of the ranks of a job. */
static int number_of(const struct messages_teams *t, const struct comm *team, int r)
{
	const int whole = t->all == team ? r : comm_whole_rank(team, r);
	int i = 0;
	if (t->all == team || comm_whole_rank(t->all, t->all->size - 1) == t->all->size - 1)
		return whole;
	while (comm_whole_rank(t->all, i) != whole)
		BUG_IF(++i == t->all->size, "rank %d is not among those that check a step", whole);
	return i;
}

static void add_messages(struct events *e, const struct node *n, bool sends)
{
	const struct exchange_attr *at = n->attr;
	const struct ints *peer = sends ? &at->to : &at->from, *id = sends ? &at->to_id : &at->from_id;
	const struct strings *name = sends ? &at->to_name : &at->from_name;
	for (int i = 0; i < peer->n; i++)
		e->v[e->n++] = (struct order_event){ sends ? ORDER_SEND : ORDER_RECEIVE,
			number_of(e->teams, e->teams->messages, (int)peer->v[i]), id->v[i], (int)at->depth,
			n->name, name->v[i] };
}

/* Sums of statistics have numbers after those of gradients. */
#define STATISTICS (INT64_C(1) << 32)

static void add_sum(struct events *e, const struct comm *team, const struct node *n,
                    enum order_kind kind, int64_t id)
{
	const struct comm *all = e->teams->all;
	if (!team)
		return;
	if (team->size > all->size)
		team = all;
	e->v[e->n++] = (struct order_event){ kind, number_of(e->teams, team, 0), id, team->size,
		n->name, n->name };
}

/* A GPU receives where it sends. */
static void add_node(struct events *e, const struct node *n, bool gpu)
{
	const struct exchange_attr *sends = exchange_sends(n), *waits = exchange_waits(n);
	const struct all_reduce_attr *starts = all_reduce_begins(n), *sum = all_reduce_waits(n);
	if (sends)
		add_messages(e, n, true);
	if (gpu ? sends : waits)
		add_messages(e, n, false);
	if (starts)
		add_sum(e, e->teams->gradients, n, ORDER_START, starts->group);
	if (sum)
		add_sum(e, e->teams->gradients, n, ORDER_SUM, sum->group);
	if (!node_meets(n))
		return;
	int64_t id = STATISTICS + *(int64_t *)attr_find(n->op, n->attr, "group", FT_INT);
	add_sum(e, e->teams->statistics, n, ORDER_START, id);
	add_sum(e, e->teams->statistics, n, ORDER_SUM, id);
}

/* More micro-batches than these repeat what is under way. */
#define MICROS_PLAYED 4

static struct order order_of(struct arena *a, const struct messages_teams *t, const struct graph *g,
                             const struct device *dev, int64_t micros)
{
	const bool gpu = dev->driver != NULL;
	int walks = (int)(micros < MICROS_PLAYED ? micros : MICROS_PLAYED);
	int most = (count(g) + 2 * g->nnode) * (walks + 1);
	struct events e = { .teams = t, .v = ARENA_ARRAY(a, struct order_event, most) };
	for (int w = 0; w < walks; w++)
		for (int i = 0; i < g->nnode; i++)
			if (walks == 1 || g->node[i]->phase != PHASE_UPDATE)
				add_node(&e, g->node[i], gpu);
	for (int i = 0; walks > 1 && i < g->nnode; i++)
		if (g->node[i]->phase == PHASE_UPDATE)
			add_node(&e, g->node[i], gpu);
	return (struct order){ e.v, e.n };
}

/* --- opening --- */

static int open_exchange(struct messages *m, const struct messages_teams *t, const struct graph *g,
                         const struct device *dev, int64_t micros)
{
	struct edges e = edges_of(m->arena, g, dev);
	bool same_starts = t->all->hosts > 1 || dev->driver;
	const struct reducer_place gpu = { dev, t->messages, t->nccl, false };
	TRY(order_check(t->all, order_of(m->arena, t, g, dev, micros), same_starts));
	return dev->driver ? exchange_new_gpu(&m->links.messages, &gpu, e.v, e.n, e.nodes) :
	       exchange_new(&m->links.messages, t->messages, e.v, e.n);
}

int messages_open(struct messages **out, const struct messages_teams *teams, const struct graph *g,
                  const struct device *dev, const struct links *sums, int64_t micros)
{
	struct arena *a = arena_new();
	struct messages *m = ARENA_NEW(a, struct messages);
	*m = (struct messages){ .arena = a };
	if (sums)
		m->links = *sums;
	*out = NULL;
	int rc = comm_agree(teams->all, open_exchange(m, teams, g, dev, micros), "messages of a step");
	if (rc < 0)
		messages_close(m);
	else
		*out = m;
	return rc;
}

void messages_close(struct messages *m)
{
	if (!m)
		return;
	exchange_free(m->links.messages);
	arena_free(m->arena);
}

const struct links *messages_links(const struct messages *m)
{
	return &m->links;
}
