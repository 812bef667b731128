/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Either samples of all sizes have one size after the transforms (windows), or each batch has
 * samples of one size (in training), or the loader reads only samples of one size. */
#include "data/loader_chains.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static bool end_alike(const struct transform_chain *a, const struct transform_chain *b)
{
	return shape_equal(transform_input_shape(a), transform_input_shape(b)) &&
	       shape_equal(transform_target_shape(a), transform_target_shape(b));
}

/* Whether samples of both may be in one batch. */
static bool batch_alike(const struct transform_chain *a, const struct transform_chain *b)
{
	const struct transform_rest *x = transform_rest(a), *y = transform_rest(b);
	return end_alike(a, b) && x->input == y->input && x->target == y->target &&
	       x->values == y->values && x->steps == y->steps;
}

static int several_sizes(const struct transform_chain *a, const struct transform_chain *b)
{
	char one[SHAPE_TEXT], other[SHAPE_TEXT];
	return ERR(E_DATA, NULL, "the samples of this set have several sizes, of which a batch cannot "
	           "be made: inputs are %s and %s after the "
	           "transforms; give files of one size at a time, or see windows: '- crop: {size: "
	           "..., validation: centre}'", shape_text(transform_input_shape(a), one),
	           shape_text(transform_input_shape(b), other));
}

static int make_chains(struct transform_chain **chain, struct transform_options *t, int first,
                       int end)
{
	for (t->size = first; t->size < end; t->size++) {
		TRY(transform_chain_new(&chain[t->size], t));
		if (!t->training && !end_alike(chain[t->size], chain[first]))
			return several_sizes(chain[first], chain[t->size]);
	}
	return 0;
}

/* Whether two chains that give the same shapes give the same kind of batches. */
static bool ends_agree(struct transform_chain *const *chain, int first, int end)
{
	bool agree = true;
	for (int k = first + 1; k < end && agree; k++) {
		int i = first;
		while (i < k && !end_alike(chain[i], chain[k]))
			i++;
		agree = i == k || batch_alike(chain[i], chain[k]);
	}
	return agree;
}

/* Which samples are in one batch must depend only on their shapes, not on the device. If some
 * chains cannot leave their transforms to the device, none does. */
int loader_chains_new(struct transform_chain ***out, struct dataset *d,
                      const struct loader_options *o)
{
	const bool own = o->config->statistics == STATISTICS_DATA;
	const int n = dataset_sizes(d), first = o->only_size ? o->only_size - 1 : 0,
	          end = o->only_size ? first + 1 : n;
	/* Samples are blended in float32. */
	const bool blends = o->training && mixup_wanted(&o->config->mixup);
	struct transform_options t = {
		.data = d, .statistics = own ? NULL : o->statistics,
		.no_statistics = o->no_statistics && !own, .training = o->training,
		.seed = o->seed, .target_dtype = o->target_dtype,
		.classes = o->classes, .ignore = o->ignore,
		.stored_input = o->stored_input && !blends,
		.stored_target = o->stored_target,
		.rounded = blends ? DTYPE_F32 : o->rounded,
	};
	*out = mem_calloc((size_t)n, sizeof **out);
	transform_choose_list(&t, o->config);
	TRY(make_chains(*out, &t, first, end));
	if (ends_agree(*out, first, end))
		return 0;
	for (int k = first; k < end; k++)
		transform_chain_free((*out)[k]);
	memset(*out, 0, (size_t)n * sizeof **out);
	t.stored_input = t.stored_target = false;
	return make_chains(*out, &t, first, end);
}

static bool larger(const struct transform_chain *a, const struct transform_chain *b)
{
	return shape_count(transform_input_shape(a)) > shape_count(transform_input_shape(b));
}

/* Puts size k, which is like none of the n found so far, in front of all that are smaller. */
static void insert(struct transform_chain *const *chain, int *found, int n, int k)
{
	int at = n;
	while (at > 0 && larger(chain[k], chain[found[at - 1]])) {
		found[at] = found[at - 1];
		at--;
	}
	found[at] = k;
}

static int find_alike(struct transform_chain *const *chain, const int *found, int n, int k)
{
	int i = 0;
	while (i < n && !batch_alike(chain[found[i]], chain[k]))
		i++;
	return i;
}

int loader_ends_new(struct loader_end **out, struct transform_chain *const *chain, int n,
                    int *end_of)
{
	int *found = mem_calloc((size_t)n, sizeof *found), ends = 0;
	for (int k = 0; k < n; k++)
		if (chain[k] && find_alike(chain, found, ends, k) == ends)
			insert(chain, found, ends++, k);
	for (int k = 0; k < n; k++)
		end_of[k] = chain[k] ? find_alike(chain, found, ends, k) : 0;
	*out = mem_calloc((size_t)ends, sizeof **out);
	for (int k = 0; k < ends; k++) {
		const struct transform_chain *t = chain[found[k]];

		(*out)[k] = (struct loader_end){ t, shape_count(transform_input_shape(t)),
			shape_count(transform_target_shape(t)), dtype_size(transform_rest(t)->input),
			dtype_size(transform_rest(t)->target) };
	}
	mem_free(found);
	return ends;
}

int64_t *loader_ends_count(const struct loader_end *end, int n, const struct dataset *d,
                           const int *end_of, int only_size)
{
	const int64_t all = dataset_info(d)->samples;
	int64_t *count = mem_calloc((size_t)n, sizeof *count);
	if (!only_size && n == 1)
		*count = all;
	for (int64_t i = 0; i < all && (only_size || n > 1); i++) {
		const int size = dataset_size_of(d, i);

		count[end_of[size]] += !only_size || size == only_size - 1;
	}
	for (int k = 0; k < n; k++)
		count[k] *= transform_windows(end[k].chain);
	return count;
}

#define ALIGNMENT 64

/* Bytes of one array of a batch, rounded up so that the next one starts aligned; 0 if beyond
 * counting. */
static size_t array_bytes(int64_t batch_size, int64_t count, size_t size)
{
	int64_t n;
	if (__builtin_mul_overflow(batch_size, count, &n) || n > INT64_MAX / 8)
		return 0;
	return ((size_t)n * size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

bool loader_ends_bytes(const struct loader_end *end, int n, int64_t batch_size, size_t *inputs,
                       size_t *targets)
{
	*inputs = *targets = 0;
	for (int k = 0; k < n; k++) {
		const struct loader_end *e = &end[k];
		const size_t input = array_bytes(batch_size, e->input_count, e->input_size);
		const size_t target = array_bytes(batch_size, e->target_count, e->target_size);

		if (input == 0 || (target == 0 && e->target_count))
			return false;
		*inputs = input > *inputs ? input : *inputs;
		*targets = target > *targets ? target : *targets;
	}
	return true;
}

void loader_chains_free(struct transform_chain **chain, int n)
{
	for (int k = 0; chain && k < n; k++)
		transform_chain_free(chain[k]);
	mem_free(chain);
}

int loader_sizes_differ(struct dataset *d, const struct loader_options *o, bool *differ)
{
	struct loader_options one = *o;
	const int n = dataset_sizes(d);
	struct transform_chain **first = NULL;
	int rc = 0;
	*differ = false;
	for (int k = 0; k < n && rc == 0 && !*differ; k++) {
		struct transform_chain **chain;
		one.only_size = k + 1;
		rc = loader_chains_new(&chain, d, &one);
		*differ = rc == 0 && k > 0 && !end_alike(chain[k], first[0]);
		if (k == 0)
			first = chain;
		else
			loader_chains_free(chain, n);
	}
	loader_chains_free(first, n);
	return rc;
}
