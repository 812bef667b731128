/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Task Bench by tasks of StarPU, which finds dependences from the data that tasks read and write:
 * the payloads, which are kept for two steps. */
#include <starpu.h>

#include "metg_peer.h"

#define MOST 64                /* inputs of a task */

struct columns {
	const struct tb_graph *g;
	const struct tb_edges *e;
	starpu_data_handle_t *payload[2];    /* by step modulo 2, and column */
	char *scratch;
};

struct place {
	const struct columns *c;
	int64_t t, i;
};

static void run(void *buffers[], void *arg)
{
	const struct place *x = arg;
	const struct tb_graph *g = x->c->g;
	const struct tb_list l = tb_inputs(x->c->e, tb_set(g, x->t), x->i);
	const struct tb_range last = tb_active(g, x->t - 1);
	const void *in[MOST];
	int n = 0;
	for (int64_t k = 0; k < l.n; k++)
		if (tb_within(last, l.v[k])) {
			in[n] = (const void *)STARPU_VARIABLE_GET_PTR(buffers[n + 1]);
			n++;
		}
	peer_task(g, x->t, x->i, l, in, (void *)STARPU_VARIABLE_GET_PTR(buffers[0]),
	          x->c->scratch + x->i * g->scratch_bytes);
}

static struct starpu_codelet codelet = {
	.cpu_funcs = { run }, .nbuffers = STARPU_VARIABLE_NBUFFERS, .name = "task"
};

static void submit(const struct columns *c, int64_t t, int64_t i)
{
	const struct tb_list l = tb_inputs(c->e, tb_set(c->g, t), i);
	const struct tb_range last = tb_active(c->g, t - 1);
	struct starpu_data_descr data[MOST + 1];
	struct place *x = malloc(sizeof *x);
	int n = 0;
	*x = (struct place){ c, t, i };
	data[n++] = (struct starpu_data_descr){ c->payload[t & 1][i], STARPU_W };
	for (int64_t k = 0; k < l.n; k++)
		if (tb_within(last, l.v[k]))
			data[n++] = (struct starpu_data_descr){ c->payload[(t - 1) & 1][l.v[k]], STARPU_R };
	struct starpu_task *task = starpu_task_create();
	task->cl = &codelet;
	task->cl_arg = x;
	task->cl_arg_size = sizeof *x;
	task->cl_arg_free = 1;
	task->nbuffers = n;
	if (n > STARPU_NMAXBUFS) {
		task->dyn_handles = malloc((size_t)n * sizeof *task->dyn_handles);
		task->dyn_modes = malloc((size_t)n * sizeof *task->dyn_modes);
	}
	for (int k = 0; k < n; k++) {
		STARPU_TASK_SET_HANDLE(task, data[k].handle, k);
		STARPU_TASK_SET_MODE(task, data[k].mode, k);
	}
	if (starpu_task_submit(task) != 0)
		exit(1);
}

static void pass(const struct columns *c, int n)
{
	for (int64_t t = 0; t < c->g->steps; t++)
		for (int k = 0; k < n; k++) {
			const struct tb_range now = tb_active(c[k].g, t);
			for (int64_t i = now.first; i < now.end; i++)
				submit(&c[k], t, i);
		}
	starpu_task_wait_for_all();
}

static void prepare(struct columns *c, const struct tb_graph *g, const struct tb_edges *e)
{
	*c = (struct columns){ .g = g, .e = e };
	c->scratch = calloc(1, (size_t)(g->width * g->scratch_bytes) + 1);
	for (int row = 0; row < 2; row++) {
		c->payload[row] = calloc((size_t)g->width, sizeof *c->payload[row]);
		for (int64_t i = 0; i < g->width; i++)
			starpu_variable_data_register(&c->payload[row][i], STARPU_MAIN_RAM,
			                              (uintptr_t)calloc(1, (size_t)g->output_bytes),
			                              (size_t)g->output_bytes);
	}
}

int main(int argc, char **argv)
{
	static struct columns c[TB_GRAPHS];
	struct peer *p = peer_new(argc, argv);
	struct starpu_conf conf;
	double start = 0;
	starpu_conf_init(&conf);
	conf.ncpus = p->workers;
	if (starpu_init(&conf) != 0)
		return 1;
	for (int k = 0; k < p->app.ngraph; k++)
		prepare(&c[k], &p->app.graph[k], p->edges[k]);
	for (int k = 0; k < 2; k++) {
		start = peer_seconds();
		pass(c, p->app.ngraph);
	}
	peer_report(p, peer_seconds() - start);
	for (int k = 0; k < p->app.ngraph; k++)
		for (int64_t i = 0; i < 2 * c[k].g->width; i++)
			starpu_data_unregister(c[k].payload[i & 1][i / 2]);
	starpu_shutdown();
	return 0;
}
