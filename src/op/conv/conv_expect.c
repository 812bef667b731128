/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Computes single elements of convolutions by the formulas of conv.c, in double precision, from
 * tensors in any layout that kernels use. So a few elements cost a small part of the whole result.
 * The offset of an element is a sum of one term for each axis; the terms are in tables. */
#include "op/conv/conv_reference.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/simd.h"
#include "op/conv/conv_args.h"
#include "op/conv/conv_shape.h"

/* --- reading tensors --- */

struct source {
	const void *p;
	enum dtype type;
	int nd;
	int64_t *at[MAXD];           /* terms of the offset, by axis and index */
};

static void source_release(struct source *s)
{
	for (int d = 0; d < s->nd; d++)
		mem_free(s->at[d]);
}

/* The weights of grouped convolutions have a layout over (groups, O/groups, ...) and a shape that
 * begins with O. */
static int source_init(struct source *s, const struct graph *g, tid t, const void *p)
{
	const struct tensor *x = graph_t(g, t);
	const struct layout *l = &x->layout;
	const int split = l->nd - x->shape.nd;
	*s = (struct source){ .p = p, .type = x->dtype };
	if (!l->set || split < 0 || split > 1 || (x->dtype != DTYPE_F32 && !dtype_is_16bit(x->dtype)))
		return ERR(E_UNSUPPORTED, NULL, "'%s' cannot be read", x->name);
	s->nd = x->shape.nd;
	for (int d = 0; d < s->nd; d++) {
		s->at[d] = mem_alloc(sizeof(int64_t) * (size_t)x->shape.d[d]);
		for (int64_t i = 0; i < x->shape.d[d]; i++)
			s->at[d][i] = d > 0 || !split ? layout_axis_offset(l, d + split, i) :
			              layout_axis_offset(l, 0, i / l->dims[1]) +
			              layout_axis_offset(l, 1, i % l->dims[1]);
	}
	return 0;
}

/* Bits of a half in the place of a float's: the exponent is too small by 112, for subnormals,
 * too. */
SIMD_INLINE float half_value(uint32_t h)
{
	return simd_float((h & 0x8000u) << 16 | (h & 0x7FFFu) << 13) * 0x1p112f;
}

SIMD_INLINE double get(const struct source *s, int64_t at)
{
	const uint16_t *narrow = s->p;
	return s->type == DTYPE_F32 ? ((const float *)s->p)[at] : s->type == DTYPE_F16 ?
	       half_value(narrow[at]) : simd_float((uint32_t)narrow[at] << 16);
}

static void add(struct expected *e, double term)
{
	e->value += term;
	e->size += fabs(term);
}

/* Adds a term to a value that a kernel may have rounded before. */
static void add_after(struct expected *e, double term)
{
	e->rounded += fabs(e->value);
	add(e, term);
}

/* --- geometry --- */

struct conv_case {
	struct conv_geom g;
	struct source x, w, y;       /* the two inputs; the third tensor is the result */
	int64_t ci, co;              /* channels of x, and of y, in a group */
};

static int case_init(struct conv_case *c, const struct graph *g, const struct node *n,
                     enum conv_kind kind, void *const *in)
{
	const struct conv_slots s = conv_slots_of(kind, n);
	memset(c, 0, sizeof *c);
	c->g = conv_geom_get(g, n, kind);
	c->ci = c->g.ci / c->g.groups;
	c->co = c->g.co / c->g.groups;
	if (kind != CONV_BACKWARD_DATA)
		TRY(source_init(&c->x, g, n->in[s.x], in[s.x]));
	if (kind != CONV_BACKWARD_WEIGHTS)
		TRY(source_init(&c->w, g, n->in[s.w], in[s.w]));
	if (kind != CONV_FORWARD)
		TRY(source_init(&c->y, g, n->in[s.y], in[s.y]));
	return 0;
}

static void case_release(struct conv_case *c)
{
	source_release(&c->x);
	source_release(&c->w);
	source_release(&c->y);
}

