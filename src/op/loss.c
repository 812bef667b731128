/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Softmax cross-entropy of logits x (N, C, ...) against labels y (N, ...), weighted by class and, for
 * gamma > 0, by how wrong the network is (focal loss, Lin et al. 2017, arXiv:1708.02002):
 *
 *   loss = scale / W  sum_p w[y_p] (1 - q_p)^gamma e_p
 *   e_p = lse_p - x_p[y_p] = -log q_p,   lse_p = log sum_c exp x_p[c]
 *
 * over the elements p that are not ignored; w is 1 without class weights. The second output is what
 * the loss is a mean over, so that losses of batches can be combined:
 *
 *   reduction    W                    second output
 *   mean         sum_p w[y_p]         W                   as torch.nn.functional.cross_entropy
 *   mean_pixels  how many p           W                   the weights scale the loss
 *   sum          1                    N
 *
 * The third is lse, kept for
 *   dx_p[c] = dloss scale / W  w[y_p] F_p (exp(x_p[c] - lse_p) - [c = y_p]),
 *   F_p = (1 - q_p)^gamma + gamma q_p (1 - q_p)^(gamma - 1) e_p.
 * Where W is 0 (every element ignored) loss and gradient are 0. A label that is neither a class nor
 * ignored stops the run.
 *
 * CPU: a row of elements at a time, one double sum a row, added in order. Few classes: exp runs
 * over elements and classes alike. */
#include "op/loss.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/check.h"
#include "op/cuda.h"
#include "op/labels.h"
#include "op/labels_cuda.h"
#include "op/simd.h"

const char *const loss_reduction_names[] = {
	[LOSS_MEAN] = "mean", [LOSS_MEAN_PIXELS] = "mean_pixels", [LOSS_SUM] = "sum", NULL
};

static const struct field fields[] = {
	LABELS_IGNORE_FIELD(struct loss_attr),
	FIELD_ENUM(struct loss_attr, reduction, "mean", loss_reduction_names,
	           "what the sum is divided by"),
	FIELD_FLOAT(struct loss_attr, scale, "1", -1e12, 1e12, "factor on the loss"),
	FIELD_FLOAT(struct loss_attr, gamma, "0", 0, 100, "focal loss: power of 1 - q; 0: cross-entropy"),
	FIELD_END
};

/* --- shape --- */

static int check_class_weights(struct graph *g, const struct node *n, int i)
{
	if (i >= n->nin || n->in[i] == NONE)
		return 0;
	TRY(check_dtype(g, n, i, DTYPE_F32));
	return check_vector(g, n, i, node_in_shape(g, n, 0)->d[1]);
}

static int shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 };
	TRY(labels_check(g, n));
	TRY(check_class_weights(g, n, 2));
	struct shape elements = *node_in_shape(g, n, 1);
	TRY(graph_out(g, n, 0, DTYPE_F32, &scalar));
	TRY(graph_out(g, n, 1, DTYPE_F32, &scalar));
	return graph_out(g, n, 2, DTYPE_F32, &elements);
}

static int grad_shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 };
	TRY(labels_check(g, n));
	TRY(check_equal(g, n, 1, 2));
	TRY(check_shape(g, n, 3, &scalar));
	TRY(check_shape(g, n, 4, &scalar));
	TRY(check_class_weights(g, n, 5));
	struct shape x = *node_in_shape(g, n, 0);
	return graph_out(g, n, 0, DTYPE_F32, &x);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[2] != NONE)
		return ERR(E_UNSUPPORTED, &n->loc,
		           "layer '%s': the third output of '%s' has no gradient rule",
		           check_layer(n), n->op->name);
	if (dy[0] == NONE)
		return 0;
	tid in[] = {
		n->in[0], n->in[1], n->out[2], n->out[1], dy[0], n->nin > 2 ? n->in[2] : NONE
	};
	return graph_emit1(g, "softmax_cross_entropy_grad", n->attr, 6, in, &dx[0]);
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 4.0 * (double)shape_count(node_in_shape(g, n, 0));
}

/* --- kernels: what both have in common --- */

/* Sums of one row of elements. */
struct part {
	double loss, weight;
	struct bad_labels bad;
};

static const struct loss_attr *config(const struct kplan *k)
{
	return k->n->attr;
}

static int plan(struct kplan *k)
{
	struct labels *l = k->state = ARENA_NEW(k->arena, struct labels);
	labels_init(l, k, config(k)->ignore);
	k->ws_bytes = sizeof(struct part) * (size_t)l->rows;
	return 0;
}

/* (1 - q)^gamma for e = -log q. */
static double focus(double gamma, double e)
{
	if (gamma == 0)
		return 1;
	return e > 0 ? pow(-expm1(-e), gamma) : 0;
}

