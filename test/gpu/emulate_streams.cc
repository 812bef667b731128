/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rest of the machine of emulate.h: streams, events, recordings and memory, as the
 * functions of the CUDA runtime that dlx calls. Work is done by a thread of its own, so the host
 * must wait for what it reads. What streams and events do not order is done in an order that
 * DLX_EMULATE_ORDER picks, so that an event that is missing gives wrong numbers:
 *
 *   late     a side stream when nothing else can go on (the default)
 *   early    a side stream as soon as it can go on
 *   SEED     a number: by chance
 *
 * With DLX_EMULATE_HOLD=N copies from the GPU to the host on a side stream are made as late as is
 * legal: when the stream of computation waits for them, or is through with the next recording that
 * is run, of the first N; later ones are not held back. A host that waits for such a copy before
 * waits for ever. With DLX_EMULATE_EXTERNAL=ignored recordings ignore waits for events from
 * outside.
 *
 * A recording is as strict as the real thing's documents are: in the thread that records nothing
 * may be allocated, freed or waited for, ordinary host memory may not be copied, no kernel may run
 * for the first time (its code would be loaded), and events do not lead into a recording or out of
 * it. What breaks a rule is named, and spoils the recording. And a copy to or from ordinary host
 * memory blocks the calling thread until the stream has reached it.
 *
 * With DLX_EMULATE_HOST=slow the host goes on after an event only when the GPU has nothing left to
 * do; with =fast copies to the GPU take two milliseconds each.
 *
 * The GPU as such (how many there are, how much memory, what is wrong with it) is in
 * emulate_device.cc. */
#include "emulate.h"
extern "C" {
#include "fake_cupti_replay.h"
}

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

using emulate::work;

