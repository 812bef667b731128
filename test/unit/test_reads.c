/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The callback `reads` of every op against its reference kernel, on the op's own samples: what is
 * at one place of an input along a spatial axis is changed, and each output that changes must have
 * that place in its interval. The op has no callback where all outputs read all of an input. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "graph/attr.h"
#include "op/lib/sample.h"
#include "op_run.h"

#define MOST_WORK 3e7           /* flops of a sample's runs: larger samples are left out */
#define MOST_PLACES 512

/* out[0] for these inputs; in the sample's arena. */
static double *run(const struct sample *s)
{
	struct op_run r;
	const tid y = s->node->out[0];
	double *out = ARENA_ARRAY(s->g->arena, double, shape_count(&graph_t(s->g, y)->shape) + 1);
	op_run_init(&r, s->g, BACKEND_REFERENCE, false);
	for (int i = 0; i < s->nin; i++)
		if (s->in[i] != NONE)
			op_run_set(&r, s->in[i], s->value[i]);
	op_run_all(&r);
	op_run_get(&r, y, out);
	op_run_release(&r);
	return out;
}

/* Of element i of a tensor its place along an axis. */
static int64_t place(const struct shape *s, int axis, int64_t i)
{
	for (int k = s->nd - 1; k > axis; k--)
		i /= s->d[k];
	return i % s->d[axis];
}

/* in[i] with other values at place p along the axis; in the sample's arena. */
static double *changed(const struct sample *s, int i, int axis, int64_t p)
{
	const struct shape *x = node_in_shape(s->g, s->node, i);
	double *v = arena_copy(s->g->arena, s->value[i], (size_t)shape_count(x) * sizeof *v);
	for (int64_t e = 0; e < shape_count(x); e++)
		if (place(x, axis, e) == p)
			v[e] += 8 + (double)(e % 7);
	return v;
}

static bool differs(double a, double b)
{
	return a != b && !(isnan(a) && isnan(b));
}

/* How many of the outputs along the axis change, each of which must read p. */
static int check_place(struct sample *s, int i, int axis, int64_t p, const double *before)
{
	double *plain = s->value[i];
	const struct shape *y = node_out_shape(s->g, s->node, 0);
	const double *after;
	bool hit[MOST_PLACES] = { false };
	int n = 0;
	s->value[i] = changed(s, i, axis, p);
	after = run(s);
	s->value[i] = plain;
	for (int64_t e = 0; e < shape_count(y); e++)
		hit[place(y, axis, e)] |= differs(before[e], after[e]);
	for (int64_t o = 0; o < y->d[axis]; o++) {
		int64_t lo = o, hi = o;
		n += hit[o];
		assert_true(s->node->op->reads(s->g, s->node, i, axis, &lo, &hi));
		if (hit[o] && (p < lo || p > hi))
			fail_msg("%s: along axis %d output %d depends on place %d of input %d, but reads "
			         "%d to %d", s->node->op->name, axis, (int)o, (int)p, i, (int)lo, (int)hi);
	}
	return n;
}

/* Intervals of several outputs are those of the first and the last one. */
static void check_wide(const struct sample *s, int i, int axis)
{
	const struct op *op = s->node->op;
	for (int64_t from = -7; from < 9; from += 3) {
		int64_t lo = from, hi = from, end = from + 4, last = from + 4, both = from,
		        to = from + 4;
		assert_true(op->reads(s->g, s->node, i, axis, &lo, &hi));
		assert_true(op->reads(s->g, s->node, i, axis, &end, &last));
		assert_true(op->reads(s->g, s->node, i, axis, &both, &to));
		assert_true(both == lo && to == last && lo <= end && hi <= last);
	}
}

static bool is_float(const struct sample *s, int i)
{
	return s->in[i] != NONE && graph_t(s->g, s->in[i])->dtype == DTYPE_F64;
}

/* As on the reference device: kernels that copy go by the size of a value. */
static void widen(struct graph *g)
{
	for (tid t = 0; t < g->ntensor; t++)
		if (dtype_is_float(graph_t(g, t)->dtype))
			graph_t(g, t)->dtype = DTYPE_F64;
}

/* Whether the sample was of use: the op has an answer for some axis of it. */
static bool check_sample(const struct op *op, const char *text)
{
	struct sample s;
	bool used = false;
	if (sample_build(&s, op, text, 7) < 0)
		fail_msg("%s '%s': %s", op->name, text, err_get(0)->text);
	widen(s.g);
	const struct shape *y = node_out_shape(s.g, s.node, 0);
	const double *before = NULL;
	const double work = op_cost(s.g, s.node).flops + (double)shape_count(y);
	const struct ints *whole = attr_find(op, s.node->attr, "whole", FT_INTS);
	const bool piece = whole && whole->n > 0;       /* has other coordinates */
	for (int i = 0; i < s.nin && y->nd > 2 && !piece; i++)
		for (int axis = 2; axis < y->nd && is_float(&s, i); axis++) {
			int64_t lo = 0, hi = 0;
			int n = 0;
			if (!op->reads(s.g, s.node, i, axis, &lo, &hi))
				continue;
			const struct shape *x = node_in_shape(s.g, s.node, i);
			if (work * (double)x->d[axis] > MOST_WORK || y->d[axis] > MOST_PLACES)
				continue;
			before = before ? before : run(&s);
			check_wide(&s, i, axis);
			for (int64_t p = 0; p < x->d[axis]; p++)
				n += check_place(&s, i, axis, p, before);
			used |= n > 0;
		}
	sample_release(&s);
	return used;
}