/* F above. As q goes to 1 so does e / (1 - q), and F to 0. */
static double focus_slope(double gamma, double e)
{
	if (gamma == 0)
		return 1;
	return e > 0 ? focus(gamma, e) * (1 + gamma * exp(-e) * e / -expm1(-e)) : 0;
}

/* What one counted element of class weight w adds to W. */
static double share(const struct loss_attr *c, double w)
{
	return c->reduction == LOSS_MEAN ? w : 1;
}

/* Factor on the gradient of each element. */
static double gradient_factor(const struct loss_attr *c, double weight, double dloss)
{
	if (c->reduction == LOSS_SUM)
		return c->scale * dloss;
	return weight != 0 ? c->scale * dloss / weight : 0;
}

/* The rows added up, in order; loss and weight as the outputs have them. */
static int join(const struct kplan *k, const struct part *part, struct part *sum)
{
	const struct labels *l = k->state;
	*sum = (struct part){ 0 };
	for (int64_t r = 0; r < l->rows; r++) {
		sum->loss += part[r].loss;
		sum->weight += part[r].weight;
		bad_labels_add(&sum->bad, &part[r].bad);
	}
	if (config(k)->reduction == LOSS_SUM)
		sum->weight = (double)l->shape.d[0];
	else if (sum->weight != 0)
		sum->loss /= sum->weight;
	sum->loss *= config(k)->scale;
	return bad_labels_report(&sum->bad, k, l);
}

static const void *class_weights(const struct kplan *k, const struct kargs *a, int i)
{
	return i < k->n->nin ? a->in[i] : NULL;
}

/* --- reference kernels --- */

/* Logits in row-major order: class c of element p. */
static int64_t logit(const struct kplan *k, int64_t p, int64_t c)
{
	const struct shape *x = node_in_shape(k->g, k->n, 0);
	int64_t points = shape_count(x) / (x->d[0] * x->d[1]);
	return (p / points * x->d[1] + c) * points + p % points;
}

static double ref_log_sum_exp(const struct kplan *k, const double *x, int64_t p, int64_t classes)
{
	double max = -INFINITY, sum = 0;
	for (int64_t c = 0; c < classes; c++)
		max = fmax(max, x[logit(k, p, c)]);
	for (int64_t c = 0; c < classes; c++)
		sum += exp(x[logit(k, p, c)] - max);
	return max + log(sum);
}

static int ref_run(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	const double *x = a->in[0], *weights = class_weights(k, a, 2);
	const int32_t *y = a->in[1];
	double *lse = a->out[2];
	struct part *part = a->ws, sum;
	for (int64_t r = 0; r < l->rows; r++) {
		part[r] = (struct part){ 0 };
		for (int64_t p = r * l->w; p < (r + 1) * l->w; p++) {
			double v = ref_log_sum_exp(k, x, p, l->classes);
			if (lse)
				lse[p] = v;
			if (!labels_valid(l, y[p], p, &part[r].bad))
				continue;
			double w = weights ? weights[y[p]] : 1, e = v - x[logit(k, p, y[p])];
			part[r].loss += w * focus(config(k)->gamma, e) * e;
			part[r].weight += share(config(k), w);
		}
	}
	TRY(join(k, part, &sum));
	*(double *)a->out[0] = sum.loss;
	*(double *)a->out[1] = sum.weight;
	return 0;
}

static int ref_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	const double *x = a->in[0], *lse = a->in[2], *weights = class_weights(k, a, 5);
	const int32_t *y = a->in[1];
	double *dx = a->out[0],
	       each = gradient_factor(config(k), *(const double *)a->in[3], *(const double *)a->in[4]);
	struct bad_labels bad = { 0 };
	for (int64_t p = 0; p < l->rows * l->w; p++) {
		double f = 0;
		if (labels_valid(l, y[p], p, &bad))
			f = (weights ? weights[y[p]] : 1) * each
			    * focus_slope(config(k)->gamma, lse[p] - x[logit(k, p, y[p])]);
		for (int64_t c = 0; c < l->classes; c++)
			dx[logit(k, p, c)] =
				f == 0 ? 0 : f * (exp(x[logit(k, p, c)] - lse[p]) - (c == y[p]));
	}
	return bad_labels_report(&bad, k, l);
}

/* --- cpu kernels --- */

#define FORK_FLOATS 4096 /* below this a fork costs more than it gains */
#define NARROW      64   /* classes up to which elements are done together */
#define TOGETHER    1024 /* floats, or elements of a gradient */