namespace {

struct node {
	work run;
	std::vector<std::shared_ptr<node>> after;
	bool done;
	long behind;                 /* held back until more recordings were run; -1: not */
};
typedef std::shared_ptr<node> node_ref;
typedef std::deque<node_ref> queue;

/* What was recorded: nodes in the order of the calls, with those before them. */
struct recorded {
	work run;
	int stream;                  /* 0: the one that records */
	std::vector<int> after;
	const char *name;
	long number, clone;          /* for a watcher: of the node, and of its clone */
	const struct event *external;        /* from outside, to be waited for; or NULL */
};
struct graph {
	std::vector<recorded> node;
	struct stream *origin;
	std::vector<struct stream *> streams;
	long number;                         /* no two have the same, and none has 0 */
	std::thread::id by;
	bool spoilt;
	double spent;                        /* by the clock of events, in a run */
};

struct stream {
	queue *line;
	node_ref last;
	std::vector<node_ref> awaited;       /* by the next work */
	graph *recording;
	std::vector<int> tail;               /* of the recording: what the next work comes after */
};

struct event {
	node_ref mark;
	double at;                           /* of the clock, when it was recorded */
	long recording;                      /* in which it was, or 0 */
	std::vector<int> tail;
};

/* Never freed: its thread goes on while the process ends. */
struct machine {
	std::mutex lock;
	std::condition_variable more, progress;
	std::list<queue *> lines;
	std::vector<queue *> kept;           /* of streams; others go when they are empty */
	std::minstd_rand chance;
	bool early, by_chance, slow_host, fast_host, ignores_external;
	long hold;
	stream *first = nullptr;
	long recordings = 0, alive = 0;      /* so far; that can be run */
	long nodes = 0, launches = 0;        /* so far, of recordings */
	std::set<const void *> loaded;       /* kernels */
};
machine *m;
const emulate_watcher *watcher;
thread_local const char *kernel_name;    /* of what is launched next; NULL: a library's work */

bool ready(const queue *q)
{
	if (q->empty())
		return false;
	for (const node_ref &a : q->front()->after)
		if (!a->done)
			return false;
	return true;
}

bool is_held(const queue *q)
{
	const long behind = q->front()->behind;
	return behind >= 0 && behind < m->hold;
}

/* What is held back, when nothing else can go on. */
std::vector<queue *> released()
{
	std::vector<queue *> all;
	for (queue *q : m->lines)
		if (ready(q) && is_held(q) &&
		    (m->launches > q->front()->behind || !m->first->line->empty() || emulate::broken()))
			all.push_back(q);
	return all;
}

std::vector<queue *> choices()
{
	std::vector<queue *> all;
	for (queue *q : m->lines)
		if (ready(q) && !is_held(q))
			all.push_back(q);
	if (m->early)
		all = { all.rbegin(), all.rend() };
	if (m->by_chance && all.size() > 1)
		std::swap(all[0], all[m->chance() % all.size()]);
	const std::vector<queue *> last = released();
	all.insert(all.end(), last.begin(), last.end());
	return all;
}

bool is_kept(const queue *q)
{
	for (const queue *k : m->kept)
		if (k == q)
			return true;
	return false;
}

void pop(queue *q)
{
	q->front()->done = true;
	q->front()->after.clear();
	q->pop_front();
	if (q->empty() && !is_kept(q)) {
		m->lines.remove(q);
		delete q;
	}
	m->progress.notify_all();
}

/* The first that can go on; work that waits for other processes gives way to the next. */
bool one_step(std::unique_lock<std::mutex> &held)
{
	for (queue *q : choices()) {
		node_ref n = q->front();
		held.unlock();
		bool done = n->run();
		held.lock();
		if (done) {
			pop(q);
			return true;
		}
	}
	return false;
}

void run_machine()
{
	std::unique_lock<std::mutex> held(m->lock);
	for (;;) {
		bool any = false;
		for (const queue *q : m->lines)
			any = any || !q->empty();
		if (!any)
			m->more.wait(held);
		else if (!one_step(held))
			m->more.wait_for(held, std::chrono::microseconds(50));
	}
}

void start_machine()
{
	if (m)
		return;
	const char *order = getenv("DLX_EMULATE_ORDER");
	m = new machine();
	m->early = order && strcmp(order, "early") == 0;
	m->by_chance = order && atoi(order) > 0;
	const char *host = getenv("DLX_EMULATE_HOST");
	m->slow_host = host && strcmp(host, "slow") == 0;
	m->fast_host = host && strcmp(host, "fast") == 0;
	m->chance.seed(order ? (unsigned)atoi(order) : 1);
	const char *hold = getenv("DLX_EMULATE_HOLD"), *external = getenv("DLX_EMULATE_EXTERNAL");
	m->hold = hold ? atol(hold) : 0;
	m->ignores_external = external && strcmp(external, "ignored") == 0;
	std::thread(run_machine).detach();
}

/* before: NULL: after all. */
queue *new_line(const queue *before)
{
	auto at = m->lines.begin();
	while (at != m->lines.end() && *at != before)
		++at;
	return *m->lines.insert(at, new queue);
}

void append(stream *s, work run)
{
	node_ref n = std::make_shared<node>(node{ std::move(run), std::move(s->awaited), false, -1 });
	s->awaited.clear();
	s->last = n;
	s->line->push_back(n);
	m->more.notify_one();
}

int place_of(const graph *g, const stream *s)
{
	for (size_t i = 0; i < g->streams.size(); i++)
		if (g->streams[i] == s)
			return (int)i;
	return -1;
}

void record(stream *s, work run)
{
	graph *g = s->recording;
	g->node.push_back({ std::move(run), place_of(g, s), s->tail,
		kernel_name ? kernel_name : "library", ++m->nodes, 0, nullptr });
	kernel_name = nullptr;
	if (watcher)
		watcher->created(m->nodes);
	s->tail = { (int)g->node.size() - 1 };
}

void wait_until(std::unique_lock<std::mutex> &held, const node_ref &n)
{
	m->progress.wait(held, [&] { return !n || n->done; });
}

void wait_until_idle(std::unique_lock<std::mutex> &held)
{
	m->progress.wait(held, [] {
		for (const queue *q : m->lines)
			if (!q->empty())
				return false;
		return true;
	});
}

/* Whether it is done, to a host that polls: it leaves the processor to the GPU for
 * a moment. */
cudaError_t how_far(std::unique_lock<std::mutex> &held, const node_ref &n)
{
	if (emulate::broken())
		return emulate::broken();
	if (n && !n->done)
		m->progress.wait_for(held, std::chrono::microseconds(200));
	return !n || n->done ? cudaSuccess : emulate::fail(cudaErrorNotReady);
}

/* Whether all nodes come before those of `tail`. */
bool joined(const graph *g, const std::vector<int> &tail)
{
	std::vector<bool> seen(g->node.size());
	std::vector<int> left = tail;
	size_t n = 0;
	while (!left.empty()) {
		int i = left.back();
		left.pop_back();
		if (seen[(size_t)i])
			continue;
		seen[(size_t)i] = true;
		n++;
		left.insert(left.end(), g->node[(size_t)i].after.begin(), g->node[(size_t)i].after.end());
	}
	return n == g->node.size();
}

graph *now_recording()
{
	return m && m->first ? m->first->recording : nullptr;
}

/* What a thread does that records. */
bool illegal(const char *what)
{
	graph *g = now_recording();
	if (!g || g->by != std::this_thread::get_id())
		return false;
	fprintf(stderr, "emulate: while a step is recorded: %s\n", what);
	return g->spoilt = true;
}

#define ILLEGAL(what) \
	do { \
		if (illegal(what)) \
			return emulate::fail(cudaErrorStreamCaptureUnsupported); \
	} while (0)

bool nothing()
{
	return true;
}

/* A node's work in a replay, about which the watcher is notified once it is done. */
work watched(const recorded &r, long launch)
{
	if (!watcher)
		return r.run;
	return [run = r.run, name = r.name, number = r.clone, launch] {
		uint64_t start = emulate::nanoseconds();
		bool done = run();
		if (done && watcher)
			watcher->ran(number, launch, name, start, emulate::nanoseconds());
		return done;
	};
}

double microseconds;

} /* namespace */

