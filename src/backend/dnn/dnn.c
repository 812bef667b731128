/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The interface to oneDNN. A primitive descriptor is requested with the layouts that the caller has
 * fixed and "any" for the others; oneDNN returns the layouts that its best implementation uses. The
 * first part of this file is the difference between the two C APIs (dnn_md.h has that of memory
 * descriptors), the second is common to both. */
#include "backend/dnn/dnn.h"

#include <pthread.h>
#include <string.h>

#include <dnnl.h>
#include <dnnl_debug.h>

#include "backend/dnn/dnn_code.h"
#include "backend/dnn/dnn_deeper.h"
#include "backend/dnn/dnn_md.h"
#include "backend/dnn/dnn_quirks.h"
#include "backend/proof/passed.h"
#include "base/err.h"
#include "base/hash.h"

static struct {
	pthread_once_t once;
	dnnl_status_t status;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_primitive_attr_t attr;            /* scratch memory is the caller's */
} lib = { .once = PTHREAD_ONCE_INIT };

/* The convolution in oneDNN's terms: dilation 0 is dense, groups are an axis of the weights. */
struct conv_dims {
	int nd, wd;                            /* axes of x and y; of w */
	dnnl_dims_t x, w, y, bias, stride, dilate, lo, hi;
};

/* --- what differs between the two APIs --- */
#if DNNL_VERSION_MAJOR < 3

static dnnl_status_t pd_conv(dnnl_primitive_desc_t *pd, const struct dnn_conv *conv,
                             const struct conv_dims *c, const struct dnn_md *x,
                             const struct dnn_md *w, const struct dnn_md *bias,
                             const struct dnn_md *y)
{
	const dnnl_memory_desc_t *b = bias ? DNN_MD(bias) : NULL;
	dnnl_convolution_desc_t d;
	dnnl_status_t st;
	if (conv->kind == CONV_FORWARD)
		st = dnnl_dilated_convolution_forward_desc_init(
			&d, dnnl_forward_training, dnnl_convolution_direct, DNN_MD(x), DNN_MD(w), b, DNN_MD(y),
			c->stride, c->dilate, c->lo, c->hi);
	else if (conv->kind == CONV_BACKWARD_DATA)
		st = dnnl_dilated_convolution_backward_data_desc_init(
			&d, dnnl_convolution_direct, DNN_MD(x), DNN_MD(w), DNN_MD(y), c->stride, c->dilate,
			c->lo, c->hi);
	else
		st = dnnl_dilated_convolution_backward_weights_desc_init(
			&d, dnnl_convolution_direct, DNN_MD(x), DNN_MD(w), b, DNN_MD(y), c->stride, c->dilate,
			c->lo, c->hi);
	if (st != dnnl_success)
		return st;
	return dnn_first_allowed(pd, &d, lib.attr, lib.engine, conv, dnn_conv_problem(conv));
}

static dnnl_status_t pd_matmul(dnnl_primitive_desc_t *pd, uint64_t problem,
                               const struct dnn_md *a, const struct dnn_md *b,
                               const struct dnn_md *bias, const struct dnn_md *c)
{
	dnnl_matmul_desc_t d;
	dnnl_status_t st = dnnl_matmul_desc_init(&d, DNN_MD(a), DNN_MD(b), bias ? DNN_MD(bias) : NULL,
	                                         DNN_MD(c));
	if (st != dnnl_success)
		return st;
	return dnn_first_allowed(pd, &d, lib.attr, lib.engine, NULL, problem);
}

#else

