/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs the kinds in rounds, in the order of the step. The buffers of successive nodes follow each
 * other in a ring that is as large as the step's arena, or larger than most caches. So operands are
 * not in the cache, except those whose memory the step has just used: they are read before the
 * kernel is run. The first round loads code and touches memory. For a kernel that was not run, the
 * ratio of its time to its estimate (its own or its roofline) is taken from similar kernels that
 * were. */
#include "plan/time/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/debug.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "graph/attr.h"

#define BUDGET 2.0               /* seconds of all rounds */
#define FIRST 1.0                /* of them, until no kind is added */
#define LONGEST 0.1              /* of one kernel, as estimated */
#define ROUNDS 5
/* times its estimate that a kernel is thought to take because small ones like it did */
#define MOST 8.0
#define RING ((size_t)96 << 20)       /* at most */
#define CACHED (32 << 20)             /* of the last cache, for a few processors of a server */
#define LARGEST ((size_t)512 << 20)   /* buffers of one node */

struct kind {
	const struct node *n;        /* the first of them */
	int nodes;
	double guess;                /* seconds of one, as estimated */
	bool *cached;                /* by operand, inputs first: whether a step has just used its
	                              * memory */
	int runs;                    /* not counting the first */
	double first, run[ROUNDS];   /* seconds */
};

struct rounds {
	const struct plan *p;
	struct kind *kind;
	int n, *of;                  /* kind of each node; -1: takes no
	                              * time, or waits for other ranks */
	char *memory;
	size_t bytes;
	size_t ring, at;             /* the part that small nodes go round in; where the next one's
	                              * buffers begin */
};

/* --- kinds --- */

static bool same_tensor(const struct graph *g, tid a, tid b)
{
	if (a == NONE || b == NONE)
		return a == b;
	const struct tensor *x = graph_t(g, a), *y = graph_t(g, b);
	return x->dtype == y->dtype && shape_equal(&x->shape, &y->shape) &&
	       layout_equal(&x->layout, &y->layout);
}

static bool same_tensors(const struct graph *g, const tid *a, const tid *b, int n)
{
	for (int i = 0; i < n; i++)
		if (!same_tensor(g, a[i], b[i]))
			return false;
	return true;
}

static bool same_kernel(const struct exec *e, const struct node *a, const struct node *b)
{
	const char *x = exec_impl(e, a->id), *y = exec_impl(e, b->id);
	return x == y || (x && y && strcmp(x, y) == 0);
}

static bool alike(const struct plan *p, const struct node *a, const struct node *b)
{
	return a->op == b->op && a->nin == b->nin && a->nout == b->nout && same_kernel(p->exec, a, b) &&
	       same_tensors(p->g, a->in, b->in, a->nin) &&
	       same_tensors(p->g, a->out, b->out, a->nout) &&
	       (a->op->attr_size == 0 || memcmp(a->attr, b->attr, a->op->attr_size) == 0);
}

static bool waits(const struct node *n)
{
	return node_meets(n) || (n->op->flags & (OP_BEGINS | OP_AWAITS));
}

static int kind_of(struct rounds *r, const struct node *n, double guess)
{
	int k = 0;
	while (k < r->n && !alike(r->p, r->kind[k].n, n))
		k++;
	if (k == r->n)
		r->kind[r->n++] = (struct kind){ .n = n, .guess = guess };
	r->kind[k].nodes++;
	return k;
}

static void find_kinds(struct rounds *r, const double *guess)
{
	const struct graph *g = r->p->g;
	for (int i = 0; i < g->nnode; i++)
		r->of[i] = guess[i] > 0 && !waits(g->node[i]) ? kind_of(r, g->node[i], guess[i]) : -1;
}

/* --- rounds --- */

static int by_weight(const void *a, const void *b)
{
	const struct kind *x = *(struct kind *const *)a, *y = *(struct kind *const *)b;
	double v = x->guess * x->nodes, w = y->guess * y->nodes;
	return v != w ? (v < w) - (v > w) : x->n->id - y->n->id;
}

