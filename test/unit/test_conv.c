/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What samples cannot say of conv, dense, reorder and cast: output sizes, refusals with both shapes
 * in the message, derivatives of derivatives, and that no ordinary convolution ends up on oneDNN's
 * reference code. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>

#include "cases.h"
#include "backend/exec.h"
#include "base/debug.h"
#include "base/err.h"
#include "base/mem.h"
#include "op/conv/conv.h"
#include "op/conv/conv_tile.h"
#include "op/lib/emit.h"
#include "op/lib/sample.h"
#include "op/reorder.h"
#include "pass/autodiff.h"
#include "pass/pass.h"

/* Builds the sample; the text of its output's shape, or of the error. */
static const char *outcome(const char *op, const char *text)
{
	static char buf[400];
	struct sample s = { 0 };
	err_clear();
	if (sample_build(&s, op_find(op), text, 1) < 0)
		snprintf(buf, sizeof buf, "%s", err_get(0)->text);
	else
		shape_text(node_out_shape(s.g, s.node, 0), buf);
	sample_release(&s);
	err_clear();
	return buf;
}

static void shapes_and_refusals(void **state)
{
	static const struct {
		const char *op, *sample, *want;
	} t[] = {
		{ "conv", "2x3x90x180 48x3x7x7 ; stride: 2, pad_lo: 3, pad_hi: 3", "2x48x45x90" },
		{ "conv", "1x4x9x9 4x1x3x3 ; groups: 4, dilation: 4", "1x4x1x1" },
		{ "conv", "1x2x5x6x7 8x2x1x2x3 ; stride: [1, 2, 3], pad_hi: [0, 1, 0]",
		  "1x8x5x3x2" },
		{ "conv", "1x3x9x9 4x2x3x3", "1x3x9x9 and 4x2x3x3" },
		{ "conv", "1x3x9x9 4x3x3", "1x3x9x9 and 4x3x3" },
		{ "conv", "3x9 4x3", "3x9 and 4x3" },
		{ "conv", "1x3x9x9 4x3x3x3 5", "the bias is 5, expected 4" },
		{ "conv", "1x3x2x9 4x3x3x3", "covers 3 elements of spatial axis 0" },
		{ "conv", "1x6x9x9 4x2x3x3 ; groups: 3", "cannot be split into 3 groups" },
		{ "conv", "1x3x9x9 4x3x3x3 ; stride: [1, 2, 3]", "'stride' has 3 values" },
		{ "conv", "1x3x9x9 4x3x3x3 ; stride: 0", "1" },
		{ "conv_grad_input", "1x4x3x3 4x2x3x3 ; stride: 2, input_size: 8", "1x2x8x8" },
		{ "conv_grad_input", "1x4x3x3 4x2x3x3 ; stride: 2, input_size: 9",
		  "expected 1x4x4x4" },
		{ "conv_grad_input", "1x4x3x3 5x2x3x3 ; input_size: 5", "1x4x3x3 and 5x2x3x3" },
		{ "conv_grad_input", "1x4x3x3 4x2x3x3", "input_size" },
		{ "conv_grad_weight", "1x4x9x9 1x6x4x4 ; groups: 2, stride: 2, kernel: 3",
		  "6x2x3x3" },
		{ "conv_grad_weight", "1x4x9x9 2x6x4x4 ; stride: 2, kernel: 3",
		  "expected 1x6x4x4" },
		{ "dense", "4x5 3x5 3", "4x3" },
		{ "dense", "4x5 5x3", "4x5 and 5x3" },
		{ "dense", "4x5 3x5 4", "the bias is 4, expected 3" },
		{ "matmul", "4x5 3x5 ; transpose_b: true", "4x3" },
		{ "matmul", "4x5 3x5", "4x5 and 3x5" },
		{ "matmul", "4x5x6 3x5", "two matrices" },
		{ "reorder", "2x3x4x5", "2x3x4x5" },
		{ "cast", "2x3 ; dtype: i64", "2x3" },
		{ "cast", "2x3 ; dtype: f31", "f31" },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		if (!strstr(outcome(t[i].op, t[i].sample), t[i].want))
			fail_msg("%s '%s': got '%s', expected '%s'", t[i].op, t[i].sample,
			         outcome(t[i].op, t[i].sample), t[i].want);
}

static tid make_input(struct graph *g, const char *name, enum dtype t, int nd, const int64_t *d)
{
	const struct shape s = shape_of(nd, d);
	tid x = NONE;
	assert_int_equal(graph_input(g, name, t, &s, &x), 0);
	return x;
}

static tid make_param(struct graph *g, const char *name, int nd, const int64_t *d)
{
	const struct shape s = shape_of(nd, d);
	tid x = NONE;
	assert_int_equal(graph_param(g, name, DTYPE_F32, &s, (struct init){ INIT_UNIFORM, 1 }, &x),
			 0);
	return x;
}

/* Sizes near the ends of the integers do not wrap. */
static void huge_sizes(void **state)
{
	static const int64_t huge = INT64_C(1) << 31, big = INT32_MAX;
	struct graph *g = graph_new();
	const int64_t xd[] = { 1, 1, INT64_C(1) << 40 }, wd[] = { 1, 1, INT64_C(1) << 40 };
	const tid in[] = { make_input(g, "x", DTYPE_F32, 3, xd),
			   make_input(g, "w", DTYPE_F32, 3, wd) };
	tid y = NONE;
	struct conv_attr at = { .dilation = { 1, &big }, .groups = 1 };
	assert_int_equal(graph_emit1(g, "conv", &at, 2, in, &y), E_SHAPE);
	at = (struct conv_attr){ .stride = { 1, &huge }, .groups = 1 };
	assert_int_equal(graph_emit1(g, "conv", &at, 2, in, &y), E_SHAPE);
	at = (struct conv_attr){ .groups = INT64_MIN };
	assert_int_equal(graph_emit1(g, "conv", &at, 2, in, &y), E_SHAPE);
	at = (struct conv_attr){ .pad_lo = { 1, &big }, .pad_hi = { 1, &big } };
	assert_int_equal(graph_emit1(g, "conv", &at, 2, in, &y), E_SHAPE);    /* the kernel */
	const int64_t small[] = { 1, 1, 3 };
	const tid fits[] = { in[0], make_input(g, "w3", DTYPE_F32, 3, small) };
	assert_int_equal(graph_emit1(g, "conv", &at, 2, fits, &y), 0);
	assert_int_equal(graph_t(g, y)->shape.d[2], xd[2] + 2 * big - 2);
	graph_free(g);
	err_clear();
}

/* A graph made ready on a device. */
struct ready {
	struct exec *exec;
	struct store *store;
	void *arena;
	size_t bytes;
};

static struct ready make_ready(struct graph *g, struct device *dev)
{
	static const struct pass passes[] = {
		{ "precision", "", pass_precision, STAGE_BUILT },
		{ "layout", "", pass_layout, STAGE_LAID_OUT },
		{ "sched", "", pass_sched, STAGE_LAID_OUT },
	};
	struct pass_env env = { .backend = dev->backend, .dev = dev, .plan = &plan_env_default };
	struct ready r = { .store = store_new(dev, 7) };
	assert_int_equal(pass_run(g, passes, 3, &env), 0);
	assert_int_equal(exec_new(&r.exec, g, dev, &plan_env_default), 0);
	r.bytes = exec_arena_bytes(r.exec) + EXEC_ARENA_SLACK;
	r.arena = mem_map(r.bytes);
	assert_int_equal(exec_bind(r.exec, r.store, r.arena, NULL), 0);
	return r;
}

static void drop_ready(struct ready *r)
{
	exec_free(r->exec);
	store_free(r->store);
	mem_unmap(r->arena, r->bytes);
}

static struct device *open_device(const char *name)
{
	struct device *dev = NULL;
	assert_int_equal(device_open(&dev, name), 0);
	return dev;
}

/* With s(x, w) = |d conv(x, w) / dx . v|^2 summed, the gradient to w of the gradient to x: against
 * central differences, on the reference. */
static void second_derivatives(void **state)
{
	const int64_t xd[] = { 1, 2, 6, 5 }, wd[] = { 3, 2, 3, 3 }, two = 2, one = 1;
	struct device *dev = open_device("reference");
	struct graph *g = graph_new();
	const tid x = make_param(g, "x", 4, xd), w = make_param(g, "w", 4, wd);
	const struct conv_attr at = { .stride = { 1, &two }, .pad_lo = { 1, &one }, .groups = 1 };
	tid y, square, dx, energy, dw;
	assert_int_equal(graph_emit1(g, "conv", &at, 2, (tid[]){ x, w }, &y), 0);
	assert_int_equal(emit_mul(g, y, y, &square), 0);
	assert_int_equal(autodiff(g, 1, &square, NULL, 1, &x, &dx), 0);
	assert_int_equal(emit_mul(g, dx, dx, &square), 0);
	assert_int_equal(emit_sum(g, square, 15, false, &energy), 0);
	assert_int_equal(autodiff(g, 1, &energy, NULL, 1, &w, &dw), 0);
	graph_t(g, dw)->output = graph_t(g, energy)->output = true;

	struct ready r = make_ready(g, dev);
	double grad[54], value[54];
	assert_int_equal(exec_run(r.exec, ~0u), 0);
	exec_read(r.exec, dw, DTYPE_F64, grad);
	store_get(store_find(r.store, "w"), DTYPE_F64, value);
	for (int i = 0; i < 54; i++) {
		double e[2], at_i = value[i];
		for (int side = 0; side < 2; side++) {
			value[i] = at_i + (side ? 1e-5 : -1e-5);
			store_set(store_find(r.store, "w"), DTYPE_F64, value);
			assert_int_equal(exec_run(r.exec, ~0u), 0);
			exec_read(r.exec, energy, DTYPE_F64, &e[side]);
		}
		value[i] = at_i;
		assert_true(fabs((e[1] - e[0]) / 2e-5 - grad[i]) < 1e-5 * (1 + fabs(grad[i])));
	}
	drop_ready(&r);
	graph_free(g);
	device_close(dev);
}

/* Forward, both gradients: none of them on code a thousand times slower. */
static void no_reference_code(void **state)
{
	static const char *const samples[] = {
		"1x5x18x36 48x5x3x3! 48! ; pad_lo: 1, pad_hi: 1",
		"1x48x18x36 4x48x1x1! 4!",
		"1x1x18x36 16x1x3x3! 16! ; pad_lo: 1, pad_hi: 1",
		"1x16x18x36 1x16x3x3! 1! ; pad_lo: 1, pad_hi: 1",
		"1x1x8x8x8 16x1x3x3x3! 16! ; pad_lo: 1, pad_hi: 1",
		"1x32x18x18 32x1x3x3! ; groups: 32, stride: 2, pad_lo: [0, 1], pad_hi: 1",
		"1x6x9x9 10x3x3x3! 10! ; groups: 2, pad_lo: 1, pad_hi: 1",
		"1x16x18x18 16x16x3x3! ; dilation: 6, pad_lo: 6, pad_hi: 6",
		"2x1x50 16x1x5! 16! ; stride: 2",
	};
	struct device *dev = open_device("cpu");
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		struct sample s = { 0 };
		tid dx[3];
		assert_int_equal(sample_build(&s, op_find("conv"), samples[i], 1), 0);
		assert_int_equal(autodiff(s.g, 1, s.node->out, NULL, s.nin, s.in, dx), 0);
		for (int k = 0; k < s.nin; k++)
			if (s.in[k] != NONE)
				graph_t(s.g, dx[k])->output = true;
		struct ready r = make_ready(s.g, dev);
		int convs = 0;
		for (nid n = 0; n < s.g->nnode; n++) {
			const char *impl = exec_impl(r.exec, n);
			convs += strncmp(s.g->node[n]->op->name, "conv", 4) == 0;
			if (impl && strstr(impl, "ref"))
				fail_msg("'%s': %s runs %s", samples[i], s.g->node[n]->op->name,
					 impl);
		}
		assert_int_equal(convs, 3);
		drop_ready(&r);
		sample_release(&s);
	}
	device_close(dev);
}

