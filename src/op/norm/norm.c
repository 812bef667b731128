/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Batch normalisation: shape rules and reference loops, which process row-major tensors (N, C,
 * points) channel by channel, in double. */
#include "op/norm/norm.h"

#include <math.h>

#include "base/err.h"
#include "op/lib/check.h"
#include "op/lib/grid.h"

/* --- shape rules --- */

static int input_shape(struct graph *g, struct node *n, int i, bool like)
{
	TRY(like ? check_float(g, n, i) : check_dtype(g, n, i, DTYPE_F32));
	return like ? check_equal(g, n, 0, i) : check_vector(g, n, i, node_in_shape(g, n, 0)->d[1]);
}

int norm_shape(struct graph *g, struct node *n, unsigned like_in, unsigned like_out, int nout)
{
	TRY(check_float(g, n, 0));
	TRY(check_rank(g, n, 0, 2, 5));
	for (int i = 1; i < n->nin; i++)
		if (n->in[i] != NONE)
			TRY(input_shape(g, n, i, like_in >> i & 1));
	struct shape x = *node_in_shape(g, n, 0), c = shape_of(1, &x.d[1]);
	enum dtype t = graph_t(g, n->in[0])->dtype;
	for (int i = 0; i < nout; i++)
		if (like_out >> i & 1)
			TRY(graph_out(g, n, i, t, &x));
		else
			TRY(graph_out(g, n, i, DTYPE_F32, &c));
	return 0;
}

/* The shape of the signs of a tensor of x's shape. */
static int signs_of(struct graph *g, const struct node *n, struct shape *out)
{
	*out = *node_in_shape(g, n, 0);
	if (out->d[1] % 8)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' has signs of channels in eights, not of %lld",
		           n->op->name, (long long)out->d[1]);
	out->d[1] /= 8;
	return 0;
}

int norm_signs_shape(struct graph *g, struct node *n)
{
	struct shape s;
	TRY(signs_of(g, n, &s));
	return graph_out(g, n, n->nout - 1, DTYPE_U8, &s);
}

int norm_signs_check(struct graph *g, const struct node *n, int i)
{
	struct shape s;
	TRY(signs_of(g, n, &s));
	if (i >= n->nin || n->in[i] == NONE)
		return ERR(E_SHAPE, &g->cur_loc, "'%s' has no input %d", n->op->name, i);
	TRY(check_dtype(g, n, i, DTYPE_U8));
	return check_shape(g, n, i, &s);
}

int norm_check_batch(struct graph *g, const struct node *n)
{
	const struct shape *x = node_in_shape(g, n, 0);
	char text[SHAPE_TEXT];
	if (shape_count(x) / x->d[1] >= 2)
		return 0;
	return ERR(E_SHAPE, &g->cur_loc,
	           "layer '%s': '%s' of %s has one value per channel, which has no variance; use a "
	           "larger batch",
	           check_layer(n), n->op->name, shape_text(x, text));
}

/* --- cost --- */

void norm_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 8.0 * (double)shape_count(node_in_shape(g, n, 0));
}

void norm_inference_cost(const struct graph *g, const struct node *n, struct cost *c)
{
	c->flops = 2.0 * (double)shape_count(node_in_shape(g, n, 0));
}

/* --- reference kernels --- */

/* x (N, C, points) in row-major order. */
struct planes {
	int64_t n, c, points;
};

static struct planes planes_of(const struct kplan *k)
{
	struct grid x = grid_of(node_in_shape(k->g, k->n, 0));
	return (struct planes){ x.n, x.c, grid_points(&x) };
}

#define EACH_VALUE(p, c_, i)                                                              \
	for (int64_t n_ = 0; n_ < (p).n; n_++)                                            \
		for (int64_t i = (n_ * (p).c + (c_)) * (p).points, end_ = i + (p).points; \
		     i < end_; i++)

static double activate(struct norm_act f, double z)
{
	return f.on && z < 0 ? f.slope * z : z;
}

/* The index of the byte with the sign of element i, which belongs to channel c. */
static int64_t byte_of(struct planes p, int64_t c, int64_t i)
{
	return (i / (p.c * p.points) * (p.c / 8) + c / 8) * p.points + i % p.points;
}

