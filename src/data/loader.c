/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches ahead of the training loop. A ring of slots, each a batch's buffers and one job for
 * each sample; the loop takes the oldest slot and by asking for the next gives it back, which
 * starts the batch after the last one in flight:
 *
 *        taken by the loop | decoded | being decoded | being decoded
 *        slot k              k + 1     k + 2           k + 3           (mod prefetch + 1)
 *
 * The loop's thread alone walks the ring and the order of samples; a background thread touches
 * only the slot of its job, its own scratch, and under the lock the slot's `pending` and error. */
#include "data/loader.h"

#include <pthread.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/trace.h"
#include "data/dataset.h"
#include "data/epoch_order.h"
#include "data/labels_stored.h"
#include "data/loader_chains.h"
#include "data/transform.h"

struct slot;

struct job {                        /* one sample of one batch */
	struct slot *slot;
	int64_t at;                     /* in the batch */
	int64_t sample;                 /* i + w n: window w of sample i of n */
	int64_t partner;                /* the sample that mixup blends in, numbered likewise */
};

struct slot {
	struct loader *l;
	struct batch batch;
	char *input, *target;
	char *other;                    /* NULL: no mixup */
	struct job *job;
	int64_t pending;                /* jobs not done; under the lock */
	int rc;                         /* of the first sample that failed; under the lock */
	int64_t failed_at;
	struct err_record error;
};

struct worker {                     /* what a running job borrows */
	struct dataset_scratch *decode;
	struct transform_scratch **transform;  /* of each size */
	float *partner;                 /* an input to blend with; NULL: no mixup */
	struct worker *next;
};

struct loader {
	struct dataset *d;
	struct transform_chain **chain;        /* of each size of samples as stored, or of `size`
	                                        * alone */
	int nsizes, size;                      /* size: one that has a chain */
	bool one_size;                         /* there are no samples but of `size` */
	struct loader_end *end;                /* what batches are of; several in training alone */
	int nends, *end_of;                    /* end_of: by size as stored */
	struct label_rule labels;
	struct mixup_config mixup;
	bool training, shuffle, mixes;
	uint64_t seed;
	int64_t batch_size;
	int64_t rank, ranks, micro;
	struct epoch_order order;
	int64_t epoch, index;                  /* the batch to start next */
	int64_t first_epoch, first_index;      /* where it was sent last; -1: nothing is started yet */
	int nslots, head;                      /* head: the slot loader_next takes */
	struct slot *slot;
	bool taken;                            /* the slot before head is the caller's */
	void *memory;
	size_t bytes;
	double waited;
	struct pool *pool;
	pthread_mutex_t lock;
	pthread_cond_t done;                   /* some slot's pending became 0 */
	struct worker *idle, *worker;
	int nworkers;
};

/* --- background threads --- */

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

/* Keeps the error of the sample that comes first in the batch, so that what is reported does
 * not depend on timing. */
static void keep_error(struct slot *s, const struct job *j, int rc)
{
	if (s->rc == 0 || j->at < s->failed_at) {
		struct err_record mine;

		err_take(&mine);
		if (s->rc < 0)
			err_give(&s->error);   /* to be dropped below */
		s->error = mine;
		s->rc = rc;
		s->failed_at = j->at;
	}
	err_clear();
}

