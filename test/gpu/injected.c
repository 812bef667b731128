/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A library that CUDA's driver loads into a program, for test/gpu/check: CUDA_INJECTION64_PATH
 * names it, DLX_INJECT says what it does.
 *
 *     watch:FILE    notes when each kernel and copy of a replayed graph began and ended (CUPTI),
 *                   and at the end of the process writes a line of JSON: of the replays of the
 *                   graph that has most, how many there were, their kernels, and the medians of
 *                   their seconds from the first to the last and of those in which anything ran
 *     trap:SECONDS  after so long runs a kernel that traps, as a wild one of the program's own
 *                   would
 *
 * It is linked with nothing of CUDA: the driver is there when it is called, CUPTI is looked for
 * where libraries are. */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda.h>
#if defined(__has_include) && __has_include(<cupti.h>)
#include <cupti.h>
#define HAVE_CUPTI
#endif

int InitializeInjection(void);

static const char *argument;      /* after the colon */

static int complain(const char *what, const char *why)
{
	fprintf(stderr, "error: injected: %s: %s\n", what, why);
	return 0;
}

/* --- trap --- */

static const char ptx[] = ".version 6.4\n.target sm_75\n.address_size 64\n"
	".visible .entry wild()\n{\n\ttrap;\n\tret;\n}\n";

#define DRIVER(X)                                                                               \
	X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuModuleLoadData) X(cuModuleGetFunction)   \
	X(cuLaunchKernel)
#define POINTER(f) static __typeof__(f) *p_##f;
DRIVER(POINTER)

static void *trap(void *unused)
{
	CUcontext context;
	CUmodule module;
	CUfunction wild;
	int rc;
	(void)unused;
	sleep((unsigned)atoi(argument));
	if ((rc = p_cuDevicePrimaryCtxRetain(&context, 0)) == 0 &&
	    (rc = p_cuCtxSetCurrent(context)) == 0 && (rc = p_cuModuleLoadData(&module, ptx)) == 0 &&
	    (rc = p_cuModuleGetFunction(&wild, module, "wild")) == 0)
		rc = p_cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	if (rc)
		fprintf(stderr, "error: injected: cannot run a kernel: %d\n", rc);
	return NULL;
}

static int start_trap(void)
{
	pthread_t thread;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (!driver)
		return complain("no driver", dlerror());
#define LOOK_UP(f) \
	p_##f = (__typeof__(f) *)dlsym(driver, #f); \
	if (!p_##f) \
		return complain("the driver has no", #f);
	DRIVER(LOOK_UP)
	if (pthread_create(&thread, NULL, trap, NULL))
		return complain("trap", "no thread");
	pthread_detach(thread);
	return 1;
}

/* --- watch --- */

#ifdef HAVE_CUPTI
struct span {
	uint32_t graph, launch;      /* the launch has an id of its own */
	uint64_t start, end;         /* ns */
};

static struct {
	pthread_mutex_t lock;
	struct span *span;
	size_t n, room;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

#define CUPTI(X)                                                                            \
	X(cuptiActivityRegisterCallbacks) X(cuptiActivityEnable) X(cuptiActivityGetNextRecord)  \
	X(cuptiActivityFlushAll)
#define CUPTI_POINTER(f) static __typeof__(f) *p_##f;
CUPTI(CUPTI_POINTER)

#define BUFFER (4 << 20)

static void buffer_wanted(uint8_t **buffer, size_t *bytes, size_t *records)
{
	*buffer = aligned_alloc(8, BUFFER);
	*bytes = *buffer ? BUFFER : 0;
	*records = 0;
}

static void note(uint32_t graph, uint32_t launch, uint64_t start, uint64_t end)
{
	if (!graph || end < start)
		return;
	if (seen.n == seen.room) {
		size_t room = seen.room ? 2 * seen.room : 65536;
		struct span *more = realloc(seen.span, room * sizeof *more);
		if (!more)
			return;
		seen.span = more;
		seen.room = room;
	}
	seen.span[seen.n++] = (struct span){ graph, launch, start, end };
}

static void buffer_filled(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
                          size_t valid)
{
	CUpti_Activity *r = NULL;
	(void)context, (void)stream, (void)bytes;
	pthread_mutex_lock(&seen.lock);
	while (p_cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ||
		    r->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
			const CUpti_ActivityKernel9 *k = (const void *)r;
			note(k->graphId, k->correlationId, k->start, k->end);
		} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
			const CUpti_ActivityMemcpy5 *c = (const void *)r;
			note(c->graphId, c->correlationId, c->start, c->end);
		} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
			const CUpti_ActivityMemset4 *m = (const void *)r;
			note(m->graphId, m->correlationId, m->start, m->end);
		}
	}
	pthread_mutex_unlock(&seen.lock);
	free(buffer);
}

