/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schema tables as indented text. A table's rows are aligned in three columns (name, what it
 * takes and its default, meaning); what is below a row (a section's keys, a variant's types
 * and their keys) follows it, indented. */
#include "yaml/help.h"

#include <string.h>

#include "base/err.h"
#include "base/suggest.h"
#include "yaml/help_type.h"
#include "yaml/help_walk.h"
#include "yaml/schema_where.h"
#include "yaml/synonym.h"

#define NAME_MAX_ 24
#define TYPE_MAX_ 44

/* Spaces up to column `to` of the line that began at byte `line`; a new line first if that is
 * passed. */
static void pad(struct buf *out, size_t *line, size_t to)
{
	if (out->len - *line >= to) {
		buf_putc(out, '\n');
		*line = out->len;
	}
	while (out->len - *line < to)
		buf_putc(out, ' ');
}

static size_t longest_name(const struct field *f)
{
	size_t longest = 0;
	for (; f->type != FT_END; f++) {
		size_t n = strlen(f->name);
		if (n > longest && n <= NAME_MAX_)
			longest = n;
	}
	return longest;
}

static size_t longest_type(const struct field *f)
{
	size_t longest = 0;
	for (; f->type != FT_END; f++) {
		struct buf b = BUF_INIT;
		help_type(&b, f);
		if (b.len > longest && b.len <= TYPE_MAX_)
			longest = b.len;
		buf_release(&b);
	}
	return longest;
}

static void add_table(struct buf *out, const struct field *fields, int indent, bool named);

/* Lists the variants below row f, from v on. named: as help_lists has it. */
static void add_variants(struct buf *out, const struct field *f, const struct variant *v,
                         int indent, bool named)
{
	for (; v && v->name; v++) {
		buf_printf(out, "%*s", indent, "");
		help_heading(out, f, v);
		if (v->doc)
			buf_printf(out, "  (%s)", v->doc);
		buf_putc(out, '\n');
		for (const struct preset *p = v->presets; p && p->name; p++)
			buf_printf(out, "%*svariant: %s  %s\n", indent + 4, "", p->name, p->doc);
		if (v->fields)
			add_table(out, v->fields, indent + 4, named);
	}
}

static void add_row(struct buf *out, const struct field *f, int indent, bool named,
                    size_t name_end, size_t type_end)
{
	const bool names = f->type == FT_NODE && f->sub;
	size_t line = out->len;
	struct arena *a = arena_new();
	buf_printf(out, "%*s%s", indent, "", f->name);
	pad(out, &line, name_end);
	help_type(out, f);
	pad(out, &line, type_end);
	buf_printf(out, "%s\n", f->doc ? f->doc : "");
	if (names)
		buf_printf(out, "%*sNAME\n", indent + 4, "");
	if (f->sub)
		add_table(out, f->sub, indent + (names ? 8 : 4), named || names);
	add_variants(out, f, help_lists(f, named) ? field_variants(f, a) : NULL, indent + 4, named);
	arena_free(a);
}

static void add_table(struct buf *out, const struct field *fields, int indent, bool named)
{
	size_t name_end = (size_t)indent + longest_name(fields) + 2;
	size_t type_end = name_end + longest_type(fields) + 2;
	for (const struct field *f = fields; f->type != FT_END; f++)
		add_row(out, f, indent, named, name_end, type_end);
}

/* The end of a path: a table's row, or a variant of the row before. */
struct at {
	struct arena *arena;               /* for lists of entries */
	const struct field *fields;        /* where the next word is looked up; NULL: nothing below */
	const struct variant *variants;    /* types or entries to look it up among first, or NULL */
	const struct field *row;           /* the row found last */
	const struct variant *variant;     /* the variant found last, below row */
	const struct variant *among;       /* the variants that may have row,
	                                    * if none of them was named */
	const char *list;                  /* the path of the row whose variant was found by its name
	                                    * alone, or NULL */
	bool names;                        /* the key that names a variant: "model.family" */
};

