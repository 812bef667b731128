/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs a network whose sample is cut over ranks, which are threads, and the same network whole, and
 * compares loss, gradients, running statistics and counts: node by node, or as a plan runs it. */
#ifndef DLX_TEST_CUT_JUDGE_H
#define DLX_TEST_CUT_JUDGE_H

#include <math.h>
#include <pthread.h>

#include "cases.h"
#include "backend/exec.h"
#include "backend/store.h"
#include "base/err.h"
#include "base/mem.h"
#include "comm/exchange.h"
#include "comm/rank_threads.h"
#include "comm/reducer.h"
#include "graph/attr.h"
#include "model/model.h"
#include "op/exchange.h"
#include "op/lib/random.h"
#include "op_run.h"
#include "optim/optim.h"
#include "pass/autodiff.h"
#include "pass/partition.h"
#include "pass/pass.h"
#include "pass/sync_batch_norm.h"
#include "plan/sums/messages.h"
#include "plan/sums/step_mean.h"

#define MOST_RANKS 8
#define LEAVES 512

struct problem {
	const char *model, *loss;
	struct shape in;
	int64_t classes;
	const char *const *metrics;      /* of an evaluation; NULL: training */
};

/* A graph with its gradients. */
struct net {
	struct arena *a;
	struct graph *g;
	tid in, target, out, seed;
	struct mean mean;
	struct loss_out loss;
	int n, nmetric;
	tid param[LEAVES], grad[LEAVES], metric[METRICS_OUTPUTS];
	struct metrics *metrics;
	struct cut c;
};

/* What a run gives. */
struct result {
	double loss, weight;
	bool sum;                        /* the loss is one */
	bool counts;                     /* values are sums: of metrics, or gradients of one */
	int n, nstate;
	char name[LEAVES][128];
	double *value[LEAVES];           /* gradients, then states */
	int64_t count[LEAVES];
	struct arena *a;
};

struct judge {
	const struct problem *p;
	struct cut_grid grid;
	enum backend backend;
	const char *device;              /* by which it is planned and run; NULL: node by node */
	struct result whole, part[MOST_RANKS];
};

static int read_variant(struct arena *a, const char *yaml, const struct variant *variants,
                        struct variant_value *v)
{
	struct ynode *root;
	TRY(ytree_parse(a, "it.yaml", yaml, &root));
	return schema_read_variant(a, root, variants, "'it'", v);
}

static int build_metrics(struct net *n, const struct problem *p, const struct variant_value *loss)
{
	const char *const *name = p->metrics;
	struct strings names = { 0, NULL, NULL };
	while (name[names.n])
		names.n++;
	names.v = (const char **)(uintptr_t)name;
	TRY(metrics_new(&n->metrics, &names, loss_target(loss), p->classes));
	return metrics_emit(n->metrics, n->g, n->out, n->target, 255, n->metric, METRICS_OUTPUTS,
	                    &n->nmetric);
}

/* Forward: the target's shape is that of the output as the loss wants it. */
static int build_forward(struct net *n, const struct problem *p)
{
	struct variant_value model, loss;
	struct model_outputs made;
	struct shape t;
	struct ynode *root;
	n->a = arena_new();
	n->g = graph_new();
	TRY(ytree_parse(n->a, "model.yaml", p->model, &root));
	TRY(model_read(n->a, root, "'model'", &model));
	TRY(read_variant(n->a, p->loss, loss_variants, &loss));
	TRY(graph_input(n->g, "input", DTYPE_F32, &p->in, &n->in));
	TRY(model_build(n->g, n->a, &model, !p->metrics, n->in, p->classes, &made));
	n->out = made.v[0].t;
	t = graph_t(n->g, n->out)->shape;
	if (loss_wants_labels(&loss)) {
		memmove(t.d + 1, t.d + 2, sizeof *t.d * (size_t)(t.nd - 2));
		t.nd--;
	}
	TRY(graph_input(n->g, "target", loss_wants_labels(&loss) ? DTYPE_I32 : DTYPE_F32, &t,
	                &n->target));
	TRY(loss_emit(n->g, &loss, n->out, n->target, 255, NULL, &n->loss));
	if (p->metrics)
		TRY(build_metrics(n, p, &loss));
	n->mean.nominal = 1;
	n->mean.sum = loss_is_sum(&loss);
	return mean_emit_seed(n->g, &n->mean, n->loss.weight, NONE, &n->seed);
}

