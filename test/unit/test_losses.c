/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Losses, pooling, resize and batch norm against numbers worked out beforehand (those of PyTorch to
 * 1e-6), and what the op samples cannot say: ignored batches, bad labels, refused attributes, data
 * far from zero, numbers of threads. */
#include "op_case.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "base/err.h"

static const char *const devices[] = { "reference", "cpu" };
#define EACH_DEVICE(dev)               \
	for (int d_ = 0; d_ < 2; d_++) \
		for (const char *dev = devices[d_]; dev; dev = NULL)

/* The result of op on values x, both kinds of device, inputs row-major and channels-last. */
static void check_op(const char *op, const char *text, const double *x, int n, const double *want)
{
	for (int k = 0; k < 4; k++) {
		struct op_run r;
		op_run_init(&r, devices[k / 2], op, text, k % 2);
		op_run_set(&r, 0, x);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_out(&r, 0), want, n, 1e-6);
		op_run_release(&r);
	}
}

/* --- softmax cross-entropy --- */

struct entropy {
	const char *text;
	double logits[12], labels[4], weights[3];
	double loss, weight;
	double gradient[12];
};

static const struct entropy entropies[] = {
	{ "2x3 2:index3",
	  { 1, 2, 3, 0.5, -1, 2 },
	  { 0, 2 },
	  { 0 },
	  1.3244586,
	  2,
	  { -0.454984725, 0.122364245, 0.332620502, 0.087645195, 0.019556286, -0.107201487 } },
	{ "2x3 2:index3 3",
	  { 1, 2, 3, 0.5, -1, 2 },
	  { 0, 2 },
	  { 1, 2, 0.5 },
	  1.68550777,
	  1.5,
	  { -0.606646299, 0.163152337, 0.443494022, 0.058430132, 0.013037524, -0.071467660 } },
	/* the second of four elements is ignored */
	{ "1x3x2x2 1x2x2:index3 3; ignore: 255",
	  { 0, 1, 2, -1, 1, 0, 0.5, 3, -2, 1.5, 1, 0 },
	  { 1, 255, 0, 2 },
	  { 1, 2, 0.5 },
	  0.770095766,
	  3.5,
	  { 0.148283705, 0, -0.106133804, 0.002449689, -0.168351695, 0, 0.040069826, 0.133748516,
	    0.020068018, 0, 0.066063970, -0.136198208 } },
	/* a class may be the ignored one: elements 0 and 3 are left */
	{ "1x3x2x2 1x2x2:index3; ignore: 1",
	  { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	  { 0, 1, 1, 2 },
	  { 0 },
	  1.09861229,
	  2,
	  { -1.0 / 3, 0, 0, 1.0 / 6, 1.0 / 6, 0, 0, 1.0 / 6, 1.0 / 6, 0, 0, -1.0 / 3 } },
	/* every element ignored: no NaN */
	{ "2x3 2:index3; ignore: 255", { 1, 2, 3, 4, 5, 6 }, { 255, 255 }, { 0 }, 0, 0, { 0 } },
	/* or of weight 0: no part of what smoothing spreads either */
	{ "2x3 2:index3 3; ignore: 255, smoothing: 0.1", { 1, 2, 3, 4, 5, 6 }, { 1, 255 }, { 1, 0, 3 },
	  0, 0, { 0 } },
	/* logits at which exp overflows */
	{ "2x3 2:index3",
	  { 1000, 0, -1000, -500, -500, -501 },
	  { 1, 1 },
	  { 0 },
	  (1000 + 0.861994804) / 2,
	  2,
	  { 0.5, -0.5, 0, 0.211159393, -0.288840607, 0.077681214 } },
	/* by the number of elements that count: the weights scale the loss */
	{ "1x3x2x2 1x2x2:index3 3; ignore: 255, reduction: mean_pixels, scale: 0.5",
	  { 0, 1, 2, -1, 1, 0, 0.5, 3, -2, 1.5, 1, 0 },
	  { 1, 255, 0, 2 },
	  { 1, 2, 0.5 },
	  0.449222528,
	  3,
	  { 0.08649882, 0, -0.06191138, 0.001428985, -0.098205162, 0, 0.023374064, 0.078019963,
	    0.011706342, 0, 0.038537316, -0.079448948 } },
	/* summed, over two samples */
	{ "2x3x2x1 2x2x1:index3 3; ignore: 255, reduction: sum, scale: 0.1",
	  { 0, 1, 2, -1, 1, 0, 0.5, 3, -2, 1.5, 1, 0 },
	  { 1, 255, 0, 2 },
	  { 1, 2, 0.5 },
	  0.344046448,
	  2,
	  { 0.018006115, 0, -0.066951809, 0, 0.048945694, 0, -0.063380778, 0.039279852, 0.003005889,
	    0.00876452, 0.06037489, -0.048044371 } },
	/* focal */
	{ "1x3x2x2 1x2x2:index3 3; ignore: 255, gamma: 2",
	  { 0, 1, 2, -1, 1, 0, 0.5, 3, -2, 1.5, 1, 0 },
	  { 1, 255, 0, 2 },
	  { 1, 2, 0.5 },
	  0.433722487,
	  3.5,
	  { 0.034381023, 0, -0.03765945, 0.002894167, -0.039033988, 0, 0.014217974, 0.158016178,
	    0.004652965, 0, 0.023441476, -0.160910345 } },
	{ "2x3 2:index3; gamma: 0.5, scale: 0.25, reduction: mean_pixels",
	  { 1, 2, 3, 0.5, -1, 2 },
	  { 0, 2 },
	  { 0 },
	  0.301050889,
	  2,
	  { -0.121428279, 0.032657094, 0.088771185, 0.014631125, 0.003264645, -0.017895771 } },
	/* a share of 1, at which (1 - q)^(gamma - 1) overflows, and one of 0 */
	{ "2x3 2:index3; gamma: 0.5",
	  { 1000, 0, -1000, -500, -500, 500 },
	  { 0, 1 },
	  { 0 },
	  500,
	  2,
	  { 0, 0, 0, 0, -0.5, 0.5 } },
};

static void run_entropy(const struct entropy *e, const char *dev, bool channels_last)
{
	struct op_run r;
	op_run_init(&r, dev, "softmax_cross_entropy", e->text, channels_last);
	op_run_set(&r, 0, e->logits);
	op_run_set(&r, 1, e->labels);
	if (r.s.nin > 2)
		op_run_set(&r, 2, e->weights);
	assert_int_equal(op_run_go(&r), 0);
	assert_close(op_run_out(&r, 0), &e->loss, 1, 1e-6);
	assert_close(op_run_out(&r, 1), &e->weight, 1, 0);
	assert_close(op_run_gradient(&r), e->gradient,
	             (int)shape_count(&graph_t(r.s.g, r.s.in[0])->shape), 2e-6);
	op_run_release(&r);
}

static void test_cross_entropy(void **state)
{
	for (size_t i = 0; i < sizeof entropies / sizeof *entropies; i++)
		for (int k = 0; k < 4; k++)
			run_entropy(&entropies[i], devices[k / 2], k % 2);
}

/* Labels that are no class stop the run and are named with their place, also where the loss would
 * never look at them. */
static void test_bad_label(void **state)
{
	static const double labels[2 * 2 * 3] = { 0, 1, 2, 255, 0, 1, 2, 0, 4, 1, -7, 0 };
	for (int k = 0; k < 4; k++) {
		struct op_run r;
		op_run_init(&r, devices[k / 2], "softmax_cross_entropy",
		            "2x4x2x3 2x2x3:index4; ignore: 255", k % 2);
		op_run_set(&r, 1, labels);
		assert_int_equal(op_run_go(&r), E_DATA);
		assert_string_equal(error_text(), "layer 'sample': label 4 at (1, 0, 2) is no "
		                                  "class 0..3, nor the ignored value "
		                                  "255; such labels in this batch: 2");
		op_run_release(&r);
	}
	EACH_DEVICE(dev)
	{
		struct op_run r;
		op_run_init(&r, dev, "confusion", "2x3 2:index3", false);
		op_run_set(&r, 1, (double[]){ 2, 2147483647 });
		assert_int_equal(op_run_go(&r), E_DATA);
		assert_string_equal(error_text(), "layer 'sample': label 2147483647 at (1) is no "
		                                  "class 0..2; such labels in this "
		                                  "batch: 1");
		op_run_release(&r);
	}
}

/* Three classes. Sample 0: iou 1/2, 1/2 and absent; sample 1: 1, 0 (predicted alone), 1/3; sample 2
 * is ignored throughout. */
static void test_iou_per_sample(void **state)
{
	static const double logits[3 * 3 * 4] = { 1, 1, 0, 0, /**/ 0, 0, 1, 1, /**/ 0, 0, 0, 0,
		                                  1, 0, 0, 0, /**/ 0, 1, 1, 0, /**/ 0, 0, 0, 1,
		                                  1, 0, 0, 0, /**/ 0, 1, 1, 0, /**/ 0, 0, 0, 1 };
	static const double labels[3 * 4] = { 0, 9, 0, 1, 0, 2, 2, 2, 9, 9, 9, 9 };
	static const double want[2] = { (0.5 + 0.5 + 1) / 3 + (1 + 0 + 1.0 / 3) / 3, 2 };
	for (int k = 0; k < 4; k++) {
		struct op_run r;
		op_run_init(&r, devices[k / 2], "iou_per_sample", "3x3x2x2 3x2x2:index3; ignore: 9",
		            k % 2);
		op_run_set(&r, 0, logits);
		op_run_set(&r, 1, labels);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_out(&r, 0), want, 2, 1e-12);
		op_run_release(&r);
	}
}

