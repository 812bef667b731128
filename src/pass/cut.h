/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spatial partition: which rows of every tensor each subdomain holds when a grid of planes divides
 * each sample among several ranks (Oyama et al., TPDS 2021; Dryden et al., IPDPS 2019). This is an
 * analysis, not a pass: it leaves the graph as it is. pass/partition.h makes the graph of one
 * subdomain from it.
 *
 * The planes lie at multiples of the network's total stride in the input, spaced as evenly as
 * possible. In each later tensor they lie at the same positions divided by the tensor's step. So a
 * subdomain begins where a window begins on every level, the tensors of a skip connection are cut
 * at the same rows, and an odd extent costs the last subdomain one row. A level on which some
 * subdomain would have no row is not cut: all subdomains hold all of it. */
#ifndef DLX_PASS_CUT_H
#define DLX_PASS_CUT_H

#include "graph/op.h"
#include "pass/receptive_field.h"
#include "pass/rewrite.h"

#define CUT_AXES RECEPTIVE_AXES

struct cut_grid {
	int axes;                    /* number of spatial axes of a sample */
	int parts[CUT_AXES];         /* number of subdomains along each axis, outermost axis first */
};

/* The interval of rows lo to hi - 1. */
struct cut_rows {
	int64_t lo, hi;
};

/* Distance of two neighbouring elements of a tensor, num / den, in elements of the input. num 0:
 * the tensor has no such axis. */
struct cut_step {
	int64_t num, den;
};

/* How each subdomain computes a node of which at least one input is cut. */
enum cut_way {
	CUT_WHOLE,                   /* every subdomain gathers the whole inputs and computes the whole
	                              * output */
	CUT_ROWS,                    /* a subdomain computes its rows of the output, from the input rows
	                              * that they need */
	CUT_NORM,                    /* as CUT_ROWS, and sums over positions are all-reduced over the
	                              * group of subdomains */
	CUT_REDUCED,                 /* a reduction: partial results of the subdomains are summed over
	                              * the group */
	CUT_SHARE,                   /* a mean and its weight over the subdomain's rows; all ranks'
	                              * pairs are combined later anyway */
	CUT_COUNT                    /* counts over the subdomain's rows, which are summed over all
	                              * ranks later anyway */
};

/* An exchange of rows along one axis, as pass/partition.h emits it. Its index in cut.exchange is
 * the number of its messages (op/exchange.h). */
struct cut_exchange {
	const char *layer;           /* the first layer that reads the rows */
	int axis;                    /* spatial axis along which rows are exchanged */
	bool gathers;                /* every subdomain gets the whole axis, not only rows near its
	                              * own */
};

/* A node that every subdomain computes as a whole, although an input of it is computed in parts. */
struct cut_whole {
	const char *layer, *op;
	bool summed;                 /* the parts are summed over the subdomains, not gathered */
	int64_t extent[CUT_AXES];    /* of the whole input, in rows; summed: 0 */
};

struct cut {
	const struct graph *g;
	struct cut_grid grid;
	int64_t stride[CUT_AXES];            /* total stride in rows of the input; planes lie at its
	                                      * multiples */
	const int64_t *bound[CUT_AXES];      /* row numbers of the planes in the input, parts + 1 with
	                                      * both ends */
	struct cut_tensor {
		bool rows;                       /* each subdomain holds only some rows of this tensor */
		bool once;                       /* counts that are summed over ranks, although each
		                                  * subdomain has counted the whole: only one subdomain's
		                                  * may be added */
		int first;                       /* number of the tensor's first spatial axis */
		struct cut_step step[CUT_AXES];
		int64_t extent[CUT_AXES];        /* rows of the tensor in the whole sample */
	} *tensor;                           /* indexed by tensor id */
	enum cut_way *way;                   /* indexed by node id */
	struct readers readers;              /* the readers of each tensor of g */
	struct cut_exchange *exchange;       /* set by partition_graph and partition_gather; cut_find
	                                      * leaves both lists empty */
	int exchanges;
	struct cut_whole *whole;             /* in the order of the graph */
	int wholes;
};

/* Number of subdomains. */
static inline int cut_parts(const struct cut_grid *grid)
{
	return grid->parts[0] * grid->parts[1] * grid->parts[2];
}

/* Plans the partition of g, the graph as the network's builder makes it. `input` is the batch (N,
 * C, spatial axes); `target` (or NONE) is what the loss compares `output` with, and is cut in the
 * same manner if it has the same positions. Lists are allocated in a. E_SHAPE at g->cur_loc if a
 * subdomain would have no row of the input. */
int cut_find(struct cut *c, struct arena *a, const struct graph *g, tid input, tid target,
             tid output, const struct cut_grid *grid);

/* The coordinates in the grid of subdomain p, from 0 to cut_parts(grid) - 1; the innermost axis
 * varies fastest. */
void cut_place(const struct cut_grid *grid, int p, int place[CUT_AXES]);
/* The rows of tensor t (which is cut) along spatial axis k that part j of that axis holds. */
struct cut_rows cut_rows(const struct cut *c, tid t, int k, int j);
/* The rows of in[i] along axis k that node n reads to compute its rows in part j. The interval is
 * not clipped to the tensor: rows outside it are padding. Returns false if n reads the whole
 * axis. */
bool cut_reads(const struct cut *c, const struct node *n, int i, int k, int j,
               struct cut_rows *rows);
/* As cut_reads, clipped to the tensor; the whole axis if n reads all of it. */
struct cut_rows cut_needs(const struct cut *c, const struct node *n, int i, int k, int j);
/* Whether every part needs, of the cut tensor in[i], only rows that it holds itself. */
bool cut_has_needs(const struct cut *c, const struct node *n, int i, int k);

#endif
