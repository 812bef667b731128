/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A described GPU, to plan for without one: its memory and its rates as NVIDIA publishes them. No
 * driver is queried, and nothing can run. */
#ifndef DLX_BACKEND_CUDA_CUDA_DESCRIBED_H
#define DLX_BACKEND_CUDA_CUDA_DESCRIBED_H

#include <stdint.h>

#include "base/types.h"

struct gpu_model {
	const char *key;             /* "h200" */
	const char *name;            /* "NVIDIA H200" */
	int arch;                    /* 90 */
	int multiprocessors;
	int64_t bytes;
	/* Published: flop/s without sparsity, bytes/s. */
	double f32, tf32, bits16, bandwidth;
	double link, network;        /* bytes/s each way: to the other GPUs of
	                              * its host, and to other hosts */
	/* Of the description that cuDNN's heuristics take. */
	int clock, memory_clock;     /* kHz */
	int l2, shared;              /* bytes; shared: of a block at most */
};

/* text: "h200", "h200:100GiB", or a size alone, which means
 * an H200 with that much memory. E_USAGE lists the names. */
int gpu_model_parse(struct gpu_model *out, const char *text);
/* By the name that the driver gives it; NULL: none that is known. */
const struct gpu_model *gpu_model_find(const char *name);
/* Its properties in cuDNN's JSON. */
void gpu_model_json(const struct gpu_model *m, char *out, int n);
/* Products in this type; tf32: float32 may be rounded. */
double gpu_model_peak(const struct gpu_model *m, enum dtype t, bool tf32);

#endif
