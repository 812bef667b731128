/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Wrappers of cuDNN's graph API: the library, sets of descriptors that are released together, and
 * the operations that dlx uses. After a failure in a set all further calls on it do nothing, so
 * callers check its status once. */
#ifndef DLX_BACKEND_CUDA_CUDNN_DESC_H
#define DLX_BACKEND_CUDA_CUDNN_DESC_H

#include <cudnn.h>

#include "backend/dnn/conv_geom.h"
#include "base/buf.h"
#include "graph/graph.h"

/* cuDNN on one GPU, which may be only described (not present). */
struct cudnn {
	cudnnHandle_t handle;        /* NULL: described */
	cudnnBackendDescriptor_t device;         /* a described GPU's properties; NULL if there is a
	                                          * handle */
	void *stream;
	char name[80];               /* the GPU, a key for wisdom: "NVIDIA H200 sm_90" */
	size_t version;              /* of cuDNN; 0: the library is missing */
	bool leave_unknown;          /* see cudnn_leave_unknown */
	struct cudnn_table *table;   /* see cudnn_shared.h; NULL without a library */
};

typedef cudnnBackendDescriptor_t desc;

#define CUDNN_SET_MAX 96

struct cudnn_set {
	desc made[CUDNN_SET_MAX];
	int n;
	cudnnStatus_t status;        /* status of the first failure */
};

int cudnn_load(void);
int cudnn_start(cudnnHandle_t *out, void *stream);
int cudnn_enter(cudnnHandle_t h, void *stream);
void cudnn_stop(cudnnHandle_t h);                /* NULL is fine */
int cudnn_check(cudnnStatus_t status, const char *what);
const char *cudnn_status(cudnnStatus_t status);  /* its name */
size_t cudnn_version(void);

desc cudnn_make(struct cudnn_set *s, cudnnBackendDescriptorType_t type);
void cudnn_put(struct cudnn_set *s, desc d, cudnnBackendAttributeName_t name,
               cudnnBackendAttributeType_t type, int64_t n, const void *value);
void cudnn_put_desc(struct cudnn_set *s, desc d, cudnnBackendAttributeName_t name, desc value);
/* Reads up to `room` values of an attribute; returns how many it has. */
int64_t cudnn_get(struct cudnn_set *s, desc d, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, int64_t room, void *value);
/* Appends an attribute of type char, of any length. False: cuDNN does not provide it. */
bool cudnn_get_text(desc d, cudnnBackendAttributeName_t name, struct buf *out);
void cudnn_finalize(struct cudnn_set *s, desc d);
void cudnn_execute(struct cudnn_set *s, const struct cudnn *c, desc plan, desc pack);
/* Moves descriptor d from one set to another. */
void cudnn_move(struct cudnn_set *to, struct cudnn_set *from, desc d);
void cudnn_release(struct cudnn_set *s);

/* --- tensors and operations, finalized --- */

/* A tensor (a, b, spatial...). cuDNN needs at least two spatial axes: a missing one is added as the
 * first, with extent 1. virtual: an intermediate result without memory. */
desc cudnn_tensor(struct cudnn_set *s, int64_t uid, enum dtype type, const struct layout *l,
                  bool virtual);
/* A vector of c numbers, one for each channel (axis 1), as a tensor of `axes` axes. */
desc cudnn_channels(struct cudnn_set *s, int64_t uid, enum dtype type, int axes, int64_t c);
desc cudnn_convolution(struct cudnn_set *s, enum conv_kind kind, const struct conv_geom *g, desc x,
                       desc w, desc y);
desc cudnn_add(struct cudnn_set *s, desc a, desc b, desc y);
desc cudnn_subtract(struct cudnn_set *s, desc a, desc b, desc y);
desc cudnn_multiply(struct cudnn_set *s, desc a, desc b, desc y);
/* slope: of the negative side. */
desc cudnn_relu(struct cudnn_set *s, desc x, float slope, desc y);
/* dx = dy where x, ReLU's input or result, is above zero, and slope * dy elsewhere. */
desc cudnn_relu_gradient(struct cudnn_set *s, desc dy, desc x, float slope, desc dx);
/* Sums of x and of its squares over all but the channels. */
desc cudnn_statistics(struct cudnn_set *s, desc x, desc sum, desc squares);
/* The sums of dz, the gradient of a norm's result. in: x, dz, mean, rstd, gamma; out: dgamma,
 * dbeta, and a, b and c of dx = a dz + b x + c. */
desc cudnn_norm_sums(struct cudnn_set *s, const desc in[5], const desc out[5]);
desc cudnn_graph(struct cudnn_set *s, const struct cudnn *c, int n, const desc *operation);

#endif
