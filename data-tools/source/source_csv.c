/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables as text: a line of names, then a line of numbers for each sample. Each column is a
 * variable. The first line says what is between fields: a tab, else a semicolon, else a comma. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data-tools/source/source.h"

#define MOST_COLUMNS 65536
#define LONGEST 256            /* bytes of a number */

struct table {
	const char *path;
	struct buf text;
	const char *at;            /* what is read next */
	int line;                  /* from 1 */
	char between;
	int n;                     /* columns */
	char **name;
	int column;                /* that is wanted */
	double *value;
	int64_t rows, room;
};

static int bad(const struct table *t, int column, const char *what, const char *field)
{
	return ERR(E_DATA, NULL, "'%s', line %d, column %d%s%s%s: %s%s%s%s", t->path, t->line,
	           column + 1,
	           column < t->n ? " ('" : "", column < t->n ? shown(t->name[column]) : "",
	           column < t->n ? "')" : "", field ? "'" : "", field ? shown(field) : "",
	           field ? "' " : "", what);
}

/* The next field of the line, without quotes and blanks around it, into out; *last: it ends the
 * line. A quote in quotes is doubled. */
static int next_field(struct table *t, int column, struct buf *out, bool *last)
{
	const char *p = t->at;
	buf_clear(out);
	while (*p == ' ')
		p++;
	if (*p == '"') {
		for (p++; *p && (*p != '"' || p[1] == '"'); p++) {
			p += *p == '"';
			t->line += *p == '\n';
			buf_putc(out, *p);
		}
		if (!*p)
			return bad(t, column, "a quote that does not end", NULL);
		for (p++; *p == ' ' || *p == '\r';)
			p++;
		if (*p && *p != '\n' && *p != t->between)
			return bad(t, column, "something after a quote", NULL);
	} else {
		while (*p && *p != '\n' && *p != t->between)
			buf_putc(out, *p++);
		while (out->len && isspace((unsigned char)out->data[out->len - 1]))
			out->data[--out->len] = '\0';
	}
	*last = *p != t->between;
	t->at = *p ? p + 1 : p;
	return 0;
}

/* --- names --- */

static char find_between(const char *text)
{
	const size_t n = strcspn(text, "\n");
	return memchr(text, '\t', n) ? '\t' : memchr(text, ';', n) ? ';' : ',';
}

static int add_name(struct table *t, const char *name)
{
	char number[16];
	snprintf(number, sizeof number, "%d", t->n + 1);
	if (t->n == MOST_COLUMNS)
		return bad(t, t->n, "too many columns", NULL);
	t->name[t->n++] = mem_strdup(*name ? name : number);
	for (int i = 0; i < t->n - 1; i++)
		if (strcmp(t->name[i], t->name[t->n - 1]) == 0)
			return bad(t, t->n - 1, "is the name of an earlier column, too", t->name[i]);
	return 0;
}

static bool is_number(const char *text)
{
	char *end;
	strtod(text, &end);
	return end != text && !*end;
}

static int read_names(struct table *t)
{
	struct buf field = BUF_INIT;
	bool last = false, numbers = true;
	int rc = 0;
	t->name = mem_calloc(MOST_COLUMNS, sizeof *t->name);
	while (rc == 0 && !last) {
		rc = next_field(t, t->n, &field, &last);
		if (rc == 0) {
			numbers &= is_number(field.data ? field.data : "");
			rc = add_name(t, field.data ? field.data : "");
		}
	}
	buf_release(&field);
	if (rc == 0 && numbers)
		return ERR(E_DATA, NULL, "'%s': the first line of a table has the names of its columns, "
		           "and "
		           "this one has numbers: write a line of names in front", t->path);
	return rc;
}

/* --- numbers --- */

static bool is_missing(const char *text)
{
	static const char *const words[] = { "", "nan", "na", "n/a", "null", "none", "-", "?" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcasecmp(text, words[i]) == 0)
			return true;
	return false;
}

static int put_value(struct table *t, const char *text)
{
	if (t->rows == t->room) {
		t->room = t->room ? 2 * t->room : 1024;
		t->value = mem_realloc(t->value, (size_t)t->room * sizeof *t->value);
	}
	if (!is_missing(text) && (!is_number(text) || strlen(text) > LONGEST))
		return bad(t, t->column, "is no number (words as classes and decimal commas are not read: "
		           "number classes from 0)",
		           text);
	t->value[t->rows++] = is_missing(text) ? NAN : strtod(text, NULL);
	return 0;
}

static int read_row(struct table *t, struct buf *field)
{
	bool last = false;
	int column = 0;
	for (; !last; column++) {
		TRY(next_field(t, column, field, &last));
		if (column == t->column)
			TRY(put_value(t, field->data ? field->data : ""));
	}
	if (column == t->n)
		return 0;
	return ERR(E_DATA, NULL, "'%s', line %d: %d field%s in place of %d", t->path, t->line, column,
	           column == 1 ? "" : "s", t->n);
}

static int read_rows(struct table *t)
{
	struct buf field = BUF_INIT;
	int rc = 0;
	while (rc == 0 && *t->at) {
		t->line++;
		if (*t->at == '\n' || (*t->at == '\r' && t->at[1] == '\n'))
			t->at += 1 + (*t->at == '\r');
		else
			rc = read_row(t, &field);
	}
	buf_release(&field);
	return rc;
}

static int find_column(struct table *t, const char *variable)
{
	t->column = t->n == 1 && !variable ? 0 : -1;
	for (int i = 0; variable && i < t->n; i++)
		if (strcmp(t->name[i], variable) == 0)
			t->column = i;
	return t->column < 0 ? source_no_variable(t->path, variable, (const char *const *)t->name,
	                                          t->n) :
	       0;
}

static void close_csv(struct source *s)
{
	struct table *t = s->handle;
	for (int i = 0; t->name && i < t->n; i++)
		mem_free(t->name[i]);
	mem_free(t->name);
	mem_free(t->value);
	buf_release(&t->text);
	mem_free(t);
}

static int open_csv(struct source *s, const char *variable)
{
	struct table *t = mem_calloc(1, sizeof *t);
	s->handle = t;
	t->path = s->path;
	t->line = 1;
	TRY(io_read_file(s->path, &t->text));
	if (memchr(t->text.data, '\0', t->text.len))
		return ERR(E_DATA, NULL, "'%s' is no table: there is a zero byte in it", s->path);
	t->at = t->text.data + (strncmp(t->text.data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
	t->between = find_between(t->at);
	TRY(read_names(t));
	TRY(find_column(t, variable));
	TRY(read_rows(t));
	if (t->rows == 0)
		return ERR(E_DATA, NULL, "'%s' has names, but no line of numbers", s->path);
	s->name = mem_strdup(t->name[t->column]);
	s->dtype = DTYPE_F64;
	s->shape = shape_of(1, &t->rows);
	buf_release(&t->text);
	return 0;
}

static int read_csv(struct source *s, int64_t first, int64_t n, void *out)
{
	const struct table *t = s->handle;
	source_copy_rows(s, t->value, first, n, out);
	return 0;
}

static const char *const extensions[] = { ".csv", ".tsv", NULL };

const struct source_format source_csv = {
	"csv", extensions, open_csv, read_csv, close_csv, .rows = true, .whole = true,
};