static void finish(struct loader *l, struct worker *w, const struct job *j, int rc)
{
	struct slot *s = j->slot;
	pthread_mutex_lock(&l->lock);
	if (rc < 0)
		keep_error(s, j, rc);
	w->next = l->idle;
	l->idle = w;
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

/* Sample j->sample, or the one it is blended with. */
static int make_sample(const struct job *j, struct worker *w, int64_t sample, void *input,
                       void *target)
{
	const struct slot *s = j->slot;
	struct loader *l = s->l;
	const void *stored_input, *stored_target;
	double start = trace_on() ? io_seconds() : 0, decoded = 0;
	const int64_t stored = sample % dataset_info(l->d)->samples;
	const int size = dataset_size_of(l->d, stored);
	int rc = dataset_decode(l->d, w->decode, stored, &stored_input, &stored_target);
	if (rc == 0)
		rc = labels_stored_check(&l->labels, l->d, stored, stored_target);
	if (start > 0)
		decoded = note_job("decode", j, start);
	if (rc == 0)
		rc = transform_run(l->chain[size], w->transform[size], s->batch.epoch, sample,
		                   stored_input, stored_target, input, target);
	if (start > 0)
		note_job("transform", j, decoded);
	return rc;
}

static int blend(const struct job *j, struct worker *w, void *input)
{
	const struct slot *s = j->slot;
	const struct loader_end *e = &s->l->end[s->batch.size];
	const size_t at = (size_t)(j->at * e->target_count) * e->target_size;
	TRY(make_sample(j, w, j->partner, w->partner, s->other + at));
	mixup_blend(input, w->partner, e->input_count, s->batch.share);
	return 0;
}

static void run_job(void *arg)
{
	const struct job *j = arg;
	const struct slot *s = j->slot;
	struct loader *l = s->l;
	const struct loader_end *e = &l->end[s->batch.size];
	struct worker *w = borrow(l);
	void *input = s->input + (size_t)(j->at * e->input_count) * e->input_size;
	void *target = s->target + (size_t)(j->at * e->target_count) * e->target_size;
	int rc = make_sample(j, w, j->sample, input, target);
	if (rc == 0 && l->mixes)
		rc = blend(j, w, input);
	finish(l, w, j, rc);
}

/* --- the ring --- */

static int end_of(const void *context, int64_t sample)
{
	const struct loader *l = context;
	return l->end_of[dataset_size_of(l->d, sample % dataset_info(l->d)->samples)];
}

static void start_epoch(struct loader *l)
{
	epoch_order_fill(&l->order, l->epoch, end_of, l);
}

/* This rank's share of a global batch of `all` samples, and where it begins. */
static struct batch share(const struct loader *l, int64_t all)
{
	const struct epoch_share s = epoch_share(all, l->batch_size, l->micro, l->rank, l->ranks);
	return (struct batch){ .n = s.n, .first = s.first, .all = all, .absent = s.absent };
}

/* Of the samples of its own size. */
static int64_t partner(const struct loader *l, int size, int64_t sample)
{
	const int64_t at = mixup_partner(l->seed, l->epoch, sample, l->order.of[size]);
	return l->nends > 1 ? l->order.sample[epoch_order_run(&l->order, size) + at] : at;
}

static void start_batch(struct loader *l, struct slot *s)
{
	const struct epoch_batch b = epoch_order_batch(&l->order, l->epoch, l->index);
	const int64_t *sample;
	s->batch = share(l, b.all);
	sample = l->order.sample + b.place + s->batch.first;
	s->batch.first += b.first;
	s->batch.size = b.size;
	s->batch.epoch = l->epoch;
	s->batch.index = l->index;
	s->batch.input = s->input;
	s->batch.target = s->target;
	s->batch.other = s->other;
	s->batch.share = l->mixes ? mixup_share(&l->mixup, l->seed, l->epoch, l->index) : 1;
	s->batch.input_dtype = transform_rest(l->end[b.size].chain)->input;
	s->batch.target_dtype = transform_rest(l->end[b.size].chain)->target;
	s->pending = s->batch.n;    /* no job of this slot runs: no lock */
	s->rc = 0;
	for (int64_t i = 0; i < s->batch.n; i++) {
		s->job[i].sample = sample[i];
		s->job[i].partner = l->mixes ? partner(l, b.size, sample[i]) : 0;
		pool_add(l->pool, run_job, &s->job[i]);
	}
	if (++l->index == l->order.batches) {
		l->index = 0;
		l->epoch++;
		start_epoch(l);
	}
}

/* Waits for what is in flight and forgets it. */
static void drain(struct loader *l)
{
	if (l->pool)
		pool_wait(l->pool);
	for (int i = 0; i < l->nslots; i++) {
		const int mark = err_count();

		if (l->slot[i].rc < 0)
			err_give(&l->slot[i].error);
		err_truncate(mark);
		l->slot[i].rc = 0;
	}
}

int loader_seek(struct loader *l, int64_t epoch, int64_t index)
{
	if (epoch < 0 || index < 0 || index >= l->order.batches)
		return ERR(E_DATA, NULL, "no batch %lld of epoch %lld: an epoch has %lld batches",
		           (long long)index, (long long)epoch, (long long)l->order.batches);
	if (epoch == l->first_epoch && index == l->first_index && l->head == 0 && !l->taken)
		return 0;                      /* nothing was taken since */
	drain(l);
	l->first_epoch = epoch;
	l->first_index = index;
	l->epoch = epoch;
	l->index = index;
	l->head = 0;
	l->taken = false;
	start_epoch(l);
	for (int i = 0; i < l->nslots; i++)
		start_batch(l, &l->slot[i]);
	return 0;
}

int loader_next(struct loader *l, const struct batch **b)
{
	const double start = io_seconds();
	struct slot *s;
	*b = NULL;
	if (l->first_epoch < 0)
		TRY(loader_seek(l, 0, 0));
	s = &l->slot[l->head];
	if (l->taken)
		start_batch(l, &l->slot[(l->head + l->nslots - 1) % l->nslots]);
	l->taken = true;
	l->head = (l->head + 1) % l->nslots;
	pthread_mutex_lock(&l->lock);
	while (s->pending > 0)
		pthread_cond_wait(&l->done, &l->lock);
	pthread_mutex_unlock(&l->lock);
	l->waited += io_seconds() - start;
	if (trace_on())
		trace_add(&(struct trace_span){ .lane = TRACE_RUN, .name = "wait for data", .of = "batch",
			.number = s->batch.index, .start = start });
	if (s->rc < 0) {
		int rc = s->rc;

		s->rc = 0;
		err_give(&s->error);
		return rc;
	}
	*b = &s->batch;
	return 0;
}

/* --- creation --- */

#define MOST_SAMPLES ((int64_t)1 << 32)

static int check_sizes(struct loader *l)
{
	size_t input, target;
	const bool known = loader_ends_bytes(l->end, l->nends, l->batch_size, &input, &target);
	if (l->order.batches == 0)
		return ERR(E_CONFIG, NULL,
		           "%lld samples%s do not fill a batch of %lld, and keep_short_batch is false",
		           (long long)l->order.samples, l->nends > 1 ? " of several sizes" : "",
		           (long long)(l->ranks * l->batch_size));
	if (l->batch_size > INT32_MAX / l->nslots || !known ||
	    __builtin_mul_overflow(input + (l->mixes ? 2 : 1) * target, (size_t)l->nslots, &l->bytes))
		return ERR(E_NOMEM, NULL, "a batch of %lld samples is larger than memory",
		           (long long)l->batch_size);
	return 0;
}

static int make_slots(struct loader *l)
{
	char *p = l->memory = mem_map(l->bytes);
	size_t input, target;
	loader_ends_bytes(l->end, l->nends, l->batch_size, &input, &target);
	if (!p)
		return ERR(E_NOMEM, NULL, "no memory for %d batches of %lld samples (%zu bytes)", l->nslots,
		           (long long)l->batch_size, l->bytes);
	l->slot = mem_calloc((size_t)l->nslots, sizeof(*l->slot));
	for (int i = 0; i < l->nslots; i++) {
		struct slot *s = &l->slot[i];

		s->l = l;
		s->input = p;
		p += input;
		s->target = p;
		p += target;
		if (l->mixes) {
			s->other = p;
			p += target;
		}
		s->job = mem_calloc((size_t)l->batch_size, sizeof(*s->job));
		for (int64_t k = 0; k < l->batch_size; k++)
			s->job[k] = (struct job){ .slot = s, .at = k };
	}
	return 0;
}

/* Beside threads that compute on the same processors, more would only take turns. */
static int decode_threads(const struct loader_options *o)
{
	const int wanted = (int)o->config->threads;
	return o->processors && o->processors < wanted ? o->processors : wanted;
}

int64_t loader_memory(const struct loader *l)
{
	return l ? (int64_t)l->bytes : 0;
}

int loader_threads(const struct loader *l)
{
	return l->nworkers;
}

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
}

