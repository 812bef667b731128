/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/tb_weave.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"

struct weave {
	struct graph *g;
	struct task_rank *rank;
	struct tb_edges *const *edges;
	const struct tb_messages *m;
	const struct tb_woven *what;
	tid step;                    /* the input of all tasks */
	tid *have[TB_GRAPHS];        /* by column: its payload of the last step, or NONE if this rank
	                              * has none */
	tid *made[TB_GRAPHS];        /* the same of the step at hand */
	tid *in;                     /* room for the inputs of a node */
	int64_t *from;
};

static const struct tb_graph *graph_of(const struct weave *w, int k)
{
	return &w->rank->app->graph[k];
}

/* The payload of a column between two runs. */
static int state(struct weave *w, int k, int64_t i, tid *out)
{
	char name[48];
	const struct shape s = { 1, { graph_of(w, k)->output_bytes } };
	snprintf(name, sizeof name, "graph %d, column %lld", k, (long long)i);
	return graph_state(w->g, name, DTYPE_U8, &s, (struct init){ INIT_CONSTANT, 0 }, out);
}

static bool is_own(const struct weave *w, int k, int64_t i)
{
	return tb_within(w->rank->columns[k], i);
}

/* Whether a task of this rank reads the payload of column i at a step of this set. */
static bool is_read(const struct weave *w, int k, int64_t set, int64_t i)
{
	const struct tb_list l = tb_readers(w->edges[k], set, i);
	for (int64_t j = 0; j < l.n; j++)
		if (is_own(w, k, l.v[j]))
			return true;
	return false;
}

/* Whether all inputs of column i are there before the messages of the last step. */
static bool is_early(const struct weave *w, int k, int64_t step, int64_t i)
{
	const struct tb_list l = tb_inputs(w->edges[k], tb_set(graph_of(w, k), step), i);
	for (int64_t j = 0; step > 0 && j < l.n; j++)
		if (!is_own(w, k, l.v[j]))
			return false;
	return true;
}

static int task(struct weave *w, int k, int64_t step, int64_t i)
{
	const struct tb_graph *g = graph_of(w, k);
	const struct tb_list l = tb_inputs(w->edges[k], tb_set(g, step), i);
	struct task_attr at = { .graph = k, .column = i, .step = step };
	int n = 0;
	for (int64_t j = 0; j < l.n && (step > 0 || w->what->follows); j++) {
		w->from[n] = l.v[j];
		w->in[1 + n++] = w->have[k][l.v[j]];
	}
	w->in[0] = w->step;
	at.from = (struct ints){ n, w->from };
	const bool last = step == w->what->steps - 1,
	           kept = last && w->what->leads && is_read(w, k, tb_set(g, 0), i);
	if (kept)
		TRY(state(w, k, i, &w->in[1 + n]));
	return graph_emit1(w->g, kept ? "task_kept" : "task", &at, 1 + n + kept, w->in,
	                   &w->made[k][i]);
}

static int tasks(struct weave *w, int k, int64_t step, bool early)
{
	const struct tb_range own = w->rank->columns[k];
	for (int64_t i = own.first; i < own.end; i++)
		if (is_early(w, k, step, i) == early)
			TRY(task(w, k, step, i));
	return 0;
}

static bool concerns(const struct tb_message *m, int k, int64_t set, bool sends)
{
	return m->graph == k && m->set == set && m->sends == sends;
}

static struct message_attr message_attr(const struct weave *w, int e)
{
	const struct tb_message *m = &w->m->v[e];
	return (struct message_attr){ e, w->rank->app->graph[m->graph].output_bytes, m->n };
}