static dnnl_status_t pd_conv(dnnl_primitive_desc_t *pd, const struct dnn_conv *conv,
                             const struct conv_dims *c, const struct dnn_md *x,
                             const struct dnn_md *w, const struct dnn_md *bias,
                             const struct dnn_md *y)
{
	const_dnnl_memory_desc_t b = bias ? DNN_MD(bias) : NULL;
	dnnl_status_t st;
	if (conv->kind == CONV_FORWARD)
		st = dnnl_convolution_forward_primitive_desc_create(
			pd, lib.engine, dnnl_forward_training, dnnl_convolution_direct, DNN_MD(x),
			DNN_MD(w), b, DNN_MD(y), c->stride, c->dilate, c->lo, c->hi, lib.attr);
	else if (conv->kind == CONV_BACKWARD_DATA)
		st = dnnl_convolution_backward_data_primitive_desc_create(
			pd, lib.engine, dnnl_convolution_direct, DNN_MD(x), DNN_MD(w), DNN_MD(y), c->stride,
			c->dilate, c->lo, c->hi, NULL, lib.attr);
	else
		st = dnnl_convolution_backward_weights_primitive_desc_create(
			pd, lib.engine, dnnl_convolution_direct, DNN_MD(x), DNN_MD(w), b, DNN_MD(y), c->stride,
			c->dilate, c->lo, c->hi, NULL, lib.attr);
	return st == dnnl_success ? dnn_next_allowed(*pd, conv, dnn_conv_problem(conv)) : st;
}

static dnnl_status_t pd_matmul(dnnl_primitive_desc_t *pd, uint64_t problem,
                               const struct dnn_md *a, const struct dnn_md *b,
                               const struct dnn_md *bias, const struct dnn_md *c)
{
	dnnl_status_t st = dnnl_matmul_primitive_desc_create(
		pd, lib.engine, DNN_MD(a), DNN_MD(b), bias ? DNN_MD(bias) : NULL, DNN_MD(c), lib.attr);
	return st == dnnl_success ? dnn_next_allowed(*pd, NULL, problem) : st;
}

#endif
/* --- common to both --- */

static void lib_open(void)
{
	dnn_isa();
	lib.status = dnnl_engine_create(&lib.engine, dnnl_cpu, 0);
	if (lib.status == dnnl_success)
		lib.status = dnnl_stream_create(&lib.stream, lib.engine, dnnl_stream_default_flags);
	if (lib.status == dnnl_success)
		lib.status = dnnl_primitive_attr_create(&lib.attr);
	if (lib.status == dnnl_success)
		lib.status = dnnl_primitive_attr_set_scratchpad_mode(lib.attr,
		                                                     dnnl_scratchpad_mode_user);
	/* oneDNN's own cache ignores the stride of axes of extent 1. So for a layout with one channel
	 * or one pixel it may return a primitive made for another layout, which expects the weights in
	 * a different order or needs more scratch memory. The cache of dnn_code.h compares all
	 * strides. */
	if (lib.status == dnnl_success)
		lib.status = dnnl_set_primitive_cache_capacity(0);
}

static int lib_get(void)
{
	pthread_once(&lib.once, lib_open);
	return dnn_fail(lib.status, "cannot start");
}

static void conv_dims_init(struct conv_dims *c, const struct conv_geom *g)
{
	int wd = 0;
	memset(c, 0, sizeof *c);
	c->nd = g->ns + 2;
	c->x[0] = c->y[0] = g->n;
	c->x[1] = g->ci;
	c->y[1] = c->bias[0] = g->co;
	if (g->groups > 1)
		c->w[wd++] = g->groups;
	c->w[wd++] = g->co / g->groups;
	c->w[wd++] = g->ci / g->groups;
	for (int i = 0; i < g->ns; i++) {
		c->x[i + 2] = g->in[i];
		c->y[i + 2] = g->out[i];
		c->w[wd++] = g->kernel[i];
		c->stride[i] = g->stride[i];
		c->dilate[i] = g->kernel[i] > 1 ? g->dilation[i] - 1 : 0;
		c->lo[i] = g->pad_lo[i];
		c->hi[i] = g->pad_hi[i];
	}
	c->wd = wd;
}

/* The key of a convolution's primitive: all that it depends on. */
struct conv_key {
	enum { KEY_CONV = 1, KEY_MATMUL, KEY_REORDER } what;
	int passed;                            /* number of implementations that are passed over for
	                                        * this problem */
	struct dnn_conv c;                     /* without its pointers */
	struct layout x, w, y;
};

