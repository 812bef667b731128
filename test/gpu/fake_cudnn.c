/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuDNN's graph API for the emulation, stricter than the library. Every attribute must be known for its descriptor, of the right
 * type and number, set once and before the descriptor is finalized; whatever is required must be there; descriptors that are named
 * must live and be finalized; shapes, types, strides, ids, alignment and workspace must fit. What is wrong is printed and refused.
 *
 * Engines: the first that is proposed rounds (tensor cores), the second is not deterministic, the third reduces in low precision;
 * the fourth is good for everything, and so is the slow one of the fallback. As in the library, a single operation works in one
 * type; no engine has groups and a bias. Time is what the engines say. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cudnn.h>

#include "base/mem.h"
#include "base/types.h"

void emulate_submit_waiting(void *stream, int (*run)(void *), void *argument);
void emulate_spend(double us);

#define MAGIC 0x6475446e
#define MAXATTR 12
#define MAXOPS 4
#define MAXTENSORS 16
#define AXES 8
#define WORKSPACE 4096        /* every plan asks for some and fills it, so that booking it is tested too */

struct attribute {
	cudnnBackendAttributeName_t name;
	cudnnBackendAttributeType_t type;
	int64_t n;
	void *value;
};

struct cudnnBackendDescriptor_fake {
	unsigned magic;
	cudnnBackendDescriptorType_t type;
	bool final;
	int nattr;
	struct attribute attr[MAXATTR];
	int engine, users;           /* of a configuration: which; of a descriptor: plans that need it */
};
typedef struct cudnnBackendDescriptor_fake fake;

struct cudnnContext {
	int open;
	cudaStream_t stream;
};

static cudnnStatus_t refuse(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "fake cuDNN: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	return CUDNN_STATUS_BAD_PARAM;
}

static size_t size_of(cudnnBackendAttributeType_t t)
{
	switch (t) {
	case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
	case CUDNN_TYPE_INT64: return sizeof(int64_t);
	case CUDNN_TYPE_FLOAT: return sizeof(float);
	case CUDNN_TYPE_DOUBLE: return sizeof(double);
	case CUDNN_TYPE_CHAR: return 1;
	case CUDNN_TYPE_HANDLE: case CUDNN_TYPE_VOID_PTR: case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
	default: return sizeof(int);
	}
}

/* --- what each descriptor has --- */

struct rule {
	cudnnBackendDescriptorType_t of;
	cudnnBackendAttributeName_t name;
	cudnnBackendAttributeType_t type;
	int least, most;
	bool required;
};

#define TENSOR CUDNN_BACKEND_TENSOR_DESCRIPTOR
#define CONV CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR
#define DESC CUDNN_TYPE_BACKEND_DESCRIPTOR
#define OPERATION(kind, a, x, w, y)                                                                           \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_CONV_DESC, DESC, 1, 1, true },                         \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_##x, DESC, 1, 1, true },                               \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_##w, DESC, 1, 1, true },                               \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_##y, DESC, 1, 1, true },                               \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_ALPHA, CUDNN_TYPE_FLOAT, 1, 1, true },                 \
	{ kind, CUDNN_ATTR_OPERATION_CONVOLUTION_##a##_BETA, CUDNN_TYPE_FLOAT, 1, 1, true }
#define FORWARD CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
#define DATA CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
#define FILTER CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR
#define POINTWISE CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR

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
	{ CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, 1, true },
	{ CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, 1, true },
	{ CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_DOUBLE, 1, 1, false },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, DESC, 1, 1, true },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, DESC, 1, 1, true },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, DESC, 1, 1, false },
	{ POINTWISE, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, DESC, 1, 1, true },
	{ CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS, DESC, 1, MAXOPS, true },
	{ CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, true },
	{ CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DESC, 1, 1, true },
	{ CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, 1, true },
	{ CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DESC, 1, 1, true },
	{ CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, 1, true },
	{ CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 1, MAXTENSORS, true },
	{ CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, MAXTENSORS,
	  true },
	{ CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, 1, true },
};
#define NRULES (sizeof rules / sizeof *rules)

