/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank sends its two numbers and its host's name; all ranks sort them in the same order. */
#include "train/diagnose/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct measured {
	double step, work;
	int rank;
	char host[64];
};

static int by_work(const void *a, const void *b)
{
	const struct measured *x = a, *y = b;
	return x->work != y->work ? (x->work > y->work) - (x->work < y->work) : x->rank - y->rank;
}

void spread_gather(struct spread *s, struct comm *c, double step, double waited)
{
	struct measured mine = { .step = step, .work = step > waited ? step - waited : 0,
		.rank = c->rank };
	struct measured *all = mem_calloc((size_t)c->size, sizeof *all);
	memcpy(mine.host, c->host_name, sizeof mine.host);
	comm_all_gather(c, &mine, sizeof mine, all, "the times of ranks");
	qsort(all, (size_t)c->size, sizeof *all, by_work);
	const struct measured *last = &all[c->size - 1];
	*s = (struct spread){ .ranks = c->size, .least = all[0].work,
		.median = (all[(c->size - 1) / 2].work + all[c->size / 2].work) / 2, .most = last->work,
		.slowest = last->rank };
	memcpy(s->host, last->host, sizeof s->host);
	for (int r = 0; r < c->size; r++) {
		s->step += all[r].step / c->size;
		s->exposed += all[r].step > 0 ? (1 - all[r].work / all[r].step) / c->size : 0;
	}
	mem_free(all);
}

void spread_json(const struct spread *s, struct buf *out)
{
	buf_json_member(out, "step_seconds", s->step);
	buf_json_member(out, "work_min", s->least);
	buf_json_member(out, "work_median", s->median);
	buf_json_member(out, "work_max", s->most);
	buf_json_member(out, "exposed", s->exposed);
	buf_printf(out, ", \"slowest_rank\": %d, \"slowest_host\": ", s->slowest);
	buf_json_string(out, s->host);
}