static int by_time(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	if (x->graph != y->graph)
		return x->graph < y->graph ? -1 : 1;
	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The spans of one launch: from the first to the last, and the union of all. */
static void measure(const struct span *s, size_t n, uint64_t *whole, uint64_t *busy)
{
	uint64_t until = s[0].start;
	*busy = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t from = s[i].start > until ? s[i].start : until;
		*busy += s[i].end > from ? s[i].end - from : 0;
		until = s[i].end > until ? s[i].end : until;
	}
	*whole = until - s[0].start;
}

/* Where the spans of the graph with most of them begin, and how many there are. */
static size_t largest(const struct span *s, size_t n, size_t *most)
{
	size_t at = 0;
	*most = 0;
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && s[j].graph == s[i].graph; j++)
			;
		if (j - i > *most) {
			at = i;
			*most = j - i;
		}
	}
	return at;
}

static void report(void)
{
	p_cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	pthread_mutex_lock(&seen.lock);
	qsort(seen.span, seen.n, sizeof *seen.span, by_time);
	size_t n, launches = 0, kernels = 0;
	const struct span *s = seen.span + largest(seen.span, seen.n, &n);
	uint64_t *whole = calloc(n + 1, sizeof *whole), *busy = calloc(n + 1, sizeof *busy);
	FILE *f = fopen(argument, "w");
	if (whole && busy && f && n) {
		for (size_t i = 0, j; i < n; i = j) {
			for (j = i; j < n && s[j].launch == s[i].launch; j++)
				;
			kernels = j - i > kernels ? j - i : kernels;
			measure(s + i, j - i, &whole[launches], &busy[launches]);
			launches++;
		}
		qsort(whole, launches, sizeof *whole, by_value);
		qsort(busy, launches, sizeof *busy, by_value);
		fprintf(f, "{\"replays\": %zu, \"kernels\": %zu, \"span\": %.9f, \"busy\": %.9f}\n",
		        launches, kernels, 1e-9 * (double)whole[launches / 2],
		        1e-9 * (double)busy[launches / 2]);
	} else {
		complain("watch", n ? "cannot write" : "no replay of a graph was seen");
	}
	if (f)
		fclose(f);
	free(whole);
	free(busy);
	pthread_mutex_unlock(&seen.lock);
}

static int start_watching(void)
{
	static const CUpti_ActivityKind kinds[] = { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET };
	char name[32];
	snprintf(name, sizeof name, "libcupti.so.%d", CUDA_VERSION / 1000);
	void *cupti = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
	if (!cupti)
		return complain("no CUPTI", dlerror());
#define CUPTI_LOOK_UP(f) \
	p_##f = (__typeof__(f) *)dlsym(cupti, #f); \
	if (!p_##f) \
		return complain("CUPTI has no", #f);
	CUPTI(CUPTI_LOOK_UP)
	int rc = p_cuptiActivityRegisterCallbacks(buffer_wanted, buffer_filled);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds && rc == 0; i++)
		rc = p_cuptiActivityEnable(kinds[i]);
	if (rc) {
		fprintf(stderr, "error: injected: CUPTI: %d\n", rc);
		return 0;
	}
	atexit(report);
	return 1;
}
#else
static int start_watching(void)
{
	return complain("watch", "built without CUPTI's header");
}
#endif

/* Called by the driver; 1: all is well. */
int InitializeInjection(void)
{
	const char *what = getenv("DLX_INJECT"), *colon = what ? strchr(what, ':') : NULL;
	if (!colon)
		return complain("DLX_INJECT", "'watch:FILE' or 'trap:SECONDS' was expected");
	argument = colon + 1;
	if (strncmp(what, "trap:", 5) == 0)
		return start_trap();
	if (strncmp(what, "watch:", 6) == 0)
		return start_watching();
	return complain("DLX_INJECT", what);
}
