/* SPDX-License-Identifier: BSD-3-Clause
 *
 * backend/cudnn.h and backend/cublas.h for the emulation: the same products by plain loops, in the order of the emulated stream.
 * They check what the real libraries would refuse: layouts with blocks, workspace that was not given. */
#include <string.h>

#include "backend/cublas.h"
#include "backend/cudnn.h"
#include "base/err.h"
#include "base/half.h"
#include "base/mem.h"

void emulate_submit(void (*work)(void *), void *argument);

#define WORKSPACE 4096        /* every plan asks for some and fills it, so that booking it is tested too */

int cudnn_open(void **handle, void *stream)
{
	*handle = stream;
	return 0;
}

void cudnn_close(void *handle)
{
	(void)handle;
}

struct call {
	void *a, *b, *c, *ws;
};

struct cudnn_plan {
	struct cudnn_conv c;
	struct layout x, w, y;
};

int cudnn_conv_new(struct cudnn_plan **out, struct device *d, const struct cudnn_conv *c)
{
	(void)d;
	if (c->x->nblk || c->w->nblk || c->y->nblk)
		return ERR(E_UNSUPPORTED, NULL, "a blocked layout");
	struct cudnn_plan *p = mem_calloc(1, sizeof *p);
	p->c = *c;
	p->x = *c->x;
	p->w = *c->w;
	p->y = *c->y;
	*out = p;
	return 0;
}

const char *cudnn_plan_name(const struct cudnn_plan *p)
{
	(void)p;
	return "cudnn:emulated";
}

size_t cudnn_plan_workspace(const struct cudnn_plan *p)
{
	(void)p;
	return WORKSPACE;
}

/* Element (a, b, s...) of a layout over (a, b, spatial...). */
static int64_t at(const struct layout *l, int64_t a, int64_t b, const int64_t *s)
{
	int64_t o = a * l->stride[0] + b * l->stride[1];
	for (int i = 0; i + 2 < l->nd; i++)
		o += s[i] * l->stride[i + 2];
	return o;
}

struct walker {
	const struct cudnn_plan *p;
	const struct conv_geom *g;
	double *x, *w, *y;           /* operands in the order of their buffers, as doubles */
};

/* Calls f for every product x * w of output y. */
static void products(struct walker *k, void (*f)(struct walker *, int64_t x, int64_t w, int64_t y))
{
	const struct conv_geom *g = k->g;
	const int64_t cig = g->ci / g->groups, cog = g->co / g->groups;
	int64_t taps = 1, pixels = 1;
	for (int i = 0; i < g->ns; i++) {
		taps *= g->kernel[i];
		pixels *= g->out[i];
	}
	for (int64_t n = 0; n < g->n; n++)
		for (int64_t o = 0; o < g->co; o++)
			for (int64_t q = 0; q < pixels; q++)
				for (int64_t t = 0; t < taps; t++) {
					int64_t yo[CONV_NS] = { 0 }, xo[CONV_NS] = { 0 }, wo[CONV_NS] = { 0 }, r = q, s = t;
					bool inside = true;
					for (int i = g->ns - 1; i >= 0; i--) {
						yo[i] = r % g->out[i];
						r /= g->out[i];
						wo[i] = s % g->kernel[i];
						s /= g->kernel[i];
						xo[i] = yo[i] * g->stride[i] + wo[i] * g->dilation[i] - g->pad_lo[i];
						inside = inside && xo[i] >= 0 && xo[i] < g->in[i];
					}
					for (int64_t c = 0; inside && c < cig; c++)
						f(k, at(&k->p->x, n, o / cog * cig + c, xo), at(&k->p->w, o, c, wo),
						  at(&k->p->y, n, o, yo));
				}
}

static void forward(struct walker *k, int64_t x, int64_t w, int64_t y)
{
	k->y[y] += k->x[x] * k->w[w];
}

static void backward_data(struct walker *k, int64_t x, int64_t w, int64_t y)
{
	k->x[x] += k->y[y] * k->w[w];
}

static void backward_weights(struct walker *k, int64_t x, int64_t w, int64_t y)
{
	k->w[w] += k->x[x] * k->y[y];
}

static double *load(const struct layout *l, enum dtype t, const void *from)
{
	int64_t n = layout_elements(l);
	double *v = mem_calloc((size_t)n + 1, sizeof *v);
	if (from)
		dtype_convert(DTYPE_F64, v, t, from, n);
	return v;
}

