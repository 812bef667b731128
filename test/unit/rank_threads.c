/* SPDX-License-Identifier: BSD-3-Clause */
#include "rank_threads.h"

#include "cases.h"
#include "base/err.h"
#include "comm/rank_threads.h"

struct team {
	size_t bytes;
	const struct reducer_bucket *group;
	int groups;
	int (*work)(struct reducer *r, int rank, void *arg);
	void *arg;
};

static int run(struct comm *c, void *arg)
{
	const struct team *t = arg;
	struct reducer *r;
	TRY(reducer_new(&r, c, t->bytes, t->group, t->groups, false));
	int rc = t->work(r, c->rank, t->arg);
	reducer_free(r);
	return rc;
}

void rank_threads(int ranks, size_t bytes, const struct reducer_bucket *group, int groups,
                  int (*work)(struct reducer *r, int rank, void *arg), void *arg)
{
	struct team t = { bytes, group, groups, work, arg };
	assert_int_equal(rank_threads_run(ranks, 60, run, &t), 0);
}
