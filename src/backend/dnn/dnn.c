/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bridge to oneDNN. A primitive descriptor is asked for with the layouts the caller has fixed
 * and "any" for the rest; oneDNN answers with the layouts its best implementation wants. The first
 * part of this file is the difference between the two C APIs (memory descriptors, creation of
 * primitive descriptors), the second is common to both. */
#include "backend/dnn/dnn.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <dnnl.h>
#include <dnnl_debug.h>

#include "backend/dnn/dnn_code.h"
#include "backend/dnn/dnn_deeper.h"
#include "backend/dnn/dnn_quirks.h"
#include "base/err.h"

static struct {
	pthread_once_t once;
	dnnl_status_t status;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_primitive_attr_t attr;            /* scratch memory is the caller's */
} lib = { .once = PTHREAD_ONCE_INIT };

static dnnl_data_type_t data_type(enum dtype t)
{
	switch (t) {
	case DTYPE_F32: return dnnl_f32;
	case DTYPE_F16: return dnnl_f16;
	case DTYPE_BF16: return dnnl_bf16;
	case DTYPE_I32: return dnnl_s32;
	case DTYPE_I8: return dnnl_s8;
	case DTYPE_U8: return dnnl_u8;
	default: return dnnl_data_type_undef;
	}
}

/* The dims rounded up to whole blocks. */
static void padded_dims(const struct layout *l, int64_t *padded)
{
	for (int d = 0; d < l->nd; d++) {
		int64_t block = 1;
		for (int b = 0; b < l->nblk; b++)
			if (l->blk_dim[b] == d)
				block *= l->blk[b];
		padded[d] = (l->dims[d] + block - 1) / block * block;
	}
}

/* oneDNN's arrays have room for more axes than ours. */
struct dims {
	dnnl_dims_t v;
};

static struct dims dims_of(int nd, const int64_t *d)
{
	struct dims r = { { 0 } };
	for (int i = 0; i < nd; i++)
		r.v[i] = d[i];
	return r;
}

/* What both APIs report about a blocked descriptor. */
struct md_view {
	int nd, nblk;
	const dnnl_dim_t *dims, *padded, *offsets, *stride, *blk, *idx;
};

static int view_to_layout(const struct md_view *v, struct layout *out)
{
	struct layout l = { .set = true, .nd = v->nd, .nblk = v->nblk };
	if (v->nd < 1 || v->nd > MAXD || v->nblk > LAYOUT_MAXBLK)
		return E_UNSUPPORTED;
	for (int d = 0; d < v->nd; d++) {
		l.dims[d] = v->dims[d];
		l.stride[d] = v->stride[d];
	}
	for (int b = 0; b < v->nblk; b++) {
		l.blk[b] = v->blk[b];
		l.blk_dim[b] = (int8_t)v->idx[b];
	}
	int64_t padded[MAXD] = { 0 };
	padded_dims(&l, padded);
	for (int d = 0; d < v->nd; d++)
		if (v->padded[d] != padded[d] || v->offsets[d] != 0)
			return E_UNSUPPORTED;
	*out = l;
	return 0;
}

/* The convolution in oneDNN's terms: dilation 0 is dense, groups are an axis of the weights. */
struct conv_dims {
	int nd, wd;                            /* axes of x and y; of w */
	dnnl_dims_t x, w, y, bias, stride, dilate, lo, hi;
};

/* --- what differs: a memory descriptor is a struct in v2 and a handle in v3 --- */
#if DNNL_VERSION_MAJOR < 3

struct md {
	dnnl_memory_desc_t d;
};
#define MD(m) (&(m)->d)

static void md_release(struct md *m)
{
	(void)m;
}

static dnnl_status_t md_any(struct md *m, int nd, const dnnl_dim_t *dims, dnnl_data_type_t t)
{
	return dnnl_memory_desc_init_by_tag(&m->d, nd, dims_of(nd, dims).v, t,
	                                    dnnl_format_tag_any);
}

