/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/fault.h"

#include <stdatomic.h>
#include <string.h>

#include "base/debug.h"

bool fault_hits(const char *kind, uint64_t n)
{
	for (const struct debug_fault *f = debug.fault; f < debug.fault + DEBUG_FAULTS && f->kind; f++)
		if (strcmp(f->kind, kind) == 0 && (n == f->n || (n > f->n && f->on)))
			return true;
	return false;
}

bool fault_writes(void)
{
	static atomic_uint_fast64_t writes;
	return fault_hits("write", atomic_fetch_add(&writes, 1) + 1);
}
