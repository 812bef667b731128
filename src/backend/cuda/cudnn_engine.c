/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heuristics answer with engine configurations, best first: mode A, then a fallback of
 * engines that always work. Each configuration takes its time to make, so a few are
 * asked for first, and the fallback where mode A has nothing. An engine counts if its
 * numerical notes are allowed and its plan can be built, which is cuDNN's check of
 * support. Wisdom names one of them by its place in the list, which the same library
 * gives for the same problem on the same device, and by its number, to be sure. Without
 * it the first one is taken, or, when measuring, the fastest of the first few. */
#include "backend/cuda/cudnn_engine.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/cudnn_kept.h"
#include "base/io.h"
#include "base/log.h"

#define MAXCONFIG 24          /* configurations looked at, of each mode */
#define FEW 4                 /* at first */
#define MAXNOTE 16
#define MEASURED 8            /* engines that are measured at most */

struct list {
	struct cudnn_set set;
	desc heuristics, config[MAXCONFIG];
	int n, asked;                /* configurations there are, and how many were asked for */
	char mode;                   /* 'a', 'f' */
};

static void ask(struct list *l, const struct cudnn *c, desc graph)
{
	const cudnnBackendHeurMode_t mode = l->mode == 'a' ? CUDNN_HEUR_MODE_A :
	                                    CUDNN_HEUR_MODE_FALLBACK;
	struct cudnn_set *s = &l->set;
	l->heuristics = cudnn_make(s, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	cudnn_put_desc(s, l->heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
	cudnn_put(s, l->heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	if (c->device)
		cudnn_put_desc(s, l->heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, c->device);
	cudnn_finalize(s, l->heuristics);
}

/* The first `most` of them. */
static void fetch(struct list *l, int most)
{
	for (int i = 0; i < most; i++)
		l->config[i] = cudnn_make(&l->set, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	l->n = (int)cudnn_get(&l->set, l->heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
	                      CUDNN_TYPE_BACKEND_DESCRIPTOR, most, l->config);
	l->asked = most;
}

/* Whether there is a configuration i. */
static bool has(struct list *l, const struct cudnn *c, desc graph, int i)
{
	if (l->asked == 0) {
		ask(l, c, graph);
		fetch(l, FEW);
	}
	if (i >= l->n && l->n == FEW && l->asked == FEW)
		fetch(l, MAXCONFIG);
	return i < l->n;
}

/* Whether an engine with these notes may be used. Inputs of 32 bits are never made 16 bits, which
 * have another range; what rounds them to TF32 is called a tensor core. */
static bool allowed(const struct cudnn_demand *want, const cudnnBackendNumericalNote_t *note,
                    int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (note[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC && want->deterministic)
			return false;
		if (note[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
		    note[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)
			return false;
		if (want->exact && note[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE)
			return false;
	}
	return true;
}

/* Whether cuDNN would compile the engine. */
static bool is_compiled(struct cudnn_set *s, desc engine)
{
	cudnnBackendBehaviorNote_t note[MAXNOTE];
	int64_t n = cudnn_get(s, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
	                      MAXNOTE, note);
	for (int64_t i = 0; i < n; i++)
		if (note[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)
			return true;
	return false;
}

struct candidate {
	int64_t index;
	bool compiled;               /* by cuDNN, when its plan is made */
};

/* The engine of a configuration, and whether its notes are allowed. */
static bool look_at(const struct cudnn *c, const struct cudnn_demand *want, desc config,
                    struct candidate *out)
{
	struct cudnn_set s = { .status = CUDNN_STATUS_SUCCESS };
	cudnnBackendNumericalNote_t note[MAXNOTE];
	*out = (struct candidate){ -1, false };
	desc engine = cudnn_make(&s, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	cudnn_get(&s, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
	cudnn_get(&s, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &out->index);
	out->compiled = is_compiled(&s, engine);
	int64_t n = cudnn_get(&s, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
	                      MAXNOTE, note);
	bool ok = s.status == CUDNN_STATUS_SUCCESS && allowed(want, note, n) &&
	          !(c->leave_unknown && out->compiled);
	cudnn_release(&s);
	return ok;
}

/* Engines that cuDNN compiles when they are planned are the fastest ones of chains, and others take
 * their place silently. */
static void tell_missing(const struct cudnn *c, cudnnStatus_t status)
{
	static bool told;
	if (status != CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING || !c->handle || told)
		return;
	told = true;
	warn("cuDNN finds no libnvrtc to compile kernels with and takes slower ones; install it or "
	     "name its folder in LD_LIBRARY_PATH");
}

/* --- plans --- */

#define LIBRARY_NAME 24

static const char *library_name(const struct cudnn *c, char out[LIBRARY_NAME])
{
	snprintf(out, LIBRARY_NAME, "cudnn-%zu", c->version);
	return out;
}

/* For the place and the number of an engine, and the problem. */
static struct cudnn_kept_key key_of(const struct cudnn *c, const struct cudnn_demand *want,
                                    const struct cudnn_engine *e, char library[LIBRARY_NAME])
{
	return (struct cudnn_kept_key){ want->problem, c->name, library_name(c, library), e->name };
}

static bool finish_plan(struct cudnn_engine *e)
{
	int64_t bytes = 0;
	cudnn_finalize(&e->parts, e->plan);
	cudnn_get(&e->parts, e->plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
	          &bytes);
	e->ws_bytes = (size_t)bytes;
	if (e->parts.status == CUDNN_STATUS_SUCCESS && bytes >= 0)
		return true;
	e->refused = e->parts.status;
	cudnn_release(&e->parts);
	return false;
}

/* Loads the plan that an earlier run compiled. */
static bool read_plan(struct cudnn_engine *e, const struct cudnn *c,
                      const struct cudnn_demand *want, const char *kept)
{
	struct buf text = BUF_INIT;
	char library[LIBRARY_NAME];
	const struct cudnn_kept_key key = key_of(c, want, e, library);
	e->read = cudnn_kept_read(kept, &key, &text);
	if (e->read) {
		e->plan = cudnn_make(&e->parts, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
		cudnn_put(&e->parts, e->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
		          &c->handle);
		cudnn_put(&e->parts, e->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
		          CUDNN_TYPE_CHAR, (int64_t)text.len, text.data);
		e->read = finish_plan(e);
	}
	buf_release(&text);
	return e->read;
}

static void keep_plan(const struct cudnn_engine *e, const struct cudnn *c,
                      const struct cudnn_demand *want, const char *kept)
{
	struct buf text = BUF_INIT;
	char library[LIBRARY_NAME];
	const struct cudnn_kept_key key = key_of(c, want, e, library);
	if (cudnn_get_text(e->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, &text))
		cudnn_kept_write(kept, &key, &text);
	buf_release(&text);
}

#define LONG 5.0               /* seconds of compiling that are worth a word */

static void note_compiling(double seconds, const struct wisdom *w)
{
	static double spent;
	const bool before = spent >= LONG;
	spent += seconds;
	if (!w && !before && spent >= LONG)
		note("cuDNN compiles kernels for these convolutions, most of a second each; with --wisdom "
		     "FILE they are kept for later runs");
}

static bool make_plan(struct cudnn_engine *e, const struct cudnn *c)
{
	e->plan = cudnn_make(&e->parts, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	cudnn_put_desc(&e->parts, e->plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, e->config);
	if (c->handle)
		cudnn_put(&e->parts, e->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
		          &c->handle);
	else
		cudnn_put_desc(&e->parts, e->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, c->device);
	if (finish_plan(e))
		return true;
	tell_missing(c, e->refused);
	return false;
}

/* Configuration i of the list. */
static bool build(struct cudnn_engine *e, const struct cudnn *c, const struct list *l, int i,
                  const struct candidate *is, const struct cudnn_demand *want,
                  const struct wisdom *w)
{
	*e = (struct cudnn_engine){ .config = l->config[i], .compiled = is->compiled };
	snprintf(e->name, sizeof e->name, "%c%d:eng%d", l->mode, i, (int)is->index);
	if (is->compiled && c->handle && w && w->kept && read_plan(e, c, want, w->kept))
		return true;
	const double start = io_seconds();
	e->parts = (struct cudnn_set){ 0 };
	const bool made = make_plan(e, c);
	if (is->compiled && c->handle)
		note_compiling(io_seconds() - start, w);
	return made;
}

void cudnn_engine_release(struct cudnn_engine *e)
{
	cudnn_release(&e->parts);
	e->plan = NULL;
}

/* The engine that wisdom names, if it is there and allowed. */
static bool take_named(struct cudnn_engine *out, const struct cudnn *c, desc graph, struct list *l,
                       const char *name, const struct cudnn_demand *want, const struct wisdom *w)
{
	int place = -1, engine = -1;
	char mode = 0;
	struct candidate is;
	if (sscanf(name, "%c%d:eng%d", &mode, &place, &engine) != 3 || mode != l->mode || place < 0 ||
	    !has(l, c, graph, place))
		return false;
	return look_at(c, want, l->config[place], &is) && is.index == engine &&
	       build(out, c, l, place, &is, want, w);
}

/* Chooses among the proposed engines: the first one, or the fastest. False if there is none. */
static bool take_best(struct cudnn_engine *out, const struct cudnn *c, desc graph, struct list *l,
                      int most, double *best, const struct cudnn_demand *want,
                      const struct wisdom *w)
{
	int found = 0;
	for (int i = 0; found < most && has(l, c, graph, i); i++) {
		struct cudnn_engine e;
		struct candidate is;
		if (!look_at(c, want, l->config[i], &is))
			continue;
		if (!build(&e, c, l, i, &is, want, w)) {
			out->refused = found ? out->refused : e.refused;
			continue;
		}
		double us = most > 1 ? want->measure(want->user, &e) : 0;
		if (us < 0 || (found && us >= *best)) {
			cudnn_engine_release(&e);
			continue;
		}
		if (found++)
			cudnn_engine_release(out);
		*out = e;
		*best = us;
	}
	return found > 0;
}

const char *cudnn_engine_known(const struct cudnn *c, const struct wisdom *wisdom,
                               const struct cudnn_demand *want)
{
	char library[LIBRARY_NAME];
	return wisdom_find(wisdom, want->problem, c->name, library_name(c, library));
}

bool cudnn_engine_choose(struct cudnn_engine *out, const struct cudnn *c, desc graph,
                         struct wisdom *wisdom, const struct cudnn_demand *want)
{
	struct list list[] = { { .mode = 'a' }, { .mode = 'f' } };
	double best = 0;
	bool done = false;
	char library[LIBRARY_NAME];
	const char *known = cudnn_engine_known(c, wisdom, want);
	const bool measure = wisdom && wisdom->measure && c->handle && want->measure;
	const int n = want->best_only ? 1 : 2;
	for (int i = 0; i < n && known && !done; i++)
		done = take_named(out, c, graph, &list[i], known, want, wisdom);
	for (int i = 0; i < n && !done; i++) {
		done = take_best(out, c, graph, &list[i], measure ? MEASURED : 1, &best, want, wisdom);
		if (done && measure)
			wisdom_add(wisdom, want->problem, c->name, library_name(c, library), out->name, best);
	}
	for (int i = 0; i < n; i++) {
		/* a plan may refer to its configuration for as long as it lives */
		if (done && out->name[0] == list[i].mode)
			cudnn_move(&out->parts, &list[i].set, out->config);
		cudnn_release(&list[i].set);
	}
	if (done && out->compiled && !out->read && c->handle && wisdom && wisdom->keep)
		keep_plan(out, c, want, wisdom->kept);
	return done;
}
