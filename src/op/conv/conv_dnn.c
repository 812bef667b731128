/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Convolutions by oneDNN. Activations stay channels-last. Weights get the layout that oneDNN
 * prefers at their first forward use, and keep it. If oneDNN has no fast code for a gradient in
 * that layout, the gradient requests another one, and the layout pass inserts a (small) reorder.
 *
 * Why channels-last even for very few channels: on 2 cores (Zen 5, oneDNN 2.6.3), forward /
 * backward data / backward weights in ms:
 *
 *                              channels-last         oneDNN's own choice    row-major source
 *   5 -> 48, 3x3, 90x180    0.18 / 0.91 / 0.34        0.21 / 0.81 / 0.73    reference code, > 60
 *   48 -> 4, 1x1, 90x180    0.07 / 0.04 / 0.33        0.08 / 0.07 / 0.16    reference code, > 5
 *   48 -> 4, 3x3, 90x180    0.51 / 0.12 / 0.74        0.60 / 0.48 / 0.54    reference code, > 40
 *   48 -> 48, 3x3, 90x180   1.39 / 1.48 / 2.03        1.42 / 1.42 / 1.74    reference code
 *   3 -> 48, 7x7 / 2        0.10 / 0.58 / 0.19        0.11 / 0.58 / 0.13    reference code, > 40 */
#include <math.h>
#include <string.h>

#include "backend/plan_env.h"
#include "backend/dnn/dnn.h"
#include "base/err.h"
#include "base/fault.h"
#include "base/half.h"
#include "graph/memplace.h"
#include "op/conv/conv_args.h"
#include "op/conv/conv_algorithm.h"
#include "op/conv/conv_shape.h"
#include "op/conv/conv_sum.h"
#include "op/lib/regroup.h"

struct dnn_kernel {
	struct conv_kernel base;
	struct dnn_prim *prim;
	struct conv_geom geom;
	bool add_bias;            /* backward data with a bias, which dlx adds */
	bool bf16;                /* add_bias: the result is bf16 */
	int64_t rows, inner;      /* add_bias: the result as rows x channels x inner */
	bool add_sum;             /* an addend is added to oneDNN's result, which is in the workspace
	                           * from `made` on */
	struct conv_sum sum;
	size_t made;
};

/* The layout of the weights in oneDNN's form, with groups as an axis. False if it has no such
 * form. */
static bool split_groups(const struct layout *l, const struct conv_geom *c, struct layout *out)
{
	if (c->groups > 1 && l->nd == c->ns + 2)
		return layout_split_first(l, c->groups, out);
	*out = *l;
	return true;
}

/* Combinations of layouts to try in order. */
struct candidate {
	enum { ACT_NATIVE, ACT_PLAIN, ACT_ANY } act;
	bool keep_w;              /* keep the layout that the weights (or their gradient) already
	                           * have */
	bool reference;           /* oneDNN's reference code is acceptable */
};

static const struct candidate candidates[] = {
	{ ACT_NATIVE, true, false }, { ACT_NATIVE, false, false },
	{ ACT_PLAIN, true, false },  { ACT_PLAIN, false, false },
	{ ACT_ANY, false, false },   { ACT_NATIVE, false, true },
};

static const struct layout *activation(const struct candidate *c, const struct shape *s,
                                       struct layout *store)
{
	if (c->act == ACT_ANY)
		return NULL;
	*store = c->act == ACT_NATIVE ? layout_native(s) : layout_plain(s);
	return store;
}

/* The positions of the layouts of x, w and y among the arguments of a primitive. */
struct places {
	int x, w, y;
};

static struct places places_of(const struct dnn_conv *c)
{
	switch (c->kind) {
	case CONV_BACKWARD_DATA: return (struct places){ 2, 1, 0 };
	case CONV_BACKWARD_WEIGHTS: return (struct places){ 0, 2, 1 };
	default: return (struct places){ 0, 1, c->bias ? 3 : 2 };
	}
}

static int read_layouts(const struct dnn_prim *p, const struct dnn_conv *c, struct conv_task *t)
{
	const struct places at = places_of(c);
	TRY(dnn_prim_layout(p, at.x, &t->x));
	TRY(dnn_prim_layout(p, at.w, &t->w));
	return dnn_prim_layout(p, at.y, &t->y);
}

