/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Task Bench by non-blocking messages of MPI, as the original's: at each step a rank posts a
 * receive and a send for each edge to another rank, copies what is its own, waits for all, and runs
 * its tasks, one graph after the other. Buffers are prepared before the time that is reported. */
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>

#include "metg_peer.h"

struct mine {
	struct tb_range own;
	char *out, *in;              /* by column; by column and input */
	const void **at;             /* inputs of the task at hand */
	char *scratch;
	int64_t most;                /* inputs of a task */
	int *rank, *place;           /* by column: its owner, and which of its columns it is */
};

static struct mine mine[TB_GRAPHS];
static MPI_Request *request;
static int nrequest, rank, ranks;

static int tag(const struct mine *m, int64_t from, int64_t to)
{
	return m->place[from] << 7 | m->place[to];
}

static void receive(const struct tb_graph *g, struct mine *m, struct tb_list l,
                    struct tb_range last, int64_t i)
{
	const size_t bytes = (size_t)g->output_bytes;
	char *to = m->in + (size_t)((i - m->own.first) * m->most) * bytes;
	for (int64_t k = 0; k < l.n; k++) {
		const int64_t from = l.v[k];
		if (!tb_within(last, from))
			continue;
		if (tb_within(m->own, from))
			memcpy(to, m->out + (size_t)(from - m->own.first) * bytes, bytes);
		else
			MPI_Irecv(to, (int)bytes, MPI_BYTE, m->rank[from], tag(m, from, i), MPI_COMM_WORLD,
			          &request[nrequest++]);
		to += bytes;
	}
}

static void send(const struct tb_graph *g, const struct mine *m, struct tb_list l,
                 struct tb_range now, int64_t i)
{
	for (int64_t k = 0; k < l.n; k++)
		if (tb_within(now, l.v[k]) && !tb_within(m->own, l.v[k]))
			MPI_Isend(m->out + (i - m->own.first) * g->output_bytes, (int)g->output_bytes, MPI_BYTE,
			          m->rank[l.v[k]], tag(m, i, l.v[k]), MPI_COMM_WORLD, &request[nrequest++]);
}

static void step(const struct tb_graph *g, const struct tb_edges *e, struct mine *m, int64_t t)
{
	const struct tb_range now = tb_active(g, t), last = tb_active(g, t - 1);
	const int64_t set = tb_set(g, t);
	nrequest = 0;
	for (int64_t i = m->own.first; i < m->own.end; i++) {
		if (tb_within(now, i))
			receive(g, m, tb_inputs(e, set, i), last, i);
		if (tb_within(last, i))
			send(g, m, tb_readers(e, set, i), now, i);
	}
	MPI_Waitall(nrequest, request, MPI_STATUSES_IGNORE);
	for (int64_t i = m->own.first; i < m->own.end; i++) {
		const int64_t row = i - m->own.first;
		if (!tb_within(now, i))
			continue;
		for (int64_t k = 0; k < m->most; k++)
			m->at[k] = m->in + (row * m->most + k) * g->output_bytes;
		peer_task(g, t, i, tb_inputs(e, set, i), m->at, m->out + row * g->output_bytes,
		          m->scratch + row * g->scratch_bytes);
	}
}

static double pass(const struct peer *p)
{
	MPI_Barrier(MPI_COMM_WORLD);
	const double start = MPI_Wtime();
	for (int k = 0; k < p->app.ngraph; k++)
		for (int64_t t = 0; t < p->app.graph[k].steps; t++)
			step(&p->app.graph[k], p->edges[k], &mine[k], t);
	MPI_Barrier(MPI_COMM_WORLD);
	return MPI_Wtime() - start;
}

/* The most inputs that a task has. */
static int64_t most_inputs(const struct tb_graph *g, const struct tb_edges *e)
{
	int64_t most = 1;
	for (int64_t k = 0; k < tb_sets(g) * g->width; k++) {
		const int64_t n = tb_inputs(e, k / g->width, k % g->width).n;
		most = n > most ? n : most;
	}
	return most;
}

static void find_owners(const struct tb_graph *g, struct mine *m)
{
	m->rank = calloc((size_t)g->width, sizeof *m->rank);
	m->place = calloc((size_t)g->width, sizeof *m->place);
	for (int r = 0; r < ranks; r++) {
		const struct tb_range share = tb_share(g, r, ranks);
		for (int64_t i = share.first; i < share.end; i++) {
			m->rank[i] = r;
			m->place[i] = (int)(i - share.first);
		}
	}
}

static void prepare(const struct peer *p)
{
	int64_t requests = 1;
	for (int k = 0; k < p->app.ngraph; k++) {
		const struct tb_graph *g = &p->app.graph[k];
		struct mine *m = &mine[k];
		m->own = tb_share(g, rank, ranks);
		m->most = most_inputs(g, p->edges[k]);
		find_owners(g, m);
		const int64_t rows = m->own.end - m->own.first;
		m->out = calloc((size_t)(rows + 1), (size_t)g->output_bytes);
		m->in = calloc((size_t)((rows + 1) * m->most), (size_t)g->output_bytes);
		m->at = calloc((size_t)m->most, sizeof *m->at);
		m->scratch = calloc((size_t)(rows + 1), (size_t)g->scratch_bytes + 1);
		requests += 2 * (rows + 1) * (m->most + g->width);
	}
	request = calloc((size_t)requests, sizeof *request);
}

static void bind_to_processor(void)
{
	cpu_set_t all, own;
	sched_getaffinity(0, sizeof all, &all);
	for (int cpu = 0, n = 0; cpu < CPU_SETSIZE && CPU_COUNT(&all) >= ranks; cpu++)
		if (CPU_ISSET(cpu, &all) && n++ == rank) {
			CPU_ZERO(&own);
			CPU_SET(cpu, &own);
			sched_setaffinity(0, sizeof own, &own);
			return;
		}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	struct peer *p = peer_new(argc, argv);
	bind_to_processor();
	prepare(p);
	pass(p);
	const double seconds = pass(p);
	if (rank == 0)
		peer_report(p, seconds);
	MPI_Finalize();
	return 0;
}
