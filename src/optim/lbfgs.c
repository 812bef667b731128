/* SPDX-License-Identifier: BSD-3-Clause
 *
 * L-BFGS by reverse communication. Between two calls the state is that of a line search in
 * progress: the last point, its loss and gradient, the direction, the state of the search, and the
 * gradient at the best length, so that a search that cannot continue still keeps its progress.
 *
 * If a search fails, the pairs are discarded and the next search uses the direction of steepest
 * descent. Only if that fails too is the minimisation stopped. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/simd.h"
#include "optim/lbfgs.h"

/* A pair is kept if the cosine of the angle between its move and its change is larger; the cosine
 * does not depend on the scales of loss and parameters. On a quadratic it is at least 2 /
 * sqrt(condition). */
#define LEAST_COSINE 1e-10
#define HEAD (sizeof(struct lbfgs_head) / sizeof(double))

/* --- sums, the same for any vectors: by eight lanes in blocks, then blocks in order --- */

#define LANES 8
#define BLOCK 1024

SIMD_CLONES(double, dot, (int64_t n, const double *x, const double *y), (n, x, y))
{
	double sum = 0;
	for (int64_t lo = 0; lo < n; lo += BLOCK) {
		int64_t hi = n < lo + BLOCK ? n : lo + BLOCK, i = lo;
		double lane[LANES] = { 0 }, block = 0;
		for (; i + LANES <= hi; i += LANES) {
			SIMD_UNROLL
			for (int j = 0; j < LANES; j++)
				lane[j] += x[i + j] * y[i + j];
		}
		for (int j = 0; i + j < hi; j++)
			lane[j] += x[i + j] * y[i + j];
		for (int j = 0; j < LANES; j++)
			block += lane[j];
		sum += block;
	}
	return sum;
}

/* y += a x */
SIMD_CLONES(void, add_scaled, (int64_t n, double a, const double *x, double *y), (n, a, x, y))
{
	SIMD_LOOP
	for (int64_t i = 0; i < n; i++)
		y[i] += a * x[i];
}

/* --- the state --- */

int64_t lbfgs_state_count(int64_t n, int history)
{
	return (int64_t)HEAD + 4 * n + 2 * history * n + 2 * history;
}

void lbfgs_init(struct lbfgs *l, int64_t n, const struct lbfgs_options *options, double *state)
{
	int64_t history = options->history;
	*l = (struct lbfgs){ .n = n, .options = *options, .head = (struct lbfgs_head *)state };
	l->point = state + HEAD;
	l->gradient = l->point + n;
	l->direction = l->gradient + n;
	l->low_gradient = l->direction + n;
	l->moves = l->low_gradient + n;
	l->changes = l->moves + history * n;
	l->curvature = l->changes + history * n;
	l->weight = l->curvature + history;
}

static bool is_count(double x, double limit)
{
	return x >= 0 && x <= limit && x == floor(x);
}

int lbfgs_restored(struct lbfgs *l)
{
	const struct lbfgs_head *h = l->head;
	int history = l->options.history;
	if (!is_count(h->pairs, history) || !is_count(h->newest, history - 1) ||
	    !is_count(h->evaluations, 1e15) || !is_count(h->steps, 1e15))
		return ERR(E_DATA, NULL, "the state of L-BFGS is damaged: its counters cannot be");
	return 0;
}

/* --- directions --- */

/* Element i of the point at a length of the search. */
static inline double trial(const struct lbfgs *l, double step, int64_t i)
{
	double x = l->point[i] + step * l->direction[i];
	return l->options.single ? (double)(float)x : x;
}

/* The index of the pair that is `age` pairs older than the newest. */
static int64_t pair_at(const struct lbfgs *l, int64_t age)
{
	return ((int64_t)l->head->newest + l->options.history - age) % l->options.history;
}

/* direction = -H gradient by the two-loop recursion. H begins with (s.y / y.y) of the newest pair:
 * the inverse of the loss's curvature along it. */
static void find_direction(struct lbfgs *l)
{
	int64_t n = l->n, pairs = (int64_t)l->head->pairs;
	double *d = l->direction, scale = 1;
	for (int64_t i = 0; i < n; i++)
		d[i] = -l->gradient[i];
	for (int64_t age = 0; age < pairs; age++) {
		int64_t k = pair_at(l, age);
		l->weight[k] = dot(n, l->moves + k * n, d) / l->curvature[k];
		add_scaled(n, -l->weight[k], l->changes + k * n, d);
	}
	if (pairs > 0) {
		const double *y = l->changes + pair_at(l, 0) * n;
		scale = l->curvature[pair_at(l, 0)] / dot(n, y, y);
	}
	for (int64_t i = 0; i < n; i++)
		d[i] *= scale;
	for (int64_t age = pairs - 1; age >= 0; age--) {
		int64_t k = pair_at(l, age);
		double back = dot(n, l->changes + k * n, d) / l->curvature[k];
		add_scaled(n, l->weight[k] - back, l->moves + k * n, d);
	}
}

static double absolute_sum(int64_t n, const double *g)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += fabs(g[i]);
	return sum;
}

/* Without pairs the scale of a step is unknown: the first step changes the parameters by at most 1
 * in all. */