static void convolve(void *argument)
{
	struct { const struct cudnn_plan *p; struct call call; } *job = argument;
	static void (*const kind[])(struct walker *, int64_t, int64_t, int64_t) = {
		[CONV_FORWARD] = forward, [CONV_BACKWARD_DATA] = backward_data, [CONV_BACKWARD_WEIGHTS] = backward_weights };
	const struct cudnn_plan *p = job->p;
	const enum conv_kind which = p->c.kind;
	const struct call *c = &job->call;
	const void *x = which == CONV_BACKWARD_DATA ? NULL : c->a,
		   *w = which == CONV_BACKWARD_WEIGHTS ? NULL : c->b,
		   *y = which == CONV_FORWARD ? NULL : which == CONV_BACKWARD_DATA ? c->a : c->b;
	struct walker k = { p, &p->c.geom, load(&p->x, p->c.type, x), load(&p->w, p->c.type, w),
		load(&p->y, p->c.type, y) };
	const struct layout *l = which == CONV_FORWARD ? &p->y : which == CONV_BACKWARD_DATA ? &p->x : &p->w;
	double *result = which == CONV_FORWARD ? k.y : which == CONV_BACKWARD_DATA ? k.x : k.w;
	memset(c->ws, 0xa5, WORKSPACE);
	products(&k, kind[which]);
	dtype_convert(p->c.type, c->c, DTYPE_F64, result, layout_elements(l));
	mem_free(k.x);
	mem_free(k.w);
	mem_free(k.y);
}

int cudnn_plan_run(const struct cudnn_plan *p, void *a, void *b, void *c, void *ws)
{
	struct { const struct cudnn_plan *p; struct call call; } *job = mem_alloc(sizeof *job);
	job->p = p;
	job->call = (struct call){ a, b, c, ws };
	emulate_submit(convolve, job);       /* never freed: a replay may come at any time */
	return 0;
}

void cudnn_plan_free(struct cudnn_plan *p)
{
	mem_free(p);
}

/* --- matrix products --- */

int cublas_open(void **handle)
{
	*handle = (void *)1;
	return 0;
}

void cublas_close(void *handle)
{
	(void)handle;
}

struct cublas_plan {
	struct cublas_matmul m;
};

int cublas_matmul_new(struct cublas_plan **out, struct device *d, const struct cublas_matmul *m, size_t ws_limit)
{
	(void)d;
	if ((m->a_stride[0] != 1 && m->a_stride[1] != 1) || (m->b_stride[0] != 1 && m->b_stride[1] != 1) ||
	    m->c_stride[1] != 1 || ws_limit < WORKSPACE)
		return ERR(E_UNSUPPORTED, NULL, "strides that cuBLAS cannot take");
	if ((m->c_type != m->type && m->c_type != DTYPE_F32) || (m->bias && m->c_type != DTYPE_F32))
		return ERR(E_UNSUPPORTED, NULL, "types that cuBLAS cannot take");
	*out = mem_alloc(sizeof **out);
	(*out)->m = *m;
	return 0;
}

size_t cublas_plan_workspace(const struct cublas_plan *p)
{
	(void)p;
	return WORKSPACE;
}

struct matmul_job {
	struct cublas_matmul m;
	const void *a, *b;
	const float *bias;
	void *c, *ws;
};

static void multiply(void *argument)
{
	const struct matmul_job *j = argument;
	const struct cublas_matmul *m = &j->m;
	memset(j->ws, 0x5a, WORKSPACE);
	for (int64_t r = 0; r < m->m; r++)
		for (int64_t c = 0; c < m->n; c++) {
			double sum = m->bias ? j->bias[c] : 0;
			for (int64_t i = 0; i < m->k; i++)
				sum += dtype_get(m->type, j->a, r * m->a_stride[0] + i * m->a_stride[1]) *
				       dtype_get(m->type, j->b, i * m->b_stride[0] + c * m->b_stride[1]);
			dtype_convert(m->c_type, (char *)j->c + dtype_size(m->c_type) * (size_t)(r * m->c_stride[0] + c),
			              DTYPE_F64, &sum, 1);
		}
}

int cublas_plan_run(const struct cublas_plan *p, const void *a, const void *b, const void *bias, void *c, void *ws)
{
	struct matmul_job *j = mem_alloc(sizeof *j);
	*j = (struct matmul_job){ p->m, a, b, bias, c, ws };
	emulate_submit(multiply, j);
	return 0;
}

void cublas_plan_free(struct cublas_plan *p)
{
	mem_free(p);
}
