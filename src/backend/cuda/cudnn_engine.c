/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Heuristics answer with engine configurations, best first: mode A, then a fallback of
 * engines that always work, which is requested where mode A has nothing, and when measuring
 * also where it has only one. An engine counts if it is allowed (cudnn_list.h) and its plan
 * can be built, which is cuDNN's check of support. Wisdom names one of them by its place in
 * the list, which the same library gives for the same problem on the same device, and by its
 * number, to be sure. Without it the first one is taken, or, when measuring, the fastest of
 * the first few.
 *
 * Measuring ends in bounded time: most of it is compiling, so few engines that cuDNN compiles
 * are tried, and after wisdom's seconds no trial begins. A problem whose trials were cut short
 * then takes the first engine, and a later run measures it; all that was compiled until then
 * is kept, and all that was measured is in the file. An engine that is compiled without end takes
 * the process with it, and is passed over by the next one. */
#include "backend/cuda/cudnn_engine.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/cuda_time.h"
#include "backend/cuda/cudnn.h"
#include "backend/cuda/cudnn_kept.h"
#include "backend/cuda/cudnn_list.h"
#include "base/debug.h"
#include "base/io.h"
#include "base/log.h"
#include "base/time_limit.h"

#define UNCOMPILED CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED
#define FAILED "does not compile\n"           /* content of the cache file of an engine that does
                                               * not compile */
#define ENDLESS "does not end compiling\n"    /* content for an engine whose compilation exceeded
                                               * COMPILE_MOST */
#define COMPILE_MOST 300.0    /* seconds; an engine takes one or two, and ranks wait for each other
                               * for parallel.timeout, twice as long by default */
#define MEASURED 8            /* engines that are measured at most */
#define WORKSPACE ((size_t)256 << 20)        /* bytes of workspace; a larger one only if the time is
                                              * at most */
#define WORTH 0.9             /* this share of the time of an engine within the limit */

/* Warns that run-time compilation fails: compiled engines are the fastest for fused operations, and
 * without a warning slower ones would silently replace them. */
