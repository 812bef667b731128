/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Divides the gradients, in the order in which backward finishes them, into buckets. All-reduces
 * run one after the other, and the parameters of a bucket are updated after its all-reduce, in the
 * same order. So a step ends at the largest of the times
 *
 *   done(k) + the updates of bucket k and of all buckets after it
 *
 * and not before backward and all updates have run. For a given end, each bucket has a latest time,
 * and dynamic programming over the gradients finds whether all buckets can be in time; bisection
 * finds the earliest end. This is the least of all divisions, and each division takes longer on
 * twice the ranks, so the step does not become shorter there. Of the divisions with this end the
 * one with the fewest messages is chosen.
 *
 * Gradients are first joined to atoms of 64 KiB, below which the cost of a message is just its
 * latency, and of more if there are more than about a thousand. So the solver is as fast for ten
 * thousand parameters as for a hundred. */
#include "plan/sums/buckets.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "op/update/all_reduce.h"
#include "yaml/schema_units.h"

#define ATOM_BYTES 65536
#define ATOMS 1024             /* about, at most */
#define HALVINGS 40            /* of the interval in which the earliest end is */
#define UPDATE_PASSES 5        /* of an update: it reads the sum, the parameter and a moment, and
                                * writes the latter two */

/* --- the rule --- */

static int parse_value(const char *text, struct grouping *out)
{
	double v = 0;
	bool size = strncmp(text, "size:", 5) == 0;
	if (!size && strncmp(text, "count:", 6) != 0)
		return E_CONFIG;
	out->kind = size ? GROUPING_SIZE : GROUPING_COUNT;
	if (!units_bytes(strchr(text, ':') + 1, &v) || !(v >= 1 && v < 1e15) ||
	    (!size && v != floor(v)))
		return E_CONFIG;
	out->value = (int64_t)v;
	return 0;
}

int grouping_parse(const char *text, const struct loc *loc, struct grouping *out)
{
	*out = (struct grouping){ GROUPING_AUTO, 0 };
	if (strcmp(text, "auto") == 0)
		return 0;
	out->kind = GROUPING_NONE;
	if (strcmp(text, "none") == 0 || parse_value(text, out) == 0)
		return 0;
	return ERR(E_CONFIG, loc, "unknown grouping '%s'; expected auto, none, size:BYTES as "
	           "in size:25MiB, or count:N", text);
}

/* --- where to cut --- */

static int cut_by_size(int n, const int64_t *bytes, int64_t most, int *first)
{
	int buckets = 0;
	int64_t sum = 0;
	for (int i = 0; i < n; i++) {
		if (i == 0 || sum + bytes[i] > most) {
			first[buckets++] = i;
			sum = 0;
		}
		sum += bytes[i];
	}
	return buckets;
}

static int cut_by_count(int n, const int64_t *bytes, int64_t count, int *first)
{
	double total = 0, sum = 0;
	int buckets = 0;
	for (int i = 0; i < n; i++)
		total += (double)bytes[i];
	for (int i = 0; i < n; i++) {
		if (buckets < count && sum >= total * buckets / (double)count)
			first[buckets++] = i;
		sum += (double)bytes[i];
	}
	return buckets;
}

/* Atom a is atom[a] .. atom[a + 1] - 1. */
static int make_atoms(int n, const int64_t *bytes, int *atom)
{
	int64_t all = 0;
	for (int i = 0; i < n; i++)
		all += bytes[i];
	int atoms = cut_by_size(n, bytes, all / ATOMS > ATOM_BYTES ? all / ATOMS : ATOM_BYTES, atom);
	atom[atoms] = n;
	return atoms;
}

/* The solver's input, n atoms. */
struct atoms {
	int n;
	int *first;                  /* n + 1 indices of gradients: atom i begins at gradient
	                              * first[i] */
	double *ready;               /* seconds at which each atom is ready */
	double *rest;                /* seconds of the updates of atom i and all after it; n + 1 */
	double *cost;                /* at i * (n + 1) + j: seconds of the message of atoms i to
	                              * j - 1 */
};

static double message(const struct atoms *a, int i, int j)
{
	return a->cost[i * (a->n + 1) + j];
}

/* Whether a division exists with which the step ends at `end`. done: room for n + 1. */
static bool possible(const struct atoms *a, double end, double *done)
{
	done[0] = 0;
	for (int j = 1; j <= a->n; j++) {
		done[j] = INFINITY;
		for (int i = 0; i < j; i++) {
			double begin = done[i] > a->ready[j - 1] ? done[i] : a->ready[j - 1];
			double now = begin + message(a, i, j);
			if (now + a->rest[i] <= end && now < done[j])
				done[j] = now;
		}
	}
	return done[a->n] < INFINITY;
}

