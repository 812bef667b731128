/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Spans are sorted by replay and start, measured replay by replay, and then sorted by place, where
 * those of one kernel are adjacent. */
#include "backend/replay.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int by_launch(const void *a, const void *b)
{
	const struct replay_span *x = a, *y = b;
	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static int by_place(const void *a, const void *b)
{
	const struct replay_span *x = a, *y = b;
	return (x->place > y->place) - (x->place < y->place);
}

static int by_start(const void *a, const void *b)
{
	double x = ((const struct replay_kernel *)a)->start;
	double y = ((const struct replay_kernel *)b)->start;
	return (x > y) - (x < y);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof *v, by_value);
	return v[n / 2];
}

/* The n spans of one replay, whose times become those since its first span's start. */
static void measure(struct replay_span *s, size_t n, double *span, double *busy)
{
	const uint64_t begin = s[0].start;
	uint64_t until = 0, sum = 0;
	for (size_t i = 0; i < n; i++) {
		s[i].start -= begin;
		s[i].end -= begin;
		uint64_t from = s[i].start > until ? s[i].start : until;
		sum += s[i].end > from ? s[i].end - from : 0;
		until = s[i].end > until ? s[i].end : until;
	}
	*span = 1e-9 * (double)until;
	*busy = 1e-9 * (double)sum;
}

/* The last of the names that a mangled name is made of: of _ZN3dlx4sumsIfEvPf 'sums'. */
static const char *own_name(struct arena *a, const char *name)
{
	const char *at = name + 2, *last = NULL;
	size_t length = 0;
	if (strncmp(name, "_Z", 2) != 0)
		return arena_strdup(a, name);
	at += strspn(at, "NLKVSt");
	while (isdigit((unsigned char)*at)) {
		char *rest;
		unsigned long n = strtoul(at, &rest, 10);
		if (n > strlen(rest))
			break;
		last = rest;
		length = n;
		at = rest + n;
		at += strspn(at, "L");
	}
	return last ? arena_printf(a, "%.*s", (int)length, last) : arena_strdup(a, name);
}

static struct replay_kernel kernel_of(struct arena *a, const struct replay_span *s, size_t n,
                                      double *v)
{
	struct replay_kernel k = { .node = s->node, .name = own_name(a, s->name ? s->name : "") };
	for (size_t i = 0; i < n; i++)
		v[i] = 1e-9 * (double)(s[i].end - s[i].start);
	k.seconds = median(v, n);
	for (size_t i = 0; i < n; i++)
		v[i] = 1e-9 * (double)s[i].start;
	k.start = median(v, n);
	return k;
}

void replay_sum(struct replay *out, struct replay_span *span, size_t n)
{
	*out = (struct replay){ .arena = arena_new() };
	double *whole = mem_alloc(n * sizeof *whole), *busy = mem_alloc(n * sizeof *busy);
	out->kernel = ARENA_ARRAY(out->arena, struct replay_kernel, n);
	qsort(span, n, sizeof *span, by_launch);
	for (size_t i = 0, j; i < n; i = j, out->replays++) {
		for (j = i; j < n && span[j].launch == span[i].launch; j++)
			;
		measure(span + i, j - i, &whole[out->replays], &busy[out->replays]);
	}
	if (n) {
		out->span = median(whole, (size_t)out->replays);
		out->busy = median(busy, (size_t)out->replays);
	}
	qsort(span, n, sizeof *span, by_place);
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && span[j].place == span[i].place; j++)
			;
		out->kernel[out->nkernel++] = kernel_of(out->arena, span + i, j - i, whole);
	}
	qsort(out->kernel, (size_t)out->nkernel, sizeof *out->kernel, by_start);
	mem_free(whole);
	mem_free(busy);
}

void replay_release(struct replay *r)
{
	if (r->arena)
		arena_free(r->arena);
	*r = (struct replay){ 0 };
}
