/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Softmax cross-entropy of logits x (N, C, ...) against labels y (N, ...), weighted by class and,
 * for gamma > 0, by how wrong the network is (focal loss, Lin et al. 2017, arXiv:1708.02002):
 *
 *   loss = scale / W  sum_p w[y_p] (1 - q_p)^gamma e_p
 *   e_p = lse_p - x_p[y_p] = -log q_p,   lse_p = log sum_c exp x_p[c]
 *
 * over the elements p that are not ignored; w is 1 without class weights. With smoothing s the
 * label's own part is 1 - s, and s is spread over all C classes (Szegedy et al. 2016, as PyTorch
 * has it with class weights; gamma is 0): the summand is
 *
 *   (1 - s) w[y_p] e_p + s / C  sum_c w[c] (lse_p - x_p[c])
 *
 * The second output is the weight of the mean, so that the losses of batches can be combined:
 *
 *   reduction    W                    second output
 *   mean         sum_p w[y_p]         W                   as torch.nn.functional.cross_entropy
 *   mean_pixels  how many p           W                   the weights scale the loss
 *   sum          1                    N
 *
 * The third is lse, kept for
 *   dx_p[c] = dloss scale / W  w[y_p] F_p (exp(x_p[c] - lse_p) - [c = y_p]),
 *   F_p = (1 - q_p)^gamma + gamma q_p (1 - q_p)^(gamma - 1) e_p
 * and, with smoothing, 1 - s times that plus
 *   dloss scale / W  s / C (sum_j w[j] exp(x_p[c] - lse_p) - w[c])
 * W depends only on the labels, so one pass over x can compute both loss and gradient:
 * softmax_cross_entropy_with_grad (made by the pass `fuse`). There dloss is the input `scale` or,
 * with a share, the result of mean_seed (mean.c) for W, share and scale.
 *
 * If W is 0 (every element is ignored or has weight 0), loss and gradient are 0, with smoothing,
 * too. A label that is neither a class nor ignored stops the run.
 *
 * CPU: each row of elements is summed in double, and the sums of the rows are added in order. With
 * few classes one loop computes the exponentials of several elements. */
#include "op/loss/loss.h"

#include <math.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/fork.h"
#include "op/loss/labels_cuda.h"
#include "op/loss/loss_row.h"

const char *const loss_reduction_names[] = {
	[LOSS_MEAN] = "mean", [LOSS_MEAN_PIXELS] = "mean_pixels", [LOSS_SUM] = "sum", NULL
};

#define LOSS_FIELDS                                                                            \
	LABELS_IGNORE_FIELD(struct loss_attr),                                                     \
	FIELD_ENUM(struct loss_attr, reduction, "mean", loss_reduction_names,                      \
	           "what the sum is divided by"),                                                  \
	FIELD_FLOAT(struct loss_attr, scale, "1", -1e12, 1e12, "factor on the loss"),              \
	FIELD_FLOAT(struct loss_attr, gamma, "0", 0, 100,                                          \
	            "focal loss: power of 1 - q; 0: cross-entropy"),                                \
	FIELD_FLOAT(struct loss_attr, smoothing, "0", 0, 1,                                        \
	            "share of a label that is spread over all classes")

static const struct field fields[] = { LOSS_FIELDS, FIELD_END };
static const struct field with_grad_fields[] = {
	LOSS_FIELDS,
	FIELD_FLOAT(struct loss_attr, nominal, "1", 1e-30, 1e30, "weight of a batch as planned"),
	FIELD_BOOL(struct loss_attr, sum, "false", "the loss is a sum over the batch"),
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

static int check_logits(struct graph *g, const struct node *n)
{
	const struct loss_attr *c = n->attr;
	if (c->gamma != 0 && c->smoothing != 0)
		return ERR(E_CONFIG, &g->cur_loc, "'%s' has either gamma or smoothing", n->op->name);
	return labels_check(g, n);
}

static int shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 };
	TRY(check_logits(g, n));
	TRY(check_class_weights(g, n, 2));
	struct shape elements = *node_in_shape(g, n, 1);
	TRY(graph_out(g, n, 0, DTYPE_F32, &scalar));
	TRY(graph_out(g, n, 1, DTYPE_F32, &scalar));
	return graph_out(g, n, 2, DTYPE_F32, &elements);
}

static int grad_shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 };
	TRY(check_logits(g, n));
	TRY(check_equal(g, n, 1, 2));
	TRY(check_shape(g, n, 3, &scalar));
	TRY(check_shape(g, n, 4, &scalar));
	TRY(check_class_weights(g, n, 5));
	struct shape x = *node_in_shape(g, n, 0);
	return graph_out(g, n, 0, DTYPE_F32, &x);
}

