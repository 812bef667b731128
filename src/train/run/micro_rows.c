/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks send their sums with the number of their branch,
 * since ranks need not be in the order of their branches. */
#include "train/run/micro_rows.h"

#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "plan/sums/micro_tree.h"

void micro_rows_init(struct micro_rows *r, int64_t micros, int64_t n)
{
	*r = (struct micro_rows){ micros, n, mem_calloc((size_t)micros * (size_t)n + 1, sizeof *r->v) };
}

void micro_rows_release(struct micro_rows *r)
{
	mem_free(r->v);
}

static void add(double *to, const double *from, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		to[i] += from[i];
}

void micro_rows_add(struct micro_rows *r, int64_t micro, const double *row)
{
	add(r->v + micro * r->n, row, r->n);
}

/* Rows of n numbers; the sum is in the first. */
static void sum_tree(double *v, int64_t rows, int64_t n)
{
	for (int64_t apart = 1; apart < rows; apart *= 2)
		for (int64_t i = 0; i + apart < rows; i += 2 * apart)
			add(v + i * n, v + (i + apart) * n, n);
}

void micro_rows_sum(struct micro_rows *r, const struct run_config *c, const struct device *dev,
                    struct comm *comm, double *row)
{
	int64_t n = r->n, ranks = comm_count(comm), each = n + 1;
	sum_tree(r->v, r->micros, n);
	memcpy(row, r->v, (size_t)n * sizeof *row);
	if (!comm_many(comm))
		return;
	double *mine = mem_calloc((size_t)each, sizeof *mine),
	       *all = mem_calloc((size_t)(each * ranks), sizeof *all);
	double *placed = mem_calloc((size_t)(n * ranks) + 1, sizeof *placed);
	mine[0] = micro_tree_place(c, dev, comm);
	memcpy(mine + 1, row, (size_t)n * sizeof *row);
	comm_all_gather(comm, mine, (size_t)each * sizeof *mine, all, "the sums of the evaluation");
	for (int64_t i = 0; i < ranks; i++)
		memcpy(placed + (int64_t)all[i * each] * n, all + i * each + 1, (size_t)n * sizeof *placed);
	sum_tree(placed, ranks, n);
	memcpy(row, placed, (size_t)n * sizeof *row);
	mem_free(mine);
	mem_free(all);
	mem_free(placed);
}
