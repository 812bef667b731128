/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The error record as the user sees it: the place, the text, the line with a caret, the context.
 * Lines come from texts kept by err_source_add, else from the file itself. A line is shown as
 * cells, one for each character; a tab becomes blanks up to the next multiple of TAB, so that line
 * and caret agree on any terminal, and what a terminal might obey becomes '?'. A long line is
 * shown from a little before the caret. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/shown.h"
#include "base/utf8.h"

#define TAB 8
#define WIDTH 120       /* cells shown of a line */
#define BEFORE 40       /* of these cells, how many are before the caret in a shortened line */

struct source {
	struct source *next;
	const char *file;
	char *text;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct source *sources;

void err_source_add(const char *file, const char *text)
{
	const char *name = str_intern(file);
	struct source *s;
	pthread_mutex_lock(&lock);
	for (s = sources; s && s->file != name; s = s->next)
		;
	if (!s) {
		s = mem_calloc(1, sizeof *s);
		s->file = name;
		s->next = sources;
		sources = s;
	}
	mem_free(s->text);
	s->text = mem_strdup(text);
	pthread_mutex_unlock(&lock);
}

/* Appends line number `wanted` of a kept text; false if the text or the line is not there. */
static bool line_of_source(const char *file, int wanted, struct buf *out)
{
	bool found = false;
	pthread_mutex_lock(&lock);
	for (const struct source *s = sources; s; s = s->next) {
		const char *p = s->text;
		if (strcmp(s->file, file) != 0)
			continue;
		for (int line = 1; p && line < wanted; line++) {
			p = strchr(p, '\n');
			if (p)
				p++;
		}
		if (p) {
			buf_add(out, p, strcspn(p, "\r\n"));
			found = true;
		}
		break;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

static bool line_of_file(const char *file, int wanted, struct buf *out)
{
	FILE *f = io_is_regular(file) ? fopen(file, "r") : NULL;   /* a pipe has been read */
	char *line = NULL;
	size_t room = 0;
	bool found = false;
	if (!f)
		return false;
	for (int i = 1; i <= wanted && getline(&line, &room, f) >= 0; i++)
		found = i == wanted;
	if (found)
		buf_add(out, line, strcspn(line, "\r\n"));
	free(line);
	fclose(f);
	return found;
}

/* Cells of the character at s, which is in cell `at`. */
static int cells(const char *s, int at)
{
	return *s == '\t' ? TAB - at % TAB : 1;
}

/* The cell in which character number col (from 1) starts. Past the end: the cell after the last. */
static int cell_of(const char *line, int col)
{
	int at = 0;
	for (int i = 1; i < col && *line; i++) {
		int n = utf8_length(line);
		at += cells(line, at);
		line += n ? n : 1;
	}
	return at;
}

/* The cells from..to-1 of the line. */
static void add_cells(struct buf *out, const char *line, int from, int to)
{
	int at = 0;
	while (*line && at < to) {
		int n = utf8_length(line), end = at + cells(line, at);
		bool plain = utf8_visible(line, n);
		for (; at < end; at++) {
			if (at < from || at >= to)
				continue;
			if (*line == '\t')
				buf_putc(out, ' ');
			else if (plain)
				buf_add(out, line, (size_t)n);
			else
				buf_putc(out, '?');
		}
		line += n ? n : 1;
	}
}

static void add_excerpt(struct buf *out, const struct loc *loc, const char *line)
{
	int end = cell_of(line, INT32_MAX);
	int caret = cell_of(line, loc->col), last, from = 0;
	int digits = snprintf(NULL, 0, "%d", loc->line), gutter = digits > 4 ? digits : 4;
	if (end > WIDTH && caret > BEFORE)
		from = caret - BEFORE;
	buf_printf(out, "%*d | ", gutter, loc->line);
	add_cells(out, line, from, from + WIDTH);
	while (out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
	buf_putc(out, '\n');
	if (loc->col <= 0)
		return;
	last = loc->len > 1 && loc->len < INT32_MAX - loc->col ? cell_of(line, loc->col + loc->len)
	                                                       : caret + 1;
	if (last > from + WIDTH)
		last = from + WIDTH;
	buf_printf(out, "%*s | %*s^", gutter, "", caret - from, "");
	for (int i = caret + 1; i < last; i++)
		buf_putc(out, '~');
	buf_putc(out, '\n');
}

static void add_entry(struct buf *out, const struct err_entry *e, const char *program)
{
	const struct loc *loc = &e->loc;
	struct buf line = BUF_INIT;
	buf_printf(out, "%s: ", program);
	if (loc->file) {
		buf_shown(out, loc->file);
		if (loc->line > 0)
			buf_printf(out, ":%d", loc->line);
		if (loc->line > 0 && loc->col > 0)
			buf_printf(out, ":%d", loc->col);
		buf_puts(out, ": ");
	}
	buf_shown(out, e->text);
	if (e->code == E_BUG)
		buf_printf(out, " [%s:%d]", e->src_file, e->src_line);
	buf_putc(out, '\n');
	if (loc->file && loc->line > 0 &&
	    (line_of_source(loc->file, loc->line, &line) || line_of_file(loc->file, loc->line, &line)))
		add_excerpt(out, loc, line.data);
	for (int i = 0; i < e->ncontext; i++) {
		buf_puts(out, "    ");
		buf_shown(out, e->context[i]);
		buf_putc(out, '\n');
	}
	buf_release(&line);
}

/* Whether a is to be shown before b: places first, by file, line and column. */
static bool before(const struct err_entry *a, const struct err_entry *b)
{
	int c;
	if (!a->loc.file || !b->loc.file)
		return a->loc.file && !b->loc.file;
	c = strcmp(a->loc.file, b->loc.file);
	if (c)
		return c < 0;
	if (a->loc.line != b->loc.line)
		return a->loc.line < b->loc.line;
	return a->loc.col < b->loc.col;
}

void err_print(FILE *out, const char *program)
{
	const struct err_entry *sorted[ERR_MAX];
	struct buf b = BUF_INIT;
	struct err_record r;
	int more;
	err_take(&r);
	for (int i = 0; i < r.n; i++) {   /* insertion keeps the order of equals */
		int k = i;
		for (; k > 0 && before(&r.entry[i], sorted[k - 1]); k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = &r.entry[i];
	}
	for (int i = 0; i < r.n; i++)
		add_entry(&b, sorted[i], program);
	more = r.total - r.n;
	if (more > 0)
		buf_printf(&b, "%s: ... and %d more\n", program, more);
	fwrite(b.data, 1, b.len, out);
	fflush(out);
	buf_release(&b);
	err_give(&r);
}