/* oneDNN does not add the bias of backward data. */
static struct dnn_conv conv_of(const struct conv_task *t)
{
	struct dnn_conv c = { .kind = t->kind,
			      .geom = t->geom,
			      .bias = t->bias && t->kind != CONV_BACKWARD_DATA,
			      .any_threads = t->kind == CONV_BACKWARD_WEIGHTS && t->env->any_threads,
			      .any_extent = t->env->any_extent };
	c.x_type = t->kind == CONV_BACKWARD_DATA ? t->result : t->dtype;
	c.w_type = t->kind == CONV_BACKWARD_WEIGHTS ? t->result : t->dtype;
	c.y_type = t->kind == CONV_FORWARD ? t->result : t->dtype;
	return c;
}

uint64_t conv_problem(const struct conv_task *t)
{
	const struct dnn_conv c = conv_of(t);
	return dnn_conv_problem(&c);
}

/* Returns 1 if oneDNN has good code for this candidate (and sets t's layouts), 0 if not, or an
 * error. */
static int try_candidate(const struct candidate *cand, struct conv_task *t)
{
	const struct shape xs = conv_x_shape(&t->geom), ys = conv_y_shape(&t->geom);
	struct dnn_conv c = conv_of(t);
	struct conv_task found = *t;
	struct layout x, w, y;
	struct dnn_prim *p = NULL;
	const int mark = err_count();
	if (cand->keep_w && (!t->w.set || !split_groups(&t->w, &c.geom, &w)))
		return 0;
	c.x = activation(cand, &xs, &x);
	c.y = activation(cand, &ys, &y);
	c.w = cand->keep_w ? &w : NULL;
	int rc = dnn_conv_new(&p, &c);
	if (rc == 0 && dnn_prim_is_reference(p) && !cand->reference)
		rc = E_UNSUPPORTED;
	if (rc == 0)
		rc = read_layouts(p, &c, &found);
	dnn_prim_free(p);
	if (rc == E_UNSUPPORTED) {
		err_truncate(mark);
		return 0;
	}
	TRY(rc);
	if (cand->keep_w)
		found.w = t->w;
	*t = found;
	return 1;
}

