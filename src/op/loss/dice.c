/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Soft Dice loss (Milletari et al. 2016, arXiv:1606.04797) of softmax(x), x logits (N, C, ...),
 * against labels y (N, ...), and its sum with cross-entropy. Over the points p of a group (a
 * sample, or the whole batch with per_batch) that are not ignored, q = softmax(x_p):
 *
 *   I_c = sum [y_p = c] q_p[c]   P_c = sum q_p[c], or q_p[c]^2 (squared)   G_c = sum [y_p = c]
 *   D_c = (2 I_c + smooth_numerator) / (P_c + G_c + smooth_denominator)
 *   dice = sum_c a_c (1 - D_c)   entropy = sum_p w[y_p] (-log q_p[y_p]) / sum_p w[y_p]
 *
 * with a_c = w[c] / sum w over all classes, or all but the first (background: false); w is 1
 * without class weights. The loss is the mean over the groups with a point that counts of
 *
 *   L = dice * `dice` + entropy * `cross_entropy`
 *
 * The second output is the weight of the mean: the number of samples with such a point (per_batch:
 * N if there is any). With it the means of batches are combined. The third is a table (groups, 3,
 * C) of dL/dI, dL/dP, doubled if squared, and w[c] `cross_entropy` / sum_p w[y_p], each divided by
 * the number of groups: with q_p = q and y_p = k
 *
 *   g[c] = dL/dI_c [c = k] + dL/dP_c (q[c] if squared, else 1)
 *   dx_p[c] = dloss (q[c] (g[c] - sum_j q[j] g[j]) + e[k] (q[c] - [c = k]))
 *
 * If the points are divided among ranks (group), each rank uses the sums of all ranks. dL/dI and
 * the other derivatives are then multiplied by the number of ranks, since the loss of each of them
 * depends on the point.
 *
 * If no point counts, loss and gradient are 0. A label that is neither a class nor ignored stops
 * the run. CPU: sums of rows of points, in double, added in order. */
#include "op/loss/dice.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/fork.h"
#include "op/loss/labels_cuda.h"
#include "op/norm/norm_sync.h"

static const struct field fields[] = {
	LABELS_IGNORE_FIELD(struct dice_attr),
	FIELD_BOOL(struct dice_attr, squared, "false", "squares of shares in the denominator"),
	FIELD_BOOL(struct dice_attr, background, "true", "class 0 has its part in Dice"),
	FIELD_BOOL(struct dice_attr, per_batch, "false", "sums over the batch, not over each sample"),
	FIELD_FLOAT(struct dice_attr, smooth_numerator, "1e-5", 0, 1e12, "added to 2 I"),
	FIELD_FLOAT(struct dice_attr, smooth_denominator, "1e-5", 1e-30, 1e12, "added to P + G"),
	FIELD_FLOAT(struct dice_attr, dice, "1", 0, 1e12, "factor on Dice"),
	FIELD_FLOAT(struct dice_attr, cross_entropy, "0", 0, 1e12, "factor on cross-entropy"),
	FIELD_INT(struct dice_attr, group, "-1", -1, INT32_MAX,
	          "group of the statistics' reducer; -1: alone"),
	FIELD_END
};

/* --- shape --- */

static const struct dice_attr *attributes(const struct node *n)
{
	return n->attr;
}

static int check_inputs(struct graph *g, const struct node *n)
{
	const struct shape *x = node_in_shape(g, n, 0);
	TRY(labels_check(g, n));
	TRY(check_rank(g, n, 0, 3, 5));
	if (x->d[1] > DICE_CLASSES || x->d[1] < 1 + !attributes(n)->background)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' takes %s to %d classes, but the network has %lld",
		           n->op->name, attributes(n)->background ? "1" : "2", DICE_CLASSES,
		           (long long)x->d[1]);
	return 0;
}

static struct shape table_shape(const struct graph *g, const struct node *n)
{
	const struct shape *x = node_in_shape(g, n, 0);
	int64_t groups = attributes(n)->per_batch ? 1 : x->d[0];
	return (struct shape){ .nd = 3, .d = { groups, DICE_TABLE, x->d[1] } };
}

