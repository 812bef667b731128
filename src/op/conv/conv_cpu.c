/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions on the CPU: for each node, the algorithm of the table below with the shortest
 * estimate (conv_algorithm.h), or the one of DLX_DEBUG=conv=NAME wherever it supports the
 * convolution. */
#include "op/conv/conv_cpu.h"

#include <math.h>
#include <string.h>

#include "backend/proof/passed.h"
#include "base/buf.h"
#include "base/debug.h"
#include "base/err.h"
#include "op/conv/conv_args.h"
#include "op/conv/conv_algorithm.h"
#include "op/conv/conv_shape.h"

/* [0] is the fallback: it takes every convolution and fixes the layout of the weights. */
static const struct conv_algorithm *const algorithms[] = {
	&conv_dnn, &conv_direct_weights,
#ifdef CONV_HAS_WINOGRAD
	&conv_winograd, &conv_depthwise, &conv_point,
#endif
};
#define NALGORITHM ((int)(sizeof algorithms / sizeof *algorithms))

static struct conv_task task_of(const struct kplan *k, enum conv_kind kind)
{
	return (struct conv_task){ .kind = kind,
				   .geom = conv_geom_get(k->g, k->n, kind),
				   .bias = conv_has_bias(k->n, kind),
				   .sum = conv_has_sum(k->n, kind),
				   .dtype = graph_t(k->g, k->n->in[0])->dtype,
				   .result = graph_t(k->g, k->n->out[0])->dtype,
				   .n = k->n, .env = k->env };
}

static int unsupported(const struct conv_task *t)
{
	struct buf text = BUF_INIT;
	const struct conv_geom *c = &t->geom;
	for (int i = 0; i < c->ns; i++)
		buf_printf(&text, "%s%lld", i ? "x" : "", (long long)c->kernel[i]);
	for (int i = 0; i < c->ns; i++)
		buf_printf(&text, "%s%lld", i ? "x" : ", dilation ", (long long)c->dilation[i]);
	int rc = ERR(E_UNSUPPORTED, &t->n->loc,
	                   "no CPU implementation supports this convolution (%s, groups %lld)",
	                   text.data, (long long)c->groups);
	buf_release(&text);
	return rc;
}

/* Whether the algorithm may be used: not if it was found wrong for this problem
 * (backend/proof/passed.h). oneDNN's implementations are excluded one by one where oneDNN is
 * queried for them. */
static bool is_allowed(const struct conv_algorithm *c, const struct conv_task *t)
{
	return c == &conv_dnn || passed_count() == 0 || !passed_over(conv_problem(t), c->name);
}

static double seconds(const struct conv_algorithm *c, const struct conv_task *t)
{
	if (!is_allowed(c, t))
		return INFINITY;
	const double s = c->seconds(t);
	return debug.conv && strcmp(debug.conv, c->name) == 0 && s < INFINITY ? 0 : s;
}

/* --- while layouts are being chosen --- */

#define COPY_RATE 15e9         /* bytes per second that are copied from one layout (or slice) to
                                * another */

/* Seconds to reorder weights from another layout, or to do so with their gradient later. */
static double reordering(const struct layout *have, const struct layout *want)
{
	if (!have->set || layout_equal(have, want))
		return 0;
	return (double)layout_elements(want) * sizeof(float) / COPY_RATE;
}

static int choose_task(struct conv_task *t)
{
	double least = INFINITY;
	struct conv_task best;
	const struct layout have = t->w;
	for (int i = 0; i < NALGORITHM; i++) {
		struct conv_task own = *t;
		int rc = algorithms[i]->choose(&own);
		TRY(rc);
		if (i == 0 && rc && !t->w.set)
			t->w = own.w;
		const double time = rc ? seconds(algorithms[i], &own) + reordering(&have, &own.w) :
		                    INFINITY;
		if (time < least) {
			least = time;
			best = own;
		}
	}
	if (least == INFINITY)
		return unsupported(t);
	*t = best;
	return 0;
}

static int choose(struct kplan *k, enum conv_kind kind, struct layout *in, struct layout *out)
{
	const struct conv_slots s = conv_slots_of(kind, k->n);
	struct conv_task t = task_of(k, kind);
#define LAYOUT(slot) (*((slot) < k->n->nin ? &in[slot] : &out[(slot) - k->n->nin]))
	t.x = LAYOUT(s.x);
	t.w = LAYOUT(s.w);
	t.y = LAYOUT(s.y);
	TRY(choose_task(&t));
	LAYOUT(s.x) = t.x;
	LAYOUT(s.w) = t.w;
	LAYOUT(s.y) = t.y;
	if (t.sum)
		in[CONV_SUM] = t.x;
	if (t.bias)
		LAYOUT(s.bias) = layout_plain(&graph_t(k->g, conv_tensor_at(k->n, s.bias))->shape);
#undef LAYOUT
	return 0;
}

/* Finds the layout of the weights in advance, since that takes the most time; the gradients then
 * have it. */
void conv_foresee(const struct kplan *k)
{
	struct conv_task t = task_of(k, CONV_FORWARD);
	const int mark = err_count();
	t.w = graph_t(k->g, k->n->in[1])->layout;
	algorithms[0]->choose(&t);
	err_truncate(mark);
}

/* The estimate for given layouts. If the weights are not in the algorithm's preferred layout, the
 * time of a reorder is added, as a measure of how much slower the algorithm is with them. */
static double seconds_in_layouts(const struct conv_algorithm *c, const struct conv_task *t)
{
	struct conv_task own = *t;
	const int mark = err_count(), rc = c->choose(&own);
	err_truncate(mark);
	return seconds(c, t) + (rc > 0 ? reordering(&t->w, &own.w) : 0);
}

