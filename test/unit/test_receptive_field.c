/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receptive fields against brute force: one input pixel is changed, and the outputs that change are
 * those whose interval has it. All weights and values are positive and the change is large, so that
 * no ReLU and no maximum hides a path. */
#include <math.h>

#include "cases.h"
#include "base/err.h"
#include "model/model.h"
#include "op_run.h"
#include "pass/receptive_field.h"

#define H 32
#define W 48

struct net {
	struct arena *a;
	struct graph *g;
	tid in, out;
};

static void build(struct net *n, const char *yaml, int64_t classes, struct shape in)
{
	struct ynode *root;
	struct variant_value v;
	*n = (struct net){ .a = arena_new(), .g = graph_new() };
	assert_int_equal(ytree_parse(n->a, "model.yaml", yaml, &root), 0);
	if (model_read(n->a, root, "'model'", &v) < 0)
		fail_msg("%s", err_get(0)->text);
	assert_int_equal(graph_input(n->g, "input", DTYPE_F32, &in, &n->in), 0);
	struct model_outputs made;
	if (model_build(n->g, n->a, &v, false, n->in, classes, &made) < 0)
		fail_msg("%s", err_get(0)->text);
	n->out = made.v[0].t;
}

static void release(struct net *n)
{
	graph_free(n->g);
	arena_free(n->a);
	err_clear();
}

static double *values_of(struct net *n, tid t, double base, double spread)
{
	const int64_t count = shape_count(&graph_t(n->g, t)->shape);
	double *v = ARENA_ARRAY(n->a, double, count);
	for (int64_t i = 0; i < count; i++)
		v[i] = base + spread * (double)((i * 7919 + t * 31) % 101) / 101;
	return v;
}

/* The output for an input that is changed at (y, x), or nowhere; in the net's arena. */
static double *outputs(struct net *n, int64_t y, int64_t x)
{
	struct op_run r;
	double *in = values_of(n, n->in, 1, 1),
	       *out = ARENA_ARRAY(n->a, double, shape_count(&graph_t(n->g, n->out)->shape));
	if (y >= 0)
		in[y * W + x] += 1e6;
	op_run_init(&r, n->g, BACKEND_CPU, true);
	r.env.winograd = false;                /* Winograd's rounding reaches further */
	for (tid t = 0; t < n->g->ntensor; t++) {
		const struct tensor *p = graph_t(n->g, t);
		if (p->role == ROLE_PARAM || p->role == ROLE_STATE)
			op_run_set(&r, t, values_of(n, t, 0.5, 1));
	}
	op_run_set(&r, n->in, in);
	op_run_all(&r);
	op_run_get(&r, n->out, out);
	op_run_release(&r);
	return out;
}

/* Whether any channel of the output differs, by its place along axis k. */
static void changed(struct net *n, const double *a, const double *b, int k, bool *out)
{
	const struct shape *s = &graph_t(n->g, n->out)->shape;
	for (int64_t i = 0; i < s->d[k + 2]; i++)
		out[i] = false;
	for (int64_t i = 0; i < shape_count(s); i++)
		if (a[i] != b[i])
			out[k == 0 ? i / s->d[3] % s->d[2] : i % s->d[3]] = true;
}

/* The inputs that each output depends on, of which the ends follow. */
static void find_intervals(struct net *n, const struct receptive_field *r, int k, int64_t *first,
                           int64_t *last)
{
	const struct receptive_axis *x = &r->axis[k];
	for (int64_t o = 0; o < x->extent; o++) {
		first[o] = last[o] = o;
		assert_true(receptive_interval(n->g, n->in, n->out, k, &first[o], &last[o]));
		assert_int_equal(first[o] >= 0, o >= x->begin);
		assert_int_equal(last[o] < (k == 0 ? H : W), o < x->end);
	}
	assert_int_equal(first[0], x->lo);
	assert_int_equal(last[0], x->hi);
}

/* slack: by how many inputs an interval may be too wide on either side. */
static void check_axis(struct net *n, const struct receptive_field *r, int k, int slack)
{
	const double *plain = outputs(n, -1, -1);
	bool hit[256];
	int64_t from[256], to[256];
	find_intervals(n, r, k, from, to);
	for (int64_t p = 0; p < (k == 0 ? H : W); p++) {
		changed(n, plain, outputs(n, k == 0 ? p : H / 2, k == 0 ? W / 2 : p), k, hit);
		for (int64_t o = 0; o < r->axis[k].extent; o++) {
			const int64_t first = from[o], last = to[o];
			if (hit[o] && (p < first || p > last))
				fail_msg("axis %d: input %d changes output %d, whose inputs are %d to %d", k,
				         (int)p, (int)o, (int)first, (int)last);
			if (!hit[o] && p >= first + slack && p <= last - slack)
				fail_msg("axis %d: input %d does not change output %d, whose inputs are %d to %d",
				         k, (int)p, (int)o, (int)first, (int)last);
		}
	}
}

