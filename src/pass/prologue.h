/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The pass that fuses batch norm and ReLU into the convolutions that read them. */
#ifndef DLX_PASS_PROLOGUE_H
#define DLX_PASS_PROLOGUE_H

#include "backend/dnn/conv_geom.h"
#include "pass/pass.h"

/* Whether there is an engine for a whole chain: forward (with statistics of its result, unless the
 * convolution has groups), to the weights, or to the data with ReLU's gradient and the norm's
 * sums. */
struct prologue_engines {
	bool (*has)(void *user, enum conv_kind kind, const struct conv_geom *c);
	void *user;
};
int prologue_fold(struct graph *g, const struct prologue_engines *engines);

#endif
