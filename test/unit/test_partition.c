/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Samples that are cut over ranks, which are threads here, against whole ones: loss, gradients and
 * running statistics of networks, by the reference kernels, where messages are float64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
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
	tid in, target, out, share;
	struct loss_out loss;
	int n, nmetric;
	tid param[LEAVES], grad[LEAVES], metric[METRICS_OUTPUTS];
	struct metrics *metrics;
	struct cut c;
};

/* What a run gives. */
struct result {
	double loss, weight;
	bool counts;                     /* values are those of metrics */
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
	struct result whole, part[MOST_RANKS];
	double messages[MOST_RANKS];
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
	return graph_input(n->g, "share", DTYPE_F32, &(struct shape){ 0 }, &n->share);
}

static int build_backward(struct net *n)
{
	if (n->metrics)
		return 0;
	for (tid t = 0; t < n->g->ntensor; t++)
		if (graph_t(n->g, t)->role == ROLE_PARAM && graph_t(n->g, t)->alias == NONE)
			n->param[n->n++] = t;
	return autodiff(n->g, 1, &n->loss.loss, &n->loss.weight, n->n, n->param, n->grad);
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

static void give_values(struct net *n, const struct problem *p, const struct cut *c, int part,
                        struct op_run *r)
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
		if (t == n->share)
			op_run_set(r, t, (double[]){ 1 });
		else if (strcmp(x->name, RANDOM_KEY) == 0)
			op_run_set(r, t, (double[]){ 5, 3, 0 });
		else
			op_run_set(r, t, fill(n, t, &whole, at, x->dtype == DTYPE_I32 ? p->classes : 0,
			                      strstr(p->loss, "binary")));
	}
}

static void keep(struct result *out, const struct op_run *r, tid t, const char *name)
{
	const int i = out->n++;
	assert_true(i < LEAVES);
	snprintf(out->name[i], sizeof out->name[i], "%s", name);
	out->count[i] = shape_count(&graph_t(r->g, t)->shape);
	out->value[i] = ARENA_ARRAY(out->a, double, out->count[i]);
	op_run_get(r, t, out->value[i]);
}

