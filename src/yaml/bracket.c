/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The scan keeps a stack of the open brackets. */
#include "yaml/bracket.h"

#include <string.h>

#define DEEPEST 64

struct scan {
	const char *p;
	size_t line, column;
	char before;             /* the last character that is no blank, in this line */
	bool spaced;             /* a blank or the line's begin is right before p */
	int depth;
	struct bracket open[DEEPEST];
};

static void advance(struct scan *s)
{
	const char c = *s->p++;
	if (c == '\n') {
		s->line++;
		s->column = 0;
		s->before = 0;
		s->spaced = true;
		return;
	}
	s->column += ((unsigned char)c & 0xC0) != 0x80;
	s->spaced = c == ' ' || c == '\t' || c == '\r';
	if (!s->spaced)
		s->before = c;
}

/* Can a value begin here? A word that has begun may have brackets and quotes in it. */
static bool begins(const struct scan *s)
{
	return s->before == 0 || strchr("{[,", s->before) || (s->spaced && strchr(":-?", s->before));
}

/* A quote without an end is the mistake, and no bracket is. */
static void skip_quoted(struct scan *s)
{
	const char quote = *s->p;
	for (advance(s); *s->p && *s->p != quote; advance(s))
		if (quote == '"' && *s->p == '\\' && s->p[1])
			advance(s);
	if (!*s->p)
		s->depth = 0;
}

static void skip_comment(struct scan *s)
{
	while (*s->p && *s->p != '\n')
		advance(s);
}

/* Handles a closing bracket. true: the bracket to close is of the other kind. */
static bool closes_another(struct scan *s)
{
	struct bracket *last = &s->open[s->depth - 1];
	if ((last->open == '{') == (*s->p == '}')) {
		s->depth--;
		return false;
	}
	last->closer = *s->p;
	return true;
}

bool bracket_unclosed(const char *text, struct bracket *out)
{
	struct scan s = { .p = text, .spaced = true };
	for (; *s.p; advance(&s)) {
		const char c = *s.p;
		if (c == '#' && s.spaced)
			skip_comment(&s);
		else if ((c == '"' || c == '\'') && begins(&s))
			skip_quoted(&s);
		else if ((c == '{' || c == '[') && (s.depth > 0 || begins(&s)) && s.depth < DEEPEST)
			s.open[s.depth++] = (struct bracket){ c, 0, s.line, s.column };
		else if ((c == '}' || c == ']') && s.depth > 0 && closes_another(&s))
			break;
		if (!*s.p)
			break;
	}
	if (s.depth == 0)
		return false;
	*out = s.open[s.depth - 1];
	return true;
}