/* Call it for the channels in ascending order. signs may be NULL. */
static void apply(struct planes p, int64_t c, struct norm_act f, const double *x, double mean,
                  double a, double b, const double *residual, double *y, uint8_t *signs)
{
	EACH_VALUE (p, c, i) {
		y[i] = activate(f, (x[i] - mean) * a + b + (residual ? residual[i] : 0));
		if (signs && c % 8 == 0)
			signs[byte_of(p, c, i)] = 0;
		if (signs)
			signs[byte_of(p, c, i)] |= (uint8_t)((y[i] > 0) << c % 8);
	}
}

/* Output i, or NULL if the op has no such output. */
static void *out_of(const struct kplan *k, const struct kargs *a, int i)
{
	return i < k->n->nout ? a->out[i] : NULL;
}

/* The mean of channel c, and the sum of squared deviations. */
static void moments(struct planes p, int64_t c, const double *x, double *mean, double *m2)
{
	double sum = 0;
	EACH_VALUE (p, c, i)
		sum += x[i];
	*mean = sum / (double)(p.n * p.points);
	*m2 = 0;
	EACH_VALUE (p, c, i)
		*m2 += (x[i] - *mean) * (x[i] - *mean);
}

int norm_sync_forward_reference(const struct kplan *k, const struct kargs *a, double eps,
                                struct norm_act f, const struct norm_sync *sync)
{
	struct planes p = planes_of(k);
	const double *x = a->in[0], *gamma = a->in[1], *beta = a->in[2];
	double *mean = a->out[1], *rstd = a->out[2], *variance = a->out[3], *all = a->ws,
	       own = (double)(p.n * p.points), count = own, m, m2;
	for (int64_t c = 0; c < p.c && sync; c++)
		moments(p, c, x, &all[c], &all[p.c + c]);
	if (sync)
		TRY(norm_sync_moments(sync, p.c, all, &count));
	for (int64_t c = 0; c < p.c; c++) {
		if (sync)
			m = all[c], m2 = all[p.c + c];
		else
			moments(p, c, x, &m, &m2);
		double r = 1 / sqrt(m2 / count + eps);
		apply(p, c, f, x, m, gamma[c] * r, beta[c], kargs_in(k, a, 3), a->out[0],
		      out_of(k, a, 4));
		if (mean)
			mean[c] = m;
		if (rstd)
			rstd[c] = r;
		if (variance)
			variance[c] = m2 / count * norm_sync_correction(count, own);
	}
	return 0;
}

int norm_statistics_reference(const struct kplan *k, const struct kargs *a, double eps)
{
	struct planes p = planes_of(k);
	double *mean = a->out[0], *rstd = a->out[1], *variance = a->out[2], m2;
	for (int64_t c = 0; c < p.c; c++) {
		moments(p, c, a->in[0], &mean[c], &m2);
		m2 /= (double)(p.n * p.points);
		rstd[c] = 1 / sqrt(m2 + eps);
		if (variance)
			variance[c] = m2;
	}
	return 0;
}

int norm_inference_reference(const struct kplan *k, const struct kargs *a, double eps,
                             struct norm_act f)
{
	struct planes p = planes_of(k);
	const double *gamma = a->in[1], *beta = a->in[2], *mean = a->in[3], *spread = a->in[4];
	for (int64_t c = 0; c < p.c; c++) {
		double r = eps == NORM_AGAIN ? spread[c] : 1 / sqrt(spread[c] + eps);
		apply(p, c, f, a->in[0], mean[c], gamma[c] * r, beta[c], kargs_in(k, a, 5), a->out[0],
		      out_of(k, a, 1));
	}
	return 0;
}

/* The tensors of the gradient kernel, at one channel. */
struct channel {
	const double *x, *dy, *second, *y;
	const uint8_t *signs;
	double mean, rstd, gamma, beta;
	struct norm_act f;
	struct planes p;
	int64_t c;
};

static bool is_above(const struct channel *c, int64_t i)
{
	if (c->signs)
		return c->signs[byte_of(c->p, c->c, i)] >> c->c % 8 & 1;
	return (c->y ? c->y[i] : (c->x[i] - c->mean) * c->rstd * c->gamma + c->beta) > 0;
}

/* The gradient of z at element i. */
static double masked(const struct channel *c, int64_t i)
{
	double dz = c->dy[i] + (c->second ? c->second[i] : 0);
	return c->f.on && !is_above(c, i) ? (c->f.slope != 0 ? c->f.slope * dz : 0) : dz;
}