static void collect(struct net *n, int rank, const struct op_run *r, struct result *out)
{
	out->a = arena_new();
	op_run_get(r, n->loss.loss, &out->loss);
	out->counts = n->metrics;
	op_run_get(r, n->loss.weight, &out->weight);
	for (int i = 0; i < n->n; i++)
		if (n->grad[i] != NONE)
			keep(out, r, n->grad[i], graph_t(n->g, n->param[i])->name);
	for (int i = 0; i < n->nmetric; i++) {
		keep(out, r, n->metric[i], graph_t(n->g, n->metric[i])->name);
		if (rank > 0 && n->c.tensor[n->metric[i]].once)
			memset(out->value[out->n - 1], 0, sizeof(double) * (size_t)out->count[out->n - 1]);
	}
	out->nstate = out->n;
	for (tid t = 0; t < n->g->ntensor; t++) {
		const struct tensor *x = graph_t(n->g, t);
		if (x->alias != NONE && graph_t(n->g, x->alias)->role == ROLE_STATE)
			keep(out, r, t, graph_t(n->g, x->alias)->name);
	}
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

static int run_nodes(struct net *n, struct op_run *r)
{
	for (int i = 0; i < n->g->nnode; i++)
		op_run_node(r, n->g->node[i]);
	return 0;
}

static int build_part(struct net *n, const struct judge *j, int rank)
{
	TRY(build_forward(n, j->p));
	struct partition at = { j->grid, rank, 0, n->in, n->target, n->out };
	TRY(partition_graph(n->g, &at, &n->c));
	TRY(build_backward(n));
	sync_batch_norm_emit(n->g, n->share, false);
	return graph_verify(n->g, STAGE_BUILT);
}

static int run_part(struct comm *c, void *arg)
{
	struct judge *j = arg;
	struct links links = { 0 };
	struct op_run r;
	struct net n = { 0 };
	TRY(comm_agree(c, build_part(&n, j, c->rank), "building"));
	TRY(open_statistics(&n, c, &links.statistics));
	TRY(open_messages(&n, c, j->backend == BACKEND_REFERENCE ? 8 : 4, &links.messages));
	if (j->backend == BACKEND_REFERENCE)
		widen(&n);
	op_run_init(&r, n.g, j->backend, true);
	r.links = &links;
	give_values(&n, j->p, &n.c, c->rank, &r);
	run_nodes(&n, &r);
	collect(&n, c->rank, &r, &j->part[c->rank]);
	j->messages[c->rank] = exchange_stats(links.messages).bytes;
	exchange_free(links.messages);
	reducer_free(links.statistics);
	op_run_release(&r);
	release(&n);
	return 0;
}

static void run_whole(struct judge *j)
{
	struct net n = { 0 };
	struct op_run r;
	if (build_forward(&n, j->p) < 0 || build_backward(&n) < 0)
		fail_msg("%s: %s", j->p->model, err_get(0)->text);
	if (j->backend == BACKEND_REFERENCE)
		widen(&n);
	op_run_init(&r, n.g, j->backend, true);
	give_values(&n, j->p, NULL, 0, &r);
	run_nodes(&n, &r);
	collect(&n, 0, &r, &j->whole);
	op_run_release(&r);
	release(&n);
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
	double loss = 0, weight = 0, least = j->whole.counts ? 1e-300 : 1e-4 * largest(j);
	for (int r = 0; r < ranks; r++) {
		loss += j->part[r].loss * j->part[r].weight;
		weight += j->part[r].weight;
		assert_int_equal(j->part[r].n, j->whole.n);
	}
	loss /= weight;
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

static void judge_on(const struct problem *p, int d, int h, int w, enum backend backend,
                     double tolerance)
{
	struct judge *j = calloc(1, sizeof *j);
	const int ranks = d * h * w;
	*j = (struct judge){ .p = p, .grid = { p->in.nd - 2, { d, h, w } }, .backend = backend };
	run_whole(j);
	if (rank_threads_run(ranks, 60, run_part, j) < 0)
		fail_msg("%s: %s", p->model, err_get(0)->text);
	compare(j, ranks, tolerance);
	arena_free(j->whole.a);
	for (int r = 0; r < ranks; r++)
		arena_free(j->part[r].a);
	free(j);
	err_clear();
}

static void judge(const struct problem *p, int d, int h, int w)
{
	judge_on(p, d, h, w, BACKEND_REFERENCE, 1e-12);
}

#define LAYERS(...) "{family: layers, layers: [" #__VA_ARGS__ "]}"
#define PLANE(layers) { layers, "{type: mse}", { 4, { 2, 2, 13, 11 } }, 2, NULL }

static void judge_all(const struct problem *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		judge(&p[i], 2, 1, 1);
		judge(&p[i], 3, 1, 1);
		judge(&p[i], 1, 2, 1);
		judge(&p[i], 2, 2, 1);
	}
}
#define JUDGE_ALL(p) judge_all(p, sizeof(p) / sizeof *(p))

static void convolutions(void **state)
{
	static const struct problem p[] = {
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: same}}, relu,
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 5, padding: same}},
		             {conv2d: {filters: 2, kernel: 3}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: 1, stride: 2}}, relu,
		             {conv2d: {filters: 2, kernel: [2, 4], padding: {before: 1, after: 0}}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: 4, dilation: 4, groups: 2}}, relu,
		             {conv2d: {filters: 2, kernel: 1}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: 1, stride: 2}},
		             {conv_transpose2d: {filters: 3, kernel: 3, stride: 2, padding: 1}},
		             {conv_transpose2d: {filters: 2, kernel: 4, stride: 3, padding: 0}})),
		PLANE(LAYERS({conv_transpose2d: {filters: 4, kernel: 2, stride: 2}},
		             {conv_transpose2d: {filters: 2, kernel: 3, padding: 2, dilation: 2,
		                                 groups: 2}})),
	};
	JUDGE_ALL(p);
}

static void pools(void **state)
{
	static const struct problem p[] = {
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: same}},
		             {max_pool: {kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1}},
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: same}},
		             {max_pool: {kernel: 2, stride: 1}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 1}},
		             {average_pool: {kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1}},
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 1}},
		             {average_pool: {kernel: [3, 2], stride: 1, pad_lo: [2, 0], pad_hi: [1, 1],
		                             count_padding: false}})),
	};
	JUDGE_ALL(p);
}

static void sizes(void **state)
{
	static const struct problem p[] = {
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: same}},
		             {resize: {factor: 2, mode: bilinear}}, relu,
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: 1, stride: 2}},
		             {resize: {size: [17, 19], mode: bilinear, align_corners: true}}, relu)),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: same}},
		             {resize: {factor: 2, mode: nearest}}, relu,
		             {resize: {size: [9, 7], mode: area}})),
		PLANE(LAYERS({pad: {before: [0, 0, 1, 2], after: [0, 0, 0, 1]}},
		             {conv2d: {filters: 2, kernel: 3}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: same, name: a}},
		             {max_pool: {kernel: 2, stride: 2}},
		             {conv2d: {filters: 3, kernel: 3, padding: same}},
		             {resize: {size: [13, 11], mode: nearest, name: b}},
		             {concat: {axis: 1, inputs: [a, b]}},
		             {conv2d: {filters: 3, kernel: 1, name: c}},
		             {add: {inputs: [a, c]}}, {conv2d: {filters: 2, kernel: 3, padding: same}})),
	};
	JUDGE_ALL(p);
}

