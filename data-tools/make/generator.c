/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/make/generator.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/pool.h"

struct job {
	const struct generator *g;
	void *slot;
	int64_t number;
	int rc;
	struct err_record error;
};

struct run {
	const struct generator *g;
	int threads;
	struct job *job;              /* twice as many as threads: one half is written */
	struct pool *pool;
};

static void make(void *arg)
{
	struct job *j = arg;
	j->rc = j->g->make(j->slot, j->number);
	if (j->rc < 0)
		err_take(&j->error);
	err_clear();
}

static int open_slots(struct run *r)
{
	for (int i = 0; i < 2 * r->threads; i++) {
		struct job *j = &r->job[i];
		j->g = r->g;
		TRY(r->g->open(r->g->user, i < r->threads ? NULL : r->job[i - r->threads].slot, &j->slot));
	}
	r->pool = pool_new(r->threads, r->threads);
	return r->pool ? 0 : err_context(E_UNAVAILABLE, "starting threads");
}

static void close_slots(struct run *r)
{
	pool_free(r->pool);
	for (int i = 2 * r->threads - 1; i >= 0; i--)
		if (r->job[i].slot)
			r->g->close(r->job[i].slot);
	mem_free(r->job);
}

/* Begins with the thing after `done` others; returns how many were begun. */
static int64_t start(struct run *r, int half, int64_t done)
{
	int64_t k = 0;
	for (; k < r->threads && done + k < r->g->n; k++) {
		struct job *j = &r->job[half * r->threads + k];
		j->number = r->g->first + done + k;
		pool_add(r->pool, make, j);
	}
	return k;
}

static int write_one(const struct generator *g, struct job *j)
{
	if (j->rc == 0)
		return g->write(g->user, j->slot);
	err_give(&j->error);
	return err_context(j->rc, "making number %lld", (long long)j->number);
}

static int run(struct run *r)
{
	int64_t done = 0, started = start(r, 0, 0);
	int rc = 0;
	for (int half = 0; started > 0 && rc == 0; half = 1 - half) {
		const int64_t ready = started;
		pool_wait(r->pool);
		started = start(r, 1 - half, done + ready);
		for (int64_t k = 0; k < ready && rc == 0; k++)
			rc = write_one(r->g, &r->job[half * r->threads + k]);
		done += ready;
	}
	pool_wait(r->pool);
	return rc;
}

int generator_run(const struct generator *g)
{
	struct run r = { .g = g, .threads = (int)(g->threads < g->n ? g->threads : g->n) };
	r.job = mem_calloc((size_t)(2 * r.threads), sizeof *r.job);
	int rc = open_slots(&r);
	if (rc == 0)
		rc = run(&r);
	close_slots(&r);
	return rc;
}