static void gradient_sums(struct planes p, int64_t c, const struct channel *ch, double *db,
                          double *dg)
{
	*db = *dg = 0;
	EACH_VALUE (p, c, i) {
		*db += masked(ch, i);
		*dg += masked(ch, i) * (ch->x[i] - ch->mean) * ch->rstd;
	}
}

/* db and dg: the sums divided by n. dz may be NULL. */
static void input_gradient(struct planes p, int64_t c, const struct channel *ch, double db,
                           double dg, const double *addend, double *dx, double *dz)
{
	EACH_VALUE (p, c, i) {
		double xhat = (ch->x[i] - ch->mean) * ch->rstd, d = masked(ch, i);
		dx[i] = ch->gamma * ch->rstd * (d - db - xhat * dg) + (addend ? addend[i] : 0);
		if (dz)
			dz[i] = d;
	}
}

static struct channel channel_of(const struct kplan *k, const struct kargs *a,
                                 const struct norm_grad *g, int64_t c)
{
	const double *gamma = a->in[g->gamma], *beta = kargs_in(k, a, g->beta),
		     *mean = a->in[g->mean], *rstd = a->in[g->rstd];
	const void *y = kargs_in(k, a, g->y);
	return (struct channel){ a->in[g->x], a->in[g->dy], kargs_in(k, a, g->second),
		g->signs ? NULL : y, g->signs ? y : NULL, mean[c], rstd[c], gamma[c],
		beta ? beta[c] : 0, g->f, planes_of(k), c };
}

int norm_sync_grad_reference(const struct kplan *k, const struct kargs *a,
                             const struct norm_grad *g, const struct norm_sync *sync)
{
	struct planes p = planes_of(k);
	double *dx = a->out[0], *dgamma = a->out[1], *dbeta = a->out[2], *all = a->ws,
	       *dz = g->masked < 0 ? NULL : a->out[g->masked], count = (double)(p.n * p.points);
	for (int64_t c = 0; c < p.c && sync; c++) {
		struct channel ch = channel_of(k, a, g, c);
		gradient_sums(p, c, &ch, &all[c], &all[p.c + c]);
		dbeta[c] = all[c];
		dgamma[c] = all[p.c + c];
	}
	if (sync)
		TRY(norm_sync_sums(sync, p.c, all, &count));
	for (int64_t c = 0; c < p.c; c++) {
		struct channel ch = channel_of(k, a, g, c);
		if (!sync)
			gradient_sums(p, c, &ch, &dbeta[c], &dgamma[c]);
		double db = sync ? all[c] : dbeta[c], dg = sync ? all[p.c + c] : dgamma[c];
		input_gradient(p, c, &ch, db / count, dg / count, kargs_in(k, a, g->addend), dx, dz);
	}
	return 0;
}

int norm_grad_given_reference(const struct kplan *k, const struct kargs *a,
                              const struct norm_grad *g)
{
	struct planes p = planes_of(k);
	double *dgamma = a->out[1], *dbeta = a->out[2], *k1 = a->out[3], *k2 = a->out[4],
	       count = (double)(p.n * p.points);
	for (int64_t c = 0; c < p.c; c++) {
		struct channel ch = channel_of(k, a, g, c);
		gradient_sums(p, c, &ch, &dbeta[c], &dgamma[c]);
		input_gradient(p, c, &ch, 0, 0, kargs_in(k, a, g->addend), a->out[0], NULL);
		k1[c] = ch.gamma * ch.rstd * dbeta[c] / count;
		k2[c] = ch.gamma * ch.rstd * ch.rstd * dgamma[c] / count;
	}
	return 0;
}

int norm_grad_through_reference(const struct kplan *k, const struct kargs *a, const int64_t *begin)
{
	struct planes p = planes_of(k);
	const double *x = a->in[0], *open = a->in[1], *mean = a->in[2];
	double *dx = a->out[0];
	for (int64_t c = 0; c < p.c; c++) {
		double k1 = 0, k2 = 0;
		for (int i = 3; i < k->n->nin; i += 2) {
			k1 += ((const double *)a->in[i])[begin[(i - 3) / 2] + c];
			k2 += ((const double *)a->in[i + 1])[begin[(i - 3) / 2] + c];
		}
		EACH_VALUE (p, c, i)
			dx[i] = open[i] - ((x[i] - mean[c]) * k2 + k1);
	}
	return 0;
}
