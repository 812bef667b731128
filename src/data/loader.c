/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches ahead of the training loop. A ring of slots, each a batch's buffers and one job for
 * each sample; the loop takes the oldest slot and by asking for the next gives it back, which
 * starts the batch after the last one in flight:
 *
 *        taken by the loop | decoded | being decoded | being decoded
 *        slot k              k + 1     k + 2           k + 3           (mod nslots)
 *
 * Of many slots several are given back before they are started together: to start one wakes a
 * decode thread, which costs the loop 10 microseconds. */
#include "data/loader_state.h"

#include <string.h>

#include "base/io.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/trace.h"
#include "data/sources.h"

/* --- the ring --- */

static int end_of(const void *context, int64_t sample)
{
	const struct loader *l = context;
	return l->end_of[dataset_size_of(l->d, sample % dataset_info(l->d)->samples)];
}

static void start_epoch(struct loader *l)
{
	if (l->draws)
		draws_fill(l->draws, l->epoch, l->order.sample, l->walk);
	else
		epoch_order_fill(&l->order, l->epoch, end_of, l);
}

/* The number of samples of this rank's share in a global batch of `all` samples, and the share's
 * start. */
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

/* The sample at a place of the epoch, and what it is blended with: of draws another of them. */
static void set_job(const struct loader *l, struct job *j, int size, int64_t place)
{
	j->sample = l->order.sample[place];
	j->walk = j->partner_walk = l->epoch;
	if (l->mixes && !l->draws)
		j->partner = partner(l, size, j->sample);
	if (!l->draws)
		return;
	const int64_t other = !l->mixes ? place : draws_place(l->draws,
		mixup_partner(l->seed, l->epoch, place, draws_count(l->draws)));
	j->walk = l->walk[place];
	j->partner = l->order.sample[other];
	j->partner_walk = l->walk[other];
}

const struct batch_array *batch_array(const struct batch *b, const char *name)
{
	for (int i = 0; i < b->narrays; i++)
		if (strcmp(b->array[i].name, name) == 0)
			return &b->array[i];
	for (int i = 0; i < b->nmore; i++)
		if (strcmp(b->more[i].name, name) == 0)
			return &b->more[i];
	BUG("the batch has no array '%s'", name);
}

static void start_batch(struct loader *l, struct slot *s)
{
	const struct epoch_batch b = epoch_order_batch(&l->order, l->epoch, l->index);
	s->batch = share(l, b.all);
	const int64_t place = b.place + s->batch.first;
	s->batch.first += b.first;
	s->batch.size = b.size;
	s->batch.epoch = l->epoch;
	s->batch.index = l->index;
	const struct loader_end *e = &l->end[b.size];
	const struct transform_rest *rest = transform_rest(e->chain);
	s->batch.array[BATCH_INPUT] = (struct batch_array){ "input", rest->input, e->input_count,
		s->input };
	s->batch.array[BATCH_TARGET] = (struct batch_array){ "target", rest->target, e->target_count,
		s->target };
	s->batch.array[BATCH_MIXUP] = (struct batch_array){ "mixup_target", rest->target,
		e->target_count, s->other };
	s->batch.narrays = BATCH_FURTHER;
	loader_further_list(s, &s->batch);
	s->batch.memory = l->from.alloc ? l->memory : NULL;
	s->batch.memory_bytes = l->bytes;
	s->batch.share = l->mixes ? mixup_share(&l->mixup, l->seed, l->epoch, l->index) : 1;
	s->pending = s->batch.n;    /* no job of this slot runs: no lock */
	s->first.rc = 0;
	for (int64_t i = 0; i < s->batch.n; i++)
		set_job(l, &s->job[i], b.size, place + i);
	pool_add_all(l->pool, loader_run_job, s->job, sizeof *s->job, s->batch.n);
	if (++l->index == l->order.batches) {
		l->index = 0;
		l->epoch++;
		start_epoch(l);
	}
}

/* Waits for running jobs and discards their results. */
static void drain(struct loader *l)
{
	if (l->pool)
		pool_wait(l->pool);
	for (int i = 0; i < l->nslots; i++) {
		const int mark = err_count();

		if (l->slot[i].first.rc < 0)
			err_give(&l->slot[i].first.error);
		err_truncate(mark);
		l->slot[i].first.rc = 0;
	}
}

