/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A device that can hold tensors and run kernels: the CPU (oneDNN, OpenMP) or the reference (plain C in float64, the meaning
 * of every op). On the reference device every float tensor is F64. */
#ifndef DLX_BACKEND_DEVICE_H
#define DLX_BACKEND_DEVICE_H

#include "graph/op.h"

struct device {
	enum backend backend;
	const char *name;            /* "cpu" */
	char description[160];       /* "AMD EPYC, 2 threads, oneDNN 2.6.3 avx512_core" */
	int threads;
	double peak_flops;           /* measured by device_measure_peak; 0 before */
	double bandwidth;            /* bytes/s, measured by device_measure_bandwidth; 0 before */
};

/* name: auto, cpu, cuda, reference. E_UNAVAILABLE with the reason and a remedy if it cannot be had; never a fallback. */
int device_open(struct device **out, const char *name);
void device_close(struct device *d);             /* NULL is fine */
/* float32 matrix-multiply rate in flop/s, measured once (about 50 ms). */
double device_measure_peak(struct device *d);
/* Memory bandwidth in bytes/s, measured once (about 50 ms). */
double device_measure_bandwidth(struct device *d);
/* The element type a tensor of this dtype has on this device: F64 for floats on the reference. */
enum dtype device_dtype(const struct device *d, enum dtype t);

struct pass_env;
/* The pass 'precision': gives every tensor the element type it has on env->dev, constants' values included. */
int pass_precision(struct graph *g, struct pass_env *env);

#endif