/* max and log sum exp(x - max) of n elements with few classes. */
SIMD_CLONES static void narrow_sums(const float *x, int64_t n, int64_t c, float *max,
                                    float *log_sum)
{
	float e[TOGETHER];
	for (int64_t p = 0; p < n; p++) {
		float m = x[p * c];
		for (int64_t j = 1; j < c; j++)
			m = x[p * c + j] > m ? x[p * c + j] : m;
		for (int64_t j = 0; j < c; j++)
			e[p * c + j] = x[p * c + j] - m;
		max[p] = m;
	}
#pragma omp simd
	for (int64_t i = 0; i < n * c; i++)
		e[i] = simd_exp(e[i]);
	for (int64_t p = 0; p < n; p++) {
		float s = 0;
		for (int64_t j = 0; j < c; j++)
			s += e[p * c + j];
		log_sum[p] = logf(s);
	}
}

/* The same for one element with many. */
SIMD_CLONES static void wide_sums(const float *x, int64_t c, float *max, float *log_sum)
{
	float m = x[0], s = 0;
	for (int64_t j = 1; j < c; j++)
		m = x[j] > m ? x[j] : m;
#pragma omp simd reduction(+ : s)
	for (int64_t j = 0; j < c; j++)
		s += simd_exp(x[j] - m);
	*max = m;
	*log_sum = logf(s);
}

/* Elements at .. at + n of a row: x at the first, label y[i * step]. */
static void loss_part(const struct labels *l, const struct loss_attr *c, const float *x,
                      const int32_t *y, const float *weights, int64_t at, int64_t n, float *lse,
                      struct part *part)
{
	float max[TOGETHER], log_sum[TOGETHER];
	if (l->classes <= NARROW)
		narrow_sums(x, n, l->classes, max, log_sum);
	else
		wide_sums(x, l->classes, max, log_sum);
	for (int64_t p = 0; p < n; p++) {
		int32_t label = y[p * l->step];
		if (lse)
			lse[p] = max[p] + log_sum[p];
		if (!labels_valid(l, label, at + p, &part->bad))
			continue;
		float w = weights ? weights[label] : 1,
		      e = max[p] - x[p * l->classes + label] + log_sum[p];
		part->loss += (double)(w * e) * focus(c->gamma, (double)e);
		part->weight += share(c, (double)w);
	}
}

static void loss_row(const struct labels *l, const struct loss_attr *c, const float *x,
                     const int32_t *y, const float *weights, int64_t row, float *lse,
                     struct part *part)
{
	int64_t block = l->classes <= NARROW ? TOGETHER / l->classes : 1;
	*part = (struct part){ 0 };
	for (int64_t i = 0; i < l->w; i += block) {
		int64_t n = l->w - i < block ? l->w - i : block, at = row * l->w + i;
		loss_part(l, c, x + at * l->classes, y + labels_row(l, row) + i * l->step, weights,
		          at, n, lse ? lse + at : NULL, part);
	}
}

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	struct part *part = a->ws, sum;
#pragma omp parallel for schedule(static) if (l->rows * l->w * l->classes > FORK_FLOATS)
	for (int64_t r = 0; r < l->rows; r++)
		loss_row(l, config(k), a->in[0], a->in[1], class_weights(k, a, 2), r, a->out[2],
		         &part[r]);
	TRY(join(k, part, &sum));
	*(float *)a->out[0] = (float)sum.loss;
	*(float *)a->out[1] = (float)sum.weight;
	return 0;
}

/* dx = exp(x - lse) for n elements. */
SIMD_CLONES static void softmax(const float *x, const float *lse, int64_t n, int64_t c, float *dx)
{
	for (int64_t p = 0; p < n; p++)
		for (int64_t j = 0; j < c; j++)
			dx[p * c + j] = x[p * c + j] - lse[p];
#pragma omp simd
	for (int64_t i = 0; i < n * c; i++)
		dx[i] = simd_exp(dx[i]);
}

static void scale_element(float f, int64_t c, int64_t label, float *dx)
{
	if (f == 0) {
		memset(dx, 0, sizeof *dx * (size_t)c);
		return;
	}
	for (int64_t j = 0; j < c; j++)
		dx[j] *= f;
	dx[label] -= f;
}

/* What elements at .. at + n of a row are multiplied by. Read before dx, which may be x, is made. */
static void factors(const struct kplan *k, const struct kargs *a, const int32_t *y, float each,
                    int64_t at, int64_t n, float *f, struct bad_labels *bad)
{
	const struct labels *l = k->state;
	const float *x = a->in[0], *lse = a->in[2], *weights = class_weights(k, a, 5);
	double gamma = config(k)->gamma;
	for (int64_t i = 0, p = at; i < n; i++, p++) {
		int32_t label = y[i * l->step];
		f[i] = labels_valid(l, label, p, bad) ? each : 0;
		if (f[i] != 0 && weights)
			f[i] *= weights[label];
		if (f[i] != 0 && gamma != 0)
			f[i] *= (float)focus_slope(gamma, (double)(lse[p] - x[p * l->classes + label]));
	}
}

