/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples of all sizes end in one, which windows do; or the loader reads those of one size. */
#include "data/loader_chains.h"

#include "base/err.h"
#include "base/mem.h"

static bool end_alike(const struct transform_chain *a, const struct transform_chain *b)
{
	return shape_equal(transform_input_shape(a), transform_input_shape(b)) &&
	       shape_equal(transform_target_shape(a), transform_target_shape(b));
}

static int several_sizes(const struct transform_chain *a, const struct transform_chain *b,
                         bool training)
{
	char one[SHAPE_TEXT], other[SHAPE_TEXT];

	return ERR(E_DATA, NULL, "the samples of this set have several sizes, of which a batch cannot "
	           "be made: inputs are %s and %s after the "
	           "transforms; %s", shape_text(transform_input_shape(a), one),
	           shape_text(transform_input_shape(b), other),
	           training ? "'- crop: {size: ...}' takes windows of one size"
	                    : "give files of one size at a time, or see windows: '- crop: {size: "
	                    "..., validation: centre}'");
}

int loader_chains_new(struct transform_chain ***out, struct dataset *d,
                      const struct loader_options *o)
{
	const bool own = o->config->statistics == STATISTICS_DATA;
	const int n = dataset_sizes(d), first = o->only_size ? o->only_size - 1 : 0;
	struct transform_options t = {
		.data = d, .statistics = own ? NULL : o->statistics,
		.no_statistics = o->no_statistics && !own, .training = o->training,
		.seed = o->seed, .target_dtype = o->target_dtype,
		.stored_input = o->stored_input && !(o->training && mixup_wanted(&o->config->mixup)),
		.stored_target = o->stored_target,
	};
	struct transform_chain **chain = *out = mem_calloc((size_t)n, sizeof *chain);

	transform_choose_list(&t, o->config);
	for (t.size = first; t.size < (o->only_size ? first + 1 : n); t.size++) {
		TRY(transform_chain_new(&chain[t.size], &t));
		if (!end_alike(chain[t.size], chain[first]))
			return several_sizes(chain[first], chain[t.size], o->training);
	}
	return 0;
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
