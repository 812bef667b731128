/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a step, and recomputation of activations if a step needs more than its limit. */
#ifndef DLX_PLAN_MEMORY_H
#define DLX_PLAN_MEMORY_H

#include "backend/exec.h"
#include "pass/recompute.h"

/* The memory limit that was requested. */
struct memory_limit {
	int64_t limit;                   /* all bytes of a step; INT64_MIN: no limit */
	int64_t fixed;                   /* bytes of it that are not for the arena, which all plans of a
	                                  * run share; 0: as much as this plan needs outside the
	                                  * arena */
	bool without_inputs;             /* `fixed` does not include inputs */
	const struct loc *loc;           /* place of the limit in the config */
	int64_t batch;                   /* batch size, for messages */
};

/* The result of memory_fit. */
struct memory_fit {
	int64_t fixed;                   /* bytes of parameters, states, inputs and constants */
	int64_t kept;                    /* bytes of the arena without recomputation */
	struct recompute_choice choice;  /* what is recomputed; buffers 0: nothing */
	int64_t least;                   /* if the limit is refused, the smallest limit that would do,
	                                  * in bytes of a step; else 0 */
};

/* The trade of memory against time: the size of the arena for several amounts of recomputation. */
enum { MEMORY_ROWS = 5 };
struct memory_row {
	const char *name;
	struct recompute_choice choice;
};
struct memory_sweep {
	int n;                           /* number of rows; 0: no sweep was requested */
	struct memory_row row[MEMORY_ROWS];   /* first without recomputation, last with the smallest
	                                       * arena */
};

/* *e is the executor of g. If its step needs more than the limit, changes g so that activations are
 * recomputed, and sets *e to NULL: g needs a new executor. E_CONFIG, with the smallest possible
 * limit, if recomputation does not save enough. */
int memory_fit(struct exec **e, struct graph *g, const struct memory_limit *w,
               struct memory_fit *out);
/* Sets *arena to bytes that are enough for g if as much as possible is recomputed. g keeps its
 * nodes, but its buffers lose their places in the arena. */
int memory_least(const struct exec *e, struct graph *g, int64_t *arena);
/* Fills in *s. Does not change g. */
void memory_sweep(struct memory_sweep *s, const struct exec *e, struct graph *g);

#endif
