/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the parts of the stand-in for cuDNN share: fake_cudnn.c is the interface and the engines,
 * fake_cudnn_check.c what a descriptor must be, fake_cudnn_run.c the arithmetic. */
#ifndef FAKE_CUDNN_H
#define FAKE_CUDNN_H

#include <stdbool.h>

#include <cudnn.h>

struct cudnnContext {
	int open;
	cudaStream_t stream;
};

#define MAGIC 0x6475446e
#define MAXATTR 12
#define MAXOPS 8
#define MAXTENSORS 24
#define AXES 8

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
	int engine, users;           /* of a configuration: which; of a
	                              * descriptor: plans that need it */
	bool ran;                    /* a plan, so that its kernels' code is loaded */
	const struct cudnnBackendDescriptor_fake *graph;     /* of a configuration or a plan */
};
typedef struct cudnnBackendDescriptor_fake fake;

#define TENSOR CUDNN_BACKEND_TENSOR_DESCRIPTOR
#define CONV CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR
#define DESC CUDNN_TYPE_BACKEND_DESCRIPTOR
#define FORWARD CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
#define DATA CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
#define FILTER CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR
#define STATISTICS CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR
#define NORM_SUMS CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR
#define POINTWISE CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR

/* The names of a convolution's attributes, or NULL of another operation. */
struct roles {
	cudnnBackendAttributeName_t conv, x, w, y, alpha, beta;
};
const struct roles *roles_of(cudnnBackendDescriptorType_t t);

/* Prints what is wrong. */
cudnnStatus_t refuse(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- attributes --- */

const struct attribute *find(const fake *d, cudnnBackendAttributeName_t name);
const int64_t *ints(const fake *d, cudnnBackendAttributeName_t name);
int whole(const fake *d, cudnnBackendAttributeName_t name);
fake *named(const fake *d, cudnnBackendAttributeName_t name);
/* Whether a descriptor of this type may have this many, and may not have it already. */
bool fits(const fake *d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
          int64_t n);
/* What must hold of a descriptor that is finalized. */
cudnnStatus_t check_descriptor(const fake *d);

/* --- graphs --- */

struct buf;
/* The same text for the same graph. */
void describe_graph(struct buf *b, const fake *graph);
void note_question(const fake *heuristics);
/* Those that live, among which a plan that is read finds its own. */
void remember_graph(const fake *graph);
void forget_graph(const fake *graph);

/* --- engines and plans --- */

/* Whether `list`, "43,44:2" or NULL, names the engine; rest: what follows its colon, or "". */
bool lists(const char *list, int index, const char **rest);
bool is_compiled(int engine);
int index_of(int engine);
cudnnStatus_t finish_plan(fake *plan);
/* room 0: only how long it is. */
cudnnStatus_t plan_as_text(const fake *plan, int64_t room, int64_t *n, char *out);

bool is_virtual(const fake *t);
int axes_of(const fake *t);
/* The tensors of an operation, its results last. */
#define MAXOPERANDS 10
int tensors_of(const fake *op, fake **out);
int results_of(const fake *op);
fake *const *operations(const fake *graph, int *n);
/* The place of the convolution. */
int convolution_of(const fake *graph);
/* All tensors of a graph, each once. */
int graph_tensors(const fake *graph, fake **out);

/* --- running --- */

struct job {
	const fake *graph;
	int n;
	int64_t id[MAXTENSORS];
	void *pointer[MAXTENSORS], *ws;
};
/* Most plans ask for some and fill it, so that booking it is tested too; more where a single
 * operation has windows, which it copies; none where a chain has, which is what these are for. */
size_t workspace_of(const fake *graph);
/* Whether a tensor's elements have others between them. */
bool is_window(const fake *t);
void *pointer_of(const struct job *j, const fake *t);
int execute(void *job);

#endif
