/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bridge to cuDNN's graph API. An operation is a tree of descriptors: tensors, the convolution's geometry, the operation, a
 * graph of one operation; heuristics answer with engine configurations, best first; the first one whose numerical notes are
 * allowed and whose plan can be built is taken. No engine is measured here: the same problem on the same device with the same
 * library gets the same engine, in every process.
 *
 * The library is several hundred megabytes, so it is opened when the first convolution is planned. */
#include "backend/cudnn.h"

#include <stdio.h>
#include <string.h>

#include <cudnn.h>

#include "backend/cuda.h"
#include "base/library.h"
#include "base/err.h"
#include "base/mem.h"

#define LIBRARY "libcudnn.so.9"
#define MAXCONFIG 24          /* configurations looked at, of each mode */
#define MAXNOTE 16
#define ALIGNMENT 16

/* --- the library --- */

#define FUNCTIONS(X) \
	X(cudnnCreate) X(cudnnDestroy) X(cudnnSetStream) X(cudnnGetErrorString) X(cudnnGetVersion) \
	X(cudnnBackendCreateDescriptor) X(cudnnBackendDestroyDescriptor) X(cudnnBackendFinalize) \
	X(cudnnBackendSetAttribute) X(cudnnBackendGetAttribute) X(cudnnBackendExecute)

LIBRARY_LATE(FUNCTIONS, LIBRARY, "cuDNN 9")

static int check(cudnnStatus_t status, const char *what)
{
	if (status == CUDNN_STATUS_SUCCESS)
		return 0;
	return ERR(E_UNSUPPORTED, NULL, "cuDNN: %s: %s", what, lib.cudnnGetErrorString(status));
}

int cudnn_open(void **handle, void *stream)
{
	cudnnHandle_t h = NULL;
	TRY(load());
	TRY(check(lib.cudnnCreate(&h), "cannot start"));
	int rc = check(lib.cudnnSetStream(h, stream), "cannot use the stream");
	if (rc < 0)
		lib.cudnnDestroy(h);
	else
		*handle = h;
	return rc;
}

void cudnn_close(void *handle)
{
	if (handle)
		lib.cudnnDestroy(handle);
}

/* --- descriptors --- */

typedef cudnnBackendDescriptor_t desc;

#define MAXDESC 64

/* Descriptors under construction: all are destroyed together, and after the first failure nothing more happens. */
struct builder {
	desc made[MAXDESC];
	int n;
	cudnnStatus_t status;
};

static desc make(struct builder *b, cudnnBackendDescriptorType_t type)
{
	desc d = NULL;
	if (b->status != CUDNN_STATUS_SUCCESS)
		return NULL;
	BUG_IF(b->n == MAXDESC, "too many descriptors");
	b->status = lib.cudnnBackendCreateDescriptor(type, &d);
	if (b->status == CUDNN_STATUS_SUCCESS)
		b->made[b->n++] = d;
	return d;
}

static void set(struct builder *b, desc d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                int64_t n, const void *value)
{
	if (b->status == CUDNN_STATUS_SUCCESS)
		b->status = lib.cudnnBackendSetAttribute(d, name, type, n, value);
}