static void conv_key_init(struct conv_key *k, const struct dnn_conv *c)
{
	memset(k, 0, sizeof *k);
	k->what = KEY_CONV;
	k->passed = passed_count();
	memcpy(&k->c, c, sizeof *c);
	k->c.x = k->c.w = k->c.y = NULL;
	for (int i = 0; i < c->geom.ns; i++)
		if (c->geom.kernel[i] == 1)
			k->c.geom.dilation[i] = 1;
	if (c->x)
		memcpy(&k->x, c->x, sizeof k->x);
	if (c->w)
		memcpy(&k->w, c->w, sizeof k->w);
	if (c->y)
		memcpy(&k->y, c->y, sizeof k->y);
}

/* Hashes the members one by one, since padding bytes between them may differ. */
uint64_t dnn_conv_problem(const struct dnn_conv *c)
{
	const struct conv_geom *g = &c->geom;
	int64_t v[10 + 7 * CONV_NS] = { KEY_CONV, c->kind, g->ns, g->n, g->ci, g->co, g->groups,
		c->bias, c->x_type, (c->w_type << 8) | c->y_type };
	int n = 10;
	for (int i = 0; i < CONV_NS; i++) {
		const int64_t axis[] = { g->in[i], g->kernel[i], g->out[i], g->stride[i], g->dilation[i],
			g->pad_lo[i], g->pad_hi[i] };
		for (int k = 0; k < 7; k++)
			v[n++] = i < g->ns ? axis[k] : 0;
	}
	return hash_bytes(v, sizeof v, 0);
}

static dnnl_status_t conv_pd(const void *question, dnnl_primitive_desc_t *pd)
{
	const struct dnn_conv *c = question;
	struct dnn_md x = { 0 }, w = { 0 }, y = { 0 }, bias = { 0 };
	struct conv_dims cd;
	conv_dims_init(&cd, &c->geom);
	dnnl_status_t st = dnn_md_init(&x, cd.nd, cd.x, c->x_type, c->x);
	if (st == dnnl_success)
		st = dnn_md_init(&w, cd.wd, cd.w, c->w_type, c->w);
	if (st == dnnl_success)
		st = dnn_md_init(&y, cd.nd, cd.y, c->y_type, c->y);
	if (st == dnnl_success)
		st = dnn_md_dense(&bias, cd.bias[0]);
	if (st == dnnl_success)
		st = pd_conv(pd, c, &cd, &x, &w, c->bias ? &bias : NULL, &y);
	dnn_md_release(&x);
	dnn_md_release(&w);
	dnn_md_release(&y);
	dnn_md_release(&bias);
	return st;
}

/* Also stores the primitive under the layouts that oneDNN has chosen, since the kernel will query
 * again with these. */
static void remember_answer(struct dnn_code *code, struct conv_key *k)
{
	static const int x[] = { DNNL_ARG_SRC, DNNL_ARG_DIFF_SRC, DNNL_ARG_SRC };
	static const int w[] = { DNNL_ARG_WEIGHTS, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_WEIGHTS };
	static const int y[] = { DNNL_ARG_DST, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_DST };
	const int arg[] = { x[k->c.kind], w[k->c.kind], y[k->c.kind] };
	struct layout *const of[] = { &k->x, &k->w, &k->y };
	bool open = false;
	for (int i = 0; i < 3; i++) {
		if (of[i]->set)
			continue;
		open = true;
		if (dnn_md_layout(dnnl_primitive_desc_query_md(code->pd, dnnl_query_exec_arg_md, arg[i]),
		              of[i]) < 0)
			return;
	}
	if (open)
		dnn_code_alias(k, sizeof *k, code);
}

