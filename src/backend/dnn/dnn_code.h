/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A cache of oneDNN's primitives, by problem, for the life of the process. A query takes tens of
 * microseconds and code generation milliseconds, and the same convolution is queried many times: as
 * a candidate, in the choice of layouts and in the plan, for equal layers, in training and
 * evaluation. Used by dnn.c and dnn_prim.c only. */
#ifndef DLX_BACKEND_DNN_DNN_CODE_H
#define DLX_BACKEND_DNN_DNN_CODE_H

#include <stdbool.h>
#include <stddef.h>

#include <dnnl.h>

struct dnn_code {
	dnnl_status_t status;            /* the result of the query; pd is valid on success */
	dnnl_primitive_desc_t pd;
	dnnl_primitive_t prim;           /* NULL before dnn_code_generate */
	bool asked;                      /* the query was made: status and pd are set */
	bool wanted;                     /* a kernel will run it, so its code is to be generated */
	struct dnn_code *next;
};

/* The oneDNN primitive of a problem (key: n bytes, copied), created the first time. Any thread may
 * call it; a thread that requests a problem that another thread is creating waits. */
typedef dnnl_status_t dnn_ask(const void *question, dnnl_primitive_desc_t *pd);
struct dnn_code *dnn_code_get(const void *key, size_t n, dnn_ask *ask, const void *question);
/* Enters code under a second key, unless that key has an entry. */
void dnn_code_alias(const void *key, size_t n, struct dnn_code *code);
/* Makes the primitives of all wanted code, in parallel. */
dnnl_status_t dnn_code_generate(void);

/* --- dnn_prim.c --- */

#define DNN_MAXARG 4                     /* arguments without scratchpad */

/* One node's use of a shared primitive. */
struct dnn_prim {
	struct dnn_code *code;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_memory_t mem[DNN_MAXARG + 1];         /* the last one in use is the scratchpad */
	void *handle[DNN_MAXARG + 1];              /* the addresses that mem[] has now */
	dnnl_exec_arg_t exec[DNN_MAXARG + 1];
	int arg[DNN_MAXARG];                       /* DNNL_ARG_* */
	int narg, nexec;
	size_t ws_bytes;
	bool one_thread;                           /* runs on one thread, as it was planned for */
	uint64_t problem;                          /* the key for passed_over: a hash of the
	                                            * computation */
	int added;                                 /* number of spatial axes of extent 1 added in front
	                                            * for oneDNN (dnn_deeper.h) */
};

/* From now on this thread's calls of oneDNN use n threads; returns the number before. */
int dnn_set_threads(int n);

/* args: DNNL_ARG_* in the caller's order, 0 for one that is not there. */
struct dnn_prim *dnn_prim_make(struct dnn_code *code, dnnl_engine_t engine, dnnl_stream_t stream,
                               int narg, const int *args);
/* Raises the error for a status of oneDNN; 0 for success. */
int dnn_fail(dnnl_status_t st, const char *what);

#endif