/* Splits the row-major index v into positions along axes of extents `extent`. */
static void unravel(const struct conv_geom *g, const int64_t *extent, int64_t v, int64_t *out)
{
	for (int a = g->ns - 1; a >= 0; a--) {
		out[a] = v % extent[a];
		v /= extent[a];
	}
}

static int64_t volume(const struct conv_geom *g, const int64_t *extent)
{
	int64_t v = 1;
	for (int a = 0; a < g->ns; a++)
		v *= extent[a];
	return v;
}

/* Adds the offsets of the spatial positions to *at. */
static void add_places(const struct conv_geom *g, const struct source *s, const int64_t *place,
                       int64_t *at)
{
	for (int a = 0; a < g->ns; a++)
		*at += s->at[2 + a][place[a]];
}

/* The position of x that tap `tap` reads for position `out`; false: padding. */
static bool place_in_x(const struct conv_geom *g, const int64_t *out, const int64_t *tap,
                       int64_t *x)
{
	for (int a = 0; a < g->ns; a++) {
		x[a] = out[a] * g->stride[a] + tap[a] * g->dilation[a] - g->pad_lo[a];
		if (x[a] < 0 || x[a] >= g->in[a])
			return false;
	}
	return true;
}

/* The position of y that reads `x` with tap `tap`; false: there is none. */
static bool place_in_y(const struct conv_geom *g, const int64_t *x, const int64_t *tap,
                       int64_t *out)
{
	for (int a = 0; a < g->ns; a++) {
		const int64_t v = x[a] + g->pad_lo[a] - tap[a] * g->dilation[a];
		out[a] = v / g->stride[a];
		if (v < 0 || v % g->stride[a] || out[a] >= g->out[a])
			return false;
	}
	return true;
}

/* --- one element of each kind --- */

static struct expected forward(const struct conv_case *c, const int64_t *index)
{
	const struct conv_geom *g = &c->g;
	const int64_t first = index[1] / c->co * c->ci, taps = volume(g, g->kernel);
	struct expected e = { 0 };
	for (int64_t t = 0; t < taps; t++) {
		int64_t tap[CONV_NS], place[CONV_NS], x = c->x.at[0][index[0]], w = c->w.at[0][index[1]];
		unravel(g, g->kernel, t, tap);
		if (!place_in_x(g, index + 2, tap, place))
			continue;
		add_places(g, &c->x, place, &x);
		add_places(g, &c->w, tap, &w);
		for (int64_t i = 0; i < c->ci; i++)
			add(&e, get(&c->x, x + c->x.at[1][first + i]) * get(&c->w, w + c->w.at[1][i]));
	}
	return e;
}

static struct expected backward(const struct conv_case *c, const int64_t *index)
{
	const struct conv_geom *g = &c->g;
	const int64_t first = index[1] / c->ci * c->co, taps = volume(g, g->kernel);
	struct expected e = { 0 };
	for (int64_t t = 0; t < taps; t++) {
		int64_t tap[CONV_NS], place[CONV_NS], y = c->y.at[0][index[0]],
		        w = c->w.at[1][index[1] % c->ci];
		unravel(g, g->kernel, t, tap);
		if (!place_in_y(g, index + 2, tap, place))
			continue;
		add_places(g, &c->y, place, &y);
		add_places(g, &c->w, tap, &w);
		for (int64_t o = first; o < first + c->co; o++)
			add(&e, get(&c->y, y + c->y.at[1][o]) * get(&c->w, w + c->w.at[0][o]));
	}
	return e;
}

static struct expected bias_gradient(const struct conv_case *c, int64_t channel)
{
	const struct conv_geom *g = &c->g;
	const int64_t row = g->out[g->ns - 1], rows = g->n * volume(g, g->out) / row,
	              *at = c->y.at[2 + g->ns - 1];
	struct expected e = { 0 };
	for (int64_t i = 0; i < rows; i++) {
		int64_t r = i, y = c->y.at[1][channel];
		for (int a = g->ns - 2; a >= 0; a--) {
			y += c->y.at[2 + a][r % g->out[a]];
			r /= g->out[a];
		}
		y += c->y.at[0][r];
		for (int64_t k = 0; k < row; k++)
			add(&e, get(&c->y, y + at[k]));
	}
	return e;
}

