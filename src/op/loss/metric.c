/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts and sums from which metrics over a whole data set are made; float64, so that adding up is
 * exact or nearly so. The predicted class is that of the largest logit, the first of equal ones.
 *   confusion        (C, C) counts, row = label, column = predicted class
 *   iou_per_sample   {sum over samples of their mean IoU, samples}; in a sample a class that is
 *                    neither labelled nor predicted has IoU 1 (MLPerf HPC's DeepCAM). A sample
 *                    whose every label is ignored is left out
 *   label_ranks      (C) counts: [r] of the elements with r classes before the labelled one, by
 *                    falling logits, of equal ones the first class first */
#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/lib/fork.h"
#include "op/lib/grid.h"
#include "op/loss/labels.h"
#include "op/loss/labels_cuda.h"

static const struct field fields[] = {
	LABELS_IGNORE_FIELD(struct confusion_attr),
	FIELD_END
};

/* --- shape --- */

static int confusion_shape(struct graph *g, struct node *n)
{
	TRY(labels_check(g, n));
	int64_t c = node_in_shape(g, n, 0)->d[1];
	struct shape counts = shape_of(2, (int64_t[]){ c, c });
	return graph_out(g, n, 0, DTYPE_F64, &counts);
}

static int per_sample_shape(struct graph *g, struct node *n)
{
	struct shape sums = shape_of(1, (int64_t[]){ 2 });
	TRY(labels_check(g, n));
	return graph_out(g, n, 0, DTYPE_F64, &sums);
}

static int ranks_shape(struct graph *g, struct node *n)
{
	TRY(labels_check(g, n));
	struct shape counts = shape_of(1, (int64_t[]){ node_in_shape(g, n, 0)->d[1] });
	return graph_out(g, n, 0, DTYPE_F64, &counts);
}

/* --- cost --- */

static void confusion_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = (double)shape_count(node_in_shape(g, n, 0));
}

/* --- kernels: what both have in common --- */

static int confusion_plan(struct kplan *k)
{
	struct labels *l = k->state = ARENA_NEW(k->arena, struct labels);
	labels_init(l, k, ((const struct confusion_attr *)k->n->attr)->ignore);
	k->ws_bytes = sizeof(int32_t) * (size_t)(l->rows * l->w);
	return 0;
}

/* Offset in the workspace of the counts of one sample; they follow the guesses. */
static size_t counts_offset(const struct labels *l)
{
	return (sizeof(int32_t) * (size_t)(l->rows * l->w) + 7) / 8 * 8;
}

static int per_sample_plan(struct kplan *k)
{
	TRY(confusion_plan(k));
	const struct labels *l = k->state;
	k->ws_bytes = counts_offset(l) + sizeof(double) * (size_t)(l->classes * l->classes);
	return 0;
}

/* Adds elements `from` .. `to` - 1, with the predicted classes guess[p], to the counts. */
static void count(const struct labels *l, const int32_t *y, const int32_t *guess, int64_t from,
                  int64_t to, double *counts, struct bad_labels *bad)
{
	for (int64_t p = from; p < to;) {
		const int32_t *row = y + labels_row(l, p / l->w);
		for (int64_t i = p % l->w; i < l->w && p < to; i++, p++)
			if (labels_valid(l, row[i * l->step], p, bad))
				counts[row[i * l->step] * l->classes + guess[p]]++;
	}
}

static void clear(double *v, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		v[i] = 0;
}

static int count_all(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	struct bad_labels bad = { 0 };
	clear(a->out[0], l->classes * l->classes);
	count(l, a->in[1], a->ws, 0, l->rows * l->w, a->out[0], &bad);
	return bad_labels_report(&bad, k, l);
}

