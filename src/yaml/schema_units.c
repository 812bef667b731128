/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sizes and times by tables of units, and the expansion of paths. */
#include "yaml/schema_units.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/suggest.h"

struct unit {
	const char *name;
	double factor;
};

static const struct unit byte_units[] = {
	{ "", 1 }, { "B", 1 },
	{ "KB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 }, { "TB", 1e12 }, { "PB", 1e15 },
	{ "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 }, { "TiB", 0x1p40 }, { "PiB", 0x1p50 },
	{ NULL, 0 }
};

static const struct unit time_units[] = {
	{ "", 1 }, { "ms", 1e-3 }, { "s", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 },
	{ "d", 86400 }, { NULL, 0 }
};

static const struct unit time_keys[] = {
	{ "seconds", 1 }, { "minutes", 60 }, { "hours", 3600 }, { "days", 86400 }, { NULL, 0 }
};

/* A number, perhaps a blank, a unit. A sign is no part of a size or a time. */
static bool with_unit(const char *text, const struct unit *u, double *v)
{
	struct ynode n = { .kind = Y_SCALAR };
	char digits[64];
	size_t len = strspn(text, "0123456789.");
	if (strchr("eE", text[len]) && text[len]) {   /* 1e6: an exponent belongs to the number */
		size_t more = len + 1 + (text[len + 1] == '+' || text[len + 1] == '-');
		if (isdigit((unsigned char)text[more]))
			len = more + strspn(text + more, "0123456789");
	}
	if (len == 0 || len >= sizeof digits)
		return false;
	memcpy(digits, text, len);
	digits[len] = '\0';
	n.text = digits;
	if (!y_float(&n, v))
		return false;
	text += len;
	text += *text == ' ';
	while (u->name && strcmp(u->name, text) != 0)
		u++;
	*v *= u->factor;
	return u->name && isfinite(*v);
}

bool units_bytes(const char *text, double *bytes)
{
	return with_unit(text, byte_units, bytes);
}

bool units_seconds(const char *text, double *seconds)
{
	return with_unit(text, time_units, seconds);
}

static int bad_time_key(const char *name, const struct ypair *p)
{
	struct suggest near = { .word = p->key };
	for (const struct unit *u = time_keys; u->name; u++)
		suggest_offer(&near, u->name);
	if (near.best)
		return ERR(E_CONFIG, &p->key_loc, "unknown key '%s' in '%s'; did you mean '%s'?", p->key,
		           name, near.best);
	return ERR(E_CONFIG, &p->key_loc,
	           "unknown key '%s' in '%s', which takes seconds, minutes, hours, days", p->key, name);
}

int units_seconds_map(const char *name, const struct ynode *map, double *seconds)
{
	int rc = 0;
	*seconds = 0;
	for (int i = 0; i < map->n; i++) {
		const struct ypair *p = &map->pair[i];
		const struct unit *u = time_keys;
		double v;
		while (u->name && strcmp(u->name, p->key) != 0)
			u++;
		if (!u->name)
			rc = bad_time_key(name, p);
		else if (!y_float(p->value, &v) || !isfinite(v) || v < 0)
			rc = ERR(E_CONFIG, &p->value->loc, "'%s' must be a number of at least 0", p->key);
		else
			*seconds += v * u->factor;
	}
	return rc;
}

/* The place of byte `at` of n's text, len long; n itself where text and place do not run in
 * parallel. */
static struct loc part_of(const struct ynode *n, size_t at, size_t len)
{
	struct loc loc = n->loc;
	size_t plain = strlen(n->text);
	if (loc.len == (int)plain + 2 * n->quoted && loc.col > 0) {
		loc.col += (int)at + n->quoted;
		loc.len = (int)len;
	}
	return loc;
}

/* Appends the variable that starts at text[at] == '$'; sets *next to what follows it. */
static int add_variable(struct arena *a, const struct ynode *n, size_t at, struct buf *out,
                        size_t *next)
{
	const char *s = n->text + at + 1, *value;
	bool braces = *s == '{';
	size_t len = 0, total;
	struct loc loc;
	char *name;
	s += braces;
	while (isalnum((unsigned char)s[len]) || s[len] == '_')
		len++;
	total = 1 + len + 2 * (size_t)braces;
	loc = part_of(n, at, total);
	if (len == 0 || (braces && s[len] != '}'))
		return ERR(E_CONFIG, &loc,
		           "no variable's name after '$' in a path (write '$$' for a '$' itself)");
	name = arena_copy(a, s, len + 1);
	name[len] = '\0';
	value = getenv(name);
	if (!value)
		return ERR(E_CONFIG, &loc, "the environment variable '%s' is not set", name);
	buf_puts(out, value);
	*next = at + total;
	return 0;
}

/* ~ is replaced last, so that a path written out expanded means the same when read again. */
static int expand_home(const struct ynode *n, struct buf *path)
{
	struct buf whole = BUF_INIT;
	struct loc loc = part_of(n, 0, 1);
	const char *home = getenv("HOME");
	if (path->data[0] != '~' || (path->data[1] != '/' && path->data[1] != '\0'))
		return 0;
	if (!home)
		return ERR(E_CONFIG, &loc, "'~' in a path, but the environment variable 'HOME' is not set");
	buf_printf(&whole, "%s%s", home, path->data + 1);
	buf_release(path);
	*path = whole;
	return 0;
}

int path_expand(struct arena *a, const struct ynode *n, const char **out)
{
	struct buf path = BUF_INIT;
	int rc = 0;
	for (size_t i = 0; n->text[i] && rc == 0;) {
		if (n->text[i] != '$') {
			buf_putc(&path, n->text[i++]);
		} else if (n->text[i + 1] == '$') {
			buf_putc(&path, '$');
			i += 2;
		} else {
			rc = add_variable(a, n, i, &path, &i);
		}
	}
	if (rc == 0)
		rc = expand_home(n, &path);
	if (rc == 0)
		*out = arena_strdup(a, path.data);
	buf_release(&path);
	return rc;
}
