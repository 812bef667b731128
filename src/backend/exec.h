/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An executable plan of a graph: kernels are planned, workspace is allotted, offsets are turned
 * into pointers. To run it is a loop over an array of kernels.
 *
 *   exec_new     kernel plans, workspace, memory plan        (allocates)
 *   exec_bind    pointers into an arena of exec_arena_bytes  (several execs that never run at once
 *                may share one arena)
 *   exec_run     the loop                                    (allocates nothing) */
#ifndef DLX_BACKEND_EXEC_H
#define DLX_BACKEND_EXEC_H

#include "backend/inputs.h"
#include "backend/plan_env.h"
#include "backend/store.h"

struct exec;

/* g must have layouts and its final order. memplan is called here, after the kernels have stated
 * their workspace. Errors of kernels name the layer and its line in the config. Borrows g, dev and
 * env's wisdom. */
int exec_new(struct exec **out, struct graph *g, const struct device *dev,
             const struct plan_env *env);
void exec_free(struct exec *e);                       /* NULL is fine */
size_t exec_arena_bytes(const struct exec *e);
#define EXEC_ARENA_SLACK 64    /* extra bytes of every arena, so that none is empty */
/* arena: exec_arena_bytes bytes, 64-byte aligned. Adds missing params and states to store
 * (store_add) and makes room for inputs and constants first. sums: for nodes that all-reduce,
 * borrowed; NULL: one rank. */
int exec_bind(struct exec *e, struct store *store, void *arena, const struct links *sums);

/* Runs the nodes whose phase is in the mask (bit = 1 << phase), in order. On a GPU the first run of
 * a mask launches them one by one, the second captures them in a CUDA graph, and later ones launch
 * that graph. Nodes up to the last reader of an input that is read_first are always launched one by
 * one. If anything but this plan has changed values in the store, the nodes of ops with OP_SETUP
 * run first. On failure the error's context names node, layer and line. */
int exec_run(struct exec *e, unsigned phases);
#define EXEC_MICRO ((1u << PHASE_FORWARD) | (1u << PHASE_BACKWARD))
#define EXEC_UPDATE (1u << PHASE_UPDATE)
/* The same without graph capture, for steps in which other ranks run a different plan: NCCL
 * requires that an all-reduce is captured on all ranks or on none. */
int exec_run_eager(struct exec *e, unsigned phases);

/* After exec_bind, on a device without a driver: node i takes seconds[i] and computes nothing, save
 * for nodes that meet other ranks, which run. */
void exec_sleep(struct exec *e, const double *seconds);

/* The same, node by node: calls `before` before each node and `after` when it has finished and its
 * outputs are in memory. A node that only starts a sum over ranks has no result then. */
struct exec_look {
	void (*before)(void *user, const struct node *n);
	void (*after)(void *user, const struct node *n);
	void *user;
};
int exec_run_looking(struct exec *e, unsigned phases, const struct exec_look *look);

/* exec_write sets an input that is not prefetched; exec_read (below) reads any tensor whose value
 * is not overwritten yet. Host arrays are row-major, of the given type. Only devices with their own
 * memory can fail. */
int exec_write(struct exec *e, tid t, enum dtype type, const void *plain);
/* For prefetched inputs, on a device with its own memory. exec_prefetch_begin waits for the
 * previous copies; then exec_prefetch copies the next value of each input while a run goes on;
 * after exec_take the following runs use it. Source memory that is pinned must not change before
 * the next exec_prefetch_begin. After exec_prefetch the old value of a read_first input is lost. */
int exec_prefetch_begin(struct exec *e);
int exec_prefetch(struct exec *e, tid t, const struct host_values *v);
int exec_take(struct exec *e, tid t);
int exec_read(const struct exec *e, tid t, enum dtype type, void *plain);
void *exec_pointer(const struct exec *e, tid t);      /* address in the device's memory */

/* Measures single nodes of a plan that is not bound, on whatever data is in the caller's memory
 * (exec_trial_bytes, 64-byte aligned). Not for nodes that wait for other ranks. exec_trial_end,
 * which must be called even if exec_trial_begin fails, frees what the trials have allocated.
 * cached: by operand, inputs first, whether it is read before the measurement begins. */
int exec_trial_begin(struct exec *e);
size_t exec_trial_bytes(const struct exec *e, nid n);
int exec_trial(struct exec *e, nid n, const bool *cached, void *memory, double *seconds);
void exec_trial_end(struct exec *e);

/* The implementation that node n uses ("jit:avx512", ...), for --plan. */
const char *exec_impl(const struct exec *e, nid n);
const struct kplan *exec_kernel(const struct exec *e, nid n);   /* as planned */
double exec_work(const struct exec *e, nid n);         /* struct kplan's */
size_t exec_workspace(const struct exec *e, nid n);   /* bytes */
int64_t exec_workspace_offset(const struct exec *e, nid n);   /* bytes into the arena; -1 if node n
                                                               * has no workspace */

/* Per-node wall time. on: start counting from zero.
 * seconds[i] of node i, summed over `runs` runs. */
void exec_profile(struct exec *e, bool on);
const double *exec_profile_seconds(const struct exec *e);
/* The same by the GPU's clock: captures all phases anew and replays them under the device's
 * profiler. exec_watch_begin: E_UNAVAILABLE with the reason if there is none. exec_watch_replays
 * runs the graph `runs` times (0: not at all), stops the profiler and fills *out, zeroed if nothing
 * was recorded; call it even if exec_watch_begin has failed. All ranks must replay, or none. */
int exec_watch_begin(struct exec *e);
int exec_watch_replays(struct exec *e, int runs, struct replay *out);

#endif
