/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From a scheduled graph to an array of (kernel, pointers) and the loop over it. exec_new makes
 * every decision: kernels choose their implementation and book workspace, and the memory planner
 * gives each tensor and each workspace an offset. exec_bind allocates and turns offsets into
 * pointers, so a plan that is only printed takes no memory. exec_run is a step.
 *
 * Where values are: params and states in the store, constants and inputs in memory of the exec's
 * own, everything else in the step arena. */
#include "backend/exec.h"

#include <string.h>

#include "backend/exec_state.h"
#include "backend/transfer.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/trace.h"
#include "graph/memplan.h"
#include "graph/verify.h"
#include "graph/view.h"

const struct kernel *exec_kernel_of(const struct exec *e, const struct node *n)
{
	return &n->op->kernel[e->dev->backend];
}

static int plan_node(struct exec *e, struct node *n, struct kplan *k)
{
	const struct kernel *kernel = exec_kernel_of(e, n);
	*k = (struct kplan){ .g = e->g, .n = n, .dev = e->dev, .env = &e->env, .arena = e->arena };
	if (!node_runs(e->g, n))
		return 0;
	if (!kernel->run)
		return ERR(E_UNSUPPORTED, &n->loc, "'%s': op '%s' has no kernel for device '%s'", n->name,
		           n->op->name, e->dev->name);
	if (kernel->plan)
		TRYC(kernel->plan(k), "while planning '%s' (%s)", n->name, n->op->name);
	return 0;
}

int exec_plan_memory(struct exec *e)
{
	size_t *ws = ARENA_ARRAY(e->arena, size_t, e->g->nnode);
	e->ws_offset = ARENA_ARRAY(e->arena, int64_t, e->g->nnode);
	for (int i = 0; i < e->g->nnode; i++)
		ws[i] = e->plan[i].ws_bytes;
	TRY(memplan(e->g, &(struct memplan_workspace){ ws, e->ws_offset }));
	return graph_verify(e->g, STAGE_PLANNED);
}

/* Captured graphs contain pointers, so they are destroyed when values move. */
static void destroy_captured(struct exec *e)
{
	for (int i = 0; i < 1 << PHASE_COUNT; i++) {
		if (e->captured[i])
			e->dev->driver->graph_destroy(e->dev, e->captured[i]);
		e->captured[i] = NULL;
	}
}

int exec_new(struct exec **out, struct graph *g, const struct device *dev,
             const struct plan_env *env)
{
	struct exec *e = mem_calloc(1, sizeof *e);
	int rc = 0;
	e->g = g;
	e->dev = dev;
	e->env = *env;
	e->arena = arena_new();
	e->plan = ARENA_ARRAY(e->arena, struct kplan, g->nnode);
	for (int i = 0; i < g->nnode && rc == 0; i++)
		rc = plan_node(e, g->node[i], &e->plan[i]);
	if (rc == 0)
		rc = exec_plan_memory(e);
	if (rc < 0) {
		exec_free(e);
		return rc;
	}
	e->pointer = ARENA_ARRAY(e->arena, void *, g->ntensor);
	e->seconds = ARENA_ARRAY(e->arena, double, g->nnode);
	e->step = ARENA_ARRAY(e->arena, struct exec_step, g->nnode);
	*out = e;
	return 0;
}

void exec_free(struct exec *e)
{
	if (!e)
		return;
	destroy_captured(e);
	for (int i = 0; i < e->g->nnode; i++)
		if (e->plan[i].n && exec_kernel_of(e, e->plan[i].n)->free)
			exec_kernel_of(e, e->plan[i].n)->free(&e->plan[i]);
	inputs_free(e->inputs);
	arena_free(e->arena);
	mem_free(e);
}

size_t exec_arena_bytes(const struct exec *e)
{
	return (size_t)e->g->arena_bytes;
}

static void *locate(const struct exec *e, const struct store *store, char *arena, tid t)
{
	tid root = graph_root(e->g, t);
	const struct tensor *x = graph_t(e->g, root);
	if (x->role == ROLE_PARAM || x->role == ROLE_STATE)
		return store_find(store, x->name)->data;
	if (inputs_place(e->inputs, root))
		return inputs_place(e->inputs, root);
	return x->offset < 0 ? NULL : arena + graph_t(e->g, t)->offset;
}