static int build_backward(struct net *n)
{
	if (n->metrics)
		return 0;
	for (tid t = 0; t < n->g->ntensor; t++)
		if (graph_t(n->g, t)->role == ROLE_PARAM && graph_t(n->g, t)->alias == NONE)
			n->param[n->n++] = t;
	return autodiff(n->g, 1, &n->loss.loss, &n->seed, n->n, n->param, n->grad);
}

static void release(struct net *n)
{
	metrics_free(n->metrics);
	graph_free(n->g);
	arena_free(n->a);
}

/* --- values --- */

static double value_at(const char *name, int64_t i, int64_t classes)
{
	uint64_t h = 1469598103934665603u;
	for (const char *c = name; *c; c++)
		h = (h ^ (uint64_t)*c) * 1099511628211u;
	h = (h ^ (uint64_t)i) * 0x9E3779B97F4A7C15u;
	h = (h ^ h >> 29) * 0xBF58476D1CE4E5B9u;
	h ^= h >> 32;
	if (classes)
		return h % 37 == 0 ? 255 : (double)(h % (uint64_t)classes);
	return (double)(h % 20011) / 20011 - 0.5;
}

static bool ends_in(const char *name, const char *end)
{
	const size_t n = strlen(name), m = strlen(end);
	return n >= m && strcmp(name + n - m, end) == 0;
}

/* The values of t, which has rows from at[] on of a tensor of shape `whole`. */
static double *fill(const struct net *n, tid t, const struct shape *whole, const int64_t *at,
                    int64_t classes, bool flags)
{
	const struct tensor *x = graph_t(n->g, t);
	const struct shape *s = &x->shape;
	double *v = ARENA_ARRAY(n->a, double, shape_count(s) + 1);
	for (int64_t e = 0; e < shape_count(s); e++) {
		int64_t i = 0, rest = e, index[MAXD];
		for (int d = s->nd - 1; d >= 0; rest /= s->d[d--])
			index[d] = rest % s->d[d] + at[d];
		for (int d = 0; d < s->nd; d++)
			i = i * whole->d[d] + index[d];
		v[e] = value_at(x->name, i, classes);
		if (ends_in(x->name, "var"))
			v[e] += 1;
		if (t == n->target && flags)
			v[e] = v[e] > 0;
	}
	return v;
}

/* What runs a graph: node by node, or a plan. */
struct running {
	struct op_run *nodes;
	struct exec *e;
	struct store *store;
};

static int set_value(const struct net *n, const struct running *x, tid t, const double *v)
{
	if (x->nodes) {
		op_run_set(x->nodes, t, v);
		return 0;
	}
	return graph_t(n->g, t)->role == ROLE_INPUT ? exec_write(x->e, t, DTYPE_F64, v) :
	       store_set(store_find(x->store, graph_t(n->g, t)->name), DTYPE_F64, v);
}

static int get_value(const struct net *n, const struct running *x, tid t, double *v)
{
	const struct tensor *y = graph_t(n->g, t);
	if (x->nodes) {
		op_run_get(x->nodes, t, v);
		return 0;
	}
	return y->alias != NONE && graph_t(n->g, y->alias)->role == ROLE_STATE ?
	       store_get(store_find(x->store, graph_t(n->g, y->alias)->name), DTYPE_F64, v) :
	       exec_read(x->e, t, DTYPE_F64, v);
}

static int give_values(struct net *n, const struct problem *p, const struct cut *c, int part,
                       const struct running *r)
{
	for (tid t = 0; t < n->g->ntensor; t++) {
		const struct tensor *x = graph_t(n->g, t);
		struct shape whole = x->shape;
		int64_t at[MAXD] = { 0 };
		int place[CUT_AXES];
		if (x->role == ROLE_ACTIVATION || x->role == ROLE_CONSTANT || x->alias != NONE)
			continue;
		if (c && c->tensor[t].rows)
			for (int k = 0; k < c->grid.axes; k++) {
				cut_place(&c->grid, part, place);
				at[c->tensor[t].first + k] = cut_rows(c, t, k, place[k]).lo;
				whole.d[c->tensor[t].first + k] = c->tensor[t].extent[k];
			}
		if (t == n->mean.share)
			TRY(set_value(n, r, t, (double[]){ 1 }));
		else if (strcmp(x->name, RANDOM_KEY) == 0)
			TRY(set_value(n, r, t, (double[]){ 5, 3, 0 }));
		else
			TRY(set_value(n, r, t, fill(n, t, &whole, at,
			                            x->dtype == DTYPE_I32 ? p->classes : 0,
			                            strstr(p->loss, "binary"))));
	}
	return 0;
}

/* The value t, of the shape of `like`. NONE is a gradient of zero: strides can leave out all rows
 * of a subdomain, so that nothing depends on what it computes. */
