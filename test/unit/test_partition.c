/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples that are cut over ranks, which are threads here, against whole ones, as
 * --verify-partition compares them: loss, gradients, running statistics and metrics of networks. */
#include "cases.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "train/diagnose/verify_partition.h"
#include "train/run/opening.h"

/* Sections of a config, the model's without its last brace. */
struct problem {
	const char *model, *channels, *size;
	int classes;
	const char *loss, *metrics;
};

static const char config_text[] =
	"model: %s, input: {channels: %s, size: %s}, classes: %d}\n"
	"data: {train: none.dlx}\n"
	"loss: %s\n"
	"metrics: %s\n"
	"optimizer: {type: sgd, learning_rate: 0.1}\n"
	"precision: {winograd: false}\n"
	"parallel: {spatial: %s}\n"
	"train: {steps: 1, batch_size: 3}\n";

static int open_problem(const struct problem *p, const char *cut, struct session **s)
{
	char path[64];
	struct buf text = BUF_INIT;
	struct run_config *c;
	const struct session_options o = { .need = SESSION_TRAIN | SESSION_NO_DATA,
		.device = "reference" };
	snprintf(path, sizeof path, "partition-%d.yaml", (int)getpid());
	buf_printf(&text, config_text, p->model, p->channels, p->size, p->classes, p->loss,
	           p->metrics ? p->metrics : "[]", cut);
	io_input_forget(path);
	int rc = io_write_file(path, text.data, text.len);
	if (rc == 0)
		rc = config_load(&c, path, 0, NULL);
	remove(path);
	buf_release(&text);
	return rc == 0 ? session_open(s, c, &o) : rc;
}

/* 0, or the code of an error: E_BUG where a cut sample is not computed as a whole one. */
static int judge_if(const struct problem *p, const char *cut, const char *device)
{
	struct session *s;
	struct buf out = BUF_INIT;
	TRY(open_problem(p, cut, &s));
	const int rc = verify_partition_on(s, device, s->data.input.d + 1, &out);
	if (rc == E_BUG)
		print_message("%s", out.data ? out.data : "");
	buf_release(&out);
	session_close(s);
	return rc;
}

static void judge_on(const struct problem *p, const char *cut, const char *device)
{
	if (judge_if(p, cut, device) == 0)
		return;
	err_print(stderr, "test_partition");
	fail_msg("%s on %s", p->model, cut);
}

static void judge(const struct problem *p, const char *cut)
{
	judge_on(p, cut, "reference");
}

#define LAYERS(...) "{family: layers, layers: [" #__VA_ARGS__ "]"
#define PLANE(layers) { layers, "2", "[13, 11]", 2, "{type: mse}", NULL }

static bool is_long(void)
{
	const char *tier = getenv("DLX_TIER");
	return tier && strcmp(tier, "big") == 0;
}

static void judge_all(const struct problem *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		judge(&p[i], "[2, 1]");
		judge(&p[i], "[3, 1]");
		judge(&p[i], "[1, 2]");
		judge(&p[i], "[2, 2]");
		if (is_long())
			judge_on(&p[i], "[2, 2]", "cpu");
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
#define LOSS(loss) { SCORES, "2", "[13, 11]", 3, loss, NULL }

static void losses(void **state)
{
	static const struct problem p[] = {
		LOSS("{type: softmax_cross_entropy}"),
		LOSS("{type: softmax_cross_entropy, ignore: 255, class_weights: [1, 2, 5], "
		     "label_smoothing: 0.1}"),
		LOSS("{type: softmax_cross_entropy, class_weights: [1, 2, 5], reduction: mean_pixels}"),
		LOSS("{type: softmax_cross_entropy, reduction: sum}"),
		LOSS("{type: focal, gamma: 2, ignore: 255}"),
		LOSS("{type: dice, ignore: 255}"),
		LOSS("{type: dice, squared: true, per_batch: true, background: false}"),
		LOSS("{type: dice_cross_entropy, class_weights: [1, 2, 5]}"),
		LOSS("{type: l1}"), LOSS("{type: huber}"), LOSS("{type: mse, output_weights: [1, 2, 3]}"),
		LOSS("{type: binary_cross_entropy, ignore: 255}"),
	};
	JUDGE_ALL(p);
}

/* Counted once, whether the places of the output are cut or gathered. */
static void metrics(void **state)
{
	static const char classes[] = "[mean_iou, accuracy, top_2, mean_iou_per_sample]",
	                  values[] = "[mae, mse, r2]";
	static const struct problem p[] = {
		{ SCORES, "2", "[13, 11]", 3, "{type: softmax_cross_entropy, ignore: 255}", classes },
		{ SCORES, "2", "[13, 11]", 3, "{type: mse}", values },
		{ LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, relu, global_average,
		         {dense: {units: 3}}), "2", "[13, 11]", 3, "{type: softmax_cross_entropy}",
		  classes },
		{ LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, batch_norm, relu,
		         {max_pool: {kernel: 2, stride: 2}}, flatten, {dense: {units: 3}}), "2",
		  "[13, 11]", 3, "{type: mse}", values },
	};
	JUDGE_ALL(p);
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
	"{" conv ": {filters: 3, kernel: 3, padding: same}}]"
	static const struct problem
		plane = { UNET("conv2d", "[18, 16]", "bilinear"), "2", "[18, 16]", 3,
		          "{type: dice_cross_entropy}", NULL },
		cube = { UNET("conv3d", "[12, 7, 8]", "nearest"), "2", "[12, 7, 8]", 3, "{type: dice}",
		         NULL };
	judge(&plane, "[2, 2]");
	judge(&plane, "[3, 1]");
	judge_on(&plane, "[3, 1]", "cpu");
	judge(&cube, "[2, 1, 2]");
	judge_on(&cube, "[2, 1, 2]", "cpu");
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
		char size[16], cut[16];
		buf_puts(&b, "{family: layers, layers: [{conv2d: {filters: 4, kernel: 1}}, ");
		for (int i = 0; i < 3; i++)
			random_layer(&b, &seed);
		buf_puts(&b, "leaky_relu, {conv2d: {filters: 2, kernel: 1}}]");
		snprintf(size, sizeof size, "[%d, %d]", (int)dice(&seed, 8, 30), (int)dice(&seed, 8, 30));
		const struct problem p = { b.data, "2", size, 2, "{type: mse}", NULL };
		const int d = (int)dice(&seed, 1, 4);
		snprintf(cut, sizeof cut, "[%d, %d]", d, (int)dice(&seed, 1, 8 / d > 2 ? 2 : 8 / d));
		const int rc = judge_if(&p, cut, "reference");
		if (rc != 0 && rc != E_SHAPE && rc != E_CONFIG)
			fail_msg("%s, %s on %s: %s", b.data, size, cut, err_get(0)->text);
		judged += rc == 0;
		err_clear();
		buf_release(&b);
	}
	assert_true(judged > (int)most * 8 / 10);
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
	};
	log_quiet(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
