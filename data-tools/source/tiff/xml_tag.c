/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/source/tiff/xml_tag.h"

#include <string.h>

static const char blanks[] = " \t\r\n";

static void copy(const char *from, size_t length, char *out, size_t n)
{
	length = length < n ? length : n - 1;
	memcpy(out, from, length);
	out[length] = '\0';
}

/* Whether an element's name, without its namespace, is this one. */
static bool is_named(const struct xml_tag *t, const char *name)
{
	const size_t all = strcspn(t->begin, " \t\r\n/>");
	const char *colon = memchr(t->begin, ':', all), *own = colon ? colon + 1 : t->begin;
	const size_t n = all - (size_t)(own - t->begin);
	return n == strlen(name) && memcmp(own, name, n) == 0;
}

/* The end of a tag: a '>' that is in no quotes; NULL: there is none. */
static const char *find_end(const char *p)
{
	char quote = '\0';
	for (; *p && (quote || *p != '>'); p++) {
		if (quote)
			quote = *p == quote ? '\0' : quote;
		else if (*p == '"' || *p == '\'')
			quote = *p;
	}
	return *p ? p : NULL;
}

bool xml_next(const char **at, const char *name, struct xml_tag *out)
{
	const char *p = *at;
	while ((p = strchr(p, '<'))) {
		if (strncmp(p, "<!--", 4) == 0) {
			p = strstr(p, "-->");
			if (!p)
				return false;
			continue;
		}
		out->begin = p + 1;
		out->end = find_end(p + 1);
		if (!out->end)
			return false;
		p = out->end;
		if (!is_named(out, name))
			continue;
		*at = p;
		return true;
	}
	return false;
}

bool xml_attribute(const struct xml_tag *t, const char *name, char *out, size_t n)
{
	const size_t length = strlen(name);
	const char *p = t->begin + strcspn(t->begin, " \t\r\n/>");
	while (p < t->end) {
		const char *word = p + strspn(p, blanks), *equals = word + strcspn(word, "=>"), *value;
		const size_t all = strcspn(word, " \t\r\n=>");

		value = equals < t->end ? equals + 1 + strspn(equals + 1, blanks) : t->end;
		if (value >= t->end || (*value != '"' && *value != '\''))
			return false;
		p = memchr(value + 1, *value, (size_t)(t->end - value - 1));
		if (!p)
			return false;
		if (all == length && memcmp(word, name, length) == 0) {
			copy(value + 1, (size_t)(p - value - 1), out, n);
			return true;
		}
		p++;
	}
	return false;
}

void xml_text(const struct xml_tag *t, char *out, size_t n)
{
	const char *from = t->end + (*t->end == '>');
	copy(from, t->end[-1] == '/' ? 0 : strcspn(from, "<"), out, n);
}
