/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Winograd convolutions against sums in double precision: all directions and forms, odd
 * sizes and channels, paddings, dilation, slices of wider activations, weights in blocked and
 * row-major layouts; few tiles with many channels; the same in bf16, of which only the result is
 * rounded; the same bits for any number of threads; the error that dlx-config(5) states. */
#include <math.h>

#include "cases.h"
#include "base/half.h"
#include "base/rng.h"
#include "op/conv/conv_algorithm.h"
#include "op/conv/conv_shape.h"
#include "op/winograd/winograd.h"

#ifdef CONV_HAS_WINOGRAD

#define GAP 5                 /* channels of others between a slice's pixels */

/* Sanitizers look for faults of memory, which do not depend on what is compared: with them sums,
 * which would take most of the time, are made of few values, and sizes are those that have every
 * kind of block. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif
#define COMPARED 200          /* values of a result, with them */

struct problem {
	struct conv_geom c;
	bool slice, blocked;
	bool bf16;                    /* x, w and y are bf16 */
	struct layout wl;
	int64_t nx, nw, ny;
	int64_t x_px, y_px;
	float *x, *w, *y, *bias;
	float *plain;                 /* w, row-major, for the sums */
};

#define DRAWN 65521           /* prime, and so no multiple of a row */

/* All of them are bf16, too. Drawn once: normal values would take longer than what is tested. */
static float *values(int64_t n, uint64_t what)
{
	static float drawn[DRAWN];
	float *v = aligned_alloc(64, (size_t)(n * 4 + 127) / 64 * 64);
	for (uint64_t i = 0; i < DRAWN && drawn[DRAWN - 1] == 0; i++)
		drawn[i] = bfloat_to_float(bfloat_from_float((float)rng_normal(5, 1, 0, i)));
	for (int64_t i = 0, from = (int64_t)(7919 * what % DRAWN), m; i < n; i += m, from = 0) {
		m = n - i < DRAWN - from ? n - i : DRAWN - from;
		memcpy(v + i, drawn + from, (size_t)m * sizeof *v);
	}
	return v;
}

/* As oneDNN has it, padded to whole blocks: OIhw16i16o; OIhw8i16o2i of bf16. */
static struct layout blocked_weights(const struct shape *s, bool bf16)
{
	const int64_t k = s->d[2] * s->d[3], bi = (s->d[1] + 15) / 16;
	struct layout l = { .set = true, .nd = 4,
		            .dims = { s->d[0], s->d[1], s->d[2], s->d[3] },
		            .stride = { bi * k * 256, k * 256, s->d[3] * 256, 256 },
		            .nblk = 2, .blk = { 16, 16 }, .blk_dim = { 1, 0 } };
	if (bf16) {
		l.nblk = 3;
		l.blk[0] = 8;
		l.blk[2] = 2;
		l.blk_dim[2] = 1;
	}
	return l;
}

static void problem_init(struct problem *p)
{
	const struct conv_geom *c = &p->c;
	const struct shape ws = conv_w_shape(c);
	p->wl = p->blocked ? blocked_weights(&ws, p->bf16) : layout_plain(&ws);
	p->x_px = c->ci + (p->slice ? GAP : 0);
	p->y_px = c->co + (p->slice ? GAP : 0);
	p->nx = c->n * c->in[0] * c->in[1] * p->x_px;
	p->ny = c->n * c->out[0] * c->out[1] * p->y_px;
	p->nw = layout_elements(&p->wl);
	p->x = values(p->nx, 1);
	p->y = values(p->ny, 2);
	p->bias = values(c->ci > c->co ? c->ci : c->co, 3);
	p->plain = values(shape_count(&ws), 4);
	p->w = values(p->nw, 5);
	layout_pack(&p->wl, &ws, DTYPE_F32, p->w, DTYPE_F32, p->plain);
}

static void problem_release(struct problem *p)
{
	free(p->x);
	free(p->w);
	free(p->y);
	free(p->bias);
	free(p->plain);
}

static struct conv_geom geometry(int64_t n, int64_t ci, int64_t co, int64_t h, int64_t w, int64_t r,
                                 int64_t d, int64_t pad)
{
	struct conv_geom c = { .ns = 2, .n = n, .ci = ci, .co = co, .groups = 1, .in = { h, w, 1 },
		               .kernel = { r, r, 1 }, .stride = { 1, 1, 1 }, .dilation = { d, d, 1 },
		               .pad_lo = { pad, pad / 2 }, .pad_hi = { pad / 2, pad }, .out = { 1, 1, 1 } };
	for (int i = 0; i < 2; i++)
		c.out[i] = c.in[i] + c.pad_lo[i] + c.pad_hi[i] - (r - 1) * d;
	return c;
}

