/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batches that leave the loader as they are stored: which chains of transforms allow it, and that
 * the op which does what is left gives the bits that the transforms would have given. And batches
 * that are rounded to 16 bits: their bits are those of float32 values that a GPU casts. */
#include <math.h>

#include "cases.h"
#include "backend/exec.h"
#include "base/half.h"
#include "base/io.h"
#include "base/mem.h"
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

static struct transform_chain *plan_rounded(struct dataset *d, const char *yaml, bool as_stored,
                                            enum dtype type, enum dtype rounded)
{
	struct transform_options o = { .data = d, .training = true, .seed = 7, .target_dtype = type,
	                              .stored_input = as_stored, .stored_target = as_stored,
	                              .rounded = rounded };
	struct transform_chain *t;
	struct ynode *root;
	assert_int_equal(ytree_parse(arena, "t.yaml", yaml, &root), 0);
	o.list = root;
	if (transform_chain_new(&t, &o) < 0)
		fail_msg("%s: %s", yaml, err_get(0)->text);
	return t;
}

static struct transform_chain *plan(struct dataset *d, const char *yaml, bool as_stored,
                                    enum dtype type)
{
	return plan_rounded(d, yaml, as_stored, type, DTYPE_F32);
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

/* --- batches rounded to 16 bits --- */

static const enum dtype short_floats[] = { DTYPE_BF16, DTYPE_F16 };

/* What a GPU makes of it. */
static uint16_t cast_on_gpu(float v, enum dtype type)
{
	if (isnan(v))
		return 0x7FFF;
	return type == DTYPE_BF16 ? bfloat_from_float(v) : half_from_float(v);
}

/* n values of the chain, and those of one that does not round. */
static void same_cast(const char *yaml, enum dtype type, const float *want, const uint16_t *got,
                      int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		if (got[i] != cast_on_gpu(want[i], type))
			fail_msg("%s of %s in %s, element %lld: %04x instead of %04x", yaml, dtype_name(stored),
			         dtype_name(type), (long long)i, got[i], cast_on_gpu(want[i], type));
}

/* As a loader does it: piece by piece to where the transforms begin. */
static void run_pieces(const struct transform_chain *t, void *x, void *y, int64_t count,
                       int64_t piece)
{
	struct transform_scratch *s = transform_scratch_new(t);
	for (int turn = 0; turn < 2; turn++) {
		char *begin = transform_begin(t, s, x);
		for (int64_t at = 0; at < count && transform_takes(t); at += piece)
			transform_take(t, begin, at, input + (size_t)at * dtype_size(stored),
			               piece < count - at ? piece : count - at);
		if (!transform_takes(t))
			memcpy(begin, input, (size_t)count * dtype_size(stored));
		assert_int_equal(transform_run(t, s, 3, 0, begin, target, x, y), 0);
	}
	transform_scratch_free(s);
}

static void compare_rounded(struct dataset *d, const char *yaml, enum dtype type)
{
	static float want[MOST];
	static uint16_t got[MOST], pieces[MOST];
	static char ty[MOST * 4], tw[MOST * 4];
	struct transform_chain *a = plan(d, yaml, false, DTYPE_I32),
	                       *b = plan_rounded(d, yaml, true, DTYPE_I32, type);
	const struct transform_rest *r = transform_rest(b);
	const int64_t n = shape_count(transform_input_shape(a));
	assert_int_equal(r->input, type);
	assert_false(r->values);
	assert_int_equal(r->steps, 0);
	run(a, want, tw);
	run(b, got, ty);
	same_cast(yaml, type, want, got, n);
	run_pieces(b, pieces, ty, CHANNELS * N, 997);
	same_cast(yaml, type, want, pieces, n);
	transform_chain_free(a);
	transform_chain_free(b);
}

/* Rounded on the way in or at the end, from wide types. */
static void test_rounded(void **state)
{
	static const enum dtype wide[] = { DTYPE_F32, DTYPE_F64, DTYPE_I32, DTYPE_I64 };
	for (size_t i = 0; i < 8; i++) {
		struct dataset *d = make_set(wide[i % 4], DTYPE_U8, 255);
		const enum dtype type = short_floats[i / 4];

		compare_rounded(d, "[{normalize: {method: standard, mask: null}}]", type);
		compare_rounded(d, "[{normalize: {method: standard, mask: null, channels: b}}, "
		                "{roll: [height, width]}, {crop: 31}]", type);
		compare_rounded(d, "[{normalize: {method: min_max, mask: null}}, {pad: [80, 72]}, "
		                "{channels: [b, a]}]", type);
		compare_rounded(d, "[{normalize: standard}, {flip: width}, {crop: [64, 66]}]", type);
		compare_rounded(d, "[{flip: {axis: height, probability: 1}}, {normalize: standard}]", type);
		compare_rounded(d, "[{normalize: standard}, {rotate: 20}, {crop: 40}]", type);
		compare_rounded(d, "[{crop: 60}, symmetry, {noise: 0.1}]", type);
		dataset_free(d);
	}
}

/* Where nothing is to be done float32 travels too. */
static void test_rounded_alone(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		struct dataset *d = make_set(DTYPE_F32, DTYPE_U8, 255);

		compare_rounded(d, "[]", short_floats[i]);
		compare_rounded(d, "[{roll: width}]", short_floats[i]);
		compare_rounded(d, "[{pad: {multiple: 80, mode: wrap}}, symmetry]", short_floats[i]);
		dataset_free(d);
	}
}

