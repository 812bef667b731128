/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches that leave the loader as they are stored: which chains of transforms allow it, and that
 * the op which does what is left gives the bits that the transforms would have given. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/exec.h"
#include "base/io.h"
#include "data/transform.h"
#include "data_fixture.h"
#include "op/normalize_input.h"
#include "pass/pass.h"

#define CHANNELS 3
#define H 65
#define W 70
#define N (H * W)
#define MOST (CHANNELS * 80 * 80)

static const char *const path = "test_stored.tmp.dlx";
static struct arena *arena;
static enum dtype stored;
static char input[CHANNELS * N * 8], target[N * 8];

/* One sample: two channels of whole numbers (or floats),
 * and a mask that is 0 for a third of them. */
static struct dataset *make_set(enum dtype type, enum dtype label, int64_t ignore)
{
	static const char *const channels[] = { "a", "b", "valid" };
	const struct record_info info = {
		.input = { type, { 3, { CHANNELS, H, W } }, channels, 0, NULL },
		.target = { label, { 2, { H, W } }, NULL, 0, NULL },
		.mask = 2, .ignore = ignore,
	};
	struct record_writer *w;
	stored = type;
	for (int i = 0; i < N; i++) {
		const double v = i % 3 ? i * 37 % 127 + 1 : 0;

		dtype_set(type, input, i, dtype_is_float(type) ? v / 3 - 7 : v);
		dtype_set(type, input, N + i, i * 11 % 101 * (i % 3 > 0));
		dtype_set(type, input, 2 * N + i, i % 3);
		dtype_set(label, target, i, i % 7 ? i % 7 : (double)ignore);
	}
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 1), 0);
	assert_int_equal(record_append(w, input, target), 0);
	assert_int_equal(record_commit(w), 0);
	return fixture_open(&path, 1);
}

static struct transform_chain *plan(struct dataset *d, const char *yaml, bool as_stored,
                                    enum dtype type)
{
	struct transform_options o = { .data = d, .training = true, .seed = 7, .target_dtype = type,
	                              .stored_input = as_stored, .stored_target = as_stored };
	struct transform_chain *t;
	struct ynode *root;
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &root), 0);
	o.list = root;
	if (transform_chain_new(&t, &o) < 0)
		fail_msg("%s: %s", yaml, err_get(0)->text);
	return t;
}

static void run(const struct transform_chain *t, void *x, void *y)
{
	struct transform_scratch *s = transform_scratch_new(t);
	assert_int_equal(transform_run(t, s, 3, 0, input, target, x, y), 0);
	transform_scratch_free(s);
}

/* What is left to do to x, done by the op. */
static void finish(const struct transform_chain *t, const void *x, float *out)
{
	static const struct pass passes[] = {
		{ "layout", "", pass_layout, STAGE_LAID_OUT },
		{ "sched", "", pass_sched, STAGE_LAID_OUT } };
	const struct transform_rest *r = transform_rest(t);
	struct shape s = { .nd = 4, .d = { 1 } };
	struct graph *g = graph_new();
	struct store *store;
	struct device *dev;
	struct exec *e;
	void *memory;
	tid in, y;
	memcpy(s.d + 1, transform_input_shape(t)->d, 3 * sizeof *s.d);
	g->cur_name = "test";
	assert_int_equal(graph_input(g, "x", r->input, &s, &in), 0);
	assert_int_equal(emit_normalize_input(g, in, r->mask, r->steps, r->table, &y), 0);
	graph_t(g, y)->output = true;
	assert_int_equal(device_open(&dev, "cpu"), 0);
	struct pass_env env = { .backend = dev->backend, .dev = dev, .plan = &plan_env_default };
	assert_int_equal(pass_run(g, passes, 2, &env), 0);
	assert_int_equal(exec_new(&e, g, dev, &plan_env_default), 0);
	store = store_new(dev, 1);
	memory = device_alloc(dev, exec_arena_bytes(e) + EXEC_ARENA_SLACK);
	assert_int_equal(exec_bind(e, store, memory, NULL), 0);
	assert_int_equal(exec_write(e, in, r->input, x), 0);
	assert_int_equal(exec_run(e, ~0u), 0);
	assert_int_equal(exec_read(e, y, DTYPE_F32, out), 0);
	device_free(dev, memory, exec_arena_bytes(e) + EXEC_ARENA_SLACK);
	exec_free(e);
	store_free(store);
	device_close(dev);
	graph_free(g);
}