static int keep(struct result *out, const struct net *n, const struct running *r, tid like, tid t,
                const char *name)
{
	const int i = out->n++;
	assert_true(i < LEAVES);
	snprintf(out->name[i], sizeof out->name[i], "%s", name);
	out->count[i] = shape_count(&graph_t(n->g, like)->shape);
	out->value[i] = ARENA_ARRAY(out->a, double, out->count[i]);
	return t == NONE ? 0 : get_value(n, r, t, out->value[i]);
}

static int collect(struct net *n, int rank, const struct running *r, struct result *out)
{
	out->a = arena_new();
	TRY(get_value(n, r, n->loss.loss, &out->loss));
	out->sum = n->mean.sum;
	out->counts = n->metrics || n->mean.sum;
	TRY(get_value(n, r, n->loss.weight, &out->weight));
	for (int i = 0; i < n->n; i++)
		TRY(keep(out, n, r, n->param[i], n->grad[i], graph_t(n->g, n->param[i])->name));
	for (int i = 0; i < n->nmetric; i++) {
		TRY(keep(out, n, r, n->metric[i], n->metric[i], graph_t(n->g, n->metric[i])->name));
		if (rank > 0 && n->c.tensor[n->metric[i]].once)
			memset(out->value[out->n - 1], 0, sizeof(double) * (size_t)out->count[out->n - 1]);
	}
	out->nstate = out->n;
	for (tid t = 0; t < n->g->ntensor; t++) {
		const struct tensor *x = graph_t(n->g, t);
		if (x->alias != NONE && graph_t(n->g, x->alias)->role == ROLE_STATE)
			TRY(keep(out, n, r, t, t, graph_t(n->g, x->alias)->name));
	}
	return 0;
}

/* --- ranks --- */

/* Buckets of the nodes that sum over ranks. */
static int open_statistics(struct net *n, struct comm *c, struct reducer **out)
{
	struct reducer_bucket *b = ARENA_ARRAY(n->a, struct reducer_bucket, n->g->nnode + 1);
	int64_t bytes = 0;
	int k = 0;
	for (int i = 0; i < n->g->nnode; i++) {
		const struct node *m = n->g->node[i];
		if (!node_meets(m))
			continue;
		assert_int_equal(*(int64_t *)attr_find(m->op, m->attr, "group", FT_INT), k);
		b[k++] = (struct reducer_bucket){ .offset = bytes, .n = sync_batch_norm_values(n->g, m),
			.dtype = DTYPE_F64, .name = m->name };
		bytes += (sync_batch_norm_values(n->g, m) * 8 + 63) & ~INT64_C(63);
	}
	return reducer_new(out, c, (size_t)bytes, b, k, false);
}

static void add_edges(const struct ints *rank, const struct ints *id, const struct strings *name,
                      const struct ints *shape, bool sends, size_t size, struct exchange_edge *e,
                      int *n)
{
	for (int i = 0, at = 0; i < rank->n; i++) {
		int64_t count = 1;
		for (int d = 0; d < shape->v[at]; d++)
			count *= shape->v[at + 1 + d];
		at += (int)shape->v[at] + 1;
		e[(*n)++] = (struct exchange_edge){ .peer = (int)rank->v[i], .sends = sends,
			.bytes = count * (int64_t)size, .id = id->v[i], .depth = 1, .name = name->v[i] };
	}
}

static int open_messages(struct net *n, struct comm *c, size_t size, struct exchange **out)
{
	struct exchange_edge *e = ARENA_ARRAY(n->a, struct exchange_edge,
	                                      2 * MOST_RANKS * (n->g->nnode + 1));
	int k = 0;
	for (int i = 0; i < n->g->nnode; i++) {
		const struct exchange_attr *at = exchange_sends(n->g->node[i]);
		if (!at)
			continue;
		add_edges(&at->to, &at->to_id, &at->to_name, &at->to_shape, true, size, e, &k);
		add_edges(&at->from, &at->from_id, &at->from_name, &at->from_shape, false, size, e, &k);
	}
	exchange_lay_out(e, k);
	return exchange_new(out, c, e, k);
}

/* As on the reference device: kernels that copy go by the size of a value. */
static void widen(const struct net *n)
{
	for (tid t = 0; t < n->g->ntensor; t++)
		if (dtype_is_float(graph_t(n->g, t)->dtype) && graph_t(n->g, t)->role != ROLE_CONSTANT)
			graph_t(n->g, t)->dtype = DTYPE_F64;
}

