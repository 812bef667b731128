/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Internals of an executable plan: exec.c makes and runs it, exec_trial.c measures single nodes,
 * exec_sleep.c replaces kernels by sleep. */
#ifndef DLX_BACKEND_EXEC_STATE_H
#define DLX_BACKEND_EXEC_STATE_H

#include "backend/exec.h"
#include "backend/second.h"

struct exec_step {
	int (*run)(const struct kplan *k, const struct kargs *a);
	struct kplan *k;
	struct kargs args;
	unsigned phase_bit;
	int aside;                   /* its number on the second stream, from 1; 0: on the main one */
	int awaits;                  /* it waits for the nodes of the second stream up to this number */
};

struct exec {
	struct graph *g;
	const struct device *dev;
	struct plan_env env;
	struct arena *arena;          /* plan lifetime */
	struct kplan *plan;           /* by node id */
	int64_t *ws_offset;           /* by node id */
	struct exec_step *step;       /* nodes that run */
	int nstep;
	struct second second;         /* bookkeeping of the second stream */
	int intake;                   /* number of steps at the beginning that are not captured: those
	                               * that read read_first inputs, whose buffers the next batch then
	                               * overwrites */
	void **pointer;               /* device address by tensor id, set by exec_bind */
	struct inputs *inputs;        /* their memory and that of constants; NULL before bind */
	void *captured[1 << PHASE_COUNT];    /* the captured graphs, by mask of phases */
	bool walked[1 << PHASE_COUNT];       /* by mask: it has run once without capture */
	struct store *store;
	bool setup, updates;          /* whether there are nodes that run for SETUP; nodes that write
	                               * params */
	uint64_t seen;                /* the store's change number when copies of params were current */
	double *seconds;              /* by node id */
	bool profiling, watched;
	const struct exec_step *first_update;    /* the first step that overwrites a value kept in the
	                                          * store; NULL: none */
	const struct exec_look *look; /* exec_run_looking; else NULL */
	double *sleep;                /* by node id: seconds (exec_sleep); NULL: kernels run */
	int64_t due;                  /* when the nodes that were replaced by sleep so far end */
};

/* The kernel of a node on e's device. */
const struct kernel *exec_kernel_of(const struct exec *e, const struct node *n);
/* Gives each tensor and each workspace its offset. */
int exec_plan_memory(struct exec *e);
/* Adds the node and its place to the error rc; returns rc. */
int exec_explain(int rc, const struct node *n);

#endif