/* A row of y and the row of x that a tap reads for it: the offsets of their first elements, and the
 * positions at which the tap does not read padding. */
struct tap_row {
	int64_t x, y;
	int64_t lo, hi;
	const int64_t *x_at, *y_at;  /* offset terms of the last axis, by position */
	int64_t step, first;         /* position of x = position of y * step + first */
};

/* Row `r`, counted over all samples; false: the tap reads only padding there. */
static bool row_of_tap(const struct conv_case *c, const int64_t *tap, int64_t r, struct tap_row *t)
{
	const struct conv_geom *g = &c->g;
	const int last = g->ns - 1;
	int64_t y = 0, x = 0;
	for (int a = last - 1; a >= 0; a--) {
		const int64_t out = r % g->out[a],
		              in = out * g->stride[a] + tap[a] * g->dilation[a] - g->pad_lo[a];
		r /= g->out[a];
		if (in < 0 || in >= g->in[a])
			return false;
		y += c->y.at[2 + a][out];
		x += c->x.at[2 + a][in];
	}
	*t = (struct tap_row){ .x = x + c->x.at[0][r], .y = y + c->y.at[0][r],
		.x_at = c->x.at[2 + last], .y_at = c->y.at[2 + last], .step = g->stride[last],
		.first = tap[last] * g->dilation[last] - g->pad_lo[last], .hi = g->out[last] };
	while (t->lo < t->hi && t->lo * t->step + t->first < 0)
		t->lo++;
	while (t->hi > t->lo && (t->hi - 1) * t->step + t->first >= g->in[last])
		t->hi--;
	return t->lo < t->hi;
}

#define WIDE 4                   /* channels of x, and of y, that are processed in one pass over
                                  * both */

struct tap_block {
	const struct source *x, *y;
	int64_t x_at[WIDE], y_at[WIDE];  /* offsets of the channels */
	double value[WIDE * WIDE], size[WIDE * WIDE];
};

SIMD_CLONES(void, add_row, (struct tap_block *b, const struct tap_row *t), (b, t))
{
	double value[WIDE * WIDE] = { 0 }, size[WIDE * WIDE] = { 0 };
	for (int64_t k = t->lo; k < t->hi; k++) {
		const int64_t at_y = t->y + t->y_at[k], at_x = t->x + t->x_at[k * t->step + t->first];
		double x[WIDE], y[WIDE];
		for (int i = 0; i < WIDE; i++) {
			x[i] = get(b->x, at_x + b->x_at[i]);
			y[i] = get(b->y, at_y + b->y_at[i]);
		}
		SIMD_UNROLL
		for (int i = 0; i < WIDE * WIDE; i++) {
			const double term = y[i / WIDE] * x[i % WIDE];
			value[i] += term;
			size[i] += fabs(term);
		}
	}
	for (int i = 0; i < WIDE * WIDE; i++) {
		b->value[i] += value[i];
		b->size[i] += size[i];
	}
}

/* The products of one tap for a block of `wide` times WIDE pairs of channels, from pair (o, i) on.
 * e: the element of pair (0, 0); adjacent pairs are `step` elements apart. */
static void weight_block(const struct conv_case *c, const struct picks *p, const int64_t *tap,
                         int o, int i, int wide, struct expected *e, int64_t step)
{
	const struct conv_geom *g = &c->g;
	const int64_t rows = g->n * volume(g, g->out) / g->out[g->ns - 1],
	              first = p->at[0][o] / c->co * c->ci;
	struct tap_block b = { .x = &c->x, .y = &c->y };
	struct tap_row t;
	for (int k = 0; k < WIDE; k++) {
		const int last_o = o + k < p->n[0] && k < wide ? o + k : o,
		          last_i = i + k < p->n[1] ? i + k : i;
		b.y_at[k] = c->y.at[1][p->at[0][last_o]];
		b.x_at[k] = c->x.at[1][first + p->at[1][last_i]];
	}
	for (int64_t r = 0; r < rows; r++)
		if (row_of_tap(c, tap, r, &t))
			add_row(&b, &t);
	for (int k = 0; k < WIDE * WIDE; k++)
		if (k / WIDE < wide && o + k / WIDE < p->n[0] && i + k % WIDE < p->n[1])
			e[((o + k / WIDE) * p->n[1] + i + k % WIDE) * step] =
				(struct expected){ b.value[k], b.size[k], 0 };
}