/* Sends what other ranks need at the step after `step`. */
static int post(struct weave *w, int k, int64_t step)
{
	for (int e = 0; e < w->m->n; e++) {
		const struct tb_message *m = &w->m->v[e];
		const struct message_attr at = message_attr(w, e);
		if (!concerns(m, k, tb_set(graph_of(w, k), step + 1), true))
			continue;
		for (int64_t j = 0; j < m->n; j++)
			w->in[j] = w->made[k][m->column[j]];
		TRY(graph_emit(w->g, "post", &at, (int)m->n, w->in, 0, NULL));
	}
	return 0;
}

/* Receives the payloads that tasks at `step` read, into `to` by column. */
static int take(struct weave *w, int k, int64_t step, bool kept, tid *to)
{
	tid out[64];
	for (int e = 0; e < w->m->n; e++) {
		const struct tb_message *m = &w->m->v[e];
		const struct message_attr at = message_attr(w, e);
		if (!concerns(m, k, tb_set(graph_of(w, k), step), false))
			continue;
		for (int64_t j = 0; kept && j < m->n; j++)
			TRY(state(w, k, m->column[j], &w->in[j]));
		TRY(graph_emit(w->g, kept ? "take_kept" : "take", &at, kept ? (int)m->n : 0, w->in,
		               (int)m->n, out));
		for (int64_t j = 0; j < m->n; j++)
			to[m->column[j]] = out[j];
	}
	return 0;
}

static int late_part(struct weave *w, int k, int64_t step)
{
	if (step > 0)
		TRY(take(w, k, step, false, w->have[k]));
	TRY(tasks(w, k, step, false));
	const bool last = step == w->what->steps - 1;
	return last && !w->what->leads ? 0 : post(w, k, step);
}

static void next_step(struct weave *w)
{
	for (int k = 0; k < w->rank->app->ngraph; k++) {
		tid *made = w->made[k];
		w->made[k] = w->have[k];
		w->have[k] = made;
	}
}

static int all_steps(struct weave *w)
{
	const int n = w->rank->app->ngraph;
	for (int64_t step = 0; step < w->what->steps; step++) {
		for (int k = 0; k < n; k++)
			TRY(tasks(w, k, step, true));
		for (int k = 0; k < n; k++)
			TRY(late_part(w, k, step));
		next_step(w);
	}
	for (int k = 0; k < n && w->what->leads; k++)
		TRY(take(w, k, 0, true, w->have[k]));
	return 0;
}

/* The states from which a run goes on: the columns that tasks at its first step read. */
static int begin(struct weave *w)
{
	for (int k = 0; k < w->rank->app->ngraph; k++)
		for (int64_t i = 0; i < graph_of(w, k)->width && w->what->follows; i++)
			if (is_read(w, k, tb_set(graph_of(w, k), 0), i))
				TRY(state(w, k, i, &w->have[k][i]));
	return graph_input(w->g, "step", DTYPE_I64, &(struct shape){ 0 }, &w->step);
}

static void make_room(struct weave *w)
{
	int64_t most = 64;
	for (int k = 0; k < w->rank->app->ngraph; k++) {
		const struct tb_graph *g = graph_of(w, k);
		most = tb_most(g) > most ? tb_most(g) : most;
		w->have[k] = mem_calloc((size_t)g->width, sizeof *w->have[k]);
		w->made[k] = mem_calloc((size_t)g->width, sizeof *w->made[k]);
	}
	w->in = mem_calloc((size_t)most + 2, sizeof *w->in);
	w->from = mem_calloc((size_t)most, sizeof *w->from);
}

int tb_weave(struct graph *g, struct task_rank *r, struct tb_edges *const *edges,
             const struct tb_messages *m, const struct tb_woven *what)
{
	struct weave w = { .g = g, .rank = r, .edges = edges, .m = m, .what = what };
	make_room(&w);
	task_nodes_of(r);
	int rc = begin(&w);
	if (rc == 0)
		rc = all_steps(&w);
	for (int k = 0; k < r->app->ngraph; k++) {
		mem_free(w.have[k]);
		mem_free(w.made[k]);
	}
	mem_free(w.in);
	mem_free(w.from);
	return rc;
}