bool emulate::may_launch(const void *kernel, void *stream_, const char *name)
{
	stream *s = (stream *)stream_;
	std::lock_guard<std::mutex> held(m->lock);
	if (!s->recording)
		m->loaded.insert(kernel);
	if (m->loaded.count(kernel)) {
		kernel_name = name;
		return true;
	}
	fprintf(stderr, "emulate: kernel %s runs for the first time while a step is recorded\n", name);
	s->recording->spoilt = true;
	emulate::fail(cudaErrorStreamCaptureUnsupported);
	return false;
}

void emulate::submit(void *to, work run)
{
	stream *s = (stream *)to;
	std::lock_guard<std::mutex> held(m->lock);
	if (s->recording)
		record(s, std::move(run));
	else
		append(s, std::move(run));
}

extern "C" {

/* --- for fakes of the libraries --- */

void emulate_watch(const emulate_watcher *w)
{
	std::lock_guard<std::mutex> held(m->lock);
	watcher = w;
}

/* In the order of the stream that was made first, which is that of computation. */
void emulate_submit(void (*run)(void *), void *argument)
{
	emulate::submit(m->first, [=] {
		run(argument);
		return true;
	});
}

/* Called again and again until it returns nonzero. */
void emulate_submit_waiting(void *stream, int (*run)(void *), void *argument)
{
	emulate::submit(stream, [=] { return run(argument) != 0; });
}

/* Time passes by what the fakes say, in a recording whenever it runs. */
void emulate_spend(double us)
{
	std::lock_guard<std::mutex> held(m->lock);
	(m->first->recording ? m->first->recording->spent : microseconds) += us;
}

/* Whether what this stream is given is recorded. */
int emulate_records(void *of)
{
	std::lock_guard<std::mutex> held(m->lock);
	return ((stream *)of)->recording != nullptr;
}

/* What was recorded and can still be run. */
long emulate_recordings(void)
{
	std::lock_guard<std::mutex> held(m->lock);
	return m->alive;
}

/* --- streams and events --- */

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	*least = 0;
	*greatest = -5;
	return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned, int)
{
	start_machine();
	std::lock_guard<std::mutex> held(m->lock);
	stream *s = new stream{};
	s->line = new_line(nullptr);
	m->kept.push_back(s->line);
	if (!m->first)
		m->first = s;
	*out = (cudaStream_t)s;
	return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
	return cudaStreamCreateWithPriority(s, flags, 0);
}

