/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the command line by a table of options. "--name value", "--name=value", "-o value" and
 * "-ovalue" are accepted; "--" ends the options; a lone "-" is an argument. */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/suggest.h"

struct cursor {
	int i, argc;
	char **argv;
};

static int unknown(const struct option_row *rows, const char *arg, int n)
{
	const char *names[64], *guess;
	char *name = mem_strdup(arg);
	int k = 0, rc;

	name[n] = '\0';
	for (; rows[k].name && k < 63; k++)
		names[k] = rows[k].name;
	names[k] = NULL;
	guess = did_you_mean(name, names);
	rc = ERR(E_USAGE, NULL, "unknown option '--%s'%s%s%s", name, guess ? "; did you mean '--" : "",
	         guess ? guess : "", guess ? "'?" : "");
	mem_free(name);
	return rc;
}

static int store_int(const struct option_row *row, const char *value)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(value, &end, 10);
	if (!*value || *end || errno || v < row->min || v > row->max)
		return ERR(E_USAGE, NULL, "--%s: '%s' is no whole number from %lld to %lld", row->name,
		           value, row->min, row->max);
	*(int64_t *)row->out = v;
	return 0;
}

static int store_float(const struct option_row *row, const char *value)
{
	char *end;
	const double v = strtod(value, &end);

	if (!*value || *end)
		return ERR(E_USAGE, NULL, "--%s: '%s' is no number", row->name, value);
	*(double *)row->out = v;
	return 0;
}

static int store(const struct option_row *row, const char *value)
{
	struct texts *list = row->out;

	switch (row->type) {
	case OPTION_FLAG:
		*(bool *)row->out = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)row->out = value;
		return 0;
	case OPTION_TEXTS:
		list->v = mem_realloc(list->v, ((size_t)list->n + 1) * sizeof(*list->v));
		list->v[list->n++] = value;
		return 0;
	case OPTION_INT:
		return store_int(row, value);
	case OPTION_FLOAT:
		return store_float(row, value);
	}
	BUG("option '%s' has type %d", row->name, (int)row->type);
}

/* inline_value: what stands behind '=' or the letter, or NULL. */
static int take(struct cursor *c, const struct option_row *row, const char *inline_value)
{
	if (row->type == OPTION_FLAG) {
		if (inline_value)
			return ERR(E_USAGE, NULL, "--%s takes no value", row->name);
		return store(row, NULL);
	}
	if (!inline_value) {
		if (c->i + 1 >= c->argc)
			return ERR(E_USAGE, NULL, "--%s needs a value: %s", row->name, row->arg);
		inline_value = c->argv[++c->i];
	}
	return store(row, inline_value);
}

static int read_long(const struct option_row *rows, struct cursor *c)
{
	const char *name = c->argv[c->i] + 2, *eq = strchr(name, '=');
	const size_t n = eq ? (size_t)(eq - name) : strlen(name);

	for (const struct option_row *r = rows; r->name; r++)
		if (strlen(r->name) == n && strncmp(r->name, name, n) == 0)
			return take(c, r, eq ? eq + 1 : NULL);
	return unknown(rows, name, (int)n);
}

static int read_short(const struct option_row *rows, struct cursor *c)
{
	const char *arg = c->argv[c->i];

	for (const struct option_row *r = rows; r->name; r++)
		if (r->letter && r->letter == arg[1])
			return take(c, r, arg[2] ? arg + 2 : NULL);
	return ERR(E_USAGE, NULL, "unknown option '-%c'", arg[1]);
}

int options_read(const struct option_row *rows, int *argc, char **argv)
{
	struct cursor c = {1, *argc, argv};
	int kept = 1;

	for (; c.i < c.argc; c.i++) {
		const char *arg = argv[c.i];

		if (arg[0] != '-' || arg[1] == '\0') {
			argv[kept++] = argv[c.i];
			continue;
		}
		if (strcmp(arg, "--") == 0)
			break;
		TRY(arg[1] == '-' ? read_long(rows, &c) : read_short(rows, &c));
	}
	while (++c.i < c.argc)
		argv[kept++] = argv[c.i];
	*argc = kept;
	return 0;
}

void options_help(const char *usage, const struct option_row *rows)
{
	printf("%s\n\n", usage);
	for (const struct option_row *r = rows; r->name; r++) {
		char left[64], letter[8] = "";

		if (r->letter)
			snprintf(letter, sizeof(letter), "-%c, ", r->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, r->name, r->arg ? " " : "",
		         r->arg ? r->arg : "");
		printf("  %-26s %s%s\n", left, strlen(left) > 26 ? "\n                             " : "",
		       r->doc);
	}
}

int split_commas(const char *s, const char ***v)
{
	const size_t len = strlen(s);
	int n = 1, k = 0;
	char *text;

	for (const char *p = s; *p; p++)
		n += *p == ',';
	*v = mem_alloc((size_t)n * sizeof(**v) + len + 1);
	text = (char *)(*v + n);
	memcpy(text, s, len + 1);
	if (len == 0)
		return 0;
	(*v)[k++] = text;
	for (char *p = text; *p; p++) {
		if (*p != ',')
			continue;
		*p = '\0';
		(*v)[k++] = p + 1;
	}
	return k;
}