/* The workspace holds the rank of each label. */
static int count_ranks(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	const int32_t *y = a->in[1], *rank = a->ws;
	double *counts = a->out[0];
	struct bad_labels bad = { 0 };
	clear(counts, l->classes);
	for (int64_t p = 0; p < l->rows * l->w; p++)
		if (labels_valid(l, y[labels_row(l, p / l->w) + p % l->w * l->step], p, &bad))
			counts[rank[p]]++;
	return bad_labels_report(&bad, k, l);
}

/* The mean over the classes of one sample's IoU. *counted: whether the sample has a label that
 * counts. */
static double sample_iou(const double *counts, int64_t classes, bool *counted)
{
	double sum = 0;
	*counted = false;
	for (int64_t c = 0; c < classes; c++) {
		double either = -counts[c * classes + c];
		for (int64_t j = 0; j < classes; j++)
			either += counts[c * classes + j] + counts[j * classes + c];
		*counted = *counted || either > 0;
		sum += either > 0 ? counts[c * classes + c] / either : 1;
	}
	return sum / (double)classes;
}

static int count_samples(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	double *sums = a->out[0], *counts = (double *)(void *)((char *)a->ws + counts_offset(l));
	int64_t samples = l->shape.d[0], each = l->rows * l->w / samples;
	struct bad_labels bad = { 0 };
	sums[0] = sums[1] = 0;
	for (int64_t i = 0; i < samples; i++) {
		bool counted;
		clear(counts, l->classes * l->classes);
		count(l, a->in[1], a->ws, i * each, (i + 1) * each, counts, &bad);
		double iou = sample_iou(counts, l->classes, &counted);
		sums[0] += counted ? iou : 0;
		sums[1] += counted;
	}
	return bad_labels_report(&bad, k, l);
}

/* --- reference kernels --- */

static void ref_guess(const struct kplan *k, const double *x, int32_t *guess)
{
	struct grid g = grid_of(node_in_shape(k->g, k->n, 0));
	int64_t points = grid_points(&g);
	for (int64_t p = 0; p < g.n * points; p++) {
		const double *logits = x + p / points * g.c * points + p % points;
		guess[p] = 0;
		for (int64_t c = 1; c < g.c; c++)
			if (logits[c * points] > logits[guess[p] * points])
				guess[p] = (int32_t)c;
	}
}

static int ref_confusion_run(const struct kplan *k, const struct kargs *a)
{
	ref_guess(k, a->in[0], a->ws);
	return count_all(k, a);
}

static int ref_per_sample_run(const struct kplan *k, const struct kargs *a)
{
	ref_guess(k, a->in[0], a->ws);
	return count_samples(k, a);
}

/* The number of classes before the label's. If its own logit is NaN it is last, and a class whose
 * logit is NaN is before it: a diverged network must not count as right. */
static int ref_label_ranks_run(const struct kplan *k, const struct kargs *a)
{
	const struct grid g = grid_of(node_in_shape(k->g, k->n, 0));
	const struct labels *l = k->state;
	const int64_t points = grid_points(&g);
	const double *x = a->in[0];
	const int32_t *y = a->in[1];
	int32_t *rank = a->ws;
	for (int64_t p = 0; p < g.n * points; p++) {
		const double *logits = x + p / points * g.c * points + p % points;
		rank[p] = 0;
		for (int64_t c = 0; c < g.c && y[p] >= 0 && y[p] < l->classes; c++)
			if (c < y[p] ? !(logits[c * points] < logits[y[p] * points]) :
			    c > y[p] && !(logits[c * points] <= logits[y[p] * points]))
				rank[p]++;
	}
	return count_ranks(k, a);
}

/* --- cpu kernels --- */

static int32_t first_maximum(const float *x, int64_t c)
{
	int64_t best = 0;
	for (int64_t j = 1; j < c; j++)
		if (x[j] > x[best])
			best = j;
	return (int32_t)best;
}

