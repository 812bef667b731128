/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One map of memory, cut as the ranks of a host share theirs. */
#include "rank_threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "base/err.h"
#include "base/mem.h"
#include "comm/reducer_state.h"

#define MOST 16

struct member {
	struct comm c;
	struct comm_state state;
	struct reducer *r;
	pthread_t thread;
	int rc;
	/* of all */
	void *memory;
	size_t bytes;
	const struct reducer_bucket *group;
	int groups;
	int (*work)(struct reducer *r, int rank, void *arg);
	void *arg;
};

static void *run(void *member)
{
	struct member *m = member;
	m->rc = reducer_of_ranks(&m->r, &m->c, m->memory, m->bytes, m->group, m->groups, false);
	if (m->rc == 0)
		m->rc = m->work(m->r, m->c.rank, m->arg);
	err_clear();
	return NULL;
}

void rank_threads(int ranks, size_t bytes, const struct reducer_bucket *group, int groups,
                  int (*work)(struct reducer *r, int rank, void *arg), void *arg)
{
	size_t all = host_reducer_bytes(ranks, groups, 1) + (size_t)ranks * (bytes + 4096);
	struct member m[MOST];
	void *memory = mem_map(all);
	assert_non_null(memory);
	assert_in_range(ranks, 1, MOST);
	for (int r = 0; r < ranks; r++) {
		m[r] = (struct member){ .memory = memory, .bytes = bytes, .group = group, .groups = groups,
			.work = work, .arg = arg };
		m[r].c = (struct comm){ .rank = r, .size = ranks, .local_rank = r, .local_size = ranks,
			.hosts = 1,
		                        .timeout = 60, .state = &m[r].state };
		assert_int_equal(pthread_create(&m[r].thread, NULL, run, &m[r]), 0);
	}
	for (int r = 0; r < ranks; r++)
		pthread_join(m[r].thread, NULL);
	for (int r = 0; r < ranks; r++) {
		assert_int_equal(m[r].rc, 0);
		reducer_free(m[r].r);
	}
	mem_unmap(memory, all);
}