static dnnl_status_t md_strided(struct md *m, int nd, const dnnl_dim_t *dims, dnnl_data_type_t t,
                                const dnnl_dim_t *stride)
{
	return dnnl_memory_desc_init_by_strides(&m->d, nd, dims_of(nd, dims).v, t,
	                                        dims_of(nd, stride).v);
}

static dnnl_status_t md_blocked(struct md *m, const struct layout *l, dnnl_data_type_t t)
{
	/* A row-major one first: the library takes blocked strides for overlapping ones. */
	dnnl_status_t st = dnnl_memory_desc_init_by_strides(&m->d, l->nd, dims_of(l->nd, l->dims).v,
	                                                    t, NULL);
	if (st != dnnl_success)
		return st;
	dnnl_blocking_desc_t *b = &m->d.format_desc.blocking;
	padded_dims(l, m->d.padded_dims);
	b->inner_nblks = l->nblk;
	memcpy(b->strides, l->stride, sizeof l->stride);
	for (int i = 0; i < l->nblk; i++) {
		b->inner_blks[i] = l->blk[i];
		b->inner_idxs[i] = l->blk_dim[i];
	}
	return dnnl_success;
}

static int md_layout(const dnnl_memory_desc_t *d, struct layout *out)
{
	const dnnl_blocking_desc_t *b = &d->format_desc.blocking;
	if (d->format_kind != dnnl_blocked || d->offset0 != 0 || d->extra.flags != 0)
		return E_UNSUPPORTED;
	struct md_view v = { d->ndims, b->inner_nblks, d->dims, d->padded_dims, d->padded_offsets,
		             b->strides, b->inner_blks, b->inner_idxs };
	return view_to_layout(&v, out);
}

static dnnl_status_t pd_conv(dnnl_primitive_desc_t *pd, const struct dnn_conv *conv,
                             const struct conv_dims *c, const struct md *x, const struct md *w,
                             const struct md *bias, const struct md *y)
{
	const dnnl_memory_desc_t *b = bias ? MD(bias) : NULL;
	dnnl_convolution_desc_t d;
	dnnl_status_t st;
	if (conv->kind == CONV_FORWARD)
		st = dnnl_dilated_convolution_forward_desc_init(
			&d, dnnl_forward_training, dnnl_convolution_direct, MD(x), MD(w), b, MD(y),
			c->stride, c->dilate, c->lo, c->hi);
	else if (conv->kind == CONV_BACKWARD_DATA)
		st = dnnl_dilated_convolution_backward_data_desc_init(
			&d, dnnl_convolution_direct, MD(x), MD(w), MD(y), c->stride, c->dilate,
			c->lo, c->hi);
	else
		st = dnnl_dilated_convolution_backward_weights_desc_init(
			&d, dnnl_convolution_direct, MD(x), MD(w), b, MD(y), c->stride, c->dilate,
			c->lo, c->hi);
	if (st != dnnl_success)
		return st;
	return dnn_first_correct(pd, &d, lib.attr, lib.engine, conv);
}

static dnnl_status_t pd_matmul(dnnl_primitive_desc_t *pd, const struct md *a, const struct md *b,
                               const struct md *bias, const struct md *c)
{
	dnnl_matmul_desc_t d;
	dnnl_status_t st = dnnl_matmul_desc_init(&d, MD(a), MD(b), bias ? MD(bias) : NULL, MD(c));
	if (st != dnnl_success)
		return st;
	return dnnl_primitive_desc_create(pd, &d, lib.attr, lib.engine, NULL);
}

#else

struct md {
	dnnl_memory_desc_t d;
};
#define MD(m) ((m)->d)

static void md_release(struct md *m)
{
	if (m->d)
		dnnl_memory_desc_destroy(m->d);
	m->d = NULL;
}

static dnnl_status_t md_any(struct md *m, int nd, const dnnl_dim_t *dims, dnnl_data_type_t t)
{
	return dnnl_memory_desc_create_with_tag(&m->d, nd, dims_of(nd, dims).v, t,
	                                        dnnl_format_tag_any);
}