/* A loader of steps: its next batch, which has no arrays. */
static void next_step(struct loader *l)
{
	struct batch *b = &l->slot[0].batch;
	const struct epoch_batch at = epoch_order_batch(&l->order, l->epoch, l->index);
	*b = share(l, at.all);
	b->first += at.first;
	b->epoch = l->epoch;
	b->index = l->index;
	b->share = 1;
	if (++l->index == l->order.batches) {
		l->index = 0;
		l->epoch++;
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
	if (!l->d)
		return 0;
	l->head = 0;
	l->behind = 0;
	l->taken = false;
	start_epoch(l);
	for (int i = 0; i < l->nslots; i++)
		start_batch(l, &l->slot[i]);
	return 0;
}

/* The slot before head is the loader's again. In a ring of few slots it is started at once, in one
 * of many when half of them are. */
static void take_back(struct loader *l)
{
	const int together = l->nslots < 8 ? 1 : l->nslots / 2;
	if (++l->behind < together)
		return;
	for (; l->behind > 0; l->behind--)
		start_batch(l, &l->slot[(l->head + l->nslots - l->behind) % l->nslots]);
}

int loader_next(struct loader *l, const struct batch **b)
{
	struct slot *s;
	double start;
	*b = NULL;
	if (l->first_epoch < 0)
		TRY(loader_seek(l, 0, 0));
	s = &l->slot[l->head];
	if (!l->d) {
		next_step(l);
		*b = &s->batch;
		return 0;
	}
	if (l->taken)
		take_back(l);
	l->taken = true;
	l->head = (l->head + 1) % l->nslots;
	start = io_seconds();
	pthread_mutex_lock(&l->lock);
	while (s->pending > 0)
		pthread_cond_wait(&l->done, &l->lock);
	pthread_mutex_unlock(&l->lock);
	l->waited += io_seconds() - start;
	if (trace_on())
		trace_add(&(struct trace_span){ .lane = TRACE_RUN, .name = "wait for data", .of = "batch",
			.number = s->batch.index, .start = start });
	if (s->first.rc < 0) {
		int rc = s->first.rc;

		s->first.rc = 0;
		err_give(&s->first.error);
		return rc;
	}
	*b = &s->batch;
	return 0;
}

/* --- creation --- */

#define MOST_SAMPLES ((int64_t)1 << 32)

/* Steps on small batches are so short that a single delay of a decode thread would stall them. */
#define SMALL_AHEAD ((size_t)16 << 20)   /* bytes */
#define LEAST_AHEAD 2
#define MOST_AHEAD 16

/* Batches of this many bytes to decode ahead. */
static int64_t batches_ahead(const struct loader *l, int64_t prefetch, size_t bytes)
{
	const size_t fit = SMALL_AHEAD / (bytes + 1);
	int64_t n = fit > MOST_AHEAD ? MOST_AHEAD : fit < LEAST_AHEAD ? LEAST_AHEAD : (int64_t)fit;
	if (prefetch)
		n = prefetch;
	/* a validation begins anew at its end */
	return l->training || n < l->order.batches ? n : l->order.batches;
}

static int check_sizes(struct loader *l)
{
	size_t input, target, bytes;
	const bool known = loader_ends_bytes(l->end, l->nends, l->batch_size, &input, &target);
	if (l->order.batches == 0)
		return ERR(E_CONFIG, NULL,
		           "%lld samples%s do not fill a batch of %lld, and keep_short_batch is false",
		           (long long)l->order.samples, l->nends > 1 ? " of several sizes" : "",
		           (long long)(l->ranks * l->batch_size));
	bytes = known ? input + (l->mixes ? 2 : 1) * target + l->further_bytes : 0;
	l->nslots = (int)batches_ahead(l, l->prefetch, bytes) + 1;
	if (l->batch_size > INT32_MAX / l->nslots || !known ||
	    __builtin_mul_overflow(bytes, (size_t)l->nslots, &l->bytes))
		return ERR(E_NOMEM, NULL, "a batch of %lld samples is larger than memory",
		           (long long)l->batch_size);
	return 0;
}

static void free_memory(struct loader *l)
{
	if (!l->from.alloc)
		mem_unmap(l->memory, l->bytes);
	else if (l->memory)
		l->from.free(l->from.of, l->memory, l->bytes);
}

static int make_slots(struct loader *l)
{
	char *p = l->memory = l->from.alloc ? l->from.alloc(l->from.of, l->bytes) : mem_map(l->bytes);
	size_t input, target;
	loader_ends_bytes(l->end, l->nends, l->batch_size, &input, &target);
	if (!p)
		return ERR(E_NOMEM, NULL, "no %smemory for %d batches of %lld samples (%zu bytes); "
		           "make 'train.batch_size' or 'data.prefetch' smaller",
		           l->from.alloc ? "pinned " : "", l->nslots, (long long)l->batch_size, l->bytes);
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
		s->further = p;
		p += l->further_bytes;
		s->job = mem_calloc((size_t)l->batch_size, sizeof(*s->job));
		for (int64_t k = 0; k < l->batch_size; k++)
			s->job[k] = (struct job){ .slot = s, .at = k };
	}
	return 0;
}

