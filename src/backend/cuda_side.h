/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A stream beside that of computation, for work that runs while kernels do. What is given to it
 * begins after a point of the stream of computation, which later waits for a point of it; in a
 * recorded step both become edges of its graph. Nothing here waits on the host. */
#ifndef DLX_BACKEND_CUDA_SIDE_H
#define DLX_BACKEND_CUDA_SIDE_H

#include "backend/device.h"

struct cuda_side;

/* points: how many there are that computation can wait for. Its work goes before that of
 * computation where both could go on. With
 * beside false it is the stream of computation itself: what is given to it comes where it is given,
 * and is not waited for. */
int cuda_side_new(struct cuda_side **out, struct device *d, int points, bool beside);
/* After the device has finished; NULL is fine. */
void cuda_side_free(struct cuda_side *s);
void *cuda_side_stream(const struct cuda_side *s);       /* a cudaStream_t */

/* What is given to the side stream from here on begins after all that computation was given so far;
 * with early, in a step that is being recorded, with the step. */
int cuda_side_fork(struct cuda_side *s, bool early);
/* Point p: all that the side stream was given so far. */
int cuda_side_mark(struct cuda_side *s, int p);
/* What computation is given from here on begins after point p. */
int cuda_side_join(struct cuda_side *s, int p);

/* Gives the side stream a sum of `n` arrays in the order of comm/sum.h, of `count` float32: array q
 * stands at values + q * each, but number `me` at sum, where the sum goes. */
struct cuda_parts {
	int n, me;
	int64_t count, each;
	const float *values;
};
int cuda_side_add(struct cuda_side *s, const struct cuda_parts *parts, float *sum);

/* Notes that the streams leave for the host when they come there, which a recorded step has no
 * other means to: work `number` begins on the side stream; it is done, and was `bytes`; computation
 * comes to where it first wants such work. */
int cuda_side_note_begin(struct cuda_side *s, int64_t number);
int cuda_side_note_done(struct cuda_side *s, uint64_t bytes);
int cuda_side_note_wanted(struct cuda_side *s);
struct cuda_progress {
	uint64_t begun, done, bytes;         /* since cuda_side_new */
	int64_t number;                      /* of the last that was begun */
	uint64_t wanted_at, done_at;         /* nanoseconds of the GPU's clock, each the last */
	uint64_t waited;                     /* on the stream of computation itself: nanoseconds between beginnings and ends */
};
/* Any time, without waiting; begun is read first. */
struct cuda_progress cuda_side_progress(const struct cuda_side *s);

#endif