static void make_workers(struct loader *l, int n)
{
	l->nworkers = n;
	l->worker = mem_calloc((size_t)n, sizeof(*l->worker));
	for (int i = 0; i < n; i++) {
		l->worker[i].decode = dataset_scratch_new(l->d);
		l->worker[i].transform = make_scratches(l);
		if (l->mixes)
			l->worker[i].partner = mem_calloc((size_t)l->end[0].input_count, sizeof(float));
		l->worker[i].next = l->idle;
		l->idle = &l->worker[i];
	}
}

/* Of larger samples than the batch size is meant for there are fewer in a (micro-)batch. */
static void set_batch(struct loader *l, const struct loader_options *o)
{
	const int64_t each = o->micro ? o->micro : o->batch_size,
	              wanted = o->like ? shape_count(o->like) : 0;
	const int64_t have = l->end[0].input_count;
	int64_t n = each;
	if (have > wanted && wanted > 0)
		n = (int64_t)((double)each * ((double)wanted / (double)have));
	n = n < 1 ? 1 : n;
	l->batch_size = o->batch_size / each * n;
	l->micro = o->micro ? n : 0;
}

static void set_order(struct loader *l, const struct loader_options *o)
{
	const int64_t n = dataset_info(l->d)->samples;
	int64_t *of = loader_ends_count(l->end, l->nends, l->d, l->end_of, o->only_size), at = 0;
	BUG_IF(l->one_size && l->shuffle, "samples of one size alone are not shuffled");
	/* a validation set is always seen whole */
	l->order = (struct epoch_order){ .seed = l->seed, .shuffle = l->shuffle,
		.keep_short = o->config->keep_short_batch || !o->training,
		.global = l->ranks * l->batch_size, .each = o->step_batches ? o->step_batches : 1,
		.nsize = l->nends };
	epoch_order_init(&l->order, of);
	for (int64_t i = 0; l->one_size && at < l->order.samples; i++)
		if (dataset_size_of(l->d, i % n) == l->size)
			l->order.sample[at++] = i;
	mem_free(of);
}