/* Both ways, to the same bits. */
static void compare(struct dataset *d, const char *yaml, int64_t steps)
{
	static float want[MOST], got[MOST];
	static char x[MOST * 4], ty[MOST * 4], tw[MOST * 4], widened[MOST * 4];
	struct transform_chain *a = plan(d, yaml, false, DTYPE_I32),
	                       *b = plan(d, yaml, true, DTYPE_I32);
	const struct transform_rest *r = transform_rest(b);
	const int64_t n = shape_count(transform_input_shape(a)),
	              m = shape_count(transform_target_shape(a));
	assert_false(transform_rest(a)->values);
	assert_int_equal(transform_rest(a)->input, DTYPE_F32);
	assert_true(r->values);
	assert_int_equal(r->input, stored);
	assert_int_equal(r->steps, steps);
	assert_int_equal(shape_count(transform_input_shape(b)), n);
	run(a, want, tw);
	run(b, x, ty);
	finish(b, x, got);
	for (int64_t i = 0; i < n; i++)
		if (memcmp(&want[i], &got[i], sizeof(float)) != 0)
			fail_msg("%s of %s, element %lld: %.9g instead of %.9g", yaml, dtype_name(stored),
			         (long long)i, (double)got[i], (double)want[i]);
	dtype_convert(DTYPE_I32, widened, r->target, ty, m);
	assert_memory_equal(widened, tw, (size_t)m * 4);
	transform_chain_free(a);
	transform_chain_free(b);
}

static const enum dtype types[] = { DTYPE_F32, DTYPE_F16, DTYPE_BF16, DTYPE_I8, DTYPE_U8, DTYPE_I16,
	DTYPE_U16, DTYPE_I32 };

static void test_same_bits(void **state)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct dataset *d = make_set(types[i], DTYPE_U8, 255);

		compare(d, "[{normalize: standard}]", 1);
		compare(d, "[{normalize: {method: min_max, mask: null, channels: [a, b]}}, "
		        "{roll: [height, width]}]", 1);
		compare(d, "[{flip: {axis: width, probability: 1}}, {normalize: "
		        "standard}, {crop: [31, 20]}]", 1);
		compare(d, "[{pad: [80, 1]}, {normalize: {method: standard}}]", 1);
		compare(d, "[{pad: {multiple: 80, mode: [edge, wrap]}}, {normalize: "
		        "{method: standard, mask: null}}]", 1);
		/* 0 where the mask is 0 */
		compare(d, "[{normalize: standard}, {pad: [80, 72]}, {roll: height}]", 1);
		compare(d, "[{normalize: {method: standard, channels: a}}, {normalize: "
		        "{method: min_max, channels: b}}]", 2);
		compare(d, "[{normalize: standard}, {normalize: {method: standard, mean: 0.3, std: 3}}]",
		        2);
		compare(d, "[{crop: 60}, symmetry, {normalize: standard}]", 1);
		dataset_free(d);
	}
}

/* A choice of channels, before and after steps whose constants are by channel. */
static void test_channels(void **state)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct dataset *d = make_set(types[i], DTYPE_U8, 255);

		compare(d, "[{channels: [valid, b]}, {normalize: standard}]", 1);
		compare(d, "[{normalize: standard}, {channels: [valid, b]}, {roll: width}]", 1);
		compare(d, "[{normalize: standard}, {channels: [b, valid]}, {pad: [80, 72]}]", 1);
		/* no mask any more */
		compare(d, "[{channels: b}, {normalize: standard}]", 1);
		compare(d, "[{normalize: {method: min_max, channels: a, mask: null}}, "
		        "{channels: [b, valid, a]}, "
		        "{normalize: {method: standard, channels: b}}, {channels: [a, b, valid]}]", 2);
		compare(d, "[{normalize: {method: standard, channels: a, mask: null}}, "
		        "{channels: [b, valid]}, "
		        "{normalize: standard}]",
		        1);                                            /* of a nothing is left */
		if (types[i] != DTYPE_F32)
			compare(d, "[{channels: [b, a]}, {channels: a}]", 0);
		dataset_free(d);
	}
}

/* Of integers, which cast divides; the mask is divided too and stays what it is. */
static void test_cast(void **state)
{
	for (size_t i = 3; i < sizeof types / sizeof *types; i++) {
		struct dataset *d = make_set(types[i], DTYPE_I16, -1);

		compare(d, "[cast]", 1);
		compare(d, "[cast, {pad: 80}]", 1);
		compare(d, "[{crop: 60}, cast, {normalize: standard}]", 2);
		dataset_free(d);
	}
}

static void test_nothing_to_normalize(void **state)
{
	struct dataset *d = make_set(DTYPE_U8, DTYPE_U8, 255);
	compare(d, "[]", 0);
	compare(d, "[{roll: width}]", 0);
	dataset_free(d);
}

/* Chains whose values stay the loader's: it makes float32. */
static void stays(struct dataset *d, const char *yaml)
{
	struct transform_chain *t = plan(d, yaml, true, DTYPE_I32);
	if (transform_rest(t)->values)
		fail_msg("%s of %s is left to the device", yaml, dtype_name(stored));
	assert_int_equal(transform_rest(t)->input, DTYPE_F32);
	transform_chain_free(t);
}

