/* SPDX-License-Identifier: BSD-3-Clause
 *
 * oneDNN's memory descriptors and dlx's layouts. A descriptor is a struct in v2 of the C API and a
 * handle in v3, which makes blocked ones from tags alone. */
#include "backend/dnn/dnn_md.h"

#include <stdatomic.h>
#include <string.h>

#include "base/err.h"

dnnl_data_type_t dnn_type(enum dtype t)
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

/* oneDNN's arrays have room for more axes than dlx's. */
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

#if DNNL_VERSION_MAJOR < 3

void dnn_md_release(struct dnn_md *m)
{
	(void)m;
}

static dnnl_status_t md_any(struct dnn_md *m, int nd, const dnnl_dim_t *dims, dnnl_data_type_t t)
{
	return dnnl_memory_desc_init_by_tag(&m->d, nd, dims_of(nd, dims).v, t,
	                                    dnnl_format_tag_any);
}

dnnl_status_t dnn_md_strided(struct dnn_md *m, int nd, const dnnl_dim_t *dims, dnnl_data_type_t t,
                                const dnnl_dim_t *stride)
{
	return dnnl_memory_desc_init_by_strides(&m->d, nd, dims_of(nd, dims).v, t,
	                                        dims_of(nd, stride).v);
}

static dnnl_status_t md_blocked(struct dnn_md *m, const struct layout *l, dnnl_data_type_t t)
{
	/* Begins with a row-major descriptor, because the library would reject blocked strides as
	 * overlapping. */
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

int dnn_md_layout(dnn_md_given d, struct layout *out)
{
	const dnnl_blocking_desc_t *b = &d->format_desc.blocking;
	if (d->format_kind != dnnl_blocked || d->offset0 != 0 || d->extra.flags != 0)
		return E_UNSUPPORTED;
	struct md_view v = { d->ndims, b->inner_nblks, d->dims, d->padded_dims, d->padded_offsets,
		             b->strides, b->inner_blks, b->inner_idxs };
	return view_to_layout(&v, out);
}

#else

void dnn_md_release(struct dnn_md *m)
{
	if (m->d)
		dnnl_memory_desc_destroy(m->d);
	m->d = NULL;
}

static dnnl_status_t md_any(struct dnn_md *m, int nd, const dnnl_dim_t *dims, dnnl_data_type_t t)
{
	return dnnl_memory_desc_create_with_tag(&m->d, nd, dims_of(nd, dims).v, t,
	                                        dnnl_format_tag_any);
}

dnnl_status_t dnn_md_strided(struct dnn_md *m, int nd, const dnnl_dim_t *dims, dnnl_data_type_t t,
                                const dnnl_dim_t *stride)
{
	return dnnl_memory_desc_create_with_strides(&m->d, nd, dims_of(nd, dims).v, t,
	                                            dims_of(nd, stride).v);
}

int dnn_md_layout(dnn_md_given d, struct layout *out)
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

static bool try_tag(struct dnn_md *m, const struct layout *l, dnnl_data_type_t t, int tag)
{
	struct layout have;
	if (dnnl_memory_desc_create_with_tag(&m->d, l->nd, dims_of(l->nd, l->dims).v, t,
	                                     (dnnl_format_tag_t)tag) != dnnl_success) {
		m->d = NULL;
		return false;
	}
	if (dnn_md_layout(m->d, &have) == 0 && same_blocks(&have, l))
		return true;
	dnn_md_release(m);
	return false;
}

#define KNOWN_TAGS 32

/* v3 makes blocked descriptors only from tags, so this searches for the tag of the layout: first
 * among those found before, then among all (some hundred cheap calls). A network has few blocked
 * layouts. If several threads store the same tag, no harm is done. */
static dnnl_status_t md_blocked(struct dnn_md *m, const struct layout *l, dnnl_data_type_t t)
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

#endif

dnnl_status_t dnn_md_init(struct dnn_md *m, int nd, const dnnl_dim_t *dims, enum dtype t,
                             const struct layout *l)
{
	if (!l)
		return md_any(m, nd, dims, dnn_type(t));
	if (l->nd != nd || memcmp(l->dims, dims, sizeof *dims * (size_t)nd) != 0)
		return dnnl_invalid_arguments;
	if (l->nblk == 0)
		return dnn_md_strided(m, nd, dims, dnn_type(t), l->stride);
	return md_blocked(m, l, dnn_type(t));
}

dnnl_status_t dnn_md_dense(struct dnn_md *m, dnnl_dim_t n)
{
	dnnl_dim_t one = 1;
	return dnn_md_strided(m, 1, &n, dnnl_f32, &one);
}
