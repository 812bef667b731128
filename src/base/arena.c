/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chunks in a list, newest first; an object comes from the newest one or starts another. Chunks
 * grow with the arena, so that a small one costs little and a large one few calls. An object that
 * needs more than half a chunk gets its own, after the newest, so that the newest one's rest is
 * not lost. Chunks come zeroed and no byte is handed out twice: so objects are zeroed. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/round.h"

#define ALIGN 16
#define FIRST_CHUNK ((size_t)4 << 10)
#define LAST_CHUNK ((size_t)256 << 10)

struct chunk {
	struct chunk *next;
	size_t used, size;
	_Alignas(ALIGN) char data[];
};

struct arena {
	struct chunk *head;
	size_t next_size;
	size_t bytes;
};

static struct chunk *chunk_new(size_t size)
{
	struct chunk *c = mem_calloc(1, sizeof *c + size);
	c->size = size;
	return c;
}

struct arena *arena_new(void)
{
	struct arena *a = mem_calloc(1, sizeof *a);
	a->next_size = FIRST_CHUNK;
	a->head = chunk_new(a->next_size);
	return a;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	for (struct chunk *c = a->head, *next; c; c = next) {
		next = c->next;
		mem_free(c);
	}
	mem_free(a);
}

/* Makes room for n bytes and returns the chunk that has it. */
static struct chunk *chunk_for(struct arena *a, size_t n)
{
	struct chunk *c;
	if (a->head->size - a->head->used >= n)
		return a->head;
	if (a->next_size < LAST_CHUNK)
		a->next_size *= 2;
	if (n > a->next_size / 2) {
		c = chunk_new(n);
		c->next = a->head->next;
		a->head->next = c;
	} else {
		c = chunk_new(a->next_size);
		c->next = a->head;
		a->head = c;
	}
	return c;
}

void *arena_alloc(struct arena *a, size_t n)
{
	struct chunk *c;
	void *p;
	BUG_IF(n > PTRDIFF_MAX, "arena object of %zu bytes", n);
	a->bytes += n;
	n = n ? round_up(n, ALIGN) : ALIGN;
	c = chunk_for(a, n);
	p = c->data + c->used;
	c->used += n;
	return p;
}

void *arena_copy(struct arena *a, const void *p, size_t n)
{
	void *q = arena_alloc(a, n);
	if (n)
		memcpy(q, p, n);
	return q;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_copy(a, s, strlen(s) + 1);
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *s;
	int n;
	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	BUG_IF(n < 0, "bad format '%s'", fmt);
	s = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

size_t arena_bytes(const struct arena *a)
{
	return a->bytes;
}