/* One row of the gradient; each: factor on every element. */
static void grad_row(const struct kplan *k, const struct kargs *a, float each, int64_t row,
                     struct bad_labels *bad)
{
	const struct labels *l = k->state;
	const float *x = a->in[0], *lse = a->in[2];
	float *dx = a->out[0], f[TOGETHER];
	int64_t c = l->classes;
	for (int64_t i = 0; i < l->w; i += TOGETHER) {
		int64_t n = l->w - i < TOGETHER ? l->w - i : TOGETHER, at = row * l->w + i;
		const int32_t *y = (const int32_t *)a->in[1] + labels_row(l, row) + i * l->step;
		factors(k, a, y, each, at, n, f, bad);
		softmax(x + at * c, lse + at, n, c, dx + at * c);
		for (int64_t p = 0; p < n; p++)
			scale_element(f[p], c, y[p * l->step], dx + (at + p) * c);
	}
}

static int cpu_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	float each = (float)gradient_factor(config(k), (double)*(const float *)a->in[3],
	                                    (double)*(const float *)a->in[4]);
	struct part *part = a->ws, sum;
#pragma omp parallel for schedule(static) if (l->rows * l->w * l->classes > FORK_FLOATS)
	for (int64_t r = 0; r < l->rows; r++) {
		part[r] = (struct part){ 0 };
		grad_row(k, a, each, r, &part[r].bad);
	}
	return join(k, part, &sum);
}

/* --- samples --- */

static const char *const samples[] = { "2x4x5x7 2x5x7:labels4; ignore: 255",
	                               "2x3x5x7 2x5x7:labels3 3:positive; ignore: 255",
	                               "2x17x3x4x5 2x3x4x5:index17 17:positive",
	                               "9x5 9:index5",
	                               "3x100 3:index100 -",
	                               "2x5x7 2x7:labels5 5:positive; ignore: 255",
	                               "2x4x33x65 2x33x65:labels4; ignore: 255",
	                               "2x3x5x7 2x5x7:labels3 3:positive; ignore: 255, "
	                               "reduction: mean_pixels, scale: 0.5",
	                               "2x3x5x7 2x5x7:index3 3:positive; reduction: sum, scale: 0.1",
	                               "2x4x5x7 2x5x7:labels4; ignore: 255, gamma: 2",
	                               "3x70 3:index70 70:positive; gamma: 0.5, reduction: sum",
	                               NULL };
static const char *const grad_samples[] = {
	"2x4x5x7 2x5x7:labels4 2x5x7 s:positive s; ignore: 255",
	"2x17x3x4x5 2x3x4x5:index17 2x3x4x5 s:positive s 17:positive",
	"3x100 3:index100 3 s:one s",
	"2x3x4 2x4:index3 2x4 s:zero s",
	"2x4x33x65 2x33x65:labels4 2x33x65 s:positive s 4:positive; ignore: 255",
	"2x3x5x7 2x5x7:labels3 2x5x7 s:positive s 3:positive; ignore: 255, reduction: sum, scale: 0.1",
	"2x3x5x7 2x5x7:index3 2x5x7:positive s:positive s; reduction: mean_pixels, gamma: 1.5",
	NULL
};

/* --- records --- */

static const struct op op_softmax_cross_entropy = {
	.name = "softmax_cross_entropy",
	.doc = "cross-entropy or focal loss of softmax(logits) against labels, weighted by class",
	.min_in = 2, .max_in = 3, .nout = 3,
	.attr_size = sizeof(struct loss_attr), .attrs = fields,
	.nondiff = 6,
	.shape = shape, .grad = grad, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = plan, .run = ref_run },
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = labels_choose, .plan = plan,
		                  .run = cpu_run },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = labels_choose, .plan = loss_cuda_plan, .run = loss_cuda,
		            .free = labels_cuda_free, .bf16_in = 1)
	},
	.samples = samples,
};

static const struct op op_softmax_cross_entropy_grad = {
	.name = "softmax_cross_entropy_grad",
	.doc = "gradient of softmax_cross_entropy from logits, labels, log-sum-exp, weight, dloss",
	.flags = OP_ONCE,
	.min_in = 5, .max_in = 6, .nout = 1,
	.attr_size = sizeof(struct loss_attr), .attrs = fields,
	.nondiff = 2, .inplace = 1,
	.shape = grad_shape, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = plan, .run = ref_grad_run },
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = labels_choose, .plan = plan,
		                  .run = cpu_grad_run },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = labels_choose, .plan = loss_cuda_plan,
		            .run = loss_grad_cuda, .free = labels_cuda_free, .bf16_in = 1, .bf16_out = 1)
	},
	.samples = grad_samples,
};

OPSET(loss, &op_softmax_cross_entropy, &op_softmax_cross_entropy_grad);
