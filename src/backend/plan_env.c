/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The defaults, and the types that a device computes in. */
#include "backend/plan_env.h"

#include <string.h>

#include "backend/dnn/dnn.h"
#include "base/err.h"

const struct plan_env plan_env_default = { .compute = DTYPE_F32, .winograd = true,
	.deterministic = true };

static int refuse_bf16(const struct device *d, enum dnn_bf16 support, bool emulate)
{
	if (support == DNN_BF16_EMULATED && emulate)
		return 0;
	if (support == DNN_BF16_EMULATED)
		return ERR(E_UNAVAILABLE, NULL, "device '%s' cannot compute in bf16: this processor, or "
		           "what the environment lets oneDNN use of it, has neither avx512_bf16 "
		           "nor amx_bf16; with 'precision.allow_emulation: true' it is done by float32 "
		           "instructions, slower than f32", d->name);
	return ERR(E_UNAVAILABLE, NULL, "device '%s' cannot compute in bf16: this processor, or what "
	           "the environment lets oneDNN use of it, has neither avx512_bf16 nor amx_bf16, nor "
	           "the avx512bw to emulate them", d->name);
}

#define FIRST_WITH_BF16 80       /* the compute capability of Ampere's first */

bool plan_env_has_bf16(const struct device *d)
{
	if (d->backend == BACKEND_CPU)
		return device_rates_described(d) || dnn_bf16_support() == DNN_BF16_NATIVE;
	return d->backend == BACKEND_CUDA && d->arch >= FIRST_WITH_BF16;
}

static int refuse_old_gpu(const struct device *d)
{
	return ERR(E_UNAVAILABLE, NULL, "device '%s' cannot compute in bf16: '%.*s' is of architecture "
	           "sm_%d, and instructions for it came with sm_%d; 'fp16' takes as many bytes, with "
	           "'precision.loss_scale'", d->name, (int)strcspn(d->description, ","),
	           d->description, d->arch, FIRST_WITH_BF16);
}

int plan_env_check(const struct plan_env *e, const struct device *d, bool emulate)
{
	if (e->compute == DTYPE_F16 && d->backend == BACKEND_CPU)
		return ERR(E_UNAVAILABLE, NULL,
		           "device '%s' cannot compute in fp16: oneDNN has no training code in it for "
		           "processors; 'bf16' takes as many bytes and needs no loss scale", d->name);
	if (e->compute != DTYPE_BF16 || d->backend == BACKEND_REFERENCE || plan_env_has_bf16(d))
		return 0;
	return d->backend == BACKEND_CUDA ? refuse_old_gpu(d) :
	       refuse_bf16(d, dnn_bf16_support(), emulate);
}
