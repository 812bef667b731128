/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads, converts and encodes samples on several threads, and passes them on in their order, so the
 * output does not depend on the number of threads. Only a few samples, or a few pieces of a large
 * sample, are in memory at once. */
#ifndef DLX_DATA_TOOLS_CONVERT_PIPE_H
#define DLX_DATA_TOOLS_CONVERT_PIPE_H

#include "data-tools/convert/convert_piece.h"

struct pipe_options {
	const struct conversion *c;
	int threads;
	/* Whether the sample at index `at` of c->sample is wanted; NULL: all are. */
	bool (*wants)(void *user, int64_t at);
	/* Receives each finished piece, in order, on the caller's thread. */
	int (*write)(void *user, struct piece *p);
	void *user;
	struct target_seen *seen;
};

/* Converts all samples of c. Returns the error of the first sample that failed. */
int pipe_run(const struct pipe_options *o);

#endif