/* Sums over places, and what is computed of gathered tensors. */
static void sums(void **state)
{
	static const struct problem p[] = {
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: same}}, batch_norm, relu,
		             {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, {group_norm: {groups: 2}},
		             relu, {conv2d: {filters: 2, kernel: 3, padding: same}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, instance_norm, relu,
		             {conv2d: {filters: 2, kernel: 1}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, layer_norm, relu,
		             {conv2d: {filters: 2, kernel: 1}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, relu, {dropout: {rate: 0.3}},
		             {conv2d: {filters: 2, kernel: 3, padding: same}}, {dropout: {rate: 0.5}})),
		PLANE(LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, relu, global_average,
		             {dense: {units: 2}})),
		PLANE(LAYERS({conv2d: {filters: 2, kernel: 3, padding: 1, stride: 2}}, relu,
		             {max_pool: {kernel: 2, stride: 2}}, flatten, {dropout: {rate: 0.2}},
		             {dense: {units: 2}})),
		PLANE(LAYERS({conv2d: {filters: 3, kernel: 3, padding: 1, stride: 4}}, batch_norm,
		             {conv2d: {filters: 3, kernel: 3, padding: 1, stride: 4}}, batch_norm, relu,
		             {conv2d: {filters: 2, kernel: 3, padding: 1}},
		             {resize: {size: [13, 11], mode: bilinear}})),
	};
	JUDGE_ALL(p);
}

#define SCORES LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, relu,   \
                      {conv2d: {filters: 3, kernel: 3, padding: same}})
#define LOSS(loss) { SCORES, loss, { 4, { 2, 2, 13, 11 } }, 3, NULL }

static void losses(void **state)
{
	static const struct problem p[] = {
		LOSS("{type: softmax_cross_entropy}"),
		LOSS("{type: softmax_cross_entropy, class_weights: [1, 2, 5], label_smoothing: 0.1}"),
		LOSS("{type: softmax_cross_entropy, class_weights: [1, 2, 5], reduction: mean_pixels}"),
		LOSS("{type: focal, gamma: 2}"),
		LOSS("{type: dice}"),
		LOSS("{type: dice, squared: true, per_batch: true, background: false}"),
		LOSS("{type: dice_cross_entropy, class_weights: [1, 2, 5]}"),
		LOSS("{type: l1}"), LOSS("{type: huber}"), LOSS("{type: mse, output_weights: [1, 2, 3]}"),
		{ SCORES, "{type: binary_cross_entropy}", { 4, { 2, 2, 13, 11 } }, 3, NULL },
	};
	JUDGE_ALL(p);
}

/* Counted once, whether the places of the output are cut or gathered. */
static void metrics(void **state)
{
	static const char *const classes[] = { "mean_iou", "accuracy", "top_2", NULL },
				 *const values[] = { "mae", "mse", "r2", NULL };
	static const struct problem p[] = {
		{ SCORES, "{type: softmax_cross_entropy}", { 4, { 2, 2, 13, 11 } }, 3, classes },
		{ SCORES, "{type: mse}", { 4, { 2, 2, 13, 11 } }, 3, values },
		{ LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, relu, global_average,
		         {dense: {units: 3}}), "{type: softmax_cross_entropy}", { 4, { 5, 2, 13, 11 } }, 3,
		  classes },
		{ LAYERS({conv2d: {filters: 4, kernel: 3, padding: same}}, batch_norm, relu,
		         {max_pool: {kernel: 2, stride: 2}}, flatten, {dense: {units: 3}}), "{type: mse}",
		  { 4, { 5, 2, 13, 11 } }, 3, values },
	};
	JUDGE_ALL(p);
}

#define LABELS "{type: softmax_cross_entropy}"
#define MEAN   "{type: mse}"

/* A model, two grids of it. */
struct cut_model {
	struct problem p;
	int grid[2][3];
	bool large;                      /* for the long form alone */
};

/* The long form has both grids. */
static void judge_models(const struct cut_model *m, size_t n)
{
	const char *tier = getenv("DLX_TIER");
	const bool all = tier && strcmp(tier, "big") == 0;
	for (size_t i = 0; i < n; i++)
		for (int g = 0; g < (all ? 2 : m[i].large ? 0 : 1); g++)
			judge(&m[i].p, m[i].grid[g][0], m[i].grid[g][1], m[i].grid[g][2]);
}