static void check(const char *layers, int slack, int64_t stride_h, int64_t stride_w, bool exact)
{
	struct net n;
	struct receptive_field r;
	char yaml[2048];
	snprintf(yaml, sizeof yaml, "{family: layers, layers: [%s]}", layers);
	build(&n, yaml, 1, (struct shape){ 4, { 1, 1, H, W } });
	receptive_field_find(n.g, n.in, n.out, &r);
	if (!r.finite)
		fail_msg("%s: infinite behind %s", layers, r.why ? r.why->op->name : "nothing");
	assert_int_equal(r.axes, 2);
	assert_int_equal(r.stride[0], stride_h);
	assert_int_equal(r.stride[1], stride_w);
	assert_int_equal(r.exact, exact);
	check_axis(&n, &r, 0, slack);
	check_axis(&n, &r, 1, slack);
	release(&n);
}

#define CONV(filters, more) "{conv2d: {filters: " #filters ", " more "}}"

static void test_convolutions(void **state)
{
	check(CONV(1, "kernel: 3, padding: same"), 0, 1, 1, true);
	check(CONV(2, "kernel: [5, 1], padding: same, dilation: [2, 1]") ", relu, "
	      CONV(1, "kernel: 3"), 0, 1, 1, true);
	check(CONV(2, "kernel: 3, stride: [2, 3], padding: same") ", relu, batch_norm, "
	      CONV(1, "kernel: [3, 5], padding: same"), 0, 2, 3, true);
	check(CONV(2, "kernel: 4, stride: 2, padding: 1") ", " CONV(1, "kernel: 2, stride: 4"), 0, 8,
	      8, true);
}

static void test_pools(void **state)
{
	check("{max_pool: {kernel: 3, stride: 2, pad_lo: 1, pad_hi: 0}}, "
	      "{average_pool: {kernel: [2, 1]}}", 0, 4, 2, true);
	check("{max_pool: {kernel: 2}}, "
	      CONV(1, "kernel: 3, padding: same") ", {average_pool: {kernel: 3, stride: "
	      "1, pad_lo: 1, pad_hi: 1}}", 0, 2, 2, true);
}

static void test_ups(void **state)
{
	check(CONV(2, "kernel: 3, stride: 2, padding: same") ", {conv_transpose2d: {filters: "
	      "1, kernel: 2, stride: 2}}", 1, 2, 2, true);
	check("{max_pool: {kernel: 4}}, {conv_transpose2d: {filters: 1, kernel: 5, "
	      "stride: 4, padding: same}}", 3, 4, 4, true);
	check("{max_pool: {kernel: 2}}, {conv_transpose2d: {filters: 1, kernel: "
	      "4, stride: 2, padding: 1}}", 1, 2, 2, true);
	check("{max_pool: {kernel: 4}}, {resize: {size: [32, 48], mode: nearest}}, "
	      CONV(1, "kernel: 3, padding: same"), 3, 4, 4, true);
	check("{max_pool: {kernel: 2}}, {resize: {size: [32, 48]}}, "
	      CONV(1, "kernel: 3, padding: same"), 3, 2, 2, true);
	check("{average_pool: {kernel: 3, stride: 1, pad_lo: 1, pad_hi: 1}}, "
	      "{resize: {size: [96, 144]}}", 2, 1, 1, true);
}

/* Resizes by any factor, up and down, in each mode. */
static void test_factors(void **state)
{
	check("{max_pool: {kernel: 2}}, {resize: {size: [24, 36]}}", 3, 4, 4, true);
	check("{resize: {size: [20, 30]}}, " CONV(1, "kernel: 3, padding: same"), 2, 8, 8, true);
	check("{conv2d: {filters: 1, kernel: 3, stride: 2, padding: same}}, {resize: {size: [24, "
	      "36]}}, {max_pool: {kernel: 4}}", 3, 16, 16, true);
	check("{resize: {size: [48, 72], mode: nearest}}, " CONV(1, "kernel: 3"), 3, 2, 2, true);
	/* output 41 is at place 16, and float32 makes it 15 */
	check("{resize: {size: [82, 48], mode: nearest}}", 3, 16, 1, false);
	check("{adaptive_average_pool: [12, 18]}, " CONV(1, "kernel: 2"), 2, 8, 8, true);
	check("{resize: {size: [96, 144]}}, {resize: {size: [64, 96]}}, {resize: {size: "
	      "[32, 48]}}", 2, 1, 1, true);
}

/* Windows of even sizes, whose middle is between two places. */
static void test_even(void **state)
{
	check(CONV(1, "kernel: 2, padding: {before: 1, after: 0}") ", "
	      CONV(1, "kernel: 4, padding: {before: 2, after: 1}"), 0, 1, 1, true);
	check("{average_pool: {kernel: 4, stride: 2, pad_lo: 1, pad_hi: 1}}, {max_pool: {kernel: 2, "
	      "stride: 1}}", 0, 2, 2, true);
}

