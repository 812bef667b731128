/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The engine configurations that cuDNN's heuristics propose for a graph of operations, best first,
 * in one of two modes. */
#ifndef DLX_BACKEND_CUDA_CUDNN_LIST_H
#define DLX_BACKEND_CUDA_CUDNN_LIST_H

#include "backend/cuda/cudnn_engine.h"

#define CUDNN_LIST_MAX 24      /* most configurations that are considered */

/* The caller sets the mode and zeroes the rest; it releases the set at the end. */
struct cudnn_list {
	struct cudnn_set set;
	desc heuristics, config[CUDNN_LIST_MAX];
	int n, wanted;               /* n: configurations received; wanted: configurations requested so
	                              * far */
	char mode;                   /* 'a': recommended; 'f': the fallback, which always works */
};

struct cudnn_candidate {
	int64_t index;               /* cuDNN's number of the engine */
	bool compiled;               /* cuDNN compiles it when its plan is made */
	char name[24];               /* as of struct cudnn_engine */
};

/* Whether there is a configuration i; requests more from cuDNN if necessary. */
bool cudnn_list_has(struct cudnn_list *l, const struct cudnn *c, desc graph, int i);
/* *out: the engine of configuration i. False: the engine may not be used, because of its numerical
 * notes, DLX_DEBUG=engines or a failed test. No other function decides which engines are
 * allowed. */
bool cudnn_list_look(const struct cudnn_list *l, const struct cudnn *c,
                     const struct cudnn_demand *want, int i, struct cudnn_candidate *out);

#endif
