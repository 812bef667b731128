/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A planned graph made ready to run: kernels planned, workspace booked, offsets turned into
 * pointers; running it is a loop over an array.
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

/* g must have passed layout and sched; memplan runs in here, after the kernels have booked
 * workspace. Refusals of kernels carry the layer's place. Borrows g, dev and env's wisdom. */
int exec_new(struct exec **out, struct graph *g, const struct device *dev,
             const struct plan_env *env);
void exec_free(struct exec *e);                       /* NULL is fine */
size_t exec_arena_bytes(const struct exec *e);
#define EXEC_ARENA_SLACK 64    /* bytes that an arena is longer, so that none is empty */
/* arena: exec_arena_bytes bytes, 64-byte aligned. Adds missing params and states to store
 * (store_add) and makes room for inputs and constants first. sums: for nodes that all-reduce,
 * borrowed; NULL: one rank. */
int exec_bind(struct exec *e, struct store *store, void *arena, const struct links *sums);

/* Runs the nodes whose phase is in the mask (bit = 1 << phase), in order; on a GPU the first run of
 * a mask launches them one by one, the second captures them and all later ones launch the graph:
 * but for the nodes up to the last one that reads an input that is read_first, which are always
 * launched one by one. Before them, where values in the store were changed by anything but this
 * plan, it runs those of ops flagged OP_SETUP, which belong to no step. On failure the context
 * names node, layer and place. */
int exec_run(struct exec *e, unsigned phases);
#define EXEC_MICRO ((1u << PHASE_FORWARD) | (1u << PHASE_BACKWARD))
#define EXEC_UPDATE (1u << PHASE_UPDATE)
/* The same without capture (eager), where other ranks run another plan: NCCL wants an all-reduce
 * captured on all ranks or on none, and launched by all together. */
int exec_run_eager(struct exec *e, unsigned phases);

/* The same, node by node; `before` is called before each, `after` after it, when its outputs are
 * there: those of several ranks' sums that it begins are not. */
struct exec_look {
	void (*before)(void *user, const struct node *n);
	void (*after)(void *user, const struct node *n);
	void *user;
};
int exec_run_looking(struct exec *e, unsigned phases, const struct exec_look *look);

/* Host values into an input that is not prefetched / out of any tensor that still holds its value,
 * plain layout, converted to/from dtype t. Only a device with a memory of its own can fail. */
int exec_write(struct exec *e, tid t, enum dtype type, const void *plain);
/* For prefetched inputs, on a device with memory of its own: their next values are copied while a
 * run goes on (exec_prefetch, after exec_prefetch_begin for all of them, which waits for those
 * before), and are there for the run that follows exec_take. What they are copied from must not
 * change before the next exec_prefetch_begin, where it is pinned memory, and inputs that are
 * read_first cannot be read any more. */
int exec_prefetch_begin(struct exec *e);
int exec_prefetch(struct exec *e, tid t, const struct host_values *v);
int exec_take(struct exec *e, tid t);
int exec_read(const struct exec *e, tid t, enum dtype type, void *plain);
void *exec_pointer(const struct exec *e, tid t);      /* in the device's memory */

/* Single nodes of a plan that is not bound, in memory of the caller's (exec_trial_bytes, 64-byte
 * aligned) whatever is there: to see how long they take. Not for nodes that wait for other
 * ranks. Between exec_trial_begin, also where that fails, and exec_trial_end, after which the
 * plan has no more memory than before. */
int exec_trial_begin(struct exec *e);
size_t exec_trial_bytes(const struct exec *e, nid n);
int exec_trial(struct exec *e, nid n, void *memory, double *seconds);
void exec_trial_end(struct exec *e);

/* What kernel a node got ("jit:avx512", ...), for --plan. */
const char *exec_impl(const struct exec *e, nid n);
const struct kplan *exec_kernel(const struct exec *e, nid n);   /* as planned */
double exec_work(const struct exec *e, nid n);         /* struct kplan's */
size_t exec_workspace(const struct exec *e, nid n);   /* bytes */
int64_t exec_workspace_offset(const struct exec *e, nid n);   /* in the arena; -1 if it has none */

/* Per-node wall time. on: start counting from zero.
 * seconds[i] of node i, summed over `runs` runs. */
void exec_profile(struct exec *e, bool on);
const double *exec_profile_seconds(const struct exec *e);
/* The same on the GPU's own clock, for which all phases are captured anew and replayed, watched by
 * the device's profiler. begin: E_UNAVAILABLE with the reason where that cannot be; then replays,
 * also where begin failed, ends the watch and gives what was seen, zeroed if nothing was. runs: 0:
 * none. All ranks replay, or none. */
int exec_watch_begin(struct exec *e);
int exec_watch_replays(struct exec *e, int runs, struct replay *out);

#endif