static void test_samples(void **state)
{
	const struct op *op;
	for (int k = 0; (op = op_at(k)) != NULL; k++) {
		const bool runs = op->kernel[BACKEND_REFERENCE].run || (op->flags & OP_VIEW);
		int used = 0;
		for (int i = 0; op->reads && runs && op->samples[i]; i++)
			used += check_sample(op, op->samples[i]);
		if (op->reads && used == 0)
			fail_msg("'%s' has no sample on which its callback was tested", op->name);
	}
}

static void expect(const char *op, const char *text, int in, int axis, int64_t out_lo,
                   int64_t out_hi, int64_t lo, int64_t hi)
{
	struct sample s;
	assert_int_equal(sample_build(&s, op_find(op), text, 7), 0);
	assert_true(s.node->op->reads(s.g, s.node, in, axis, &out_lo, &out_hi));
	if (out_lo != lo || out_hi != hi)
		fail_msg("%s '%s': %d to %d, expected %d to %d", op, text, (int)out_lo, (int)out_hi,
		         (int)lo, (int)hi);
	sample_release(&s);
}

/* Intervals are as narrow as what is read, and not cut to the input. */
static void test_intervals(void **state)
{
	expect("conv", "1x1x9x9 1x1x3x3!; pad_lo: 1, pad_hi: 1", 0, 2, 0, 0, -1, 1);
	expect("conv", "1x1x9x9 1x1x3x3!; pad_lo: 1, pad_hi: 1, stride: 2", 0, 3, 4, 4, 7, 9);
	/* even windows */
	expect("conv", "1x1x9x9 1x1x4x2!; stride: 3", 0, 2, 1, 1, 3, 6);
	expect("conv", "1x1x9x9 1x1x4x2!; stride: 3", 0, 3, 1, 1, 3, 4);
	expect("average_pool", "1x1x8x9; kernel: 2, stride: 1, pad_lo: 1", 0, 2, 0, 3, -1, 3);
	expect("max_pool", "1x1x8x9; kernel: 4, stride: 2, pad_hi: 2", 0, 3, 3, 3, 6, 9);
	/* transposed: those that make an output, in between two inputs too */
	expect("conv_grad_input", "1x1x5x5 1x1x2x2!; stride: 2, input_size: 10", 0, 2, 3, 3, 1, 1);
	expect("conv_grad_input", "1x1x5x5 1x1x3x3!; stride: 2, input_size: 11", 0, 2, 4, 4, 1, 2);
	/* any factor */
	expect("resize", "1x1x9x9; size: [21, 7]", 0, 2, 10, 10, 4, 4);
	expect("resize", "1x1x9x9; size: [21, 7]", 0, 2, 0, 0, -1, 0);
	expect("resize", "1x1x9x9; size: [21, 7]", 0, 3, 6, 6, 7, 8);
	expect("resize", "1x1x9x9; size: [21, 7], align_corners: true", 0, 2, 20, 20, 8, 8);
	expect("resize", "1x1x8x9; size: [2, 4], mode: area", 0, 2, 1, 1, 4, 7);
	expect("resize", "1x1x8x9; size: [2, 4], mode: area", 0, 3, 1, 1, 2, 4);
	expect("resize", "1x1x8x9; size: [32, 4], mode: nearest", 0, 2, 7, 8, 1, 2);
	/* of a piece: in the whole's coordinates */
	expect("resize", "1x1x3x3; size: [7, 7], whole: [9, 9, 21, 21]", 0, 2, 10, 10, 4, 4);
	/* a range that moves */
	expect("concat", "1x1x4x5 1x1x3x5; axis: 2", 1, 2, 5, 6, 1, 2);
	expect("concat", "1x1x4x5 1x1x3x5; axis: 2", 1, 3, 5, 6, 5, 6);
	expect("slice", "1x1x9x5; axis: 2, begin: 3, size: 4", 0, 2, 0, 1, 3, 4);
	expect("pad", "1x1x9x5; before: [0, 0, 2, 0], after: [0, 0, 0, 1]", 0, 2, 0, 3, -2, 1);
	/* repeated, and other axes */
	expect("broadcast", "1x2x1x5; shape: [1, 2, 7, 5]", 0, 2, 3, 6, 0, 0);
	expect("broadcast", "1x2x1x5; shape: [1, 2, 7, 5]", 0, 3, 3, 6, 3, 6);
	expect("mean", "1x2x4x5; axes: 1, keep: true", 0, 2, 1, 2, 1, 2);
}

/* What all outputs read. */
static void test_all(void **state)
{
	static const struct { const char *op, *text; int in; } t[] = {
		{ "conv", "1x1x9x9 1x1x3x3!", 1 }, { "group_norm", "2x4x5x5; groups: 2", 0 },
		{ "mean", "1x2x4x5; axes: [2, 3], keep: true", 0 },
		{ "reshape", "1x2x4x5; shape: [1, 2, 5, 4]", 0 },
		{ "transpose", "1x2x4x5; perm: [0, 1, 3, 2]", 0 },
	};
	for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
		struct sample s;
		int64_t lo = 1, hi = 2;
		assert_int_equal(sample_build(&s, op_find(t[k].op), t[k].text, 7), 0);
		if (s.node->op->reads(s.g, s.node, t[k].in, 2, &lo, &hi))
			fail_msg("%s '%s'", t[k].op, t[k].text);
		assert_true(lo == 1 && hi == 2);
		sample_release(&s);
	}
	assert_null(op_find("global_average")->reads);
	assert_null(op_find("batch_norm")->reads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