/* oneDNN splits sums into as many parts as there are threads at the time of the query. */
static struct dnn_code *get_code(const void *key, size_t n, dnn_ask *ask, const void *question,
                                 bool one_thread)
{
	if (!one_thread)
		return dnn_code_get(key, n, ask, question);
	int threads = dnn_set_threads(1);
	struct dnn_code *code = dnn_code_get(key, n, ask, question);
	dnn_set_threads(threads);
	return code;
}

static int conv_new(struct dnn_prim **out, const struct dnn_conv *c)
{
	static const int args[][DNN_MAXARG] = {
		{ DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST },
		{ DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, 0, DNNL_ARG_DIFF_SRC },
		{ DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS },
	};
	struct conv_key key;
	TRY(lib_get());
	conv_key_init(&key, c);
	struct dnn_code *code = get_code(&key, sizeof key, conv_pd, c, c->any_threads);
	TRY(dnn_fail(code->status, "no implementation of this convolution"));
	if (!c->x || !c->w || !c->y)
		remember_answer(code, &key);

	int arg[DNN_MAXARG];
	memcpy(arg, args[c->kind], sizeof arg);
	for (int i = 0; i < DNN_MAXARG; i++)
		if (!c->bias && (arg[i] == DNNL_ARG_BIAS || arg[i] == DNNL_ARG_DIFF_BIAS))
			arg[i] = 0;
	*out = dnn_prim_make(code, lib.engine, lib.stream, DNN_MAXARG, arg);
	(*out)->one_thread = c->any_threads;
	(*out)->problem = dnn_conv_problem(c);
	return 0;
}

int dnn_conv_new(struct dnn_prim **out, const struct dnn_conv *c)
{
	struct dnn_deeper d;
	TRY(conv_new(out, c));
	if (!c->any_extent || !dnn_order_varies(*out, c))
		return 0;
	dnn_prim_free(*out);
	dnn_deepen(&d, c);
	TRY(dnn_conv_new(out, &d.c));
	(*out)->added++;
	return 0;
}

static uint64_t matmul_problem(const struct dnn_matmul *m)
{
	const int64_t v[] = { KEY_MATMUL, m->m, m->n, m->k, m->a_stride[0], m->a_stride[1],
		m->b_stride[0], m->b_stride[1], m->c_stride[0], m->c_stride[1], m->a_type, m->b_type,
		m->c_type, m->bias };
	return hash_bytes(v, sizeof v, 0);
}

static dnnl_status_t matmul_pd(const void *question, dnnl_primitive_desc_t *pd)
{
	const struct dnn_matmul *m = question;
	const dnnl_dims_t ad = { m->m, m->k }, bd = { m->k, m->n }, cd = { m->m, m->n };
	const dnnl_dims_t vd = { 1, m->n }, vs = { m->n, 1 };
	struct dnn_md a = { 0 }, b = { 0 }, c = { 0 }, bias = { 0 };
	dnnl_status_t st = dnn_md_strided(&a, 2, ad, dnn_type(m->a_type), m->a_stride);
	if (st == dnnl_success)
		st = dnn_md_strided(&b, 2, bd, dnn_type(m->b_type), m->b_stride);
	if (st == dnnl_success)
		st = dnn_md_strided(&c, 2, cd, dnn_type(m->c_type), m->c_stride);
	if (st == dnnl_success)
		st = dnn_md_strided(&bias, 2, vd, dnnl_f32, vs);
	if (st == dnnl_success)
		st = pd_matmul(pd, matmul_problem(m), &a, &b, m->bias ? &bias : NULL, &c);
	dnn_md_release(&a);
	dnn_md_release(&b);
	dnn_md_release(&c);
	dnn_md_release(&bias);
	return st;
}

/* The strides that a dense matrix of one row or column has where it is not transposed: oneDNN would
 * copy a transposed one to scratch memory first. */
static void straighten(int64_t rows, int64_t columns, int64_t stride[2])
{
	if (rows > 1 && columns > 1)
		return;
	stride[0] = columns;
	stride[1] = 1;
}