static void begin_search(struct lbfgs *l)
{
	struct lbfgs_head *h = l->head;
	find_direction(l);
	double slope = dot(l->n, l->gradient, l->direction);
	if (!(slope < 0) && h->pairs > 0) {
		h->pairs = 0;
		find_direction(l);
		slope = dot(l->n, l->gradient, l->direction);
	}
	double step = h->pairs > 0 ? 1 : fmin(1, 1 / absolute_sum(l->n, l->gradient));
	wolfe_begin(&h->search, h->loss, slope, step, l->options.rounding);
}

/* --- steps --- */

static void keep_pair(struct lbfgs *l, const double *move, const double *change)
{
	struct lbfgs_head *h = l->head;
	size_t bytes = (size_t)l->n * sizeof *move;
	double product = dot(l->n, move, change);
	double lengths = sqrt(dot(l->n, move, move)) * sqrt(dot(l->n, change, change));
	if (!(product > LEAST_COSINE * lengths))
		return;
	h->newest = h->pairs > 0 ? (double)pair_at(l, -1) : 0;
	h->pairs = fmin(h->pairs + 1, l->options.history);
	int64_t k = (int64_t)h->newest;
	memcpy(l->moves + k * l->n, move, bytes);
	memcpy(l->changes + k * l->n, change, bytes);
	l->curvature[k] = product;
}

/* g: the gradient there; may be l->low_gradient. Direction and low_gradient hold the new pair
 * meanwhile, which the next search overwrites. */
static void make_step(struct lbfgs *l, double step, double loss, const double *g)
{
	for (int64_t i = 0; i < l->n; i++) {
		double x = trial(l, step, i), gi = g[i];
		l->direction[i] = x - l->point[i];
		l->low_gradient[i] = gi - l->gradient[i];
		l->point[i] = x;
		l->gradient[i] = gi;
	}
	l->head->loss = loss;
	l->head->steps++;
	keep_pair(l, l->direction, l->low_gradient);
}

/* Ends the search: what lbfgs proposes next is the current point, by a step of 0. */
static enum lbfgs_next end(struct lbfgs *l, enum lbfgs_next next, const char *reason)
{
	l->head->search.step = 0;
	l->reason = reason;
	return next;
}

static bool is_flat(const struct lbfgs *l)
{
	double largest = 0;
	for (int64_t i = 0; i < l->n; i++)
		largest = fmax(largest, fabs(l->gradient[i]));
	return largest <= l->options.gradient;
}

static enum lbfgs_next first_report(struct lbfgs *l, double f, const double *g)
{
	memcpy(l->gradient, g, (size_t)l->n * sizeof *g);
	l->head->loss = f;
	if (!isfinite(f) || !isfinite(absolute_sum(l->n, g)))
		return end(l, LBFGS_STOPPED, "the loss or its gradient is not finite where L-BFGS begins");
	if (is_flat(l))
		return end(l, LBFGS_CONVERGED, "the gradient is within the tolerance");
	begin_search(l);
	return LBFGS_EVALUATE;
}

static enum lbfgs_next step_made(struct lbfgs *l, double before, bool downhill)
{
	double loss = l->head->loss, larger = fmax(fabs(before), fabs(loss));
	if (is_flat(l))
		return end(l, LBFGS_CONVERGED, "the gradient is within the tolerance");
	/* A step without pairs is short by design, so its change says little. */
	if (!downhill && before - loss <= l->options.change * larger && l->options.change > 0)
		return end(l, LBFGS_CONVERGED, "the change of the loss is within the tolerance");
	begin_search(l);
	return LBFGS_STEP;
}

static enum lbfgs_next failed(struct lbfgs *l, bool downhill)
{
	if (downhill)
		return end(l, LBFGS_STOPPED, "no step along the gradient lowers the loss by more than the "
		                             "loss's rounding error");
	l->head->pairs = 0;
	begin_search(l);
	return LBFGS_EVALUATE;
}

void lbfgs_begin(struct lbfgs *l, const double *x)
{
	memset(l->head, 0, (size_t)lbfgs_state_count(l->n, l->options.history) * sizeof(double));
	for (int64_t i = 0; i < l->n; i++)
		l->point[i] = l->options.single ? (double)(float)x[i] : x[i];
}

void lbfgs_propose(const struct lbfgs *l, double *x)
{
	for (int64_t i = 0; i < l->n; i++)
		x[i] = trial(l, l->head->search.step, i);
}

enum lbfgs_next lbfgs_report(struct lbfgs *l, double f, const double *g)
{
	struct lbfgs_head *h = l->head;
	struct wolfe *w = &h->search;
	double step = w->step, before = h->loss;
	bool downhill = h->pairs == 0;
	if (h->evaluations++ == 0)
		return first_report(l, f, g);
	enum wolfe_next next = wolfe_report(w, f, dot(l->n, g, l->direction));
	if (next == WOLFE_FAILED)
		return failed(l, downhill);
	if (next == WOLFE_EVALUATE || next == WOLFE_BEST) {
		if (w->low.step == step)
			memcpy(l->low_gradient, g, (size_t)l->n * sizeof *g);
		if (next == WOLFE_EVALUATE)
			return LBFGS_EVALUATE;
		make_step(l, w->low.step, w->low.loss, l->low_gradient);
		h->pairs = 0;
	} else {
		make_step(l, step, f, g);
	}
	return step_made(l, before, downhill);
}