/* Runs a gradient of weights with this number of threads: dw gets its bits, and the name of the
 * implementation is returned. each: all inputs are this value; 0: the sample's values. */
static const char *weights_bits(const char *text, int threads, double each, float *dw)
{
	static char impl[40];
	struct sample s = { 0 };
	omp_set_num_threads(threads);
	struct device *dev = open_device("cpu");
	assert_int_equal(sample_build(&s, op_find("conv_grad_weight"), text, 1), 0);
	const tid out = s.node->out[0];
	graph_t(s.g, out)->output = true;
	struct ready r = make_ready(s.g, dev);
	for (int i = 0; i < s.nin; i++) {
		const int64_t n = shape_count(&graph_t(s.g, s.in[i])->shape);
		for (int64_t k = 0; k < n && each != 0; k++)
			s.value[i][k] = each;
		exec_write(r.exec, s.in[i], DTYPE_F64, s.value[i]);
	}
	assert_int_equal(exec_run(r.exec, ~0u), 0);
	exec_read(r.exec, out, DTYPE_F32, dw);
	for (nid n = 0; n < s.g->nnode; n++)
		if (strcmp(s.g->node[n]->op->name, "conv_grad_weight") == 0)
			snprintf(impl, sizeof impl, "%s", exec_impl(r.exec, n));
	drop_ready(&r);
	sample_release(&s);
	device_close(dev);
	return impl;
}

