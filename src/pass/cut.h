/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which rows of every tensor of a graph each subdomain has, where one sample is cut over several
 * ranks by a grid of planes (Oyama et al., TPDS 2021; Dryden et al., IPDPS 2019). No pass: it
 * changes nothing; pass/partition.h makes the graph of one subdomain of it.
 *
 * Planes lie at multiples of the total stride of the input, as even as possible, and at the same
 * places, divided by its step, in each tensor that follows. So every level begins where windows
 * begin, skips meet, and odd extents cost the last subdomain a row. A level of which a subdomain
 * would have no row is not cut: all subdomains have all of it. */
#ifndef DLX_PASS_CUT_H
#define DLX_PASS_CUT_H

#include "graph/op.h"
#include "pass/receptive_field.h"
#include "pass/rewrite.h"

#define CUT_AXES RECEPTIVE_AXES

struct cut_grid {
	int axes;                    /* spatial axes of a sample */
	int parts[CUT_AXES];         /* subdomains along each, outermost first */
};

/* Rows lo to hi - 1. */
struct cut_rows {
	int64_t lo, hi;
};

/* Neighbours of a tensor are num / den inputs apart; num 0: it has no such axis. */
struct cut_step {
	int64_t num, den;
};

/* How a node is computed where one of its inputs is cut. */
enum cut_way {
	CUT_WHOLE,                   /* of all of its inputs, by every subdomain */
	CUT_ROWS,                    /* the subdomain's rows, of the rows that these read */
	CUT_NORM,                    /* the same, and sums over all places are the group's */
	CUT_REDUCED,                 /* from the subdomain's rows, and then summed over the group */
	CUT_SHARE,                   /* from the subdomain's rows: a mean with its weight, which are
	                              * summed over all ranks anyway */
	CUT_COUNT                    /* the same of counts */
};

struct cut {
	const struct graph *g;
	struct cut_grid grid;
	int64_t stride[CUT_AXES];            /* planes lie at its multiples */
	const int64_t *bound[CUT_AXES];      /* of the input: parts + 1 of them */
	struct cut_tensor {
		bool rows;                       /* it is cut */
		bool once;                       /* counts, which add up over ranks, of what each subdomain
		                                  * has all of: so those of one of them are to be added */
		int first;                       /* its axis that is the first spatial one */
		struct cut_step step[CUT_AXES];
		int64_t extent[CUT_AXES];        /* of the whole */
	} *tensor;                           /* by tensor */
	enum cut_way *way;                   /* by node */
	struct readers readers;              /* of g */
};

/* Number of subdomains. */
static inline int cut_parts(const struct cut_grid *grid)
{
	return grid->parts[0] * grid->parts[1] * grid->parts[2];
}

/* Cuts g, a graph as its builder makes it, of which `input` is the batch (N, C, spatial axes) and
 * `target` (or NONE) what `output` is compared with: cut as that is, if it has its places. Lists in
 * a. E_SHAPE at g->cur_loc if a subdomain would have no row of the input. */
int cut_find(struct cut *c, struct arena *a, const struct graph *g, tid input, tid target,
             tid output, const struct cut_grid *grid);

/* The place of subdomain p, of cut_parts(grid), in the grid; the innermost axis counts fastest. */
void cut_place(const struct cut_grid *grid, int p, int place[CUT_AXES]);
/* The rows of tensor t, which is cut, along spatial axis k in the j-th part of that axis. */
struct cut_rows cut_rows(const struct cut *c, tid t, int k, int j);
/* The rows of in[i] that node n reads there; not cut to the tensor: rows beyond it are padding.
 * False: all of that axis. */
bool cut_reads(const struct cut *c, const struct node *n, int i, int k, int j,
               struct cut_rows *rows);
/* The same without padding; of an axis that is read whole all of it. */
struct cut_rows cut_needs(const struct cut *c, const struct node *n, int i, int k, int j);
/* Whether each part needs the rows of in[i], a tensor that is cut, which it has. */
bool cut_has_needs(const struct cut *c, const struct node *n, int i, int k);

#endif
