/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A side stream, for work that overlaps kernels. Its work begins after an event of the compute
 * stream, which later waits for an event of the side stream; in a captured step both become edges
 * of the graph. Nothing here blocks the host. */
#ifndef DLX_BACKEND_CUDA_CUDA_SIDE_H
#define DLX_BACKEND_CUDA_CUDA_SIDE_H

#include "backend/device.h"

struct cuda_side;

/* events: the number of events that the compute stream can wait for. The side stream has priority
 * over the compute stream. concurrent false: the side stream is the compute stream itself, so that
 * its work runs in order and needs no wait. */
int cuda_side_new(struct cuda_side **out, const struct device *d, int events, bool concurrent);
/* After the device has finished; NULL is fine. */
void cuda_side_free(struct cuda_side *s);
void *cuda_side_stream(const struct cuda_side *s);       /* a cudaStream_t */

/* Work enqueued on the side stream after this call begins after all earlier work of the compute
 * stream. early: in a captured step it may begin already at the beginning of the step. */
int cuda_side_fork(struct cuda_side *s, bool early);
/* Records event p after all work of the side stream so far. */
int cuda_side_mark(struct cuda_side *s, int p);
/* Work enqueued on the compute stream after this call waits for event p. */
int cuda_side_join(struct cuda_side *s, int p);

/* Enqueues on the side stream a sum of `n` arrays in the order of comm/sum.h, of `count` float32:
 * array q is at values + q * each, but number `me` at sum, which receives the result. */
struct cuda_parts {
	int n, me;
	int64_t count, each;
	const float *values;
};
int cuda_side_add(struct cuda_side *s, const struct cuda_parts *parts, float *sum);

/* Progress marks that the streams write for the host, since a graph
 * launch reports none: work `number` begins on the side stream; it is
 * done, and was `bytes`; the compute stream first waits for such work. */
int cuda_side_note_begin(struct cuda_side *s, int64_t number);
int cuda_side_note_done(struct cuda_side *s, uint64_t bytes);
int cuda_side_note_wanted(struct cuda_side *s);
struct cuda_progress {
	uint64_t begun, done, bytes;         /* since cuda_side_new */
	int64_t number;                      /* number of the work begun last */
	uint64_t wanted_at, done_at;         /* latest times, in nanoseconds of the GPU's clock: when
	                                      * the compute stream began to wait, when side work was
	                                      * done */
	uint64_t waited;                     /* if the side stream is the compute stream: nanoseconds
	                                      * from begin to done, summed */
};
/* The current progress. May be called at any time, does not wait; begun is read first. */
struct cuda_progress cuda_side_progress(const struct cuda_side *s);

#endif
