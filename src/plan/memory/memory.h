/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory of a step: what it needs, and recomputation where that is more than it may have. */
#ifndef DLX_PLAN_MEMORY_H
#define DLX_PLAN_MEMORY_H

#include "backend/exec.h"
#include "pass/recompute.h"

/* The memory limit asked for. */
struct memory_limit {
	int64_t limit;                   /* bytes of a step, all together; INT64_MIN: no limit */
	int64_t fixed;                   /* what of that is not for the arena, which all plans of a run
	                                  * share; 0: what this plan has */
	bool without_inputs;             /* that is without inputs: evaluations alone go where they
	                                  * went beside training */
	const struct loc *loc;           /* where it is asked */
	int64_t batch;                   /* for messages */
};

/* The result of memory_fit. */
struct memory_fit {
	int64_t fixed;                   /* bytes of parameters, states, inputs and constants */
	int64_t kept;                    /* bytes of the arena if nothing is recomputed */
	struct recompute_choice choice;  /* buffers 0: nothing is */
	int64_t least;                   /* of a limit that is refused: bytes of a step that would do;
	                                  * else 0 */
};

/* Memory against time: how large the arena is for several amounts of recomputation. */
enum { MEMORY_ROWS = 5 };
struct memory_row {
	const char *name;
	struct recompute_choice choice;
};
struct memory_sweep {
	int n;                           /* rows; 0: no sweep was asked for */
	struct memory_row row[MEMORY_ROWS];   /* with nothing recomputed first, the least last */
};

/* *e is the executor of g. If its step needs more than the limit, recomputes
 * activations in g and sets *e to NULL: g must be planned anew. E_CONFIG,
 * with the least that a step can do with, if that is not enough. */
int memory_fit(struct exec **e, struct graph *g, const struct memory_limit *w,
               struct memory_fit *out);
/* *arena: the bytes that are enough for any plan of g if as much as possible is computed again. g
 * keeps its nodes, but not the places of its buffers. */
int memory_least(const struct exec *e, struct graph *g, int64_t *arena);
/* Fills in what is possible. g stays as it is. */
void memory_sweep(struct memory_sweep *s, const struct exec *e, struct graph *g);

#endif
