/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forks and joins by events without timing, which cost a
 * stream next to nothing and a captured graph only an edge. */
#include "backend/cuda/cuda_side.h"

#include <string.h>

#include <cuda_runtime_api.h>

#include "backend/cuda/cuda.h"
#include "base/err.h"
#include "base/mem.h"
#include "cuda/kernels.h"

struct cuda_side {
	const struct device *dev;
	bool concurrent;
	cudaStream_t stream;
	cudaEvent_t here, *event;
	int events;
	struct k_sums *notes;
};

static int make_event(cudaEvent_t *e)
{
	return cuda_check(cudaEventCreateWithFlags(e, cudaEventDisableTiming), "making an event");
}

static int make_stream(struct cuda_side *s)
{
	int least, greatest;
	TRY(cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities"));
	TRY(cuda_check(cudaStreamCreateWithPriority(&s->stream, cudaStreamNonBlocking, greatest),
	               "making a stream"));
	TRY(make_event(&s->here));
	for (int p = 0; p < s->events; p++)
		TRY(make_event(&s->event[p]));
	return 0;
}

static int make(struct cuda_side *s)
{
	if (s->concurrent)
		TRY(make_stream(s));
	else
		s->stream = cuda_stream(s->dev);
	s->notes = s->dev->driver->alloc_host(s->dev, sizeof *s->notes);
	if (!s->notes)
		return ERR(E_NOMEM, NULL, "no host memory that the GPU can write to");
	memset(s->notes, 0, sizeof *s->notes);
	return 0;
}

int cuda_side_new(struct cuda_side **out, const struct device *d, int events, bool concurrent)
{
	struct cuda_side *s = mem_calloc(1, sizeof *s);
	s->concurrent = concurrent;
	s->dev = d;
	s->events = events;
	s->event = mem_calloc((size_t)events + 1, sizeof *s->event);
	int rc = make(s);
	if (rc < 0)
		cuda_side_free(s);
	else
		*out = s;
	return rc;
}

void cuda_side_free(struct cuda_side *s)
{
	if (!s)
		return;
	for (int p = 0; p < s->events; p++)
		if (s->event[p])
			cudaEventDestroy(s->event[p]);
	if (s->here)
		cudaEventDestroy(s->here);
	if (s->stream && s->concurrent)
		cudaStreamDestroy(s->stream);
	if (s->notes)
		s->dev->driver->free_host(s->dev, s->notes, sizeof *s->notes);
	mem_free(s->event);
	mem_free(s);
}

void *cuda_side_stream(const struct cuda_side *s)
{
	return s->stream;
}

static int await(cudaStream_t stream, void *event)
{
	return cuda_check(cudaStreamWaitEvent(stream, event, 0), "ordering two streams");
}

int cuda_side_fork(struct cuda_side *s, bool early)
{
	void *begin = early ? cuda_begin(s->dev) : NULL;
	if (!s->concurrent)
		return 0;
	if (begin)
		return await(s->stream, begin);
	TRY(cuda_check(cudaEventRecord(s->here, cuda_stream(s->dev)), "ordering two streams"));
	return await(s->stream, s->here);
}

int cuda_side_mark(struct cuda_side *s, int p)
{
	return s->concurrent ? cuda_check(cudaEventRecord(s->event[p],
	                                                  s->stream), "ordering two streams") : 0;
}

int cuda_side_join(struct cuda_side *s, int p)
{
	return !s->concurrent ? 0 : await(cuda_stream(s->dev), s->event[p]);
}

int cuda_side_add(struct cuda_side *s, const struct cuda_parts *p, float *sum)
{
	return cuda_check(k_sum_ranks(s->stream, p->n, p->me, p->count, p->each, p->values, sum),
	                  "adding the parts of a sum");
}

int cuda_side_note_begin(struct cuda_side *s, int64_t number)
{
	return cuda_check(k_note_sum(s->stream, s->concurrent ? K_SUM_BEGINS : K_SUM_BEGINS_HERE,
	                             s->notes, number, 0), "noting what begins");
}

int cuda_side_note_done(struct cuda_side *s, uint64_t bytes)
{
	return cuda_check(k_note_sum(s->stream, s->concurrent ? K_SUM_DONE : K_SUM_DONE_HERE, s->notes,
	                             0, bytes), "noting what is done");
}

int cuda_side_note_wanted(struct cuda_side *s)
{
	if (!s->concurrent)
		return 0;
	return cuda_check(k_note_sum(cuda_stream(s->dev), K_SUM_WANTED, s->notes, 0, 0),
	                  "noting what is wanted");
}

struct cuda_progress cuda_side_progress(const struct cuda_side *s)
{
	const volatile struct k_sums *n = s->notes;
	struct cuda_progress p = { .begun = n->begun };
	p.number = n->group;
	p.done = n->done;
	p.bytes = n->bytes;
	p.wanted_at = n->wanted_at;
	p.done_at = n->done_at;
	p.waited = n->waited;
	return p;
}