static int by_place(const void *a, const void *b)
{
	const struct kind *x = *(struct kind *const *)a, *y = *(struct kind *const *)b;
	return x->n->id - y->n->id;
}

/* --- what is in the cache --- */

static tid operand(const struct node *n, int i)
{
	return i < n->nin ? n->in[i] : n->out[i - n->nin];
}

static double node_bytes(const struct graph *g, const struct node *n)
{
	double sum = 0;
	for (int i = 0; i < n->nin + n->nout; i++)
		sum += operand(n, i) == NONE ? 0 : (double)graph_t(g, operand(n, i))->bytes;
	return sum;
}

static bool same_memory(const struct graph *g, tid a, tid b)
{
	const tid p = graph_root(g, a), q = graph_root(g, b);
	const struct tensor *x = graph_t(g, p), *y = graph_t(g, q);
	return p == q || (x->offset >= 0 && y->offset >= 0 && x->offset < y->offset + y->bytes &&
	                  y->offset < x->offset + x->bytes);
}

static bool touches(const struct graph *g, const struct node *n, tid t)
{
	for (int i = 0; i < n->nin + n->nout; i++)
		if (operand(n, i) != NONE && same_memory(g, operand(n, i), t))
			return true;
	return false;
}

/* Whether nodes before n have used the memory of t, and since then less than a cache has room
 * for. */
static bool used_before(const struct graph *g, const struct node *n, tid t)
{
	double since = (double)graph_t(g, t)->bytes;
	for (int i = n->id - 1; i >= 0 && since < CACHED; i--) {
		if (touches(g, g->node[i], t))
			return true;
		since += node_bytes(g, g->node[i]);
	}
	return false;
}

static void find_cached(struct rounds *r)
{
	const struct graph *g = r->p->g;
	for (int k = 0; k < r->n; k++) {
		const struct node *n = r->kind[k].n;
		r->kind[k].cached = mem_calloc((size_t)(n->nin + n->nout) + 1, sizeof(bool));
		for (int i = 0; i < n->nin + n->nout; i++)
			r->kind[k].cached[i] = operand(n, i) != NONE && used_before(g, n, operand(n, i));
	}
}

static int try(struct rounds *r, const struct kind *k, double *seconds)
{
	size_t bytes = exec_trial_bytes(r->p->exec, k->n->id);
	if (r->at + bytes > r->ring)
		r->at = 0;
	r->at += bytes;
	return exec_trial(r->p->exec, k->n->id, k->cached, r->memory + r->at - bytes, seconds);
}

static bool too_large(const struct rounds *r, const struct kind *k)
{
	return k->guess > LONGEST || exec_trial_bytes(r->p->exec, k->n->id) > r->bytes;
}

/* How similar two nodes are: the same kernel, the same op, both products or both not, not at
 * all. */
static bool like(const struct rounds *r, const struct node *a, const struct node *b, int how)
{
	switch (how) {
	case 0: return a->op == b->op && same_kernel(r->p->exec, a, b);
	case 1: return a->op == b->op;
	case 2: return !((a->op->flags ^ b->op->flags) & OP_COUNTED);
	default: return true;
	}
}

/* The most expensive first, but before all others one of each kernel. */
static void put_in_order(struct rounds *r, struct kind **order)
{
	struct kind **all = mem_calloc((size_t)r->n + 1, sizeof *all);
	int n = 0;
	for (int i = 0; i < r->n; i++)
		all[i] = &r->kind[i];
	qsort(all, (size_t)r->n, sizeof *all, by_weight);
	for (int others = 0; others < 2; others++)
		for (int i = 0; i < r->n; i++) {
			bool other = false;
			for (int k = 0; k < i && !other; k++)
				other = like(r, all[k]->n, all[i]->n, 0);
			if (other == others)
				order[n++] = all[i];
		}
	mem_free(all);
}

/* In order: those that were run, this many. */
static int first_round(struct rounds *r, struct kind **order, int *tried)
{
	double until = io_seconds() + FIRST;
	put_in_order(r, order);
	*tried = 0;
	for (int i = 0; i < r->n && io_seconds() < until; i++) {
		if (too_large(r, order[i]))
			continue;
		TRY(try(r, order[i], &order[i]->first));
		order[(*tried)++] = order[i];
	}
	qsort(order, (size_t)*tried, sizeof *order, by_place);
	return 0;
}