enum { WITH_SCALE = 2, WITH_SHARE, WITH_WEIGHTS };

static int with_grad_shape(struct graph *g, struct node *n)
{
	struct shape scalar = { 0 };
	TRY(check_logits(g, n));
	for (int i = WITH_SCALE; i < n->nin && i <= WITH_SHARE; i++)
		if (n->in[i] != NONE)
			TRY(check_shape(g, n, i, &scalar));
	TRY(check_class_weights(g, n, WITH_WEIGHTS));
	struct shape x = *node_in_shape(g, n, 0);
	TRY(graph_out(g, n, 0, DTYPE_F32, &scalar));
	TRY(graph_out(g, n, 1, DTYPE_F32, &scalar));
	return graph_out(g, n, 2, DTYPE_F32, &x);
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

static const struct loss_attr *config(const struct kplan *k)
{
	return k->n->attr;
}

static int plan(struct kplan *k)
{
	struct labels *l = k->state = ARENA_NEW(k->arena, struct labels);
	labels_init(l, k, config(k)->ignore);
	k->ws_bytes = sizeof(struct loss_part) * (size_t)l->rows;
	return 0;
}

/* The factor of the gradient of each element. */
static double gradient_factor(const struct loss_attr *c, double weight, double dloss)
{
	if (c->reduction == LOSS_SUM)
		return c->scale * dloss;
	return weight != 0 ? c->scale * dloss / weight : 0;
}

/* Adds the sums of the rows, in order; loss and weight become the two outputs. */
static int join(const struct kplan *k, const struct loss_part *part, struct loss_part *sum)
{
	const struct labels *l = k->state;
	*sum = (struct loss_part){ 0 };
	for (int64_t r = 0; r < l->rows; r++) {
		sum->loss += part[r].loss;
		sum->weight += part[r].weight;
		bad_labels_add(&sum->bad, &part[r].bad);
	}
	if (config(k)->reduction == LOSS_SUM)
		sum->weight = (double)l->shape.d[0];
	else
		sum->loss = sum->weight != 0 ? sum->loss / sum->weight : 0;
	sum->loss *= config(k)->scale;
	return bad_labels_report(&sum->bad, k, l);
}

/* --- reference kernels --- */

/* The row-major index of the logit of class c of element p. */
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

/* s / C  sum_c w[c] (lse - x[c]) */
static double ref_spread(const struct kplan *k, const double *x, int64_t p, double lse,
                         const double *weights)
{
	int64_t classes = ((const struct labels *)k->state)->classes;
	double sum = 0;
	for (int64_t c = 0; c < classes; c++)
		sum += (weights ? weights[c] : 1) * (lse - x[logit(k, p, c)]);
	return config(k)->smoothing / (double)classes * sum;
}

/* Sums of the rows, and log-sum-exp of their elements. */
static void ref_loss(const struct kplan *k, const double *x, const int32_t *y,
                     const double *weights, double *lse, struct loss_part *part)
{
	const struct labels *l = k->state;
	for (int64_t r = 0; r < l->rows; r++) {
		part[r] = (struct loss_part){ 0 };
		for (int64_t p = r * l->w; p < (r + 1) * l->w; p++) {
			double v = ref_log_sum_exp(k, x, p, l->classes);
			if (lse)
				lse[p] = v;
			if (!labels_valid(l, y[p], p, &part[r].bad))
				continue;
			double w = weights ? weights[y[p]] : 1, e = v - x[logit(k, p, y[p])];
			part[r].loss += (1 - config(k)->smoothing) * w * loss_focus(config(k)->gamma, e) * e +
			                ref_spread(k, x, p, v, weights);
			part[r].weight += loss_share(config(k), w);
		}
	}
}

static int ref_run(const struct kplan *k, const struct kargs *a)
{
	struct loss_part *part = a->ws, sum;
	ref_loss(k, a->in[0], a->in[1], kargs_in(k, a, 2), a->out[2], part);
	TRY(join(k, part, &sum));
	*(double *)a->out[0] = sum.loss;
	*(double *)a->out[1] = sum.weight;
	return 0;
}

static int ref_grad(const struct kplan *k, const double *x, const int32_t *y, const double *lse,
                    const double *weights, double each, double *dx)
{
	const struct labels *l = k->state;
	struct bad_labels bad = { 0 };
	double spread = each * config(k)->smoothing / (double)l->classes, all = 0;
	for (int64_t c = 0; c < l->classes; c++)
		all += weights ? weights[c] : 1;
	for (int64_t p = 0; p < l->rows * l->w; p++) {
		bool valid = labels_valid(l, y[p], p, &bad);
		double f = 0, s = valid ? spread : 0;
		if (valid)
			f = (1 - config(k)->smoothing) * (weights ? weights[y[p]] : 1) * each
			    * loss_focus_slope(config(k)->gamma, lse[p] - x[logit(k, p, y[p])]);
		for (int64_t c = 0; c < l->classes; c++) {
			double q = f == 0 && s == 0 ? 0 : exp(x[logit(k, p, c)] - lse[p]);
			dx[logit(k, p, c)] = f == 0 && s == 0 ? 0 : f * (q - (c == y[p])) +
			                     s * (all * q - (weights ? weights[c] : 1));
		}
	}
	return bad_labels_report(&bad, k, l);
}

static int ref_grad_run(const struct kplan *k, const struct kargs *a)
{
	double each = gradient_factor(config(k), *(const double *)a->in[3], *(const double *)a->in[4]);
	return ref_grad(k, a->in[0], a->in[1], a->in[2], kargs_in(k, a, 5), each, a->out[0]);
}

/* The kernel that computes loss and gradient. SEED: computes the same as mean_seed, in the same
 * order of operations. */
#define SEED(name, real)                                                                          \
	static real name(const struct kplan *k, const struct kargs *a, real weight)                   \
	{                                                                                             \
		const real *scale = kargs_in(k, a, WITH_SCALE);                                           \
		const real *mine = kargs_in(k, a, WITH_SHARE);                                            \
		real w = weight / (real)config(k)->nominal, s = scale ? *scale : 1;                       \
		return mine ? *mine * s * (config(k)->sum ? 1 : w) : s;                                   \
	}
SEED(ref_seed, double)
SEED(cpu_seed, float)

/* Workspace: the sums of the rows, then log-sum-exp of all elements. */
static int with_grad_plan(struct kplan *k)
{
	TRY(plan(k));
	const struct labels *l = k->state;
	k->ws_bytes += sizeof(double) * (size_t)(l->rows * l->w);
	return 0;
}

static int ref_with_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	const double *weights = kargs_in(k, a, WITH_WEIGHTS);
	struct loss_part *part = a->ws, sum;
	double *lse = (double *)(part + l->rows);
	ref_loss(k, a->in[0], a->in[1], weights, lse, part);
	TRY(join(k, part, &sum));
	*(double *)a->out[0] = sum.loss;
	*(double *)a->out[1] = sum.weight;
	double each = gradient_factor(config(k), sum.weight, ref_seed(k, a, sum.weight));
	return ref_grad(k, a->in[0], a->in[1], lse, weights, each, a->out[2]);
}