/* Between the step without messages and the one with a single message. */
static double earliest(const struct atoms *a)
{
	double low = a->n ? a->ready[a->n - 1] + a->rest[0] : 0, high = low + message(a, 0, a->n);
	double *done = mem_calloc((size_t)a->n + 1, sizeof *done);
	if (possible(a, low, done))
		high = low;
	for (int i = 0; i < HALVINGS && high > low; i++) {
		const double middle = low + (high - low) / 2;
		*(possible(a, middle, done) ? &high : &low) = middle;
	}
	mem_free(done);
	return high;
}

/* latest[i]: the latest time at which the first i atoms may be done if the others must be in time
 * for the step to end at `end`, with a given number of messages; -1: impossible. Each call allows
 * one more message. next[i]: the end of the message that begins at atom i. */
static void one_more(const struct atoms *a, double end, const double *latest, double *now,
                     int *next)
{
	for (int i = 0; i <= a->n; i++) {
		now[i] = -1;
		for (int j = i + 1; j <= a->n; j++) {
			double cost = message(a, i, j), by = fmin(latest[j], end - a->rest[i]);
			if (by - cost > now[i] && a->ready[j - 1] + cost <= by) {
				now[i] = by - cost;
				next[i] = j;
			}
		}
	}
}

/* Finds the division with the fewest messages with which the step ends at `end`, which must exist.
 * Returns the number of messages. */
static int fewest(const struct atoms *a, double end, int *first)
{
	size_t row = (size_t)a->n + 1;
	double *latest = mem_alloc(row * sizeof *latest), *now = mem_alloc(row * sizeof *now);
	int **next = mem_calloc(row + 1, sizeof *next), k = 0;
	for (int i = 0; i <= a->n; i++)
		latest[i] = i == a->n ? end : -1;
	while (latest[0] < 0 && k < a->n) {
		next[k] = mem_calloc(row, sizeof **next);
		one_more(a, end, latest, now, next[k++]);
		memcpy(latest, now, row * sizeof *now);
	}
	for (int m = 0, at = 0; m < k; at = next[k - 1 - m][at], m++)
		first[m] = a->first[at];
	for (int m = 0; m < k; m++)
		mem_free(next[m]);
	mem_free(next);
	mem_free(latest);
	mem_free(now);
	return k;
}

static void fill_atoms(struct atoms *a, const struct linkmodel *link, const struct gradients *g)
{
	const int n = a->n;
	double *upto = mem_calloc((size_t)n + 1, sizeof *upto);
	for (int k = 0; k < n; k++) {
		a->ready[k] = g->ready[a->first[k + 1] - 1];
		upto[k + 1] = upto[k];
		for (int i = a->first[k]; i < a->first[k + 1]; i++)
			upto[k + 1] += (double)g->bytes[i];
	}
	for (int k = n - 1; k >= 0; k--) {
		a->rest[k] = a->rest[k + 1];
		for (int i = a->first[k]; g->update && i < a->first[k + 1]; i++)
			a->rest[k] += g->update[i];
	}
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j <= n; j++)
			a->cost[i * (n + 1) + j] = linkmodel_seconds(link, upto[j] - upto[i]);
	mem_free(upto);
}

static int cut_best(const struct linkmodel *link, const struct gradients *g, int *first)
{
	struct atoms a = { .first = mem_alloc(((size_t)g->n + 1) * sizeof *a.first) };
	a.n = make_atoms(g->n, g->bytes, a.first);
	const size_t row = (size_t)a.n + 1;
	a.ready = mem_alloc(row * sizeof *a.ready);
	a.rest = mem_calloc(row, sizeof *a.rest);
	a.cost = mem_calloc(row * row, sizeof *a.cost);
	fill_atoms(&a, link, g);
	int buckets = fewest(&a, earliest(&a) * (1 + 1e-12), first);
	mem_free(a.first);
	mem_free(a.ready);
	mem_free(a.rest);
	mem_free(a.cost);
	return buckets;
}

int buckets_cut(const struct grouping *how, const struct linkmodel *link, const struct gradients *g,
                int *first)
{
	int buckets = 0;
	switch (how->kind) {
	case GROUPING_AUTO: buckets = cut_best(link, g, first); break;
	case GROUPING_NONE: buckets = cut_by_size(g->n, g->bytes, 0, first); break;
	case GROUPING_SIZE: buckets = cut_by_size(g->n, g->bytes, how->value, first); break;
	case GROUPING_COUNT: buckets = cut_by_count(g->n, g->bytes, how->value, first); break;
	}
	first[buckets] = g->n;
	return buckets;
}

