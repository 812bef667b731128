/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that fuses batch norm and ReLU into the convolutions that read them. */
#ifndef DLX_PASS_PROLOGUE_H
#define DLX_PASS_PROLOGUE_H

#include "backend/dnn/conv_geom.h"
#include "pass/pass.h"

/* Queries whether the backend has an engine that computes a fused chain. Depending on `kind`: the
 * forward convolution (with statistics of its result, unless the convolution has groups), the
 * gradient of the weights, or the gradient of the data with ReLU's gradient and the sums of the
 * norm's gradient. */
struct prologue_engines {
	bool (*has)(void *user, enum conv_kind kind, const struct conv_geom *c);
	void *user;
};
int prologue_fold(struct graph *g, const struct prologue_engines *engines);

#endif
