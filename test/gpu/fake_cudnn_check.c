/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What each descriptor of cuDNN's graph API has, and what must hold when it is finalized. */
#include "fake_cudnn.h"

#include <stdarg.h>
#include <stdio.h>

cudnnStatus_t refuse(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "fake cuDNN: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	return CUDNN_STATUS_BAD_PARAM;
}

/* --- what each descriptor has --- */

struct rule {
	cudnnBackendDescriptorType_t of;
	cudnnBackendAttributeName_t name;
	cudnnBackendAttributeType_t type;
	int least, most;
	bool required;
};

#define OPERATION(kind, a, x, w, y)                                                         \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_CONV_DESC, DESC, 1, 1, true },           \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_##x, DESC, 1, 1, true },                 \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_##w, DESC, 1, 1, true },                 \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_##y, DESC, 1, 1, true },                 \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_ALPHA, CUDNN_TYPE_FLOAT, 1, 1, true },   \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_BETA, CUDNN_TYPE_FLOAT, 1, 1, true }

static const struct rule rules[] = {
	{ TENSOR, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, true },
	{ TENSOR, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 3, AXES, true },
	{ TENSOR, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 3, AXES, true },
	{ TENSOR, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, 1, true },
	{ TENSOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, 1, true },
	{ TENSOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, 1, false },
	{ CONV, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, 1, true },
	{ CONV, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, 1, true },
	{ CONV, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, 1, true },
	{ CONV, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, 3, true },
	{ CONV, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, 3, true },
	{ CONV, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, 3, true },
	{ CONV, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, 3, true },
	OPERATION(FORWARD, FORWARD, X, W, Y),
	OPERATION(DATA, BWD_DATA, DX, W, DY),
	OPERATION(FILTER, BWD_FILTER, X, DW, DY),
	{ CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
	  1, true },
	{ CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
	  1, true },
	{ CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE,
	  CUDNN_TYPE_DOUBLE, 1, 1, false },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DESC, 1, 1, true },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, DESC, 1, 1, true },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, DESC, 1, 1, false },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, DESC, 1, 1, false },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, DESC, 1, 1, false },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, DESC, 1, 1, false },
	{ STATISTICS, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, 1, true },
	{ STATISTICS, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1, true },
	{ STATISTICS, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, DESC, 1, 1, true },
	{ STATISTICS, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, DESC, 1, 1, true },
	{ STATISTICS, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, DESC, 1, 1, true },
	{ NORM_SUMS, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, DESC, 1, 1, true },
	{ CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, DESC, 1,
	  MAXOPS, true },
	{ CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
	  1, 1, true },
	{ CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DESC, 1,
	  1, true },
	{ CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1,
	  1, true },
	{ CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DESC, 1, 1,
	  false },
	{ CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
	  CUDNN_TYPE_CHAR, 1, 1 << 20, false },
	{ CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
	  1, 1, true },
	{ CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
	  1, MAXTENSORS, true },
	{ CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
	  CUDNN_TYPE_VOID_PTR, 1, MAXTENSORS, true },
	{ CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
	  1, 1, true },
};
#define NRULES (sizeof rules / sizeof *rules)

const struct attribute *find(const fake *d, cudnnBackendAttributeName_t name)
{
	for (int i = 0; i < d->nattr; i++)
		if (d->attr[i].name == name)
			return &d->attr[i];
	return NULL;
}

const int64_t *ints(const fake *d, cudnnBackendAttributeName_t name)
{
	return find(d, name)->value;
}

int whole(const fake *d, cudnnBackendAttributeName_t name)
{
	return *(const int *)find(d, name)->value;
}

fake *named(const fake *d, cudnnBackendAttributeName_t name)
{
	const struct attribute *a = find(d, name);
	return a ? *(fake **)a->value : NULL;
}