/* --- what is to be cut --- */

/* Seconds from the beginning of backward to the end of each node. */
static double *node_ends(const struct graph *g, const struct ranks_plan *r)
{
	double *at = mem_alloc(((size_t)g->nnode + 1) * sizeof *at), now = 0;
	for (int i = 0; i < g->nnode; i++) {
		if (g->node[i]->phase == PHASE_BACKWARD)
			now += node_seconds(&r->rates, g, g->node[i]);
		at[i] = now;
	}
	return at;
}

/* The node of backward that makes gradient t, which may be a sum of micro-batches: those come
 * with the last of them. */
static nid made_by(const struct graph *g, tid t)
{
	const struct node *n = g->node[graph_t(g, t)->producer];
	while (strcmp(n->op->name, "accumulate") == 0) {
		int i = 0;
		while (n->out[i] != t)
			i++;
		t = n->in[2 + 2 * i];
		n = g->node[graph_t(g, t)->producer];
	}
	return n->id;
}

/* Whether updates run while sums do. The ranks of a host sum with the processors that update. */
static bool updates_meanwhile(const struct ranks_plan *r, bool at_once)
{
	return r->rates.bytes > 0 && !at_once && !(r->link->kind == LINK_HOSTS && r->link->ranks > 1);
}

/* A gradient is ready no earlier than those before it. */
static struct gradients *gradients_of(struct graph *g, const struct bundles *b,
                                      const struct ranks_plan *r, bool at_once)
{
	const int n = b->nparam;
	struct gradients *out = ARENA_NEW(g->arena, struct gradients);
	double *ends = node_ends(g, r), *ready = ARENA_ARRAY(g->arena, double, n + 1),
	       *update = ARENA_ARRAY(g->arena, double, n + 1);
	int64_t *bytes = ARENA_ARRAY(g->arena, int64_t, n + 1);
	for (int i = 0; i < n; i++) {
		const int64_t count = shape_count(&graph_t(g, b->param[i])->shape);
		const double end = ends[made_by(g, b->grad[i])];
		ready[i] = i && ready[i - 1] > end ? ready[i - 1] : end;
		bytes[i] = all_reduce_bytes(count, all_reduce_dtype(r->wire));
		if (updates_meanwhile(r, at_once))
			update[i] = UPDATE_PASSES * (double)count * sizeof(float) / r->rates.bytes;
	}
	mem_free(ends);
	*out = (struct gradients){ n, ready, update, bytes };
	return out;
}

struct buckets *buckets_solve(struct graph *g, const struct bundles *b, const struct ranks_plan *r,
                              bool at_once)
{
	struct buckets *k = ARENA_NEW(g->arena, struct buckets);
	const struct gradients *all = gradients_of(g, b, r, at_once);
	k->first = ARENA_ARRAY(g->arena, int, all->n + 1);
	k->params = all->n;
	k->order = b->order;
	if (r->given) {
		BUG_IF(r->given->params != all->n, "%d parameters, not %d", all->n, r->given->params);
		k->n = r->given->n;
		memcpy(k->first, r->given->first, ((size_t)k->n + 1) * sizeof *k->first);
	} else {
		k->n = buckets_cut(&r->grouping, r->link, all, k->first);
	}
	k->bytes = ARENA_ARRAY(g->arena, int64_t, k->n);
	for (int i = 0; i < k->n; i++)
		for (int j = k->first[i]; j < k->first[i + 1]; j++)
			k->bytes[i] += all->bytes[j];
	return k;
}

struct buckets *buckets_copy(struct arena *a, const struct buckets *k)
{
	struct buckets *copy = ARENA_NEW(a, struct buckets);
	copy->n = k->n;
	copy->params = k->params;
	copy->order = arena_copy(a, k->order, (size_t)k->params * sizeof *k->order);
	copy->first = arena_copy(a, k->first, ((size_t)k->n + 1) * sizeof *k->first);
	return copy;
}

/* --- emission: bucket 0 is that of the terms, gradients follow --- */

static void enter(struct graph *g, const struct bundles *b, const struct buckets *k, int i)
{
	const struct tensor *w = graph_t(g, b->param[k->first[i]]);
	int more = k->first[i + 1] - k->first[i] - 1;
	g->cur_name = more ? arena_printf(g->arena, "%s and %d more", w->name, more) : w->name;
	if (w->loc.file)
		g->cur_loc = w->loc;
	g->cur_phase = PHASE_UPDATE;
}

