/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The jobs of background threads: decode a sample, transform it and store it in its batch. */
#include "data/loader_state.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/trace.h"

static struct worker *borrow(struct loader *l)
{
	struct worker *w;
	pthread_mutex_lock(&l->lock);
	w = l->idle;
	BUG_IF(!w, "more decode jobs at once than threads");
	l->idle = w->next;
	pthread_mutex_unlock(&l->lock);
	return w;
}

/* Under the lock. */
static void give_back(struct loader *l, struct worker *w)
{
	w->next = l->idle;
	l->idle = w;
}

/* --- samples in pieces --- */

/* Keeps this thread's error if its task has the smallest number so far, so that the reported error
 * does not depend on timing. Requires the lock. */
static void keep_error(struct first_error *e, int64_t at, int rc)
{
	if (e->rc == 0 || at < e->at) {
		struct err_record mine;

		err_take(&mine);
		if (e->rc < 0)
			err_give(&e->error);   /* to be dropped below */
		*e = (struct first_error){ rc, at, mine };
	}
	err_clear();
}

/* Decodes pieces of s until none is left; returns their number. */
static int64_t decode_pieces(struct shared *s, struct dataset_scratch *with)
{
	struct loader *l = s->l;
	int64_t n = 0;
	pthread_mutex_lock(&l->lock);
	for (; s->next < s->n; n++) {
		const int64_t k = s->next++;

		pthread_mutex_unlock(&l->lock);
		const int rc = dataset_decode_piece(l->d, with, s->sample, k, &s->to);
		pthread_mutex_lock(&l->lock);
		if (rc < 0)
			keep_error(&s->first, k, rc);
		if (--s->pending == 0)
			pthread_cond_broadcast(&l->decoded);
	}
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* A job that helps another thread. When it starts, that sample may be finished, or s may hold
 * another sample. */
static void help(void *arg)
{
	struct shared *s = arg;
	struct worker *w = borrow(s->l);
	const int64_t n = decode_pieces(s, w->decode);
	pthread_mutex_lock(&s->l->lock);
	s->l->helped += n;
	give_back(s->l, w);
	pthread_mutex_unlock(&s->l->lock);
}

int64_t loader_helped(struct loader *l)
{
	int64_t n;
	pthread_mutex_lock(&l->lock);
	n = l->helped;
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* Decodes a sample of n pieces in this thread. */
static int decode_alone(const struct loader *l, const struct worker *w, int64_t n)
{
	const struct shared *s = &w->shared;
	for (int64_t k = 0; k < n; k++)
		TRY(dataset_decode_piece(l->d, w->decode, s->sample, k, &s->to));
	return 0;
}

static int decode_together(struct loader *l, struct worker *w, int64_t n)
{
	struct shared *s = &w->shared;
	pthread_mutex_lock(&l->lock);
	s->n = s->pending = n;
	s->next = s->first.rc = 0;
	pthread_mutex_unlock(&l->lock);
	for (int64_t k = 1; k < n && pool_offer(l->pool, help, s); k++)
		;
	decode_pieces(s, w->decode);
	pthread_mutex_lock(&l->lock);
	while (s->pending > 0)
		pthread_cond_wait(&l->decoded, &l->lock);
	pthread_mutex_unlock(&l->lock);
	if (s->first.rc < 0)
		err_give(&s->first.error);
	return s->first.rc;
}

static void take_input(void *self, int64_t first, const void *values, int64_t n)
{
	const struct shared *s = self;
	transform_take(s->chain, s->to.input, first, values, n);
}

/* The input to where its transforms begin; *target: in the scratch of w. */
static int decode(struct loader *l, struct worker *w, int64_t sample, void *begin,
                  const void **target)
{
	struct shared *s = &w->shared;
	const int64_t n = dataset_pieces(l->d, sample);
	const void *input;
	s->sample = sample;
	s->chain = l->chain[dataset_size_of(l->d, sample)];
	s->taker = (struct record_taker){ take_input, s };
	s->to = (struct dataset_place){ dataset_scratch_raw(w->decode), begin,
		transform_takes(s->chain) ? &s->taker : NULL };
	TRY(n < 2 || l->nworkers == 1 ? decode_alone(l, w, n) : decode_together(l, w, n));
	dataset_arrays(l->d, sample, s->to.raw, &input, target);
	return 0;
}

/* --- jobs --- */

static void finish(struct loader *l, struct worker *w, const struct job *j, int rc)
{
	struct slot *s = j->slot;
	pthread_mutex_lock(&l->lock);
	if (rc < 0)
		keep_error(&s->first, j->at, rc);
	give_back(l, w);
	if (--s->pending == 0)
		pthread_cond_signal(&l->done);
	pthread_mutex_unlock(&l->lock);
}

/* Returns the end of the span. */
static double note_job(const char *what, const struct job *j, double start)
{
	double end = io_seconds();
	trace_add(&(struct trace_span){ .lane = TRACE_DATA, .name = what, .of = "sample",
		.number = j->sample,
		.start = start, .end = end });
	return end;
}

/* Sample j->sample, or the one it is blended with, in a walk of its source. */
static int make_sample(const struct job *j, struct worker *w, int64_t sample, int64_t walk,
                       void *input, void *target)
{
	const struct slot *s = j->slot;
	struct loader *l = s->l;
	const void *stored_target;
	double start = trace_on() ? io_seconds() : 0, decoded = 0;
	const int64_t stored = sample % dataset_info(l->d)->samples;
	const int size = dataset_size_of(l->d, stored);
	void *begin = transform_begin(l->chain[size], w->transform[size], input);
	int rc = decode(l, w, stored, begin, &stored_target);
	if (rc == 0)
		rc = labels_stored_check(&l->labels, l->d, stored, stored_target);
	if (start > 0)
		decoded = note_job("decode", j, start);
	if (rc == 0)
		rc = transform_run(l->chain[size], w->transform[size], walk, sample, begin,
		                   stored_target, input, target);
	if (start > 0)
		note_job("transform", j, decoded);
	return rc;
}

static int blend(const struct job *j, struct worker *w, void *input)
{
	const struct slot *s = j->slot;
	const struct loader_end *e = &s->l->end[s->batch.size];
	const size_t at = (size_t)(j->at * e->target_count) * e->target_size;
	TRY(make_sample(j, w, j->partner, j->partner_walk, w->partner, s->other + at));
	mixup_blend(input, w->partner, e->input_count, s->batch.share);
	return 0;
}

/* As make_sample, and stores the loader's windows of the sample. */
static int make_windows(const struct job *j, struct worker *w, void *input, void *target)
{
	const struct loader *l = j->slot->l;
	const struct loader_end *e = &l->end[0];
	TRY(make_sample(j, w, j->sample, j->walk, w->input, w->target));
	loader_store_window(transform_input_shape(e->chain), &l->input, e->input_size, w->input, input);
	if (e->target_count)
		loader_store_window(transform_target_shape(e->chain), &l->target, e->target_size,
		                    w->target, target);
	return 0;
}

void loader_run_job(void *arg)
{
	const struct job *j = arg;
	const struct slot *s = j->slot;
	struct loader *l = s->l;
	const struct loader_end *e = &l->end[s->batch.size];
	struct worker *w = borrow(l);
	void *input = s->input + (size_t)(j->at * e->input_count) * e->input_size;
	void *target = s->target + (size_t)(j->at * e->target_count) * e->target_size;
	int rc = l->windows ? make_windows(j, w, input, target) :
	         make_sample(j, w, j->sample, j->walk, input, target);
	if (rc == 0 && l->nfurther)
		loader_further_copy(s, j->at, j->sample % dataset_info(l->d)->samples, w->shared.to.raw);
	if (rc == 0 && l->mixes)
		rc = blend(j, w, input);
	finish(l, w, j, rc);
}

/* --- creation --- */

static struct transform_scratch **make_scratches(const struct loader *l)
{
	struct transform_scratch **s = mem_calloc((size_t)l->nsizes, sizeof *s);
	for (int k = 0; k < l->nsizes; k++)
		s[k] = l->chain[k] ? transform_scratch_new(l->chain[k]) : NULL;
	return s;
}

static void free_worker(const struct loader *l, struct worker *w)
{
	dataset_scratch_free(w->decode);
	for (int k = 0; w->transform && k < l->nsizes; k++)
		transform_scratch_free(w->transform[k]);
	mem_free(w->transform);
	mem_free(w->partner);
	mem_free(w->input);
	mem_free(w->target);
}

static void make_whole(const struct loader_end *e, struct worker *w)
{
	w->input = mem_calloc((size_t)shape_count(transform_input_shape(e->chain)), e->input_size);
	w->target = mem_calloc((size_t)shape_count(transform_target_shape(e->chain)), e->target_size);
}

void loader_make_workers(struct loader *l, int n)
{
	l->nworkers = n;
	l->worker = mem_calloc((size_t)n, sizeof(*l->worker));
	for (int i = 0; i < n; i++) {
		l->worker[i].decode = dataset_scratch_new(l->d);
		l->worker[i].transform = make_scratches(l);
		l->worker[i].shared.l = l;
		if (l->mixes)
			l->worker[i].partner = mem_calloc((size_t)l->end[0].input_count, sizeof(float));
		if (l->windows)
			make_whole(&l->end[0], &l->worker[i]);
		l->worker[i].next = l->idle;
		l->idle = &l->worker[i];
	}
}

void loader_free_workers(struct loader *l)
{
	for (int i = 0; i < l->nworkers; i++)
		free_worker(l, &l->worker[i]);
	mem_free(l->worker);
}
