/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Group normalisation (arXiv:1803.08494) of x (N, C, ...), with instance and layer norm:
 *   y = gamma * (x - mean) * rstd + beta,   rstd = 1 / sqrt(variance + eps)
 * with the mean and the biased variance over a set of values of one sample: the points of C/groups
 * adjacent channels (groups C: instance norm), or with by_point the channels of one point (layer
 * norm over channels). gamma and beta, a number for each channel, may be absent. With xhat = (x -
 * mean) * rstd, m values in a set and sums over it, the gradients are
 *   dbeta = sum over all samples and points dy,   dgamma = the same of dy xhat,
 *   dx = rstd (gamma dy - sum (gamma dy) / m - xhat sum (gamma dy xhat) / m).
 * Statistics never combine samples, so training and evaluation are the same, on any number of
 * ranks. If the points of a sample are divided among ranks (group), the ranks combine the moments
 * of their parts. */
#include "op/norm/group_norm.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/grid.h"
#include "op/lib/reads.h"

static const struct field fields[] = {
	FIELD_INT(struct group_norm, groups, "1", 1, 1 << 20, "groups of neighbouring channels"),
	FIELD_BOOL(struct group_norm, by_point, "false",
	           "each point is normalised over its channels; groups is 1"),
	FIELD_FLOAT(struct group_norm, eps, "1e-5", 1e-12, 1, "added to the variance"),
	FIELD_INT(struct group_norm, group, "-1", -1, INT32_MAX,
	          "group of the statistics' reducer; -1: alone"),
	FIELD_END
};

/* --- shape --- */

static const struct group_norm *attr_of(const struct node *n)
{
	return n->attr;
}

/* The shape of the statistics: (N, sets of a sample). */
static struct shape statistics_shape(const struct group_norm *at, const struct shape *x)
{
	int64_t points = shape_count(x) / (x->d[0] * x->d[1]);
	return shape_of(2, (int64_t[]){ x->d[0], at->by_point ? points : at->groups });
}

static int check_sets(struct graph *g, const struct node *n)
{
	const struct group_norm *at = attr_of(n);
	char text[SHAPE_TEXT];
	TRY(check_float(g, n, 0));
	TRY(check_rank(g, n, 0, 2, 5));
	const struct shape *x = node_in_shape(g, n, 0), s = statistics_shape(at, x);
	if (x->d[1] % at->groups || (at->by_point && at->groups != 1))
		return ERR(E_SHAPE, &g->cur_loc, "layer '%s': %lld groups do not divide %lld channels",
		           check_layer(n), (long long)at->groups, (long long)x->d[1]);
	if (at->group < 0 && shape_count(x) / shape_count(&s) < 2)
		return ERR(E_SHAPE, &g->cur_loc,
		           "layer '%s': of %s each %s has one value, which has no variance", check_layer(n),
		           shape_text(x, text), at->by_point ? "point" : "group");
	return 0;
}

static int check_vectors(struct graph *g, const struct node *n, int first)
{
	for (int i = first; i < n->nin; i++)
		if (n->in[i] != NONE) {
			TRY(check_dtype(g, n, i, DTYPE_F32));
			TRY(check_vector(g, n, i, node_in_shape(g, n, 0)->d[1]));
		}
	return 0;
}

static int shape(struct graph *g, struct node *n)
{
	TRY(check_sets(g, n));
	TRY(check_vectors(g, n, GROUP_NORM_GAMMA));
	struct shape x = *node_in_shape(g, n, 0), s = statistics_shape(attr_of(n), &x);
	TRY(graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &x));
	TRY(graph_out(g, n, 1, DTYPE_F32, &s));
	return graph_out(g, n, 2, DTYPE_F32, &s);
}

static int grad_shape(struct graph *g, struct node *n)
{
	TRY(check_sets(g, n));
	TRY(check_float(g, n, 1));
	TRY(check_equal(g, n, 0, 1));
	struct shape x = *node_in_shape(g, n, 0), s = statistics_shape(attr_of(n), &x),
				 c = shape_of(1, &x.d[1]);
	for (int i = 2; i < GROUP_NORM_GRAD_GAMMA; i++) {
		TRY(check_dtype(g, n, i, DTYPE_F32));
		TRY(check_shape(g, n, i, &s));
	}
	TRY(check_vectors(g, n, GROUP_NORM_GRAD_GAMMA));
	TRY(graph_out(g, n, 0, graph_t(g, n->in[0])->dtype, &x));
	TRY(graph_out(g, n, 1, DTYPE_F32, &c));
	return graph_out(g, n, 2, DTYPE_F32, &c);
}

/* --- what an output reads --- */

