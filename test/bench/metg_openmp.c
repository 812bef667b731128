/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Task Bench by tasks of OpenMP with dependences on the payloads that they read and write, which
 * are kept for two steps. One thread creates all tasks. */
#include <omp.h>

#include "metg_peer.h"

struct columns {
	const struct tb_graph *g;
	const struct tb_edges *e;
	char *payload[2];            /* by step modulo 2: of all columns */
	char *scratch;
};

static char *payload(const struct columns *c, int64_t t, int64_t i)
{
	return c->payload[t & 1] + i * c->g->output_bytes;
}

static void run(const struct columns *c, int64_t t, int64_t i)
{
	const struct tb_list l = tb_inputs(c->e, tb_set(c->g, t), i);
	const struct tb_range last = tb_active(c->g, t - 1);
	const void *in[256];
	int n = 0;
	for (int64_t k = 0; k < l.n; k++)
		if (tb_within(last, l.v[k]))
			in[n++] = payload(c, t - 1, l.v[k]);
	peer_task(c->g, t, i, l, in, payload(c, t, i), c->scratch + i * c->g->scratch_bytes);
}

static void create(const struct columns *c, int64_t t, int64_t i)
{
	const struct tb_list l = tb_inputs(c->e, tb_set(c->g, t), i);
	const struct tb_range last = tb_active(c->g, t - 1);
	char *in[256], *out = payload(c, t, i);
	int n = 0;
	for (int64_t k = 0; k < l.n; k++)
		if (tb_within(last, l.v[k]))
			in[n++] = payload(c, t - 1, l.v[k]);
#pragma omp task firstprivate(c, t, i) depend(iterator(k = 0 : n), in : *in[k]) depend(out : *out)
	run(c, t, i);
}

/* Step by step, so that graphs take turns. */
static void pass(const struct columns *c, int n)
{
#pragma omp parallel
#pragma omp single
	for (int64_t t = 0; t < c->g->steps; t++)
		for (int k = 0; k < n; k++) {
			const struct tb_range now = tb_active(c[k].g, t);
			for (int64_t i = now.first; i < now.end; i++)
				create(&c[k], t, i);
		}
}

int main(int argc, char **argv)
{
	static struct columns c[TB_GRAPHS];
	struct peer *p = peer_new(argc, argv);
	double start = 0;
	omp_set_num_threads(p->workers);
	for (int k = 0; k < p->app.ngraph; k++) {
		const struct tb_graph *g = &p->app.graph[k];
		const size_t bytes = (size_t)(g->width * g->output_bytes);
		c[k] = (struct columns){ g, p->edges[k], { calloc(1, bytes), calloc(1, bytes) },
			calloc(1, (size_t)(g->width * g->scratch_bytes) + 1) };
	}
	for (int k = 0; k < 2; k++) {
		start = peer_seconds();
		pass(c, p->app.ngraph);
	}
	peer_report(p, peer_seconds() - start);
	return 0;
}
