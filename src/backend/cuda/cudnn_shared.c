/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sorted table, searched by halving. */
#include "backend/cuda/cudnn_shared.h"

#include <string.h>

#include "base/mem.h"

/* The first line that is not before the question. */
static int place_of(const struct cudnn_table *t, const char *question)
{
	int lo = 0, hi = t->n;
	while (lo < hi) {
		const int mid = (lo + hi) / 2;
		if (strcmp(t->line[mid]->question, question) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct cudnn_shared *cudnn_shared_find(const struct cudnn_table *t, const char *question)
{
	const int at = place_of(t, question);
	return at < t->n && strcmp(t->line[at]->question, question) == 0 ? t->line[at] : NULL;
}

struct cudnn_shared *cudnn_shared_add(struct cudnn_table *t, const char *question)
{
	struct cudnn_shared *s = cudnn_shared_find(t, question);
	if (s)
		return s;
	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 64;
		t->line = mem_realloc(t->line, sizeof *t->line * (size_t)t->cap);
	}
	const int at = place_of(t, question);
	memmove(t->line + at + 1, t->line + at, sizeof *t->line * (size_t)(t->n++ - at));
	s = t->line[at] = mem_calloc(1, sizeof *s);
	s->question = mem_strdup(question);
	return s;
}

void cudnn_shared_drop(struct cudnn_shared *s)
{
	cudnn_engine_release(&s->engine);
	cudnn_release(&s->graph);
}

void cudnn_shared_leave(struct cudnn_shared *s)
{
	if (s)
		s->users--;
}

void cudnn_table_trim(struct cudnn_table *t)
{
	for (int i = 0; i < t->n; i++)
		if (t->line[i]->users == 0)
			cudnn_shared_drop(t->line[i]);
}

void cudnn_table_release(struct cudnn_table *t)
{
	for (int i = 0; i < t->n; i++) {
		cudnn_shared_drop(t->line[i]);
		mem_free(t->line[i]->question);
		mem_free(t->line[i]);
	}
	mem_free(t->line);
}
