/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/shown.h"

#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

static void add_escape(struct buf *b, const char *s, int n)
{
	static const char from[] = "\n\r\t", to[] = "nrt";
	const char *at = strchr(from, *s);
	unsigned c = n ? utf8_decode(s, n) : 0;
	if (at)
		buf_printf(b, "\\%c", to[at - from]);
	else if (n == 0)
		buf_printf(b, "\\x%02x", (unsigned char)*s);
	else
		buf_printf(b, c < 0x80 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
}

static void add(struct buf *b, const char *s, const char *kept)
{
	while (*s) {
		int n = utf8_length(s);
		if (utf8_visible(s, n) || strchr(kept, *s))
			buf_add(b, s, (size_t)n);
		else
			add_escape(b, s, n);
		s += n ? n : 1;
	}
}

void buf_shown(struct buf *b, const char *s)
{
	add(b, s, "");
}

void buf_shown_lines(struct buf *b, const char *s)
{
	add(b, s, "\n\t");
}

const char *shown(const char *s)
{
	struct buf b = BUF_INIT;
	const char *kept = s, *p = s;
	for (int n; *p && utf8_visible(p, n = utf8_length(p)); p += n)
		;
	if (*p) {
		buf_shown(&b, s);
		kept = str_intern(b.data);
	}
	buf_release(&b);
	return kept;
}