static int shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 }, table;
	TRY(check_inputs(g, n));
	if (n->nin > 2 && n->in[2] != NONE) {
		TRY(check_dtype(g, n, 2, DTYPE_F32));
		TRY(check_vector(g, n, 2, node_in_shape(g, n, 0)->d[1]));
	}
	table = table_shape(g, n);
	TRY(graph_out(g, n, 0, DTYPE_F32, &scalar));
	TRY(graph_out(g, n, 1, DTYPE_F32, &scalar));
	return graph_out(g, n, 2, DTYPE_F32, &table);
}

static int grad_shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 }, table;
	TRY(check_inputs(g, n));
	table = table_shape(g, n);
	TRY(check_shape(g, n, 2, &table));
	TRY(check_shape(g, n, 3, &scalar));
	struct shape x = *node_in_shape(g, n, 0);
	return graph_out(g, n, 0, DTYPE_F32, &x);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[2] != NONE)
		return ERR(E_UNSUPPORTED, &n->loc, "layer '%s': the third output of '%s' has no gradient "
		           "rule", check_layer(n), n->op->name);
	if (dy[0] == NONE)
		return 0;
	tid in[] = { n->in[0], n->in[1], n->out[2], dy[0] };
	return graph_emit1(g, "dice_loss_grad", n->attr, 4, in, &dx[0]);
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 6.0 * (double)shape_count(node_in_shape(g, n, 0));
}

/* --- kernels: what both have in common --- */

struct dice_plan {
	struct labels l;
	int64_t groups, rows;            /* rows: rows of a group */
	struct dice_sums *sums;          /* in the workspace: sums of the groups, then of each row */
};

static int plan(struct kplan *k)
{
	struct dice_plan *s = k->state = ARENA_NEW(k->arena, struct dice_plan);
	labels_init(&s->l, k, attributes(k->n)->ignore);
	s->groups = attributes(k->n)->per_batch ? 1 : s->l.shape.d[0];
	s->rows = s->l.rows / s->groups;
	k->ws_bytes = (sizeof(struct dice_sums) * (size_t)s->l.classes + sizeof(struct bad_labels)) *
	              (size_t)s->l.rows;
	if (attributes(k->n)->group >= 0)
		k->ws_bytes += sizeof(struct dice_sums) * (size_t)(s->l.classes * s->groups);
	return 0;
}

/* Adds the sums of group g's rows, in order, into the first of them. */
static void group_sums(const struct dice_plan *s, struct dice_sums *rows, int64_t g)
{
	struct dice_sums *sum = rows + g * s->rows * s->l.classes;
	for (int64_t i = s->l.classes; i < s->rows * s->l.classes; i++) {
		struct dice_sums *to = &sum[i % s->l.classes];
		to->both += sum[i].both;
		to->share += sum[i].share;
		to->labels += sum[i].labels;
		to->entropy += sum[i].entropy;
	}
}

struct dice_result {
	double loss;
	int64_t groups;                  /* number of groups with a point that counts */
};

/* Number i of the class weights, which are doubles or floats. */
struct class_numbers {
	const float *f;
	const double *d;
};

static double weight_of(const struct class_numbers *w, int64_t i)
{
	return w->f ? (double)w->f[i] : w->d ? w->d[i] : 1;
}

/* Adds L of a group to the result, and computes its part of the table, not yet divided by the
 * number of groups. */
static void finish_group(const struct dice_attr *c, int64_t classes, const struct dice_sums *sums,
                         const struct class_numbers *w, double *table, struct dice_result *out)
{
	double all = 0, counted = 0, weight = 0, entropy = 0, dice = 0;
	for (int64_t j = 0; j < classes; j++) {
		all += c->background || j > 0 ? weight_of(w, j) : 0;
		counted += sums[j].labels;
		weight += weight_of(w, j) * sums[j].labels;
		entropy += weight_of(w, j) * sums[j].entropy;
	}
	memset(table, 0, sizeof *table * (size_t)(DICE_TABLE * classes));
	if (counted == 0)
		return;
	for (int64_t j = 0; j < classes; j++) {
		double below = sums[j].share + sums[j].labels + c->smooth_denominator,
		       d = (2 * sums[j].both + c->smooth_numerator) / below,
		       a = all > 0 && (c->background || j > 0) ? weight_of(w, j) / all : 0;
		dice += a * (1 - d);
		table[j] = -2 * c->dice * a / below;
		table[classes + j] = (c->squared ? 2 : 1) * c->dice * a * d / below;
		table[2 * classes + j] = weight > 0 ? c->cross_entropy * weight_of(w, j) / weight : 0;
	}
	out->loss += c->dice * dice + (weight > 0 ? c->cross_entropy * entropy / weight : 0);
	out->groups++;
}

