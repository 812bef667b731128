/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Measures the implementations of a node as a whole, each including dlx's kernels and the copies of
 * windows, on tensors of the node's sizes. */
#include "op/conv/conv_way.h"

#include <string.h>

#include "backend/plan_env.h"
#include "backend/wisdom.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "graph/attr.h"

#ifdef HAVE_CUDA

#include "backend/cuda/cuda_time.h"
#include "backend/cuda/cudnn.h"

static const char *const names[] = {
	[CONV_OURS] = "ours", [CONV_WINDOWS] = "windows", [CONV_WHOLE] = "whole",
	[CONV_PARTS] = "parts"
};

/* --- the problem --- */

static void name_tensor(struct buf *b, const struct graph *g, tid id)
{
	if (id == NONE) {
		buf_puts(b, " -");
		return;
	}
	const struct tensor *t = graph_t(g, id);
	buf_printf(b, " %s ", dtype_name(t->dtype));
	layout_name(&t->layout, b);
	if (view_is_strided(t))
		buf_printf(b, " at %lld", (long long)t->view_at);
}

/* Everything that an implementation and its time may depend on, and the number of implementations:
 * if dlx gets a new one, old measurements are not used. */
static void name_problem(struct buf *b, const struct kplan *k)
{
	const struct node *n = k->n;
	buf_printf(b, "way %s {", n->op->name);
	attr_text(b, n->op, n->attr, true);
	buf_puts(b, "}");
	for (int i = 0; i < n->nin; i++)
		name_tensor(b, k->g, n->in[i]);
	buf_puts(b, " to");
	for (int i = 0; i < n->nout; i++)
		name_tensor(b, k->g, n->out[i]);
	buf_printf(b, "%s%s, %d ways", k->env->deterministic ? " deterministic" : "",
	           k->env->tf32 ? " tf32" : "", CONV_WAYS);
}

static enum conv_way way_named(const char *name)
{
	int way = 0;
	while (way < CONV_WAYS && (!name || strcmp(names[way], name) != 0))
		way++;
	return (enum conv_way)way;
}

/* --- one implementation --- */

/* Returns false, with *rc 0, if the node has no such implementation. */
static bool make(struct kplan *k, const struct conv_ways *ways, enum conv_way way, int *rc)
{
	const int mark = err_count();
	k->state = NULL;
	k->ws_bytes = 0;
	k->impl = NULL;
	k->choice = (struct kernel_choice){ 0 };
	*rc = ways->plan(k, way, ways->user);
	if (*rc == 0)
		return true;
	ways->free(k);
	k->state = NULL;
	if (*rc == E_UNSUPPORTED) {
		err_truncate(mark);
		*rc = 0;
	}
	return false;
}

/* Takes the first implementation that exists. If there is none, the error is that of the last
 * one. */
static int take_first(struct kplan *k, const struct conv_ways *ways)
{
	int rc = 0;
	for (int way = 0; way < (ways->parts ? CONV_OURS + 1 : CONV_PARTS) && rc == 0; way++)
		if (make(k, ways, (enum conv_way)way, &rc))
			return 0;
	return rc < 0 ? rc : ways->plan(k, CONV_PARTS, ways->user);
}

/* --- measuring --- */

/* A node with memory for all its tensors. */
struct trial {
	const struct kplan *k;
	const struct conv_ways *ways;
	void **arg;                  /* nin + nout pointers, then the workspace */
	int n;
};

static int run_trial(void *user)
{
	const struct trial *t = user;
	const struct kargs a = { t->arg, t->arg + t->k->n->nin, t->arg[t->n], NULL };
	return t->ways->run(t->k, &a);
}

static int make_room(struct trial *t, size_t workspace)
{
	const struct node *n = t->k->n;
	int rc = cuda_scratch(&t->arg[t->n], workspace);
	for (int i = 0; i < t->n && rc == 0; i++) {
		const tid id = i < n->nin ? n->in[i] : n->out[i - n->nin];
		const struct tensor *of = id == NONE ? NULL : graph_t(t->k->g, id);
		if (of)
			rc = cuda_scratch(&t->arg[i], (size_t)layout_elements(&of->layout) *
			                              dtype_size(of->dtype));
	}
	return rc;
}

