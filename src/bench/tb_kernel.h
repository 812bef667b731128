/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a task computes: Task Bench's kernels, and what they count for. */
#ifndef DLX_BENCH_TB_KERNEL_H
#define DLX_BENCH_TB_KERNEL_H

#include "bench/tb_graph.h"

struct tb_kernel {
	const char *name;
	const char *doc;
	bool scratch;                /* works on the task's scratch memory */
	/* The result is returned so that no compiler drops the work. */
	double (*run)(const struct tb_graph *g, int64_t t, int64_t i, void *scratch);
	/* Flops and bytes of task (t, i); NULL: 0. */
	int64_t (*flops)(const struct tb_graph *g, int64_t t, int64_t i);
	int64_t (*bytes)(const struct tb_graph *g);
};

const struct tb_kernel *tb_kernel_find(const char *name);    /* NULL: unknown */
const struct tb_kernel *tb_kernel_at(int i);                 /* NULL at the end */

#endif
