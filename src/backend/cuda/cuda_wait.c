/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the host waits for a GPU: for all of its work or for an
 * event, polling the registered all-reduce watchers meanwhile, and
 * then checking what kernels have recorded about invalid data. */
#include <sched.h>
#include <string.h>

#include "backend/cuda/cuda_state.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

/* A record to which a kernel writes if its data are invalid. */
struct watched {
	struct watched *next;
	const struct kplan *k;
	int (*report)(const struct kplan *k, const void *record);
	uint64_t *record;
	size_t bytes;
};

void cuda_poll(const struct device *d, int (*poll)(void *argument), void *argument)
{
	struct cuda *c = cuda_of(d);
	BUG_IF(c->polls == CUDA_POLLS, "more than %d wait for the GPU with the host", CUDA_POLLS);
	c->poll[c->polls].ask = poll;
	c->poll[c->polls++].argument = argument;
}

void cuda_unpoll(const struct device *d, const void *argument)
{
	struct cuda *c = cuda_of(d);
	for (int i = 0; i < c->polls; i++)
		if (c->poll[i].argument == argument) {
			c->poll[i] = c->poll[--c->polls];
			return;
		}
}

/* The state of all work (event NULL) or of an event. Clears 'not ready', which the runtime would
 * otherwise report as an error at the next launch. */
static cudaError_t how_far(const struct cuda *c, cudaEvent_t event)
{
	cudaError_t status = event ? cudaEventQuery(event) : cudaStreamQuery(c->stream);
	if (status == cudaErrorNotReady)
		cudaGetLastError();
	return status;
}

void cuda_rest(const struct device *d)
{
	while (how_far(cuda_of(d), NULL) == cudaErrorNotReady)
		sched_yield();
}

static int ask(struct cuda *c)
{
	for (int i = 0; i < c->polls; i++)
		TRY(c->poll[i].ask(c->poll[i].argument));
	return 0;
}

/* An error of a kernel is permanent and is returned by every later query, even if work is left that
 * will never complete. */
bool cuda_failed(const struct device *d)
{
	size_t left, total;
	cudaError_t status = how_far(cuda_of(d), NULL);
	return (status != cudaSuccess && status != cudaErrorNotReady) ||
	       cudaMemGetInfo(&left, &total) != cudaSuccess;
}

#define POLL 5e-3              /* seconds between polls */
#define PATIENCE 10            /* seconds for abandoned work to end */

/* Work that was abandoned must not write to memory that its owner then frees. */
static int given_up(const struct cuda *c, int rc)
{
	for (double end = io_seconds() + PATIENCE; io_seconds() < end &&
	     how_far(c, NULL) == cudaErrorNotReady;)
		sched_yield();
	return rc;
}

/* Polls if watchers are registered; otherwise blocks in the runtime. */
static int wait_for(struct cuda *c, cudaEvent_t event)
{
	cudaError_t status = cudaErrorNotReady;
	double asked = c->polls ? io_seconds() : 0;
	if (!c->polls)
		return cuda_check(event ? cudaEventSynchronize(event) : cudaStreamSynchronize(c->stream),
		                  "waiting for the GPU");
	while ((status = how_far(c, event)) == cudaErrorNotReady) {
		double now = io_seconds();
		if (now - asked >= POLL) {
			int rc = ask(c);
			if (rc < 0)
				return given_up(c, rc);
			asked = now;
		}
		sched_yield();
	}
	TRY(cuda_check(status, "waiting for the GPU"));
	return ask(c);
}

/* Checks what kernels have recorded about invalid data. */
static int look_at_records(struct cuda *c)
{
	for (struct watched *w = c->watched; w; w = w->next) {
		if (!*w->record)
			continue;
		int rc = w->report(w->k, w->record);
		memset(w->record, 0, w->bytes);
		return rc;
	}
	return 0;
}

int cuda_wait(const struct device *d)
{
	return wait_for(cuda_of(d), NULL);
}

int cuda_wait_event(const struct device *d, void *event)
{
	return wait_for(cuda_of(d), event);
}

int cuda_finish(const struct device *d)
{
	TRY(wait_for(cuda_of(d), NULL));
	return look_at_records(cuda_of(d));
}

int cuda_event_record(const struct device *d, void **handle)
{
	cudaEvent_t event = *handle;
	if (!event)
		TRY(cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
		               "making an event"));
	*handle = event;
	return cuda_check(cudaEventRecord(event, cuda_of(d)->stream), "marking how far the GPU is");
}

int cuda_event_wait(const struct device *d, void *handle)
{
	TRY(wait_for(cuda_of(d), handle));
	return look_at_records(cuda_of(d));
}

void cuda_event_free(const struct device *d, void *handle)
{
	cudaStreamSynchronize(cuda_of(d)->stream);
	cudaEventDestroy(handle);
}

int cuda_watch(struct kplan *k, size_t bytes,
               int (*report)(const struct kplan *k, const void *record), void **record)
{
	struct cuda *c = cuda_of(k->dev);
	struct watched *w = mem_calloc(1, sizeof *w);
	w->record = k->dev->driver->alloc_host(k->dev, bytes);
	if (!w->record) {
		mem_free(w);
		return ERR(E_NOMEM, &k->n->loc, "no host memory that the GPU can write to");
	}
	memset(w->record, 0, bytes);
	w->k = k;
	w->report = report;
	w->bytes = bytes;
	w->next = c->watched;
	c->watched = w;
	*record = w->record;
	return 0;
}

void cuda_unwatch(const struct kplan *k)
{
	for (struct watched **at = &cuda_of(k->dev)->watched; *at; at = &(*at)->next) {
		struct watched *w = *at;
		if (w->k != k)
			continue;
		*at = w->next;
		k->dev->driver->free_host(k->dev, w->record, w->bytes);
		mem_free(w);
		return;
	}
}