static void set_desc(struct builder *b, desc d, cudnnBackendAttributeName_t name, desc value)
{
	set(b, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static void set_int(struct builder *b, desc d, cudnnBackendAttributeName_t name, int64_t value)
{
	set(b, d, name, CUDNN_TYPE_INT64, 1, &value);
}

static void finalize(struct builder *b, desc d)
{
	if (b->status == CUDNN_STATUS_SUCCESS)
		b->status = lib.cudnnBackendFinalize(d);
}

static void release(struct builder *b)
{
	while (b->n)
		lib.cudnnBackendDestroyDescriptor(b->made[--b->n]);
}

/* --- a convolution as descriptors --- */

static cudnnDataType_t data_type(enum dtype t)
{
	switch (t) {
	case DTYPE_F16: return CUDNN_DATA_HALF;
	case DTYPE_BF16: return CUDNN_DATA_BFLOAT16;
	default: return CUDNN_DATA_FLOAT;
	}
}

/* cuDNN wants two spatial axes at least: a missing one is of extent 1, and stands first. */
static int spatial_axes(const struct conv_geom *g)
{
	return g->ns < 2 ? 2 : g->ns;
}

/* Dims and strides of a layout over (a, b, spatial...) with the missing axis put in. */
static desc tensor(struct builder *b, int64_t uid, const struct conv_geom *g, enum dtype type,
                   const struct layout *l)
{
	int64_t dims[CONV_NS + 2], stride[CONV_NS + 2], align = ALIGNMENT;
	const int ns = spatial_axes(g), missing = ns - g->ns;
	const cudnnDataType_t t = data_type(type);
	for (int i = 0; i < 2 + missing; i++) {
		dims[i] = i < 2 ? l->dims[i] : 1;
		stride[i] = i < 2 ? l->stride[i] : l->stride[2] * l->dims[2];
	}
	for (int i = 0; i < g->ns; i++) {
		dims[2 + missing + i] = l->dims[2 + i];
		stride[2 + missing + i] = l->stride[2 + i];
	}
	desc d = make(b, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	set(b, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &t);
	set(b, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, ns + 2, dims);
	set(b, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, ns + 2, stride);
	set(b, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &uid);
	set(b, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &align);
	finalize(b, d);
	return d;
}

static void set_axes(struct builder *b, desc d, cudnnBackendAttributeName_t name, const struct conv_geom *g,
                     const int64_t *v, int64_t missing)
{
	int64_t all[CONV_NS];
	const int ns = spatial_axes(g), shift = ns - g->ns;
	all[0] = missing;
	memcpy(all + shift, v, sizeof *v * (size_t)g->ns);
	set(b, d, name, CUDNN_TYPE_INT64, ns, all);
}

static desc geometry(struct builder *b, const struct conv_geom *g)
{
	const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
	const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
	desc d = make(b, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
	set(b, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
	set(b, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
	set_int(b, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, spatial_axes(g));
	set_axes(b, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, g, g->stride, 1);
	set_axes(b, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, g, g->dilation, 1);
	set_axes(b, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, g, g->pad_lo, 0);
	set_axes(b, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, g, g->pad_hi, 0);
	finalize(b, d);
	return d;
}

/* Names of the attributes of the three operations. */
static const struct {
	cudnnBackendDescriptorType_t type;
	cudnnBackendAttributeName_t conv, x, w, y, alpha, beta;
} operations[] = {
	[CONV_FORWARD] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
		CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA },
	[CONV_BACKWARD_DATA] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA },
	[CONV_BACKWARD_WEIGHTS] = { CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
		CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA },
};

enum uid { UID_X = 1, UID_W, UID_Y };

static desc operation(struct builder *b, const struct cudnn_conv *c)
{
	const float one = 1, zero = 0;
	desc x = tensor(b, UID_X, &c->geom, c->type, c->x), w = tensor(b, UID_W, &c->geom, c->type, c->w),
	     y = tensor(b, UID_Y, &c->geom, c->type, c->y), g = geometry(b, &c->geom);
	desc d = make(b, operations[c->kind].type);
	set_desc(b, d, operations[c->kind].conv, g);
	set_desc(b, d, operations[c->kind].x, x);
	set_desc(b, d, operations[c->kind].w, w);
	set_desc(b, d, operations[c->kind].y, y);
	set(b, d, operations[c->kind].alpha, CUDNN_TYPE_FLOAT, 1, &one);
	set(b, d, operations[c->kind].beta, CUDNN_TYPE_FLOAT, 1, &zero);
	finalize(b, d);
	return d;
}

/* --- engines --- */

struct cudnn_plan {
	cudnnHandle_t handle;
	struct builder parts;        /* what the plan is made of */
	desc plan;
	int64_t uid[3];              /* of the arguments of run */
	size_t ws_bytes;
	char name[32];
};

/* Whether an engine with these notes may be used. */
static bool allowed(const struct cudnn_conv *c, const cudnnBackendNumericalNote_t *note, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (note[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC && c->deterministic)
			return false;
		if (note[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)
			return false;
		if (c->type == DTYPE_F32 && !c->tf32 &&
		    (note[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE || note[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))
			return false;
	}
	return true;
}

/* The engine of a configuration: its number and whether its notes are allowed. */
static bool look_at(const struct cudnn_conv *c, desc config, int64_t *index)
{
	struct builder b = { .status = CUDNN_STATUS_SUCCESS };
	cudnnBackendNumericalNote_t note[MAXNOTE];
	int64_t n = 0;
	desc engine = make(&b, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	*index = -1;
	if (b.status == CUDNN_STATUS_SUCCESS)
		b.status = lib.cudnnBackendGetAttribute(config, CUDNN_ATTR_ENGINECFG_ENGINE,
		                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &n, &engine);
	if (b.status == CUDNN_STATUS_SUCCESS)
		b.status = lib.cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &n,
		                                        index);
	if (b.status == CUDNN_STATUS_SUCCESS)
		b.status = lib.cudnnBackendGetAttribute(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
		                                        CUDNN_TYPE_NUMERICAL_NOTE, MAXNOTE, &n, note);
	bool ok = b.status == CUDNN_STATUS_SUCCESS && allowed(c, note, n < MAXNOTE ? n : MAXNOTE);
	release(&b);
	return ok;
}

/* Makes the plan of one configuration. */
static bool try_config(struct cudnn_plan *p, desc config)
{
	struct builder b = { .status = CUDNN_STATUS_SUCCESS };
	int64_t bytes = 0, n = 0;
	desc plan = make(&b, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	set_desc(&b, plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
	set(&b, plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &p->handle);
	finalize(&b, plan);
	if (b.status == CUDNN_STATUS_SUCCESS)
		b.status = lib.cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
		                                        1, &n, &bytes);
	if (b.status != CUDNN_STATUS_SUCCESS) {
		release(&b);
		return false;
	}
	p->plan = plan;
	p->ws_bytes = (size_t)bytes;
	return true;
}

/* Looks through what one mode of the heuristics proposes. The result descriptors are the caller's to release. */
static bool try_mode(struct cudnn_plan *p, const struct cudnn_conv *c, desc graph, cudnnBackendHeurMode_t mode)
{
	struct builder b = { .status = CUDNN_STATUS_SUCCESS };
	desc config[MAXCONFIG];
	int64_t n = 0, index;
	bool found = false;
	desc heuristics = make(&b, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	set_desc(&b, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
	set(&b, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	finalize(&b, heuristics);
	for (int i = 0; i < MAXCONFIG; i++)
		config[i] = make(&b, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	if (b.status == CUDNN_STATUS_SUCCESS)
		b.status = lib.cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
		                                        CUDNN_TYPE_BACKEND_DESCRIPTOR, MAXCONFIG, &n, config);
	for (int64_t i = 0; b.status == CUDNN_STATUS_SUCCESS && i < n && i < MAXCONFIG && !found; i++) {
		found = look_at(c, config[i], &index) && try_config(p, config[i]);
		if (found)
			snprintf(p->name, sizeof p->name, "cudnn:eng%d", (int)index);
	}
	if (found) {      /* a plan may refer to its configuration for as long as it lives */
		memcpy(p->parts.made + p->parts.n, b.made, sizeof *b.made * (size_t)b.n);
		p->parts.n += b.n;
	} else {
		release(&b);
	}
	return found;
}

static int build(struct cudnn_plan *p, const struct cudnn_conv *c)
{
	struct builder *b = &p->parts;
	desc op = operation(b, c);
	desc graph = make(b, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	set(b, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &op);
	set(b, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &p->handle);
	finalize(b, graph);
	TRY(check(b->status, "no description of this convolution"));
	if (try_mode(p, c, graph, CUDNN_HEUR_MODE_A) || try_mode(p, c, graph, CUDNN_HEUR_MODE_FALLBACK))
		return 0;
	return ERR(E_UNSUPPORTED, NULL, "cuDNN %zu has no engine for this convolution%s%s", lib.cudnnGetVersion(),
	           c->deterministic ? " that gives the same bits each time" : "",
	           c->type == DTYPE_F32 && !c->tf32 ? " in full float32" : "");
}

int cudnn_conv_new(struct cudnn_plan **out, struct device *d, const struct cudnn_conv *c)
{
	static const int64_t order[][3] = {
		[CONV_FORWARD] = { UID_X, UID_W, UID_Y },
		[CONV_BACKWARD_DATA] = { UID_Y, UID_W, UID_X },
		[CONV_BACKWARD_WEIGHTS] = { UID_X, UID_Y, UID_W },
	};
	void *handle;
	TRY(cuda_cudnn(d, &handle));
	struct cudnn_plan *p = mem_calloc(1, sizeof *p);
	p->handle = handle;
	p->parts.status = CUDNN_STATUS_SUCCESS;
	memcpy(p->uid, order[c->kind], sizeof p->uid);
	int rc = build(p, c);
	if (rc < 0)
		cudnn_plan_free(p);
	else
		*out = p;
	return rc;
}

const char *cudnn_plan_name(const struct cudnn_plan *p)
{
	return p->name;
}

size_t cudnn_plan_workspace(const struct cudnn_plan *p)
{
	return p->ws_bytes;
}

int cudnn_plan_run(const struct cudnn_plan *p, void *a, void *b, void *c, void *ws)
{
	struct builder w = { .status = CUDNN_STATUS_SUCCESS };
	void *pointer[3] = { a, b, c };
	desc pack = make(&w, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	set(&w, pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 3, p->uid);
	set(&w, pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointer);
	set(&w, pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &ws);
	finalize(&w, pack);
	if (w.status == CUDNN_STATUS_SUCCESS)
		w.status = lib.cudnnBackendExecute(p->handle, p->plan, pack);
	release(&w);
	return check(w.status, "running a convolution");
}

void cudnn_plan_free(struct cudnn_plan *p)
{
	if (!p)
		return;
	if (p->plan)
		lib.cudnnBackendDestroyDescriptor(p->plan);
	release(&p->parts);
	mem_free(p);
}