/* More decode threads than this would only compete with the compute threads for the same
 * processors. */
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

/* The batch (or micro-batch) size for samples that are larger than those the batch size refers to:
 * proportionally smaller. */
static int64_t fewer(const struct loader *l, int64_t each)
{
	const int64_t have = l->d ? l->end[0].input_count : 0;
	int64_t n = each;
	if (have > l->like && l->like > 0)
		n = (int64_t)((double)each * ((double)l->like / (double)have));
	return n < 1 ? 1 : n;
}

/* The samples of a full batch of one rank if the config wants `wanted`; *micro: those of a
 * micro-batch, or 0. */
static int64_t whole_batch(const struct loader *l, int64_t wanted, int64_t *micro)
{
	const int64_t each = l->micro_asked ? l->micro_asked : wanted, n = fewer(l, each);
	*micro = l->micro_asked ? n : 0;
	return wanted / each * n;
}

static void set_batch(struct loader *l, const struct loader_options *o)
{
	l->like = o->like ? shape_count(o->like) : 0;
	l->micro_asked = o->micro;
	l->batch_size = whole_batch(l, o->batch_size, &l->micro);
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

/* Of sources with weights, or of hosts apart. */
static int set_draws(struct loader *l, const struct loader_options *o)
{
	const struct sections *train = &o->config->train;
	const bool apart = l->within_host && o->hosts > 1;
	const struct draws_options w = { .seed = l->seed, .shuffle = l->shuffle,
		.windows = transform_windows(l->end[0].chain), .global = l->order.global,
		.host = o->host, .hosts = apart ? o->hosts : 0,
		.loc = o->config->shuffle ? &o->config->shuffle->loc : NULL };
	if (!o->training)
		return 0;
	if (l->nends > 1 && (dataset_sources(l->d) || apart))
		return ERR(E_CONFIG, train->n ? &train->loc[0] : NULL, "training samples have several "
		           "sizes, which is not possible with %s; '- crop: {size: ...}' takes windows of "
		           "one size", apart ? "'shuffle: {within: host}'" : "sources with weights");
	TRY(draws_new(&l->draws, l->d, &w));
	if (l->draws)
		l->walk = mem_calloc((size_t)l->order.samples + 1, sizeof *l->walk);
	return 0;
}

static int begin(struct loader *l)
{
	TRY(check_sizes(l));
	TRY(make_slots(l));
	loader_make_workers(l, l->threads);
	l->pool = pool_new(l->nworkers, (int)(l->nslots * l->batch_size));
	if (!l->pool)
		return err_context(E_UNAVAILABLE, "starting the decode threads");
	/* The first evaluation is later, so its loader need not start yet. */
	return l->training ? loader_seek(l, 0, 0) : 0;
}

int loader_set_windows(struct loader *l, const struct loader_window *input,
                       const struct loader_window *target)
{
	struct loader_end *e = &l->end[0];
	BUG_IF(!l->windows || l->slot || l->nends > 1, "these windows come too late");
	l->input = *input;
	l->target = *target;
	e->input_count = loader_window_count(transform_input_shape(e->chain), input);
	e->target_count = loader_window_count(transform_target_shape(e->chain), target);
	return begin(l);
}

static int build(struct loader *l, const struct loader_options *o)
{
	enum data_shuffle shuffle;
	TRY(shuffle_parse(o->config->shuffle, &shuffle));
	l->shuffle = o->training && shuffle != SHUFFLE_NOT;
	l->within_host = shuffle == SHUFFLE_WITHIN_HOST;
	l->nsizes = dataset_sizes(l->d);
	l->one_size = o->only_size > 0;
	l->size = l->one_size ? o->only_size - 1 : 0;
	TRY(loader_chains_new(&l->chain, l->d, o));
	if (transform_windows(l->chain[l->size]) > 1 &&
	    transform_windows(l->chain[l->size]) > MOST_SAMPLES / (dataset_info(l->d)->samples + 1))
		return ERR(E_CONFIG, &o->config->transforms->loc, "more than %lld windows in an epoch",
		           (long long)MOST_SAMPLES);
	l->end_of = mem_calloc((size_t)l->nsizes, sizeof *l->end_of);
	l->nends = loader_ends_new(&l->end, l->chain, l->nsizes, l->end_of);
	set_batch(l, o);
	set_order(l, o);
	TRY(loader_further_find(l, o));
	if (l->windows && (l->mixes || l->nfurther))
		return ERR(E_UNSUPPORTED, NULL, "windows of samples with mixup, or with further arrays");
	TRY(set_draws(l, o));
	l->threads = decode_threads(o);
	l->prefetch = o->config->prefetch;
	return o->windows ? 0 : begin(l);
}

static struct loader *new_loader(void)
{
	struct loader *l = mem_calloc(1, sizeof(*l));
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->done, NULL);
	pthread_cond_init(&l->decoded, NULL);
	l->first_epoch = -1;
	return l;
}

