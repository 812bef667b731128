/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The number of OpenMP threads that compute. dlx checks OpenMP's environment variables itself,
 * since libgomp accepts any number of threads and any stack size. */
#ifndef DLX_BACKEND_OPENMP_H
#define DLX_BACKEND_OPENMP_H

/* *out: OMP_NUM_THREADS, limited by OpenMP's other variables; by default one thread for each
 * processor of this process. E_USAGE for values with which no thread could start. */
int openmp_threads(int *out);
/* Gives this thread, one of `parts` that compute concurrently, its share of the threads that it
 * would compute with, at least one. */
void openmp_divide(int parts);

#endif
