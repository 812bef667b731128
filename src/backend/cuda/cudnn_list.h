/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What cuDNN's heuristics propose for a graph of operations: engine configurations, best first, of
 * one of two modes. */
#ifndef DLX_BACKEND_CUDA_CUDNN_LIST_H
#define DLX_BACKEND_CUDA_CUDNN_LIST_H

#include "backend/cuda/cudnn_engine.h"

#define CUDNN_LIST_MAX 24      /* configurations looked at */

/* Begins with the mode alone. The set is released by the caller. */
struct cudnn_list {
	struct cudnn_set set;
	desc heuristics, config[CUDNN_LIST_MAX];
	int n, asked;                /* configurations there are, and how many were asked for */
	char mode;                   /* 'a': recommended; 'f': the fallback, which always works */
};

struct cudnn_candidate {
	int64_t index;               /* cuDNN's number of the engine */
	bool compiled;               /* by cuDNN, when its plan is made */
	char name[24];               /* as of struct cudnn_engine */
};

/* Whether there is a configuration i; asks for them where that is not known. */
bool cudnn_list_has(struct cudnn_list *l, const struct cudnn *c, desc graph, int i);
/* The engine of configuration i, which there is. False: it is not allowed, by its notes, by
 * DLX_DEBUG=engines or by its proof. The only place that says which engines may be taken. */
bool cudnn_list_look(const struct cudnn_list *l, const struct cudnn *c,
                     const struct cudnn_demand *want, int i, struct cudnn_candidate *out);

#endif