/* --- cpu kernels --- */

static int cpu_run(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	struct loss_part *part = a->ws, sum;
#pragma omp parallel for schedule(static) if (l->rows * l->w * l->classes > FORK_VALUES)
	for (int64_t r = 0; r < l->rows; r++)
		loss_row(l, config(k), a->in[0], a->in[1], kargs_in(k, a, 2), r, a->out[2],
		         &part[r]);
	TRY(join(k, part, &sum));
	*(float *)a->out[0] = (float)sum.loss;
	*(float *)a->out[1] = (float)sum.weight;
	return 0;
}

static int cpu_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	float each = (float)gradient_factor(config(k), (double)*(const float *)a->in[3],
	                                    (double)*(const float *)a->in[4]);
	const struct loss_gradient g = { l, config(k), a->in[0], a->in[2], kargs_in(k, a, 5), a->in[1],
		a->out[0], each };
	struct loss_part *part = a->ws, sum;
#pragma omp parallel for schedule(static) if (l->rows * l->w * l->classes > FORK_VALUES)
	for (int64_t r = 0; r < l->rows; r++) {
		part[r] = (struct loss_part){ 0 };
		loss_grad_row(&g, r, &part[r].bad);
	}
	return join(k, part, &sum);
}

/* Computes W from the labels, in the loss's order of summation. */
static int weigh(const struct kplan *k, const int32_t *y, const float *weights,
                 struct loss_part *part, struct loss_part *sum)
{
	const struct labels *l = k->state;
#pragma omp parallel for schedule(static) if (l->rows * l->w > FORK_VALUES)
	for (int64_t r = 0; r < l->rows; r++) {
		const int32_t *row = y + labels_row(l, r);
		part[r] = (struct loss_part){ 0 };
		for (int64_t p = 0; p < l->w; p++)
			if (labels_valid(l, row[p * l->step], r * l->w + p, &part[r].bad))
				part[r].weight += loss_share(config(k),
				                             weights ? (double)weights[row[p * l->step]] : 1);
	}
	return join(k, part, sum);
}