/* Replaces the sums of each group by those of all ranks; *ranks: their number. sent: room for the
 * sums of all groups. */
static int join_ranks(const struct kplan *k, const struct kargs *a, struct dice_sums *rows,
                      struct dice_sums *sent, double *ranks)
{
	const struct dice_plan *s = k->state;
	const struct norm_sync t = norm_sync_of(a, attributes(k->n)->group);
	const int64_t classes = s->l.classes;
	const size_t each = sizeof *rows * (size_t)classes;
	*ranks = 1;
	if (!t.sums)
		return 0;
	for (int64_t g = 0; g < s->groups; g++)
		memcpy(sent + g * classes, rows + g * s->rows * classes, each);
	TRY(norm_sync_sums(&t, 2 * classes * s->groups, &sent->both, ranks));
	for (int64_t g = 0; g < s->groups; g++)
		memcpy(rows + g * s->rows * classes, sent + g * classes, each);
	return 0;
}

/* rows: the sums of all rows; those of a group are in its first row. They are overwritten by the
 * table as finish_group makes it, times `ranks`. */
static void finish(const struct dice_plan *s, const struct dice_attr *c, double ranks,
                   const struct class_numbers *w, struct dice_sums *rows,
                   struct dice_result *out)
{
	int64_t classes = s->l.classes;
	*out = (struct dice_result){ 0 };
	for (int64_t g = 0; g < s->groups; g++) {
		double table[DICE_TABLE * DICE_CLASSES];
		struct dice_sums *sums = rows + g * s->rows * classes;
		finish_group(c, classes, sums, w, table, out);
		for (int64_t i = 0; i < DICE_TABLE * classes; i++)
			table[i] *= ranks;
		memcpy(sums, table, sizeof *table * (size_t)(DICE_TABLE * classes));
	}
	if (out->groups)
		out->loss /= (double)out->groups;
}

/* Number i of the table, divided by the number of groups; the sums are as `finish` leaves them. */
static double table_value(const struct dice_plan *s, const struct dice_sums *rows, int64_t groups,
                          int64_t i)
{
	int64_t each = DICE_TABLE * s->l.classes;
	const double *t = (const double *)(rows + i / each * s->rows * s->l.classes);
	return groups ? t[i % each] / (double)groups : 0;
}

static double weight(const struct dice_plan *s, const struct dice_attr *c, int64_t groups)
{
	return (double)(c->per_batch && groups ? s->l.shape.d[0] : groups);
}

static int report(const struct kplan *k, const struct bad_labels *bad)
{
	const struct dice_plan *s = k->state;
	struct bad_labels sum = { 0 };
	for (int64_t r = 0; r < s->l.rows; r++)
		bad_labels_add(&sum, &bad[r]);
	return bad_labels_report(&sum, k, &s->l);
}

static struct bad_labels *clear(const struct dice_plan *s, void *ws)
{
	size_t n = (size_t)(s->l.rows * s->l.classes);
	memset(ws, 0, sizeof(struct dice_sums) * n + sizeof(struct bad_labels) * (size_t)s->l.rows);
	return (struct bad_labels *)((struct dice_sums *)ws + n);
}

/* --- reference kernels --- */

/* Softmax q of point p of row-major logits, and log sum exp of them. */
static double ref_softmax(const struct kplan *k, const double *x, int64_t p, double *q)
{
	const struct shape *s = node_in_shape(k->g, k->n, 0);
	int64_t classes = s->d[1], points = shape_count(s) / (s->d[0] * classes);
	const double *at = x + p / points * classes * points + p % points;
	double max = -INFINITY, sum = 0;
	for (int64_t j = 0; j < classes; j++)
		max = fmax(max, at[j * points]);
	for (int64_t j = 0; j < classes; j++)
		sum += q[j] = exp(at[j * points] - max);
	for (int64_t j = 0; j < classes; j++)
		q[j] /= sum;
	return max + log(sum);
}

