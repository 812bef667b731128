/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roofline of a node: its arithmetic at the rate of products, or its bytes at the rate of
 * memory, whichever takes longer; and what nodes reach of that. All predicted seconds begin
 * here. */
#ifndef DLX_BACKEND_NODE_TIME_H
#define DLX_BACKEND_NODE_TIME_H

#include "backend/plan_env.h"

/* What nodes of an op reach. */
struct reach {
	const char *op;              /* how its name begins */
	double products, memory;     /* shares of a device's rates */
	double narrow;               /* channels with which a product is half as fast; 0: it is no
	                              * convolution */
	double start;                /* seconds that the shortest node takes */
};

/* What a device does. */
struct node_rates {
	double f32, bits16;          /* flop/s of products; f32: in f64 where floats are F64; bits16:
	                              * in bf16 and fp16 */
	double bytes;                /* bytes/s through memory */
	const struct reach *reach;   /* of all ops, the last one for any; NULL: all of the rates */
};

/* The ceilings of d for plans of e: measured, or published for a GPU that is not there. All 0 where
 * nothing can be measured. */
struct node_rates node_rates_ceilings(struct device *d, const struct plan_env *e);
/* The rates that steps reach, which are below the ceilings: for predictions of kernels that were
 * not timed. */
struct node_rates node_rates_reached(struct device *d, const struct plan_env *e);
/* Rates that follow from the model of the device, without a measurement: they are the same in every
 * process and under any load, so that decisions may depend on them. */
struct node_rates node_rates_nominal(const struct device *d, const struct plan_env *e);

/* 0 for nodes that do not run in a step, and where rates are 0. */
double node_seconds(const struct node_rates *r, const struct graph *g, const struct node *n);

#endif