static bool reads(const struct graph *g, const struct node *n, int i, int axis, int64_t *lo,
                  int64_t *hi)
{
	return ((const struct group_norm *)n->attr)->by_point && reads_point(g, n, i, axis, lo, hi);
}

/* --- grad --- */

static int grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	if (dy[1] != NONE || dy[2] != NONE)
		return ERR(E_UNSUPPORTED, &n->loc,
		           "layer '%s': the statistics of '%s' have no gradient rule", check_layer(n),
		           n->op->name);
	if (dy[0] == NONE)
		return 0;
	bool scaled = n->nin > GROUP_NORM_GAMMA && n->in[GROUP_NORM_GAMMA] != NONE;
	tid in[] = { n->in[0], dy[0], n->out[1], n->out[2], scaled ? n->in[GROUP_NORM_GAMMA] : NONE };
	tid out[3];
	TRY(graph_emit(g, "group_norm_grad", n->attr, scaled ? 5 : 4, in, 3, out));
	for (int i = 0; i < n->nin; i++)
		dx[i] = n->in[i] == NONE ? NONE : out[i];
	return 0;
}

/* --- cost --- */

static void cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 8.0 * (double)shape_count(node_in_shape(g, n, 0));
}

/* --- reference kernels: row-major, set by set --- */

struct norm_sets norm_sets_of(const struct kplan *k)
{
	const struct group_norm *at = attr_of(k->n);
	struct grid x = grid_of(node_in_shape(k->g, k->n, 0));
	int64_t points = grid_points(&x);
	if (at->by_point)
		return (struct norm_sets){ x.n * points, 1, x.c, 1, x.c };
	return (struct norm_sets){ x.n, points, x.c, at->groups, x.c / at->groups };
}

/* The sets of row-major tensors, with `count` values each. */
struct walk {
	int64_t c, points, groups, sets, count;
	bool by_point;
};

static struct walk walk_of(const struct kplan *k)
{
	const struct group_norm *at = attr_of(k->n);
	struct grid x = grid_of(node_in_shape(k->g, k->n, 0));
	int64_t points = grid_points(&x), sets = x.n * (at->by_point ? points : at->groups);
	return (struct walk){ x.c, points, at->groups, sets, x.n * x.c * points / sets, at->by_point };
}

/* The index of value i of a set, and its channel. */
static int64_t place(const struct walk *w, int64_t set, int64_t i, int64_t *c)
{
	if (w->by_point) {
		*c = i;
		return (set / w->points * w->c + i) * w->points + set % w->points;
	}
	*c = set % w->groups * (w->c / w->groups) + i / w->points;
	return set * w->count + i;
}

int group_norm_moments(const struct kplan *k, const struct kargs *a, double *v, double *m)
{
	const struct norm_sync t = norm_sync_of(a, attr_of(k->n)->group);
	const struct norm_sets s = norm_sets_of(k);
	return norm_sync_moments(&t, s.samples * s.across, v, m);
}

int group_norm_sums(const struct kplan *k, const struct kargs *a, double *v, double *m)
{
	const struct norm_sync t = norm_sync_of(a, attr_of(k->n)->group);
	const struct norm_sets s = norm_sets_of(k);
	return norm_sync_sums(&t, s.samples * s.across, v, m);
}

/* Workspace: two doubles for each set. */
static int reference_plan(struct kplan *k)
{
	const struct norm_sets s = norm_sets_of(k);
	k->ws_bytes = 2 * sizeof(double) * (size_t)(s.samples * s.across);
	return 0;
}

static double entry(const double *v, int64_t c, double absent)
{
	return v ? v[c] : absent;
}

static int reference(const struct kplan *k, const struct kargs *a)
{
	const struct walk w = walk_of(k);
	const double *x = a->in[0], *gamma = kargs_in(k, a, GROUP_NORM_GAMMA),
				 *beta = kargs_in(k, a, GROUP_NORM_BETA);
	double *y = a->out[0], *means = a->out[1], *rstds = a->out[2], *v = a->ws;
	double count = (double)w.count;
	int64_t c;
	for (int64_t s = 0; s < w.sets; s++) {
		v[s] = v[w.sets + s] = 0;
		for (int64_t i = 0; i < w.count; i++)
			v[s] += x[place(&w, s, i, &c)] / (double)w.count;
		for (int64_t i = 0; i < w.count; i++)
			v[w.sets + s] += pow(x[place(&w, s, i, &c)] - v[s], 2);
	}
	TRY(group_norm_moments(k, a, v, &count));
	for (int64_t s = 0; s < w.sets; s++) {
		const double mean = v[s], rstd = 1 / sqrt(v[w.sets + s] / count + attr_of(k->n)->eps);
		for (int64_t i = 0; i < w.count; i++) {
			int64_t at = place(&w, s, i, &c);
			y[at] = (x[at] - mean) * rstd * entry(gamma, c, 1) + entry(beta, c, 0);
		}
		if (means)
			means[s] = mean;
		if (rstds)
			rstds[s] = rstd;
	}
	return 0;
}