cudaError_t cudaStreamSynchronize(cudaStream_t to)
{
	stream *s = (stream *)to;
	std::unique_lock<std::mutex> held(m->lock);
	if (s->recording) {
		illegal("its stream is waited for");
		return emulate::fail(cudaErrorStreamCaptureUnsupported);
	}
	wait_until(held, s->last);
	return emulate::broken();
}
cudaError_t cudaStreamQuery(cudaStream_t to)
{
	stream *s = (stream *)to;
	std::unique_lock<std::mutex> held(m->lock);
	if (s->recording) {
		illegal("its stream is asked how far it is");
		return emulate::fail(cudaErrorStreamCaptureUnsupported);
	}
	return how_far(held, s->last);
}
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
	return cudaStreamSynchronize(s);     /* its line stays */
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned)
{
	*e = (cudaEvent_t) new event{};
	return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *e) { return cudaEventCreateWithFlags(e, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t e)
{
	delete (event *)e;
	return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t at, cudaStream_t of)
{
	event *e = (event *)at;
	stream *s = (stream *)of;
	std::lock_guard<std::mutex> held(m->lock);
	e->recording = s->recording ? s->recording->number : 0;
	e->tail = s->tail;
	e->at = microseconds;
	if (s->recording)
		return cudaSuccess;
	append(s, nothing);
	e->mark = s->last;
	return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t what)
{
	std::unique_lock<std::mutex> held(m->lock);
	ILLEGAL("an event is waited for");
	if (((event *)what)->recording)
		return emulate::fail(cudaErrorCapturedEvent);
	wait_until(held, ((event *)what)->mark);
	if (m->slow_host)
		wait_until_idle(held);
	return emulate::broken();
}
cudaError_t cudaEventQuery(cudaEvent_t what)
{
	const event *e = (const event *)what;
	std::unique_lock<std::mutex> held(m->lock);
	ILLEGAL("an event is asked for");
	if (e->recording)
		return emulate::fail(cudaErrorCapturedEvent);
	return how_far(held, e->mark);
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b)
{
	if (((event *)a)->recording || ((event *)b)->recording)
		return emulate::fail(cudaErrorCapturedEvent);
	*ms = (float)((((event *)b)->at - ((event *)a)->at) / 1000);
	return cudaSuccess;
}
/* A node of the recording, which waits at each run for what was recorded last. */
static cudaError_t wait_external(stream *s, const event *e)
{
	if (!s->recording)
		return emulate::fail(cudaErrorIllegalState);
	if (e->recording)
		return emulate::fail(cudaErrorCapturedEvent);
	record(s, nothing);
	s->recording->node.back().external = e;
	return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t who, cudaEvent_t what, unsigned flags)
{
	event *e = (event *)what;
	stream *s = (stream *)who;
	std::lock_guard<std::mutex> held(m->lock);
	graph *g = now_recording();
	if (flags & cudaEventWaitExternal)
		return wait_external(s, e);
	if (e->recording && (!g || g->number != e->recording))
		return emulate::fail(cudaErrorCapturedEvent);
	if (e->recording && !s->recording) {
		s->recording = g;
		s->tail.clear();
		g->streams.push_back(s);
	}
	if (!e->recording != !s->recording) {
		illegal("an event from outside is waited for");
		return emulate::fail(cudaErrorStreamCaptureIsolation);
	}
	if (e->recording)
		s->tail.insert(s->tail.end(), e->tail.begin(), e->tail.end());
	else if (e->mark)
		s->awaited.push_back(e->mark);
	return cudaSuccess;
}

/* --- memory, as an allocator gives it: aligned, and never zero by luck --- */

static cudaError_t allocate(void **p, size_t n, emulate::memory kind)
{
	*p = NULL;
	ILLEGAL("memory is allocated");
	if (emulate::broken())
		return emulate::broken();
	*p = aligned_alloc(256, (n + 255) / 256 * 256);
	if (!*p || !emulate::take(*p, n, kind)) {
		free(*p);
		*p = NULL;
		return emulate::fail(cudaErrorMemoryAllocation);
	}
	memset(*p, 0xdb, n);
	return cudaSuccess;
}
cudaError_t cudaMalloc(void **p, size_t n) { return allocate(p, n, emulate::ON_DEVICE); }
cudaError_t cudaHostAlloc(void **p, size_t n, unsigned) { return allocate(p, n, emulate::ON_HOST); }

/* After all that may use it. */
cudaError_t cudaFree(void *p)
{
	ILLEGAL("memory is freed");
	if (m) {
		std::unique_lock<std::mutex> held(m->lock);
		wait_until_idle(held);
	}
	emulate::give_back(p);
	free(p);
	return cudaSuccess;
}
cudaError_t cudaFreeHost(void *p) { return cudaFree(p); }

cudaError_t cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t s)
{
	if (n && !emulate::is_in(p, n, emulate::ON_DEVICE))
		return emulate::fail(cudaErrorInvalidValue);
	emulate::submit(s, [=] {
		memset(p, v, n);
		return true;
	});
	return cudaSuccess;
}

static bool fits(const void *p, size_t n, bool device)
{
	return n == 0 || emulate::is_in(p, n, emulate::ON_DEVICE) == device;
}

