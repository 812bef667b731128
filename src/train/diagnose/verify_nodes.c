/* SPDX-License-Identifier: BSD-3-Clause
 *
 * All tensors of the whole samples stay in memory while the ranks compare theirs with them. */
#include "train/diagnose/verify_nodes.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "comm/rank_threads.h"
#include "plan/sums/messages.h"
#include "plan/sums/sync_reducer.h"

struct forward {
	struct verify_run *r;
	struct comm *c;                      /* NULL: whole samples */
	struct arena *arena;
	struct device *dev;
	struct store *store;
	struct plan *plan;
	struct sync_reducer *statistics;
	struct messages *messages;
	void *memory;
	size_t bytes;
};

/* What the ranks share. */
struct comparison {
	struct verify_run *r;
	const struct forward *whole;
	pthread_mutex_t reading;             /* of the whole's tensors, and of `first` */
	double tolerance;
	struct verify_node first;
};

/* --- running --- */

static int agree(const struct forward *f, int rc, const char *what)
{
	return f->c ? comm_agree(f->c, rc, what) : rc;
}

static int open_messages(struct forward *f)
{
	struct links sums = { 0 };
	const struct reducer_place where = { f->dev, f->c, NULL, false };
	const struct messages_teams teams = { .messages = f->c, .all = f->c, .statistics = f->c };
	if (!f->c)
		return 0;
	TRY(sync_reducer_open_plan(&f->statistics, &sums.statistics, &where, f->plan));
	return messages_open(&f->messages, &teams, f->plan->g, f->dev, &sums, 1);
}

static int make_plan(struct forward *f)
{
	const struct plan_request q = verify_request(f->r, f->dev, PLAN_TRAIN,
	                                             f->c ? f->c->rank : -1);
	verify_lock();
	const int rc = plan_plain(&f->plan, &q);
	verify_unlock();
	return rc;
}

static int bind(struct forward *f)
{
	TRY(store_add(f->store, f->plan->g));
	TRY(verify_spread(f->r, f->store));
	f->bytes = exec_arena_bytes(f->plan->exec) + EXEC_ARENA_SLACK;
	f->memory = device_alloc(f->dev, f->bytes);
	if (!f->memory)
		return ERR(E_NOMEM, NULL, "no memory for all tensors of a forward pass, %zu bytes",
		           f->bytes);
	verify_lock();
	const int rc = exec_bind(f->plan->exec, f->store, f->memory,
	                         f->c ? messages_links(f->messages) : NULL);
	verify_unlock();
	return rc;
}

static int run_forward(struct forward *f)
{
	f->arena = arena_new();
	TRY(agree(f, device_open(&f->dev, f->r->device), "opening the device"));
	f->store = store_new(f->dev, (uint64_t)f->r->config.run.seed);
	TRY(agree(f, make_plan(f), "planning"));
	TRY(agree(f, open_messages(f), "the messages"));
	TRY(agree(f, bind(f), "memory"));
	TRY(agree(f, verify_feed(f->r, f->plan, f->arena), "the batch"));
	return agree(f, exec_run(f->plan->exec, 1u << PHASE_FORWARD), "the forward pass");
}

static void release(struct forward *f)
{
	messages_close(f->messages);
	sync_reducer_close_plan(f->statistics);
	plan_free(f->plan);
	store_free(f->store);
	if (f->memory)
		device_free(f->dev, f->memory, f->bytes);
	device_close(f->dev);
	arena_free(f->arena);
}

/* --- comparing --- */

/* Whether the tensor, one of those that the builder of the graph made (plan_plain), is the first
 * output of a node that computes the same values of a cut sample.
 * The nodes of a loss compute the mean of their rows, which the ranks' means are combined of. */
static bool compares(const struct forward *whole, const struct forward *f, tid t)
{
	const struct tensor *x = graph_t(whole->plan->g, t);
	const struct node *n = x->producer == NONE ? NULL : whole->plan->g->node[x->producer];
	return n && x->output && t < f->plan->g->ntensor && graph_t(f->plan->g, t)->output &&
	       dtype_is_float(x->dtype) && n->out[0] == t && strcmp(n->name, "loss") != 0;
}

static double *values_of(const struct forward *f, tid t, int *rc)
{
	double *v = mem_alloc(sizeof *v * (size_t)shape_count(&graph_t(f->plan->g, t)->shape));
	*rc = exec_read(f->plan->exec, t, DTYPE_F64, v);
	return v;
}

/* The rows of tensor t that this rank has, along each spatial axis. */
static void rows_of(const struct forward *f, tid t, struct verify_node *n)
{
	const struct cut *cut = f->plan->cut;
	const struct cut_tensor *x = &cut->tensor[t];
	int place[CUT_AXES];
	cut_place(&cut->grid, f->plan->subdomain, place);
	n->rows = x->rows;
	for (int k = 0; k < cut->grid.axes && x->rows; k++) {
		n->has[k] = cut_rows(cut, t, k, place[k]);
		n->off[k] = (struct cut_rows){ INT64_MAX, 0 };
	}
}