/* Adds the set's contribution to dgamma and dbeta; s1, s2: the sums of gamma dy and gamma dy
 * xhat. */
static void reference_sums(const struct kargs *a, const struct walk *w, int64_t s,
                           const double *gamma, double *s1, double *s2)
{
	const double *x = a->in[0], *dy = a->in[1], *mean = a->in[2], *rstd = a->in[3];
	double *dgamma = a->out[1], *dbeta = a->out[2];
	*s1 = *s2 = 0;
	for (int64_t i = 0; i < w->count; i++) {
		int64_t c, at = place(w, s, i, &c);
		double xhat = (x[at] - mean[s]) * rstd[s], d = entry(gamma, c, 1) * dy[at];
		*s1 += d;
		*s2 += d * xhat;
		if (dgamma)
			dgamma[c] += dy[at] * xhat;
		if (dbeta)
			dbeta[c] += dy[at];
	}
}

static int grad_reference(const struct kplan *k, const struct kargs *a)
{
	const struct walk w = walk_of(k);
	const double *x = a->in[0], *dy = a->in[1], *mean = a->in[2], *rstd = a->in[3],
				 *gamma = kargs_in(k, a, GROUP_NORM_GRAD_GAMMA);
	double *dx = a->out[0], *v = a->ws, count = (double)w.count;
	for (int i = 1; i < 3; i++)
		if (a->out[i])
			memset(a->out[i], 0, sizeof(double) * (size_t)w.c);
	for (int64_t s = 0; s < w.sets; s++)
		reference_sums(a, &w, s, gamma, &v[s], &v[w.sets + s]);
	TRY(group_norm_sums(k, a, v, &count));
	for (int64_t s = 0; s < w.sets; s++) {
		const double s1 = v[s] / count, s2 = v[w.sets + s] / count;
		for (int64_t i = 0; i < w.count; i++) {
			int64_t c, at = place(&w, s, i, &c);
			double xhat = (x[at] - mean[s]) * rstd[s];
			dx[at] = rstd[s] * (entry(gamma, c, 1) * dy[at] - s1 - xhat * s2);
		}
	}
	return 0;
}

/* --- cuda kernels --- */

#ifdef HAVE_CUDA

#include "cuda/group_norm.h"

static struct k_group_norm cuda_of(const struct kplan *k)
{
	const struct norm_sets s = norm_sets_of(k);
	return (struct k_group_norm){ s.samples, s.rows, s.c, s.across, s.width, cuda_in_type(k, 0),
		                          attr_of(k->n)->eps };
}

/* Without a reducer the message of a node with a group begins the workspace. */
static size_t message_bytes(const struct kplan *k)
{
	const struct norm_sets s = norm_sets_of(k);
	return sizeof(double) * (size_t)norm_sync_message(s.samples * s.across);
}

static int cuda_plan(struct kplan *k)
{
	const struct norm_sets s = norm_sets_of(k);
	if (s.samples * s.across > INT32_MAX)
		return ERR(E_UNSUPPORTED, &k->n->loc,
		           "layer '%s': '%s' on the GPU takes 2^31 - 1 sets of values, but has %lld",
		           check_layer(k->n), k->n->op->name, (long long)(s.samples * s.across));
	if (attr_of(k->n)->group >= 0)
		k->ws_bytes = message_bytes(k);
	return 0;
}

static int cuda_grad_plan(struct kplan *k)
{
	const struct norm_sets s = norm_sets_of(k);
	TRY(cuda_plan(k));
	k->ws_bytes += (size_t)k_group_norm_workspace(s.samples * s.rows, s.c);
	return 0;
}

static int cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_group_norm n = cuda_of(k);
	const struct norm_sync t = norm_sync_of(a, attr_of(k->n)->group);
	const float *gamma = kargs_in(k, a, GROUP_NORM_GAMMA), *beta = kargs_in(k, a, GROUP_NORM_BETA);
	void *stream = cuda_stream(k->dev);
	if (t.group < 0)
		return cuda_launched(k, k_group_norm_forward(stream, &n, a->in[0], gamma, beta, a->out[0],
		                                             a->out[1], a->out[2]));
	double *message = norm_sync_memory(&t, a->ws);
	TRY(cuda_launched(k, k_group_norm_forward_give(stream, &n, a->in[0], message)));
	TRY(norm_sync_meet(&t));
	return cuda_launched(k, k_group_norm_forward_take(stream, &n, a->in[0], gamma, beta, message,
	                                                  a->out[0], a->out[1], a->out[2]));
}