static dnnl_status_t md_strided(struct md *m, int nd, const dnnl_dim_t *dims, dnnl_data_type_t t,
                                const dnnl_dim_t *stride)
{
	return dnnl_memory_desc_create_with_strides(&m->d, nd, dims_of(nd, dims).v, t,
	                                            dims_of(nd, stride).v);
}

static int md_layout(const_dnnl_memory_desc_t d, struct layout *out)
{
	const dnnl_dims_t *dims, *padded, *offsets, *stride, *blk, *idx;
	dnnl_format_kind_t kind = dnnl_format_kind_undef;
	dnnl_dim_t offset0 = 0;
	int nd = 0, nblk = 0;
	if (dnnl_memory_desc_query(d, dnnl_query_format_kind, &kind) || kind != dnnl_blocked
	    || dnnl_memory_desc_query(d, dnnl_query_submemory_offset_s64, &offset0) || offset0
	    || dnnl_memory_desc_query(d, dnnl_query_ndims_s32, &nd)
	    || dnnl_memory_desc_query(d, dnnl_query_dims, &dims)
	    || dnnl_memory_desc_query(d, dnnl_query_padded_dims, &padded)
	    || dnnl_memory_desc_query(d, dnnl_query_padded_offsets, &offsets)
	    || dnnl_memory_desc_query(d, dnnl_query_strides, &stride)
	    || dnnl_memory_desc_query(d, dnnl_query_inner_nblks_s32, &nblk)
	    || dnnl_memory_desc_query(d, dnnl_query_inner_blks, &blk)
	    || dnnl_memory_desc_query(d, dnnl_query_inner_idxs, &idx))
		return E_UNSUPPORTED;
	struct md_view v = { nd, nblk, *dims, *padded, *offsets, *stride, *blk, *idx };
	return view_to_layout(&v, out);
}

static bool same_blocks(const struct layout *a, const struct layout *b)
{
	return a->nd == b->nd && a->nblk == b->nblk
	       && memcmp(a->stride, b->stride, sizeof a->stride) == 0
	       && memcmp(a->blk, b->blk, sizeof a->blk) == 0
	       && memcmp(a->blk_dim, b->blk_dim, sizeof a->blk_dim) == 0;
}

static bool try_tag(struct md *m, const struct layout *l, dnnl_data_type_t t, int tag)
{
	struct layout have;
	if (dnnl_memory_desc_create_with_tag(&m->d, l->nd, dims_of(l->nd, l->dims).v, t,
	                                     (dnnl_format_tag_t)tag) != dnnl_success) {
		m->d = NULL;
		return false;
	}
	if (md_layout(m->d, &have) == 0 && same_blocks(&have, l))
		return true;
	md_release(m);
	return false;
}

#define KNOWN_TAGS 32

/* v3 makes blocked descriptors from tags only, so the tag that means this layout is looked for:
 * first among those that were found before, then among all, which are some hundred cheap calls. A
 * network has few; which thread notes one, or that two note the same, does not matter. */
static dnnl_status_t md_blocked(struct md *m, const struct layout *l, dnnl_data_type_t t)
{
	static atomic_int known[KNOWN_TAGS], next;
	for (int i = 0; i < KNOWN_TAGS && known[i]; i++)
		if (try_tag(m, l, t, known[i]))
			return dnnl_success;
	for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; tag++)
		if (try_tag(m, l, t, tag)) {
			known[atomic_fetch_add(&next, 1) % KNOWN_TAGS] = tag;
			return dnnl_success;
		}
	return dnnl_unimplemented;
}

