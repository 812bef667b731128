/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The architectures that this program's device code was compiled for, and whether the current GPU
 * can run it. A separate header, so that a change to it does not recompile the kernels. */
#ifndef DLX_CUDA_PROBE_H
#define DLX_CUDA_PROBE_H

#ifdef __cplusplus
extern "C" {
#endif

/* 0 (cudaSuccess) if the current GPU can run this program's kernels; else the runtime's status. */
int k_probe(void);
/* "800,900,1000": compute capabilities times 100, the newest of them as PTX too. */
const char *k_probe_archs(void);

#ifdef __cplusplus
}
#endif
#endif
