/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuDNN behind a small C interface, as dnn.h is for oneDNN: callers speak struct layout and plain
 * pointers. Underneath is the graph API through its C backend interface (cuDNN 9); the library is
 * loaded at run time.
 *
 *   cudnn_conv_new    describes the operation and chooses an engine: what wisdom says, or the first
 *                     one that is allowed and can be built; with measuring, the fastest of them
 *   cudnn_plan_run    enqueues it; allocates nothing */
#ifndef DLX_BACKEND_CUDA_CUDNN_H
#define DLX_BACKEND_CUDA_CUDNN_H

#include "backend/dnn/conv_geom.h"
#include "backend/wisdom.h"
#include "graph/op.h"

struct cudnn;
struct cudnn_plan;

/* stream: a cudaStream_t. name: the GPU's. */
int cudnn_open(struct cudnn **out, void *stream, const char *name);
/* For a GPU that is not there: its properties as cuDNN writes them in JSON (9.8 and later). Plans
 * can be made, not run. */
int cudnn_open_described(struct cudnn **out, const char *json, const char *name);
/* For a machine without cuDNN: no engine is known. */
void cudnn_open_absent(struct cudnn **out);
/* From now on engines that cuDNN would compile are not chosen, with
 * or without a driver. A single convolution without another engine
 * still gets a plan, "cudnn:?", whose workspace is not known (0). */
void cudnn_leave_unknown(struct cudnn *c);
/* What is run from now on is enqueued on this stream. */
int cudnn_use_stream(struct cudnn *c, void *stream);
/* Engines that no plan has go. Until then they wait for another plan that asks for them: to make
 * one may take a second. */
void cudnn_trim(struct cudnn *c);
void cudnn_close(struct cudnn *c);                       /* NULL is fine */

/* A convolution. x, w, y: strided layouts (no blocks) of the input, the weights and the output, or
 * of the gradients of their shapes; type: of all three; sums are float32. tf32: float32 products
 * may be rounded to TF32. deterministic: only engines that give the same bits each time. A forward
 * one, or one to the data, may be followed by more operations in the same kernel, in float32:
 *   result = act(convolution * scale + bias + addend)
 * with a float32 scale and bias for each channel; addend is like the result; act: none, ReLU,
 * or ReLU's gradient: a factor of 1 where `mask`, which is like the result too,
 * is above zero. Arguments of cudnn_plan_run, those that there are, the result last:
 *   forward           x, w, scale, bias, addend, y
 *   backward data     dy, w, scale, bias, addend, mask, dx
 *   backward weights  x, dy, dw
 * A forward one with nothing after it can give the statistics of what it makes: two more results,
 * float32 sums for each channel of y and of its squares, which follow y; such engines, and those
 * with norm_sums, are there only where bits may differ.
 *
 * Around batch norm and its ReLU, norm(x) = (x - mean) * rstd * gamma + beta:
 *   normalises   forward and to the weights: x is read as relu(x * scale + shift), whose vectors
 *                (float32 forward, else of the tensors' type) follow the first two arguments
 *   norm_sums    to the data: what is made is dz, the gradient with 0 where norm(x) is not above
 *                zero, and what the norm's gradient is made of:  dy, w, x, mean, rstd, gamma, beta,
 *                dz, dgamma = sum dz (x - mean) rstd, dbeta = sum dz, and three vectors of cuDNN's;
 *                all vectors float32 */
struct cudnn_conv {
	enum conv_kind kind;
	struct conv_geom geom;
	enum dtype type;
	const struct layout *x, *w, *y;
	bool tf32, deterministic;
	bool scale, bias, addend, relu, mask, statistics;
	bool normalises, norm_sums;
	float slope;                 /* of leaky ReLU's negative side */
	bool best_only;              /* only engines that cuDNN recommends, not its fallback engines */
};
#define CUDNN_ARGUMENTS 13
/* wisdom: or NULL. E_UNSUPPORTED with cuDNN's reason if no engine takes it, and for more than a
 * convolution alone with DLX_DEBUG=skip=chains, by which the two ways can be compared. */
int cudnn_conv_new(struct cudnn_plan **out, const struct cudnn *c, struct wisdom *wisdom,
                   const struct cudnn_conv *conv);

/* What wisdom knows, or learns, of a problem that the caller measures on this GPU with this
 * library; NULL: nothing. cudnn_runs: the GPU is there, and so can be measured. */
const char *cudnn_known(const struct cudnn *c, const struct wisdom *w, const char *problem);
void cudnn_learn(const struct cudnn *c, struct wisdom *w, const char *problem, const char *choice,
                 double microseconds);
bool cudnn_runs(const struct cudnn *c);
/* The GPU is not there, and what would be measured on it is to be compiled and kept: with wisdom
 * and DLX_DEBUG=engines=measured. */
bool cudnn_prepares(const struct cudnn *c, const struct wisdom *w);

const char *cudnn_plan_name(const struct cudnn_plan *p);         /* "cudnn:eng42" */
/* The engine as a choice among those for the problem, which proofs may find wrong; its name is as
 * long as p. */
struct kernel_choice cudnn_plan_choice(const struct cudnn_plan *p);
size_t cudnn_plan_workspace(const struct cudnn_plan *p);         /* bytes */
int cudnn_plan_run(const struct cudnn_plan *p, void *const *argument, void *ws);
void cudnn_plan_free(struct cudnn_plan *p);                      /* NULL is fine */

#endif