bool is_virtual(const fake *t)
{
	const struct attribute *a = find(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
	return a && *(const bool *)a->value;
}

/* --- the three kinds of convolution --- */

const struct roles *roles_of(cudnnBackendDescriptorType_t t)
{
	static const struct roles forward = { CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA },
	data = { CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA },
	filter = { CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA };
	return t == FORWARD ? &forward : t == DATA ? &data : t == FILTER ? &filter : NULL;
}

/* --- what must hold of a descriptor that is finalized --- */

int axes_of(const fake *t)
{
	return (int)find(t, CUDNN_ATTR_TENSOR_DIMENSIONS)->n;
}

static cudnnStatus_t check_tensor(const fake *t)
{
	const int64_t *d = ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *s = ints(t, CUDNN_ATTR_TENSOR_STRIDES),
	              align = *ints(t, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
	const int n = axes_of(t);
	if (find(t, CUDNN_ATTR_TENSOR_STRIDES)->n != n)
		return refuse("a tensor of %d axes with other strides", n);
	if (align < 1 || align & (align - 1))
		return refuse("an alignment of %lld bytes", (long long)align);
	for (int i = 0; i < n; i++) {
		if (d[i] < 1 || s[i] < 1)
			return refuse("an axis of %lld elements, %lld apart", (long long)d[i], (long long)s[i]);
		for (int j = 0; j < n; j++)
			if (i != j && d[i] > 1 && d[j] > 1 && s[i] <= s[j] && s[i] * d[i] > s[j])
				return refuse("axes %d and %d of a tensor overlap", i, j);
	}
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_geometry(const fake *d)
{
	static const cudnnBackendAttributeName_t each[] = { CUDNN_ATTR_CONVOLUTION_DILATIONS,
		CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
		CUDNN_ATTR_CONVOLUTION_POST_PADDINGS };
	const int64_t ns = *ints(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
	for (int i = 0; i < 4; i++) {
		if (find(d, each[i])->n != ns)
			return refuse("%lld spatial axes, %lld of attribute %d", (long long)ns,
			              (long long)find(d, each[i])->n, each[i]);
		for (int64_t k = 0; k < ns; k++)
			if (ints(d, each[i])[k] < (i < 2))
				return refuse("attribute %d is %lld", each[i], (long long)ints(d, each[i])[k]);
	}
	if (whole(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT)
		return refuse("sums are not float32");
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_convolution(const fake *d)
{
	const struct roles *r = roles_of(d->type);
	const fake *how = named(d, r->conv), *x = named(d, r->x), *w = named(d, r->w),
	           *y = named(d, r->y);
	if (how->type != CONV || x->type != TENSOR || w->type != TENSOR || y->type != TENSOR)
		return refuse("a convolution of other descriptors");
	const int n = axes_of(x), ns = (int)*ints(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
	const int64_t *dx = ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *dw = ints(w, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *dy = ints(y, CUDNN_ATTR_TENSOR_DIMENSIONS);
	if (n != ns + 2 || axes_of(w) != n || axes_of(y) != n)
		return refuse("tensors of %d, %d and %d axes, %d of them spatial", n, axes_of(w),
		              axes_of(y), ns);
	if (dx[0] != dy[0] || dw[0] != dy[1] || dx[1] % dw[1] || dw[0] % (dx[1] / dw[1]))
		return refuse("channels or batches that do not fit");
	for (int i = 0; i < ns; i++) {
		const int64_t reach = ints(how, CUDNN_ATTR_CONVOLUTION_DILATIONS)[i] * (dw[2 + i] - 1) + 1;
		const int64_t room = dx[2 + i] + ints(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)[i] +
		                     ints(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)[i] - reach;
		if (room < 0 || room / ints(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)[i] + 1 != dy[2 + i])
			return refuse("spatial axis %d of the result has %lld elements", i,
			              (long long)dy[2 + i]);
	}
	const float alpha = *(const float *)find(d, r->alpha)->value,
	            beta = *(const float *)find(d, r->beta)->value;
	if (alpha != 1 || beta != 0)
		return refuse("alpha is %g, beta %g", (double)alpha, (double)beta);
	return CUDNN_STATUS_SUCCESS;
}

/* Which tensors an element-wise operation has, for each mode. */
static cudnnStatus_t check_operands(const fake *d, int mode)
{
	const bool two = mode == CUDNN_POINTWISE_ADD || mode == CUDNN_POINTWISE_SUB ||
	                 mode == CUDNN_POINTWISE_MUL, back = mode == CUDNN_POINTWISE_RELU_BWD;
	if (!two && !back && mode != CUDNN_POINTWISE_RELU_FWD)
		return refuse("element-wise mode %d", mode);
	if (!find(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC) != !two ||
	    !find(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC) != back ||
	    !find(d, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC) != !back ||
	    !find(d, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC) != !back)
		return refuse("tensors that element-wise mode %d does not have", mode);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_pointwise(const fake *d)
{
	const fake *how = named(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
	fake *t[MAXOPERANDS];
	if (how->type != CUDNN_BACKEND_POINTWISE_DESCRIPTOR)
		return refuse("an element-wise operation of another descriptor");
	const cudnnStatus_t s = check_operands(d, whole(how, CUDNN_ATTR_POINTWISE_MODE));
	if (s != CUDNN_STATUS_SUCCESS)
		return s;
	const int n = tensors_of(d, t);
	for (int k = 0; k < n; k++)
		if (t[k]->type != TENSOR || axes_of(t[k]) != axes_of(t[n - 1]))
			return refuse("operands that an element-wise operation does not take");
	for (int i = 0; i < axes_of(t[n - 1]); i++)
		for (int k = 0; k < n - 1; k++) {
			const int64_t want = ints(t[n - 1], CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
			const int64_t has = ints(t[k], CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
			if (has != want && (k == 0 || has != 1))
				return refuse("operands of other extents in axis %d", i);
		}
	return CUDNN_STATUS_SUCCESS;
}

/* Sums over a tensor; of a norm's gradient over x and dy, which have one shape and type. */
static cudnnStatus_t check_statistics(const fake *d)
{
	fake *t[MAXOPERANDS];
	const int n = tensors_of(d, t);
	const bool two = d->type == NORM_SUMS;
	for (int i = 0; two && i < axes_of(t[0]); i++)
		if (axes_of(t[1]) != axes_of(t[0]) || ints(t[1], CUDNN_ATTR_TENSOR_DIMENSIONS)[i] !=
		    ints(t[0], CUDNN_ATTR_TENSOR_DIMENSIONS)[i])
			return refuse("x and dy of a norm differ in shape or type");
	for (int k = two ? 2 : 1; k < n; k++)
		for (int i = 0; i < axes_of(t[0]); i++)
			if (t[k]->type != TENSOR || axes_of(t[k]) != axes_of(t[0]) || is_virtual(t[k]) ||
			    whole(t[k], CUDNN_ATTR_TENSOR_DATA_TYPE) != CUDNN_DATA_FLOAT ||
			    ints(t[k], CUDNN_ATTR_TENSOR_DIMENSIONS)[i] !=
			    (i == 1 ? ints(t[0], CUDNN_ATTR_TENSOR_DIMENSIONS)[1] : 1))
				return refuse("sums that are no float32 vectors of the channels");
	return CUDNN_STATUS_SUCCESS;
}

int results_of(const fake *op)
{
	return op->type == NORM_SUMS ? 5 : op->type == STATISTICS ? 2 : 1;
}

/* The tensors of an operation, its results last. */
int tensors_of(const fake *op, fake **out)
{
	const struct roles *r = roles_of(op->type);
	int n = 0;
	if (r) {
		out[n++] = named(op, op->type == FORWARD ? r->x : r->y);
		out[n++] = named(op, op->type == FILTER ? r->x : r->w);
		out[n++] = named(op, op->type == FORWARD ? r->y : op->type == DATA ? r->x : r->w);
		return n;
	}
	if (op->type == STATISTICS) {
		out[n++] = named(op, CUDNN_ATTR_OPERATION_GENSTATS_XDESC);
		out[n++] = named(op, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC);
		out[n++] = named(op, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC);
		return n;
	}
	if (op->type == NORM_SUMS) {
		static const cudnnBackendAttributeName_t names[] = {
			CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC,
			CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC,
			CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC,
			CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC,
			CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC,
			CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC,
			CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC,
			CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC,
			CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS };
		while (n < 10) {
			out[n] = named(op, names[n]);
			n++;
		}
		return n;
	}
	if (named(op, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC)) {
		out[n++] = named(op, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC);
		out[n++] = named(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
		out[n++] = named(op, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC);
		return n;
	}
	out[n++] = named(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
	if (named(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC))
		out[n++] = named(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
	out[n++] = named(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
	return n;
}

fake *const *operations(const fake *graph, int *n)
{
	const struct attribute *a = find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
	*n = (int)a->n;
	return a->value;
}

int convolution_of(const fake *graph)
{
	int nop, i = 0;
	fake *const *op = operations(graph, &nop);
	while (i < nop - 1 && !roles_of(op[i]->type))
		i++;
	return i;
}

/* All tensors of a graph, each once. */
int graph_tensors(const fake *graph, fake **out)
{
	int nop, n = 0;
	fake *const *op = operations(graph, &nop), *t[MAXOPERANDS];
	for (int i = 0; i < nop; i++)
		for (int k = 0, m = tensors_of(op[i], t); k < m; k++) {
			bool there = false;
			for (int j = 0; j < n; j++)
				there |= out[j] == t[k];
			if (!there && n < MAXTENSORS)
				out[n++] = t[k];
		}
	return n;
}

/* Ids are of one tensor each; what is virtual is made before it is read, and read; what is not is
 * made or read, but for statistics. */
static cudnnStatus_t check_graph(const fake *graph)
{
	fake *all[MAXTENSORS], *t[MAXOPERANDS];
	int nop, n = graph_tensors(graph, all);
	fake *const *op = operations(graph, &nop);
	const cudnnHandle_t h = *(cudnnHandle_t *)find(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE)->value;
	if (!h || h->open != 1)
		return refuse("a handle that is not open");
	for (int i = 0; i < n; i++) {
		int made = 0, read = 0;
		for (int j = 0; j < i; j++)
			if (*ints(all[i], CUDNN_ATTR_TENSOR_UNIQUE_ID) == *ints(all[j],
			                                                        CUDNN_ATTR_TENSOR_UNIQUE_ID))
				return refuse("two tensors of id %lld",
				              (long long)*ints(all[i], CUDNN_ATTR_TENSOR_UNIQUE_ID));
		for (int k = 0; k < nop; k++) {
			const int m = tensors_of(op[k], t);
			const int from = m - results_of(op[k]);
			for (int j = 0; j < m; j++)
				if (j < from)
					read += t[j] == all[i] && (made ||
					                           !is_virtual(all[i])) && op[k]->type != STATISTICS &&
					        (op[k]->type != NORM_SUMS || is_virtual(all[i]) || !made);
				else
					made += t[j] == all[i];
		}
		if (made > 1 || (is_virtual(all[i]) && (!made || !read)) ||
		    (!is_virtual(all[i]) && made && read))
			return refuse("tensor %lld is made %d times and read %d times",
			              (long long)*ints(all[i], CUDNN_ATTR_TENSOR_UNIQUE_ID), made, read);
	}
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_pack(const fake *d)
{
	const struct attribute *id = find(d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS),
			       *p = find(d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
	if (id->n != p->n)
		return refuse("%lld ids and %lld pointers", (long long)id->n, (long long)p->n);
	return CUDNN_STATUS_SUCCESS;
}

bool fits(const fake *d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
          int64_t n)
{
	for (size_t i = 0; i < NRULES; i++)
		if (rules[i].of == d->type && rules[i].name == name)
			return rules[i].type == type && n >= rules[i].least && n <= rules[i].most &&
			       !find(d, name);
	return false;
}

static cudnnStatus_t check_type(const fake *d)
{
	switch ((int)d->type) {
	case TENSOR: return check_tensor(d);
	case CONV: return check_geometry(d);
	case FORWARD: case DATA: case FILTER: return check_convolution(d);
	case POINTWISE: return check_pointwise(d);
	case STATISTICS: case NORM_SUMS: return check_statistics(d);
	case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return check_graph(d);
	case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: return check_pack(d);
	default: return CUDNN_STATUS_SUCCESS;
	}
}

cudnnStatus_t check_descriptor(const fake *d)
{
	for (size_t i = 0; i < NRULES; i++)
		if (rules[i].of == d->type && rules[i].required && !find(d, rules[i].name))
			return refuse("descriptor type %d has no attribute %d", d->type, rules[i].name);
	return check_type(d);
}
