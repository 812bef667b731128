/* SPDX-License-Identifier: BSD-3-Clause
 *
 * malloc and mmap with a counter. If a small allocation fails, the process ends; a planned one
 * (mem_map) returns NULL instead, because its caller can print what would have fitted. */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fault.h"
#include "base/log.h"

#define HUGE_PAGE ((size_t)2 << 20)

static atomic_uint_fast64_t count, maps;

static _Noreturn void no_memory(size_t n)
{
	fprintf(stderr, "%s: out of memory (%zu bytes asked for)\n", log_program(), n);
	_exit(err_exit_status(E_NOMEM));
}

void *mem_alloc(size_t n)
{
	void *p = malloc(n ? n : 1);
	if (!p)
		no_memory(n);
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	return p;
}

void *mem_calloc(size_t n, size_t size)
{
	size_t bytes;
	void *p;
	if (__builtin_mul_overflow(n, size, &bytes))
		no_memory(SIZE_MAX);
	p = calloc(bytes ? bytes : 1, 1);
	if (!p)
		no_memory(bytes);
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	return p;
}

void *mem_realloc(void *p, size_t n)
{
	p = realloc(p, n ? n : 1);
	if (!p)
		no_memory(n);
	atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	return p;
}

char *mem_strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(mem_alloc(n), s, n);
}

void mem_free(void *p)
{
	free(p);
}

/* Rounds up to whole pages, not to whole huge pages, which would waste up to half of the memory of
 * tensors of two or three MiB. */
static size_t map_size(size_t n)
{
	size_t unit = (size_t)sysconf(_SC_PAGESIZE);
	if (n == 0)
		n = 1;
	if (n > SIZE_MAX - 2 * unit)
		return 0;
	return round_up(n, unit);
}

static void *map_pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* The kernel backs only aligned 2 MiB ranges by huge pages: map too much, then give back both
 * ends. */
static void *map_huge(size_t n)
{
	char *p = map_pages(n + HUGE_PAGE);
	size_t before;
	if (!p)
		return NULL;
	before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
	if (before)
		munmap(p, before);
	if (before < HUGE_PAGE)
		munmap(p + before + n, HUGE_PAGE - before);
	madvise(p + before, n, MADV_HUGEPAGE);   /* only a hint; kernels without huge pages ignore it */
	return p + before;
}

void *mem_map(size_t n)
{
	size_t size = map_size(n);
	void *p;
	if (fault_hits("alloc", atomic_fetch_add(&maps, 1) + 1))
		return NULL;
	if (size == 0)
		return NULL;
	p = n >= HUGE_PAGE ? map_huge(size) : map_pages(size);
	if (p)
		atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
	return p;
}

void mem_populate(void *p, size_t n)
{
#ifdef MADV_POPULATE_WRITE
	madvise(p, map_size(n), MADV_POPULATE_WRITE);   /* only a hint as well */
#else
	(void)p;
	(void)n;
#endif
}

void mem_unmap(void *p, size_t n)
{
	if (p && munmap(p, map_size(n)) != 0)
		BUG("munmap of %zu bytes at %p refused", n, p);
}

uint64_t mem_count(void)
{
	return atomic_load_explicit(&count, memory_order_relaxed);
}

uint64_t mem_peak_resident(void)
{
	struct rusage u;
	if (getrusage(RUSAGE_SELF, &u) != 0)
		return 0;
	return (uint64_t)u.ru_maxrss * 1024;   /* Linux counts in KiB */
}