/* By the clock of events inside the memory: 1 TB/s, read and written. */
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t of)
{
	stream *s = (stream *)of;
	if (!fits(to, n, kind != cudaMemcpyDeviceToHost) ||
	    !fits(from, n, kind != cudaMemcpyHostToDevice))
		return emulate::fail(cudaErrorInvalidValue);
	const bool ordinary = kind != cudaMemcpyDeviceToDevice && n &&
	                      !emulate::is_in(kind == cudaMemcpyDeviceToHost ? to : from, n,
	                                      emulate::ON_HOST);
	if (ordinary)
		ILLEGAL("ordinary host memory is copied");
	if (kind == cudaMemcpyDeviceToDevice)
		emulate_spend(2e-6 * (double)n);
	if (emulate::broken())
		return emulate::broken();
	const work copy = [=] {
		if (m->fast_host && kind == cudaMemcpyHostToDevice)
			std::this_thread::sleep_for(std::chrono::milliseconds(2));
		memcpy(to, from, n);
		return true;
	};
	std::unique_lock<std::mutex> held(m->lock);
	if (s->recording) {
		record(s, copy);
		return cudaSuccess;
	}
	append(s, copy);
	if (ordinary)
		wait_until(held, s->last);
	else if (kind == cudaMemcpyDeviceToHost && s != m->first)
		s->last->behind = m->launches;
	return cudaSuccess;
}

/* --- recordings --- */

cudaError_t cudaStreamBeginCapture(cudaStream_t of, enum cudaStreamCaptureMode mode)
{
	stream *s = (stream *)of;
	std::lock_guard<std::mutex> held(m->lock);
	if (now_recording() || mode != cudaStreamCaptureModeThreadLocal)
		return emulate::fail(cudaErrorIllegalState);
	s->recording = new graph{ {}, s, { s }, ++m->recordings, std::this_thread::get_id(), false, 0 };
	s->tail.clear();
	return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t of, cudaGraph_t *out)
{
	stream *s = (stream *)of;
	std::lock_guard<std::mutex> held(m->lock);
	graph *g = s->recording;
	bool spoilt = g->spoilt || g->by != std::this_thread::get_id(), whole = joined(g, s->tail);
	for (stream *each : g->streams) {
		each->recording = nullptr;
		each->tail.clear();
	}
	*out = whole && !spoilt ? (cudaGraph_t)g : NULL;
	if (!*out)
		delete g;
	return spoilt ? cudaErrorStreamCaptureInvalidated : whole ? cudaSuccess :
	       cudaErrorStreamCaptureUnjoined;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *e, cudaGraph_t g, unsigned long long)
{
	std::lock_guard<std::mutex> held(m->lock);
	m->alive++;
	*e = (cudaGraphExec_t)g;
	for (recorded &r : ((graph *)g)->node) {
		r.clone = ++m->nodes;
		if (watcher)
			watcher->cloned(r.clone, r.number);
	}
	return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t) { return cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e)
{
	std::lock_guard<std::mutex> held(m->lock);
	m->alive--;
	delete (graph *)e;
	return cudaSuccess;
}
/* Lines of its own for its streams, between two marks on the stream it is given to. */
cudaError_t cudaGraphLaunch(cudaGraphExec_t what, cudaStream_t to)
{
	const graph *g = (const graph *)what;
	stream *s = (stream *)to;
	std::lock_guard<std::mutex> held(m->lock);
	std::vector<node_ref> made;
	std::vector<queue *> line(g->streams.size());
	ILLEGAL("a recording is run");
	if (emulate::broken())
		return emulate::broken();
	microseconds += g->spent;
	emulate::count_replay();
	if (emulate::broken())       /* which shows at the next wait */
		return cudaSuccess;
	append(s, nothing);
	m->launches++;
	for (const recorded &r : g->node) {
		node_ref n = std::make_shared<node>(
		        node{ watched(r, m->launches), { s->last }, false, -1 });
		for (int i : r.after)
			n->after.push_back(made[(size_t)i]);
		if (r.external && r.external->mark && !m->ignores_external)
			n->after.push_back(r.external->mark);
		if (!line[(size_t)r.stream])
			line[(size_t)r.stream] = new_line(r.stream == 0 ? s->line : nullptr);
		line[(size_t)r.stream]->push_back(n);
		made.push_back(n);
	}
	s->awaited.insert(s->awaited.end(), made.begin(), made.end());
	append(s, nothing);
	return cudaSuccess;
}

} /* extern "C" */