static void tell_missing(const struct cudnn *c, cudnnStatus_t status)
{
	static bool reported;
	if (status != CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING ||
	    !c->handle || reported)
		return;
	reported = true;
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

static void put_device(struct cudnn_engine *e, const struct cudnn *c)
{
	if (c->handle)
		cudnn_put(&e->parts, e->plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1,
		          &c->handle);
	else
		cudnn_put_desc(&e->parts, e->plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, c->device);
}

/* Loads the plan that an earlier run compiled. False: there is none, or, with e->refused, it could
 * not compile it either. */
static bool read_plan(struct cudnn_engine *e, const struct cudnn *c,
                      const struct cudnn_demand *want, const char *kept)
{
	struct buf text = BUF_INIT;
	char library[LIBRARY_NAME];
	const struct cudnn_kept_key key = key_of(c, want, e, library);
	e->read = cudnn_kept_read(kept, &key, &text);
	if (e->read && (strcmp(text.data, FAILED) == 0 || strcmp(text.data, ENDLESS) == 0)) {
		e->read = false;
		e->refused = UNCOMPILED;
	} else if (e->read) {
		e->plan = cudnn_make(&e->parts, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
		put_device(e, c);
		cudnn_put(&e->parts, e->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
		          CUDNN_TYPE_CHAR, (int64_t)text.len, text.data);
		e->read = finish_plan(e);
		e->refused = CUDNN_STATUS_SUCCESS;
	}
	buf_release(&text);
	return e->read;
}

/* Stores the compiled plan, or the fact that it does not compile. */
static void keep_plan(const struct cudnn_engine *e, const struct cudnn *c,
                      const struct cudnn_demand *want, const char *kept)
{
	struct buf text = BUF_INIT;
	char library[LIBRARY_NAME];
	const struct cudnn_kept_key key = key_of(c, want, e, library);
	if (e->refused)
		buf_puts(&text, FAILED);
	if (e->refused || cudnn_get_text(e->plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, &text))
		cudnn_kept_write(kept, &key, &text);
	buf_release(&text);
}

#define LONG 5.0               /* seconds of compiling after which a note is printed */

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
	put_device(e, c);
	if (finish_plan(e))
		return true;
	tell_missing(c, e->refused);
	return false;
}

/* The state of the search for one engine. */
struct search {
	const struct cudnn *c;
	desc graph;
	const struct cudnn_demand *want;
	struct wisdom *w;
	struct cudnn_list list[2];
	int n;                       /* lists */
	int failed;                  /* engines that do not compile */
};

/* One engine that is being compiled. */
struct compiling {
	const struct search *s;
	const struct cudnn_engine *e;
	double seconds;
};

static void note_endless(void *arg)
{
	const struct compiling *now = arg;
	const struct wisdom *w = now->s->w;
	const bool keeps = w && w->keep;
	char library[LIBRARY_NAME];
	const struct cudnn_kept_key key = key_of(now->s->c, now->s->want, now->e, library);
	fprintf(stderr, "%s: cuDNN has compiled engine '%s' for %g s without an end, for '%s'; %s, and "
	        "with DLX_DEBUG=engines=precompiled none is compiled\n", log_program(), key.engine,
	        now->seconds, key.problem, keeps ? "the next run with this wisdom passes it over"
	        : "with --wisdom FILE one that does not end is passed over by the next run");
	fflush(stderr);
	struct buf text = BUF_INIT;
	buf_puts(&text, ENDLESS);
	if (keeps)
		cudnn_kept_write(w->kept, &key, &text);
	buf_release(&text);
}

static bool compile_plan(struct cudnn_engine *e, const struct search *s)
{
	const double start = io_seconds();
	struct compiling now = { s, e,
		debug.compile_seconds > 0 ? debug.compile_seconds : COMPILE_MOST };
	struct time_limit limit = { now.seconds, note_endless, &now };
	time_limit_begin(&limit);
	const bool made = make_plan(e, s->c);
	time_limit_end(&limit);
	note_compiling(io_seconds() - start, s->w);
	return made;
}

/* For a 16-bit data gradient followed by a sum, with a number of channels that is no multiple of 8,
 * cuDNN 9.19 proposes seven variants, and NVRTC rejects each after 1.5 s. */
static bool is_hopeless(const struct search *s, const struct cudnn_candidate *is)
{
	return is->compiled && s->failed >= s->want->compile;
}

/* Configuration i of the list. What is compiled is kept at once, whether it is then taken or not:
 * another run that tries it compiles nothing. */
static bool make(struct cudnn_engine *e, const struct search *s, const struct cudnn_list *l, int i,
                 const struct cudnn_candidate *is)
{
	const struct wisdom *w = s->w;
	*e = (struct cudnn_engine){ .config = l->config[i], .compiled = is->compiled };
	snprintf(e->name, sizeof e->name, "%s", is->name);
	if (is->compiled && w && w->kept && read_plan(e, s->c, s->want, w->kept))
		return true;
	if (e->refused)
		return false;
	e->parts = (struct cudnn_set){ 0 };
	const bool made = is->compiled ? compile_plan(e, s) : make_plan(e, s->c);
	if (is->compiled && w && w->keep && (made || e->refused == UNCOMPILED))
		keep_plan(e, s->c, s->want, w->kept);
	return made;
}

static bool build(struct cudnn_engine *e, struct search *s, const struct cudnn_list *l, int i,
                  const struct cudnn_candidate *is)
{
	const bool made = make(e, s, l, i, is);
	s->failed += e->refused == UNCOMPILED;
	return made;
}

void cudnn_engine_release(struct cudnn_engine *e)
{
	cudnn_release(&e->parts);
	e->plan = NULL;
}

/* The engine that wisdom names, if it is there and allowed. */
static bool take_named(struct cudnn_engine *out, struct search *s, struct cudnn_list *l,
                       const char *name)
{
	int place = -1, engine = -1;
	char mode = 0;
	struct cudnn_candidate is;
	if (sscanf(name, "%c%d:eng%d", &mode, &place, &engine) != 3 || mode != l->mode || place < 0 ||
	    !cudnn_list_has(l, s->c, s->graph, place))
		return false;
	return cudnn_list_look(l, s->c, s->want, place, &is) && is.index == engine &&
	       build(out, s, l, place, &is);
}

static bool take_known(struct cudnn_engine *out, struct search *s)
{
	const char *known = cudnn_known(s->c, s->w, s->want->problem);
	bool done = false;
	for (int i = 0; i < s->n && known && !done; i++)
		done = take_named(out, s, &s->list[i], known);
	return done;
}

/* The first of a list whose workspace is not too large, or, where there is none, the first. */
static bool take_first_of(struct cudnn_engine *out, struct search *s, struct cudnn_list *l)
{
	struct cudnn_candidate is;
	struct cudnn_engine e;
	bool found = false;
	for (int i = 0; cudnn_list_has(l, s->c, s->graph, i); i++) {
		if (!cudnn_list_look(l, s->c, s->want, i, &is) || is_hopeless(s, &is))
			continue;
		if (!build(&e, s, l, i, &is)) {
			out->refused = found ? out->refused : e.refused;
			continue;
		}
		const bool fits = e.ws_bytes <= WORKSPACE;
		if (found)
			cudnn_engine_release(fits ? out : &e);
		if (!found || fits)
			*out = e;
		found = true;
		if (fits)
			break;
	}
	return found;
}

static bool take_first(struct cudnn_engine *out, struct search *s)
{
	bool done = false;
	for (int i = 0; i < s->n && !done; i++)
		done = take_first_of(out, s, &s->list[i]);
	return done;
}

/* --- measuring --- */

struct contest {
	int tried, compiled;         /* engines that were measured; those of them that were compiled */
	double since;                /* time at which the search began to take longer than planning
	                              * without measurement */
	double us, score;            /* time in microseconds and score of the best engine so far */
	bool cut;                    /* the time limit ended the search early */
};

static bool has_time(const struct search *s, const struct contest *t)
{
	return t->tried == 0 || s->w->spent + io_seconds() - t->since < s->w->seconds;
}

/* Measures the built engine e and keeps the better of it and the best so far. */
static void compete(struct cudnn_engine *best, struct cudnn_engine *e, const struct search *s,
                    struct contest *t)
{
	const double us = s->want->measure(s->want->user, e, t->tried ? CUDA_TIME_MUCH * t->us : 0),
	             score = e->ws_bytes > WORKSPACE ? us / WORTH : us;
	if (us < 0 || (t->tried && score >= t->score)) {
		cudnn_engine_release(e);
	} else {
		if (t->tried)
			cudnn_engine_release(best);
		*best = *e;
		t->us = us;
		t->score = score;
	}
	t->tried += us >= 0;
}

static void compete_all(struct cudnn_engine *best, struct search *s, struct cudnn_list *l,
                        struct contest *t)
{
	struct cudnn_candidate is;
	struct cudnn_engine e;
	for (int i = 0; t->tried < MEASURED && cudnn_list_has(l, s->c, s->graph, i); i++) {
		if (!cudnn_list_look(l, s->c, s->want, i, &is) || is_hopeless(s, &is) ||
		    (is.compiled && t->compiled >= s->want->compile))
			continue;
		t->cut = !has_time(s, t);
		if (t->cut)
			return;
		if (!build(&e, s, l, i, &is)) {
			best->refused = t->tried ? best->refused : e.refused;
			continue;
		}
		t->compiled += is.compiled;
		if (t->tried == 0)
			t->since = io_seconds();
		compete(best, &e, s, t);
	}
}

/* The fastest engine. False: there is none, or no time to find it. */
static bool take_fastest(struct cudnn_engine *out, struct search *s)
{
	struct contest t = { .since = io_seconds() };
	for (int i = 0; i < s->n && t.tried <= 1 && !t.cut; i++)
		compete_all(out, s, &s->list[i], &t);
	s->w->spent += io_seconds() - t.since;
	if (t.cut)
		cudnn_engine_release(out);
	else if (t.tried)
		cudnn_learn(s->c, s->w, s->want->problem, out->name, t.us);
	return t.tried && !t.cut;
}

/* --- for a GPU that is not there --- */

bool cudnn_prepares(const struct cudnn *c, const struct wisdom *w)
{
	return !c->handle && w && w->keep && debug.engines && strcmp(debug.engines, "measured") == 0;
}

/* Compiles and keeps what measuring would compile, as compete_all goes through it. */
static void compile_all(struct search *s)
{
	struct cudnn_list *l = &s->list[0];
	struct cudnn_candidate is;
	struct cudnn_engine e;
	int compiled = 0;
	for (int i = 0; i < MEASURED && cudnn_list_has(l, s->c, s->graph, i); i++) {
		if (!cudnn_list_look(l, s->c, s->want, i, &is) || !is.compiled || is_hopeless(s, &is) ||
		    compiled >= s->want->compile || !build(&e, s, l, i, &is))
			continue;
		compiled++;
		cudnn_engine_release(&e);
	}
}

/* --- the choice --- */

const char *cudnn_engine_impl(const char *name, char out[CUDNN_IMPL])
{
	snprintf(out, CUDNN_IMPL, "cudnn:%s", name);
	return out;
}

const char *cudnn_known(const struct cudnn *c, const struct wisdom *w, const char *problem)
{
	char library[LIBRARY_NAME];
	return wisdom_find(w, problem, c->name, library_name(c, library));
}

void cudnn_learn(const struct cudnn *c, struct wisdom *w, const char *problem, const char *choice,
                 double microseconds)
{
	char library[LIBRARY_NAME];
	wisdom_measured(w, problem, c->name, library_name(c, library), choice, microseconds);
}

bool cudnn_engine_choose(struct cudnn_engine *out, const struct cudnn *c, desc graph,
                         struct wisdom *wisdom, const struct cudnn_demand *want)
{
	struct search s = { c, graph, want, wisdom, { { .mode = 'a' }, { .mode = 'f' } },
		want->best_only ? 1 : 2 };
	if (cudnn_prepares(c, wisdom))
		compile_all(&s);
	bool done = take_known(out, &s);
	if (!done && want->measure && wisdom_may_measure(wisdom))
		done = take_fastest(out, &s);
	if (!done) {
		done = take_first(out, &s);
		wisdom_left(wisdom);
	}
	for (int i = 0; i < s.n; i++) {
		/* a plan may refer to its configuration for as long as it lives */
		if (done && out->name[0] == s.list[i].mode)
			cudnn_move(&out->parts, &s.list[i].set, out->config);
		cudnn_release(&s.list[i].set);
	}
	return done;
}
