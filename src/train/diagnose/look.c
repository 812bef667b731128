/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A node runs to its end before its outputs are read. NaNs in a target that the loss ignores
 * (`mask: nan`), and in tensors computed from the target only, are not reported. A rank continues
 * after a finding, since the others wait for its sums. */
#include "train/diagnose/look.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data/transform.h"

void look_begin(struct look *k, const struct session *s)
{
	*k = (struct look){ .s = s, .found.node = NONE };
}

void look_end(struct look *k)
{
	mem_free(k->from_target);
	mem_free(k->before.v);
	k->from_target = NULL;
	k->before.v = NULL;
}

static bool is_target(const struct plan *p, tid t)
{
	return t == plan_in(p, "target") || t == plan_in(p, "mixup_target");
}

/* Whether something of the target, and nothing of the network or the batch's input, is in n. */
static bool of_target_alone(const struct look *k, const struct node *n)
{
	const struct graph *g = k->plan->g;
	bool any = false;
	for (int i = 0; i < n->nin; i++) {
		if (n->in[i] == NONE || graph_t(g, n->in[i])->role == ROLE_CONSTANT)
			continue;
		if (!k->from_target[n->in[i]])
			return false;
		any = true;
	}
	return any;
}

/* The loss does not count elements of the target that are NaN. */
static bool gaps_wanted(const struct look *k)
{
	double value;
	return loss_mask(&k->s->config->loss, &value) && isnan(value);
}

static void mark_target(struct look *k)
{
	const struct graph *g = k->plan->g;
	mem_free(k->from_target);
	k->from_target = mem_calloc((size_t)g->ntensor, sizeof *k->from_target);
	if (!gaps_wanted(k))
		return;
	for (tid t = 0; t < g->ntensor; t++)
		k->from_target[t] = is_target(k->plan, t);
	for (int i = 0; i < g->nnode; i++)
		for (int j = 0; of_target_alone(k, g->node[i]) && j < g->node[i]->nout; j++)
			if (g->node[i]->out[j] != NONE)
				k->from_target[g->node[i]->out[j]] = true;
}

void look_batch(struct look *k, const struct plan *p, const struct batch *b, int64_t micro)
{
	const struct plan *before = k->plan;
	k->plan = p;
	k->batch = b;
	k->micro = micro;
	if (p != before)
		mark_target(k);
}

/* --- one tensor --- */

/* Whether the first axis is that of the batch's samples. */
static bool by_sample(const struct look *k, tid t)
{
	const struct graph *g = k->plan->g;
	const struct tensor *x = graph_t(g, t), *root = graph_t(g, graph_root(g, t));
	return k->s->train_set && x->shape.nd > 1 && x->shape.d[0] == k->batch->n &&
	       x->grad_of == NONE &&
	       (root->role == ROLE_ACTIVATION || root->role == ROLE_INPUT);
}

static void add_sample(const struct look *k, struct finding *f, int64_t i)
{
	const struct loader_sample from = loader_sample(k->s->train, k->batch->first + i);
	const char *key = dataset_key(k->s->train_set, from.index);
	f->samples++;
	if (f->nsample == FINDING_SAMPLES)
		return;
	struct finding_sample *s = &f->sample[f->nsample++];
	*s = (struct finding_sample){ from.index, from.window, from.partner, "" };
	snprintf(s->key, sizeof s->key, "%s", key ? key : "");
}

/* Fills in what is to be said of t's values, if one is not finite. */
static bool scan(const struct look *k, tid t, const double *v, struct finding *f)
{
	const struct shape *s = &graph_t(k->plan->g, t)->shape;
	const int64_t n = shape_count(s), each = s->nd ? n / (s->d[0] ? s->d[0] : 1) : 1;
	int64_t last = -1;
	f->attributed = by_sample(k, t);
	for (int64_t i = 0; i < n; i++) {
		if (isfinite(v[i]) || (isnan(v[i]) && k->from_target[t]))
			continue;
		f->count++;
		if (f->nvalue < FINDING_VALUES) {
			f->value[f->nvalue].at = i;
			f->value[f->nvalue++].v = v[i];
		}
		if (f->attributed && i / each != last)
			add_sample(k, f, last = i / each);
	}
	f->shape = *s;
	for (int64_t i = 0; k->s->train_set && f->count && !f->attributed && i < k->batch->n; i++)
		add_sample(k, f, i);
	return f->count > 0;
}

static bool readable(const struct look *k, tid t)
{
	return dtype_is_float(graph_t(k->plan->g, t)->dtype) && exec_pointer(k->plan->exec, t);
}

/* Whether t has values that are not finite. One that cannot be read is passed over: the run
 * itself shows that a device fails. */
static bool look_at(const struct look *k, tid t, struct finding *f)
{
	const struct tensor *x = graph_t(k->plan->g, t);
	if (!readable(k, t))
		return false;
	double *v = mem_alloc((size_t)shape_count(&x->shape) * sizeof *v);
	const int mark = err_count();
	bool found = exec_read(k->plan->exec, t, DTYPE_F64, v) == 0 && scan(k, t, v, f);
	err_truncate(mark);
	mem_free(v);
	return found;
}

/* --- one node --- */

static void describe(const struct look *k, const struct node *n, struct finding *f)
{
	f->node = n->id;
	f->micro = k->micro;
	f->phase = n->phase;
	snprintf(f->op, sizeof f->op, "%s", n->op->name);
	snprintf(f->layer, sizeof f->layer, "%s", n->name ? n->name : "");
	if (n->loc.file)
		snprintf(f->place, sizeof f->place, "%s:%d:%d", n->loc.file, n->loc.line, n->loc.col);
	if (!comm_many(k->s->comm))
		return;
	f->rank = k->s->comm->rank;
	snprintf(f->host, sizeof f->host, "%s", k->s->comm->host_name);
}

