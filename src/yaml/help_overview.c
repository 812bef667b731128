/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A page on what a config may contain: its sections with their keys or types, and the entries of
 * its lists, by name alone. */
#include <string.h>

#include "yaml/help.h"
#include "yaml/help_walk.h"

#define WIDTH 80
#define NAMES 12               /* the column that names begin in */

/* The next name of a list, after a comma, on a new line where this one is full. */
static void add_name(struct buf *out, size_t *line, bool first, const char *name)
{
	buf_puts(out, first ? "" : ",");
	if (out->len - *line + strlen(name) + 2 > WIDTH) {
		buf_putc(out, '\n');
		*line = out->len;
		buf_printf(out, "%*s", NAMES, "");
	} else if (!first) {
		buf_putc(out, ' ');
	}
	buf_puts(out, name);
}

static void add_variant_names(struct buf *out, const struct variant *v)
{
	size_t line = out->len;
	buf_printf(out, "%*s", NAMES, "");
	for (bool first = true; v->name; v++, first = false)
		add_name(out, &line, first, v->name);
	buf_putc(out, '\n');
}

static void add_keys(struct buf *out, const struct field *f)
{
	size_t line = out->len;
	buf_printf(out, "%*s", NAMES, "");
	for (bool first = true; f->type != FT_END; f++, first = false)
		add_name(out, &line, first, f->name);
	buf_putc(out, '\n');
}

/* A row's meaning, which goes into details after a colon or a semicolon. */
static void add_row(struct buf *out, const struct field *f)
{
	const char *doc = f->doc ? f->doc : "";
	buf_printf(out, "%-*s%.*s\n", NAMES, f->name, (int)strcspn(doc, ":;"), doc);
	if (f->type == FT_SECTION)
		add_keys(out, f->sub);
	else if (f->type == FT_VARIANT)
		add_variant_names(out, f->variants);
}

static void add_list(void *to, const char *path, const struct field *f, const struct variant *list)
{
	if (f->type != FT_NODE)
		return;
	buf_printf(to, "\nentries of %s:\n", path);
	add_variant_names(to, list);
}

void help_overview(struct buf *out, const struct field *fields)
{
	struct arena *a = arena_new();
	for (const struct field *f = fields; f->type != FT_END; f++)
		add_row(out, f);
	help_walk(a, fields, add_list, out);
	arena_free(a);
}