/* Sums are cut by shape: in chunks of pixels here, in groups of tiles there. */
static void same_bits_with_any_threads(void **state)
{
	static const char *const samples[] = {
		"2x20x40x30 2x20x40x30 ; pad_lo: 1, pad_hi: 1, kernel: 3",
		"1x200x6x5 1x130x6x5 ; pad_lo: 1, pad_hi: 1, kernel: 3",
		"1x3x40x40 1x32x20x20 ; stride: 2, pad_lo: 1, pad_hi: 1, kernel: 3",
	};
	static float one[240000], other[240000];
	const int threads = omp_get_max_threads();
	debug.conv = "direct";
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
		const char *impl = weights_bits(samples[i], 1, 0, one);
		if (tile_supported())
			assert_string_equal(impl, "direct:avx512");
		for (int n = 2; n < 5; n++) {
			weights_bits(samples[i], n, 0, other);
			assert_memory_equal(one, other, sizeof one);
		}
	}
	debug.conv = NULL;
	omp_set_num_threads(threads);
}

/* A sum over many pixels keeps its digits: in the middle of the kernel it is of all of them. */
static void sums_keep_digits(void **state)
{
	static float dw[16 * 9];
	const int threads = omp_get_max_threads();
	const char *impl = weights_bits("1x1x900x800 1x16x900x800 ; pad_lo: 1, pad_hi: 1, kernel: 3", 1,
	                                0.1, dw);
	const double want = 720000 * (double)0.1f * (double)0.1f;
	if (tile_supported())
		assert_string_equal(impl, "direct:avx512");
	for (int o = 0; o < 16 && tile_supported(); o++)
		assert_true(fabs((double)dw[9 * o + 4] - want) < 1e-6 * want);
	omp_set_num_threads(threads);
}

