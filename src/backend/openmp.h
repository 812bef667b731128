/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The threads that compute: OpenMP's, whose variables libgomp takes as they are, however many
 * threads or little memory for each they ask for. */
#ifndef DLX_BACKEND_OPENMP_H
#define DLX_BACKEND_OPENMP_H

/* OMP_NUM_THREADS, and no more than OpenMP's other variables let a loop have; by default a thread
 * for each processor of this process. E_USAGE for what no thread could be started with. */
int openmp_threads(int *out);

#endif
