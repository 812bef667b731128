/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roofline model of a node's time: the larger of its flops over the rate of products and its
 * bytes over the memory bandwidth, and the share of these rates that kernels reach. All predicted
 * times are built on it. */
#ifndef DLX_BACKEND_NODE_TIME_H
#define DLX_BACKEND_NODE_TIME_H

#include "backend/plan_env.h"

/* The shares of the device's rates that kernels of an op reach. */
struct reach {
	const char *op;              /* prefix of the op's name */
	double products, memory;     /* shares (0 to 1) of the device's flop/s and bytes/s */
	double narrow;               /* the number of channels at which a convolution is half as fast;
	                              * 0: no convolution */
	double start;                /* seconds that the shortest node takes */
};

/* The rates of a device. */
struct node_rates {
	double f32, bits16;          /* flop/s of products; f32: in f64 where floats are F64; bits16:
	                              * in bf16 and fp16 */
	double bytes;                /* bytes/s through memory */
	const struct reach *reach;   /* table by op, whose last row is for all others; NULL: kernels
	                              * reach the full rates */
};

/* The peak rates of d for plans with e: measured, or the published ones for a GPU that is not
 * present. All 0 if nothing can be measured. */
struct node_rates node_rates_ceilings(struct device *d, const struct plan_env *e);
/* The rates that real steps reach, which are below the peaks: for predictions of kernels that were
 * not timed. */
struct node_rates node_rates_reached(struct device *d, const struct plan_env *e);
/* The rates that real steps reach on a GPU with these published rates: flop/s in float32 and 16
 * bits, bytes/s. */
struct node_rates node_rates_of_published(double f32, double bits16, double bytes);
/* Rates that follow from the model of the device, without a measurement: they are the same in every
 * process and under any load, so that decisions may depend on them. */
struct node_rates node_rates_nominal(const struct device *d, const struct plan_env *e);

/* The predicted seconds of node n; 0 for nodes that do not run in a step, and if rates are 0. */
double node_seconds(const struct node_rates *r, const struct graph *g, const struct node *n);

#endif
