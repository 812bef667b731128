/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The optimizers' updates on the GPU: one launch for hundreds of parameters. Kernels read numbers
 * that change from step to step from device memory. */
#include <math.h>

#include "base/err.h"
#include "op/lib/cuda.h"
#include "op/update/bundle_cuda.h"
#include "op/update/descent.h"
#include "op/update/update.h"

#ifdef HAVE_CUDA

static float each(const struct floats *v, int t, double absent)
{
	return (float)(v->n == 0 ? absent : v->v[v->n == 1 ? 0 : t]);
}

/* The head of the node, and the parameters that all optimizers share. */
static struct k_descent common(const struct kplan *k, const struct kargs *a, int group)
{
	const struct each_attr *at = k->n->attr;
	return (struct k_descent){
		.rate = a->in[DESCENT_RATE], .scale = a->in[DESCENT_SCALE], .apply = a->in[DESCENT_APPLY],
		.trust = a->in[DESCENT_TRUST], .first_group = group, .decoupled = at->decoupled,
		.direction = at->direction,
		.copy_type = at->copy_of.n ? cuda_out_type(k, k->n->nout - 1) : 0 };
}

/* The copy of group t's new weights; a table has room for one copy in each group. */
static void *copy_of(const struct kplan *k, const struct kargs *a, int t)
{
	const struct ints *of = &((const struct each_attr *)k->n->attr)->copy_of;
	for (int i = 0; i < of->n; i++)
		if (of->v[i] == t)
			return a->out[k->n->nout - of->n + i];
	return NULL;
}

/* Checks that all copies have one type, and the layouts of the weights. */
static int check_copies(struct kplan *k, struct bundle_form f)
{
	const int n = f.copy_of.n;
	for (int i = 0; i < n; i++) {
		const struct tensor *copy = graph_t(k->g, k->n->out[bundle_copy_out(k->n, f, i)]);
		const struct tensor *w = graph_t(k->g, k->n->in[f.head + (int)f.copy_of.v[i] * f.in]);
		if ((i && f.copy_of.v[i] == f.copy_of.v[i - 1]) ||
		    !layout_equal(&copy->layout, &w->layout) ||
		    copy->dtype != graph_t(k->g, k->n->out[bundle_copy_out(k->n, f, 0)])->dtype)
			return ERR(E_UNSUPPORTED, &k->n->loc,
			           "'%s' on the GPU copies each weight once, all to one type", k->n->op->name);
	}
	return bundle_cuda_plan(k, f);
}

/* states: inputs that the node updates in place. */
static void fill(const struct kplan *k, const struct kargs *a, struct k_table *table, int row,
                 int t, int states)
{
	const struct each_attr *at = k->n->attr;
	void *const *in = a->in + DESCENT_HEAD + t * (2 + states),
	*const *out = a->out + t * (1 + states);
	table->p[0][row] = out[0];
	for (int i = 0; i < 2; i++)
		table->p[1 + i][row] = in[i];
	for (int i = 0; i < states; i++)
		table->p[3 + i][row] = out[1 + i];
	table->p[5][row] = copy_of(k, a, t);
	table->decay[row] = each(&at->weight_decay, t, 0);
	table->factor[row] = each(&at->rate_factor, t, 1);
}

/* --- sgd --- */

static int sgd_states(const struct kplan *k)
{
	return ((const struct sgd_attr *)k->n->attr)->momentum > 0;
}

static void sgd_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                     int row, int t)
{
	fill(k, a, table, row, t, sgd_states(k));
}

static int sgd_launch(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                      int group, int64_t block)
{
	const struct sgd_attr *at = k->n->attr;
	struct k_descent d = common(k, a, group);
	(void)block;
	d.momentum = (float)at->momentum;
	d.nesterov = at->nesterov;
	d.rate_inside = at->rate_inside;
	return cuda_launched(k, k_descend(cuda_stream(k->dev), sgd_states(k) ? K_SGD_MOMENTUM : K_SGD,
	                                  &d, table));
}

bool sgd_takes_narrow(const struct node *n, int i)
{
	return bundle_is_gradient(n, sgd_form(n), i);
}

int sgd_cuda_plan(struct kplan *k)
{
	return check_copies(k, sgd_form(k->n));
}

int sgd_cuda(const struct kplan *k, const struct kargs *a)
{
	return bundle_cuda_run(k, a, &(struct bundle_launch){ sgd_fill, sgd_launch });
}

/* --- adam --- */

static void adam_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                      int row, int t)
{
	fill(k, a, table, row, t, 2);
}

static int adam_launch(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                       int group, int64_t block)
{
	const struct adam_attr *at = k->n->attr;
	struct k_descent d = common(k, a, group);
	(void)block;
	d.one_less_beta1 = (float)(1 - at->beta1);
	d.beta2 = (float)at->beta2;
	d.one_less_beta2 = (float)(1 - at->beta2);
	d.eps = (float)at->eps;
	d.step = a->in[DESCENT_STEP];
	d.wide = cuda_wide(k, DESCENT_STEP);
	d.log_beta1 = log(at->beta1);        /* log(0) for beta1 = 0 gives no correction, as it
	                                      * should */
	d.log_beta2 = log(at->beta2);
	return cuda_launched(k, k_descend(cuda_stream(k->dev), K_ADAM, &d, table));
}

bool adam_takes_narrow(const struct node *n, int i)
{
	return bundle_is_gradient(n, adam_form(n), i);
}

int adam_cuda_plan(struct kplan *k)
{
	return check_copies(k, adam_form(k->n));
}

int adam_cuda(const struct kplan *k, const struct kargs *a)
{
	return bundle_cuda_run(k, a, &(struct bundle_launch){ adam_fill, adam_launch });
}

/* --- rmsprop --- */

static int rmsprop_states(const struct kplan *k)
{
	return 1 + (((const struct rmsprop_attr *)k->n->attr)->momentum > 0);
}

static void rmsprop_fill(const struct kplan *k, const struct kargs *a, struct k_table *table,
                         int row, int t)
{
	fill(k, a, table, row, t, rmsprop_states(k));
}

static int rmsprop_launch(const struct kplan *k, const struct kargs *a, const struct k_table *table,
                          int group, int64_t block)
{
	const struct rmsprop_attr *at = k->n->attr;
	struct k_descent d = common(k, a, group);
	(void)block;
	d.beta2 = (float)at->alpha;
	d.one_less_beta2 = (float)(1 - at->alpha);
	d.eps = (float)at->eps;
	d.eps_inside = at->eps_inside;
	d.momentum = (float)at->momentum;
	return cuda_launched(k, k_descend(cuda_stream(k->dev), rmsprop_states(k) > 1 ?
	                                  K_RMSPROP_MOMENTUM : K_RMSPROP, &d, table));
}

bool rmsprop_takes_narrow(const struct node *n, int i)
{
	return bundle_is_gradient(n, rmsprop_form(n), i);
}

int rmsprop_cuda_plan(struct kplan *k)
{
	return check_copies(k, rmsprop_form(k->n));
}

int rmsprop_cuda(const struct kplan *k, const struct kargs *a)
{
	return bundle_cuda_run(k, a, &(struct bundle_launch){ rmsprop_fill, rmsprop_launch });
}

#endif
