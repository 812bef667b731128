/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chains of transforms on the samples of data_fixture.h, for the tests of transforms. A test names
 * its record file by TRANSFORM_FIXTURE_FILE before it includes this. */
#ifndef DLX_TEST_TRANSFORM_FIXTURE_H
#define DLX_TEST_TRANSFORM_FIXTURE_H

#include <math.h>
#include <unistd.h>

#include "data/transform.h"
#include "data_fixture.h"

#define N 5

static const char *const fixture_path = TRANSFORM_FIXTURE_FILE;
static struct dataset *set;
static struct arena *arena;

/* The chain of one sample, run once. */
struct result {
	struct transform_chain *chain;
	struct shape in, tg;
	float x[4 * POINTS];
	int32_t t[4 * POINTS];
};

static inline int plan(struct transform_chain **out, const char *yaml, bool training,
                       enum dtype target)
{
	struct transform_options o = {
		.data = set, .training = training, .seed = 7, .target_dtype = target };
	struct ynode *root;
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &root), 0);
	o.list = root;
	return transform_chain_new(out, &o);
}

static inline struct result apply(const char *yaml, bool training, int64_t epoch, int64_t sample)
{
	struct result r;
	struct transform_scratch *s;
	float input[2 * POINTS];
	uint8_t target[POINTS];
	int rc = plan(&r.chain, yaml, training, DTYPE_I32);
	if (rc < 0)
		fail_msg("%s: %s", yaml, err_get(0)->text);
	fixture_sample((int)sample, input, target);
	r.in = *transform_input_shape(r.chain);
	r.tg = *transform_target_shape(r.chain);
	s = transform_scratch_new(r.chain);
	assert_int_equal(transform_run(r.chain, s, epoch, sample, input, target, r.x, r.t), 0);
	transform_scratch_free(s);
	transform_chain_free(r.chain);
	return r;
}

static inline void near(double got, double expected)
{
	if (!(fabs(got - expected) <= 1e-5 * (1 + fabs(expected))))
		fail_msg("%.9g instead of %.9g", got, expected);
}

static inline int transform_start(void **state)
{
	fixture_write(fixture_path, N, 0);
	set = fixture_open(&fixture_path, 1);
	arena = arena_new();
	return 0;
}

static inline int transform_stop(void **state)
{
	dataset_free(set);
	arena_free(arena);
	return unlink(fixture_path);
}

#endif
