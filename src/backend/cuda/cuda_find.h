/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether there is a GPU that this program can use, and if
 * not, why, as a sentence with a remedy. */
#ifndef DLX_BACKEND_CUDA_CUDA_FIND_H
#define DLX_BACKEND_CUDA_CUDA_FIND_H

/* The GPUs that this process sees, at least one. E_UNAVAILABLE:
 * there is no driver, it is too old, or it shows none. */
int cuda_find(int *n);
/* Whether the current GPU, of this name and compute capability
 * (times 10), can run the kernels of this program. */
int cuda_find_code(const char *name, int arch);
/* The driver's CUDA version and a hash of its own version text ("13000 1f0c..."). */
#define CUDA_DRIVER 32
void cuda_find_driver(char out[CUDA_DRIVER]);

#endif