static dnnl_status_t pd_conv(dnnl_primitive_desc_t *pd, const struct dnn_conv *conv,
                             const struct conv_dims *c, const struct md *x, const struct md *w,
                             const struct md *bias, const struct md *y)
{
	const_dnnl_memory_desc_t b = bias ? MD(bias) : NULL;
	dnnl_status_t st;
	if (conv->kind == CONV_FORWARD)
		st = dnnl_convolution_forward_primitive_desc_create(
			pd, lib.engine, dnnl_forward_training, dnnl_convolution_direct, MD(x),
			MD(w), b, MD(y), c->stride, c->dilate, c->lo, c->hi, lib.attr);
	else if (conv->kind == CONV_BACKWARD_DATA)
		st = dnnl_convolution_backward_data_primitive_desc_create(
			pd, lib.engine, dnnl_convolution_direct, MD(x), MD(w), MD(y), c->stride,
			c->dilate, c->lo, c->hi, NULL, lib.attr);
	else
		st = dnnl_convolution_backward_weights_primitive_desc_create(
			pd, lib.engine, dnnl_convolution_direct, MD(x), MD(w), b, MD(y), c->stride,
			c->dilate, c->lo, c->hi, NULL, lib.attr);
	return st == dnnl_success ? dnn_next_correct(*pd, conv) : st;
}

static dnnl_status_t pd_matmul(dnnl_primitive_desc_t *pd, const struct md *a, const struct md *b,
                               const struct md *bias, const struct md *c)
{
	return dnnl_matmul_primitive_desc_create(pd, lib.engine, MD(a), MD(b),
	                                         bias ? MD(bias) : NULL, MD(c), lib.attr);
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
}

static int lib_get(void)
{
	pthread_once(&lib.once, lib_open);
	return dnn_fail(lib.status, "cannot start");
}

static dnnl_status_t md_init(struct md *m, int nd, const dnnl_dim_t *dims, enum dtype t,
                             const struct layout *l)
{
	if (!l)
		return md_any(m, nd, dims, data_type(t));
	if (l->nd != nd || memcmp(l->dims, dims, sizeof *dims * (size_t)nd) != 0)
		return dnnl_invalid_arguments;
	if (l->nblk == 0)
		return md_strided(m, nd, dims, data_type(t), l->stride);
	return md_blocked(m, l, data_type(t));
}

static dnnl_status_t md_dense(struct md *m, dnnl_dim_t n)
{
	dnnl_dim_t one = 1;
	return md_strided(m, 1, &n, dnnl_f32, &one);
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
	struct dnn_conv c;                     /* without its pointers */
	struct layout x, w, y;
};

static void conv_key_init(struct conv_key *k, const struct dnn_conv *c)
{
	memset(k, 0, sizeof *k);
	k->what = KEY_CONV;
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

static dnnl_status_t conv_pd(const void *question, dnnl_primitive_desc_t *pd)
{
	const struct dnn_conv *c = question;
	struct md x = { 0 }, w = { 0 }, y = { 0 }, bias = { 0 };
	struct conv_dims cd;
	conv_dims_init(&cd, &c->geom);
	dnnl_status_t st = md_init(&x, cd.nd, cd.x, c->x_type, c->x);
	if (st == dnnl_success)
		st = md_init(&w, cd.wd, cd.w, c->w_type, c->w);
	if (st == dnnl_success)
		st = md_init(&y, cd.nd, cd.y, c->y_type, c->y);
	if (st == dnnl_success)
		st = md_dense(&bias, cd.bias[0]);
	if (st == dnnl_success)
		st = pd_conv(pd, c, &cd, &x, &w, c->bias ? &bias : NULL, &y);
	md_release(&x);
	md_release(&w);
	md_release(&y);
	md_release(&bias);
	return st;
}

/* The kernel that was offered open layouts asks again with those it was answered. */
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
		if (md_layout(dnnl_primitive_desc_query_md(code->pd, dnnl_query_exec_arg_md, arg[i]),
		              of[i]) < 0)
			return;
	}
	if (open)
		dnn_code_alias(k, sizeof *k, code);
}

/* oneDNN cuts sums in as many parts as there are threads when it is asked. */
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