static bool written(const struct graph *g, const struct node *n, tid t)
{
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE && graph_root(g, n->out[i]) == graph_root(g, t))
			return true;
	return false;
}

/* Whether the batch travels as 16 bits of what were float32. */
static bool is_rounded(const struct look *k)
{
	const struct transform_rest *rest = k->s->data.rest[PLAN_TRAIN];
	return rest && !rest->values && dtype_is_16bit(rest->input);
}

/* What n reads that no node of the step has made: the batch, params and states. */
static bool came_in(struct look *k, const struct node *n, struct finding *f)
{
	const struct graph *g = k->plan->g;
	for (int i = 0; i < n->nin; i++) {
		if (n->in[i] == NONE || written(g, n, n->in[i]))
			continue;
		const struct tensor *x = graph_t(g, n->in[i]);
		if (x->role != ROLE_INPUT && x->role != ROLE_PARAM && x->role != ROLE_STATE)
			continue;
		struct finding mine = { 0 };
		if (!look_at(k, n->in[i], &mine))
			continue;
		*f = mine;
		f->of = x->role == ROLE_INPUT ? FOUND_DATA : FOUND_STORED;
		snprintf(f->tensor, sizeof f->tensor, "%s", x->name);
		if (x->id == plan_in(k->plan, "input") && is_rounded(k))
			snprintf(f->rounded, sizeof f->rounded, "%s", dtype_name(x->dtype));
		return true;
	}
	return false;
}

/* Whether n has written where t was: an output took its place over. */
static bool replaced(const struct look *k, const struct node *n, tid t)
{
	for (int i = 0; i < n->nout; i++)
		if (n->out[i] != NONE &&
		    exec_pointer(k->plan->exec, n->out[i]) == exec_pointer(k->plan->exec, t))
			return true;
	return false;
}

static void measure_input(const struct look *k, tid t, struct finding *f)
{
	const struct shape *s = &graph_t(k->plan->g, t)->shape;
	const int64_t n = shape_count(s);
	double *v = mem_alloc((size_t)n * sizeof *v);
	int64_t at = -1;
	const int mark = err_count();
	const bool read = exec_read(k->plan->exec, t, DTYPE_F64, v) == 0;
	for (int64_t i = 0; read && i < n; i++)
		if (fabs(v[i]) > f->largest) {
			f->largest = fabs(v[i]);
			at = i;
		}
	if (at >= 0)
		f->largest_sample = !by_sample(k, t) ? -1 :
		                    loader_sample(k->s->train,
		                                  k->batch->first + at / (n / s->d[0])).index;
	err_truncate(mark);
	mem_free(v);
}

static void measure_inputs(const struct look *k, const struct node *n, struct finding *f)
{
	f->largest = f->largest_sample = -1;
	for (int i = 0; i < n->nin; i++)
		if (n->in[i] != NONE && readable(k, n->in[i]) && !replaced(k, n, n->in[i]))
			measure_input(k, n->in[i], f);
}

/* An input that n writes over is needed to check its kernel. */
static void look_before(void *user, const struct node *n)
{
	struct look *k = user;
	const struct graph *g = k->plan->g;
	mem_free(k->before.v);
	k->before.v = NULL;
	if (k->found.node != NONE || !kernel_is_checked(n))
		return;
	for (int i = 0; i < n->nin && !k->before.v; i++) {
		if (n->in[i] == NONE || !readable(k, n->in[i]) || !replaced(k, n, n->in[i]))
			continue;
		const int mark = err_count();
		k->before.in = i;
		k->before.v = mem_alloc((size_t)shape_count(&graph_t(g, n->in[i])->shape) * sizeof(double));
		if (exec_read(k->plan->exec, n->in[i], DTYPE_F64, k->before.v) < 0)
			k->before.v[0] = NAN;
		err_truncate(mark);
	}
}

static void look_behind(void *user, const struct node *n)
{
	struct look *k = user;
	if (k->found.node != NONE || (n->op->flags & OP_BEGINS))
		return;
	for (int i = 0; i < n->nout; i++) {
		struct finding f = { .of = FOUND_OUTPUT };
		if (n->out[i] == NONE || !look_at(k, n->out[i], &f))
			continue;
		if (!came_in(k, n, &f)) {
			measure_inputs(k, n, &f);
			kernel_check(k->plan, k->s->dev, n, i, &k->before, &f);
		}
		describe(k, n, &f);
		k->found = f;
		return;
	}
}

int look_run(struct look *k, const struct plan *p, unsigned phases)
{
	return exec_run_looking(p->exec, phases, &(struct exec_look){ look_before, look_behind, k });
}

/* --- all ranks --- */

void look_share(struct look *k)
{
	struct comm *c = k->s->comm;
	int64_t mine[2] = { k->found.micro, k->found.node };
	int first = -1;
	if (!comm_many(c))
		return;
	int64_t (*all)[2] = mem_calloc((size_t)c->size, sizeof *all);
	comm_all_gather(c, mine, sizeof mine, all, "what is not finite");
	for (int r = 0; r < c->size; r++)
		if (all[r][1] != NONE && (first < 0 || all[r][0] < all[first][0] ||
		                          (all[r][0] == all[first][0] && all[r][1] < all[first][1])))
			first = r;
	mem_free(all);
	if (first >= 0)
		comm_broadcast(c, &k->found, sizeof k->found, first, "what is not finite");
}