/* --- the sums --- */

static float *x_at(const struct problem *p, int64_t n, int64_t y, int64_t x)
{
	const struct conv_geom *c = &p->c;
	if (y < 0 || x < 0 || y >= c->in[0] || x >= c->in[1])
		return NULL;
	return p->x + ((n * c->in[0] + y) * c->in[1] + x) * p->x_px;
}

static float *y_at(const struct problem *p, int64_t n, int64_t y, int64_t x)
{
	const struct conv_geom *c = &p->c;
	if (y < 0 || x < 0 || y >= c->out[0] || x >= c->out[1])
		return NULL;
	return p->y + ((n * c->out[0] + y) * c->out[1] + x) * p->y_px;
}

static int64_t w_index(const struct problem *p, int64_t o, int64_t i, int64_t t)
{
	return (o * p->c.ci + i) * p->c.kernel[0] * p->c.kernel[1] + t;
}

/* One pixel of y from x, for output channel o; of x from y (back) for input channel o. */
static double exact_pixel(const struct problem *p, bool back, int64_t n, int64_t y, int64_t x,
                          int64_t o)
{
	const struct conv_geom *c = &p->c;
	const int64_t r = c->kernel[0], channels = back ? c->co : c->ci;
	double sum = p->bias[o];
	for (int64_t t = 0; t < r * r; t++) {
		const int64_t dy = t / r * c->dilation[0] - c->pad_lo[0];
		const int64_t dx = t % r * c->dilation[1] - c->pad_lo[1];
		const float *v = back ? y_at(p, n, y - dy, x - dx) : x_at(p, n, y + dy, x + dx);
		for (int64_t i = 0; i < channels && v; i++)
			sum += (double)v[i] * (double)p->plain[back ? w_index(p, i, o, t)
			                                        : w_index(p, o, i, t)];
	}
	return sum;
}

static double exact_weight(const struct problem *p, int64_t o, int64_t i, int64_t t)
{
	const struct conv_geom *c = &p->c;
	const int64_t r = c->kernel[0];
	double sum = 0;
	for (int64_t k = 0; k < c->n * c->out[0] * c->out[1]; k++) {
		const int64_t x = k % c->out[1], y = k / c->out[1] % c->out[0];
		const int64_t n = k / c->out[1] / c->out[0];
		const float *v = x_at(p, n, y + t / r * c->dilation[0] - c->pad_lo[0],
		                      x + t % r * c->dilation[1] - c->pad_lo[1]);
		if (v)
			sum += (double)v[i] * (double)y_at(p, n, y, x)[o];
	}
	return sum;
}

static double exact_bias(const struct problem *p, int64_t o)
{
	const struct conv_geom *c = &p->c;
	double sum = 0;
	for (int64_t k = 0; k < c->n * c->out[0] * c->out[1]; k++)
		sum += (double)p->y[k * p->y_px + o];
	return sum;
}

/* --- against them --- */

struct error {
	double largest, error;
};

static void compare(struct error *e, double got, double want)
{
	e->largest = fmax(e->largest, fabs(want));
	e->error = isnan(got) ? INFINITY : fmax(e->error, fabs(got - want));
}

/* How far values are apart that are compared, of n; every `step`th if nothing is against it. */
static int64_t apart(int64_t n, int64_t step)
{
	return SANITIZED && n / COMPARED > step ? n / COMPARED | 1 : step;
}

/* Every `step`th pixel and channel; the rest of a slice must be as it was. */
static double pixel_error(const struct problem *p, bool back, const float *got, int64_t step)
{
	const struct conv_geom *c = &p->c;
	const int64_t *size = back ? c->in : c->out, px = back ? p->x_px : p->y_px;
	const int64_t channels = back ? c->ci : c->co;
	const int64_t n = c->n * size[0] * size[1] * px;
	struct error e = { 0 };
	step = apart(n, step);
	for (int64_t k = 0; k < n; k++) {
		const int64_t o = k % px, at = k / px;
		if (o >= channels)
			assert_true(got[k] == -1);
		else if (k % step == 0)
			compare(&e, (double)got[k],
			        exact_pixel(p, back, at / size[1] / size[0], at / size[1] % size[0],
			                    at % size[1], o));
	}
	return e.error / e.largest;
}