static int all_rounds(struct rounds *r, struct kind **order)
{
	double end = io_seconds() + BUDGET;
	int n;
	TRY(first_round(r, order, &n));
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < n && (round == 0 || io_seconds() < end); i++) {
			struct kind *k = order[i];
			TRY(try(r, k, &k->run[k->runs]));
			k->runs++;
		}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* What it took, the lesser of two middle ones; 0: it was not run. */
static double taken(struct kind *k)
{
	int n = k->runs;
	qsort(k->run, (size_t)n, sizeof *k->run, by_value);
	return n == 0 ? k->first : k->run[(n - 1) / 2];
}

/* --- what was not run --- */

/* How much longer than their estimates those took that are most like n. */
static double factor(const struct rounds *r, const struct node *n, const double *took)
{
	for (int how = 0; how < 4; how++) {
		double sum = 0, guess = 0;
		for (int k = 0; k < r->n; k++) {
			if (took[k] <= 0 || !like(r, r->kind[k].n, n, how))
				continue;
			sum += took[k] * r->kind[k].nodes;
			guess += r->kind[k].guess * r->kind[k].nodes;
		}
		if (guess > 0)
			return fmin(sum / guess, MOST);
	}
	return 1;
}

static void spread(struct rounds *r, struct trials *t, double *seconds)
{
	double *took = mem_calloc((size_t)r->n + 1, sizeof *took), run = 0, all = 0;
	for (int k = 0; k < r->n; k++) {
		took[k] = taken(&r->kind[k]);
		t->tried += took[k] > 0;
	}
	for (int i = 0; i < r->p->g->nnode; i++) {
		int k = r->of[i];
		if (seconds[i] <= 0)
			continue;
		if (k >= 0 && took[k] > 0) {
			seconds[i] = took[k];
			run += took[k];
		} else {
			seconds[i] *= factor(r, r->p->g->node[i], took);
		}
		all += seconds[i];
	}
	t->kinds = r->n;
	t->share = all > 0 ? run / all : 0;
	mem_free(took);
}

static int run(struct rounds *r)
{
	struct kind **order = mem_calloc((size_t)r->n + 1, sizeof *order);
	r->bytes = LARGEST;
	r->ring = exec_arena_bytes(r->p->exec) < RING ? exec_arena_bytes(r->p->exec) : RING;
	r->memory = mem_map(r->bytes);
	int rc = r->memory ? exec_trial_begin(r->p->exec) : 0;
	if (r->memory && rc == 0)
		rc = all_rounds(r, order);
	if (r->memory)
		exec_trial_end(r->p->exec);
	mem_unmap(r->memory, r->bytes);
	mem_free(order);
	return rc;
}

/* The kernel's own where it has one. */
static double estimate(const struct node_rates *r, const struct plan *p, const struct node *n)
{
	const double roof = node_seconds(r, p->g, n), work = exec_work(p->exec, n->id);
	return roof > 0 && work > 0 && work < INFINITY ? work / r->f32 : roof;
}

int trials_run(struct trials *t, const struct plan *p, const struct device *d,
               const struct node_rates *rates, double *seconds)
{
	const struct graph *g = p->g;
	struct rounds r = { .p = p };
	*t = (struct trials){ 0 };
	for (int i = 0; i < g->nnode; i++)
		seconds[i] = estimate(rates, p, g->node[i]);
	if (d->driver || debug.no_trials || debug.sleep || device_rates_described(d))
		return 0;
	r.kind = mem_calloc((size_t)g->nnode + 1, sizeof *r.kind);
	r.of = mem_calloc((size_t)g->nnode + 1, sizeof *r.of);
	find_kinds(&r, seconds);
	find_cached(&r);
	int rc = run(&r);
	spread(&r, t, seconds);
	for (int k = 0; k < r.n; k++)
		mem_free(r.kind[k].cached);
	mem_free(r.kind);
	mem_free(r.of);
	return rc;
}