static int cpu_with_grad_run(const struct kplan *k, const struct kargs *a)
{
	const struct labels *l = k->state;
	const float *weights = kargs_in(k, a, WITH_WEIGHTS);
	struct loss_part *part = a->ws, sum;
	float *lse = (float *)(part + l->rows);
	TRY(weigh(k, a->in[1], weights, part, &sum));
	const float w = (float)sum.weight;
	float each = (float)gradient_factor(config(k), (double)w, (double)cpu_seed(k, a, w));
	const struct loss_gradient g = { l, config(k), a->in[0], lse, weights, a->in[1],
		a->out[2], each };
#pragma omp parallel for schedule(static) if (l->rows * l->w * l->classes > FORK_VALUES)
	for (int64_t r = 0; r < l->rows; r++) {
		struct bad_labels seen = { 0 };
		loss_row(l, g.c, g.x, g.y, weights, r, lse, &part[r]);
		loss_grad_row(&g, r, &seen);
	}
	TRY(join(k, part, &sum));
	*(float *)a->out[0] = (float)sum.loss;
	*(float *)a->out[1] = w;
	return 0;
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
	                               "2x4x5x7 2x5x7:labels4 4:positive; ignore: 255, smoothing: 0.1",
	                               "3x70 3:index70; smoothing: 0.3, reduction: sum",
	                               NULL };
static const char *const grad_samples[] = {
	"2x4x5x7 2x5x7:labels4 2x5x7 s:positive s; ignore: 255",
	"2x17x3x4x5 2x3x4x5:index17 2x3x4x5 s:positive s 17:positive",
	"3x100 3:index100 3 s:one s",
	"2x3x4 2x4:index3 2x4 s:zero s",
	"2x4x33x65 2x33x65:labels4 2x33x65 s:positive s 4:positive; ignore: 255",
	"2x3x5x7 2x5x7:labels3 2x5x7 s:positive s 3:positive; ignore: 255, reduction: sum, scale: 0.1",
	"2x3x5x7 2x5x7:index3 2x5x7:positive s:positive s; reduction: mean_pixels, gamma: 1.5",
	"2x3x5x7 2x5x7:labels3 2x5x7:positive s:positive s 3:positive; ignore: 255, smoothing: 0.2",
	"3x100 3:index100 3 s:one s; smoothing: 0.1",
	NULL
};

static const char *const with_grad_samples[] = {
	"2x4x5x7 2x5x7:labels4 s; ignore: 255", "2x17x3x4x5 2x3x4x5:index17 s - 17:positive",
	"3x100 3:index100 s:positive s:one; nominal: 3",
	"2x4x33x65 2x33x65:labels4 - s:positive 4:positive; ignore: 255, nominal: 4000",
	"2x3x5x7 2x5x7:labels3 s s 3:positive; ignore: 255, reduction: "
	"mean_pixels, scale: 0.5, nominal: 60",
	"2x3x5x7 2x5x7:index3 - s 3:positive; reduction: sum, scale: 0.1, sum: true, gamma: 2",
	"2x3x5x7 2x5x7:labels3 s - 3:positive; ignore: 255, smoothing: 0.2",
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
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = plan, .run = ref_run),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = labels_choose, .plan = plan,
		                  .run = cpu_run },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = labels_choose, .plan = loss_cuda_plan,
		            .run = loss_cuda,
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
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = plan, .run = ref_grad_run),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = labels_choose, .plan = plan,
		                  .run = cpu_grad_run },
		CUDA_KERNEL(.layouts = KL_CHOOSE, .choose = labels_choose, .plan = loss_cuda_plan,
		            .run = loss_grad_cuda, .free = labels_cuda_free, .bf16_in = 1, .bf16_out = 1)
	},
	.samples = grad_samples,
};

static const struct op op_softmax_cross_entropy_with_grad = {
	.name = "softmax_cross_entropy_with_grad",
	.doc = "softmax_cross_entropy, and its gradient, from logits, labels, "
	       "scale, share and class weights",
	.flags = OP_ONCE,
	.min_in = 2, .max_in = 5, .nout = 3,
	.attr_size = sizeof(struct loss_attr), .attrs = with_grad_fields,
	.nondiff = ~1u,
	.shape = with_grad_shape, .cost = cost,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .plan = with_grad_plan, .run = ref_with_grad_run),
		[BACKEND_CPU] = { .layouts = KL_CHOOSE, .choose = labels_choose, .plan = with_grad_plan,
		                  .run = cpu_with_grad_run },
	},
	.samples = with_grad_samples,
};

OPSET(loss, &op_softmax_cross_entropy, &op_softmax_cross_entropy_grad,
      &op_softmax_cross_entropy_with_grad);