/* --- slices --- */

static bool takes_slice(const struct kplan *k, enum conv_kind kind, bool output, int i)
{
	const struct conv_slots s = conv_slots_of(kind, k->n);
	const int slot = output ? k->n->nin + i : i;
	struct conv_task t = task_of(k, kind);
	double least = INFINITY, sliced = INFINITY;
	struct layout_rows rows;
	if (conv_has_sum(k->n, kind) && slot == CONV_SUM)
		return layout_rows(&graph_t(k->g, k->n->out[0])->layout,
		                   &graph_t(k->g, k->n->out[0])->shape, &rows);
	if (slot != s.x && slot != s.y)
		return false;
	t.x = graph_t(k->g, conv_tensor_at(k->n, s.x))->layout;
	t.w = graph_t(k->g, conv_tensor_at(k->n, s.w))->layout;
	t.y = graph_t(k->g, conv_tensor_at(k->n, s.y))->layout;
	for (int c = 0; c < NALGORITHM; c++) {
		const double time = seconds_in_layouts(algorithms[c], &t);
		least = fmin(least, time);
		if (algorithms[c]->slices)
			sliced = fmin(sliced, time);
	}
	const struct shape *shape = &graph_t(k->g, conv_tensor_at(k->n, slot))->shape;
	if (least == 0 && sliced > 0)
		return false;      /* the algorithm of DLX_DEBUG supports no slices */
	return sliced <= least + (double)shape_count(shape) * sizeof(float) / COPY_RATE;
}

/* The addend must consist of rows of channels, like the result, or (sum_px stays 0) have exactly
 * the result's layout. */

/* Plans the addend: by rows if it has rows like the result; otherwise (sum_px stays 0) its layout
 * is the result's. */
static int plan_sum(const struct kplan *k, struct conv_task *t)
{
	const struct tensor *sum = graph_t(k->g, k->n->in[CONV_SUM]);
	struct layout_rows rows;
	t->sum_dtype = sum->dtype;
	if (layout_rows(&t->x, &sum->shape, &rows) && layout_rows(&sum->layout, &sum->shape, &rows)) {
		t->sum_px = rows.stride;
	} else if (!layout_equal(&sum->layout, &t->x)) {
		return ERR(E_UNSUPPORTED, &k->n->loc, "what is added to '%s' stands otherwise",
		           k->n->op->name);
	}
	return 0;
}

/* flop/s of the machine that the estimates assume: two cores at 3.7 GHz */
#define MODEL_FLOPS 474e9

/* Tries the algorithms in the order of their estimates. */
static int plan_task(struct kplan *k, const struct conv_task *t)
{
	bool tried[NALGORITHM] = { false };
	double time[NALGORITHM];
	for (int i = 0; i < NALGORITHM; i++)
		time[i] = seconds_in_layouts(algorithms[i], t);
	for (int round = 0; round < NALGORITHM; round++) {
		int best = -1;
		for (int i = 0; i < NALGORITHM; i++)
			if (!tried[i] && (best < 0 || time[i] < time[best]))
				best = i;
		tried[best] = true;
		if (!is_allowed(algorithms[best], t))
			continue;
		int rc = algorithms[best]->plan(k, t);
		if (rc > 0 && !k->choice.impl && algorithms[best] != &conv_dnn)
			k->choice = (struct kernel_choice){ algorithms[best]->name, conv_problem(t) };
		k->work = algorithms[best]->seconds(t) * MODEL_FLOPS;
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return unsupported(t);
}

static int plan(struct kplan *k, enum conv_kind kind)
{
	const struct conv_slots s = conv_slots_of(kind, k->n);
	struct conv_task t = task_of(k, kind);
	t.x = graph_t(k->g, conv_tensor_at(k->n, s.x))->layout;
	t.w = graph_t(k->g, conv_tensor_at(k->n, s.w))->layout;
	t.y = graph_t(k->g, conv_tensor_at(k->n, s.y))->layout;
	if (t.sum)
		TRY(plan_sum(k, &t));
	return plan_task(k, &t);
}

/* --- kernels --- */

int conv_run(const struct kplan *k, const struct kargs *a)
{
	const struct conv_kernel *ck = k->state;
	return ck->algorithm->run(k, a);
}

void conv_free(struct kplan *k)
{
	const struct conv_kernel *ck = k->state;
	if (ck && ck->algorithm->free)
		ck->algorithm->free(k);
}

int conv_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return choose(k, CONV_FORWARD, in, out);
}

int conv_grad_input_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return choose(k, CONV_BACKWARD_DATA, in, out);
}

int conv_grad_weight_choose(struct kplan *k, struct layout *in, struct layout *out)
{
	return choose(k, CONV_BACKWARD_WEIGHTS, in, out);
}

bool conv_takes_slice(const struct kplan *k, bool output, int i)
{
	return takes_slice(k, CONV_FORWARD, output, i);
}

bool conv_grad_input_takes_slice(const struct kplan *k, bool output, int i)
{
	return takes_slice(k, CONV_BACKWARD_DATA, output, i);
}

bool conv_grad_weight_takes_slice(const struct kplan *k, bool output, int i)
{
	return takes_slice(k, CONV_BACKWARD_WEIGHTS, output, i);
}

int conv_plan(struct kplan *k)
{
	return plan(k, CONV_FORWARD);
}

int conv_grad_input_plan(struct kplan *k)
{
	return plan(k, CONV_BACKWARD_DATA);
}

int conv_grad_weight_plan(struct kplan *k)
{
	return plan(k, CONV_BACKWARD_WEIGHTS);
}