static int choose(struct conv_task *t)
{
	const int n = (int)(sizeof candidates / sizeof *candidates);
	const bool add = (t->bias || t->sum) && t->kind == CONV_BACKWARD_DATA;
	for (int i = 0; i < n; i++) {
		if (candidates[i].act == ACT_ANY && add)
			continue;         /* dlx can add only in layouts that it knows */
		int rc = try_candidate(&candidates[i], t);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* Whether the layout is a slice of a larger buffer, for which oneDNN has reference code only. */
static bool is_slice(const struct layout *l, const struct shape *s)
{
	struct layout_rows rows;
	return layout_rows(l, s, &rows) && rows.stride != rows.c;
}

/* The factor by which a matrix unit (AMX) is faster than dot products, whose rates in bf16 follow
 * below (CONV_DOT_RATIO). Measured on two cores in class 8: forward convolutions and gradients to
 * inputs reach 1,670 to 3,690 GFLOP/s (2.6.3 and 3.7.2), 3x3 in float32 about a seventh of that.
 * The unit processes 32 channels at a time, so few channels use a part of it. */
#define UNIT_CHANNELS 32.0

static double unit_factor(const struct conv_task *t)
{
	const struct conv_geom *g = &t->geom;
	const int64_t channels = (t->kind == CONV_FORWARD ? g->ci : g->co) / g->groups;
	return !conv_has_matrix_unit(t) ? 1 :
	       fmax(1, t->env->bf16_ratio / CONV_DOT_RATIO * fmin(channels / UNIT_CHANNELS, 1));
}

/* Gradients to weights on that machine reach 850 to 1,630 GFLOP/s with 2.6.3 and 1,330 to 2,470
 * with 3.7.2, float32 about 300. With rows of 12 pixels these are 480 and 1,150, with rows of 6
 * pixels 300 and 690, since the unit processes 32 pixels of a row at a time. */
#define WEIGHTS_PART 0.7
#define FULL_ROW 20.0
#define UNIT_ROWS 16           /* channels of a gradient to weights that the matrix unit
                                * processes at a time */

static double unit_factor_weights(const struct conv_task *t)
{
	const double row = (double)t->geom.out[t->geom.ns - 1];
	return !conv_has_matrix_unit(t) ? 1 :
	       t->env->bf16_ratio / CONV_DOT_RATIO * WEIGHTS_PART * fmin(row / FULL_ROW, 1);
}

/* oneDNN 2.6's rate for the gradient to the weights, in multiply-adds per second. */
static double weights_rate(const struct conv_task *t)
{
	const struct conv_geom *g = &t->geom;
	const bool bf16 = t->dtype == DTYPE_BF16;
	const int64_t few = conv_has_matrix_unit(t) ? UNIT_ROWS : 32;
	const int64_t least = g->ci < g->co ? g->ci : g->co;
	bool point = true, strided = false, dilated = false;
	for (int i = 0; i < g->ns; i++) {
		point &= g->kernel[i] == 1;
		strided |= g->stride[i] > 1;
		dilated |= g->dilation[i] > 1;
	}
	if (bf16 && dilated)
		return 190e9;      /* im2col, which needs that much memory */
	if (bf16)
		return least < few ? 180e9 : point ? 270e9 : 330e9;
	if (point)
		return least < 64 ? 40e9 : least < 256 ? 150e9 : 195e9;
	if (strided)
		return 95e9;
	return dilated ? 150e9 : least < 32 ? 170e9 : least < 64 ? 200e9 : 220e9;
}

/* Depthwise convolutions are bound by memory, and oneDNN has no implementation for gradients of
 * dilated ones. */
static double depthwise_rate(const struct conv_task *t)
{
	const bool bf16 = t->dtype == DTYPE_BF16, forward = t->kind == CONV_FORWARD;
	for (int i = 0; i < t->geom.ns && !forward; i++)
		if (t->geom.dilation[i] > 1)
			return 2e9;
	if (t->kind == CONV_BACKWARD_WEIGHTS)
		return bf16 ? 120e9 : 90e9;
	return bf16 ? 160e9 : 90e9;
}

static double rate(const struct conv_task *t)
{
	const struct conv_geom *g = &t->geom;
	const bool bf16 = t->dtype == DTYPE_BF16;
	if (g->groups > 1 && g->groups == g->ci && g->ci == g->co)
		return depthwise_rate(t);
	if (t->kind == CONV_BACKWARD_WEIGHTS)
		return weights_rate(t) * unit_factor_weights(t);
	if (bf16)
		return (g->ci < 32 || g->co < 32 ? 340e9 : t->kind == CONV_FORWARD ? 430e9 : 390e9) *
		       unit_factor(t);
	return t->kind == CONV_FORWARD ? 215e9 : 185e9;
}

/* oneDNN adds all pixels of a thread to one float32, and loses digits with each: gradients of equal
 * sign, summed over 2 million pixels (conv1 of cosmoflow-sc18), are 2e-3 too small, where another
 * algorithm is 1e-6 off. */
#define SUM_PIXELS (1 << 18)

static bool sums_too_many(const struct conv_task *t)
{
	const struct shape s = conv_y_shape(&t->geom);
	return t->kind == CONV_BACKWARD_WEIGHTS && t->dtype == DTYPE_F32 &&
	       shape_count(&s) / t->geom.co > SUM_PIXELS;
}

#define LAST_RATE 0.25e9             /* by which any other algorithm is preferred */

static double seconds(const struct conv_task *t)
{
	const struct shape xs = conv_x_shape(&t->geom), ys = conv_y_shape(&t->geom);
	const bool last = is_slice(&t->x, &xs) || is_slice(&t->y, &ys) || sums_too_many(t);
	return conv_macs(&t->geom) / (last ? LAST_RATE : rate(t));
}

/* Sets rows, channels and inner of the result to which the bias is added. */
static int plan_bias(struct dnn_kernel *ck, const struct conv_task *t)
{
	const struct shape s = conv_x_shape(&ck->geom);
	const struct layout *l = &t->x;
	const int64_t spatial = shape_count(&s) / (ck->geom.n * ck->geom.ci);
	if (layout_is_native(l, &s)) {
		ck->rows = ck->geom.n * spatial;
		ck->inner = 1;
	} else if (layout_is_plain(l, &s)) {
		ck->rows = ck->geom.n;
		ck->inner = spatial;
	} else {
		return ERR(E_UNSUPPORTED, &t->n->loc, "a bias cannot be added in this layout");
	}
	return 0;
}

/* Checks the types: f32, or bf16 for both factors and the addend. */
static int check_dtypes(const struct kplan *k)
{
	const enum dtype first = graph_t(k->g, k->n->in[0])->dtype;
	for (int i = 0; i < k->n->nin; i++) {
		const enum dtype t = k->n->in[i] == NONE ? DTYPE_F32 : graph_t(k->g, k->n->in[i])->dtype;
		if (i == 3 ? t != DTYPE_F32 && t != DTYPE_BF16 : i < 2 ? t != first ||
		    (t != DTYPE_F32 && t != DTYPE_BF16) : t != DTYPE_F32)
			return ERR(E_UNSUPPORTED, &k->n->loc, "'%s' on the cpu takes f32 or bf16, not %s",
				   k->n->op->name, dtype_name(t));
	}
	return 0;
}

/* All equivalent stride forms of an activation's layout. The stride of an axis with one element is
 * arbitrary, but oneDNN recognises a layout by all its strides. */
static int spellings(const struct layout *l, const struct shape *s, struct layout *out)
{
	int n = 0;
	if (layout_is_native(l, s))
		out[n++] = layout_native(s);
	if (layout_is_plain(l, s))
		out[n++] = layout_plain(s);
	if (n == 0)
		out[n++] = *l;
	return n;
}

/* Replaces *best by the primitive for c if that exists and is of a faster kind. w: the layout of
 * the weights; if c leaves it open, oneDNN must choose w. */
static int improve(struct dnn_prim **best, const struct dnn_conv *c, const struct layout *w)
{
	const int mark = err_count();
	struct dnn_prim *p = NULL;
	struct layout got;
	int rc = dnn_conv_new(&p, c);
	if (rc == 0 && !c->w)
		rc = dnn_prim_layout(p, places_of(c).w, &got);
	if (rc == E_UNSUPPORTED) {
		err_truncate(mark);
		rc = 0;
	} else if (rc == 0 && (c->w || layout_equal(&got, w))
	           && (!*best || (dnn_prim_is_reference(*best) && !dnn_prim_is_reference(p)))) {
		struct dnn_prim *old = *best;
		*best = p;
		p = old;
	}
	dnn_prim_free(p);
	return rc;
}

/* The best primitive for the current layouts of the tensors, over all equivalent stride forms. */
static int find_prim(const struct conv_task *t, struct dnn_prim **out)
{
	struct dnn_conv c = conv_of(t);
	const struct shape xs = conv_x_shape(&c.geom), ys = conv_y_shape(&c.geom);
	struct layout x[2], y[2], w;
	const int nx = spellings(&t->x, &xs, x), ny = spellings(&t->y, &ys, y);
	if (!split_groups(&t->w, &c.geom, &w))
		return ERR(E_UNSUPPORTED, &t->n->loc,
			   "the weights' layout has blocks across groups");
	*out = NULL;
	for (int i = 0; i < nx * ny * 2; i++) {
		c.x = &x[i / 2 % nx];
		c.y = &y[i / 2 / nx];
		c.w = i % 2 ? NULL : &w;
		if (!*out || dnn_prim_is_reference(*out))
			TRY(improve(out, &c, &w));
	}
	if (!*out)
		return ERR(E_UNSUPPORTED, &t->n->loc, "oneDNN has no implementation of this convolution");
	return 0;
}

static int plan(struct kplan *k, const struct conv_task *t)
{
	struct dnn_kernel *ck = ARENA_NEW(k->arena, struct dnn_kernel);
	TRY(check_dtypes(k));
	k->state = ck;
	ck->base = (struct conv_kernel){ &conv_dnn, t->kind };
	ck->geom = t->geom;
	ck->bf16 = t->result == DTYPE_BF16;
	ck->add_bias = t->bias && t->kind == CONV_BACKWARD_DATA;
	if (ck->add_bias)
		TRY(plan_bias(ck, t));
	TRY(find_prim(t, &ck->prim));
	TRY(dnn_prim_prepare(ck->prim));
	k->ws_bytes = dnn_prim_workspace(ck->prim);
	ck->add_sum = t->sum;
	if (t->sum) {
		conv_sum_init(&ck->sum, t);
		ck->made = (k->ws_bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
		k->ws_bytes = ck->made + ck->sum.bytes;
	}
	k->impl = arena_strdup(k->arena, dnn_prim_impl(ck->prim));
	k->choice = dnn_prim_choice(ck->prim);
	return 1;
}

static void add_bias(const struct dnn_kernel *ck, float *restrict y, const float *restrict b)
{
	const int64_t rows = ck->rows, channels = ck->geom.ci, inner = ck->inner;
#pragma omp parallel for schedule(static)
	for (int64_t r = 0; r < rows; r++) {
		float *restrict row = y + r * channels * inner;
		if (inner == 1)
			for (int64_t c = 0; c < channels; c++)
				row[c] += b[c];
		else
			for (int64_t c = 0; c < channels; c++)
				for (int64_t i = 0; i < inner; i++)
					row[c * inner + i] += b[c];
	}
}

#define STAGE 256      /* elements that are held in f32 at a time */

/* Adds the biases of their channels to n values of a bf16 row, from `at` on. */
static void add_bias_bf16(uint16_t *row, const float *b, int64_t at, int64_t n, int64_t inner)
{
	float t[STAGE];
	bfloat_to_floats(t, row + at, n);
	for (int64_t i = 0; i < n; i++)
		t[i] += b[inner == 1 ? at + i : (at + i) / inner];
	bfloat_from_floats(row + at, t, n);
}

static void add_biases_bf16(const struct dnn_kernel *ck, uint16_t *y, const float *b)
{
	const int64_t length = ck->geom.ci * ck->inner;
#pragma omp parallel for schedule(static)
	for (int64_t r = 0; r < ck->rows; r++)
		for (int64_t i = 0; i < length; i += STAGE)
			add_bias_bf16(y + r * length, b, i, length - i < STAGE ? length - i : STAGE,
			              ck->inner);
}

/* Damages the result, so that tests can check the report of a wrong kernel. */
static void damage(const struct node *n, void *result)
{
	if (fault_hits("kernel", (uint64_t)n->id))
		memset(result, 0xff, sizeof(float));         /* NaN in bf16, too */
}

static int run(const struct kplan *k, const struct kargs *a)
{
	const struct dnn_kernel *ck = k->state;
	struct conv_args p = conv_args_get(ck->base.kind, k, a);
	void *const result = p.x;
	int rc = 0;
	if (ck->add_sum)
		p.x = (char *)a->ws + ck->made;
	switch (ck->base.kind) {
	case CONV_FORWARD:
		rc = dnn_prim_run(ck->prim, (void *[]){ p.x, p.w, p.bias ? p.bias : p.y, p.y },
		                  a->ws);
		break;
	case CONV_BACKWARD_DATA:
		rc = dnn_prim_run(ck->prim, (void *[]){ p.y, p.w, p.x }, a->ws);
		if (rc == 0 && ck->add_bias && ck->bf16)
			add_biases_bf16(ck, p.x, p.bias);
		else if (rc == 0 && ck->add_bias)
			add_bias(ck, p.x, p.bias);
		if (rc == 0 && ck->add_sum)
			conv_sum_run(&ck->sum, p.x, p.sum, result);
		break;
	case CONV_BACKWARD_WEIGHTS:
		rc = dnn_prim_run(ck->prim, (void *[]){ p.x, p.y, p.w, p.bias }, a->ws);
		break;
	}
	damage(k->n, a->out[0]);
	return rc;
}

static void release(struct kplan *k)
{
	struct dnn_kernel *ck = k->state;
	dnn_prim_free(ck->prim);
}

const struct conv_algorithm conv_dnn = { "dnn", choose, seconds, plan, run, release };
