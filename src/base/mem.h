/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Host memory with a count. Small allocations cannot fail from the caller's view: when the
 * system has no memory left the process says so and exits with E_NOMEM's status. Large
 * planned allocations (arenas of a plan) use mem_map, which returns NULL instead.
 *
 * mem_count() is the number of calls that obtained memory since start, over all threads. Tests
 * compare it before and after a step: the steady step allocates nothing.
 *
 * Fault injection: DLX_DEBUG=fault=alloc:N makes the Nth mem_map fail. */
#ifndef DLX_BASE_MEM_H
#define DLX_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/round.h"

void *mem_alloc(size_t n);                 /* uninitialised; n = 0 gives a unique pointer */
void *mem_calloc(size_t n, size_t size);   /* zeroed; overflow of n * size is fatal */
void *mem_realloc(void *p, size_t n);
char *mem_strdup(const char *s);
void mem_free(void *p);                    /* NULL is fine */

/* n zeroed bytes, aligned to at least 64 bytes, with huge pages requested for large blocks; NULL if
 * refused. */
void *mem_map(size_t n);
void mem_unmap(void *p, size_t n);         /* n as given to mem_map; NULL is fine */
/* Makes the system allocate the pages of n bytes at p now rather than at first use; p is a whole
 * number of pages into a block of mem_map. Several threads may populate parts of one block. Does
 * nothing if the system cannot. */
void mem_populate(void *p, size_t n);

/* The unit in bytes in which memory shared by processes is laid out, whatever the system's page
 * size. */
#define MEM_PAGE 4096
/* n bytes in whole pages of this size. */
static inline size_t mem_pages(size_t n)
{
	return round_up(n, MEM_PAGE);
}

uint64_t mem_count(void);
/* Peak resident set of this process in bytes (0 where the system does not report it). */
uint64_t mem_peak_resident(void);

#endif
