/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The published properties of GPU models: memory, flop/s, bandwidth. With them dlx plans for a GPU
 * that is not present; no driver is queried, and nothing can run. */
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
	double link, network;        /* bytes/s in each direction: link to the other GPUs of the host,
	                              * network to other hosts */
	/* Properties that cuDNN's heuristics need. */
	int clock, memory_clock;     /* kHz */
	int l2, shared;              /* bytes; shared: most shared memory of a block */
};

/* text: "h200", "h200:100GiB", or a size alone, which means
 * an H200 with that much memory. E_USAGE lists the names. */
int gpu_model_parse(struct gpu_model *out, const char *text);
/* The model with this name of the driver; NULL: unknown. */
const struct gpu_model *gpu_model_find(const char *name);
/* Writes the properties as the JSON text that cuDNN reads; n: bytes of out. */
void gpu_model_json(const struct gpu_model *m, char *out, int n);
/* Published flop/s of products in type t; tf32: float32 inputs may be rounded to TF32. */
double gpu_model_peak(const struct gpu_model *m, enum dtype t, bool tf32);

#endif
