/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The instruction set that oneDNN uses. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <dnnl.h>
#include <dnnl_debug.h>

#include "backend/dnn/dnn.h"
#include "base/debug.h"

static pthread_once_t capped = PTHREAD_ONCE_INIT;

/* oneDNN accepts a limit only before its first use. */
static void cap_isa(void)
{
	static const dnnl_cpu_isa_t most[] = {
		dnnl_cpu_isa_sse41, dnnl_cpu_isa_avx2, dnnl_cpu_isa_avx512_core_vnni,
		dnnl_cpu_isa_avx512_core_bf16, dnnl_cpu_isa_avx512_core_amx,
	};
	if (isa_cap() < ISA_AMX || debug.isa)
		dnnl_set_max_cpu_isa(most[isa_cap()]);
}

static unsigned effective_isa(void)
{
	pthread_once(&capped, cap_isa);
	return (unsigned)dnnl_get_effective_cpu_isa();
}

const char *dnn_describe(char *buf, size_t n)
{
	const dnnl_version_t *v = dnnl_version();
	const char *isa = dnnl_cpu_isa2str((dnnl_cpu_isa_t)effective_isa());
	const char *prefix = "cpu_isa_";
	if (strncmp(isa, prefix, strlen(prefix)) == 0)
		isa += strlen(prefix);
	snprintf(buf, n, "oneDNN %d.%d.%d %s", v->major, v->minor, v->patch, isa);
	return buf;
}

static bool has_isa(dnnl_cpu_isa_t isa)
{
	return (effective_isa() & (unsigned)isa) == (unsigned)isa;
}

enum isa dnn_isa(void)
{
	return has_isa(dnnl_cpu_isa_avx512_core_amx) ? ISA_AMX :
	       has_isa(dnnl_cpu_isa_avx512_core_bf16) ? ISA_AVX512_BF16 :
	       has_isa(dnnl_cpu_isa_avx512_core) ? ISA_AVX512 :
	       has_isa(dnnl_cpu_isa_avx2) ? ISA_AVX2 : ISA_BASE;
}

enum dnn_bf16 dnn_bf16_support(void)
{
	if (has_isa(dnnl_cpu_isa_avx512_core_bf16))
		return DNN_BF16_NATIVE;
	return has_isa(dnnl_cpu_isa_avx512_core) ? DNN_BF16_EMULATED : DNN_BF16_NONE;
}