/* The variants of the ready configs, with few channels. */
static void families(void **state)
{
	static const struct cut_model f[] = {
		{ { "{family: unet3d, variant: lits, filters: 2}", LABELS, { 5, { 1, 1, 24, 8, 16 } }, 3,
		    NULL }, { { 3, 1, 1 }, { 2, 1, 2 } } },
		{ { "{family: cosmoflow, variant: lbann-2020, batch_norm: true, filters: 2, "
		    "max_filters: 4, dense: [8, 4]}", MEAN, { 5, { 1, 2, 40, 32, 32 } }, 4, NULL },
		  { { 3, 1, 1 }, { 1, 2, 2 } } },
		{ { "{family: cosmoflow, variant: lbann-2023, filters: 2, max_filters: 4, dense: [8, 4]}",
		    MEAN, { 5, { 1, 2, 40, 32, 32 } }, 4, NULL }, { { 3, 1, 1 }, { 2, 2, 1 } } },
		{ { "{family: cosmoflow, variant: mlperf-v0.7, filters: 2, max_filters: 4, dense: [8, 4]}",
		    MEAN, { 5, { 1, 2, 40, 32, 32 } }, 4, NULL }, { { 3, 1, 1 }, { 2, 2, 1 } } },
		{ { "{family: cosmoflow, variant: mlperf, filters: 2, max_filters: 4, dense: [8, 4]}",
		    MEAN, { 5, { 1, 2, 40, 32, 32 } }, 4, NULL }, { { 3, 1, 1 }, { 2, 2, 1 } } },
		{ { "{family: tiramisu, variant: sc18, growth: 2, initial_filters: 4}", LABELS,
		    { 4, { 1, 4, 80, 64 } }, 3, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } } },
		{ { "{family: tiramisu, variant: daint, growth: 2, initial_filters: 4}", LABELS,
		    { 4, { 1, 4, 80, 64 } }, 3, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } }, true },
		{ { "{family: tiramisu, variant: fc-densenet56, growth: 2, initial_filters: 4}", LABELS,
		    { 4, { 1, 3, 80, 64 } }, 11, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } }, true },
		{ { "{family: deeplabv3+, variant: sc18, filters: 4, aspp_filters: 4, "
		    "low_level_filters: 3}", LABELS,
		    { 4, { 2, 4, 48, 32 } }, 3, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } } },
		{ { "{family: deepcam, variant: mlperf, widths: [2, 2, 4, 4, 4, 4, 4, 4], "
		    "middle_blocks: 1, aspp_filters: 4, low_level_filters: 3}", LABELS,
		    { 4, { 2, 4, 48, 32 } }, 3, NULL }, { { 2, 2, 1 }, { 3, 1, 1 } } },
		{ { "{family: fcn, variant: pool_avg, growth: 2}", "{type: l1}",
		    { 4, { 2, 3, 40, 32 } }, 1, NULL },
		  { { 2, 2, 1 }, { 3, 1, 1 } } },
		{ { "{family: resnet, depth: 50}", LABELS, { 4, { 4, 3, 48, 48 } }, 5, NULL },
		  { { 2, 1, 1 }, { 2, 2, 1 } }, true },
	};
	judge_models(f, sizeof f / sizeof *f);
}

/* Where what cuts is combined: grids of the U-Net. */
static void unets(void **state)
{
#define UNET(conv, size, up)                                                                  \
	"{family: layers, layers: [{" conv ": {filters: 4, kernel: 3, padding: same}}, "           \
	"instance_norm, {leaky_relu: {name: skip}}, "                                              \
	"{" conv ": {filters: 8, kernel: 3, stride: 2, padding: 1}}, instance_norm, relu, "        \
	"{" conv ": {filters: 8, kernel: 3, padding: same, groups: 4}}, relu, "                    \
	"{dropout: {rate: 0.2}}, {resize: {size: " size ", mode: " up ", name: up}}, "             \
	"{concat: {axis: 1, inputs: [skip, up]}}, "                                                \
	"{" conv ": {filters: 3, kernel: 3, padding: same}}]}"
	static const struct problem
		plane = { UNET("conv2d", "[18, 16]", "bilinear"), "{type: dice_cross_entropy}",
		          { 4, { 2, 2, 18, 16 } }, 3, NULL },
		cube = { UNET("conv3d", "[12, 7, 8]", "nearest"), "{type: dice}", { 5, { 1, 2, 12, 7, 8 } },
		         3, NULL };
	judge(&plane, 3, 1, 1);
	judge(&plane, 2, 2, 1);
	judge(&cube, 2, 1, 2);
	judge_on(&plane, 3, 1, 1, BACKEND_CPU, 1e-4);
	judge_on(&cube, 2, 1, 2, BACKEND_CPU, 1e-4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convolutions),
		cmocka_unit_test(pools),
		cmocka_unit_test(sizes),
		cmocka_unit_test(sums),
		cmocka_unit_test(losses),
		cmocka_unit_test(metrics),
		cmocka_unit_test(unets),
		cmocka_unit_test(families),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