static const struct field *find_row(const struct field *f, const char *name)
{
	for (; f && f->type != FT_END; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

static void enter(struct at *at, const struct field *f, const struct variant *among)
{
	*at = (struct at){ .arena = at->arena, .fields = f->sub,
	                   .variants = field_variants(f, at->arena), .row = f, .among = among };
}

static bool step(struct at *at, const char *word, struct hint *near)
{
	if (at->variants && at->row->type == FT_VARIANT &&
	    !strcmp(word, variant_key(at->variants))) {
		*at = (struct at){ .arena = at->arena, .row = at->row, .names = true };
		return true;
	}
	if (at->row && at->row->type == FT_NODE && at->fields == at->row->sub && at->fields &&
	    strcmp(word, "NAME") == 0)
		return true;
	for (const struct variant *v = at->variants; v && v->name; v++) {
		hint_offer(near, v->name);
		if (!strcmp(v->name, word)) {
			*at = (struct at){ .arena = at->arena, .fields = v->fields, .row = at->row,
				.variant = v };
			return true;
		}
	}
	for (const struct field *f = at->fields; f && f->type != FT_END; f++) {
		hint_offer(near, f->name);
		if (!strcmp(f->name, word)) {
			enter(at, f, NULL);
			return true;
		}
	}
	for (const struct variant *v = at->variants; v && v->name; v++) {
		for (const struct field *f = v->fields; f && f->type != FT_END; f++)
			hint_offer(near, f->name);
		if (find_row(v->fields, word)) {
			enter(at, find_row(v->fields, word), at->variants);
			return true;
		}
	}
	return false;
}

/* The places where a word that is no top-level key was found. */
#define PLACES 16
struct places {
	struct arena *arena;
	const char *word;
	const char *path[PLACES], *list[PLACES];     /* paths of the variants with this name, and of the
	                                              * rows that list them */
	int n;
	struct buf owners;                           /* text: the variants that have a key of this
	                                              * name */
	struct hint near;                            /* among the names of variants */
};

static void look(void *to, const char *path, const struct field *f, const struct variant *list)
{
	struct places *p = to;
	const char *key = variant_key(list);
	bool found = f->type == FT_VARIANT && strcmp(key, "type") != 0 && !strcmp(key, p->word);
	for (const struct variant *v = list; v->name; v++) {
		hint_offer(&p->near, v->name);
		found |= !strcmp(v->name, p->word);
		if (find_row(v->fields, p->word))
			buf_printf(&p->owners, "%s%s", p->owners.len ? ", " : "", v->name);
	}
	if (!found || p->n == PLACES)
		return;
	p->list[p->n] = path;
	p->path[p->n++] = arena_printf(p->arena, "%s.%s", path, p->word);
}

/* Raises the error for a word that is no key below the path, with the nearest key there, or where
 * else it is a key. p: the places of the first word. */
static int no_key(const char *whole, int path, const struct hint *near, const struct places *p)
{
	struct buf text = BUF_INIT;
	const char *name = hint_name(near);
	int rc;
	if (name)
		buf_printf(&text, "; did you mean '%.*s%s'?", path, whole, name);
	else if (schema_where_put(&text, near->near.word))
		;
	else if (p && p->owners.len)
		buf_printf(&text, "; it is a key of: %s (--help-config=%.*s.%s)", p->owners.data,
		           (int)strcspn(p->owners.data, ","), p->owners.data, near->near.word);
	else if (!hint_put(&text, p && hint_name(&p->near) ? &p->near : near))
		schema_where_put(&text, hint_elsewhere(near));
	rc = ERR(E_USAGE, NULL, "there is no config key '%s'%s", whole, text.data);
	buf_release(&text);
	return rc;
}

/* path: below fields. */
static int follow(struct at *at, const struct field *fields, const char *path,
                  const struct places *p)
{
	char *key = arena_strdup(at->arena, path);
	*at = (struct at){ .arena = at->arena, .fields = fields };
	for (char *word = key, *dot; word; word = dot) {
		struct hint near;
		dot = strchr(word, '.');
		if (dot)
			*dot++ = '\0';
		hint_begin(&near, word);
		if (!step(at, word, &near))
			return no_key(path, (int)(word - key), &near, word == key ? p : NULL);
	}
	return 0;
}

/* The row of the key in each variant that has one. Neighbouring variants with the same text share
 * one entry. */
static void add_among(struct buf *out, const struct at *at)
{
	const struct variant *v = at->among;
	struct buf last = BUF_INIT, names = BUF_INIT, text = BUF_INIT;
	for (bool end = false; !end; v++) {
		const struct field *f = v->name ? find_row(v->fields, at->row->name) : NULL;
		end = !v->name;
		buf_clear(&text);
		if (f)
			add_table(&text, (struct field[]){ *f, FIELD_END }, 4, false);
		if (last.len && (end || (f && strcmp(last.data, text.data) != 0))) {
			buf_printf(out, "%s: %s\n%s", variant_key(at->among), names.data, last.data);
			buf_clear(&names);
		}
		if (!f)
			continue;
		buf_printf(&names, "%s%s", names.len ? ", " : "", v->name);
		buf_clear(&last);
		buf_puts(&last, text.data);
	}
	buf_release(&last);
	buf_release(&names);
	buf_release(&text);
}

/* The row with the names of its variants, one a line. */
static void add_names(struct buf *out, const struct field *f)
{
	buf_printf(out, "%s  %s\n", f->name, f->doc ? f->doc : "");
	for (const struct variant *v = f->variants; v->name; v++) {
		buf_puts(out, "    ");
		help_heading(out, f, v);
		buf_printf(out, v->doc ? "  (%s)\n" : "\n", v->doc);
	}
}

static void add_part(struct buf *out, const struct at *at)
{
	if (at->among) {
		add_among(out, at);
	} else if (at->names) {
		add_names(out, at->row);
	} else if (at->variant) {
		struct variant one[2] = { *at->variant, { 0 } };
		buf_printf(out, "%s:\n", at->list ? at->list : at->row->name);
		add_variants(out, at->row, one, 4, false);
	} else {
		struct field one[2] = { *at->row, FIELD_END };
		add_table(out, one, 0, false);
	}
}

/* Appends the help of key: below the top-level key that is its first word, or below each place
 * where that word was found. */
static int add_key(struct buf *out, const struct field *fields, const char *key,
                   struct places *p)
{
	struct at at = { .arena = p->arena };
	const char *rest = key + strlen(p->word);
	hint_begin(&p->near, p->word);
	if (!find_row(fields, p->word))
		help_walk(p->arena, fields, look, p);
	for (int i = 0; i < p->n; i++) {
		TRY(follow(&at, fields, arena_printf(p->arena, "%s%s", p->path[i], rest), NULL));
		at.list = p->list[i];
		add_part(out, &at);
	}
	if (p->n == 0) {
		TRY(follow(&at, fields, key, p));
		add_part(out, &at);
	}
	return 0;
}

int help_text(struct buf *out, const struct field *fields, const char *key)
{
	struct places p = { .arena = arena_new(), .owners = BUF_INIT };
	int rc = 0;
	if (key) {
		p.word = arena_printf(p.arena, "%.*s", (int)strcspn(key, "."), key);
		rc = add_key(out, fields, key, &p);
	} else {
		add_table(out, fields, 0, false);
	}
	buf_release(&p.owners);
	arena_free(p.arena);
	return rc;
}
