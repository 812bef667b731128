/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A bump allocator: many small objects of one lifetime, freed by one call.
 *
 *      chunk 0                chunk 1
 *   [ obj obj obj ... | free ] -> [ obj | free         ]
 *
 * Objects are aligned to 16 bytes and zeroed. One thread at a time. Never returns NULL
 * (mem.h's rule for small allocations). */
#ifndef DLX_BASE_ARENA_H
#define DLX_BASE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a);                             /* NULL is fine */
void *arena_alloc(struct arena *a, size_t n);                 /* zeroed */
void *arena_copy(struct arena *a, const void *p, size_t n);
char *arena_strdup(struct arena *a, const char *s);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
size_t arena_bytes(const struct arena *a);                    /* bytes handed out; for tests */

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))

#endif
