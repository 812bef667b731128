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
/* That of DLX_DEBUG=isa=, or ISA_AMX. */
enum isa isa_cap(void);
/* A lower cap, for a process whose ranks or whose questions come from a lesser processor. Before
 * any kernel is chosen. */
void isa_lower(enum isa i);

/* What this machine could use, AMX too, within the cap: what ranks compare. */
enum isa isa_of_machine(void);

extern atomic_int isa_found;            /* isa_level's answer; -1: not asked for yet */
enum isa isa_find(void);

/* What dlx's own kernels may use, of which none needs AMX. Any thread may ask. */
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