static void **pointers(const struct exec *e, const tid *t, int n)
{
	void **p = ARENA_ARRAY(e->arena, void *, n + 1);
	for (int i = 0; i < n; i++)
		p[i] = t[i] == NONE ? NULL : e->pointer[t[i]];
	return p;
}

/* A param or, with `states`, a state that is kept. */
static bool writes(const struct graph *g, const struct node *n, bool states)
{
	for (int i = 0; i < n->nout; i++) {
		const struct tensor *x = n->out[i] == NONE ? NULL : graph_t(g, graph_root(g, n->out[i]));
		if (x && (x->role == ROLE_PARAM ||
		          (states && x->role == ROLE_STATE && state_is_kept(x->use))))
			return true;
	}
	return false;
}

/* The bit of a node that is run only when params were changed by others. */
#define SETUP (1u << PHASE_COUNT)

/* Numbers the nodes on the second stream, and finds the steps that wait for them. */
static void number_aside(struct exec *e)
{
	const struct exec_step *aside = e->step;  /* the next that a step has to wait for */
	int n = 0;
	for (int i = 0, awaited = 0; i < e->nstep; i++) {
		struct exec_step *s = &e->step[i];
		for (; aside < s && (!aside->aside || aside->k->n->join <= s->k->n->id); aside++)
			awaited = aside->aside ? aside->aside : awaited;
		s->awaits = awaited;
		s->aside = s->k->n->join == NONE ? 0 : ++n;
	}
	second_init(&e->second, e->dev, n, e->arena);
}

int exec_bind(struct exec *e, struct store *store, void *arena, const struct links *sums)
{
	TRY(store_add(store, e->g));
	e->store = store;
	e->seen = 0;
	destroy_captured(e);
	if (!e->inputs)
		TRY(inputs_new(&e->inputs, e->g, e->dev));
	for (tid t = 0; t < e->g->ntensor; t++)
		e->pointer[t] = locate(e, store, arena, t);
	e->nstep = e->intake = 0;
	e->first_update = NULL;
	for (int i = 0; i < e->g->nnode; i++) {
		struct node *n = e->g->node[i];
		if (!node_runs(e->g, n))
			continue;
		void *ws = e->plan[i].ws_bytes ? (char *)arena + e->ws_offset[i] : NULL;
		e->step[e->nstep++] = (struct exec_step){
			.run = exec_kernel_of(e, n)->run, .k = &e->plan[i],
			.phase_bit = n->op->flags & OP_SETUP ? SETUP : 1u << n->phase,
			.args = { pointers(e, n->in, n->nin), pointers(e, n->out, n->nout), ws, sums } };
		if (node_reads_first(e->g, n))
			e->intake = e->nstep;
		if (!e->first_update && n->phase == PHASE_UPDATE && writes(e->g, n, true))
			e->first_update = &e->step[e->nstep - 1];
		e->setup |= (n->op->flags & OP_SETUP) != 0;
		e->updates |= (n->op->flags & OP_UPDATE) && writes(e->g, n, false);
	}
	number_aside(e);
	return device_prepare(e->dev);
}

int exec_explain(int rc, const struct node *n)
{
	err_locate(rc, &n->loc);
	return err_context(rc, "in %s node %d '%s'", n->op->name, n->id, n->name);
}

/* --- eager launch and graph capture --- */

static void note_node(const struct exec *e, const struct node *n, double start, double end)
{
	static const char *const phase[PHASE_COUNT] = { "forward", "backward", "update" };
	e->seconds[n->id] += end - start;
	if (trace_on())
		trace_add(&(struct trace_span){ .lane = TRACE_COMPUTE, .name = n->op->name,
			.layer = n->name,
			.phase = phase[n->phase], .of = "node", .number = n->id, .start = start, .end = end });
}

/* Before the first update, waits for all copies of a snapshot that overlap forward and backward,
 * since updates overwrite the values. One wait serves all tensors: updates are in few bundles, the
 * first of them late in the step, and a wait for each tensor would cost time in every captured
 * step, though only the step after a save needs it. */