struct loader *loader_new_steps(int64_t steps, int rank, int ranks)
{
	struct loader *l = new_loader();
	l->rank = rank;
	l->ranks = ranks;
	l->batch_size = 1;
	l->nends = l->nslots = 1;
	l->slot = mem_calloc(1, sizeof *l->slot);
	l->order = (struct epoch_order){ .global = ranks, .each = 1, .nsize = 1,
		.of = mem_calloc(1, sizeof *l->order.of), .last = mem_calloc(1, sizeof *l->order.last),
		.samples = steps * ranks, .whole = steps,
		.steps = steps, .batches = steps };
	l->order.of[0] = l->order.samples;
	return l;
}

int loader_new(struct loader **out, struct dataset *d, const struct loader_options *o)
{
	struct loader *l = new_loader();
	int rc;
	*out = NULL;
	l->d = d;
	l->from = o->memory;
	l->training = o->training;
	l->windows = o->windows;
	l->mixup = o->config->mixup;
	l->mixes = o->training && mixup_wanted(&l->mixup);
	l->labels = (struct label_rule){ o->classes, o->ignore };
	l->seed = o->seed;
	l->rank = o->rank;
	l->ranks = o->ranks ? o->ranks : 1;
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
	loader_free_workers(l);
	for (int i = 0; l->slot && i < l->nslots; i++)
		mem_free(l->slot[i].job);
	mem_free(l->slot);
	epoch_order_release(&l->order);
	draws_free(l->draws);
	mem_free(l->walk);
	mem_free(l->end);
	mem_free(l->end_of);
	free_memory(l);
	loader_chains_free(l->chain, l->nsizes);
	pthread_cond_destroy(&l->done);
	pthread_cond_destroy(&l->decoded);
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
	static const struct shape none = { 0 };
	const struct transform_chain *c = l->d ? l->end[k].chain : NULL;
	const int64_t rest = epoch_order_short(&l->order, k);
	if (!c)
		return (struct loader_size){ &none, &none, NULL, l->order.of[k], l->order.batches, 0 };
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

struct loader_batch loader_batch_of(const struct loader *l, int k, int64_t batch_size, int rank,
                                    int ranks)
{
	int64_t micro;
	const int64_t whole = whole_batch(l, batch_size, &micro);
	struct epoch_order o = l->order;
	o.global = (ranks ? ranks : l->ranks) * whole;
	const int64_t rest = epoch_order_short(&o, k);
	return (struct loader_batch){ micro ? micro : whole,
		rest ? epoch_share(rest, whole, micro, ranks ? rank : l->rank,
		                   ranks ? ranks : l->ranks).n : 0 };
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

int64_t loader_source_samples(const struct loader *l, int k)
{
	return l->draws ? draws_of_source(l->draws, k) : l->order.samples;
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
