/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that has convolutions normalise what they read. */
#ifndef DLX_OP_PROLOGUE_H
#define DLX_OP_PROLOGUE_H

#include "backend/conv_geom.h"
#include "graph/pass.h"

/* Whether there is an engine for the whole of a convolution and the norm and rectifier at its input: forward with statistics of its
 * result, to the weights, or to the data with the rectifier's gradient and the norm's sums. */
struct prologue_engines {
	bool (*has)(void *user, enum conv_kind kind, const struct conv_geom *c);
	void *user;
};
int prologue_fold(struct graph *g, const struct prologue_engines *engines);

/* On GPUs that compute in fp16, with the engines that cuDNN recommends. Behind the pass `moments`. */
int pass_prologue(struct graph *g, struct pass_env *env);

#endif
