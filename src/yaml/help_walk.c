/* SPDX-License-Identifier: BSD-3-Clause */
#include "yaml/help_walk.h"

#include "base/err.h"

#define LISTS 64

struct walk {
	struct arena *a;
	void (*visit)(void *to, const char *path, const struct field *f, const struct variant *list);
	void *to;
	const struct field *seen[LISTS];   /* rows whose lists were visited */
	int n;
	/* Maps of names are visited last, so that lists which they share with other rows are visited
	 * there first. */
	struct later {
		const struct field *sub;
		const char *path;
	} later[LISTS];
	int nlater;
};

static bool is_new(struct walk *w, const struct field *f)
{
	for (int i = 0; i < w->n; i++)
		if (w->seen[i]->variants == f->variants && w->seen[i]->entries == f->entries)
			return false;
	BUG_IF(w->n == LISTS, "the config's tables have more than %d lists of types", LISTS);
	w->seen[w->n++] = f;
	return true;
}

static void walk(struct walk *w, const struct field *f, const char *above)
{
	for (; f && f->type != FT_END; f++) {
		const char *path = arena_printf(w->a, "%s%s", above, f->name);
		const struct variant *list = f->type == FT_SECTIONS ? NULL : field_variants(f, w->a);
		if (f->type == FT_SECTION)
			walk(w, f->sub, arena_printf(w->a, "%s.", path));
		if (f->type == FT_NODE && f->sub) {
			BUG_IF(w->nlater == LISTS, "the config's tables have more than %d maps", LISTS);
			w->later[w->nlater++] = (struct later){ f->sub, arena_printf(w->a, "%s.NAME.", path) };
		}
		if (!list || !is_new(w, f))
			continue;
		w->visit(w->to, path, f, list);
		for (const struct variant *v = list; v->name; v++)
			walk(w, v->fields, arena_printf(w->a, "%s.%s.", path, v->name));
	}
}

void help_walk(struct arena *a, const struct field *fields,
               void (*visit)(void *to, const char *path, const struct field *f,
                             const struct variant *list), void *to)
{
	struct walk w = { .a = a, .visit = visit, .to = to };
	walk(&w, fields, "");
	for (int i = 0; i < w.nlater; i++)
		walk(&w, w.later[i].sub, w.later[i].path);
}