static void ref_row(const struct kplan *k, const double *x, const int32_t *y, int64_t row,
                    struct dice_sums *sums, struct bad_labels *bad)
{
	const struct dice_plan *s = k->state;
	const struct shape *shape = node_in_shape(k->g, k->n, 0);
	const int64_t classes = s->l.classes, points = shape_count(shape) / (shape->d[0] * classes);
	double q[DICE_CLASSES];
	for (int64_t p = row * s->l.w; p < (row + 1) * s->l.w; p++) {
		const double lse = ref_softmax(k, x, p, q);
		if (!labels_valid(&s->l, y[p], p, bad))
			continue;
		for (int64_t j = 0; j < classes; j++)
			sums[j].share += attributes(k->n)->squared ? q[j] * q[j] : q[j];
		sums[y[p]].both += q[y[p]];
		sums[y[p]].labels += 1;
		sums[y[p]].entropy += lse - x[(p / points * classes + y[p]) * points + p % points];
	}
}

static int ref_run(const struct kplan *k, const struct kargs *a)
{
	const struct dice_plan *s = k->state;
	struct dice_sums *rows = a->ws;
	struct bad_labels *bad = clear(s, a->ws);
	struct dice_result r;
	double *table = a->out[2], ranks;
	for (int64_t i = 0; i < s->l.rows; i++)
		ref_row(k, a->in[0], a->in[1], i, rows + i * s->l.classes, &bad[i]);
	TRY(report(k, bad));
	for (int64_t g = 0; g < s->groups; g++)
		group_sums(s, rows, g);
	TRY(join_ranks(k, a, rows, (struct dice_sums *)(void *)(bad + s->l.rows), &ranks));
	finish(s, attributes(k->n), ranks, &(struct class_numbers){ .d = kargs_in(k, a, 2) }, rows,
	       &r);
	*(double *)a->out[0] = r.loss;
	*(double *)a->out[1] = weight(s, attributes(k->n), r.groups);
	for (int64_t i = 0; i < DICE_TABLE * s->l.classes * s->groups; i++)
		table[i] = table_value(s, rows, r.groups, i);
	return 0;
}

static int ref_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct dice_plan *s = k->state;
	const struct shape *shape = node_in_shape(k->g, k->n, 0);
	int64_t classes = s->l.classes, points = shape_count(shape) / (shape->d[0] * classes);
	const int32_t *y = a->in[1];
	double q[DICE_CLASSES], f = *(const double *)a->in[3], *dx = a->out[0];
	bool squared = attributes(k->n)->squared;
	for (int64_t p = 0; p < s->l.rows * s->l.w; p++) {
		const double *t =
			(const double *)a->in[2] + p / (s->rows * s->l.w) * DICE_TABLE * classes;
		struct bad_labels bad = { 0 };
		bool valid = labels_valid(&s->l, y[p], p, &bad);
		double mean = 0, *to = dx + p / points * classes * points + p % points;
		ref_softmax(k, a->in[0], p, q);
		for (int64_t j = 0; valid && j < classes; j++)
			mean += q[j] * ((j == y[p]) * t[j] + t[classes + j] * (squared ? q[j] : 1));
		for (int64_t j = 0; j < classes; j++) {
			bool own = valid && j == y[p];
			double g = own * t[j] + t[classes + j] * (squared ? q[j] : 1);
			to[j * points] = valid ? f * (q[j] * (g - mean) + t[2 * classes + y[p]] * (q[j] - own))
			                       : 0;
		}
	}
	return 0;
}

/* --- cpu kernels --- */

/* The table is row-major, even if it has the same shape as the logits. */
static int choose(struct kplan *k, struct layout *in, struct layout *out)
{
	TRY(labels_choose(k, in, out));
	if (k->n->out[2] != NONE)
		out[2] = layout_plain(node_out_shape(k->g, k->n, 2));
	return 0;
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct dice_plan *s = k->state;
	const struct labels *l = &s->l;
	struct dice_sums *rows = a->ws;
	struct bad_labels *bad = clear(s, a->ws);
	struct dice_result r;
	float *table = a->out[2];
	double ranks;
#pragma omp parallel for schedule(static) if (l->rows * l->w * l->classes > FORK_VALUES)
	for (int64_t i = 0; i < l->rows; i++)
		dice_row(l, attributes(k->n), a->in[0], a->in[1], i, rows + i * l->classes, &bad[i]);
	TRY(report(k, bad));
	for (int64_t g = 0; g < s->groups; g++)
		group_sums(s, rows, g);
	TRY(join_ranks(k, a, rows, (struct dice_sums *)(void *)(bad + s->l.rows), &ranks));
	finish(s, attributes(k->n), ranks, &(struct class_numbers){ .f = kargs_in(k, a, 2) }, rows,
	       &r);
	*(float *)a->out[0] = (float)r.loss;
	*(float *)a->out[1] = (float)weight(s, attributes(k->n), r.groups);
	for (int64_t i = 0; i < DICE_TABLE * l->classes * s->groups; i++)
		table[i] = (float)table_value(s, rows, r.groups, i);
	return 0;
}

