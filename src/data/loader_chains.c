/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The chains of transforms of a loader: one for each size of its samples. */
#include "data/loader_chains.h"

#include "base/err.h"
#include "base/mem.h"
#include "data/transform.h"

static int several_sizes(const struct chains *c, int k, bool training)
{
	char one[SHAPE_TEXT], other[SHAPE_TEXT];

	return ERR(E_DATA, NULL, "the samples of this set have several sizes, of which a batch cannot "
	           "be made: inputs are %s and %s after the "
	           "transforms; %s", shape_text(transform_input_shape(c->chain[0]), one),
	           shape_text(transform_input_shape(c->chain[k]), other),
	           training ? "'- crop: {size: ...}' takes windows of one size"
	                    : "give files of one size at a time, or see windows: '- crop: {size: "
	                    "..., validation: centre}'");
}

int chains_init(struct chains *c, const struct dataset *d, const struct loader_options *o)
{
	const bool own = o->config->statistics == STATISTICS_DATA;
	struct transform_options t = {
		.data = d, .statistics = own ? NULL : o->statistics,
		.no_statistics = o->no_statistics && !own, .training = o->training,
		.seed = o->seed, .target_dtype = o->target_dtype,
		.stored_input = o->stored_input && !(o->training && mixup_wanted(&o->config->mixup)),
		.stored_target = o->stored_target,
	};

	transform_choose_list(&t, o->config);
	c->n = dataset_sizes(d);
	c->chain = mem_calloc((size_t)c->n, sizeof *c->chain);
	for (t.size = 0; t.size < c->n; t.size++) {
		TRY(transform_chain_new(&c->chain[t.size], &t));
		if (!shape_equal(transform_input_shape(c->chain[t.size]),
		                 transform_input_shape(c->chain[0])) ||
		    !shape_equal(transform_target_shape(c->chain[t.size]),
		                 transform_target_shape(c->chain[0])))
			return several_sizes(c, t.size, o->training);
	}
	return 0;
}

void chains_release(struct chains *c)
{
	for (int k = 0; c->chain && k < c->n; k++)
		transform_chain_free(c->chain[k]);
	mem_free(c->chain);
}
