/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads, converts and codes samples on several threads and hands them on in their order, so that
 * what is written does not depend on threads. At a time it holds a few units: some samples, or of a
 * large sample a few pieces. */
#ifndef DLX_DATA_TOOLS_CONVERT_PIPE_H
#define DLX_DATA_TOOLS_CONVERT_PIPE_H

#include "data-tools/convert/convert_piece.h"

struct pipe_options {
	const struct conversion *c;
	int threads;
	/* Whether the sample at this place in c->sample is wanted; NULL: all are. */
	bool (*wants)(void *user, int64_t at);
	/* A piece that is made, in order, on the caller's thread. */
	int (*write)(void *user, struct piece *p);
	void *user;
	struct target_seen *seen;
};

/* All samples of c. The error of the first that failed. */
int pipe_run(const struct pipe_options *o);

#endif
