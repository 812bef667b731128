/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file_kind.h"
#include "base/mem.h"
#include "base/shown.h"
#include "base/suggest.h"

#define MOST_ROWS 64

struct cursor {
	const struct option_row *rows;
	void *to;
	int *command;
	int i, argc;
	char **argv;
};

static int unknown(const struct option_row *rows, const char *arg)
{
	const char *names[MOST_ROWS + 1] = { 0 };
	const int n = (int)strcspn(arg, "=");
	char name[64];
	for (int k = 0; rows[k].name && k < MOST_ROWS; k++)
		names[k] = rows[k].name;
	snprintf(name, sizeof name, "%.*s", n, arg);
	const char *near = did_you_mean(name + strspn(name, "-"), names);
	return ERR(E_USAGE, NULL, "unknown option '%.*s'%s%s%s; see --help", n, arg,
	           near ? "; did you mean '--" : "", near ? near : "", near ? "'?" : "");
}

static int store_int(const struct option_row *row, const char *value, int64_t *out)
{
	char *end;
	errno = 0;
	*out = strtoll(value, &end, 10);
	if (!*value || *end || errno || *out < row->min || *out > row->max)
		return ERR(E_USAGE, NULL, "option '--%s': '%s' is no whole number from %" PRId64
		           " to %" PRId64, row->name, value, row->min, row->max);
	return 0;
}

static int store_float(const struct option_row *row, const char *value, double *out)
{
	char *end;
	*out = strtod(value, &end);
	if (!*value || *end)
		return ERR(E_USAGE, NULL, "option '--%s': '%s' is no number", row->name, value);
	return 0;
}

/* arg: "text|json|dot" */
static int store_choice(const struct option_row *row, const char *value, const char **out)
{
	struct buf list = BUF_INIT;
	*out = value;
	for (const char *p = row->arg, *end; p; p = *end ? end + 1 : NULL) {
		end = p + strcspn(p, "|");
		if (strlen(value) == (size_t)(end - p) && strncmp(value, p, (size_t)(end - p)) == 0) {
			buf_release(&list);
			return 0;
		}
		buf_printf(&list, "%s%.*s", p == row->arg ? "" : *end ? ", " : " or ", (int)(end - p), p);
	}
	int rc = ERR(E_USAGE, NULL, "option '--%s': expected %s, not '%s'", row->name,
	             list.data, value);
	buf_release(&list);
	return rc;
}

/* Of several formats the very ending chooses one; of the only one it may be in capitals. */
static bool is_written(const char *endings, const char *path)
{
	const bool one = !strchr(endings, ' ');
	const size_t length = strlen(path);
	for (size_t n; *endings; endings += n + (endings[n] == ' ')) {
		const char *end = path + length - (n = strcspn(endings, " "));

		if (n < length && (one ? strncasecmp(end, endings, n) : strncmp(end, endings, n)) == 0)
			return true;
	}
	return false;
}

/* ".npy .npz .csv" as ".npy, .npz or .csv". */
static void put_endings(struct buf *out, const char *endings)
{
	for (const char *last = strrchr(endings, ' '); *endings; endings++) {
		if (*endings != ' ')
			buf_putc(out, *endings);
		else
			buf_puts(out, endings == last ? " or " : ", ");
	}
}

/* A name that promises a format in which nothing is written here. */
static int check_name(const struct option_row *row, const char *path)
{
	const char *kind = row->writes ? file_kind_named(path) : NULL;
	struct buf list = BUF_INIT;
	if (!kind || is_written(row->writes, path))
		return 0;
	if (*row->writes)
		buf_puts(&list, "a name that ends in ");
	put_endings(&list, row->writes);
	if (row->folder)
		buf_printf(&list, "%s%s", *row->writes ? ", or " : "", row->folder);
	int rc = ERR(E_USAGE, NULL, "option '--%s': '%s' is the name of %s, as which it is not "
	             "written; expected %s", row->name, shown(path), kind, list.data);
	buf_release(&list);
	return rc;
}

static int store(const struct option_row *row, const char *value, void *out)
{
	struct texts *list = out;
	switch (row->type) {
	case OPTION_NONE:
		return 0;
	case OPTION_FLAG:
		*(bool *)out = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)out = value;
		return 0;
	case OPTION_CHOICE:
		return store_choice(row, value, out);
	case OPTION_TEXTS:
		list->v = mem_realloc(list->v, ((size_t)list->n + 1) * sizeof *list->v);
		list->v[list->n++] = value;
		return 0;
	case OPTION_INT:
		return store_int(row, value, out);
	case OPTION_FLOAT:
		return store_float(row, value, out);
	}
	BUG("option '%s' has type %d", row->name, (int)row->type);
}

/* given: what follows '=' or the letter, or NULL. */
static int take(struct cursor *c, const struct option_row *row, const char *given)
{
	if (given && !row->arg)
		return ERR(E_USAGE, NULL, "option '--%s' takes no value", row->name);
	if (!given && row->arg && !row->absent) {
		if (c->i + 1 >= c->argc)
			return ERR(E_USAGE, NULL, "option '--%s' needs a value: %s", row->name, row->arg);
		given = c->argv[++c->i];
	}
	if (given && !*given && !row->empty)
		return ERR(E_USAGE, NULL, "option '--%s' has an empty value", row->name);
	if (row->command) {
		if (*c->command && *c->command != row->command)
			return ERR(E_USAGE, NULL, "'--%s' cannot be combined with another command", row->name);
		*c->command = row->command;
	}
	if (given)
		TRY(check_name(row, given));
	return store(row, given ? given : row->absent, (char *)c->to + row->at);
}

static int read_long(struct cursor *c)
{
	const char *name = c->argv[c->i] + 2;
	const size_t n = strcspn(name, "=");
	for (const struct option_row *r = c->rows; r->name; r++)
		if (strlen(r->name) == n && strncmp(r->name, name, n) == 0)
			return take(c, r, name[n] ? name + n + 1 : NULL);
	return unknown(c->rows, c->argv[c->i]);
}

static int read_short(struct cursor *c)
{
	const char *arg = c->argv[c->i];
	for (const struct option_row *r = c->rows; r->name; r++)
		if (r->letter && r->letter == arg[1])
			return take(c, r, arg[2] ? arg + 2 + (arg[2] == '=') : NULL);
	return unknown(c->rows, arg);
}

int option_read(const struct option_row *rows, void *to, int *command, int *argc, char **argv)
{
	struct cursor c = { rows, to, command, 1, *argc, argv };
	int kept = 1;
	for (; c.i < c.argc; c.i++) {
		const char *arg = argv[c.i];

		if (arg[0] != '-' || arg[1] == '\0') {
			argv[kept++] = argv[c.i];
			continue;
		}
		if (strcmp(arg, "--") == 0)
			break;
		TRY(arg[1] == '-' ? read_long(&c) : read_short(&c));
	}
	while (++c.i < c.argc)
		argv[kept++] = argv[c.i];
	*argc = kept;
	return 0;
}

void option_help(FILE *out, const struct option_row *rows)
{
	for (const struct option_row *r = rows; r->name; r++) {
		char left[96], letter[8] = "";

		if (r->letter)
			snprintf(letter, sizeof letter, "-%c, ", r->letter);
		snprintf(left, sizeof left, "%s--%s%s%s%s", letter, r->name,
		         r->absent ? "[=" : r->arg ? " " : "", r->arg ? r->arg : "", r->absent ? "]" : "");
		fprintf(out, "  %-34s %s\n", left, r->doc);
	}
}