static int meet_update(const struct exec *e, unsigned phases)
{
	if (!(phases & EXEC_UPDATE))
		return 0;
	if (e->dev->driver)
		return e->dev->driver->copy_fence(e->dev);
	store_meet_update(e->store);
	return 0;
}

/* Node by node, each timed or shown to exec_run_looking's caller. On a device with memory of its
 * own it waits for each. */
static int run_each(struct exec *e, unsigned phases)
{
	TRY(device_finish(e->dev));
	double start = io_seconds();
	for (const struct exec_step *s = e->step; s < e->step + e->nstep; s++) {
		if (!(s->phase_bit & phases))
			continue;
		if (s == e->first_update)
			TRY(meet_update(e, phases));
		if (e->look)
			e->look->before(e->look->user, s->k->n);
		double t0 = io_seconds();
		int rc = s->run(s->k, &s->args);
		if (rc == 0)
			rc = device_finish(e->dev);
		if (rc < 0)
			return exec_explain(rc, s->k->n);
		if (e->look)
			e->look->after(e->look->user, s->k->n);
		else
			note_node(e, s->k->n, t0, io_seconds());
	}
	if (!e->look)
		trace_mark(TRACE_COMPUTE, "nodes", start);
	return 0;
}

/* Launches steps first .. end - 1. For a profiler, steps run one after the other. */
static int launch(struct exec *e, unsigned phases, int first, int end)
{
	second_start(&e->second);
	for (const struct exec_step *s = e->step + first; s < e->step + end; s++) {
		const int aside = e->watched ? 0 : s->aside;
		if (s == e->first_update)
			TRY(meet_update(e, phases));
		if (e->watched)
			e->dev->driver->watch_node(e->dev, s->k->n->id);
		if (!(s->phase_bit & phases))
			continue;
		TRY(second_await(&e->second, s->awaits));
		TRY(second_begin(&e->second, aside));
		int rc = s->run(s->k, &s->args), ended = second_end(&e->second, aside);
		if (rc < 0)
			return exec_explain(rc, s->k->n);
		TRY(ended);
	}
	return second_await(&e->second, e->second.n);
}

/* Launches the intake, then lets the copy of the next batch begin. */
static int launch_intake(struct exec *e, unsigned phases)
{
	if (e->intake == 0)
		return 0;
	TRY(launch(e, phases, 0, e->intake));
	return e->dev->driver->prefetch_taken(e->dev);
}

static int launch_eagerly(struct exec *e, unsigned phases)
{
	TRY(launch_intake(e, phases));
	return launch(e, phases, e->intake, e->nstep);
}

/* The first step in the captured graph. For a profiler that is step 0, since no next batch is
 * copied then. */
static int first_captured(const struct exec *e)
{
	return e->watched ? 0 : e->intake;
}

static int capture(struct exec *e, unsigned phases)
{
	const struct device_driver *driver = e->dev->driver;
	TRY(driver->capture_begin(e->dev));
	int rc = launch(e, phases, first_captured(e), e->nstep), mark = err_count();
	int ended = driver->capture_end(e->dev, &e->captured[phases]);
	if (rc < 0)
		err_truncate(mark);      /* a capture that ended so is not reported */
	return rc < 0 ? rc : ended;
}

/* The first run launches kernels one by one: libraries load the code of a kernel, and allocate
 * memory for it, when it first runs, which is not allowed during capture. The second run is
 * captured, but for the intake, and later ones launch the captured graph. */
static int run_captured(struct exec *e, unsigned phases)
{
	if (!e->walked[phases]) {
		e->walked[phases] = true;
		return launch_eagerly(e, phases);
	}
	if (first_captured(e) > 0)
		TRY(launch_intake(e, phases));
	if (!e->captured[phases])
		TRY(capture(e, phases));
	return e->dev->driver->graph_launch(e->dev, e->captured[phases]);
}

static int run_phases(struct exec *e, unsigned phases, bool captured)
{
	if (e->look || e->profiling || trace_on() || e->dev->each)
		return run_each(e, phases);
	if (!e->dev->driver)
		return launch_eagerly(e, phases);
	TRY(inputs_run(e->inputs));
	return captured ? run_captured(e, phases) : launch_eagerly(e, phases);
}

