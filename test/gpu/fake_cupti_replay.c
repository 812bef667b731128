/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stands in for CUPTI in the emulation: callbacks for the nodes that a recording gets and for their
 * clones, and records of what a replay has run, by the host's clock. As strict as CUPTI: it hands
 * nothing over that was not requested, and records name the clones alone.
 *
 *     DLX_FAKE_CUPTI=absent    there is no such library
 *     DLX_FAKE_CUPTI=busy      another profiler has it
 *     DLX_FAKE_CUPTI=blind     it sees no kernel */
#include <stdlib.h>
#include <string.h>

#include "base/library.h"
#include "fake_cupti_replay.h"

#if defined(__has_include) && __has_include(<cupti.h>)
#include <cupti.h>

static CUpti_BuffersCallbackRequestFunc wanted;
static CUpti_BuffersCallbackCompleteFunc filled;
static CUpti_CallbackFunc told;
static void *user;
static int asked[CUPTI_CBID_RESOURCE_SIZE], kinds[CUPTI_ACTIVITY_KIND_COUNT];
static CUpti_ActivityKernel9 *ran;
static size_t nran, room;

static int is(const char *fault)
{
	const char *given = getenv("DLX_FAKE_CUPTI");
	return given && strcmp(given, fault) == 0;
}

/* Handles of nodes are their numbers. */
static void tell(CUpti_CallbackId id, long node, long original)
{
	CUpti_GraphData graph = { .node = (CUgraphNode)node, .originalNode = (CUgraphNode)original };
	CUpti_ResourceData data = { .resourceDescriptor = &graph };
	if (told && asked[id])
		told(user, CUPTI_CB_DOMAIN_RESOURCE, id, (const void *)&data);
}

static void created(long node)
{
	tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, 0);
}

static void cloned(long node, long original)
{
	tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, node, original);
}

static void note(long node, long launch, const char *name, uint64_t start, uint64_t end)
{
	if (!kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] || is("blind"))
		return;
	if (nran == room) {
		room = room ? 2 * room : 1024;
		ran = realloc(ran, room * sizeof *ran);
	}
	ran[nran++] = (CUpti_ActivityKernel9){ .kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		.start = start, .end = end, .name = name, .correlationId = (uint32_t)launch, .graphId = 1,
		.graphNodeId = (uint64_t)node };
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *with)
{
	static const struct emulate_watcher watcher = { created, cloned, note };
	if (told || is("busy"))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	told = callback;
	user = with;
	*out = (CUpti_SubscriberHandle)&told;
	emulate_watch(&watcher);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle s)
{
	if (s != (CUpti_SubscriberHandle)&told || !told)
		return CUPTI_ERROR_INVALID_PARAMETER;
	told = NULL;
	emulate_watch(NULL);
	memset(asked, 0, sizeof asked);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle s,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	if (s != (CUpti_SubscriberHandle)&told || domain != CUPTI_CB_DOMAIN_RESOURCE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	asked[id] = (int)enable;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	*id = (uint64_t)(uintptr_t)node;
	return *id ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
	*text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED ?
	        "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR";
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc w,
                                           CUpti_BuffersCallbackCompleteFunc f)
{
	wanted = w;
	filled = f;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	kinds[kind] = 1;
	return wanted ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
	kinds[kind] = 0;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + sizeof *ran : buffer;
	if (next >= buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	(void)flag;
	for (size_t i = 0, n; i < nran; i += n) {
		uint8_t *buffer = NULL;
		size_t bytes = 0, records = 0;
		wanted(&buffer, &bytes, &records);
		n = bytes / sizeof *ran < nran - i ? bytes / sizeof *ran : nran - i;
		memcpy(buffer, ran + i, n * sizeof *ran);
		filled(NULL, 0, buffer, bytes, n * sizeof *ran);
	}
	nran = 0;
	return CUPTI_SUCCESS;
}

static const struct library_function fakes[] = {
#define ROW(name) { #name, (void **)name },
	ROW(cuptiSubscribe) ROW(cuptiUnsubscribe) ROW(cuptiEnableCallback) ROW(cuptiGetGraphNodeId)
	ROW(cuptiGetResultString) ROW(cuptiActivityRegisterCallbacks) ROW(cuptiActivityEnable)
	ROW(cuptiActivityDisable) ROW(cuptiActivityGetNextRecord) ROW(cuptiActivityFlushAll)
};

void *fake_cupti_function(const char *name)
{
	for (size_t i = 0; i < sizeof fakes / sizeof *fakes; i++)
		if (strcmp(fakes[i].name, name) == 0 && !is("absent"))
			return (void *)fakes[i].pointer;
	return NULL;
}
#else
void *fake_cupti_function(const char *name)
{
	(void)name;
	return NULL;
}
#endif