static dnnl_status_t matmul_pd(const void *question, dnnl_primitive_desc_t *pd)
{
	const struct dnn_matmul *m = question;
	const dnnl_dims_t ad = { m->m, m->k }, bd = { m->k, m->n }, cd = { m->m, m->n };
	const dnnl_dims_t vd = { 1, m->n }, vs = { m->n, 1 };
	struct md a = { 0 }, b = { 0 }, c = { 0 }, bias = { 0 };
	dnnl_status_t st = md_strided(&a, 2, ad, data_type(m->a_type), m->a_stride);
	if (st == dnnl_success)
		st = md_strided(&b, 2, bd, data_type(m->b_type), m->b_stride);
	if (st == dnnl_success)
		st = md_strided(&c, 2, cd, data_type(m->c_type), m->c_stride);
	if (st == dnnl_success)
		st = md_strided(&bias, 2, vd, dnnl_f32, vs);
	if (st == dnnl_success)
		st = pd_matmul(pd, &a, &b, m->bias ? &bias : NULL, &c);
	md_release(&a);
	md_release(&b);
	md_release(&c);
	md_release(&bias);
	return st;
}

int dnn_matmul_new(struct dnn_prim **out, const struct dnn_matmul *m)
{
	struct { int what; struct dnn_matmul m; } key;
	TRY(lib_get());
	memset(&key, 0, sizeof key);
	key.what = KEY_MATMUL;
	memcpy(&key.m, m, sizeof *m);
	struct dnn_code *code = get_code(&key, sizeof key, matmul_pd, m, m->any_threads);
	TRY(dnn_fail(code->status, "no implementation of this matrix product"));
	const int arg[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, m->bias ? DNNL_ARG_BIAS : 0,
		            DNNL_ARG_DST };
	*out = dnn_prim_make(code, lib.engine, lib.stream, DNN_MAXARG, arg);
	(*out)->one_thread = m->any_threads;
	return 0;
}

struct reorder_key {
	int what;
	enum dtype from_type, to_type;
	struct layout from, to;
};

static dnnl_status_t reorder_pd(const void *question, dnnl_primitive_desc_t *pd)
{
	const struct reorder_key *r = question;
	struct md a = { 0 }, b = { 0 };
	dnnl_status_t st = md_init(&a, r->from.nd, r->from.dims, r->from_type, &r->from);
	if (st == dnnl_success)
		st = md_init(&b, r->from.nd, r->from.dims, r->to_type, &r->to);
	if (st == dnnl_success)
		st = dnnl_reorder_primitive_desc_create(pd, MD(&a), lib.engine, MD(&b), lib.engine,
		                                        lib.attr);
	md_release(&a);
	md_release(&b);
	return st;
}

int dnn_reorder_new(struct dnn_prim **out, enum dtype from_type, const struct layout *from,
                    enum dtype to_type, const struct layout *to)
{
	struct reorder_key key;
	TRY(lib_get());
	if (data_type(from_type) == dnnl_data_type_undef || data_type(to_type) == dnnl_data_type_undef)
		return dnn_fail(dnnl_unimplemented, "no reorder of this element type");
	memset(&key, 0, sizeof key);
	key.what = KEY_REORDER;
	key.from_type = from_type;
	key.to_type = to_type;
	memcpy(&key.from, from, sizeof *from);
	memcpy(&key.to, to, sizeof *to);
	struct dnn_code *code = dnn_code_get(&key, sizeof key, reorder_pd, &key);
	TRY(dnn_fail(code->status, "no implementation of this reorder"));
	const int arg[] = { DNNL_ARG_FROM, DNNL_ARG_TO };
	*out = dnn_prim_make(code, lib.engine, lib.stream, 2, arg);
	return 0;
}

int dnn_prim_layout(const struct dnn_prim *p, int i, struct layout *out)
{
	BUG_IF(i < 0 || i >= p->narg, "argument %d of %d", i, p->narg);
	if (md_layout(dnnl_primitive_desc_query_md(p->code->pd, dnnl_query_exec_arg_md, p->arg[i]), out)
	    < 0)
		return ERR(E_UNSUPPORTED, NULL, "oneDNN: '%s' wants a layout that is not blocked",
		           dnn_prim_impl(p));
	for (int i = 0; i < p->added; i++)
		dnn_remove_axis(out, out->nd - CONV_NS);
	return 0;
}