static const struct attribute *find(const fake *d, cudnnBackendAttributeName_t name)
{
	for (int i = 0; i < d->nattr; i++)
		if (d->attr[i].name == name)
			return &d->attr[i];
	return NULL;
}

static const int64_t *ints(const fake *d, cudnnBackendAttributeName_t name)
{
	return find(d, name)->value;
}

static int whole(const fake *d, cudnnBackendAttributeName_t name)
{
	return *(const int *)find(d, name)->value;
}

static fake *named(const fake *d, cudnnBackendAttributeName_t name)
{
	const struct attribute *a = find(d, name);
	return a ? *(fake **)a->value : NULL;
}

static bool is_virtual(const fake *t)
{
	const struct attribute *a = find(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
	return a && *(const bool *)a->value;
}

/* --- the three kinds of convolution --- */

struct roles {
	cudnnBackendAttributeName_t conv, x, w, y, alpha, beta;
};

static const struct roles *roles_of(cudnnBackendDescriptorType_t t)
{
	static const struct roles forward = { CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA },
	data = { CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA },
	filter = { CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA };
	return t == FORWARD ? &forward : t == DATA ? &data : t == FILTER ? &filter : NULL;
}

/* --- what must hold of a descriptor that is finalized --- */

static int axes_of(const fake *t)
{
	return (int)find(t, CUDNN_ATTR_TENSOR_DIMENSIONS)->n;
}

static cudnnStatus_t check_tensor(const fake *t)
{
	const int64_t *d = ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS), *s = ints(t, CUDNN_ATTR_TENSOR_STRIDES),
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
		CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS };
	const int64_t ns = *ints(d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
	for (int i = 0; i < 4; i++) {
		if (find(d, each[i])->n != ns)
			return refuse("%lld spatial axes, %lld of attribute %d", (long long)ns, (long long)find(d, each[i])->n,
			              each[i]);
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
	const fake *how = named(d, r->conv), *x = named(d, r->x), *w = named(d, r->w), *y = named(d, r->y);
	if (how->type != CONV || x->type != TENSOR || w->type != TENSOR || y->type != TENSOR)
		return refuse("a convolution of other descriptors");
	const int n = axes_of(x), ns = (int)*ints(how, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
	const int64_t *dx = ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS), *dw = ints(w, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *dy = ints(y, CUDNN_ATTR_TENSOR_DIMENSIONS);
	if (n != ns + 2 || axes_of(w) != n || axes_of(y) != n)
		return refuse("tensors of %d, %d and %d axes, %d of them spatial", n, axes_of(w), axes_of(y), ns);
	if (dx[0] != dy[0] || dw[0] != dy[1] || dx[1] % dw[1] || dw[0] % (dx[1] / dw[1]))
		return refuse("channels or batches that do not fit");
	for (int i = 0; i < ns; i++) {
		const int64_t reach = ints(how, CUDNN_ATTR_CONVOLUTION_DILATIONS)[i] * (dw[2 + i] - 1) + 1;
		const int64_t room = dx[2 + i] + ints(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)[i] +
		                     ints(how, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)[i] - reach;
		if (room < 0 || room / ints(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)[i] + 1 != dy[2 + i])
			return refuse("spatial axis %d of the result has %lld elements", i, (long long)dy[2 + i]);
	}
	const float alpha = *(const float *)find(d, r->alpha)->value, beta = *(const float *)find(d, r->beta)->value;
	if (alpha != 1 || beta != 0)
		return refuse("alpha is %g, beta %g", (double)alpha, (double)beta);
	return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t check_pointwise(const fake *d)
{
	const fake *how = named(d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
		   *x = named(d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC), *b = named(d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
		   *y = named(d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
	if (how->type != CUDNN_BACKEND_POINTWISE_DESCRIPTOR || x->type != TENSOR || y->type != TENSOR || (b && b->type != TENSOR))
		return refuse("an element-wise operation of other descriptors");
	const int mode = whole(how, CUDNN_ATTR_POINTWISE_MODE);
	if (mode != CUDNN_POINTWISE_ADD && mode != CUDNN_POINTWISE_RELU_FWD)
		return refuse("element-wise mode %d", mode);
	if (!b != (mode != CUDNN_POINTWISE_ADD) || axes_of(x) != axes_of(y) || (b && axes_of(b) != axes_of(y)))
		return refuse("operands that an element-wise operation does not take");
	for (int i = 0; i < axes_of(y); i++) {
		const int64_t want = ints(y, CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
		const int64_t also = b ? ints(b, CUDNN_ATTR_TENSOR_DIMENSIONS)[i] : want;
		if (ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS)[i] != want || (also != want && also != 1))
			return refuse("operands of other extents in axis %d", i);
	}
	return CUDNN_STATUS_SUCCESS;
}

/* The tensors of an operation, its result last. */
static int tensors_of(const fake *op, fake **out)
{
	const struct roles *r = roles_of(op->type);
	int n = 0;
	if (r) {
		out[n++] = named(op, op->type == FORWARD ? r->x : r->y);
		out[n++] = named(op, op->type == FILTER ? r->x : r->w);
		out[n++] = named(op, op->type == FORWARD ? r->y : op->type == DATA ? r->x : r->w);
		return n;
	}
	out[n++] = named(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
	if (named(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC))
		out[n++] = named(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
	out[n++] = named(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
	return n;
}

static fake *const *operations(const fake *graph, int *n)
{
	const struct attribute *a = find(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS);
	*n = (int)a->n;
	return a->value;
}

/* All tensors of a graph, each once. */
static int graph_tensors(const fake *graph, fake **out)
{
	int nop, n = 0;
	fake *const *op = operations(graph, &nop), *t[3];
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

/* Ids are of one tensor each; what is virtual is made before it is read, and read. */
static cudnnStatus_t check_graph(const fake *graph)
{
	fake *all[MAXTENSORS], *t[3];
	int nop, n = graph_tensors(graph, all);
	fake *const *op = operations(graph, &nop);
	const cudnnHandle_t h = *(cudnnHandle_t *)find(graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE)->value;
	if (!h || h->open != 1)
		return refuse("a handle that is not open");
	for (int i = 0; i < n; i++) {
		int made = 0, read = 0;
		for (int j = 0; j < i; j++)
			if (*ints(all[i], CUDNN_ATTR_TENSOR_UNIQUE_ID) == *ints(all[j], CUDNN_ATTR_TENSOR_UNIQUE_ID))
				return refuse("two tensors of id %lld", (long long)*ints(all[i], CUDNN_ATTR_TENSOR_UNIQUE_ID));
		for (int k = 0; k < nop; k++) {
			const int m = tensors_of(op[k], t);
			for (int j = 0; j < m - 1; j++)
				read += t[j] == all[i] && (made || !is_virtual(all[i]));
			made += t[m - 1] == all[i];
		}
		if (made > 1 || (is_virtual(all[i]) && (!made || !read)) || (!is_virtual(all[i]) && made && read))
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

static cudnnStatus_t check_type(const fake *d)
{
	switch ((int)d->type) {
	case TENSOR: return check_tensor(d);
	case CONV: return check_geometry(d);
	case FORWARD: case DATA: case FILTER: return check_convolution(d);
	case POINTWISE: return check_pointwise(d);
	case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return check_graph(d);
	case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: return check_pack(d);
	default: return CUDNN_STATUS_SUCCESS;
	}
}

/* --- engines --- */

#define ENGINE_CFG ((cudnnBackendAttributeName_t)1000)  /* a configuration's graph, kept as an attribute of ours */

static const struct {
	int index, note;
	double us;
	bool fallback;
} engines[] = {
	{ 40, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 10, false }, { 41, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, 4, false },
	{ 42, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2, false }, { 43, -1, 20, false }, { 44, -1, 7, false },
	{ 1, -1, 90, true },
};

/* As the library: a single operation in one type; a chain of them if what is between is float32. */
static bool supported(const fake *graph)
{
	fake *t[3];
	int nop;
	fake *const *op = operations(graph, &nop);
	tensors_of(op[0], t);
	const int type = whole(t[0], CUDNN_ATTR_TENSOR_DATA_TYPE);
	if (whole(t[1], CUDNN_ATTR_TENSOR_DATA_TYPE) != type)
		return false;
	for (int i = 0; i < nop; i++) {
		fake *y = t[tensors_of(op[i], t) - 1];
		if (whole(y, CUDNN_ATTR_TENSOR_DATA_TYPE) != (is_virtual(y) ? (int)CUDNN_DATA_FLOAT : type))
			return false;
	}
	const fake *x = named(op[0], roles_of(op[0]->type)->x), *w = named(op[0], roles_of(op[0]->type)->w);
	const bool grouped = ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS)[1] != ints(w, CUDNN_ATTR_TENSOR_DIMENSIONS)[1];
	return nop == 1 || (op[0]->type == FORWARD && !grouped);
}

static cudnnStatus_t propose(const fake *heuristics, int64_t room, int64_t *n, fake **out)
{
	const bool fallback = whole(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
	fake *graph = named(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
	*n = 0;
	for (size_t i = 0; i < sizeof engines / sizeof *engines && supported(graph); i++) {
		if (engines[i].fallback != fallback || *n >= room)
			continue;
		fake *config = out[(*n)++];
		if (config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR || config->final)
			return refuse("results go into something else than new configurations");
		config->engine = (int)i;
		config->attr[0] = (struct attribute){ ENGINE_CFG, DESC, 1, mem_alloc(sizeof graph) };
		memcpy(config->attr[0].value, &graph, sizeof graph);
		config->nattr = 1;
		config->final = true;
	}
	return CUDNN_STATUS_SUCCESS;
}

/* --- arithmetic --- */

struct job {
	const fake *graph;
	int n;
	int64_t id[MAXTENSORS];
	void *pointer[MAXTENSORS], *ws;
};

struct values {
	const fake *t;
	double *v;
	int64_t n;
};

static enum dtype type_of(const fake *t)
{
	const int type = whole(t, CUDNN_ATTR_TENSOR_DATA_TYPE);
	return type == CUDNN_DATA_HALF ? DTYPE_F16 : type == CUDNN_DATA_BFLOAT16 ? DTYPE_BF16 : DTYPE_F32;
}

static int64_t span_of(const fake *t)
{
	int64_t n = 1;
	for (int i = 0; i < axes_of(t); i++)
		n += (ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS)[i] - 1) * ints(t, CUDNN_ATTR_TENSOR_STRIDES)[i];
	return n;
}

/* Offsets of all elements of axes from..end, row-major. Returns how many. */
static int64_t offsets(const fake *t, int from, int64_t **out)
{
	const int64_t *d = ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS), *s = ints(t, CUDNN_ATTR_TENSOR_STRIDES);
	int64_t n = 1;
	for (int i = from; i < axes_of(t); i++)
		n *= d[i];
	*out = mem_alloc(sizeof **out * (size_t)n);
	for (int64_t k = 0; k < n; k++) {
		int64_t r = k, o = 0;
		for (int i = axes_of(t) - 1; i >= from; i--) {
			o += r % d[i] * s[i];
			r /= d[i];
		}
		(*out)[k] = o;
	}
	return n;
}

/* The pixel of x under tap t of pixel q of y, or -1 in the padding. */
static int64_t pixel_under(const fake *op, const fake *x, const fake *w, const fake *y, int64_t q, int64_t tap)
{
	const fake *how = named(op, roles_of(op->type)->conv);
	int64_t at = 0, under[AXES];
	const int n = axes_of(x);
	for (int i = n - 1; i >= 2; i--) {
		const int64_t dy = ints(y, CUDNN_ATTR_TENSOR_DIMENSIONS)[i], dw = ints(w, CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
		under[i] = q % dy * ints(how, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)[i - 2] +
		           tap % dw * ints(how, CUDNN_ATTR_CONVOLUTION_DILATIONS)[i - 2] -
		           ints(how, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)[i - 2];
		if (under[i] < 0 || under[i] >= ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS)[i])
			return -1;
		q /= dy;
		tap /= dw;
	}
	for (int i = 2; i < n; i++)
		at = at * ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS)[i] + under[i];
	return at;
}

static void convolve(const fake *op, const fake *xt, double *x, const fake *wt, double *w, const fake *yt, double *y)
{
	const int64_t *dx = ints(xt, CUDNN_ATTR_TENSOR_DIMENSIONS), *dw = ints(wt, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *sx = ints(xt, CUDNN_ATTR_TENSOR_STRIDES), *sw = ints(wt, CUDNN_ATTR_TENSOR_STRIDES),
	              *sy = ints(yt, CUDNN_ATTR_TENSOR_STRIDES);
	int64_t *px, *pw, *py;
	const int64_t cog = dw[0] / (dx[1] / dw[1]), taps = offsets(wt, 2, &pw), pixels = offsets(yt, 2, &py);
	offsets(xt, 2, &px);
	for (int64_t q = 0; q < pixels; q++)
		for (int64_t t = 0; t < taps; t++) {
			const int64_t p = pixel_under(op, xt, wt, yt, q, t);
			for (int64_t i = 0; p >= 0 && i < dx[0] * dw[0]; i++) {
				const int64_t n = i / dw[0], o = i % dw[0];
				double *ay = &y[n * sy[0] + o * sy[1] + py[q]], *aw = &w[o * sw[0] + pw[t]];
				double *ax = &x[n * sx[0] + o / cog * dw[1] * sx[1] + px[p]];
				for (int64_t c = 0; c < dw[1]; c++) {
					if (op->type == FORWARD)
						*ay += ax[c * sx[1]] * aw[c * sw[1]];
					else if (op->type == DATA)
						ax[c * sx[1]] += *ay * aw[c * sw[1]];
					else
						aw[c * sw[1]] += ax[c * sx[1]] * *ay;
				}
			}
		}
	mem_free(px);
	mem_free(pw);
	mem_free(py);
}

/* Offset in b of the element of y with row-major number k, where axes of one element repeat. */
static int64_t spread(const fake *b, const fake *y, int64_t k)
{
	int64_t o = 0;
	for (int i = axes_of(y) - 1; i >= 0; i--) {
		const int64_t d = ints(y, CUDNN_ATTR_TENSOR_DIMENSIONS)[i];
		o += ints(b, CUDNN_ATTR_TENSOR_DIMENSIONS)[i] == 1 ? 0 : k % d * ints(b, CUDNN_ATTR_TENSOR_STRIDES)[i];
		k /= d;
	}
	return o;
}

static void elementwise(const fake *op, const fake *xt, const double *x, const fake *bt, const double *b, const fake *yt,
                        double *y)
{
	const struct attribute *a = find(named(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
	                                 CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE);
	const double slope = a ? *(const double *)a->value : 0;
	int64_t *py;
	const int64_t n = offsets(yt, 0, &py);
	for (int64_t k = 0; k < n; k++) {
		const double v = x[spread(xt, yt, k)];
		y[py[k]] = bt ? v + b[spread(bt, yt, k)] : v > 0 ? v : slope * v;
	}
	mem_free(py);
}

static struct values *values_of(struct values *all, int n, const fake *t)
{
	for (int i = 0; i < n; i++)
		if (all[i].t == t)
			return &all[i];
	return NULL;
}

static void *pointer_of(const struct job *j, const fake *t)
{
	for (int i = 0; i < j->n; i++)
		if (j->id[i] == *ints(t, CUDNN_ATTR_TENSOR_UNIQUE_ID))
			return j->pointer[i];
	return NULL;
}

static void run_operation(const fake *op, struct values *v, int n)
{
	const struct roles *r = roles_of(op->type);
	if (r) {
		const fake *x = named(op, r->x), *w = named(op, r->w), *y = named(op, r->y);
		convolve(op, x, values_of(v, n, x)->v, w, values_of(v, n, w)->v, y, values_of(v, n, y)->v);
		return;
	}
	const fake *x = named(op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC), *b = named(op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC),
		   *y = named(op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
	elementwise(op, x, values_of(v, n, x)->v, b, b ? values_of(v, n, b)->v : NULL, y, values_of(v, n, y)->v);
}

static int execute(void *argument)
{
	const struct job *j = argument;
	fake *all[MAXTENSORS], *t[3];
	struct values v[MAXTENSORS];
	int nop, n = graph_tensors(j->graph, all);
	fake *const *op = operations(j->graph, &nop);
	memset(j->ws, 0xa5, WORKSPACE);
	for (int i = 0; i < n; i++) {
		v[i] = (struct values){ all[i], NULL, span_of(all[i]) };
		v[i].v = mem_calloc((size_t)v[i].n, sizeof(double));
		bool made = false;
		for (int k = 0; k < nop; k++)
			made |= t[tensors_of(op[k], t) - 1] == all[i];
		if (!made)
			dtype_convert(DTYPE_F64, v[i].v, type_of(all[i]), pointer_of(j, all[i]), v[i].n);
	}
	for (int k = 0; k < nop; k++)
		run_operation(op[k], v, n);
	for (int k = 0; k < nop; k++) {
		fake *y = t[tensors_of(op[k], t) - 1];
		if (!is_virtual(y))
			dtype_convert(type_of(y), pointer_of(j, y), DTYPE_F64, values_of(v, n, y)->v, span_of(y));
	}
	for (int i = 0; i < n; i++)
		mem_free(v[i].v);
	return 1;
}

/* --- the interface --- */

cudnnStatus_t cudnnCreate(cudnnHandle_t *h)
{
	*h = mem_calloc(1, sizeof **h);
	(*h)->open = 1;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t h)
{
	h->open = 0;
	mem_free(h);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s)
{
	h->stream = s;
	return CUDNN_STATUS_SUCCESS;
}

const char *cudnnGetErrorString(cudnnStatus_t s)
{
	return s == CUDNN_STATUS_SUCCESS ? "success" : "refused by the fake";
}

size_t cudnnGetVersion(void)
{
	return CUDNN_VERSION;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out)
{
	fake *d = mem_calloc(1, sizeof *d);
	d->magic = MAGIC;
	d->type = type;
	*out = d;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t p)
{
	fake *d = p;
	if (!d || d->magic != MAGIC)
		return refuse("something that is no descriptor, or no more, is destroyed");
	for (int i = 0; i < d->nattr; i++)
		mem_free(d->attr[i].value);
	d->magic = 0;
	mem_free(d);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t p, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n, const void *value)
{
	fake *d = p;
	const struct rule *r = NULL;
	if (!d || d->magic != MAGIC || d->final || !value)
		return refuse("attribute %d of no descriptor, or of one that is finalized", name);
	for (size_t i = 0; i < NRULES; i++)
		if (rules[i].of == d->type && rules[i].name == name)
			r = &rules[i];
	if (!r || r->type != type || n < r->least || n > r->most || find(d, name))
		return refuse("attribute %d of descriptor type %d: unknown, of type %d, %lld times, or set before", name, d->type,
		              type, (long long)n);
	for (int64_t i = 0; type == DESC && i < n; i++) {
		const fake *other = ((fake *const *)value)[i];
		if (!other || other->magic != MAGIC || !other->final)
			return refuse("attribute %d of descriptor type %d: not finalized", name, d->type);
	}
	void *copy = mem_alloc(size_of(type) * (size_t)n);
	memcpy(copy, value, size_of(type) * (size_t)n);
	d->attr[d->nattr++] = (struct attribute){ name, type, n, copy };
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t p)
{
	fake *d = p;
	if (!d || d->magic != MAGIC || d->final)
		return refuse("finalizing no descriptor, or one twice");
	for (size_t i = 0; i < NRULES; i++)
		if (rules[i].of == d->type && rules[i].required && !find(d, rules[i].name))
			return refuse("descriptor type %d has no attribute %d", d->type, rules[i].name);
	cudnnStatus_t s = check_type(d);
	d->final = s == CUDNN_STATUS_SUCCESS;
	return s;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t p, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room, int64_t *n, void *out)
{
	fake *d = p;
	if (!d || d->magic != MAGIC || !n || !out || room < 1)
		return refuse("attribute %d is asked of nothing, or for nothing", name);
	*n = 1;
	if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == DESC && d->final)
		return propose(d, room, n, out);
	if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == DESC && d->final) {
		fake *engine = *(fake **)out;
		if (engine->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR)
			return refuse("an engine goes into something else");
		engine->engine = d->engine;
		return CUDNN_STATUS_SUCCESS;
	}
	if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX && type == CUDNN_TYPE_INT64) {
		*(int64_t *)out = engines[d->engine].index;
		return CUDNN_STATUS_SUCCESS;
	}
	if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
		*(int *)out = engines[d->engine].note;
		*n = engines[d->engine].note >= 0;
		return CUDNN_STATUS_SUCCESS;
	}
	if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64 && d->final) {
		*(int64_t *)out = WORKSPACE;
		return CUDNN_STATUS_SUCCESS;
	}
	return refuse("attribute %d of descriptor type %d is asked for", name, d->type);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t h, cudnnBackendDescriptor_t plan_, cudnnBackendDescriptor_t pack_)
{
	const fake *plan = plan_, *pack = pack_;
	if (!h || h->open != 1 || !plan || !plan->final || !pack || !pack->final)
		return refuse("execution of what is not finalized");
	const fake *config = named(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG), *graph = *(fake **)config->attr[0].value;
	const struct attribute *id = find(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	fake *all[MAXTENSORS];
	struct job *j = mem_calloc(1, sizeof *j);    /* never freed: a replay may come at any time */
	int outside = 0;
	j->graph = graph;
	j->n = (int)id->n;
	memcpy(j->id, id->value, sizeof *j->id * (size_t)j->n);
	memcpy(j->pointer, find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->value, sizeof *j->pointer * (size_t)j->n);
	j->ws = *(void **)find(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->value;
	for (int i = 0, n = graph_tensors(graph, all); i < n; i++) {
		if (is_virtual(all[i]))
			continue;
		outside++;
		const uintptr_t at = (uintptr_t)pointer_of(j, all[i]);
		if (!at || at % (uintptr_t)*ints(all[i], CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT))
			return refuse("tensor %lld has no memory, or not aligned",
			              (long long)*ints(all[i], CUDNN_ATTR_TENSOR_UNIQUE_ID));
	}
	if (outside != j->n || !j->ws || (uintptr_t)j->ws % 16)
		return refuse("%d pointers for %d tensors, or no workspace", j->n, outside);
	emulate_spend(engines[config->engine].us);
	emulate_submit_waiting(h->stream, execute, j);
	return CUDNN_STATUS_SUCCESS;
}
