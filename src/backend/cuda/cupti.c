/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interface to CUPTI. Its callbacks report each node that is added to a CUDA graph, in the
 * capturing thread, and each node's clone when the graph is instantiated; its kernel records name
 * the clone. So a kernel can be traced back to the node of the plan from which it was captured.
 * Records arrive on a thread of CUPTI's. */
#include "backend/cuda/cupti.h"

#include "base/err.h"

#if defined(__has_include) && __has_include(<cupti.h>)
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "base/library.h"
#include "base/mem.h"

#if CUDA_VERSION >= 13000
#define LIBRARY "libcupti.so.13"
#else
#define LIBRARY "libcupti.so.12"
#endif

#define FUNCTIONS(X) \
	X(cuptiActivityRegisterCallbacks) X(cuptiActivityEnable) X(cuptiActivityDisable) \
	X(cuptiActivityGetNextRecord) X(cuptiActivityFlushAll) X(cuptiSubscribe) X(cuptiUnsubscribe) \
	X(cuptiEnableCallback) X(cuptiGetGraphNodeId) X(cuptiGetResultString)

LIBRARY_LATE(FUNCTIONS, LIBRARY, "CUPTI")

#define BUFFER ((size_t)1 << 20)

/* A node of a graph, captured or a clone, and the node of the plan that it belongs to. */
struct origin {
	uint64_t place;
	nid node;
};

static struct {
	pthread_mutex_t lock;
	CUpti_SubscriberHandle subscriber;
	bool on;
	nid node;                    /* the plan's node that is being captured */
	struct origin *origin;
	size_t norigin, origin_room;
	struct replay_span *span;
	size_t nspan, span_room;
} seen = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const CUpti_ActivityKind kinds[] = { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET };
static const CUpti_CallbackId awaited[] = { CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
	CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED };

static int check(CUptiResult status, const char *what)
{
	const char *text = NULL;
	if (status == CUPTI_SUCCESS)
		return 0;
	lib.cuptiGetResultString(status, &text);
	return ERR(E_UNAVAILABLE, NULL, "CUPTI: %s: %s", what, text ? text : "an unknown error");
}

/* --- nodes of graphs --- */

static nid node_of(uint64_t place)
{
	for (size_t i = seen.norigin; i-- > 0;)
		if (seen.origin[i].place == place)
			return seen.origin[i].node;
	return NONE;
}

static void note_origin(uint64_t place, nid node)
{
	if (seen.norigin == seen.origin_room) {
		seen.origin_room = seen.origin_room ? 2 * seen.origin_room : 1024;
		seen.origin = mem_realloc(seen.origin, seen.origin_room * sizeof *seen.origin);
	}
	seen.origin[seen.norigin++] = (struct origin){ place, node };
}

static void CUPTIAPI told_of(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
	const CUpti_ResourceData *resource = data;
	const CUpti_GraphData *g = resource->resourceDescriptor;
	uint64_t place = 0, original = 0;
	(void)user;
	if (domain != CUPTI_CB_DOMAIN_RESOURCE ||
	    lib.cuptiGetGraphNodeId(g->node, &place) != CUPTI_SUCCESS)
		return;
	pthread_mutex_lock(&seen.lock);
	if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
		note_origin(place, seen.node);
	else if (lib.cuptiGetGraphNodeId(g->originalNode, &original) == CUPTI_SUCCESS)
		note_origin(place, node_of(original));
	pthread_mutex_unlock(&seen.lock);
}

/* --- records --- */

static void CUPTIAPI buffer_wanted(uint8_t **buffer, size_t *bytes, size_t *records)
{
	*buffer = mem_alloc(BUFFER);
	*bytes = BUFFER;
	*records = 0;
}

static void note_span(const struct replay_span *s)
{
	if (s->end < s->start)
		return;
	if (seen.nspan == seen.span_room) {
		seen.span_room = seen.span_room ? 2 * seen.span_room : 8192;
		seen.span = mem_realloc(seen.span, seen.span_room * sizeof *seen.span);
	}
	seen.span[seen.nspan++] = *s;
}

