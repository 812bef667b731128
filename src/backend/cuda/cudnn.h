/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A small C interface to cuDNN, as dnn.h is to oneDNN: callers use struct layout and plain
 * pointers. It is implemented by cuDNN's graph API (the C backend interface of cuDNN 9); the
 * library is loaded at run time.
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
/* For a GPU that is not present, described by its properties in cuDNN's JSON format (9.8 and
 * later). Plans can be made but not run. */
int cudnn_open_described(struct cudnn **out, const char *json, const char *name);
/* For a machine without cuDNN: no engine is known. */
void cudnn_open_absent(struct cudnn **out);
/* From now on engines that cuDNN compiles at run time are not chosen, with or without a driver. A
 * convolution for which there is no other engine still gets a plan, "cudnn:?", with unknown
 * workspace (0). */
void cudnn_leave_unknown(struct cudnn *c);
/* Plans that run from now on are enqueued on this stream. */
int cudnn_use_stream(struct cudnn *c, void *stream);
/* Releases engines that no plan uses. They are cached until then for later plans with the same
 * problem, since building an engine may take a second. */
void cudnn_trim(struct cudnn *c);
void cudnn_close(struct cudnn *c);                       /* NULL is fine */

/* A convolution. x, w, y: strided layouts (no blocks) of the input, the weights and the output, or
 * of the gradients of their shapes; type: of all three; sums are float32. tf32: float32 products
 * may be rounded to TF32. deterministic: only engines whose results have the same bits in every
 * run. A forward one, or one to the data, may be followed by more operations in the same kernel, in
 * float32:
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
/* wisdom: stored measurements, or NULL. E_UNSUPPORTED with cuDNN's reason if no engine supports it.
 * DLX_DEBUG=skip=chains refuses all but plain convolutions, so that fused and separate kernels can
 * be compared. */
int cudnn_conv_new(struct cudnn_plan **out, const struct cudnn *c, struct wisdom *wisdom,
                   const struct cudnn_conv *conv);

/* For problems that the caller measures itself on this GPU with this version of cuDNN: cudnn_known
 * returns the choice stored in wisdom, or NULL; cudnn_learn stores one. cudnn_runs: whether the GPU
 * is present, so that measurements are possible. */
const char *cudnn_known(const struct cudnn *c, const struct wisdom *w, const char *problem);
void cudnn_learn(const struct cudnn *c, struct wisdom *w, const char *problem, const char *choice,
                 double microseconds);
bool cudnn_runs(const struct cudnn *c);
/* Whether the GPU is not present and engines that would be measured on it are to be compiled in
 * advance and stored: with wisdom and DLX_DEBUG=engines=measured. */
bool cudnn_prepares(const struct cudnn *c, const struct wisdom *w);

const char *cudnn_plan_name(const struct cudnn_plan *p);         /* "cudnn:eng42" */
/* The chosen engine, for tests on this machine (backend/proof/proof.h). Its name lives as long as
 * p. */
struct kernel_choice cudnn_plan_choice(const struct cudnn_plan *p);
size_t cudnn_plan_workspace(const struct cudnn_plan *p);         /* bytes */
int cudnn_plan_run(const struct cudnn_plan *p, void *const *argument, void *ws);
void cudnn_plan_free(struct cudnn_plan *p);                      /* NULL is fine */

#endif