int dnn_matmul_new(struct dnn_prim **out, const struct dnn_matmul *m)
{
	struct { int what, passed; struct dnn_matmul m; } key;
	TRY(lib_get());
	memset(&key, 0, sizeof key);
	key.what = KEY_MATMUL;
	key.passed = passed_count();
	memcpy(&key.m, m, sizeof *m);
	straighten(m->m, m->k, key.m.a_stride);
	straighten(m->k, m->n, key.m.b_stride);
	m = &key.m;
	struct dnn_code *code = get_code(&key, sizeof key, matmul_pd, m, m->any_threads);
	TRY(dnn_fail(code->status, "no implementation of this matrix product"));
	const int arg[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, m->bias ? DNNL_ARG_BIAS : 0,
		            DNNL_ARG_DST };
	*out = dnn_prim_make(code, lib.engine, lib.stream, DNN_MAXARG, arg);
	(*out)->one_thread = m->any_threads;
	(*out)->problem = matmul_problem(m);
	return 0;
}

struct reorder_key {
	int what, passed;
	enum dtype from_type, to_type;
	struct layout from, to;
};

/* The layouts are the problem. */
static uint64_t reorder_problem(const struct reorder_key *r)
{
	struct reorder_key k;
	memcpy(&k, r, sizeof k);
	k.passed = 0;
	return hash_bytes(&k, sizeof k, 0);
}

static dnnl_status_t reorder_pd(const void *question, dnnl_primitive_desc_t *pd)
{
	const struct reorder_key *r = question;
	struct dnn_md a = { 0 }, b = { 0 };
	dnnl_status_t st = dnn_md_init(&a, r->from.nd, r->from.dims, r->from_type, &r->from);
	if (st == dnnl_success)
		st = dnn_md_init(&b, r->from.nd, r->from.dims, r->to_type, &r->to);
	if (st == dnnl_success)
		st = dnnl_reorder_primitive_desc_create(pd, DNN_MD(&a), lib.engine, DNN_MD(&b), lib.engine,
		                                        lib.attr);
	if (st == dnnl_success && !dnn_is_allowed(*pd, NULL, reorder_problem(r)))
		st = dnnl_unimplemented;
	dnn_md_release(&a);
	dnn_md_release(&b);
	return st;
}

int dnn_reorder_new(struct dnn_prim **out, enum dtype from_type, const struct layout *from,
                    enum dtype to_type, const struct layout *to)
{
	struct reorder_key key;
	TRY(lib_get());
	if (dnn_type(from_type) == dnnl_data_type_undef || dnn_type(to_type) == dnnl_data_type_undef)
		return dnn_fail(dnnl_unimplemented, "no reorder of this element type");
	memset(&key, 0, sizeof key);
	key.what = KEY_REORDER;
	key.passed = passed_count();
	key.from_type = from_type;
	key.to_type = to_type;
	memcpy(&key.from, from, sizeof *from);
	memcpy(&key.to, to, sizeof *to);
	struct dnn_code *code = dnn_code_get(&key, sizeof key, reorder_pd, &key);
	TRY(dnn_fail(code->status, "no implementation of this reorder"));
	const int arg[] = { DNNL_ARG_FROM, DNNL_ARG_TO };
	*out = dnn_prim_make(code, lib.engine, lib.stream, 2, arg);
	(*out)->problem = reorder_problem(&key);
	return 0;
}

int dnn_prim_layout(const struct dnn_prim *p, int i, struct layout *out)
{
	BUG_IF(i < 0 || i >= p->narg, "argument %d of %d", i, p->narg);
	dnn_md_given d = dnnl_primitive_desc_query_md(p->code->pd, dnnl_query_exec_arg_md, p->arg[i]);
	if (dnn_md_layout(d, out) < 0)
		return ERR(E_UNSUPPORTED, NULL, "oneDNN: '%s' wants a layout that is not blocked",
		           dnn_prim_impl(p));
	for (int i = 0; i < p->added; i++)
		dnn_remove_axis(out, out->nd - CONV_NS);
	return 0;
}