static void test_confusion(void **state)
{
	static const double logits[2 * 3 * 4] = { 5, 0, 0, 1, /**/ 1, 2, 0, 1, /**/ 0, 0, 3, 1,
		                                  5, 0, 0, 1, /**/ 1, 2, 0, 1, /**/ 0, 0, 3, 2 };
	static const double labels[2 * 4] = { 0, 1, 1, 2, 0, 2, 9, 2 },
				       want[9] = { 2, 0, 0, 0, 1, 1, 1, 1, 1 };
	for (int k = 0; k < 4; k++) {
		struct op_run r;
		op_run_init(&r, devices[k / 2], "confusion", "2x3x2x2 2x2x2:index3; ignore: 9",
		            k % 2);
		op_run_set(&r, 0, logits);
		op_run_set(&r, 1, labels);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_out(&r, 0), want, 9, 0);
		op_run_release(&r);
	}
}

static void test_refused_losses(void **state)
{
	assert_refused("softmax_cross_entropy", "2x3x4x5 2x4x6:index3", E_SHAPE);
	assert_string_equal(
		error_text(),
		"layer 'sample': input 1 of 'softmax_cross_entropy' is 2x4x6, expected 2x4x5");
	assert_refused("softmax_cross_entropy", "2x3x4x5 2x4x5:index3 4", E_SHAPE);
	assert_refused("softmax_cross_entropy", "2x3x4x5 2x4x5", E_SHAPE);
	assert_string_equal(
		error_text(),
		"layer 'sample': 'softmax_cross_entropy' takes i32 as input 1, got f32");
	assert_refused("mse_loss", "2x3 3x2", E_SHAPE);
	assert_string_equal(error_text(),
	                    "layer 'sample': 'mse_loss' takes equal shapes, got 2x3 and 3x2");
	assert_refused("huber_loss", "2x3 2x3; delta: 0", E_CONFIG);
	assert_refused("softmax_cross_entropy", "2x3 2:index3; gamma: 1, smoothing: 0.1", E_CONFIG);
	assert_refused("element_loss", "2x3x4 2x3x4 4", E_SHAPE);
	assert_refused("dice_loss", "2x3x4 2x4:index3 4", E_SHAPE);
	assert_refused("dice_loss", "2x3 2:index3", E_SHAPE);
	assert_refused("dice_loss", "2x1x4 2x4:index1; background: false", E_SHAPE);
	assert_string_equal(error_text(),
	                    "'dice_loss' takes 2 to 1024 classes, but the network has 1");
}

