/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A timeline (--trace): spans of time in lanes, which the code that does the work records, on any
 * thread, into preallocated memory. report/trace_file.h writes it. Nothing is recorded unless
 * trace_on() is true:
 *
 *     double t0 = trace_on() ? io_seconds() : 0;
 *     ...
 *     if (t0)
 *         trace_add(&(struct trace_span){ .lane = TRACE_DATA, .name = "decode", .start = t0,
 *         .number = sample, .of = "sample" });
 *
 * Traces led to a shorter time before the first step (test/bench/startup has the figures). Most of
 * that time was first touch of memory and random numbers; both now use all threads
 * (device_populate, backend/store_init.c). oneDNN answers each problem once
 * (backend/dnn/dnn_code.c), for all nodes in parallel before layouts are chosen (`foresee` of a
 * kernel), and code is generated for a whole plan at once; cuts of weight gradients are remembered
 * (op/conv/conv_split.c). Libraries that few runs need are opened late (base/library.h), and so are
 * the plans of evaluations and of a short last batch made (train/run/deferred_plans.h). */
#ifndef DLX_BASE_TRACE_H
#define DLX_BASE_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum trace_lane { TRACE_RUN, TRACE_COMPUTE, TRACE_COMMUNICATION, TRACE_DATA, TRACE_CHECKPOINT,
	TRACE_LANES };

#define TRACE_MORE 3

struct trace_span {
	enum trace_lane lane;
	int thread;                  /* number of the thread within the lane, from 0; set by
	                              * trace_add */
	const char *name;            /* texts must live until the trace is written */
	const char *layer, *phase;   /* for the span of a node: its layer and phase; else NULL */
	const char *of;              /* the unit of `number`: "sample", "bytes"; NULL: no number */
	int64_t number;
	const char *more_of[TRACE_MORE];     /* further numbers: "waited_ms"; NULL: none */
	double more[TRACE_MORE];
	int64_t step;                /* set by trace_add; -1: before the first */
	double start, end;           /* io_seconds; end 0: now */
};

extern atomic_bool trace_recording;
static inline bool trace_on(void)
{
	return atomic_load_explicit(&trace_recording, memory_order_relaxed);
}

/* Makes room for this many spans and begins. Further spans are counted, not kept. E_NOMEM. */
int trace_start(int64_t spans);
/* From now on spans belong to this step. */
void trace_step(int64_t step);
void trace_add(const struct trace_span *s);
/* A span of the calling thread's, from start to now. */
void trace_mark(enum trace_lane lane, const char *name, double start);
void trace_stop(void);           /* ends recording; the spans so far stay */
/* trace_at: the i-th span, or NULL if it is incomplete. trace_count: the number of spans; *lost:
 * the number that found no room. Call these after trace_stop. */
const struct trace_span *trace_at(int64_t i);
int64_t trace_count(int64_t *lost);
/* Assigns different `thread` numbers to spans of a lane that overlap in time, for asynchronous work
 * that belongs to no thread. After trace_stop. */
void trace_unfold(enum trace_lane lane);
void trace_free(void);           /* call it when no other thread records; also fine without a
                                  * trace */

#endif
