/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A ring of waiting jobs, one lock, three conditions: a job came, a place became free, all is
 * done. Jobs are milliseconds long (a sample to decode, a chunk to compress), so one lock is no
 * bottleneck. Jobs that are added together wake one thread, which wakes the next one as it takes a
 * job. So the adding thread, often one that computes, makes only one system call. */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"

struct job {
	void (*run)(void *);
	void *arg;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t came, freed, idle;
	struct job *ring;
	int room, first, waiting;   /* ring: its size, the oldest job, how many */
	int running;
	bool ending;
	int nthreads;               /* started */
	pthread_t *thread;
};

/* Called and left with the lock held. */
static void run_one(struct pool *p)
{
	struct job j = p->ring[p->first];
	p->first = (p->first + 1) % p->room;
	p->waiting--;
	p->running++;
	if (p->waiting > 0)
		pthread_cond_signal(&p->came);
	pthread_cond_signal(&p->freed);
	pthread_mutex_unlock(&p->lock);
	j.run(j.arg);
	err_clear();   /* a job that failed has handed over its record by now */
	pthread_mutex_lock(&p->lock);
	p->running--;
	if (p->running == 0 && p->waiting == 0)
		pthread_cond_broadcast(&p->idle);
}

/* Makes this a batch thread, so that it does not preempt a computing thread that wakes it on the
 * same processor. */
static void yield_to_waker(void)
{
#ifdef SCHED_BATCH
	const struct sched_param none = { 0 };
	(void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
#endif
}

static void *worker(void *arg)
{
	struct pool *p = arg;
	yield_to_waker();
	pthread_mutex_lock(&p->lock);
	for (;;) {
		while (p->waiting == 0 && !p->ending)
			pthread_cond_wait(&p->came, &p->lock);
		if (p->waiting == 0)
			break;
		run_one(p);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int start_threads(struct pool *p, int n)
{
	int rc = 0;
	while (p->nthreads < n && rc == 0) {
		rc = thread_start(&p->thread[p->nthreads], worker, p);
		if (rc == 0)
			p->nthreads++;
	}
	if (rc)
		return ERR(E_UNAVAILABLE, NULL, "cannot start thread %d of %d: %s", p->nthreads + 1, n,
		           strerror(rc));
	return 0;
}

struct pool *pool_new(int nthreads, int queue)
{
	struct pool *p = mem_calloc(1, sizeof *p);
	BUG_IF(nthreads < 1 || queue < 1, "pool of %d threads, %d places", nthreads, queue);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->came, NULL);
	pthread_cond_init(&p->freed, NULL);
	pthread_cond_init(&p->idle, NULL);
	p->room = queue;
	p->ring = mem_calloc((size_t)queue, sizeof *p->ring);
	p->thread = mem_calloc((size_t)nthreads, sizeof *p->thread);
	if (start_threads(p, nthreads) < 0) {
		pool_free(p);
		return NULL;
	}
	return p;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	pthread_cond_broadcast(&p->came);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->nthreads; i++)
		pthread_join(p->thread[i], NULL);
	pthread_cond_destroy(&p->idle);
	pthread_cond_destroy(&p->freed);
	pthread_cond_destroy(&p->came);
	pthread_mutex_destroy(&p->lock);
	mem_free(p->thread);
	mem_free(p->ring);
	mem_free(p);
}

/* With the lock held, and room. */
static void add(struct pool *p, void (*run)(void *arg), void *arg)
{
	p->ring[(p->first + p->waiting) % p->room] = (struct job){ run, arg };
	p->waiting++;
}

void pool_add_all(struct pool *p, void (*run)(void *arg), void *args, size_t size, int64_t n)
{
	pthread_mutex_lock(&p->lock);
	for (int64_t i = 0; i < n; i++) {
		while (p->waiting == p->room) {
			pthread_cond_signal(&p->came);
			pthread_cond_wait(&p->freed, &p->lock);
		}
		add(p, run, (char *)args + (size_t)i * size);
	}
	pthread_mutex_unlock(&p->lock);
	pthread_cond_signal(&p->came);
}

void pool_add(struct pool *p, void (*run)(void *arg), void *arg)
{
	pool_add_all(p, run, arg, 0, 1);
}

bool pool_offer(struct pool *p, void (*run)(void *arg), void *arg)
{
	bool idle;
	pthread_mutex_lock(&p->lock);
	idle = p->running + p->waiting < p->nthreads && p->waiting < p->room;
	if (idle)
		add(p, run, arg);
	pthread_mutex_unlock(&p->lock);
	if (idle)
		pthread_cond_signal(&p->came);
	return idle;
}

void pool_wait(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	while (p->waiting || p->running)
		pthread_cond_wait(&p->idle, &p->lock);
	pthread_mutex_unlock(&p->lock);
}