/* A flag that is neither from 0 to 1 nor left out stops the run and is named with its place. */
static void test_bad_flag(void **state)
{
	static const double flags[2 * 2 * 3] = { 0, 1, 0.5, NAN, 7, 7, 1, 1, 0, 0, -1, 2 };
	for (int k = 0; k < 4; k++) {
		struct op_run r;
		op_run_init(&r, devices[k / 2], "element_loss",
		            "2x2x3 2x2x3; kind: logistic, skip_nan: true, skip: 7", k % 2);
		op_run_set(&r, 1, flags);
		assert_int_equal(op_run_go(&r), E_DATA);
		assert_string_equal(error_text(), "layer 'sample': target -1 at (1, 1, 1) is not from 0 to "
		                                  "1, and nothing says that it does not count; such "
		                                  "targets in this batch: 2");
		op_run_release(&r);
	}
}

/* Where nothing counts loss, weight and gradient are 0. */
static void test_nothing_counts(void **state)
{
	static const struct {
		const char *op, *text;
		double target;
	} cases[] = {
		{ "element_loss", "2x3x4 2x3x4; skip: 5", 5 },
		{ "element_loss", "2x3x4 2x3x4 3:positive; kind: logistic, skip_nan: true", NAN },
		{ "dice_loss", "2x3x4 2x4:index3; ignore: 9, cross_entropy: 1", 9 },
		{ "dice_loss", "2x3x4 2x4:index3 3:positive; ignore: 9, per_batch: true", 9 },
		{ "softmax_cross_entropy", "2x3x4 2x4:index3; ignore: 9, smoothing: 0.5", 9 },
	};
	static const double zero[24];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int k = 0; k < 4; k++) {
			struct op_run r;
			double target[24];
			for (int j = 0; j < 24; j++)
				target[j] = cases[i].target;
			op_run_init(&r, devices[k / 2], cases[i].op, cases[i].text, k % 2);
			op_run_set(&r, 1, target);
			assert_int_equal(op_run_go(&r), 0);
			assert_close(op_run_out(&r, 0), zero, 1, 0);
			assert_close(op_run_out(&r, 1), zero, 1, 0);
			assert_close(op_run_gradient(&r), zero, 24, 0);
			op_run_release(&r);
		}
}

