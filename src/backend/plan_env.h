/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What passes and kernels are chosen by, in addition to the graph and the device. One plan has one
 * from its first pass to its last kernel, and two plans over one device may have different ones: a
 * remedy is planned in bf16 while the run's own plans stay in float32. plan/plan.h makes it of a
 * config. */
#ifndef DLX_BACKEND_PLAN_ENV_H
#define DLX_BACKEND_PLAN_ENV_H

#include "backend/device.h"

struct wisdom;

struct plan_env {
	enum dtype compute;          /* of activations and products: F32, BF16 or F16; F64: of all
	                              * floats, on DEVICE_DOUBLE alone */
	bool tf32;                   /* float32 products may be rounded to TF32 on a GPU that has it */
	bool winograd;               /* Winograd convolutions are allowed */
	bool deterministic;          /* the same bits each time, where a faster
	                              * kernel would not give them */
	bool any_threads;            /* the same bits for any number of threads: oneDNN's sums that are
	                              * split by threads run on one */
	bool any_extent;             /* a value has the same bits whatever the extents of the field
	                              * around it: tiles have those of the whole */
	double bf16_ratio;           /* of a processor, how much faster it multiplies in bfloat16 than
	                              * in float32, as a class (backend/bf16_ratio.h); 0: not known */
	struct wisdom *wisdom;       /* which engines are fastest, and measured engines are added to it;
	                              * NULL: the libraries' first choice */
};

/* What a config asks for that has none of these keys. */
extern const struct plan_env plan_env_default;

/* Whether the device has instructions for bfloat16. */
bool plan_env_has_bf16(const struct device *d);
/* Whether the device can compute in e->compute; E_UNAVAILABLE with the reason if it cannot.
 * emulate: slower than F32 will do. The reference device takes all types and stays with F64. */
int plan_env_check(const struct plan_env *e, const struct device *d, bool emulate);

#endif
