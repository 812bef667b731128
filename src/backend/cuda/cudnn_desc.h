/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuDNN's descriptors, for the files that speak to its graph API: the library, sets of descriptors
 * that live and die together, and the few operations this backend is made of. After the first
 * failure nothing more happens in a set. */
#ifndef DLX_BACKEND_CUDA_CUDNN_DESC_H
#define DLX_BACKEND_CUDA_CUDNN_DESC_H

#include <cudnn.h>

#include "backend/dnn/conv_geom.h"
#include "base/buf.h"
#include "graph/graph.h"

/* The library on one GPU, or on one that is only described. */
struct cudnn {
	cudnnHandle_t handle;        /* NULL: described */
	cudnnBackendDescriptor_t device;         /* its properties; NULL if there is a handle */
	void *stream;
	char name[80];               /* the GPU, for wisdom: "NVIDIA H200 sm_90" */
	size_t version;              /* 0: the library is not there */
	bool leave_unknown;          /* see cudnn_leave_unknown */
	struct cudnn_table *table;   /* see cudnn_shared.h; NULL without a library */
};

typedef cudnnBackendDescriptor_t desc;

#define CUDNN_SET_MAX 96

struct cudnn_set {
	desc made[CUDNN_SET_MAX];
	int n;
	cudnnStatus_t status;        /* of the first failure */
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
/* Up to `room` values; returns how many there are. */
int64_t cudnn_get(struct cudnn_set *s, desc d, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, int64_t room, void *value);
/* All elements of one whose number is not known: bytes. False: cuDNN does not give it. */
bool cudnn_get_text(desc d, cudnnBackendAttributeName_t name, struct buf *out);
void cudnn_finalize(struct cudnn_set *s, desc d);
void cudnn_execute(struct cudnn_set *s, const struct cudnn *c, desc plan, desc pack);
/* Moves one of `from` into `to`. */
void cudnn_move(struct cudnn_set *to, struct cudnn_set *from, desc d);
void cudnn_release(struct cudnn_set *s);

/* --- tensors and operations, finalized --- */

/* Over (a, b, spatial...) with at least two spatial axes: a missing one is of extent 1, and is
 * first. virtual: an intermediate result that has no memory. */
desc cudnn_tensor(struct cudnn_set *s, int64_t uid, enum dtype type, const struct layout *l,
                  bool virtual);
/* c numbers along axis 1 of a tensor of `axes` axes. */
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
