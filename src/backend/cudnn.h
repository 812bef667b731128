/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuDNN behind a small C interface, as dnn.h is for oneDNN: callers speak struct layout and plain pointers. Underneath is the
 * graph API through its C backend interface (cuDNN 9); the library is loaded at run time.
 *
 *   cudnn_conv_new    describes the operation, asks the heuristics, takes the first engine that is allowed and can be built
 *   cudnn_plan_run    enqueues it; allocates nothing */
#ifndef DLX_BACKEND_CUDNN_H
#define DLX_BACKEND_CUDNN_H

#include "backend/conv_geom.h"
#include "backend/device.h"

struct cudnn_plan;

/* handle: of cudnn_open. stream: a cudaStream_t. */
int cudnn_open(void **handle, void *stream);
void cudnn_close(void *handle);                          /* NULL is fine */

/* A convolution. x, w, y: strided layouts (no blocks) of the input, the weights and the output, or of the gradients of their
 * shapes; type: of all three; sums are float32. tf32: float32 products may be rounded to TF32. deterministic: only engines that
 * give the same bits each time. Arguments of cudnn_plan_run:
 *   forward           x, w, y
 *   backward data     dy, w, dx
 *   backward weights  x, dy, dw */
struct cudnn_conv {
	enum conv_kind kind;
	struct conv_geom geom;
	enum dtype type;
	const struct layout *x, *w, *y;
	bool tf32, deterministic;
};
/* E_UNSUPPORTED with cuDNN's reason if no engine takes it. */
int cudnn_conv_new(struct cudnn_plan **out, struct device *d, const struct cudnn_conv *c);

const char *cudnn_plan_name(const struct cudnn_plan *p);         /* "cudnn:eng42" */
size_t cudnn_plan_workspace(const struct cudnn_plan *p);         /* bytes */
int cudnn_plan_run(const struct cudnn_plan *p, void *a, void *b, void *c, void *ws);
void cudnn_plan_free(struct cudnn_plan *p);                      /* NULL is fine */

#endif
