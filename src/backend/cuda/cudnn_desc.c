/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The only file that calls cuDNN. The library is several hundred megabytes, so it is opened when
 * the first convolution is planned. */
#include "backend/cuda/cudnn_desc.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/library.h"

#define LIBRARY "libcudnn.so.9"
#define ALIGNMENT 16
#define AXES (CONV_NS + 2)

#define FUNCTIONS(X)                                                                            \
	X(cudnnCreate) X(cudnnDestroy) X(cudnnSetStream) X(cudnnGetErrorString) X(cudnnGetVersion)  \
	X(cudnnBackendCreateDescriptor) X(cudnnBackendDestroyDescriptor) X(cudnnBackendFinalize)    \
	X(cudnnBackendSetAttribute) X(cudnnBackendGetAttribute) X(cudnnBackendExecute)              \
	X(cudnnGetLastErrorString)

LIBRARY_LATE(FUNCTIONS, LIBRARY, "cuDNN 9")

/* The oldest version supported: older ones lack engines and attributes that plans need. */
#define OLDEST 90800

static int refuse_old(void)
{
	const size_t v = lib.cudnnGetVersion();
	if (v >= OLDEST)
		return 0;
	return ERR(E_UNAVAILABLE, NULL, "cuDNN %zu.%zu.%zu is too old ('" LIBRARY "'): 9.8 or newer is "
	           "needed", v / 10000, v / 100 % 100, v % 100);
}

/* cuDNN 9.19 loads and unloads the run-time compiler's library (about 100 MB) for each run-time
 * engine that it considers, thousands of times; so dlx keeps it loaded. */
int cudnn_load(void)
{
	static bool usable;
	char compiler[32];
	if (usable)
		return 0;
	TRY(load());
	TRY(refuse_old());
	usable = true;
	snprintf(compiler, sizeof compiler, "libnvrtc.so.%d", CUDART_VERSION / 1000);
	library_keep(compiler);
	return 0;
}

const char *cudnn_status(cudnnStatus_t status)
{
	return lib.cudnnGetErrorString(status);
}

/* Raises an error with the first line of the library's own message. */
int cudnn_check(cudnnStatus_t status, const char *what)
{
	char more[240] = "";
	if (status == CUDNN_STATUS_SUCCESS)
		return 0;
	lib.cudnnGetLastErrorString(more, sizeof more);
	more[strcspn(more, "\n")] = '\0';
	return ERR(E_UNSUPPORTED, NULL, "cuDNN: %s: %s%s%s", what, cudnn_status(status),
	           *more ? ": " : "", more);
}

size_t cudnn_version(void)
{
	return lib.cudnnGetVersion();
}

int cudnn_enter(cudnnHandle_t h, void *stream)
{
	return cudnn_check(lib.cudnnSetStream(h, stream), "cannot use the stream");
}

int cudnn_start(cudnnHandle_t *out, void *stream)
{
	cudnnHandle_t h = NULL;
	TRY(cudnn_check(lib.cudnnCreate(&h), "cannot start"));
	int rc = cudnn_enter(h, stream);
	if (rc < 0)
		lib.cudnnDestroy(h);
	else
		*out = h;
	return rc;
}

void cudnn_stop(cudnnHandle_t h)
{
	if (h)
		lib.cudnnDestroy(h);
}

/* --- descriptors --- */

static bool good(const struct cudnn_set *s)
{
	return s->status == CUDNN_STATUS_SUCCESS;
}

desc cudnn_make(struct cudnn_set *s, cudnnBackendDescriptorType_t type)
{
	desc d = NULL;
	if (!good(s))
		return NULL;
	BUG_IF(s->n == CUDNN_SET_MAX, "too many descriptors");
	s->status = lib.cudnnBackendCreateDescriptor(type, &d);
	if (good(s))
		s->made[s->n++] = d;
	return d;
}

void cudnn_put(struct cudnn_set *s, desc d, cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, int64_t n, const void *value)
{
	if (good(s))
		s->status = lib.cudnnBackendSetAttribute(d, name, type, n, value);
}

