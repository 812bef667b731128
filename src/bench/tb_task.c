/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/tb_task.h"

#include "base/err.h"

int tb_refuse(const struct tb_graph *g, int64_t t, int64_t i, int64_t from, const void *payload)
{
	const int64_t *v = payload;
	int64_t k = 0;
	while (v[2 * k] == t - 1 && v[2 * k + 1] == from)
		k++;
	return ERR(E_BUG, NULL, "graph %lld: task (%lld, %lld) expects (%lld, %lld) as pair %lld of an "
	           "input, but got (%lld, %lld)", (long long)g->index, (long long)t, (long long)i,
	           (long long)t - 1, (long long)from, (long long)k, (long long)v[2 * k],
	           (long long)v[2 * k + 1]);
}