/* All picked channels of one tap. Channels of y in the same group read the same channels of x. */
static void weight_tap(const struct conv_case *c, const struct picks *p, const int64_t *tap,
                       struct expected *e, int64_t step)
{
	const int wide = c->g.groups == 1 ? WIDE : 1;
	for (int o = 0; o < p->n[0]; o += wide)
		for (int i = 0; i < p->n[1]; i += WIDE)
			weight_block(c, p, tap, o, i, wide, e, step);
}

/* --- picked elements --- */

typedef struct expected of_element(const struct conv_case *c, const int64_t *index);

static void each(const struct conv_case *c, of_element *f, const struct picks *p,
                 struct expected *e)
{
	const int64_t n = picks_count(p);
#pragma omp parallel for schedule(dynamic)
	for (int64_t i = 0; i < n; i++) {
		int64_t index[MAXD];
		picks_index(p, i, index);
		e[i] = f(c, index);
	}
}

int conv_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                const struct picks *p, struct expected *e)
{
	struct conv_case c;
	int rc = case_init(&c, g, n, CONV_FORWARD, in);
	const int64_t count = picks_count(p);
	if (rc == 0)
		each(&c, forward, p, e);
	for (int64_t i = 0; i < count && rc == 0 && conv_has_bias(n, CONV_FORWARD); i++) {
		int64_t index[MAXD];
		picks_index(p, i, index);
		add(&e[i], ((const float *)in[2])[index[1]]);
	}
	case_release(&c);
	return rc;
}

int conv_grad_input_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                           const struct picks *p, struct expected *e)
{
	const bool bias = conv_has_bias(n, CONV_BACKWARD_DATA),
	           sum = conv_has_sum(n, CONV_BACKWARD_DATA);
	struct conv_case c;
	int rc = case_init(&c, g, n, CONV_BACKWARD_DATA, in);
	if (rc == 0 && sum)
		rc = source_init(&c.x, g, n->in[CONV_SUM], in[CONV_SUM]);
	if (rc == 0)
		each(&c, backward, p, e);
	for (int64_t i = 0; i < picks_count(p) && rc == 0; i++) {
		int64_t index[MAXD], at = 0;
		picks_index(p, i, index);
		for (int d = 0; d < p->nd && sum; d++)
			at += c.x.at[d][index[d]];
		if (bias)
			add_after(&e[i], ((const float *)in[2])[index[1]]);
		if (sum)
			add_after(&e[i], get(&c.x, at));
	}
	case_release(&c);
	return rc;
}

int conv_grad_weight_expect(const struct graph *g, const struct node *n, void *const *in, int o,
                            const struct picks *p, struct expected *e)
{
	struct conv_case c;
	int rc = case_init(&c, g, n, CONV_BACKWARD_WEIGHTS, in);
	const int64_t count = picks_count(p), pairs = o == 0 ? p->n[0] * p->n[1] : 1,
	              taps = count / pairs;
	memset(e, 0, sizeof *e * (size_t)count);
#pragma omp parallel for schedule(dynamic)
	for (int64_t i = 0; i < taps; i++) {
		int64_t index[MAXD];
		picks_index(p, i, index);     /* the last axes are those of the taps */
		if (rc == 0 && o == 0)
			weight_tap(&c, p, index + 2, e + i, taps);
		else if (rc == 0)
			e[i] = bias_gradient(&c, index[0]);
	}
	case_release(&c);
	return rc;
}
