/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Full steps are numbered size by size; a random permutation of these numbers is their order. */
#include "data/epoch_order.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/round.h"
#include "data/loader.h"

static int64_t whole_steps(const struct epoch_order *o, int size)
{
	return o->of[size] / o->global / o->each;
}

/* The samples of a size's last, shorter step; 0: it has none. */
static int64_t last_samples(const struct epoch_order *o, int size)
{
	const int64_t left = o->of[size] - whole_steps(o, size) * o->global * o->each;
	return o->keep_short ? left : left - left % o->global;
}

static int64_t last_batches(const struct epoch_order *o, int size)
{
	return ceil_div(last_samples(o, size), o->global);
}

void epoch_order_init(struct epoch_order *o, const int64_t *of)
{
	o->of = mem_calloc((size_t)o->nsize, sizeof *o->of);
	memcpy(o->of, of, (size_t)o->nsize * sizeof *of);
	o->samples = o->whole = o->steps = o->batches = 0;
	for (int k = 0; k < o->nsize; k++) {
		o->samples += of[k];
		o->whole += whole_steps(o, k);
		o->steps += whole_steps(o, k) + (last_batches(o, k) > 0);
		o->batches += epoch_order_batches(o, k);
	}
	o->sample = mem_calloc((size_t)o->samples + 1, sizeof *o->sample);
	o->last = mem_calloc((size_t)o->nsize, sizeof *o->last);
	for (int64_t i = 0; i < o->samples; i++)
		o->sample[i] = i;
	if (o->nsize == 1)
		return;
	o->drawn = mem_calloc((size_t)o->samples + 1, sizeof *o->drawn);
	o->step = mem_calloc((size_t)o->whole + 1, sizeof *o->step);
}

void epoch_order_release(struct epoch_order *o)
{
	mem_free(o->of);
	mem_free(o->sample);
	mem_free(o->drawn);
	mem_free(o->step);
	mem_free(o->last);
}

static void draw(const struct epoch_order *o, const char *what, int64_t epoch, int64_t n,
                 int64_t *out)
{
	if (o->shuffle)
		rng_permutation(o->seed, hash_name(what), (uint64_t)epoch, n, out);
	for (int64_t i = 0; i < n && !o->shuffle; i++)
		out[i] = i;
}

int64_t epoch_order_run(const struct epoch_order *o, int size)
{
	int64_t begin = 0;
	for (int k = 0; k < size; k++)
		begin += o->of[k];
	return begin;
}

void epoch_order_fill(struct epoch_order *o, int64_t epoch,
                      int (*size_of)(const void *context, int64_t sample), const void *context)
{
	if (o->nsize == 1) {
		if (o->shuffle)
			draw(o, "data.order", epoch, o->samples, o->sample);
		return;
	}
	draw(o, "data.order", epoch, o->samples, o->drawn);
	draw(o, "data.order/steps", epoch, o->whole, o->step);
	for (int k = 0; k < o->nsize; k++)     /* its next free place */
		o->last[k] = epoch_order_run(o, k);
	for (int64_t i = 0; i < o->samples; i++)
		o->sample[o->last[size_of(context, o->drawn[i])]++] = o->drawn[i];
}

/* A last step: its size, its first batch, and the samples before it. */
struct last {
	int size;                              /* nsize: after the end of the epoch */
	int64_t index, before;
};

static struct last find_last(const struct epoch_order *o, int64_t epoch, int64_t index)
{
	struct last l = { .index = o->whole * o->each, .before = o->whole * o->each * o->global };
	draw(o, "data.order/last", epoch, o->nsize, o->last);
	for (int i = 0; i < o->nsize; i++) {
		l.size = (int)o->last[i];
		if (index < l.index + last_batches(o, l.size))
			return l;
		l.index += last_batches(o, l.size);
		l.before += last_samples(o, l.size);
	}
	l.size = o->nsize;
	return l;
}

static bool is_whole(const struct epoch_order *o, int64_t index)
{
	return index / o->each < o->whole;
}

static struct epoch_batch batch_of_last(const struct epoch_order *o, int64_t epoch, int64_t index)
{
	const struct last l = find_last(o, epoch, index);
	const int64_t from = (index - l.index) * o->global, left = last_samples(o, l.size) - from;
	const int64_t place = epoch_order_run(o, l.size) +
	                      whole_steps(o, l.size) * o->each * o->global + from;
	return (struct epoch_batch){ l.size, place, l.before + from,
		left < o->global ? left : o->global };
}

struct epoch_batch epoch_order_batch(const struct epoch_order *o, int64_t epoch, int64_t index)
{
	struct epoch_batch b = { .first = index * o->global, .all = o->global };
	int64_t step;
	if (!is_whole(o, index))
		return batch_of_last(o, epoch, index);
	step = o->nsize > 1 ? o->step[index / o->each] : index / o->each;
	while (step >= whole_steps(o, b.size))
		step -= whole_steps(o, b.size++);
	b.place = epoch_order_run(o, b.size) + (step * o->each + index % o->each) * o->global;
	return b;
}

int64_t epoch_order_left(const struct epoch_order *o, int64_t epoch, int64_t index)
{
	struct last l;
	if (is_whole(o, index))
		return o->each - index % o->each;
	l = find_last(o, epoch, index);
	return l.index + last_batches(o, l.size) - index;
}

int64_t epoch_order_before(const struct epoch_order *o, int64_t epoch, int64_t index)
{
	struct last l;
	if (is_whole(o, index))
		return index * o->global;
	l = find_last(o, epoch, index);
	return l.before + (index - l.index) * o->global;
}

int64_t epoch_order_batches(const struct epoch_order *o, int size)
{
	return whole_steps(o, size) * o->each + last_batches(o, size);
}

int64_t epoch_order_short(const struct epoch_order *o, int size)
{
	return last_samples(o, size) % o->global;
}

/* --- ranks --- */

static int64_t share_begin(int64_t all, int64_t batch_size, int64_t leaf, int64_t rank,
                           int64_t ranks)
{
	const int64_t whole = rank * batch_size;
	if (leaf == 0)
		return loader_share(all, rank, ranks);
	return whole < all ? whole : all;
}

struct epoch_share epoch_share(int64_t all, int64_t batch_size, int64_t leaf, int64_t rank,
                               int64_t ranks)
{
	const int64_t from = share_begin(all, batch_size, leaf, rank, ranks),
	              to = share_begin(all, batch_size, leaf, rank + 1, ranks);
	if (to > from)
		return (struct epoch_share){ from, to - from, false };
	return (struct epoch_share){ 0, leaf == 0 ? 1 : leaf < all ? leaf : all, true };
}