/* Outputs that read no input are the bias, and need a part of the input that makes them. Here input
 * i makes outputs 4 i and 4 i + 1, and with the one after it those between. */
static void test_between(void **state)
{
	struct net n;
	struct receptive_field r;
	int64_t first[256], last[256];
	build(&n, "{family: layers, layers: [{conv_transpose2d: {filters: 1, kernel: [2, 1], stride: "
	      "[4, 3], padding: 0}}]}", 1, (struct shape){ 4, { 1, 1, H, W } });
	receptive_field_find(n.g, n.in, n.out, &r);
	assert_true(r.finite);
	find_intervals(&n, &r, 0, first, last);
	for (int64_t o = 0; o < r.axis[0].extent; o++) {
		assert_true(first[o] <= o / 4);
		assert_int_equal(last[o], o % 4 < 2 ? o / 4 : o / 4 + 1);
	}
	find_intervals(&n, &r, 1, first, last);
	for (int64_t o = 0; o < r.axis[1].extent; o++) {
		assert_true(first[o] <= o / 3);
		assert_int_equal(last[o], (o + 2) / 3);
	}
	release(&n);
}

/* A U-Net of two levels, whose joined branches see different distances. */
static void test_branches(void **state)
{
	check("{conv2d: {filters: 2, kernel: 3, padding: same, name: a}}, {max_pool: {kernel: 2}}, "
	      "{conv2d: {filters: 2, kernel: 3, padding: same, name: b}}, {max_pool: {kernel: 2}}, "
	      "{conv2d: {filters: 2, kernel: 3, padding: same}}, {conv_transpose2d: {filters: 2, "
	      "kernel: 2, stride: 2, name: up}}, "
	      "{concat: {inputs: [up, b]}}, {conv_transpose2d: {filters: 2, kernel: 2, "
	      "stride: 2, name: upper}}, "
	      "{concat: {inputs: [upper, a]}}, {conv2d: {filters: 1, kernel: 1}}", 3, 4, 4, true);
}

/* The total stride is reported all the same: fields are padded to it. */
static void infinite(const char *layers, const char *why, int64_t stride)
{
	struct net n;
	struct receptive_field r;
	char yaml[1024];
	snprintf(yaml, sizeof yaml, "{family: layers, layers: [%s]}", layers);
	build(&n, yaml, 1, (struct shape){ 4, { 1, 1, H, W } });
	receptive_field_find(n.g, n.in, n.out, &r);
	assert_false(r.finite);
	assert_non_null(r.why);
	assert_string_equal(r.why->op->name, why);
	assert_int_equal(r.stride[0], stride);
	release(&n);
}

static void test_infinite(void **state)
{
	infinite("{max_pool: {kernel: 2}}, global_average, {dense: {units: 1}}", "global_average", 2);
	infinite("{resize: {size: [64, 96], align_corners: true}}", "resize", 1);
}

/* Every op that may be a layer says what it reads, or does read all of its input. */
static void test_layers(void **state)
{
	static const char *const global[] = { "global_average", NULL };
	const struct op *op;
	for (int i = 0; (op = op_at(i)) != NULL; i++) {
		bool known = !(op->flags & OP_LAYER) || op->reads;
		for (int k = 0; global[k]; k++)
			known |= strcmp(op->name, global[k]) == 0;
		if (!known)
			fail_msg("'%s' needs a callback 'reads', or its name here", op->name);
	}
}

/* Published networks of whole fields: their steps and that they can be cut into tiles. */
static void test_families(void **state)
{
	static const struct {
		const char *yaml;
		struct shape in;
		int64_t stride;
		bool finite;
	} t[] = {
		{ "{family: unet3d}", { 5, { 1, 1, 64, 64, 64 } }, 8, true },
		{ "{family: tiramisu, variant: fc-densenet56}", { 4, { 1, 3, 64, 96 } }, 32, true },
		{ "{family: deeplabv3+, variant: sc18}", { 4, { 1, 16, 64, 96 } }, 8, false },
		{ "{family: resnet}", { 4, { 1, 3, 64, 64 } }, 32, false },
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct net n;
		struct receptive_field r;
		build(&n, t[i].yaml, i == 1 ? 11 : 3, t[i].in);
		receptive_field_find(n.g, n.in, n.out, &r);
		if (r.finite != t[i].finite || r.stride[1] != t[i].stride)
			fail_msg("%s: stride %d, %s, behind %s", t[i].yaml, (int)r.stride[1],
			         r.finite ? "finite" : "infinite", r.why ? r.why->op->name : "-");
		release(&n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_convolutions),
		cmocka_unit_test(test_pools),
		cmocka_unit_test(test_ups),
		cmocka_unit_test(test_factors),
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_between),
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_infinite),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_families),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
