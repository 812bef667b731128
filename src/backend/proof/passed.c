/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A list that is empty on nearly every machine. */
#include "backend/proof/passed.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

struct entry {
	struct passed passed;
	atomic_bool met;
};

static struct {
	struct entry **entry;        /* which do not move */
	int n, cap;
} list;

static struct entry *find(uint64_t problem, const char *impl)
{
	for (int i = 0; i < list.n; i++) {
		const struct passed *p = &list.entry[i]->passed;
		if (p->problem == problem && strcmp(p->impl, impl) == 0)
			return list.entry[i];
	}
	return NULL;
}

void passed_add(const struct passed *p)
{
	if (find(p->problem, p->impl))
		return;
	if (list.n == list.cap) {
		list.cap = list.cap ? 2 * list.cap : 16;
		list.entry = mem_realloc(list.entry, sizeof(struct entry *) * (size_t)list.cap);
	}
	struct entry *e = list.entry[list.n++] = mem_calloc(1, sizeof *e);
	e->passed = (struct passed){ p->problem, str_intern(p->impl), str_intern(p->fault),
		str_intern(p->text) };
}

bool passed_over(uint64_t problem, const char *impl)
{
	struct entry *e = list.n ? find(problem, impl) : NULL;
	if (e)
		atomic_store(&e->met, true);
	return e != NULL;
}

int passed_of(uint64_t problem)
{
	int n = 0;
	for (int i = 0; i < list.n; i++)
		n += list.entry[i]->passed.problem == problem;
	return n;
}

int passed_count(void)
{
	return list.n;
}

const struct passed *passed_at(int i)
{
	return &list.entry[i]->passed;
}

bool passed_met(int i)
{
	return atomic_load(&list.entry[i]->met);
}

static int by_text(const void *a, const void *b)
{
	const struct passed *const *p = a, *const *q = b;
	const int order = strcmp((*p)->text, (*q)->text);
	return order ? order : strcmp((*p)->impl, (*q)->impl);
}

void passed_list(struct buf *out, const char *between)
{
	const struct passed **met = mem_calloc((size_t)list.n + 1, sizeof *met);
	int n = 0;
	for (int i = 0; i < list.n; i++)
		if (passed_met(i))
			met[n++] = passed_at(i);
	qsort(met, (size_t)n, sizeof *met, by_text);
	for (int i = 0; i < n; i++)
		buf_printf(out, "%s%s: %s, %s", i ? between : "", met[i]->text, met[i]->impl,
		           met[i]->fault);
	mem_free(met);
}