static int grad_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct k_group_norm n = cuda_of(k);
	const struct norm_sync t = norm_sync_of(a, attr_of(k->n)->group);
	const struct k_group_norm_in in = { a->in[0], a->in[1], a->in[2], a->in[3],
		kargs_in(k, a, GROUP_NORM_GRAD_GAMMA) };
	void *stream = cuda_stream(k->dev);
	if (t.group < 0)
		return cuda_launched(k, k_group_norm_backward(stream, &n, &in, a->out[0], a->out[1],
		                                              a->out[2], a->ws));
	double *message = norm_sync_memory(&t, a->ws);
	TRY(cuda_launched(k, k_group_norm_backward_give(stream, &n, &in, message, a->out[1], a->out[2],
	                                                (char *)a->ws + message_bytes(k))));
	TRY(norm_sync_meet(&t));
	return cuda_launched(k, k_group_norm_backward_take(stream, &n, &in, message, a->out[0]));
}
#endif

/* --- samples --- */

static const char *const samples[] = { "2x6x5x7 6 6; groups: 3",
	                                   "3x17x3x5 17 17; groups: 17, eps: 0.001",
	                                   "2x48x21x23 48 48; groups: 4",
	                                   "1x8x4x3x5 8 8",
	                                   "5x12 12 12; groups: 4",
	                                   "2x4x37; groups: 4",
	                                   "2x5x4x3",
	                                   "2x7x3x5 7 7; by_point: true",
	                                   "9x33 33 33; by_point: true",
	                                   "2x64x9x11 64 64; by_point: true",
	                                   "1x6x3x2x4; by_point: true, eps: 0.01",
	                                   "2x6x5x7 6 6; groups: 3, group: 0",
	                                   "1x8x4x3x5; groups: 8, group: 1",
	                                   "2x48x21x23 48 48; groups: 4, eps: 0.001, group: 0",
	                                   NULL };
static const char *const grad_samples[] = {
	"2x6x5x7 2x6x5x7 2x3 2x3:positive 6; groups: 3",
	"2x17x3x5 2x17x3x5 2x17 2x17:positive 17; groups: 17",
	"2x48x21x23 2x48x21x23 2x4 2x4:positive 48; groups: 4",
	"1x8x4x3x5 1x8x4x3x5 1x1 1x1:positive",
	"5x12 5x12 5x4 5x4:positive 12; groups: 4",
	"2x7x3x5 2x7x3x5 2x15 2x15:positive 7; by_point: true",
	"9x33 9x33 9x1 9x1:positive; by_point: true",
	"2x64x9x11 2x64x9x11 2x99 2x99:positive 64; by_point: true",
	"2x6x5x7 2x6x5x7 2x3 2x3:positive 6; groups: 3, group: 0",
	"1x8x4x3x5 1x8x4x3x5 1x1 1x1:positive; group: 1",
	"2x48x21x23 2x48x21x23 2x4 2x4:positive 48; groups: 4, group: 0",
	NULL
};

/* --- records --- */

static const struct op op_group_norm = {
	.name = "group_norm",
	.doc = "normalises groups of channels of a sample, or its points, and gives the statistics",
	.flags = OP_MEET,
	.min_in = 1, .max_in = 3, .nout = 3,
	.attr_size = sizeof(struct group_norm), .attrs = fields,
	.inplace = 1,
	.shape = shape, .grad = grad, .reads = reads, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = reference_plan, .run = reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = group_norm_plan, .run = group_norm_cpu },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_plan, .run = cuda,
		            .bf16_in = 1, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = samples,
};

static const struct op op_group_norm_grad = {
	.name = "group_norm_grad",
	.doc = "gradients of group_norm for x, gamma and beta from x, dy, "
	       "mean, 1 / deviation and gamma",
	.flags = OP_ONCE | OP_MEET,
	.min_in = 4, .max_in = 5, .nout = 3,
	.attr_size = sizeof(struct group_norm), .attrs = fields,
	.inplace = 3,
	.shape = grad_shape, .cost = cost,
	.kernel = {
		[BACKEND_REFERENCE] = { .layouts = KL_PLAIN, .plan = reference_plan,
		                        .run = grad_reference },
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .plan = group_norm_grad_plan,
		                  .run = group_norm_grad_cpu },
		CUDA_KERNEL(.layouts = KL_NATIVE, .plan = cuda_grad_plan, .run = grad_cuda,
		            .bf16_in = 3, .bf16_out = 1, .bf16 = KB_ALIKE)
	},
	.samples = grad_samples,
};

OPSET(group_norm, &op_group_norm, &op_group_norm_grad);