/* Where a share is too small for its type, its logarithm is finite. */
static void test_dice_far(void **state)
{
	static const double logits[2 * 2] = { 1000, 0, /**/ 0, 0 }, labels[2] = { 1, 0 },
				       want[1] = { (1000 + 0.69314718056) / 2 };
	for (int k = 0; k < 4; k++) {
		struct op_run r;
		op_run_init(&r, devices[k / 2], "dice_loss", "1x2x2 1x2:index2; dice: 0, cross_entropy: 1",
		            k % 2);
		op_run_set(&r, 0, logits);
		op_run_set(&r, 1, labels);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_out(&r, 0), want, 1, 1e-6);
		op_run_release(&r);
	}
}

static void test_regression_losses(void **state)
{
	static const double x[4] = { 0, 0.5, 1.5, -3 };
	check_op("huber_loss", "4 4:zero", x, 1, (double[]){ 0.90625 });
	check_op("huber_loss", "4 4:zero; delta: 2", x, 1, (double[]){ (0.125 + 1.125 + 4) / 4 });
	check_op("l1_loss", "4 4:zero", x, 1, (double[]){ 1.25 });
	check_op("mse_loss", "4 4:zero", x, 1, (double[]){ 2.875 });
}

/* The target is cut into its first 12 bits and the rest: 4097 = 4096 + 1. */
static void test_error_sums(void **state)
{
	static const double x[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, t[8] = { 0, 4, 3, 4097, 5, 5, 7, 4 };
	static const double all[14] = {
		4, 1 + 2 + 0 + 1, 1 + 4 + 0 + 1, 0 + 4 + 5 + 5, 16 + 25 + 25, 0, 0,
		4, 4097 - 4 + 4, 4093.0 * 4093 + 16, 3 + 4097 + 7 + 4,
		9 + 4096.0 * 4096 + 49 + 16, 4096, 1
	};
	static const double without_4[14] = {
		3, 1 + 0 + 1, 1 + 0 + 1, 0 + 5 + 5, 25 + 25, 0, 0,
		3, 4093, 4093.0 * 4093, 3 + 4097 + 7, 9 + 4096.0 * 4096 + 49, 4096, 1
	};
	for (int k = 0; k < 4; k++) {
		struct op_run r;
		op_run_init(&r, devices[k / 2], "error_sums",
		            k % 2 ? "2x2x2 2x2x2; leave_out: value, value: 4" : "2x2x2 2x2x2", false);
		/* (sample, channel, place): of channel 0 the elements 0, 1, 4, 5. */
		op_run_set(&r, 0, x);
		op_run_set(&r, 1, t);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_out(&r, 0), k % 2 ? without_4 : all, 14, 0);
		op_run_release(&r);
	}
}