/* What no device can be left with is narrowed from 8 bits, too. */
static void test_rounded_small(void **state)
{
	for (size_t i = 0; i < 2; i++) {
		struct dataset *d = make_set(DTYPE_U8, DTYPE_U8, 255);

		compare_rounded(d, "[log1p]", short_floats[i]);
		compare_rounded(d, "[{normalize: {method: standard, mask: null}}, {pad: 80}]",
		                short_floats[i]);
		dataset_free(d);
		d = make_set(short_floats[i], DTYPE_U8, 255);
		compare_rounded(d, "[{normalize: {method: standard, mask: null}}, {pad: 80}]",
		                short_floats[i]);
		dataset_free(d);
	}
}

/* What travels in 16 bits or fewer stays as it is stored. */
static void test_not_rounded(void **state)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		struct dataset *d = make_set(types[i], DTYPE_U8, 255);
		struct transform_chain *t = plan_rounded(d, "[{normalize: standard}, {roll: width}]", true,
		                                         DTYPE_I32, DTYPE_BF16);
		const bool small = dtype_size(types[i]) <= 2;

		assert_int_equal(transform_rest(t)->values, small);
		assert_int_equal(transform_rest(t)->input, small ? types[i] : DTYPE_BF16);
		transform_chain_free(t);
		dataset_free(d);
	}
}

/* Bits of float32 in every rounding's way: between values, at the ends of the ranges, NaNs. */
static void fill_bits(float *x, int64_t n)
{
	static const uint32_t bits[] = { 0, 0x80000000, 1, 0x80000001, 0x007FFFFF, 0x00008000,
		0x00018000, 0x00008001, 0x3F808000, 0x3F818000, 0x3F807FFF, 0x3F808001, 0x3F801000,
		0x3F803000, 0x3F800FFF, 0x33000000, 0x33000001, 0x32FFFFFF, 0x33C00000, 0x387FE000,
		0x387FF000, 0x38800000, 0x477FE000, 0x477FEFFF, 0x477FF000, 0xC77FF000, 0x47800000,
		0x7F7F7FFF, 0x7F7F8000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001,
		0xFF800001, 0x7FC00000, 0xFFC00000, 0x7FFFFFFF, 0xFFFFFFFF, 0x7F80FFFF, 0xFFA12345 };
	const int64_t most = (int64_t)(sizeof bits / sizeof *bits);
	for (int64_t i = 0; i < n; i++) {
		const uint32_t u = i % 3 ? bits[i % most] : (uint32_t)i * 2654435761u;

		memcpy(&x[i], &u, sizeof u);
	}
}

static void test_rounded_bits(void **state)
{
	for (size_t i = 0; i < 4; i++) {
		struct dataset *d = make_set(DTYPE_F32, DTYPE_U8, 255);

		fill_bits((float *)(void *)input, CHANNELS * N);
		compare_rounded(d, i % 2 ? "[{normalize: {method: standard, mean: 0.5, std: 0.3, mask: "
		                "null}}, {roll: width}]" : "[{flip: width}]", short_floats[i / 2]);
		dataset_free(d);
	}
}

/* Of a sample that is written past the caches. */
#define LARGE_H 1201
#define LARGE_W 1999

static void check_large(struct dataset *d, const char *yaml, enum dtype type, const float *x)
{
	const int64_t n = (int64_t)LARGE_H * LARGE_W;
	struct transform_chain *a = plan(d, yaml, false, DTYPE_F32),
	                       *b = plan_rounded(d, yaml, true, DTYPE_F32, type);
	struct transform_scratch *s = transform_scratch_new(a), *t = transform_scratch_new(b);
	float *want = mem_alloc((size_t)n * sizeof *want), y;
	uint16_t *got = mem_alloc((size_t)n * sizeof *got);
	void *begin = transform_begin(b, t, got);
	for (int64_t at = 0; at < n; at += 70001)
		transform_take(b, begin, at, x + at, n - at < 70001 ? n - at : 70001);
	assert_int_equal(transform_run(a, s, 0, 0, x, target, want, &y), 0);
	assert_int_equal(transform_run(b, t, 0, 0, begin, target, got, &y), 0);
	same_cast(yaml, type, want, got, n);
	mem_free(want);
	mem_free(got);
	transform_scratch_free(s);
	transform_scratch_free(t);
	transform_chain_free(a);
	transform_chain_free(b);
}

static void test_rounded_large(void **state)
{
	const struct record_info info = {
		.input = { DTYPE_F32, { 3, { 1, LARGE_H, LARGE_W } }, NULL, 0, NULL },
		.target = { DTYPE_F32, { 0 }, NULL, 0, NULL }, .mask = -1, .ignore = INT64_MIN,
	};
	float *x = mem_alloc((size_t)LARGE_H * LARGE_W * sizeof *x);
	struct record_writer *w;
	for (int64_t i = 0; i < (int64_t)LARGE_H * LARGE_W; i++)
		x[i] = (float)(i * 37 % 1009) / 7 - 60;
	stored = DTYPE_F32;
	io_input_forget(path);
	assert_int_equal(record_create(&w, path, &info, 1), 0);
	assert_int_equal(record_append(w, x, target), 0);
	assert_int_equal(record_commit(w), 0);
	struct dataset *d = fixture_open(&path, 1);
	fill_bits(x + 12345, 100000);
	for (size_t i = 0; i < 2; i++) {
		check_large(d, "[]", short_floats[i], x);
		check_large(d, "[{normalize: standard}]", short_floats[i], x);
		check_large(d, "[{roll: width}, {normalize: standard}]", short_floats[i], x);
	}
	dataset_free(d);
	mem_free(x);
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
		cmocka_unit_test(test_rounded),
		cmocka_unit_test(test_rounded_alone),
		cmocka_unit_test(test_rounded_small),
		cmocka_unit_test(test_not_rounded),
		cmocka_unit_test(test_rounded_bits),
		cmocka_unit_test(test_rounded_large),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