static void test_what_stays(void **state)
{
	static const enum dtype wide[] = { DTYPE_F64, DTYPE_I64 };
	struct dataset *d = make_set(DTYPE_U8, DTYPE_U8, 255);
	stays(d, "[log1p]");
	stays(d, "[sqrt]");
	stays(d, "[{normalize_sample: standard}]");
	stays(d, "[{normalize: standard}, {noise: 0.1}]");
	/* between points */
	stays(d, "[{normalize: standard}, {rotate: 20}]");
	stays(d, "[{zoom: 1.5}, {crop: 20}, cast]");
	/* its mask is gone */
	stays(d, "[{normalize: standard}, {channels: a}]");
	/* two masks */
	stays(d, "[{normalize: {method: min_max, mask: b}}, {normalize: "
	      "{method: min_max, mask: valid}}]");
	stays(d, "[{normalize: {method: min_max, mask: null, channels: valid, min: 1, max: "
	      "2}}, {normalize: standard}]");
	/* its zeros are no stored value */
	stays(d, "[{normalize: {method: standard, mask: null}}, {pad: 80}]");
	dataset_free(d);
	d = make_set(DTYPE_F32, DTYPE_U8, 255);
	/* nothing is left to do */
	stays(d, "[]");
	stays(d, "[{roll: width}]");
	/* small floats could become 0 */
	stays(d, "[{normalize: {method: min_max, mask: null, channels: valid, min: 0, max: "
	      "9}}, {normalize: standard}]");
	dataset_free(d);
	for (int i = 0; i < 2; i++) {
		d = make_set(wide[i], DTYPE_U8, 255);
		stays(d, "[{normalize: standard}]");
		dataset_free(d);
	}
}

static enum dtype target_type(struct dataset *d, const char *yaml, enum dtype wanted)
{
	struct transform_chain *t = plan(d, yaml, true, wanted);
	const enum dtype type = transform_rest(t)->target;
	transform_chain_free(t);
	return type;
}

/* Labels that a warp and a pad put outside are the same in either type. */
static void same_labels(struct dataset *d, const char *yaml)
{
	static float x[MOST];
	static char ty[MOST * 4], tw[MOST * 4], widened[MOST * 4];
	struct transform_chain *a = plan(d, yaml, false, DTYPE_I32),
	                       *b = plan(d, yaml, true, DTYPE_I32);
	const int64_t m = shape_count(transform_target_shape(a));
	assert_int_equal(transform_rest(b)->target, DTYPE_U8);
	run(a, x, tw);
	run(b, x, ty);
	dtype_convert(DTYPE_I32, widened, DTYPE_U8, ty, m);
	assert_memory_equal(widened, tw, (size_t)m * 4);
	transform_chain_free(a);
	transform_chain_free(b);
}

static void test_warped_targets(void **state)
{
	struct dataset *d = make_set(DTYPE_U8, DTYPE_U8, 255);
	same_labels(d, "[{rotate: [20, 20]}, {pad: 80}, {noise: 1}]");
	same_labels(d, "[{zoom: {scale: [0.5, 0.5], target: 3}}, {pad: 80}]");
	assert_int_equal(target_type(d, "[{zoom: {scale: 2, target: 300}}]", DTYPE_I32), DTYPE_I32);
	/* which are interpolated */
	assert_int_equal(target_type(d, "[{zoom: 2}]", DTYPE_F32), DTYPE_F32);
	dataset_free(d);
}

static void test_targets(void **state)
{
	struct dataset *d = make_set(DTYPE_U8, DTYPE_U8, 255);
	assert_int_equal(target_type(d, "[]", DTYPE_I32), DTYPE_U8);
	assert_int_equal(target_type(d, "[]", DTYPE_F32), DTYPE_U8);
	assert_int_equal(target_type(d, "[log1p]", DTYPE_I32), DTYPE_U8);
	assert_int_equal(target_type(d, "[{crop: 20}]", DTYPE_I32), DTYPE_I32);          /* too few */
	dataset_free(d);
	/* which u8 has no place for */
	d = make_set(DTYPE_U8, DTYPE_U8, 300);
	assert_int_equal(target_type(d, "[]", DTYPE_I32), DTYPE_U8);
	assert_int_equal(target_type(d, "[{pad: 80}]", DTYPE_I32), DTYPE_I32);
	dataset_free(d);
	d = make_set(DTYPE_U8, DTYPE_I64, -1);
	assert_int_equal(target_type(d, "[]", DTYPE_I32), DTYPE_I32);
	dataset_free(d);
}

static int start(void **state)
{
	arena = arena_new();
	return 0;
}

static int stop(void **state)
{
	arena_free(arena);
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bits),
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_cast),
		cmocka_unit_test(test_nothing_to_normalize),
		cmocka_unit_test(test_what_stays),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_warped_targets),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
