/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Engines by problem: identical convolutions, of one plan or of several, query cuDNN once and share
 * the engine. An engine is released once plans are bound and none refers to it.
 *
 * Planning for a GPU is cuDNN's time. Its heuristics take 1 to 2 ms a problem, loading
 * its libraries 0.3 s. --check --gpu=h200 of deepcam-mlperf takes 1.5 s of CPU time for
 * 541 problems (27.8 s before libnvrtc was kept open, which cuDNN 9.19 opens and closes
 * for each run-time engine that it considers). A run waits for the compiler: 0.8 s an
 * engine (seen with a stand-in for the driver); the 53 convolutions with statistics
 * in ResNet-50's step in bf16 are 23 problems. cuDNN compiles the same problem again
 * each time, and two threads compile no faster than one (8 engines in 8.5 s, 4 in 3.7
 * s), so planning stays on one thread. cudnn_kept.h keeps compiled engines. */
#ifndef DLX_BACKEND_CUDA_CUDNN_SHARED_H
#define DLX_BACKEND_CUDA_CUDNN_SHARED_H

#include "backend/cuda/cudnn_engine.h"

/* The answer to one query. */
struct cudnn_shared {
	char *question;
	bool found;                  /* false: cuDNN has no engine for the problem */
	int users;                   /* plans that use the engine */
	struct cudnn_set graph;
	struct cudnn_engine engine;  /* plan NULL: not built, only its properties are known */
};

struct cudnn_table {
	struct cudnn_shared **line;  /* sorted by question */
	int n, cap;
};

/* NULL: the problem is new. */
struct cudnn_shared *cudnn_shared_find(const struct cudnn_table *t, const char *question);
/* The entry for the key: a new one, or the existing one. */
struct cudnn_shared *cudnn_shared_add(struct cudnn_table *t, const char *question);
/* The engine stays for later queries until the table is trimmed. */
void cudnn_shared_leave(struct cudnn_shared *s);
/* Releases the engine; its properties stay known. */
void cudnn_shared_drop(struct cudnn_shared *s);
/* Releases engines without users. */
void cudnn_table_trim(struct cudnn_table *t);
void cudnn_table_release(struct cudnn_table *t);

#endif