static int build(struct loader *l, const struct loader_options *o)
{
	l->nsizes = dataset_sizes(l->d);
	l->one_size = o->only_size > 0;
	l->size = l->one_size ? o->only_size - 1 : 0;
	TRY(loader_chains_new(&l->chain, l->d, o));
	if (transform_windows(l->chain[l->size]) > 1 &&
	    transform_windows(l->chain[l->size]) > MOST_SAMPLES / (dataset_info(l->d)->samples + 1))
		return ERR(E_CONFIG, NULL, "more than %lld windows in an epoch", (long long)MOST_SAMPLES);
	l->end_of = mem_calloc((size_t)l->nsizes, sizeof *l->end_of);
	l->nends = loader_ends_new(&l->end, l->chain, l->nsizes, l->end_of);
	set_batch(l, o);
	set_order(l, o);
	TRY(check_sizes(l));
	TRY(make_slots(l));
	make_workers(l, decode_threads(o));
	l->pool = pool_new(l->nworkers, (int)(l->nslots * l->batch_size));
	if (!l->pool)
		return err_context(E_UNAVAILABLE, "starting the decode threads");
	/* The first evaluation is a while off. */
	return o->training ? loader_seek(l, 0, 0) : 0;
}

int loader_new(struct loader **out, struct dataset *d, const struct loader_options *o)
{
	struct loader *l = mem_calloc(1, sizeof(*l));
	int rc;
	*out = NULL;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->done, NULL);
	l->first_epoch = -1;
	l->d = d;
	l->training = o->training;
	l->mixup = o->config->mixup;
	l->mixes = o->training && mixup_wanted(&l->mixup);
	l->labels = (struct label_rule){ o->classes, o->ignore };
	l->shuffle = o->training && o->config->shuffle;
	l->seed = o->seed;
	l->rank = o->rank;
	l->ranks = o->ranks ? o->ranks : 1;
	l->nslots = (int)o->config->prefetch + 1;
	rc = build(l, o);
	if (rc < 0)
		loader_free(l);
	else
		*out = l;
	return rc;
}