/* Microseconds of each implementation that exists; negative if it cannot be measured. */
static void measure(struct kplan *made, const bool *there, const struct conv_ways *ways, double *us)
{
	const struct node *n = made->n;
	struct trial t = { .ways = ways, .n = n->nin + n->nout };
	size_t workspace = 0;
	const int mark = err_count();
	double best = 0;
	t.arg = mem_calloc((size_t)t.n + 1, sizeof *t.arg);
	for (int i = 0; i < CONV_WAYS; i++)
		workspace = there[i] && made[i].ws_bytes > workspace ? made[i].ws_bytes : workspace;
	t.k = made;
	int rc = make_room(&t, workspace);
	for (int i = 0; i < CONV_WAYS; i++) {
		us[i] = -1;
		t.k = &made[i];
		if (!there[i] || rc < 0 ||
		    cuda_time(cuda_stream(made->dev), run_trial, &t, CUDA_TIME_MUCH * best, &us[i]) < 0)
			us[i] = -1;
		else
			best = best == 0 || us[i] < best ? us[i] : best;
	}
	for (int i = 0; i <= t.n; i++)
		cuda_scratch_free(t.arg[i]);
	mem_free(t.arg);
	err_truncate(mark);
}

/* The first of the fastest implementations that exist; if none could be measured, the first one
 * that exists. */
static enum conv_way fastest(const bool *there, const double *us)
{
	int best = CONV_WAYS;
	for (int i = 0; i < CONV_WAYS; i++)
		if (there[i] && (best == CONV_WAYS || (us[i] >= 0 && (us[best] < 0 || us[i] < us[best]))))
			best = i;
	return (enum conv_way)best;
}

static enum conv_way choose(struct kplan *made, const bool *there, const struct conv_ways *ways,
                            const struct cudnn *library, const char *problem)
{
	struct wisdom *w = made->env->wisdom;
	double us[CONV_WAYS];
	for (int i = 0; i < CONV_WAYS; i++)
		us[i] = -1;
	if (!wisdom_may_measure(w)) {
		wisdom_left(w);
		return fastest(there, us);
	}
	const double start = io_seconds();
	measure(made, there, ways, us);
	w->spent += io_seconds() - start;
	const enum conv_way way = fastest(there, us);
	if (us[way] >= 0)
		cudnn_learn(library, w, problem, names[way], us[way]);
	return way;
}

static int take_fastest(struct kplan *k, const struct conv_ways *ways, const struct cudnn *library,
                        const char *problem)
{
	struct kplan made[CONV_WAYS];
	bool there[CONV_WAYS] = { false };
	int rc = 0, n = 0;
	for (int i = 0; i < CONV_WAYS; i++)
		made[i] = *k;
	for (int i = 0; i < CONV_WAYS && rc == 0; i++)
		n += there[i] = make(&made[i], ways, (enum conv_way)i, &rc);
	enum conv_way way = CONV_WAYS;
	if (rc == 0)
		way = n > 1 ? choose(made, there, ways, library, problem) :
		      fastest(there, (const double[CONV_WAYS]){ 0 });
	for (int i = 0; i < CONV_WAYS; i++)
		if (there[i] && i != (int)way)
			ways->free(&made[i]);
	if (way == CONV_WAYS)
		return rc < 0 ? rc : take_first(k, ways);
	*k = made[way];
	return 0;
}

/* --- the choice --- */

/* Makes every implementation; each compiles and keeps its engines. */
static int make_all(struct kplan *k, const struct conv_ways *ways)
{
	int rc = 0;
	for (int way = 0; way < CONV_WAYS && rc == 0; way++)
		if (make(k, ways, (enum conv_way)way, &rc))
			ways->free(k);
	return rc;
}

static int plan_by(struct kplan *k, const struct conv_ways *ways, const struct cudnn *library,
                   const char *problem)
{
	const enum conv_way known = way_named(cudnn_known(library, k->env->wisdom, problem));
	int rc = 0;
	if (known < CONV_WAYS && make(k, ways, known, &rc))
		return 0;
	TRY(rc);
	if (cudnn_runs(library) && wisdom_may_measure(k->env->wisdom))
		return take_fastest(k, ways, library, problem);
	if (cudnn_prepares(library, k->env->wisdom))
		TRY(make_all(k, ways));
	return take_first(k, ways);
}

int conv_way_plan(struct kplan *k, const struct conv_ways *ways)
{
	struct buf problem = BUF_INIT;
	struct cudnn *library;
	int rc = 0;
	if (debug.way && make(k, ways, way_named(debug.way), &rc))
		return 0;
	TRY(rc);
	if (!k->env->wisdom || debug.way)
		return take_first(k, ways);
	TRY(cuda_cudnn(k->dev, &library));
	name_problem(&problem, k);
	rc = plan_by(k, ways, library, problem.data);
	buf_release(&problem);
	return rc;
}

#endif
