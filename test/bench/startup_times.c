/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of planning, in a process of its own each time,
 * since an answer of oneDNN is kept:
 *
 *   startup_times plan CONFIG [KEY=VALUE ...]   parse to planned training step, without data
 *   startup_times passes CONFIG [KEY=VALUE ...] the same, by passes
 *   startup_times nodes N the same for a chain of layers that makes about N nodes startup_times
 *   first CONFIG [KEY=VALUE ...] all before the first training step, that step, and one that is
 *   warm startup_times overhead a step of empty kernels, for each node
 *
 * test/bench/startup calls it and takes medians. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/trace.h"
#include "data/sources.h"
#include "pass/pass.h"
#include "train/run/opening.h"
#include "train/run/synthetic.h"

static int plan(const char *path, int nset, const char *const *set)
{
	double t0 = io_seconds(), t1, t2;
	struct run_config *c;
	struct session *s;
	struct session_options o = { .need = SESSION_TRAIN | SESSION_NO_DATA };
	TRY(config_load(&c, path, nset, set));
	t1 = io_seconds();
	TRY(session_open(&s, c, &o));
	t2 = io_seconds();
	printf("%.3f ms: parse %.3f, plan %.3f; %d nodes\n", 1e3 * (t2 - t0), 1e3 * (t1 - t0),
	       1e3 * (t2 - t1), session_plan(s, PLAN_TRAIN)->g->nnode);
	session_close(s);
	return 0;
}

/* Prints the spans in the trace of a plan, in the order of their ends. */
static int passes(const char *path, int nset, const char *const *set)
{
	const struct trace_span *s;
	int64_t lost;
	TRY(trace_start(4096));
	TRY(plan(path, nset, set));
	trace_stop();
	for (int64_t i = 0; i < trace_count(&lost); i++)
		if ((s = trace_at(i)) != NULL)
			printf("%8.3f ms  %s\n", 1e3 * (s->end - s->start), s->name);
	trace_free();
	return 0;
}

#define WARM 4

static int time_step(struct plan *p, double *seconds)
{
	double t0 = io_seconds();
	TRY(exec_run(p->exec, ~0u));
	*seconds = io_seconds() - t0;
	return 0;
}

static int time_steps(struct session *s, double *feed, double *one)
{
	struct plan *p;
	double t0 = io_seconds();
	TRY(session_feed_first(s, &(struct plan_step){ .micros = 1 }, &p));
	*feed = io_seconds() - t0;
	for (int i = 0; i < WARM; i++)
		TRY(time_step(p, &one[i]));
	return 0;
}

/* What the trace of the set-up has, without the passes of plans. */
static void print_spans(void)
{
	static const char *const part[] = { "data", "plan", "initial values", "code", "memory" };
	const struct trace_span *s;
	int64_t lost;
	trace_stop();
	for (int64_t i = 0; i < trace_count(&lost); i++)
		for (size_t j = 0; (s = trace_at(i)) != NULL && j < sizeof part / sizeof *part; j++)
			if (strcmp(s->name, part[j]) == 0)
				printf(", %s %.3f", s->name, 1e3 * (s->end - s->start));
	trace_free();
	putchar('\n');
}

/* Where there is no data, it is made up. */
static int first(const char *path, int nset, const char *const *set)
{
	double start = io_seconds(), t1, t2, feed, one[WARM], warm;
	struct run_config *c;
	struct session *s;
	struct session_options o = { .need = SESSION_TRAIN | SESSION_EVALUATE | SESSION_RUN };
	TRY(trace_start(4096));
	TRY(config_load(&c, path, nset, set));
	if (!io_exists(sources_files(&c->data.train, c->arena).v[0]))
		o.need |= SESSION_SYNTHETIC;
	t1 = io_seconds();
	TRY(session_open(&s, c, &o));
	t2 = io_seconds();
	trace_stop();
	TRY(time_steps(s, &feed, one));
	warm = one[1];
	for (int i = 2; i < WARM; i++)
		warm = one[i] < warm ? one[i] : warm;
	printf("%.3f ms beyond the step: parse %.3f, open %.3f, batch %.3f, first "
	       "step %.3f, a warm one %.3f", 1e3 * (t2 - start + feed + one[0] - warm),
	       1e3 * (t1 - start), 1e3 * (t2 - t1), 1e3 * feed, 1e3 * one[0], 1e3 * warm);
	print_spans();
	session_close(s);
	return 0;
}

