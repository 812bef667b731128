/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An end for compiling that has none: what NVRTC has begun cannot be stopped, and a thread that is
 * left in it may hold locks of cuDNN, so that the process ends. */
#ifndef DLX_BACKEND_CUDA_CUDNN_LIMIT_H
#define DLX_BACKEND_CUDA_CUDNN_LIMIT_H

#include <pthread.h>
#include <stdbool.h>

struct cudnn_limit {
	double seconds;
	void (*note)(void *arg);     /* when they are over, on a thread of its own, before the process
	                              * ends: keeps, and says on stderr, what did not end */
	void *arg;
	/* private */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t ended;
	bool running, over;
};
/* If that takes longer than l->seconds until cudnn_limit_end, the process ends with the status of
 * E_UNAVAILABLE. l: with its first three members set, stays in place meanwhile. */
void cudnn_limit_begin(struct cudnn_limit *l);
void cudnn_limit_end(struct cudnn_limit *l);

#endif