static int sum_state(struct graph *g, tid p, bool kept, tid *out)
{
	TRY(bundles_state(g, p, "gradient_of_all", out));
	graph_t(g, *out)->grad_of = p;
	graph_t(g, *out)->use = kept ? STATE_OF_TRAINING : STATE_OF_STEP;
	return 0;
}

static int emit_start(struct graph *g, int n, const tid *x, const tid *value,
                      const struct all_reduce_attr *at, tid *out)
{
	tid *in = ARENA_ARRAY(g->arena, tid, 2 * n);
	for (int i = 0; i < n; i++) {
		in[2 * i] = x[i];
		in[2 * i + 1] = value[i];
	}
	return graph_emit(g, "all_reduce_start", at, 2 * n, in, n, out);
}

static int emit_terms(struct graph *g, struct mean *m)
{
	struct all_reduce_attr at = { .group = 0, .factor = 1 };
	struct shape s = { 1, { MEAN_TERMS } };
	tid state, begun;
	g->cur_name = "mean_terms";
	g->cur_phase = PHASE_UPDATE;
	TRY(graph_state(g, "mean_terms_of_all", DTYPE_F32, &s, (struct init){ INIT_CONSTANT, 0 },
	                &state));
	graph_t(g, state)->use = STATE_OF_STEP;
	TRY(emit_start(g, 1, &state, &m->terms, &at, &begun));
	return graph_emit(g, "all_reduce_wait", &at, 1, &begun, 1, &m->terms);
}

int buckets_emit_more(struct graph *g, int bucket, int n, const tid *base, tid *value)
{
	struct all_reduce_attr at = { .group = bucket, .factor = 1 };
	tid *x = ARENA_ARRAY(g->arena, tid, n);
	for (int i = 0; i < n; i++) {
		const struct tensor *t = graph_t(g, base[i]);
		TRY(graph_state(g, arena_printf(g->arena, "%s.of_all", t->name), t->dtype, &t->shape,
		                (struct init){ INIT_CONSTANT, 0 }, &x[i]));
		graph_t(g, x[i])->use = STATE_OF_STEP;
	}
	TRY(emit_start(g, n, x, value, &at, x));
	return graph_emit(g, "all_reduce_wait", &at, n, x, n, value);
}

/* With a lag, waits for the all-reduce that was started one step ago. */
static int emit_bucket(struct graph *g, struct bundles *b, struct buckets *k, int i,
                       const struct ranks_plan *r, double divided)
{
	struct all_reduce_attr at = { i + 1, r->wire, 1 / divided };
	int n = k->first[i + 1] - k->first[i];
	tid *grad = b->grad + k->first[i], *x = k->wait + k->first[i];
	enter(g, b, k, i);
	for (int j = 0; j < n; j++)
		TRY(sum_state(g, b->param[k->first[i] + j], r->lag, &x[j]));
	if (!r->lag)
		TRY(emit_start(g, n, x, grad, &at, x));
	TRY(graph_emit(g, "all_reduce_wait", &at, n, x, n, x));
	for (int j = 0; j < n; j++) {
		tid sum = x[j];
		x[j] = grad[j];          /* what buckets_emit_lagged begins with */
		grad[j] = sum;
	}
	return 0;
}

int buckets_emit(struct graph *g, struct bundles *b, struct buckets *k, struct mean *m,
                 const struct ranks_plan *r, double divided)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	tid unused;
	k->wait = ARENA_ARRAY(g->arena, tid, b->nparam);
	/* in the network's order, which is that of checkpoints */
	for (int i = 0; i < b->nparam; i++)
		TRY(sum_state(g, b->network[i], r->lag, &unused));
	int rc = emit_terms(g, m);
	for (int i = 0; i < k->n && rc == 0; i++)
		rc = emit_bucket(g, b, k, i, r, divided);
	graph_leave(g, saved);
	return rc;
}

int buckets_emit_lagged(struct graph *g, const struct bundles *b, struct buckets *k,
                        const struct ranks_plan *r, double divided)
{
	struct graph_context saved = { g->cur_name, g->cur_loc, g->cur_phase };
	int rc = 0;
	for (int i = 0; i < k->n && rc == 0 && r->lag; i++) {
		struct all_reduce_attr at = { i + 1, r->wire, 1 / divided };
		int n = k->first[i + 1] - k->first[i];
		tid *out = ARENA_ARRAY(g->arena, tid, n);
		enter(g, b, k, i);
		rc = emit_start(g, n, b->grad + k->first[i], k->wait + k->first[i], &at, out);
	}
	graph_leave(g, saved);
	return rc;
}