/* cast rounds as dtype_set does; values come back through another cast. */
static void casts_round(void **state)
{
	static const enum dtype types[] = { DTYPE_F16, DTYPE_BF16, DTYPE_I32, DTYPE_I8, DTYPE_I64 };
	const int64_t d[] = { 3, 3000 };
	static float x[9000], y[9000];
	struct device *dev = open_device("cpu");
	for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
		struct graph *g = graph_new();
		const tid in = make_input(g, "x", DTYPE_F32, 2, d);
		tid mid, out;
		assert_int_equal(
			graph_emit1(g, "cast", &(struct cast_attr){ (int)types[t] }, 1, &in, &mid),
			0);
		assert_int_equal(
			graph_emit1(g, "cast", &(struct cast_attr){ DTYPE_F32 }, 1, &mid, &out), 0);
		graph_t(g, out)->output = true;
		struct ready r = make_ready(g, dev);
		for (int i = 0; i < 9000; i++)
			x[i] = (float)(i - 4500) * 0.123f;
		exec_write(r.exec, in, DTYPE_F32, x);
		assert_int_equal(exec_run(r.exec, ~0u), 0);
		exec_read(r.exec, out, DTYPE_F32, y);
		for (int i = 0; i < 9000; i++) {
			int64_t one = 0;
			dtype_set(types[t], &one, 0, (double)x[i]);
			assert_true((double)y[i] == (double)(float)dtype_get(types[t], &one, 0));
		}
		drop_ready(&r);
		graph_free(g);
	}
	device_close(dev);
}