void loader_free(struct loader *l)
{
	if (!l)
		return;
	if (l->slot)
		drain(l);
	pool_free(l->pool);
	for (int i = 0; i < l->nworkers; i++) {
		free_worker(l, &l->worker[i]);
	}
	for (int i = 0; l->slot && i < l->nslots; i++)
		mem_free(l->slot[i].job);
	mem_free(l->worker);
	mem_free(l->slot);
	epoch_order_release(&l->order);
	mem_free(l->end);
	mem_free(l->end_of);
	mem_unmap(l->memory, l->bytes);
	loader_chains_free(l->chain, l->nsizes);
	pthread_cond_destroy(&l->done);
	pthread_mutex_destroy(&l->lock);
	mem_free(l);
}

/* --- questions --- */

int loader_sizes(const struct loader *l)
{
	return l->nends;
}

struct loader_size loader_size(const struct loader *l, int k)
{
	const struct transform_chain *c = l->end[k].chain;
	const int64_t rest = epoch_order_short(&l->order, k);
	return (struct loader_size){ transform_input_shape(c), transform_target_shape(c),
		transform_rest(c), l->order.of[k], epoch_order_batches(&l->order, k),
		rest ? share(l, rest).n : 0 };
}

const struct shape *loader_input_shape(const struct loader *l)
{
	return loader_size(l, 0).input;
}

const struct shape *loader_target_shape(const struct loader *l)
{
	return loader_size(l, 0).target;
}

const struct transform_rest *loader_rest(const struct loader *l)
{
	return loader_size(l, 0).rest;
}

int64_t loader_batch_size(const struct loader *l)
{
	return l->micro ? l->micro : l->batch_size;
}

int64_t loader_batches(const struct loader *l)
{
	return l->order.batches;
}

int64_t loader_steps(const struct loader *l)
{
	return l->order.steps;
}

int64_t loader_step_batches(const struct loader *l, int64_t epoch, int64_t index)
{
	return epoch_order_left(&l->order, epoch, index);
}

int64_t loader_samples_before(const struct loader *l, int64_t epoch, int64_t index)
{
	return epoch_order_before(&l->order, epoch, index);
}

int64_t loader_samples(const struct loader *l)
{
	return l->order.samples;
}

int64_t loader_short_batch(const struct loader *l)
{
	return loader_size(l, 0).short_batch;
}

struct loader_sample loader_sample(const struct loader *l, int64_t place)
{
	const struct slot *s = &l->slot[(l->head + l->nslots - 1) % l->nslots];
	const int64_t n = dataset_info(l->d)->samples, at = place - s->batch.first;
	BUG_IF(!l->taken || at < 0 || at >= s->batch.n, "place %lld is not in the batch taken last",
	       (long long)place);
	const struct job *j = &s->job[at];
	return (struct loader_sample){ j->sample % n, j->sample / n, l->mixes ? j->partner % n : -1 };
}

double loader_wait_seconds(const struct loader *l)
{
	return l->waited;
}
