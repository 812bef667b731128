/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The schema tables as mdoc(7) source: one tagged list, and a list inside an entry for what is
 * below it. Text is escaped so that no word of a table can be taken for a request. */
#include <string.h>

#include "yaml/help.h"
#include "yaml/help_type.h"

/* s with backslashes escaped, and a control character that would start a line disarmed. */
/* mdoc wants each sentence on a line of its own. */
static bool between_sentences(const char *s)
{
	return s[0] == ' ' && s[-1] == '.' && s[1] >= 'A' && s[1] <= 'Z';
}

static void add_text(struct buf *out, const char *s)
{
	const char *first = s;
	if (out->data[out->len - 1] == '\n' && (*s == '.' || *s == '\''))
		buf_puts(out, "\\&");
	for (; *s; s++) {
		if (*s == '\\')
			buf_puts(out, "\\e");
		else if (*s == '"')
			buf_puts(out, "\\(dq");
		else if (*s == '\n')
			buf_putc(out, ' ');
		else if (s > first && between_sentences(s))
			buf_putc(out, '\n');
		else
			buf_putc(out, *s);
	}
}

/* s as one argument of a macro; \& keeps it from being called as a macro itself. */
static void add_argument(struct buf *out, const char *s)
{
	buf_puts(out, "\"\\&");
	add_text(out, s);
	buf_putc(out, '"');
}

/* A sentence of its own line from a table's lower-case phrase. */
static void add_sentence(struct buf *out, const char *s)
{
	size_t start = out->len;
	if (!s || !*s)
		return;
	add_text(out, s);
	if (out->data[start] >= 'a' && out->data[start] <= 'z')
		out->data[start] = (char)(out->data[start] - 'a' + 'A');
	buf_puts(out, ".\n");
}

static void add_list(struct buf *out, const struct field *fields, bool named);

static void add_heading(struct buf *out, const struct field *f, const struct variant *v)
{
	struct buf text = BUF_INIT;
	help_heading(&text, f, v);
	buf_puts(out, ".It Cm ");
	add_argument(out, text.data);
	buf_putc(out, '\n');
	buf_release(&text);
}

static void add_presets(struct buf *out, const struct preset *p)
{
	if (!p)
		return;
	buf_puts(out, ".Bl -tag -width Ds\n");
	for (; p->name; p++) {
		buf_puts(out, ".It Cm variant : ");
		add_argument(out, p->name);
		buf_putc(out, '\n');
		add_sentence(out, p->doc);
	}
	buf_puts(out, ".El\n");
}

static void add_variants(struct buf *out, const struct field *f, const struct variant *v,
                         bool named)
{
	if (!v || !v->name)
		return;
	buf_puts(out, ".Bl -tag -width Ds\n");
	for (; v->name; v++) {
		add_heading(out, f, v);
		add_sentence(out, v->doc);
		add_presets(out, v->presets);
		if (v->fields && v->fields->type != FT_END)
			add_list(out, v->fields, named);
	}
	buf_puts(out, ".El\n");
}

static void add_row(struct buf *out, const struct field *f, bool named)
{
	const bool names = f->type == FT_NODE && f->sub;
	struct buf type = BUF_INIT;
	struct arena *a = arena_new();
	help_type(&type, f);
	buf_puts(out, ".It Cm ");
	add_argument(out, f->name);
	buf_putc(out, '\n');
	add_sentence(out, f->doc);
	add_sentence(out, type.data);
	buf_release(&type);
	if (names)
		buf_puts(out, ".Bl -tag -width Ds\n.It Ar NAME\n");
	if (f->sub && f->sub->type != FT_END)
		add_list(out, f->sub, named || names);
	if (names)
		buf_puts(out, ".El\n");
	if (help_lists(f, named))
		add_variants(out, f, field_variants(f, a), named);
	arena_free(a);
}

static void add_list(struct buf *out, const struct field *fields, bool named)
{
	buf_puts(out, ".Bl -tag -width Ds\n");
	for (const struct field *f = fields; f->type != FT_END; f++)
		add_row(out, f, named);
	buf_puts(out, ".El\n");
}

void help_mdoc(struct buf *out, const struct field *fields)
{
	add_list(out, fields, false);
}
