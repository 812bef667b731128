/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Settings, in addition to graph and device, by which passes and kernels are chosen. They stay the
 * same from a plan's first pass to its last kernel. Two plans over one device may differ: a hint
 * such as "with bf16 it would fit" is planned in bf16 while the run stays in float32. plan/plan.h
 * makes them from a config. */
#ifndef DLX_BACKEND_PLAN_ENV_H
#define DLX_BACKEND_PLAN_ENV_H

#include "backend/device.h"

struct exec;
struct wisdom;

struct plan_env {
	enum dtype compute;          /* of activations and products: F32, BF16 or F16; F64: of all
	                              * floats, on DEVICE_DOUBLE alone */
	bool tf32;                   /* float32 products may be rounded to TF32 on a GPU that has it */
	bool winograd;               /* Winograd convolutions are allowed */
	bool deterministic;          /* only kernels that give the same bits in every run, even if
	                              * slower */
	bool any_threads;            /* results have the same bits for any number of threads: oneDNN's
	                              * kernels that split sums by threads run on one */
	bool any_extent;             /* a value has the same bits for all extents of the input, so that
	                              * a prediction in tiles equals that of the whole */
	double bf16_ratio;           /* the CPU's ratio of bfloat16 to float32 speed, rounded to a class
	                              * (backend/bf16_ratio.h); 0: not known */
	struct exec *asleep;         /* the plan whose kernels sleep (exec_sleep); NULL: they run */
	struct wisdom *wisdom;       /* stored measurements of the fastest engines, to which new ones
	                              * are added; NULL: take the libraries' first choice */
};

/* The settings of a config with none of these keys. */
extern const struct plan_env plan_env_default;

/* Whether the device has instructions for bfloat16. */
bool plan_env_has_bf16(const struct device *d);
/* Whether the device can compute in e->compute; E_UNAVAILABLE with the reason if it cannot.
 * emulate: accept an emulation that is slower than F32. The reference device accepts all types and
 * computes in F64. */
int plan_env_check(const struct plan_env *e, const struct device *d, bool emulate);

#endif