/* Copies of params are up to date unless anything but this plan's own update has written params. */
static int run(struct exec *e, unsigned phases, bool captured)
{
	phases &= (1u << PHASE_COUNT) - 1;
	if (e->sleep && e->due < io_nanoseconds())
		e->due = io_nanoseconds();
	if (e->setup && e->seen != store_changes(e->store)) {
		TRY(launch(e, SETUP, 0, e->nstep));
		e->seen = store_changes(e->store);
	}
	TRY(run_phases(e, phases, captured));
	if (e->sleep)
		io_sleep_until(e->due);
	if (e->updates && (phases & EXEC_UPDATE))
		e->seen = store_touch_all(e->store);
	return 0;
}

int exec_run(struct exec *e, unsigned phases)
{
	return run(e, phases, true);
}

int exec_run_eager(struct exec *e, unsigned phases)
{
	return run(e, phases, false);
}

int exec_run_looking(struct exec *e, unsigned phases, const struct exec_look *look)
{
	e->look = look;
	int rc = run(e, phases, false);
	e->look = NULL;
	return rc;
}

int exec_write(struct exec *e, tid t, enum dtype type, const void *plain)
{
	const struct tensor *x = graph_t(e->g, t);
	if (inputs_place(e->inputs, t))
		return inputs_write(e->inputs, t, type, plain);
	return transfer_write(e->dev, &(struct transfer){ &x->layout, &x->shape, x->dtype,
		e->pointer[t] }, type, plain);
}

int exec_prefetch_begin(struct exec *e)
{
	return inputs_prefetch_begin(e->inputs);
}

int exec_prefetch(struct exec *e, tid t, const struct host_values *v)
{
	return inputs_prefetch(e->inputs, t, v);
}

int exec_take(struct exec *e, tid t)
{
	return inputs_take(e->inputs, t);
}

int exec_read(const struct exec *e, tid t, enum dtype type, void *plain)
{
	const struct tensor *x = graph_t(e->g, t);
	return transfer_read(e->dev, &(struct transfer){ &x->layout, &x->shape, x->dtype,
		e->pointer[t] }, type, plain);
}

void *exec_pointer(const struct exec *e, tid t)
{
	return e->pointer[t];
}

const char *exec_impl(const struct exec *e, nid n)
{
	return e->plan[n].impl;
}

const struct kplan *exec_kernel(const struct exec *e, nid n)
{
	return &e->plan[n];
}

double exec_work(const struct exec *e, nid n)
{
	return e->plan[n].work;
}

size_t exec_workspace(const struct exec *e, nid n)
{
	return e->plan[n].ws_bytes;
}

int64_t exec_workspace_offset(const struct exec *e, nid n)
{
	return e->ws_offset[n];
}

void exec_profile(struct exec *e, bool on)
{
	e->profiling = on;
	memset(e->seconds, 0, sizeof *e->seconds * (size_t)e->g->nnode);
}

const double *exec_profile_seconds(const struct exec *e)
{
	return e->seconds;
}

int exec_watch_begin(struct exec *e)
{
	const struct device_driver *driver = e->dev->driver;
	if (!driver || !driver->watch_begin)
		return ERR(E_UNAVAILABLE, NULL, "device '%s' has no profiler", e->dev->name);
	if (trace_on() || e->dev->each)
		return ERR(E_UNAVAILABLE, NULL, "each kernel is waited for, so no step is replayed");
	return driver->watch_begin(e->dev);
}

int exec_watch_replays(struct exec *e, int runs, struct replay *out)
{
	const struct device_driver *driver = e->dev->driver;
	int rc = 0;
	*out = (struct replay){ 0 };
	if (!driver || !driver->watch_end)
		return 0;
	if (runs > 0) {
		destroy_captured(e);
		e->watched = true;
	}
	for (int i = 0; i < runs && rc == 0; i++)
		rc = exec_run(e, ~0u);
	if (rc == 0)
		rc = device_finish(e->dev);
	driver->watch_end(e->dev, out);
	if (e->watched)
		destroy_captured(e);
	e->watched = false;
	return rc;
}
