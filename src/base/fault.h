/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fault injection for tests: DLX_DEBUG=fault=KIND:N, "the Nth call fails", and fault=KIND:N+,
 * "every call from the Nth on fails" (base/debug.h). N counts from 1, over the whole process. */
#ifndef DLX_BASE_FAULT_H
#define DLX_BASE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* Whether fault injection applies to call number n of this kind. "alloc", "write", "append",
 * "read": the call is to fail; "arena": the arena is to be larger than planned; "exchange":
 * received rows are to be wrong; "kernel": node n of a plan is to produce a NaN; "payload": the
 * output of task n of rank 0 is to have a wrong bit (src/bench). */
bool fault_hits(const char *kind, uint64_t n);
/* The same for the next "write"; all functions that write share one count. */
bool fault_writes(void);

#endif
