/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples that are cut over ranks, which are threads here, against whole ones: loss, gradients and
 * running statistics of networks, by the reference kernels, where messages are float64. */
#include "cases.h"
#include "base/buf.h"
#include "cut_judge.h"

#define LAYERS(...) "{family: layers, layers: [" #__VA_ARGS__ "]}"
#define PLANE(layers) { layers, "{type: mse}", { 4, { 2, 2, 13, 11 } }, 2, NULL }

static bool is_long(void)
{
	const char *tier = getenv("DLX_TIER");
	return tier && strcmp(tier, "big") == 0;
}

static void judge_all(const struct problem *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		judge(&p[i], 2, 1, 1);
		judge(&p[i], 3, 1, 1);
		judge(&p[i], 1, 2, 1);
		judge(&p[i], 2, 2, 1);
		judge_on(&p[i], 2, 2, 1, BACKEND_REFERENCE, "reference", 1e-12);
		if (is_long())
			judge_on(&p[i], 2, 2, 1, BACKEND_CPU, "cpu", 1e-4);
	}
}
#define JUDGE_ALL(p) judge_all(p, sizeof(p) / sizeof *(p))

static void convolutions(void **state)
{
	static const struct problem p[] = {
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: same}}, relu,
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 5, padding: same}},
		             {conv2d: {filters: 2, kernel: 3}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: 1, stride: 2}}, relu,
		             {conv2d: {filters: 2, kernel: [2, 4], padding: {before: 1, after: 0}}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: 4, dilation: 4, groups: 2}}, relu,
		             {conv2d: {filters: 2, kernel: 1}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: 1, stride: 2}},
		             {conv_transpose2d: {filters: 3, kernel: 3, stride: 2, padding: 1}},
		             {conv_transpose2d: {filters: 2, kernel: 4, stride: 3, padding: 0}})),
		PLANE(LAYERS({conv_transpose2d: {filters: 4, kernel: 2, stride: 2}},
		             {conv_transpose2d: {filters: 2, kernel: 3, padding: 2, dilation: 2,
		                                 groups: 2}})),
	};
	JUDGE_ALL(p);
}

static void pools(void **state)
{
	static const struct problem p[] = {
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: same}},
		             {max_pool: {kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1}},
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: same}},
		             {max_pool: {kernel: 2, stride: 1}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 1}},
		             {average_pool: {kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1}},
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 1}},
		             {average_pool: {kernel: [3, 2], stride: 1, pad_lo: [2, 0], pad_hi: [1, 1],
		                             count_padding: false}})),
	};
	JUDGE_ALL(p);
}

static void sizes(void **state)
{
	static const struct problem p[] = {
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: same}},
		             {resize: {factor: 2, mode: bilinear}}, relu,
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: 1, stride: 2}},
		             {resize: {size: [17, 19], mode: bilinear, align_corners: true}}, relu)),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: same}},
		             {resize: {factor: 2, mode: nearest}}, relu,
		             {resize: {size: [9, 7], mode: area}})),
		PLANE(LAYERS({pad: {before: [0, 0, 1, 2], after: [0, 0, 0, 1]}},
		             {conv2d: {filters: 2, kernel: 3}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: same, name: a}},
		             {max_pool: {kernel: 2, stride: 2}},
		             {conv2d: {filters: 3, kernel: 3, padding: same}},
		             {resize: {size: [13, 11], mode: nearest, name: b}},
		             {concat: {axis: 1, inputs: [a, b]}},
		             {conv2d: {filters: 3, kernel: 1, name: c}},
		             {add: {inputs: [a, c]}}, {conv2d: {filters: 2, kernel: 3, padding: same}})),
	};
	JUDGE_ALL(p);
}

/* Sums over places, and what is computed of gathered tensors. */
static void sums(void **state)
{
	static const struct problem p[] = {
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: same}}, batch_norm, relu,
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, {group_norm: {groups: 2}},
		             relu, {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, instance_norm, relu,
		             {conv2d: {filters: 2, kernel: 1}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, layer_norm, relu,
		             {conv2d: {filters: 2, kernel: 1}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, relu, {dropout: {rate: 0.3}},
		             {conv2d: {filters: 2, kernel: 3, padding: same}}, {dropout: {rate: 0.5}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, relu, global_average,
		             {dense: {units: 2}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: 1, stride: 2}}, relu,
		             {max_pool: {kernel: 2, stride: 2}}, flatten, {dropout: {rate: 0.2}},
		             {dense: {units: 2}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: 1, stride: 4}}, batch_norm,
		             {conv2d: {filters: 3, kernel: 3, padding: 1, stride: 4}}, batch_norm, relu,
		             {conv2d: {filters: 2, kernel: 3, padding: 1}},
		             {resize: {size: [13, 11], mode: bilinear}})),
	};
	JUDGE_ALL(p);
}