/* comm NULL: of the whole. */
static int build(struct net *n, const struct judge *j, const struct comm *c)
{
	TRY(build_forward(n, j->p));
	struct partition at = { j->grid, c ? c->rank : 0, 0, n->in, n->target, n->out };
	if (c)
		TRY(partition_graph(n->g, &at, &n->c));
	TRY(build_backward(n));
	if (!j->device)
		sync_batch_norm_emit(n->g, n->mean.share, false);
	return graph_verify(n->g, STAGE_BUILT);
}

static int run_nodes(struct net *n, const struct judge *j, struct comm *c, struct result *out)
{
	struct links links = { 0 };
	struct op_run r;
	const struct running x = { .nodes = &r };
	if (c) {
		TRY(open_statistics(n, c, &links.statistics));
		TRY(open_messages(n, c, j->backend == BACKEND_REFERENCE ? 8 : 4, &links.messages));
	}
	if (j->backend == BACKEND_REFERENCE)
		widen(n);
	op_run_init(&r, n->g, j->backend, true);
	r.links = c ? &links : NULL;
	TRY(give_values(n, j->p, c ? &n->c : NULL, c ? c->rank : 0, &x));
	op_run_all(&r);
	TRY(collect(n, c ? c->rank : 0, &x, out));
	if (c) {
		exchange_free(links.messages);
		reducer_free(links.statistics);
	}
	op_run_release(&r);
	return 0;
}

static int pass_statistics(struct graph *g, struct pass_env *env)
{
	sync_batch_norm_emit(g, ((const struct net *)env->user)->mean.share, false);
	return 0;
}

static int run_passes(struct net *n, const struct device *dev)
{
	static const struct pass passes[] = { { "fold", "", pass_fold, STAGE_BUILT },
		{ "cse", "", pass_cse, STAGE_BUILT }, { "dce", "", pass_dce, STAGE_BUILT },
		{ "slice_adds", "", pass_slice_adds, STAGE_BUILT }, { "fuse", "", pass_fuse, STAGE_BUILT },
		{ "statistics", "", pass_statistics, STAGE_BUILT },
		{ "precision", "", pass_precision, STAGE_BUILT },
		{ "layout", "", pass_layout, STAGE_LAID_OUT }, { "views", "", pass_views, STAGE_LAID_OUT },
		{ "sched", "", pass_sched, STAGE_LAID_OUT }, { "masks", "", pass_masks, STAGE_LAID_OUT } };
	struct pass_env env = { .backend = dev->backend, .dev = dev, .plan = &plan_env_default,
		.user = n };
	graph_t(n->g, n->loss.loss)->output = graph_t(n->g, n->loss.weight)->output = true;
	for (int i = 0; i < n->n; i++)
		if (n->grad[i] != NONE)
			graph_t(n->g, n->grad[i])->output = true;
	for (int i = 0; i < n->nmetric; i++)
		graph_t(n->g, n->metric[i])->output = true;
	return pass_run(n->g, passes, sizeof passes / sizeof *passes, &env);
}

/* The list of code to be generated is the process's (backend/dnn/dnn_code.c). */
static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;

static int locked(int rc)
{
	pthread_mutex_unlock(&planning);
	return rc;
}

/* Through the passes of a plan, its memory, and the check that steps end. */
static int run_planned(struct net *n, const struct judge *j, struct comm *c, struct result *out)
{
	struct device *dev;
	struct running x = { 0 };
	struct messages *m = NULL;
	struct links sums = { 0 };
	const struct messages_teams teams = { .messages = c, .all = c, .statistics = c };
	TRY(device_open(&dev, j->device));
	x.store = store_new(dev, 1);
	pthread_mutex_lock(&planning);
	TRY(locked(run_passes(n, dev) < 0 ? -1 : exec_new(&x.e, n->g, dev, &plan_env_default)));
	const size_t bytes = exec_arena_bytes(x.e) + EXEC_ARENA_SLACK;
	void *arena = mem_map(bytes);
	if (c) {
		TRY(open_statistics(n, c, &sums.statistics));
		TRY(messages_open(&m, &teams, n->g, dev, &sums, 1));
	}
	TRY(store_add(x.store, n->g));
	pthread_mutex_lock(&planning);
	TRY(locked(exec_bind(x.e, x.store, arena, c ? messages_links(m) : NULL)));
	TRY(give_values(n, j->p, c ? &n->c : NULL, c ? c->rank : 0, &x));
	TRY(exec_run(x.e, ~0u));
	TRY(collect(n, c ? c->rank : 0, &x, out));
	messages_close(m);
	if (c)
		reducer_free(sums.statistics);
	exec_free(x.e);
	store_free(x.store);
	mem_unmap(arena, bytes);
	device_close(dev);
	return 0;
}

