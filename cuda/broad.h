/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Launchers of cuda/k_broad.cu and k_stacked.cu, as those of cuda/kernels.h. */
#ifndef DLX_CUDA_BROAD_H
#define DLX_CUDA_BROAD_H

#include "cuda/narrow.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Gradients to the input as k_narrow_run makes them (turned), of images, where dy has few channels
 * and dx many. Compute capability 9.0 alone. */
int k_broad_takes(const struct k_narrow *g);
int k_broad_run(void *stream, const struct k_narrow *g, const void *w);
/* Forward (not turned), of images, of few outputs. Compute capability 9.0 alone. */
int k_stacked_takes(const struct k_narrow *g);
int k_stacked_run(void *stream, const struct k_narrow *g, const void *w);

#ifdef __cplusplus
}
#endif
#endif