static double weight_error(const struct problem *p, const float *dw, const float *dbias,
                           int64_t step)
{
	const struct conv_geom *c = &p->c;
	const struct shape s = conv_w_shape(c);
	const int64_t taps = c->kernel[0] * c->kernel[1], n = shape_count(&s);
	struct error e = { 0 }, b = { 0 };
	step = apart(n, step);
	for (int64_t k = 0; k < n; k += step)
		compare(&e, (double)dw[layout_offset(&p->wl, k)],
		        exact_weight(p, k / taps / c->ci, k / taps % c->ci, k % taps));
	for (int64_t o = 0; o < c->co; o++)
		compare(&b, (double)dbias[o], exact_bias(p, o));
	assert_true(b.error / b.largest < 1e-5);
	double sum = 0, own = 0;                  /* padding is zero */
	for (int64_t k = 0; k < p->nw; k++)
		sum += fabs((double)dw[k]);
	for (int64_t k = 0; k < n; k++)
		own += fabs((double)dw[layout_offset(&p->wl, k)]);
	assert_true(fabs(sum - own) <= 1e-9 * own);
	return e.error / e.largest;
}

/* A copy in the type that the kernel reads. */
static void *typed(const struct problem *p, const float *v, int64_t n)
{
	float *copy = values(n, 6);
	if (p->bf16)
		bfloat_from_floats((uint16_t *)copy, v, n);
	else
		memcpy(copy, v, (size_t)n * sizeof *v);
	return copy;
}

/* From the type that the kernel writes; frees v. */
static float *floats(void *v, int64_t n)
{
	float *f = values(n, 6);
	bfloat_to_floats(f, v, n);
	free(v);
	return f;
}

/* What the kernel makes, on this many threads. Memory that it does not write is -1. */
static float *result(const struct problem *p, enum conv_kind kind, int threads, float *dbias)
{
	const bool back = kind == CONV_BACKWARD_DATA, weights = kind == CONV_BACKWARD_WEIGHTS;
	const int64_t n = weights ? p->nw : back ? p->nx : p->ny;
	struct arena *arena = arena_new();
	struct wino w;
	float *out = values(n, 6);
	for (int64_t i = 0; i < n; i++)
		out[i] = -1;
	wino_init(&w, wino_form_find(&p->c), &p->c, kind, &p->wl, back ? p->y_px : p->x_px,
	          back ? p->x_px : p->y_px, threads, arena);
	w.bf16 = p->bf16;
	w.bf16_y = p->bf16 && !weights;
	size_t bytes = weights ? wino_weights_workspace(&w) : wino_workspace(&w);
	float *ws = aligned_alloc(64, (bytes + 63) / 64 * 64);
	void *x = typed(p, p->x, p->nx), *wt = typed(p, p->w, p->nw), *y = typed(p, p->y, p->ny);
	void *made = w.bf16_y ? typed(p, out, n) : out;
	memset(ws, 0xFF, bytes);
	if (weights)
		wino_run_weights(&w, x, y, made, dbias, ws);
	else
		wino_run(&w, back ? y : x, wt, &(struct wino_result){ p->bias, NULL, made }, ws);
	if (w.bf16_y) {
		free(out);
		out = floats(made, n);
	}
	free(x);
	free(wt);
	free(y);
	free(ws);
	arena_free(arena);
	return out;
}

static double largest_error(const struct problem *p, enum conv_kind kind, int64_t step)
{
	float *db[2] = { values(p->c.co, 7), values(p->c.co, 8) };
	float *one = result(p, kind, 1, db[0]), *two = result(p, kind, 2, db[1]);
	const bool weights = kind == CONV_BACKWARD_WEIGHTS;
	const int64_t n = weights ? p->nw : kind == CONV_BACKWARD_DATA ? p->nx : p->ny;
	double e;
	assert_memory_equal(one, two, (size_t)n * sizeof *one);
	if (weights) {
		assert_memory_equal(db[0], db[1], (size_t)p->c.co * sizeof **db);
		e = weight_error(p, one, db[0], step);
	} else {
		e = pixel_error(p, kind == CONV_BACKWARD_DATA, one, step);
	}
	free(one);
	free(two);
	free(db[0]);
	free(db[1]);
	return e;
}

#define ROUNDING (1.0 / 256)   /* to bf16, at most */

static void check(const struct conv_geom *c, bool slice, bool blocked, int64_t step, double bound)
{
	for (int i = 0; i < 6; i++) {
		const enum conv_kind kind = (enum conv_kind)(i / 2);
		struct problem p = { .c = *c, .slice = slice, .blocked = blocked, .bf16 = i % 2 };
		problem_init(&p);
		const double e = largest_error(&p, kind, step);
		if (!(e < bound + (p.bf16 && kind != CONV_BACKWARD_WEIGHTS ? ROUNDING : 0)))
			fail_msg("%dx%d, kind %d, %d -> %d, slice %d, blocked %d, half %d: error %g",
			         (int)c->kernel[0], (int)c->kernel[0], (int)kind, (int)c->ci,
			         (int)c->co, slice, blocked, p.bf16, e);
		problem_release(&p);
	}
}