void cudnn_put_desc(struct cudnn_set *s, desc d, cudnnBackendAttributeName_t name, desc value)
{
	cudnn_put(s, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void put_int(struct cudnn_set *s, desc d, cudnnBackendAttributeName_t name, int64_t value)
{
	cudnn_put(s, d, name, CUDNN_TYPE_INT64, 1, &value);
}

int64_t cudnn_get(struct cudnn_set *s, desc d, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, int64_t room, void *value)
{
	int64_t n = 0;
	if (good(s))
		s->status = lib.cudnnBackendGetAttribute(d, name, type, room, &n, value);
	return !good(s) ? 0 : n < room ? n : room;
}

bool cudnn_get_text(desc d, cudnnBackendAttributeName_t name, struct buf *out)
{
	int64_t n = 0, got = 0;
	buf_clear(out);
	if (lib.cudnnBackendGetAttribute(d, name, CUDNN_TYPE_CHAR, 0, &n,
	                                 NULL) != CUDNN_STATUS_SUCCESS || n <= 0)
		return false;
	buf_reserve(out, (size_t)n);
	if (lib.cudnnBackendGetAttribute(d, name, CUDNN_TYPE_CHAR, n, &got,
	                                 out->data) != CUDNN_STATUS_SUCCESS || got != n)
		return false;
	out->len = (size_t)n;
	out->data[n] = '\0';
	return true;
}

void cudnn_finalize(struct cudnn_set *s, desc d)
{
	if (good(s))
		s->status = lib.cudnnBackendFinalize(d);
}

void cudnn_execute(struct cudnn_set *s, const struct cudnn *c, desc plan, desc pack)
{
	if (good(s))
		s->status = lib.cudnnBackendExecute(c->handle, plan, pack);
}

void cudnn_move(struct cudnn_set *to, struct cudnn_set *from, desc d)
{
	int at = 0;
	while (at < from->n && from->made[at] != d)
		at++;
	BUG_IF(at == from->n || to->n == CUDNN_SET_MAX, "a descriptor that is not there, or too many");
	to->made[to->n++] = d;
	memmove(from->made + at, from->made + at + 1, sizeof *from->made * (size_t)(--from->n - at));
}

void cudnn_release(struct cudnn_set *s)
{
	while (s->n)
		lib.cudnnBackendDestroyDescriptor(s->made[--s->n]);
}

/* --- tensors --- */

static cudnnDataType_t data_type(enum dtype t)
{
	switch (t) {
	case DTYPE_F16: return CUDNN_DATA_HALF;
	case DTYPE_BF16: return CUDNN_DATA_BFLOAT16;
	default: return CUDNN_DATA_FLOAT;
	}
}

static desc tensor(struct cudnn_set *s, int64_t uid, enum dtype type, int axes, const int64_t *dims,
                   const int64_t *stride, bool virtual)
{
	const cudnnDataType_t t = data_type(type);
	desc d = cudnn_make(s, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	cudnn_put(s, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &t);
	cudnn_put(s, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, axes, dims);
	cudnn_put(s, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, axes, stride);
	put_int(s, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
	put_int(s, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, ALIGNMENT);
	if (virtual)
		cudnn_put(s, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &virtual);
	cudnn_finalize(s, d);
	return d;
}

desc cudnn_tensor(struct cudnn_set *s, int64_t uid, enum dtype type, const struct layout *l,
                  bool virtual)
{
	int64_t dims[AXES], stride[AXES];
	const int ns = l->nd - 2, missing = ns < 2 ? 2 - ns : 0;
	for (int i = 0; i < 2 + missing; i++) {
		dims[i] = i < 2 ? l->dims[i] : 1;
		stride[i] = i < 2 ? l->stride[i] : l->stride[2] * l->dims[2];
	}
	for (int i = 2; i < l->nd; i++) {
		dims[missing + i] = l->dims[i];
		stride[missing + i] = l->stride[i];
	}
	return tensor(s, uid, type, l->nd + missing, dims, stride, virtual);
}

desc cudnn_channels(struct cudnn_set *s, int64_t uid, enum dtype type, int axes, int64_t c)
{
	int64_t dims[AXES], stride[AXES];
	for (int i = 0; i < axes; i++) {
		dims[i] = i == 1 ? c : 1;
		stride[i] = i == 1 ? 1 : c;
	}
	return tensor(s, uid, type, axes, dims, stride, false);
}

/* --- operations --- */

static int spatial_axes(const struct conv_geom *g)
{
	return g->ns < 2 ? 2 : g->ns;
}

static void put_axes(struct cudnn_set *s, desc d, cudnnBackendAttributeName_t name,
                     const struct conv_geom *g, const int64_t *v, int64_t missing)
{
	int64_t all[CONV_NS];
	const int ns = spatial_axes(g), shift = ns - g->ns;
	all[0] = missing;
	memcpy(all + shift, v, sizeof *v * (size_t)g->ns);
	cudnn_put(s, d, name, CUDNN_TYPE_INT64, ns, all);
}

static desc geometry(struct cudnn_set *s, const struct conv_geom *g)
{
	const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
	const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	desc d = cudnn_make(s, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
	cudnn_put(s, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
	cudnn_put(s, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	put_int(s, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, spatial_axes(g));
	put_axes(s, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, g, g->stride, 1);
	put_axes(s, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, g, g->dilation, 1);
	put_axes(s, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, g, g->pad_lo, 0);
	put_axes(s, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, g, g->pad_hi, 0);
	cudnn_finalize(s, d);
	return d;
}

/* Names of the attributes of the three operations. */
static const struct {
	cudnnBackendDescriptorType_t type;
	cudnnBackendAttributeName_t conv, x, w, y, alpha, beta;
} convolutions[] = {
	[CONV_FORWARD] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA },
	[CONV_BACKWARD_DATA] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA },
	[CONV_BACKWARD_WEIGHTS] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA },
};

desc cudnn_convolution(struct cudnn_set *s, enum conv_kind kind, const struct conv_geom *g, desc x,
                       desc w, desc y)
{
	const float one = 1, zero = 0;
	desc how = geometry(s, g), d = cudnn_make(s, convolutions[kind].type);
	cudnn_put_desc(s, d, convolutions[kind].conv, how);
	cudnn_put_desc(s, d, convolutions[kind].x, x);
	cudnn_put_desc(s, d, convolutions[kind].w, w);
	cudnn_put_desc(s, d, convolutions[kind].y, y);
	cudnn_put(s, d, convolutions[kind].alpha, CUDNN_TYPE_FLOAT, 1, &one);
	cudnn_put(s, d, convolutions[kind].beta, CUDNN_TYPE_FLOAT, 1, &zero);
	cudnn_finalize(s, d);
	return d;
}

static desc pointwise_how(struct cudnn_set *s, cudnnPointwiseMode_t mode, double slope)
{
	const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
	desc how = cudnn_make(s, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
	cudnn_put(s, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
	cudnn_put(s, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &sums);
	if (slope != 0)
		cudnn_put(s, how, CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, CUDNN_TYPE_DOUBLE, 1, &slope);
	cudnn_finalize(s, how);
	return how;
}

static desc pointwise(struct cudnn_set *s, cudnnPointwiseMode_t mode, double slope, desc x,
                      desc b, desc y)
{
	desc how = pointwise_how(s, mode, slope);
	desc d = cudnn_make(s, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
	if (b)
		cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
	cudnn_finalize(s, d);
	return d;
}

desc cudnn_add(struct cudnn_set *s, desc a, desc b, desc y)
{
	return pointwise(s, CUDNN_POINTWISE_ADD, 0, a, b, y);
}

desc cudnn_subtract(struct cudnn_set *s, desc a, desc b, desc y)
{
	return pointwise(s, CUDNN_POINTWISE_SUB, 0, a, b, y);
}

desc cudnn_multiply(struct cudnn_set *s, desc a, desc b, desc y)
{
	return pointwise(s, CUDNN_POINTWISE_MUL, 0, a, b, y);
}

desc cudnn_relu(struct cudnn_set *s, desc x, float slope, desc y)
{
	return pointwise(s, CUDNN_POINTWISE_RELU_FWD, (double)slope, x, NULL, y);
}

desc cudnn_relu_gradient(struct cudnn_set *s, desc dy, desc x, float slope, desc dx)
{
	desc how = pointwise_how(s, CUDNN_POINTWISE_RELU_BWD, (double)slope);
	desc d = cudnn_make(s, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC, dy);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC, dx);
	cudnn_finalize(s, d);
	return d;
}

desc cudnn_statistics(struct cudnn_set *s, desc x, desc sum, desc squares)
{
	const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
	const cudnnGenStatsMode_t mode = CUDNN_GENSTATS_SUM_SQSUM;
	desc d = cudnn_make(s, CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR);
	cudnn_put(s, d, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE, 1, &mode);
	cudnn_put(s, d, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &sums);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, x);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, sum);
	cudnn_put_desc(s, d, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, squares);
	cudnn_finalize(s, d);
	return d;
}

desc cudnn_norm_sums(struct cudnn_set *s, const desc in[5], const desc out[5])
{
	static const cudnnBackendAttributeName_t from[] = {
		CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC,
		CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC,
		CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC,
		CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC };
	static const cudnnBackendAttributeName_t to[] = {
		CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC,
		CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC,
		CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC,
		CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC,
		CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS };
	const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
	desc d = cudnn_make(s, CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR);
	cudnn_put(s, d, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &sums);
	for (int i = 0; i < 5; i++) {
		cudnn_put_desc(s, d, from[i], in[i]);
		cudnn_put_desc(s, d, to[i], out[i]);
	}
	cudnn_finalize(s, d);
	return d;
}

desc cudnn_graph(struct cudnn_set *s, const struct cudnn *c, int n, const desc *operation)
{
	desc d = cudnn_make(s, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	cudnn_put(s, d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, n, operation);
	if (c->handle)
		cudnn_put(s, d, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &c->handle);
	cudnn_finalize(s, d);
	return d;
}