static int cpu_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct dice_plan *s = k->state;
	const struct labels *l = &s->l;
	const float *table = a->in[2], f = *(const float *)a->in[3];
#pragma omp parallel for schedule(static) if (l->rows * l->w * l->classes > FORK_VALUES)
	for (int64_t i = 0; i < l->rows; i++)
		dice_grad_row(l, attributes(k->n), a->in[0], a->in[1],
		              table + i / s->rows * DICE_TABLE * l->classes, f, i, a->out[0]);
	return 0;
}

/* --- samples --- */

static const char *const samples[] = {
	"2x4x5x7 2x5x7:labels4; ignore: 255",
	"2x3x5x7 2x5x7:labels3 3:positive; ignore: 255, squared: true, background: false",
	"2x17x3x4x5 2x3x4x5:index17 17:positive; cross_entropy: 0.5, dice: 2",
	"3x2x9 3x9:index2; per_batch: true, smooth_numerator: 0, smooth_denominator: 1",
	"2x40x5x7 2x5x7:index40 -; cross_entropy: 1, smooth_numerator: 1, smooth_denominator: 1",
	"2x4x33x65 2x33x65:labels4 4:positive; ignore: 255, per_batch: true, cross_entropy: 1, "
	"squared: true",
	"2x3x3 2x3:labels3; ignore: 255",
	"2x4x5x7 2x5x7:labels4 4:positive; ignore: 255, cross_entropy: 1, group: 0",
	"2x40x65x33 2x65x33:index40; per_batch: true, squared: true, group: 1",
	NULL
};
static const char *const grad_samples[] = {
	"2x4x5x7 2x5x7:labels4 2x3x4 s; ignore: 255",
	"2x17x3x4x5 2x3x4x5:index17 1x3x17 s; per_batch: true, squared: true",
	"2x40x5x7 2x5x7:index40 2x3x40 s; cross_entropy: 1",
	"2x4x33x65 2x33x65:labels4 2x3x4 s; ignore: 255, squared: true",
	NULL
};

/* --- records --- */

static const struct op op_dice_loss = {
	.name = "dice_loss",
	.doc = "soft Dice loss of softmax(logits) against labels, and cross-entropy, by sample",
	.flags = OP_MEET,
	.min_in = 2, .max_in = 3, .nout = 3,
	.attr_size = sizeof(struct dice_attr), .attrs = fields,
	.nondiff = 6,
	.shape = shape, .grad = grad, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = plan, .run = ref_run },
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = choose, .plan = plan, .run = cpu_run },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = choose, .plan = dice_cuda_plan,
		            .run = dice_cuda, .free = labels_cuda_free, .bf16_in = 1)
	},
	.samples = samples,
};

static const struct op op_dice_loss_grad = {
	.name = "dice_loss_grad",
	.doc = "gradient of dice_loss from logits, labels, its table, dloss",
	.flags = OP_ONCE,
	.min_in = 4, .max_in = 4, .nout = 1,
	.attr_size = sizeof(struct dice_attr), .attrs = fields,
	.nondiff = 2, .inplace = 1,
	.shape = grad_shape, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = plan, .run = ref_grad_run },
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = labels_choose, .plan = plan,
		                  .run = cpu_grad_run },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = labels_choose, .plan = dice_cuda_plan,
		            .run = dice_grad_cuda, .free = labels_cuda_free, .bf16_in = 1, .bf16_out = 1)
	},
	.samples = grad_samples,
};

OPSET(dice, &op_dice_loss, &op_dice_loss_grad);