static void test_errors_without_nan(void **state)
{
	static const double x[4] = { 1, 2, 3, 4 }, t[4] = { 0, NAN, 5, NAN };
	EACH_DEVICE(dev)
	{
		struct op_run r;
		op_run_init(&r, dev, "error_sums", "4 4; leave_out: nan", false);
		op_run_set(&r, 0, x);
		op_run_set(&r, 1, t);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_out(&r, 0), (double[]){ 2, 3, 5, 5, 25, 0, 0 }, 7, 0);
		op_run_release(&r);
		op_run_init(&r, dev, "error_sums", "4 4", false);
		op_run_set(&r, 0, x);
		op_run_set(&r, 1, t);
		assert_int_equal(op_run_go(&r), 0);
		assert_true(op_run_out(&r, 0)[0] == 4 && isnan(op_run_out(&r, 0)[1]));
		op_run_release(&r);
	}
}

/* {neither, predicted, set, both} of two classes; a flag that is NaN does not count, a logit of 0
 * or NaN predicts nothing. */
static void test_flag_counts(void **state)
{
	static const double x[10] = { 2, -1, 0, -3, 1, 1, NAN, 1, 0.5, -2 };
	static const double t[10] = { 1, 0, 1, 1, 0, NAN, 1, 0, 1, 0 };
	static const double want[8] = { 0, 1, 2, 2, 2, 1, 1, 0 };
	EACH_DEVICE(dev)
	{
		struct op_run r;
		op_run_init(&r, dev, "flag_counts", "5x2 5x2", false);
		op_run_set(&r, 0, x);
		op_run_set(&r, 1, t);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_out(&r, 0), want, 8, 0);
		op_run_release(&r);
		op_run_init(&r, dev, "flag_counts", "5x2 5x2; leave_out: value, value: 0", false);
		op_run_set(&r, 0, x);
		op_run_set(&r, 1, t);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_out(&r, 0), (double[]){ 0, 0, 2, 2, 0, 0, 1, 0 }, 8, 0);
		op_run_release(&r);
	}
}

/* Of equal logits the first class is the better guess. A logit that is NaN never helps: not the
 * label's own, which then is last, and not another's. */
