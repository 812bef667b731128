/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of cuDNN's engines runs a graph of operations. */
#ifndef DLX_BACKEND_CUDA_CUDNN_ENGINE_H
#define DLX_BACKEND_CUDA_CUDNN_ENGINE_H

#include "backend/cuda/cudnn_desc.h"
#include "backend/wisdom.h"

struct cudnn_engine {
	struct cudnn_set parts;      /* what the plan refers to */
	desc plan, config;
	size_t ws_bytes;
	char name[24];               /* "a3:eng42": the fourth that mode A
	                              * proposes, which is engine 42 */
	bool compiled, read;         /* by cuDNN, when the plan was made; or was, and read */
	cudnnStatus_t refused;       /* where there is none: why the last one that was
	                              * allowed could not be built */
};

/* The requirements on an engine. */
struct cudnn_demand {
	bool deterministic, exact;   /* exact: no rounding of float32 to TF32 */
	bool best_only;              /* of mode A */
	int64_t wrong;               /* cuDNN's number of an engine whose results are wrong; -1: none */
	const char *problem;         /* a text that two problems share only if they are the same */
	uint64_t key;                /* the same with the library's version, for backend/proof/passed.h,
	                              * where engines have cudnn_engine_impl as their names */
	/* To measure one that was built: its arguments are filled and freed by the caller.
	 * Microseconds, or a negative error; much: as of cuda_time. NULL: nothing is measured. */
	double (*measure)(void *user, const struct cudnn_engine *e, double much);
	void *user;
	int compile;                 /* engines that cuDNN compiles to be measured, at most */
};

/* "cudnn:a3:eng42" */
#define CUDNN_IMPL 40
const char *cudnn_engine_impl(const char *name, char out[CUDNN_IMPL]);
/* False if cuDNN has no engine that may be taken. wisdom may be NULL. */
bool cudnn_engine_choose(struct cudnn_engine *out, const struct cudnn *c, desc graph,
                         struct wisdom *wisdom, const struct cudnn_demand *want);
void cudnn_engine_release(struct cudnn_engine *e);

#endif
