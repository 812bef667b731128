/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One array for all threads: a thread that records a span takes the next place. An atomic counter
 * hands out places, and each has a mark that is set when the span is complete, so that recording
 * never waits. Pages are touched when they are used. */
#include "base/trace.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

#define ROWS 64                  /* most rows of an unfolded lane */

struct place {
	struct trace_span span;
	atomic_bool complete;
};

atomic_bool trace_recording;

static struct {
	struct place *place;
	int64_t room;
	atomic_int_fast64_t used;              /* number of places requested, also beyond the available
	                                        * room */
	atomic_int_fast64_t step;
	atomic_int threads[TRACE_LANES];
} trace;

/* This thread's number within its lane, plus 1; 0: none yet. */
static _Thread_local int own[TRACE_LANES];

int trace_start(int64_t spans)
{
	trace_free();
	trace.place = mem_map((size_t)spans * sizeof *trace.place);
	if (!trace.place)
		return ERR(E_NOMEM, NULL, "no memory to record %lld spans", (long long)spans);
	trace.room = spans;
	trace.used = 0;
	trace.step = -1;
	trace_recording = true;
	return 0;
}

void trace_step(int64_t step)
{
	trace.step = step;
}

static int own_thread(enum trace_lane lane)
{
	if (!own[lane])
		own[lane] = atomic_fetch_add(&trace.threads[lane], 1) + 1;
	return own[lane] - 1;
}

void trace_add(const struct trace_span *s)
{
	if (!trace_on())
		return;
	int64_t i = atomic_fetch_add(&trace.used, 1);
	if (i >= trace.room)
		return;
	struct place *p = &trace.place[i];
	p->span = *s;
	p->span.thread = own_thread(s->lane);
	p->span.step = trace.step;
	if (p->span.end <= 0)
		p->span.end = io_seconds();
	atomic_store_explicit(&p->complete, true, memory_order_release);
}

void trace_mark(enum trace_lane lane, const char *name, double start)
{
	trace_add(&(struct trace_span){ .lane = lane, .name = name, .start = start });
}

void trace_stop(void)
{
	trace_recording = false;
}

int64_t trace_count(int64_t *lost)
{
	int64_t n = trace.used;
	*lost = n > trace.room ? n - trace.room : 0;
	return n - *lost;
}

const struct trace_span *trace_at(int64_t i)
{
	struct place *p = &trace.place[i];
	return atomic_load_explicit(&p->complete, memory_order_acquire) ? &p->span : NULL;
}

static int by_start(const void *a, const void *b)
{
	const struct trace_span *const *x = a, *const *y = b;
	return ((*x)->start > (*y)->start) - ((*x)->start < (*y)->start);
}

/* Puts each span into the first row that is free at its start; spans that find no free row go into
 * the last one. */
void trace_unfold(enum trace_lane lane)
{
	double end[ROWS] = { 0 };
	int64_t lost, all = trace_count(&lost), n = 0;
	struct trace_span **s = mem_calloc((size_t)all + 1, sizeof *s);
	for (int64_t i = 0; i < all; i++)
		if (trace_at(i) && trace.place[i].span.lane == lane)
			s[n++] = &trace.place[i].span;
	qsort(s, (size_t)n, sizeof *s, by_start);
	for (int64_t i = 0; i < n; i++) {
		int row = 0;
		while (row + 1 < ROWS && end[row] > s[i]->start)
			row++;
		s[i]->thread = row;
		end[row] = s[i]->end;
	}
	mem_free(s);
}

void trace_free(void)
{
	trace_stop();
	mem_unmap(trace.place, (size_t)trace.room * sizeof *trace.place);
	trace.place = NULL;
	trace.room = 0;
	trace.used = 0;
}