static void guess(const struct labels *l, const float *x, int32_t *guess)
{
	int64_t n = l->rows * l->w;
#pragma omp parallel for schedule(static) if (n * l->classes > FORK_FLOATS)
	for (int64_t p = 0; p < n; p++)
		guess[p] = first_maximum(x + p * l->classes, l->classes);
}

static int confusion_run(const struct kplan *k, const struct kargs *a)
{
	guess(k->state, a->in[0], a->ws);
	return count_all(k, a);
}

static int per_sample_run(const struct kplan *k, const struct kargs *a)
{
	guess(k->state, a->in[0], a->ws);
	return count_samples(k, a);
}

static int32_t rank_of(const float *x, int64_t c, int64_t label)
{
	int32_t rank = 0;
	for (int64_t j = 0; j < label; j++)
		rank += !(x[j] < x[label]);
	for (int64_t j = label + 1; j < c; j++)
		rank += !(x[j] <= x[label]);
	return rank;
}

static int label_ranks_run(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	const float *x = a->in[0];
	const int32_t *y = a->in[1];
	int32_t *rank = a->ws;
	const int64_t n = l->rows * l->w, c = l->classes;
#pragma omp parallel for schedule(static) if (n * c > FORK_FLOATS)
	for (int64_t p = 0; p < n; p++) {
		const int32_t label = y[labels_row(l, p / l->w) + p % l->w * l->step];
		rank[p] = label >= 0 && label < c ? rank_of(x + p * c, c, label) : 0;
	}
	return count_ranks(k, a);
}

/* --- samples --- */

static const char *const confusion_samples[] = {
	"2x4x5x7:distinct 2x5x7:labels4; ignore: 255", "2x17x3x4x5:distinct 2x3x4x5:index17",
	"9x5:distinct 9:index5", "2x4x33x65:distinct 2x33x65:labels4; ignore: 255",
	NULL
};

/* --- records --- */

static const struct op op_confusion = {
	.name = "confusion",
	.doc = "counts of (label, predicted class)",
	.flags = OP_NOGRAD,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct confusion_attr), .attrs = fields,
	.nondiff = 3,
	.shape = confusion_shape, .cost = confusion_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = confusion_plan, .run = ref_confusion_run),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = labels_choose, .plan = confusion_plan,
		                  .run = confusion_run },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = labels_choose, .plan = confusion_cuda_plan,
		            .run = confusion_cuda, .free = labels_cuda_free, .bf16_in = 1)
	},
	.samples = confusion_samples,
};

static const struct op op_iou_per_sample = {
	.name = "iou_per_sample",
	.doc = "sum over samples of the mean IoU of their classes, and how many",
	.flags = OP_NOGRAD,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct confusion_attr), .attrs = fields,
	.nondiff = 3,
	.shape = per_sample_shape, .cost = confusion_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = per_sample_plan,
		                     .run = ref_per_sample_run),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = labels_choose,
		                  .plan = per_sample_plan, .run = per_sample_run },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = labels_choose, .plan = confusion_cuda_plan,
		            .run = iou_per_sample_cuda, .free = labels_cuda_free, .bf16_in = 1)
	},
	.samples = confusion_samples,
};

static const struct op op_label_ranks = {
	.name = "label_ranks",
	.doc = "how many labels have the largest logit, the second largest, ...",
	.flags = OP_NOGRAD,
	.min_in = 2, .max_in = 2, .nout = 1,
	.attr_size = sizeof(struct confusion_attr), .attrs = fields,
	.nondiff = 3,
	.shape = ranks_shape, .cost = confusion_cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = confusion_plan,
		                     .run = ref_label_ranks_run),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = labels_choose, .plan = confusion_plan,
		                  .run = label_ranks_run },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = labels_choose, .plan = label_ranks_cuda_plan,
		            .run = label_ranks_cuda, .free = labels_cuda_free, .bf16_in = 1)
	},
	.samples = confusion_samples,
};

OPSET(metric, &op_confusion, &op_iou_per_sample, &op_label_ranks);