/* Layouts and types oneDNN has no reorder for go through our loop: blocked, and grouped against
 * ungrouped. */
static void reorders_of_any_type(void **state)
{
	static const enum dtype types[] = { DTYPE_F32, DTYPE_F64, DTYPE_I64, DTYPE_I32, DTYPE_U8 };
	const int64_t d[] = { 6, 5, 3, 2 };
	static double x[180], y[180];
	struct device *dev = open_device("cpu");
	for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
		struct graph *g = graph_new();
		const tid in = make_input(g, "x", types[t], 4, d);
		tid mid, out;
		assert_int_equal(graph_emit1(g, "reorder", NULL, 1, &in, &mid), 0);
		assert_int_equal(graph_emit1(g, "reorder", NULL, 1, &mid, &out), 0);
		graph_t(g, out)->output = graph_t(g, mid)->output = true;
		struct pass_env env = { .backend = BACKEND_CPU, .dev = dev, .plan = &plan_env_default };
		assert_int_equal(pass_layout(g, &env), 0);
		/* (g, O/g, I/g, kh, kw) blocked by 4 of I */
		graph_t(g, mid)->layout = (struct layout){ .set = true,
							   .nd = 5,
							   .dims = { 2, 3, 5, 3, 2 },
							   .stride = { 144, 48, 24, 8, 4 },
							   .nblk = 1,
							   .blk = { 4 },
							   .blk_dim = { 2 } };
		struct ready r = { .store = store_new(dev, 7) };
		assert_int_equal(exec_new(&r.exec, g, dev, &plan_env_default), 0);
		r.bytes = exec_arena_bytes(r.exec) + EXEC_ARENA_SLACK;
		r.arena = mem_map(r.bytes);
		assert_int_equal(exec_bind(r.exec, r.store, r.arena, NULL), 0);
		for (int i = 0; i < 180; i++)
			x[i] = i + 1;
		memset(r.arena, 0xff, r.bytes);
		exec_write(r.exec, in, DTYPE_F64, x);
		assert_int_equal(exec_run(r.exec, ~0u), 0);
		for (int which = 0; which < 2; which++) {
			exec_read(r.exec, which ? out : mid, DTYPE_F64, y);
			assert_memory_equal(x, y, sizeof x);
		}
		/* 288 elements, 108 of them padding */
		double sum = 0;
		for (int i = 0; i < 288; i++)
			sum += dtype_get(types[t], exec_pointer(r.exec, mid), i);
		assert_true(sum == 180 * 181 / 2);
		drop_ready(&r);
		graph_free(g);
	}
	device_close(dev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shapes_and_refusals), cmocka_unit_test(huge_sizes),
		cmocka_unit_test(second_derivatives),  cmocka_unit_test(no_reference_code),
		cmocka_unit_test(sums_keep_digits),
		cmocka_unit_test(same_bits_with_any_threads),
		cmocka_unit_test(casts_round),         cmocka_unit_test(reorders_of_any_type),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
