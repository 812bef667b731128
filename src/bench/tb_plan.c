/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/tb_plan.h"

#include "backend/exec.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/mem.h"
#include "bench/tb_weave.h"

/* Messages in flight, of small payloads and of others. */
#define DEPTH_SMALL 16
#define DEPTH_LARGE 4
#define LOOK 1000000           /* nanoseconds that a rank with its own processor looks for a message
                                * before it sleeps */

/* A graph of nodes that is run `runs` times, from step `first` on. */
struct part {
	struct graph *g;
	struct exec *exec;
	tid step;
	int64_t first, steps, runs;
};

struct tb_plan {
	struct comm *c;
	struct task_rank rank;
	struct tb_edges *edges[TB_GRAPHS];
	struct tb_messages messages;
	struct device *dev;
	struct store *store;
	struct part part[2];
	void *arena;
	size_t arena_bytes;
};

/* --- messages --- */

static int open_messages(struct tb_plan *p, bool alone)
{
	const struct tb_app *app = p->rank.app;
	p->messages = tb_messages_find(app, p->edges, p->c->rank, p->c->size);
	struct exchange_edge *e = mem_calloc((size_t)p->messages.n + 1, sizeof *e);
	for (int k = 0; k < p->messages.n; k++) {
		const struct tb_message *m = &p->messages.v[k];
		const int64_t bytes = m->n * app->graph[m->graph].output_bytes;
		e[k] = (struct exchange_edge){ .peer = m->peer, .sends = m->sends, .bytes = bytes,
			.id = m->id, .depth = bytes <= EXCHANGE_SMALL ? DEPTH_SMALL : DEPTH_LARGE,
			.name = m->name };
	}
	exchange_lay_out(e, p->messages.n);
	int rc = exchange_new(&p->rank.links.messages, p->c, e, p->messages.n);
	if (rc == 0 && alone)
		exchange_look(p->rank.links.messages, LOOK);
	mem_free(e);
	return rc;
}

/* --- plans --- */

static void lay_out(struct graph *g)
{
	for (int t = 0; t < g->ntensor; t++)
		g->tensor[t]->layout = layout_plain(&g->tensor[t]->shape);
	g->backend = BACKEND_CPU;
}

static int make_part(struct tb_plan *p, struct part *q, bool follows, bool leads)
{
	const struct tb_woven what = { q->steps, follows, leads };
	q->g = graph_new();
	q->g->cur_name = "Task Bench";
	TRY(tb_weave(q->g, &p->rank, p->edges, &p->messages, &what));
	q->step = graph_find(q->g, "step");
	lay_out(q->g);
	TRY(exec_new(&q->exec, q->g, p->dev, &plan_env_default));
	const size_t bytes = exec_arena_bytes(q->exec) + EXEC_ARENA_SLACK;
	p->arena_bytes = bytes > p->arena_bytes ? bytes : p->arena_bytes;
	return 0;
}

static int64_t common_multiple(int64_t a, int64_t b)
{
	int64_t x = a, y = b;
	while (y != 0) {
		const int64_t rest = x % y;
		x = y;
		y = rest;
	}
	return a / x * b;
}

/* Steps that are run again and again, then those that remain. */
static void divide_steps(struct tb_plan *p)
{
	const struct tb_app *app = p->rank.app;
	int64_t unrolled = TB_UNROLL;
	for (int k = 0; k < app->ngraph; k++) {
		unrolled = common_multiple(unrolled, TB_UNROLL * tb_sets(&app->graph[k]));
		if (app->graph[k].steps > p->rank.steps)
			p->rank.steps = app->graph[k].steps;
	}
	const int64_t runs = p->rank.steps > unrolled ? p->rank.steps / unrolled : 0;
	const int64_t rest = p->rank.steps - runs * unrolled;
	p->part[0] = (struct part){ .steps = unrolled, .runs = runs };
	p->part[1] = (struct part){ .first = runs * unrolled, .steps = rest, .runs = rest > 0 };
}