/* Convolution, batch normalisation and ReLU again and again:
 * 8 nodes a repeat, with their gradients and updates. */
static int plan_chain(int64_t nodes)
{
	const char *dir = getenv("TMPDIR");
	struct buf path = BUF_INIT, text = BUF_INIT;
	buf_printf(&path, "%s/dlx-nodes-%ld.yaml", dir ? dir : "/tmp", (long)getpid());
	buf_printf(&text, "model:\n  family: layers\n  input: {channels: 8, size: [16, 16]}\n"
	           "  classes: 8\n  layers:\n"
	           "    - repeat: {times: %" PRId64
	           ", layers: [{conv2d: {filters: 8, kernel: 3, padding: same}}, "
	           "{batch_norm: {}}, {relu: {}}]}\n"
	           "data: {train: none.dlx}\nloss: {type: softmax_cross_entropy}\n", nodes / 12);
	int rc = io_write_file(path.data, text.data, text.len);
	buf_release(&text);
	if (rc == 0)
		rc = plan(path.data, 0, NULL);
	unlink(path.data);
	buf_release(&path);
	return rc;
}

static int nothing(const struct kplan *k, const struct kargs *a)
{
	(void)k;
	(void)a;
	return 0;
}

#define EMPTY_NODES 10000
#define RUNS 200

/* A chain of negations whose kernel was taken away. */
static int overhead(void)
{
	static struct op empty;
	struct graph *g = graph_new();
	struct pass_env env = { .backend = BACKEND_CPU, .plan = &plan_env_default };
	struct shape s = { .nd = 1, .d = { 16 } };
	struct device *dev;
	struct exec *e;
	tid t;
	empty = *op_find("relu");
	empty.kernel[BACKEND_CPU] = (struct kernel){ .layouts = KL_SAME, .run = nothing };
	TRY(device_open(&dev, "cpu"));
	env.dev = dev;
	TRY(graph_input(g, "x", DTYPE_F32, &s, &t));
	for (int i = 0; i < EMPTY_NODES; i++) {
		TRY(graph_emit1(g, "relu", NULL, 1, &t, &t));
		g->node[i]->op = &empty;
	}
	graph_t(g, t)->output = true;
	TRY(pass_layout(g, &env));
	TRY(exec_new(&e, g, env.dev, &plan_env_default));
	void *arena = mem_map(exec_arena_bytes(e));
	struct store *store = store_new(env.dev, 1);
	TRY(exec_bind(e, store, arena, NULL));
	double best = 1;
	for (int i = 0; i < RUNS; i++) {
		double t0 = io_seconds();
		TRY(exec_run(e, ~0u));
		double one = io_seconds() - t0;
		best = one < best ? one : best;
	}
	printf("%.2f ns a node\n", 1e9 * best / EMPTY_NODES);
	mem_unmap(arena, exec_arena_bytes(e));
	exec_free(e);
	store_free(store);
	device_close(dev);
	graph_free(g);
	return 0;
}

int main(int argc, char **argv)
{
	int rc;
	log_init("startup_times", 0, 1);
	log_quiet(1);
	if (argc > 2 && strcmp(argv[1], "plan") == 0)
		rc = plan(argv[2], argc - 3, (const char *const *)argv + 3);
	else if (argc > 2 && strcmp(argv[1], "passes") == 0)
		rc = passes(argv[2], argc - 3, (const char *const *)argv + 3);
	else if (argc > 2 && strcmp(argv[1], "first") == 0)
		rc = first(argv[2], argc - 3, (const char *const *)argv + 3);
	else if (argc == 3 && strcmp(argv[1], "nodes") == 0)
		rc = plan_chain(atoll(argv[2]));
	else if (argc == 2 && strcmp(argv[1], "overhead") == 0)
		rc = overhead();
	else
		rc = ERR(E_USAGE, NULL, "usage: startup_times plan|passes|first CONFIG [KEY=VALUE "
		         "...] | nodes N | overhead");
	if (rc < 0)
		err_print(stderr, "startup_times");
	return rc < 0 ? err_exit_status(rc) : 0;
}
