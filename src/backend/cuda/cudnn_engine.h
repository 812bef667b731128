/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chooses the cuDNN engine that runs a graph of operations. */
#ifndef DLX_BACKEND_CUDA_CUDNN_ENGINE_H
#define DLX_BACKEND_CUDA_CUDNN_ENGINE_H

#include "backend/cuda/cudnn_desc.h"
#include "backend/wisdom.h"

struct cudnn_engine {
	struct cudnn_set parts;      /* descriptors that the plan refers to */
	desc plan, config;
	size_t ws_bytes;
	char name[24];               /* "a3:eng42": the fourth that mode A
	                              * proposes, which is engine 42 */
	bool compiled, read;         /* compiled: cuDNN compiled it when the plan was made; read: it was
	                              * loaded from the cache instead */
	cudnnStatus_t refused;       /* if no engine was found: why the last allowed one could not be
	                              * built */
};

/* The requirements on an engine. */
struct cudnn_demand {
	bool deterministic, exact;   /* exact: no rounding of float32 to TF32 */
	bool best_only;              /* only engines of heuristic mode A */
	int64_t wrong;               /* cuDNN's number of an engine known to give wrong results; -1:
	                              * none */
	const char *problem;         /* a text that two problems share only if they are the same */
	uint64_t key;                /* a hash of problem and cuDNN version, the key in
	                              * backend/proof/passed.h; engines are named there by
	                              * cudnn_engine_impl */
	/* Measures a built engine: returns microseconds, or a negative error. The caller provides and
	 * frees its arguments. much: as in cuda_time. NULL: nothing is measured. */
	double (*measure)(void *user, const struct cudnn_engine *e, double much);
	void *user;
	int compile;                 /* most run-time compiled engines to measure */
};

/* "cudnn:a3:eng42" */
#define CUDNN_IMPL 40
const char *cudnn_engine_impl(const char *name, char out[CUDNN_IMPL]);
/* False if cuDNN has no engine that may be taken. wisdom may be NULL. */
bool cudnn_engine_choose(struct cudnn_engine *out, const struct cudnn *c, desc graph,
                         struct wisdom *wisdom, const struct cudnn_demand *want);
void cudnn_engine_release(struct cudnn_engine *e);

#endif