static int make_parts(struct tb_plan *p)
{
	divide_steps(p);
	if (p->part[0].runs)
		TRY(make_part(p, &p->part[0], true, true));
	if (p->part[1].runs)
		TRY(make_part(p, &p->part[1], p->part[0].runs > 0, false));
	return 0;
}

static int bind(struct tb_plan *p)
{
	p->arena = mem_map(p->arena_bytes);
	if (!p->arena)
		return ERR(E_NOMEM, NULL, "no memory for %.1f MB of payloads",
		           (double)p->arena_bytes / 1e6);
	p->store = store_new(p->dev, 1);
	for (int k = 0; k < 2; k++)
		if (p->part[k].runs)
			TRY(exec_bind(p->part[k].exec, p->store, p->arena, &p->rank.links));
	return 0;
}

/* --- scratch memory --- */

#define MAGIC UINT64_C(0x5c4a7c8b)     /* what the original fills it with */

static size_t scratch_bytes(const struct task_rank *r, int k)
{
	const struct tb_range own = r->columns[k];
	return (size_t)((own.end - own.first) * r->app->graph[k].scratch_bytes);
}

static int open_scratch(struct task_rank *r)
{
	for (int k = 0; k < r->app->ngraph; k++) {
		const size_t bytes = scratch_bytes(r, k);
		if (bytes == 0)
			continue;
		r->scratch[k] = mem_map(bytes);
		if (!r->scratch[k])
			return ERR(E_NOMEM, NULL, "-scratch: no memory for %.1f MB", (double)bytes / 1e6);
		for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
			((uint64_t *)(void *)r->scratch[k])[i] = MAGIC;
	}
	return 0;
}

/* --- the whole --- */

static int prepare(struct tb_plan *p, bool alone)
{
	for (int k = 0; k < p->rank.app->ngraph; k++) {
		const struct tb_graph *g = &p->rank.app->graph[k];
		p->edges[k] = tb_edges_new(g);
		p->rank.columns[k] = tb_share(g, p->c->rank, p->c->size);
	}
	TRY(device_open(&p->dev, "cpu"));
	TRY(open_scratch(&p->rank));
	TRY(open_messages(p, alone));
	TRY(make_parts(p));
	return bind(p);
}

int tb_plan_new(struct tb_plan **out, struct comm *c, const struct tb_app *app, bool alone)
{
	struct tb_plan *p = mem_calloc(1, sizeof *p);
	p->c = c;
	p->rank.app = app;
	p->rank.faults = debug.fault[0].kind != NULL && c->rank == 0;
	int rc = prepare(p, alone);
	if (rc < 0) {
		tb_plan_free(p);
		p = NULL;
	}
	*out = p;
	return rc;
}

void tb_plan_free(struct tb_plan *p)
{
	if (!p)
		return;
	for (int k = 0; k < 2; k++) {
		exec_free(p->part[k].exec);
		graph_free(p->part[k].g);
	}
	store_free(p->store);
	exchange_free(p->rank.links.messages);
	tb_messages_release(&p->messages);
	for (int k = 0; k < p->rank.app->ngraph; k++) {
		tb_edges_free(p->edges[k]);
		mem_unmap(p->rank.scratch[k], scratch_bytes(&p->rank, k));
	}
	mem_unmap(p->arena, p->arena_bytes);
	device_close(p->dev);
	mem_free(p);
}

int tb_plan_nodes(const struct tb_plan *p)
{
	int n = 0;
	for (int k = 0; k < 2; k++)
		n += p->part[k].g ? p->part[k].g->nnode : 0;
	return n;
}

int tb_plan_run(struct tb_plan *p, struct task_record *record)
{
	p->rank.record = record;
	for (const struct part *q = p->part; q < p->part + 2; q++)
		for (int64_t i = 0; i < q->runs; i++) {
			const int64_t step = q->first + i * q->steps;
			TRY(exec_write(q->exec, q->step, DTYPE_I64, &step));
			TRY(exec_run(q->exec, ~0u));
		}
	return 0;
}