static int run_part(struct comm *c, void *arg)
{
	struct judge *j = arg;
	struct net n = { 0 };
	int rc = comm_agree(c, build(&n, j, c), "building");
	if (rc == 0)
		rc = (j->device ? run_planned : run_nodes)(&n, j, c, &j->part[c->rank]);
	release(&n);
	return rc;
}

static int run_whole(struct judge *j)
{
	struct net n = { 0 };
	int rc = build(&n, j, NULL);
	if (rc == 0)
		rc = (j->device ? run_planned : run_nodes)(&n, j, NULL, &j->whole);
	release(&n);
	return rc;
}

/* --- judging --- */

static double sum_of(const struct judge *j, int ranks, int leaf, int64_t i)
{
	double sum = 0;
	for (int r = 0; r < ranks; r++)
		sum += j->part[r].value[leaf][i];
	return leaf < j->whole.nstate ? sum : sum / ranks;
}

/* The largest sum of squares of a gradient, over the weight. */
static double largest(const struct judge *j)
{
	double most = 0;
	for (int l = 0; l < j->whole.nstate; l++) {
		double sum = 0;
		for (int64_t i = 0; i < j->whole.count[l]; i++)
			sum += pow(j->whole.value[l][i] / j->whole.weight, 2);
		most = sum > most ? sum : most;
	}
	return most;
}

/* Sums of gradients, over the weight, and states of all ranks, by relative L2 of each tensor: of a
 * gradient that is 0 but for rounding, as that of a bias before a norm, by the largest one. */
static void compare(const struct judge *j, int ranks, double tolerance)
{
	const double least = j->whole.counts && !j->whole.sum ? 1e-300 : 1e-4 * largest(j);
	double loss = 0, weight = 0;
	for (int r = 0; r < ranks; r++) {
		loss += j->part[r].loss * (j->whole.sum ? 1 : j->part[r].weight);
		weight += j->part[r].weight;
		assert_int_equal(j->part[r].n, j->whole.n);
	}
	loss /= j->whole.sum ? 1 : weight;
	if (!(fabs(loss - j->whole.loss) <= tolerance * fabs(j->whole.loss)))
		fail_msg("%s: the loss is %.17g, not %.17g", j->p->model, loss, j->whole.loss);
	for (int l = 0; l < j->whole.n; l++) {
		double away = 0, all = least;
		const bool state = l >= j->whole.nstate, counts = j->whole.counts;
		for (int64_t i = 0; i < j->whole.count[l]; i++) {
			const double want = j->whole.value[l][i] / (state || counts ? 1 : j->whole.weight);
			away += pow(sum_of(j, ranks, l, i) / (state || counts ? 1 : weight) - want, 2);
			all += pow(want, 2);
		}
		if (!(sqrt(away / all) <= tolerance))
			fail_msg("%s on %d x %d x %d: %s of '%s' is off by %g", j->p->model, j->grid.parts[0],
			         j->grid.parts[1], j->grid.parts[2],
			         state ? "the state" : counts ? "the metric" : "the gradient",
			         j->whole.name[l], sqrt(away / all));
	}
}

/* 0, or the code of an error; what is computed otherwise than of the whole fails. */
static int judge_if(const struct problem *p, int d, int h, int w, enum backend backend,
                    const char *device, double tolerance)
{
	struct judge *j = calloc(1, sizeof *j);
	const int ranks = d * h * w;
	*j = (struct judge){ .p = p, .grid = { p->in.nd - 2, { d, h, w } }, .backend = backend,
		.device = device };
	int rc = run_whole(j);
	if (rc == 0)
		rc = rank_threads_run(ranks, 60, run_part, j);
	if (rc == 0)
		compare(j, ranks, tolerance);
	arena_free(j->whole.a);
	for (int r = 0; r < ranks; r++)
		arena_free(j->part[r].a);
	free(j);
	return rc;
}

static void judge_on(const struct problem *p, int d, int h, int w, enum backend backend,
                     const char *device, double tolerance)
{
	if (judge_if(p, d, h, w, backend, device, tolerance) < 0)
		fail_msg("%s: %s", p->model, err_get(0)->text);
}

static void judge(const struct problem *p, int d, int h, int w)
{
	judge_on(p, d, h, w, BACKEND_REFERENCE, NULL, 1e-12);
}

/* The same with all that a plan does to a graph. */
static void judge_planned(const struct problem *p, int d, int h, int w)
{
	judge_on(p, d, h, w, BACKEND_REFERENCE, "reference", 1e-12);
	judge_on(p, d, h, w, BACKEND_CPU, "cpu", 1e-4);
}

#endif