#define SCORES LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, relu,   \
                      {conv2d: {filters: 3, kernel: 3, padding: same}})
#define LOSS(loss) { SCORES, loss, { 4, { 2, 2, 13, 11 } }, 3, NULL }

static void losses(void **state)
{
	static const struct problem p[] = {
		LOSS("{type: softmax_cross_entropy}"),
		LOSS("{type: softmax_cross_entropy, class_weights: [1, 2, 5], label_smoothing: 0.1}"),
		LOSS("{type: softmax_cross_entropy, class_weights: [1, 2, 5], reduction: mean_pixels}"),
		LOSS("{type: softmax_cross_entropy, reduction: sum}"),
		LOSS("{type: focal, gamma: 2}"),
		LOSS("{type: dice}"),
		LOSS("{type: dice, squared: true, per_batch: true, background: false}"),
		LOSS("{type: dice_cross_entropy, class_weights: [1, 2, 5]}"),
		LOSS("{type: l1}"), LOSS("{type: huber}"), LOSS("{type: mse, output_weights: [1, 2, 3]}"),
		{ SCORES, "{type: binary_cross_entropy}", { 4, { 2, 2, 13, 11 } }, 3, NULL },
	};
	JUDGE_ALL(p);
}

/* Counted once, whether the places of the output are cut or gathered. */
static void metrics(void **state)
{
	static const char *const classes[] = { "mean_iou", "accuracy", "top_2", "mean_iou_per_sample",
		                                  NULL },
				 *const values[] = { "mae", "mse", "r2", NULL };
	static const struct problem p[] = {
		{ SCORES, "{type: softmax_cross_entropy}", { 4, { 2, 2, 13, 11 } }, 3, classes },
		{ SCORES, "{type: mse}", { 4, { 2, 2, 13, 11 } }, 3, values },
		{ LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, relu, global_average,
		         {dense: {units: 3}}), "{type: softmax_cross_entropy}", { 4, { 5, 2, 13, 11 } }, 3,
		  classes },
		{ LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, batch_norm, relu,
		         {max_pool: {kernel: 2, stride: 2}}, flatten, {dense: {units: 3}}), "{type: mse}",
		  { 4, { 5, 2, 13, 11 } }, 3, values },
	};
	JUDGE_ALL(p);
}

#define LABELS "{type: softmax_cross_entropy}"
#define MEAN   "{type: mse}"

/* A model, two grids of it. */
struct cut_model {
	struct problem p;
	int grid[2][3];
	bool large;                      /* for the long form alone */
};

/* The long form has both grids. */
static void judge_models(const struct cut_model *m, size_t n)
{
	const bool all = is_long();
	for (size_t i = 0; i < n; i++)
		for (int g = 0; g < (all ? 2 : m[i].large ? 0 : 1); g++)
			judge(&m[i].p, m[i].grid[g][0], m[i].grid[g][1], m[i].grid[g][2]);
}

