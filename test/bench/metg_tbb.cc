/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Task Bench by tasks of oneTBB: each task has a counter of its inputs, and spawns those of its
 * readers that have no more to wait for. Payloads and counters of all steps exist at the same time,
 * so that nothing is overwritten. */
#include <atomic>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/task_group.h>

#include "metg_peer.h"

namespace {

struct columns {
	const tb_graph *g;
	const tb_edges *e;
	std::vector<char> payload, scratch;
	std::vector<std::atomic<int>> waits;

	columns(const tb_graph *graph, const tb_edges *edges)
		: g(graph), e(edges), payload(graph->steps * graph->width * graph->output_bytes),
		  scratch(graph->width * graph->scratch_bytes + 1), waits(graph->steps * graph->width)
	{
	}
	char *at(int64_t t, int64_t i) { return &payload[(t * g->width + i) * g->output_bytes]; }
};

tbb::task_group tasks;

/* A task waits for its inputs and, so that it may use the scratch memory, for its column. */
template <class F> void each_input(columns &c, int64_t t, int64_t i, F f)
{
	const tb_list l = tb_inputs(c.e, tb_set(c.g, t), i);
	const tb_range last = tb_active(c.g, t - 1);
	for (int64_t k = 0; k < l.n; k++)
		if (tb_within(last, l.v[k]))
			f(l.v[k]);
}

void run(columns &c, int64_t t, int64_t i);

void release(columns &c, int64_t t, int64_t i)
{
	if (c.waits[t * c.g->width + i].fetch_sub(1) == 1)
		tasks.run([&c, t, i] { run(c, t, i); });
}

void run(columns &c, int64_t t, int64_t i)
{
	const void *in[256];
	int n = 0;
	each_input(c, t, i, [&](int64_t from) { in[n++] = c.at(t - 1, from); });
	peer_task(c.g, t, i, tb_inputs(c.e, tb_set(c.g, t), i), in, c.at(t, i),
	          &c.scratch[i * c.g->scratch_bytes]);
	if (t + 1 == c.g->steps)
		return;
	const tb_range next = tb_active(c.g, t + 1);
	const tb_list l = tb_readers(c.e, tb_set(c.g, t + 1), i);
	for (int64_t k = 0; k < l.n; k++)
		if (tb_within(next, l.v[k]) && l.v[k] != i)
			release(c, t + 1, l.v[k]);
	if (tb_within(next, i))
		release(c, t + 1, i);
}

void prepare(columns &c)
{
	for (int64_t t = 1; t < c.g->steps; t++) {
		const tb_range now = tb_active(c.g, t), last = tb_active(c.g, t - 1);
		for (int64_t i = now.first; i < now.end; i++) {
			int n = tb_within(last, i);
			each_input(c, t, i, [&](int64_t from) { n += from != i; });
			c.waits[t * c.g->width + i] = n;
		}
	}
}

} // namespace

int main(int argc, char **argv)
{
	peer *p = peer_new(argc, argv);
	tbb::global_control limit(tbb::global_control::max_allowed_parallelism, (size_t)p->workers);
	std::vector<columns *> all;
	double seconds = 0;
	for (int k = 0; k < p->app.ngraph; k++)
		all.push_back(new columns(&p->app.graph[k], p->edges[k]));
	for (int k = 0; k < 2; k++) {
		for (columns *c : all)
			prepare(*c);
		const double start = peer_seconds();
		for (columns *c : all) {
			const tb_range first = tb_active(c->g, 0);
			for (int64_t i = first.first; i < first.end; i++)
				tasks.run([c, i] { run(*c, 0, i); });
		}
		tasks.wait();
		seconds = peer_seconds() - start;
	}
	peer_report(p, seconds);
	return 0;
}