/* Adds the square of element e's difference to that of its row along each axis. The sums of rows
 * are in sum[axis]. */
static double compare_element(const struct forward *f, const struct verify_node *n,
                              const struct shape *whole, const struct shape *s, int64_t e,
                              const double *mine, const double *all, double *sum[CUT_AXES])
{
	const int first = f->plan->cut->tensor[n->t].first;
	int64_t rest = e, at = 0, index[MAXD] = { 0 };
	for (int d = s->nd - 1; d >= 0; rest /= s->d[d--])
		index[d] = rest % s->d[d];
	for (int d = 0; d < s->nd; d++)
		at = at * whole->d[d] + index[d] + (n->rows && d >= first ? n->has[d - first].lo : 0);
	const double square = (mine[e] - all[at]) * (mine[e] - all[at]);
	for (int k = 0; k < f->plan->cut->grid.axes && n->rows; k++)
		sum[k][index[first + k]] += square;
	return square;
}

/* Fills in which rows differ by more than `least`, a sum of squares. */
static void find_rows(struct verify_node *n, double *const sum[CUT_AXES], double least)
{
	for (int k = 0; k < CUT_AXES && sum[k]; k++)
		for (int64_t i = 0; i < n->has[k].hi - n->has[k].lo; i++) {
			const int64_t row = n->has[k].lo + i;
			if (sum[k][i] <= least)
				continue;
			n->off[k].lo = row < n->off[k].lo ? row : n->off[k].lo;
			n->off[k].hi = row + 1;
		}
}

static void compare(const struct forward *f, const struct forward *whole, const double *mine,
                    const double *all, double tolerance, struct verify_node *n)
{
	const struct shape *s = &graph_t(f->plan->g, n->t)->shape,
	                   *w = &graph_t(whole->plan->g, n->t)->shape;
	double *sum[CUT_AXES] = { NULL }, away = 0, size = 0;
	rows_of(f, n->t, n);
	for (int k = 0; k < f->plan->cut->grid.axes && n->rows; k++)
		sum[k] = mem_calloc((size_t)(n->has[k].hi - n->has[k].lo) + 1, sizeof **sum);
	for (int64_t e = 0; e < shape_count(w); e++)
		size += all[e] * all[e];
	for (int64_t e = 0; e < shape_count(s); e++)
		away += compare_element(f, n, w, s, e, mine, all, sum);
	n->by = away > 0 ? sqrt(away / size) : away;
	n->found = !(n->by <= tolerance);
	find_rows(n, sum, tolerance * tolerance * size);
	for (int k = 0; k < CUT_AXES; k++)
		mem_free(sum[k]);
}

static void describe(const struct node *n, struct verify_node *out)
{
	snprintf(out->layer, sizeof out->layer, "%s", n->name);
	out->op = n->op->name;
	out->loc = n->loc;
}

static int compare_tensor(struct comparison *x, const struct forward *f, tid t)
{
	const struct graph *g = x->whole->plan->g;
	struct verify_node n = { .t = t, .subdomain = f->plan->subdomain };
	int rc, other;
	double *all, *mine = values_of(f, t, &rc);
	pthread_mutex_lock(&x->reading);
	all = values_of(x->whole, t, &other);
	pthread_mutex_unlock(&x->reading);
	if (rc == 0 && other == 0)
		compare(f, x->whole, mine, all, x->tolerance, &n);
	mem_free(mine);
	mem_free(all);
	pthread_mutex_lock(&x->reading);
	if (n.found && (!x->first.found || t < x->first.t)) {
		describe(g->node[graph_t(g, t)->producer], &n);
		x->first = n;
	}
	pthread_mutex_unlock(&x->reading);
	return rc == 0 ? other : rc;
}

static int run_thread(struct comm *c, void *arg)
{
	struct comparison *x = arg;
	struct forward f = { .r = x->r, .c = c };
	int rc = run_forward(&f);
	for (tid t = 0; rc == 0 && t < x->whole->plan->g->ntensor; t++)
		if (compares(x->whole, &f, t))
			rc = compare_tensor(x, &f, t);
	release(&f);
	return rc;
}

int verify_nodes(struct verify_run *r, double tolerance, struct verify_node *out)
{
	struct forward whole = { .r = r };
	struct comparison x = { .r = r, .whole = &whole, .tolerance = tolerance };
	pthread_mutex_init(&x.reading, NULL);
	int rc = run_forward(&whole);
	if (rc == 0)
		rc = rank_threads_run(r->parts, r->config.parallel.timeout, run_thread, &x);
	release(&whole);
	pthread_mutex_destroy(&x.reading);
	*out = x.first;
	return rc;
}