/* The variants of the ready configs, with few channels. */
static void families(void **state)
{
	static const struct cut_model f[] = {
		{ { "{family: unet3d, variant: lits, filters: 2}", LABELS, { 5, { 1, 1, 24, 8, 16 } }, 3,
		    NULL }, { { 3, 1, 1 }, { 2, 1, 2 } } },
		{ { "{family: cosmoflow, variant: lbann-2020, batch_norm: true, filters: 2, "
		    "max_filters: 4, dense: [8, 4]}", MEAN, { 5, { 1, 2, 40, 32, 32 } }, 4, NULL },
		  { { 3, 1, 1 }, { 1, 2, 2 } } },
		{ { "{family: cosmoflow, variant: lbann-2023, filters: 2, max_filters: 4, dense: [8, 4]}",
		    MEAN, { 5, { 1, 2, 40, 32, 32 } }, 4, NULL }, { { 3, 1, 1 }, { 2, 2, 1 } } },
		{ { "{family: cosmoflow, variant: mlperf-v0.7, filters: 2, max_filters: 4, dense: [8, 4]}",
		    MEAN, { 5, { 1, 2, 40, 32, 32 } }, 4, NULL }, { { 3, 1, 1 }, { 2, 2, 1 } } },
		{ { "{family: cosmoflow, variant: mlperf, filters: 2, max_filters: 4, dense: [8, 4]}",
		    MEAN, { 5, { 1, 2, 40, 32, 32 } }, 4, NULL }, { { 3, 1, 1 }, { 2, 2, 1 } } },
		{ { "{family: tiramisu, variant: sc18, growth: 2, initial_filters: 4}", LABELS,
		    { 4, { 1, 4, 80, 64 } }, 3, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } } },
		{ { "{family: tiramisu, variant: daint, growth: 2, initial_filters: 4}", LABELS,
		    { 4, { 1, 4, 80, 64 } }, 3, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } }, true },
		{ { "{family: tiramisu, variant: fc-densenet56, growth: 2, initial_filters: 4}", LABELS,
		    { 4, { 1, 3, 80, 64 } }, 11, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } }, true },
		{ { "{family: deeplabv3+, variant: sc18, filters: 4, aspp_filters: 4, "
		    "low_level_filters: 3}", LABELS,
		    { 4, { 2, 4, 48, 32 } }, 3, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } } },
		{ { "{family: deepcam, variant: mlperf, widths: [2, 2, 4, 4, 4, 4, 4, 4], "
		    "middle_blocks: 1, aspp_filters: 4, low_level_filters: 3}", LABELS,
		    { 4, { 2, 4, 48, 32 } }, 3, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } } },
		{ { "{family: fcn, variant: pool_avg, growth: 2}", "{type: l1}",
		    { 4, { 2, 3, 40, 32 } }, 1, NULL },
		  { { 2, 2, 1 }, { 3, 1, 1 } } },
		{ { "{family: resnet, depth: 50}", LABELS, { 4, { 4, 3, 48, 48 } }, 5, NULL },
		  { { 2, 1, 1 }, { 2, 2, 1 } }, true },
	};
	judge_models(f, sizeof f / sizeof *f);
}

/* Where what cuts is combined: grids of the U-Net. */
static void unets(void **state)
{
#define UNET(conv, size, up)                                                                  \
	"{family: layers, layers: [{" conv ": {filters: 4, kernel: 3, padding: same}}, "           \
	"instance_norm, {leaky_relu: {name: skip}}, "                                              \
	"{" conv ": {filters: 8, kernel: 3, stride: 2, padding: 1}}, instance_norm, relu, "        \
	"{" conv ": {filters: 8, kernel: 3, padding: same, groups: 4}}, relu, "                    \
	"{dropout: {rate: 0.2}}, {resize: {size: " size ", mode: " up ", name: up}}, "             \
	"{concat: {axis: 1, inputs: [skip, up]}}, "                                                \
	"{" conv ": {filters: 3, kernel: 3, padding: same}}]}"
	static const struct problem
		plane = { UNET("conv2d", "[18, 16]", "bilinear"), "{type: dice_cross_entropy}",
		          { 4, { 2, 2, 18, 16 } }, 3, NULL },
		cube = { UNET("conv3d", "[12, 7, 8]", "nearest"), "{type: dice}", { 5, { 1, 2, 12, 7, 8 } },
		         3, NULL };
	judge(&plane, 3, 1, 1);
	judge(&plane, 2, 2, 1);
	judge(&cube, 2, 1, 2);
	judge_planned(&plane, 3, 1, 1);
	judge_planned(&cube, 2, 1, 2);
}

/* --- any windows --- */

static int64_t dice(uint64_t *seed, int64_t lo, int64_t hi)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return lo + (int64_t)((*seed >> 33) % (uint64_t)(hi - lo + 1));
}

