/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Scalars by YAML 1.2's core schema (section 10.3.2), and the way back: which texts can be
 * unquoted. Matching is by hand because strtod alone takes more than YAML does ("0x1p3",
 * "infinity", " 1"). */
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "yaml/ytree_parse.h"

bool y_is_null(const struct ynode *n)
{
	return n->kind == Y_NULL;
}

static bool one_of(const char *s, const char *a, const char *b, const char *c)
{
	return !strcmp(s, a) || !strcmp(s, b) || !strcmp(s, c);
}

static bool plain(const struct ynode *n)
{
	return n->kind == Y_SCALAR && !n->quoted;
}

bool y_bool(const struct ynode *n, bool *v)
{
	if (!plain(n))
		return false;
	*v = one_of(n->text, "true", "True", "TRUE");
	return *v || one_of(n->text, "false", "False", "FALSE");
}

static size_t digits(const char *s)
{
	return strspn(s, "0123456789");
}

/* [-+]?[0-9]+ | 0o[0-7]+ | 0x[0-9a-fA-F]+ */
static bool int_form(const char *s, int *base)
{
	*base = 10;
	if (!strncmp(s, "0o", 2) || !strncmp(s, "0x", 2)) {
		const char *set = s[1] == 'o' ? "01234567" : "0123456789abcdefABCDEF";
		*base = s[1] == 'o' ? 8 : 16;
		return s[2] && !s[2 + strspn(s + 2, set)];
	}
	if (*s == '-' || *s == '+')
		s++;
	return *s && !s[digits(s)];
}

bool y_int(const struct ynode *n, int64_t *v)
{
	int base;
	long long x;
	if (!plain(n) || !int_form(n->text, &base))
		return false;
	errno = 0;
	x = strtoll(base == 10 ? n->text : n->text + 2, NULL, base);
	if (errno)
		return false;
	*v = x;
	return true;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool float_form(const char *s)
{
	size_t before, after = 0;
	if (*s == '-' || *s == '+')
		s++;
	before = digits(s);
	s += before;
	if (*s == '.') {
		after = digits(++s);
		s += after;
	}
	if (before + after == 0)
		return false;
	if (*s == 'e' || *s == 'E') {
		s++;
		if (*s == '-' || *s == '+')
			s++;
		if (!digits(s))
			return false;
		s += digits(s);
	}
	return !*s;
}

bool y_float_form(const struct ynode *n)
{
	return plain(n) && float_form(n->text);
}

/* Whether v, read from s, has kept less of it than a number should: 1e-400 is not 0. */
static bool vanishes(const char *s, double v)
{
	return fabs(v) < DBL_MIN && strcspn(s, "123456789") < strcspn(s, "eE");
}

bool y_float(const struct ynode *n, double *v)
{
	const char *s = n->text;
	int base;
	if (!plain(n))
		return false;
	if (one_of(s, ".nan", ".NaN", ".NAN")) {
		*v = NAN;
		return true;
	}
	if (one_of(s + (*s == '-' || *s == '+'), ".inf", ".Inf", ".INF")) {
		*v = *s == '-' ? -INFINITY : INFINITY;
		return true;
	}
	if (int_form(s, &base) && base != 10)
		*v = (double)strtoull(s + 2, NULL, base);
	else if (float_form(s))
		*v = strtod(s, NULL);
	else
		return false;
	/* neither "1e999" nor "1e-400" is a number of dlx's */
	return isfinite(*v) && !vanishes(s, *v);
}

/* Stricter than YAML, for no reader to stumble: ASCII indicators stay out wherever they could
 * matter. */
bool yscalar_plain(const char *s)
{
	size_t len = strlen(s);
	if (len == 0 || len > 512 || strchr("!&*%@`'\"|>=", s[0]) || s[0] == ' ' || s[len - 1] == ' ')
		return false;
	if (s[0] == '-' && !isalnum((unsigned char)s[1]) && s[1] != '.')
		return false;
	if (!strncmp(s, "...", 3) || !strcmp(s, "<<"))
		return false;
	for (const char *p = s; *p; p++)
		if (*p < 0x20 || *p > 0x7E || strchr("?:#,[]{}", *p))
			return false;
	return true;
}

void yscalar_quote(struct buf *out, const char *s)
{
	buf_putc(out, '"');
	while (*s) {
		int n = utf8_length(s);
		unsigned c = n ? utf8_decode(s, n) : 0xFFFD;
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", (char)c);
		else if (c == '\n')
			buf_puts(out, "\\n");
		else if (c == '\t')
			buf_puts(out, "\\t");
		else if (!utf8_visible(s, n))   /* what libyaml refuses or takes for a line break, too */
			buf_printf(out, c < 0x100 ? "\\x%02X" : c < 0x10000 ? "\\u%04X" : "\\U%08X", c);
		else
			buf_add(out, s, (size_t)n);
		s += n ? n : 1;
	}
	buf_putc(out, '"');
}

struct ynode *ynode_plain(struct arena *a, const char *text)
{
	struct ynode *n = ynode_new(a, Y_SCALAR);
	n->text = arena_strdup(a, text);
	return n;
}

struct ynode *ynode_string(struct arena *a, const char *text)
{
	struct ynode *n = ynode_plain(a, text);
	double f;
	bool b;
	n->quoted = !yscalar_plain(text) || y_float(n, &f) || y_bool(n, &b) ||
	            one_of(text, "null", "Null", "NULL") || !strcmp(text, "~");
	return n;
}

void ynode_add_pair(struct arena *a, struct ynode *map, const char *key, struct ynode *value)
{
	struct ypair *p = ARENA_ARRAY(a, struct ypair, map->n + 1);
	if (map->n)
		memcpy(p, map->pair, (size_t)map->n * sizeof *p);
	p[map->n++] = (struct ypair){ .key = key, .value = value };
	map->pair = p;
}

void ynode_add_item(struct arena *a, struct ynode *seq, struct ynode *item)
{
	struct ynode **v = ARENA_ARRAY(a, struct ynode *, seq->n + 1);
	if (seq->n)
		memcpy(v, seq->item, (size_t)seq->n * sizeof *v);
	v[seq->n++] = item;
	seq->item = v;
}