static void test_label_ranks(void **state)
{
	static const double logits[6 * 3] = { 3, 2, 1, 3, 2, 1, 3, 2, 1,
		                              1, 1, 0, NAN, 5, 1, 0, NAN, 1 };
	static const double labels[6] = { 0, 1, 9, 1, 0, 2 }, want[3] = { 1, 3, 1 };
	EACH_DEVICE(dev)
	{
		struct op_run r;
		op_run_init(&r, dev, "label_ranks", "6x3 6:index3; ignore: 9", false);
		op_run_set(&r, 0, logits);
		op_run_set(&r, 1, labels);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_out(&r, 0), want, 3, 0);
		op_run_release(&r);
		op_run_init(&r, dev, "label_ranks", "6x3 6:index3; ignore: 9", false);
		op_run_set(&r, 1, (double[]){ 0, 1, 9, 3, 0, 2 });
		assert_int_equal(op_run_go(&r), E_DATA);
		assert_non_null(strstr(error_text(), "label 3 at (3) is no class 0..2"));
		op_run_release(&r);
	}
}

/* --- resize --- */

static void test_resize(void **state)
{
	static const double x[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	static const double plain[12] = { 1, 1.5, 2, 1.5, 2, 2.5, 2.5, 3, 3.5, 3, 3.5, 4 };
	static const double corners[12] = { 1,       1.5,      2,        5.0 / 3, 13.0 / 6, 8.0 / 3,
		                            7.0 / 3, 17.0 / 6, 10.0 / 3, 3,       3.5,      4 };
	check_op("resize", "1x1x2x2; size: [4, 3]", x + 1, 12, plain);
	check_op("resize", "1x1x2x2; size: [4, 3], align_corners: true", x + 1, 12, corners);
	check_op("resize", "1x1x2x3; size: [1, 2]", x, 2, (double[]){ 1.75, 3.25 });
	check_op("resize", "1x1x1x5; size: [1, 3], mode: nearest", x, 3, (double[]){ 0, 1, 3 });
	check_op("resize", "1x1x1x3; size: [1, 7], mode: nearest", x, 7,
	         (double[]){ 0, 0, 0, 1, 1, 2, 2 });
	check_op("resize", "1x1x2x2x2; size: [3, 1, 3]", x, 9,
	         (double[]){ 1, 1.5, 2, 3, 3.5, 4, 5, 5.5, 6 });
	check_op("resize", "1x1x2x2x2; size: [3, 1, 3], align_corners: true", x, 9,
	         (double[]){ 0, 0.5, 1, 2, 2.5, 3, 4, 4.5, 5 });
	assert_refused("resize", "1x1x2x2; size: [4, 4], mode: nearest, align_corners: true",
	               E_CONFIG);
	assert_refused("resize", "1x1x2x2; size: [4, 4, 4]", E_CONFIG);
	assert_string_equal(error_text(),
	                    "layer 'sample': 'size' of 'resize' has 3 entries, expected 1 or 2");
}

/* --- pooling --- */

static void test_average_pool(void **state)
{
	static const double x[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	static const double counted[9] = { 4.0 / 3,  7.0 / 3, 16.0 / 9, 3,       5,
		                           11.0 / 3, 8.0 / 3, 13.0 / 3, 28.0 / 9 };
	static const double uncounted[9] = { 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7 };
	check_op("average_pool", "1x1x3x3; kernel: 3, stride: 1, pad_lo: 1, pad_hi: 1", x, 9,
	         counted);
	check_op("average_pool",
	         "1x1x3x3; kernel: 3, stride: 1, pad_lo: 1, pad_hi: 1, count_padding: false", x, 9,
	         uncounted);
	/* 2 x 2 in steps of 2: padding before only, and none at all (the last row and column are
	 * left over) */
	check_op("average_pool", "1x1x3x3; kernel: 2, pad_lo: 1", x, 4,
	         (double[]){ 0.25, 1.25, 2.75, 7 });
	check_op("average_pool", "1x1x3x3; kernel: 2, pad_lo: 1, count_padding: false", x, 4,
	         (double[]){ 1, 2.5, 5.5, 7 });
	check_op("average_pool", "1x1x3x3; kernel: 2", x, 1, (double[]){ 3 });
}

/* Padding never wins, equal values give the gradient to the first. */
static void test_max_pool(void **state)
{
	static const double x[9] = { -1, -2, -3, -4, -5, -6, -7, -8, -9 };
	static const double equal[8] = { 2, 2, 1, 1, 2, 2, 1, 1 },
			    first[8] = { 1, 0, 1, 0, 0, 0, 0, 0 };
	check_op("max_pool", "1x1x3x3; kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1", x, 4,
	         (double[]){ -1, -2, -4, -5 });
	EACH_DEVICE(dev)
	{
		struct op_run r;
		op_run_init(&r, dev, "max_pool", "1x1x2x4; kernel: 2", false);
		op_run_set(&r, 0, equal);
		assert_int_equal(op_run_go(&r), 0);
		assert_close(op_run_gradient(&r), first, 8, 0);
		op_run_release(&r);
	}
	assert_refused("max_pool", "1x1x3x3; kernel: 2, pad_lo: 2", E_CONFIG);
	assert_string_equal(
		error_text(),
		"layer 'sample': padding 2 of 'max_pool' is not less than the kernel 2");
	assert_refused("max_pool", "1x1x3x3; kernel: [4, 2]", E_SHAPE);
	assert_string_equal(error_text(), "layer 'sample': kernel 4 of 'max_pool' exceeds the "
	                                  "input's size 3 (3 with padding); it takes a smaller "
	                                  "kernel, or fewer pools and strides before it");
	assert_refused("max_pool", "3x3; kernel: 2", E_SHAPE);
	assert_refused("max_pool", "1x1x9x9; kernel: 65536, pad_lo: 65535", E_CONFIG);
	assert_refused("max_pool", "1x1x3x3", E_CONFIG);
}

/* --- batch norm --- */

/* Values near 1e4 that spread by 0.1: a sum of squares in float would see no variance at all. */
static void test_batch_norm_far_from_zero(void **state)
{
	enum { N = 2, C = 5, P = 41 * 43 };
	static double x[N * C * P];
	struct op_run r;
	op_run_init(&r, "cpu", "batch_norm", "2x5x41x43 5:one 5:zero", false);
	for (int i = 0; i < N * C * P; i++)
		x[i] = (double)(float)(1e4 + (i / P % C) * 37 + 0.1 * sin(i * 0.7));
	op_run_set(&r, 0, x);
	assert_int_equal(op_run_go(&r), 0);
	double *y = op_run_out(&r, 0), *mean = op_run_out(&r, 1), *variance = op_run_out(&r, 3);
	for (int c = 0; c < C; c++) {
		double m = 0, v = 0, n = N * P;
		for (int i = 0; i < N * C * P; i++)
			m += i / P % C == c ? x[i] / n : 0;
		for (int i = 0; i < N * C * P; i++)
			v += i / P % C == c ? (x[i] - m) * (x[i] - m) / n : 0;
		assert_close(&mean[c], &m, 1, 1e-7);
		assert_close(&variance[c], &v, 1, 1e-5);
		double e = (x[c * P] - m) / sqrt(v + 1e-5);
		assert_true(fabs(y[c * P] - e) <
		            0.02); /* x itself is known to 1e-3 of the spread */
	}
	op_run_release(&r);
}

static void test_refused_batch_norm(void **state)
{
	assert_refused("batch_norm", "1x5 5 5", E_SHAPE);
	assert_refused("batch_norm", "4x5 5 6", E_SHAPE);
	assert_string_equal(error_text(),
	                    "layer 'sample': input 2 of 'batch_norm' is 6, expected 5");
	assert_refused("batch_norm", "5 5 5", E_SHAPE);
	assert_string_equal(error_text(), "layer 'sample': 'batch_norm' takes 2 to 5 axes, got 5");
}

/* --- concat, slice, pad --- */

static void test_refused_copies(void **state)
{
	assert_refused("concat", "2x3x4x5 2x3x4x6", E_SHAPE);
	assert_string_equal(
		error_text(),
		"layer 'sample': cannot join 2x3x4x5 and 2x3x4x6 along axis 1: other axes differ "
		"('in0' and 'in1')");
	assert_refused("concat", "2x3 2x3x4", E_SHAPE);
	assert_refused("concat", "2x3 2x3; axis: 2", E_SHAPE);
	assert_refused("concat", "2x3 2x3:index4", E_SHAPE);
	assert_refused("slice", "2x3; begin: 2, size: 2", E_SHAPE);
	assert_string_equal(error_text(),
	                    "layer 'sample': cannot take 2 from index 2 on along axis 1 of 2x3");
	assert_refused("pad", "2x3; before: [1], after: [0, 0]", E_CONFIG);
}

static void test_integers(void **state)
{
	static const double x[6] = { 1, -2, 3, 70000, 5, 6 };
	check_op("concat", "1x3x2:index9", x, 6, x);
	check_op("slice", "1x3x2:index9; begin: 1, size: 1", x, 2, x + 2);
	check_op("pad", "6:index9; before: [1], after: [0], value: -3", x, 7,
	         (double[]){ -3, 1, -2, 3, 70000, 5, 6 });
}

/* --- numbers of threads --- */

static void run_threads(const char *op, const char *text, int threads, double *out,
                        double *gradient, int n)
{
	struct op_run r;
	op_run_init(&r, "cpu", op, text, true);
	omp_set_num_threads(threads);
	assert_int_equal(op_run_go(&r), 0);
	memcpy(out, op_run_out(&r, 0),
	       sizeof *out * (size_t)shape_count(node_out_shape(r.s.g, r.s.node, 0)));
	memcpy(gradient, op_run_gradient(&r), sizeof *gradient * (size_t)n);
	op_run_release(&r);
}

static void test_threads(void **state)
{
	enum { N = 2 * 17 * 31 * 29 };
	static const struct {
		const char *op, *text;
	} cases[] = {
		{ "batch_norm", "2x17x31x29 17 17" },
		{ "softmax_cross_entropy", "2x17x31x29 2x31x29:index17 17:positive" },
		{ "huber_loss", "2x17x31x29 2x17x31x29" },
		{ "softmax_cross_entropy", "2x17x31x29 2x31x29:index17 17:positive; smoothing: 0.1" },
		{ "dice_loss", "2x17x31x29 2x31x29:index17 17:positive; cross_entropy: 1" },
		{ "dice_loss", "2x17x31x29 2x31x29:index17; per_batch: true" },
		{ "element_loss", "2x17x31x29 2x17x31x29:flags 17:positive; kind: logistic, "
		                  "skip_nan: true" },
		{ "average_pool", "2x17x31x29; kernel: 3, stride: 2, pad_lo: 1" },
		{ "max_pool", "2x17x31x29; kernel: 3, stride: 2, pad_lo: 1" },
		{ "resize", "2x17x31x29; size: [11, 37]" },
		{ "global_average", "2x17x31x29" },
	};
	static double a[N], b[N], da[N], db[N];
	int before = omp_get_max_threads();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		memset(a, 0, sizeof a);
		memset(b, 0, sizeof b);
		run_threads(cases[i].op, cases[i].text, 1, a, da, N);
		run_threads(cases[i].op, cases[i].text, 3, b, db, N);
		assert_memory_equal(a, b, sizeof a);
		assert_memory_equal(da, db, sizeof da);
	}
	omp_set_num_threads(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cross_entropy),
		cmocka_unit_test(test_bad_label),
		cmocka_unit_test(test_bad_flag),
		cmocka_unit_test(test_dice_far),
		cmocka_unit_test(test_nothing_counts),
		cmocka_unit_test(test_confusion),
		cmocka_unit_test(test_iou_per_sample),
		cmocka_unit_test(test_error_sums),
		cmocka_unit_test(test_errors_without_nan),
		cmocka_unit_test(test_flag_counts),
		cmocka_unit_test(test_label_ranks),
		cmocka_unit_test(test_refused_losses),
		cmocka_unit_test(test_regression_losses),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_average_pool),
		cmocka_unit_test(test_max_pool),
		cmocka_unit_test(test_batch_norm_far_from_zero),
		cmocka_unit_test(test_refused_batch_norm),
		cmocka_unit_test(test_refused_copies),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
