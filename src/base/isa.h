/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The instruction set that this process uses: the processor's, capped by DLX_DEBUG=isa=NAME, for
 * dlx's own kernels and for oneDNN's. */
#ifndef DLX_BASE_ISA_H
#define DLX_BASE_ISA_H

#include <stdatomic.h>
#include <stdbool.h>

/* Each contains those before it. AVX512 is the level v4 of x86-64 (F, BW, CD, DQ, VL) with FMA. */
enum isa { ISA_BASE, ISA_AVX2, ISA_AVX512, ISA_AVX512_BF16, ISA_AMX, ISA_COUNT };

/* "base", and as the values of DLX_DEBUG=isa= the others: "avx2", "avx512", "avx512_bf16",
 * "amx". */
const char *isa_name(enum isa i);
/* The cap: the level of DLX_DEBUG=isa=, or ISA_AMX if it is not given. */
enum isa isa_cap(void);
/* Lowers the cap, if another rank, or the process that started this one, has a lesser processor.
 * Call it before any kernel is chosen. */
void isa_lower(enum isa i);

/* The highest level of this machine within the cap, including AMX; ranks compare it. */
enum isa isa_of_machine(void);

extern atomic_int isa_found;            /* the result of isa_level; -1: not determined yet */
enum isa isa_find(void);

/* The level for dlx's own kernels, none of which needs AMX. Any thread may call it. */
static inline enum isa isa_level(void)
{
	const int found = atomic_load_explicit(&isa_found, memory_order_relaxed);
	return found >= 0 ? (enum isa)found : isa_find();
}

static inline bool isa_has(enum isa i)
{
	return isa_level() >= i;
}

#endif