/* Padding is (pad, pad / 2) before and (pad / 2, pad) after: 0, less than, as much as and more than
 * the kernel reaches. */
static void odd_sizes(void **state)
{
	static const struct {
		int64_t n, ci, co, h, w, d, pad;
	} t[] = {
		{ 1, 1, 1, 7, 6, 1, 0 },      { 2, 3, 17, 9, 11, 1, 2 },   { 1, 33, 12, 13, 10, 1, 4 },
		{ 1, 16, 48, 10, 9, 1, 1 },   { 2, 20, 33, 11, 23, 2, 4 }, { 1, 70, 16, 15, 14, 3, 6 },
		{ 1, 37, 70, 30, 31, 1, 2 },  { 1, 4, 5, 5, 5, 1, 9 },
	};
	if (!wino_has_cpu())
		skip();
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		for (int64_t r = 3; r <= 5; r += 2) {
			const struct conv_geom c = geometry(t[i].n, t[i].ci, t[i].co, t[i].h, t[i].w, r,
			                                    t[i].d, t[i].pad);
			if (c.out[0] < 1 || c.out[1] < 1)
				continue;
			check(&c, i % 2, i / 2 % 2, 1, 1e-5);
		}
}

static bool is_few(const struct conv_geom *c, enum conv_kind kind)
{
	struct arena *arena = arena_new();
	const struct shape s = conv_w_shape(c);
	const struct layout l = layout_plain(&s);
	struct wino w;
	wino_init(&w, wino_form_find(c), c, kind, &l, c->ci, c->co, 2, arena);
	arena_free(arena);
	return w.few;
}

/* Weights that are transformed where they are used, which needs many channels. */
static void few_tiles(void **state)
{
	static const struct {
		int64_t n, ci, co, h, w, r, d, pad;
	} t[] = {
		{ 1, 144, 200, 12, 11, 5, 1, 4 }, { 2, 300, 145, 7, 6, 3, 1, 2 },
		{ 1, 200, 170, 9, 10, 3, 3, 6 },  { 1, 520, 40, 9, 9, 5, 1, 2 },
	};
	if (!wino_has_cpu())
		skip();
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		const struct conv_geom c = geometry(t[i].n, t[i].ci, t[i].co, t[i].h, t[i].w, t[i].r,
		                                    t[i].d, t[i].pad);
		assert_true(is_few(&c, CONV_FORWARD));
		assert_true(is_few(&c, CONV_BACKWARD_DATA));
		assert_false(is_few(&c, CONV_BACKWARD_WEIGHTS));
		check(&c, i % 2, SANITIZED && i / 2 % 2, 7, 1e-5);
		if (!SANITIZED)
			check(&c, false, true, 7, 1e-5);
	}
	const struct conv_geom large = geometry(1, 144, 200, 40, 40, 5, 1, 4);
	assert_false(is_few(&large, CONV_FORWARD));
}

/* Many blocks and segments, and all channels that dlx-config(5) speaks of. */
static void stated_errors(void **state)
{
	const int64_t channels = SANITIZED ? 70 : 512;
	if (!wino_has_cpu())
		skip();
	struct conv_geom c = geometry(1, channels, 40, 40, 40, 3, 1, 2);
	check(&c, false, true, 97, 4e-6);
	c = geometry(1, channels, 40, 40, 40, 5, 1, 4);
	check(&c, false, true, 97, 1e-5);
	c = geometry(2, 12, 12, 90, 91, 3, 1, 2);
	check(&c, false, false, 11, 4e-6);
	c = geometry(2, 12, 12, 90, 91, 5, 1, 4);
	check(&c, true, false, 11, 1e-5);
}

/* Geometries it must leave to others. */
static void refusals(void **state)
{
	struct conv_geom c = geometry(1, 8, 8, 9, 9, 3, 1, 2);
	assert_non_null(wino_form_find(&c));
	c.stride[1] = 2;
	assert_null(wino_form_find(&c));
	c = geometry(1, 8, 8, 9, 9, 3, 1, 2);
	c.groups = 2;
	assert_null(wino_form_find(&c));
	c = geometry(1, 8, 8, 9, 9, 7, 1, 2);
	assert_null(wino_form_find(&c));
	c = geometry(1, 8, 8, 9, 9, 3, 1, 2);
	c.kernel[1] = 5;
	assert_null(wino_form_find(&c));
	c = geometry(1, 8, 8, 9, 9, 3, 1, 2);
	c.ns = 3;
	assert_null(wino_form_find(&c));
	c.kernel[2] = 3;
	assert_non_null(wino_form_find(&c));
	c.stride[0] = 2;
	assert_null(wino_form_find(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odd_sizes),
		cmocka_unit_test(few_tiles),
		cmocka_unit_test(stated_errors),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
	return 77;
}

#endif
