/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs of neighbours are one item, so that a report about a thousand ranks stays a line. */
#include "comm/ranks_text.h"

#include <stdio.h>

#include "comm/world.h"

#define ITEMS 8

void ranks_text(struct buf *out, const int *rank, int n)
{
	int items = 0;
	for (int i = 0; i < n; items++) {
		int last = i;
		while (last + 1 < n && rank[last + 1] == rank[last] + 1)
			last++;
		if (items == ITEMS) {
			buf_printf(out, " and %d more", n - i);
			return;
		}
		buf_printf(out, last > i ? "%s%d-%d" : "%s%d", items ? ", " : "", rank[i], rank[last]);
		i = last + 1;
	}
}

const char *ranks_text_who(const struct comm *c, int local, char *buf, size_t n)
{
	if (c->state->liveness.n)
		return liveness_name(&c->state->liveness, local, buf, n);
	snprintf(buf, n, "rank %d", comm_rank_of(c, local));
	return buf;
}
