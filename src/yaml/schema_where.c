/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The config's tables searched level by level, so that 'epochs' is train.epochs and not
 * train.validate.epochs. */
#include "yaml/schema_where.h"

#include <stdio.h>
#include <string.h>

#define LEVELS 3
#define PLACES 3
#define PATH 96

static const struct field *root;

void schema_where_root(const struct field *fields)
{
	root = fields;
}

struct search {
	const char *key;
	int n;
	char place[PLACES][PATH];
};

static const struct field *find(const struct field *f, const char *key)
{
	for (; f && f->type != FT_END; f++)
		if (!strcmp(f->name, key))
			return f;
	return NULL;
}

/* Do at least half of the types have the key? */
static bool common(const struct variant *v, const char *key)
{
	int all = 0, have = 0;
	for (; v && v->name; v++, all++)
		have += find(v->fields, key) != NULL;
	return have > 0 && 2 * have >= all;
}

static void add(struct search *s, const char *path)
{
	if (s->n < PLACES)
		snprintf(s->place[s->n++], PATH, "%s%s", path, s->key);
}

/* Adds the places that are `down` levels below fields, whose path is path. */
static void look(struct search *s, const struct field *fields, const char *path, int down)
{
	char below[PATH];
	if (down == 0 && find(fields, s->key))
		add(s, path);
	for (const struct field *f = fields; f && f->type != FT_END && down > 0; f++) {
		snprintf(below, sizeof below - sizeof "NAME.", "%s%s.", path, f->name);
		if (f->type == FT_SECTION)
			look(s, f->sub, below, down - 1);
		else if (f->type == FT_NODE && f->sub)
			look(s, f->sub, strcat(below, "NAME."), down - 1);
		else if (f->type == FT_VARIANT && down == 1 && common(f->variants, s->key))
			add(s, below);
		else if (f->type == FT_VARIANT && down > 1)   /* sections that all types have */
			look(s, f->variants->fields, below, down - 1);
	}
}

bool schema_where_put(struct buf *out, const char *key)
{
	struct search s = { .key = key };
	for (int down = 0; key && down < LEVELS && s.n == 0; down++)
		look(&s, root, "", down);
	if (s.n == 0)
		return false;
	if (!strchr(s.place[0], '.')) {
		buf_printf(out, "; '%s' stands at the top of the config, in no section", s.place[0]);
		return true;
	}
	buf_puts(out, "; did you mean ");
	for (int i = 0; i < s.n; i++)
		buf_printf(out, "%s'%s'", i == 0 ? "" : i + 1 < s.n ? ", " : " or ", s.place[i]);
	buf_puts(out, "?");
	return true;
}