/* A record without a graph node did not come from a graph and is skipped. */
static void note_record(const CUpti_Activity *r)
{
	struct replay_span s = { .place = 0 };
	if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || r->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
		const CUpti_ActivityKernel9 *k = (const void *)r;
		s = (struct replay_span){ k->graphNodeId, k->correlationId, NONE, k->name, k->start,
			k->end };
	} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
		const CUpti_ActivityMemcpy5 *c = (const void *)r;
		s = (struct replay_span){ c->graphNodeId, c->correlationId, NONE, "copy", c->start,
			c->end };
	} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
		const CUpti_ActivityMemset4 *m = (const void *)r;
		s = (struct replay_span){ m->graphNodeId, m->correlationId, NONE, "fill", m->start,
			m->end };
	}
	if (s.place)
		note_span(&s);
}

static void CUPTIAPI buffer_filled(CUcontext context, uint32_t stream, uint8_t *buffer,
                                   size_t bytes, size_t valid)
{
	CUpti_Activity *r = NULL;
	(void)context, (void)stream, (void)bytes;
	pthread_mutex_lock(&seen.lock);
	while (lib.cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
		note_record(r);
	pthread_mutex_unlock(&seen.lock);
	mem_free(buffer);
}

/* --- begin and end --- */

static void forget(void)
{
	mem_free(seen.origin);
	mem_free(seen.span);
	seen.origin = NULL;
	seen.span = NULL;
	seen.norigin = seen.origin_room = seen.nspan = seen.span_room = 0;
	seen.node = NONE;
}

static void stop(void)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		lib.cuptiActivityDisable(kinds[i]);
	if (seen.subscriber)
		lib.cuptiUnsubscribe(seen.subscriber);
	seen.subscriber = NULL;
	seen.on = false;
}

static int begin(void)
{
	TRY(check(lib.cuptiSubscribe(&seen.subscriber, (CUpti_CallbackFunc)told_of, NULL),
	          "cannot be asked for nodes of graphs"));
	for (size_t i = 0; i < sizeof awaited / sizeof *awaited; i++)
		TRY(check(lib.cuptiEnableCallback(1, seen.subscriber, CUPTI_CB_DOMAIN_RESOURCE, awaited[i]),
		          "cannot be asked for nodes of graphs"));
	TRY(check(lib.cuptiActivityRegisterCallbacks(buffer_wanted, buffer_filled),
	          "cannot be asked for kernels"));
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		TRY(check(lib.cuptiActivityEnable(kinds[i]), "cannot be asked for kernels"));
	return 0;
}

int cupti_begin(const struct device *d)
{
	(void)d;
	TRY(load());
	forget();
	seen.on = true;
	int rc = begin();
	if (rc < 0)
		stop();
	return rc;
}

void cupti_node(const struct device *d, nid n)
{
	(void)d;
	seen.node = n;
}

void cupti_end(const struct device *d, struct replay *out)
{
	(void)d;
	*out = (struct replay){ 0 };
	if (!seen.on)
		return;
	lib.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	stop();
	pthread_mutex_lock(&seen.lock);
	for (size_t i = 0; i < seen.nspan; i++)
		seen.span[i].node = node_of(seen.span[i].place);
	if (seen.nspan)
		replay_sum(out, seen.span, seen.nspan);
	forget();
	pthread_mutex_unlock(&seen.lock);
}
#else
int cupti_begin(const struct device *d)
{
	(void)d;
	return ERR(E_UNAVAILABLE, NULL, "dlx was built without CUPTI's header");
}

void cupti_node(const struct device *d, nid n)
{
	(void)d;
	(void)n;
}

void cupti_end(const struct device *d, struct replay *out)
{
	(void)d;
	*out = (struct replay){ 0 };
}
#endif
