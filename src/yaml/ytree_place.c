/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Places inside of a scalar. A scalar of one line that is written letter by letter needs only a
 * count of characters. Another one has its source: folding, indentation and the header of a block
 * change nothing but white space, so the character sought is the k-th of the source that is not
 * white if it is the k-th such of the text; an escape counts as the character that it stands
 * for. */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "yaml/ytree.h"

static bool white(unsigned c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int step(const char *s)
{
	int n = utf8_length(s);
	return n ? n : 1;
}

static int characters(const char *s, size_t bytes)
{
	int n = 0;
	for (const char *end = s + bytes; s < end && *s; s += step(s))
		n++;
	return n;
}

static int solid(const char *s, size_t bytes)
{
	int n = 0;
	for (const char *end = s + bytes; s < end && *s; s += step(s))
		n += !white((unsigned char)*s);
	return n;
}

/* Hexadecimal digits after "\x", "\u", "\U". */
static size_t digits(char escape)
{
	return escape == 'x' ? 2 : escape == 'u' ? 4 : escape == 'U' ? 8 : 0;
}

/* The bytes at s that are one character of the text; *is_white: or white space, or none. */
static size_t unit(const char *s, char quote, bool *is_white)
{
	char hex[9] = "";
	*is_white = white((unsigned char)*s);
	if (quote == '\'' && s[0] == '\'' && s[1] == '\'')
		return 2;
	if (quote != '"' || *s != '\\' || !s[1])
		return (size_t)step(s);
	size_t n = strnlen(s + 2, digits(s[1]));
	memcpy(hex, s + 2, n);
	*is_white = n ? white((unsigned)strtoul(hex, NULL, 16)) : strchr(" \tnrt\n\r", s[1]) != NULL;
	return 2 + n;
}

/* Bytes of the anchor, the opening quote, the header of the block. */
static size_t head(const struct ynode *n, char *quote)
{
	const char *s = n->source;
	if (*s == '&') {
		s += strcspn(s, " \t\r\n");
		s += strspn(s, " \t\r\n");
	}
	*quote = n->quoted && (*s == '"' || *s == '\'') ? *s : '\0';
	if (n->quoted)
		s += *quote ? 1 : strcspn(s, "\n");
	return (size_t)(s - n->source);
}

/* Where character number k of the source (from 0) that is not white is. */
static struct loc seek(const struct ynode *n, int k)
{
	struct loc loc = n->loc;
	char quote;
	size_t bytes = head(n, &quote);
	for (const char *s = n->source; *s; bytes = 0) {
		bool is_white = true;
		if (!bytes)
			bytes = unit(s, quote, &is_white);
		if (!is_white && k-- == 0)
			break;
		for (const char *end = s + bytes; s < end && *s; s += step(s)) {
			loc.col = *s == '\n' ? 1 : loc.col + 1;
			loc.line += *s == '\n';
		}
	}
	return loc;
}

struct loc ynode_place(const struct ynode *n, size_t offset, size_t bytes)
{
	struct loc loc = n->loc;
	if (!n->source) {
		if (loc.len != characters(n->text, strlen(n->text)) + (n->quoted ? 2 : 0))
			return loc;
		loc.col += characters(n->text, offset) + n->quoted;
		loc.len = characters(n->text + offset, bytes);
	} else {
		int first = solid(n->text, offset), count = solid(n->text + offset, bytes);
		loc = seek(n, first);
		struct loc last = seek(n, first + (count ? count - 1 : 0));
		loc.len = last.line == loc.line ? last.col - loc.col + 1 : 1;
	}
	loc.len = loc.len > 0 ? loc.len : 1;
	return loc;
}