static void random_layer(struct buf *b, uint64_t *seed)
{
	const int k[2] = { (int)dice(seed, 1, 4), (int)dice(seed, 1, 4) };
	const int s[2] = { (int)dice(seed, 1, 3), (int)dice(seed, 1, 3) };
	const int kind = (int)dice(seed, 0, 5);
	if (kind <= 1)
		buf_printf(b, "{conv2d: {filters: 4, kernel: [%d, %d], stride: [%d, %d], dilation: [%d, "
		           "%d], groups: 2, padding: {before: [%d, %d], after: [%d, %d]}}}, ", k[0], k[1],
		           s[0], s[1], (int)dice(seed, 1, 3), (int)dice(seed, 1, 3), (int)dice(seed, 0, 3),
		           (int)dice(seed, 0, 3), (int)dice(seed, 0, 3), (int)dice(seed, 0, 3));
	else if (kind == 2)
		buf_printf(b, "{conv_transpose2d: {filters: 4, kernel: [%d, %d], stride: [%d, %d], "
		           "padding: [%d, %d]}}, ", k[0], k[1], s[0], s[1], (int)dice(seed, 0, k[0] - 1),
		           (int)dice(seed, 0, k[1] - 1));
	else if (kind <= 4)
		buf_printf(b, "{%s: {kernel: [%d, %d], stride: [%d, %d], pad_lo: [%d, %d], pad_hi: [%d, "
		           "%d]}}, ", kind == 3 ? "max_pool" : "average_pool", k[0], k[1], s[0], s[1],
		           (int)dice(seed, 0, k[0] - 1), (int)dice(seed, 0, k[1] - 1),
		           (int)dice(seed, 0, k[0] - 1), (int)dice(seed, 0, k[1] - 1));
	else
		buf_printf(b, "{resize: {size: [%d, %d], mode: %s}}, ", (int)dice(seed, 5, 30),
		           (int)dice(seed, 5, 30), dice(seed, 0, 1) ? "bilinear" : "nearest");
}

/* Networks of three random layers, of which some make nothing of their input. */
static void any_windows(void **state)
{
	const uint64_t most = is_long() ? 2000 : 60;
	int judged = 0;
	for (uint64_t k = 0; k < most; k++) {
		struct buf b = BUF_INIT;
		uint64_t seed = k * 7919 + 1;
		buf_puts(&b, "{family: layers, layers: [{conv2d: {filters: 4, kernel: 1}}, ");
		for (int i = 0; i < 3; i++)
			random_layer(&b, &seed);
		buf_puts(&b, "leaky_relu, {conv2d: {filters: 2, kernel: 1}}]}");
		const struct problem p = { b.data, "{type: mse}",
			{ 4, { 2, 2, dice(&seed, 8, 30), dice(&seed, 8, 30) } }, 2, NULL };
		const int d = (int)dice(&seed, 1, 4), h = (int)dice(&seed, 1, 8 / d > 2 ? 2 : 8 / d);
		const int rc = judge_if(&p, d, h, 1, BACKEND_REFERENCE, NULL, 1e-12);
		if (rc != 0 && rc != E_SHAPE && rc != E_CONFIG)
			fail_msg("%s, %lld x %lld on %d x %d: %s", b.data, (long long)p.in.d[2],
			         (long long)p.in.d[3], d, h, err_get(0)->text);
		judged += rc == 0;
		err_clear();
		buf_release(&b);
	}
	assert_true(judged > (int)most * 8 / 10);
}

/* MiB that are sent, without those of the level that is gathered: to more than two neighbours. */
static double halo_mib(const struct net *n, bool backward)
{
	double values = 0;
	for (int i = 0; i < n->g->nnode; i++) {
		const struct exchange_attr *at = exchange_sends(n->g->node[i]);
		for (int k = 0; at && at->to.n <= 2 && k < at->to.n; k++)
			if (backward == (at->to_id.v[k] >= EXCHANGE_GRADIENT))
				values += (double)shape_count(node_in_shape(n->g, n->g->node[i], k));
	}
	return values * 4 / 1048576;
}

/* Oyama's network (IEEE TPDS 2021) on 512 cubed over 8: what an interior rank sends. */
static void halos(void **state)
{
	static const struct problem p = { "{family: cosmoflow, variant: lbann-2020, batch_norm: true}",
		MEAN, { 5, { 1, 4, 512, 512, 512 } }, 4, NULL };
	struct net n = { 0 };
	assert_int_equal(build_forward(&n, &p), 0);
	const struct partition at = { { 3, { 8, 1, 1 } }, 3, 0, n.in, n.target, n.out };
	assert_int_equal(partition_graph(n.g, &at, &n.c), 0);
	assert_int_equal(build_backward(&n), 0);
	assert_true(halo_mib(&n, false) < 50.5 && halo_mib(&n, true) < 42.5);
	assert_true(halo_mib(&n, false) > 50 && halo_mib(&n, true) > 42);
	release(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convolutions),
		cmocka_unit_test(pools),
		cmocka_unit_test(sizes),
		cmocka_unit_test(sums),
		cmocka_unit_test(losses),
		cmocka_unit_test(metrics),
		cmocka_unit_test(unets),
		cmocka_unit_test(any_windows),
		cmocka_unit_test(halos),
		cmocka_unit_test(families),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
