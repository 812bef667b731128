/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queries the processor, once. */
#include "base/isa.h"

#include <string.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

#include "base/debug.h"

static const char *const names[ISA_COUNT] = { "base", "avx2", "avx512", "avx512_bf16", "amx" };

atomic_int isa_found = -1;
static enum isa cap = ISA_COUNT;         /* ISA_COUNT: not determined yet */

const char *isa_name(enum isa i)
{
	return names[i];
}

enum isa isa_cap(void)
{
	enum isa i = ISA_AMX;
	while (cap == ISA_COUNT && debug.isa && strcmp(names[i], debug.isa) != 0)
		i--;
	return cap == ISA_COUNT ? i : cap;
}

void isa_lower(enum isa i)
{
	cap = i < isa_cap() ? i : isa_cap();
	isa_found = -1;
}

#if defined(__x86_64__) && defined(__GNUC__)
static enum isa of_processor(void)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
		return ISA_BASE;
	if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
	    !__builtin_cpu_supports("avx512cd") || !__builtin_cpu_supports("avx512dq") ||
	    !__builtin_cpu_supports("avx512vl"))
		return ISA_AVX2;
	return __builtin_cpu_supports("avx512bf16") ? ISA_AVX512_BF16 : ISA_AVX512;
}

/* AMX_BF16 and AMX_TILE of leaf 7, which not all compilers know by name. */
static bool has_amx(void)
{
	const unsigned both = 1u << 22 | 1u << 24;
	unsigned a, b, c, d;
	return of_processor() == ISA_AVX512_BF16 && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
	       (d & both) == both;
}
#else
static bool has_amx(void)
{
	return false;
}

static enum isa of_processor(void)
{
	return ISA_BASE;
}
#endif

enum isa isa_of_machine(void)
{
	const enum isa have = has_amx() ? ISA_AMX : of_processor();
	return have < isa_cap() ? have : isa_cap();
}

enum isa isa_find(void)
{
	const enum isa have = of_processor();
	isa_found = (int)(have < isa_cap() ? have : isa_cap());
	return (enum isa)isa_found;
}
