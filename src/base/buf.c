/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The growable string, and the two JSON atoms every report needs. An
 * empty buf points to a shared NUL that is never written; the first
 * byte added moves it to memory of its own, doubled when full. */
#include "base/buf.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

char buf_empty_[1];

void buf_init(struct buf *b)
{
	*b = (struct buf)BUF_INIT;
}

void buf_release(struct buf *b)
{
	if (b->cap)
		mem_free(b->data);
	buf_init(b);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->cap)
		b->data[0] = '\0';
}

void buf_reserve(struct buf *b, size_t more)
{
	size_t need, cap;
	BUG_IF(more > PTRDIFF_MAX - b->len - 1, "buf of %zu + %zu bytes", b->len, more);
	need = b->len + more + 1;
	if (need <= b->cap)
		return;
	cap = b->cap * 2 > 64 ? b->cap * 2 : 64;
	if (cap < need)
		cap = need;
	b->data = mem_realloc(b->cap ? b->data : NULL, cap);
	b->cap = cap;
	b->data[b->len] = '\0';
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	buf_reserve(b, n);
	memcpy(b->data + b->len, p, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	BUG_IF(n < 0, "bad format '%s'", fmt);
	buf_reserve(b, (size_t)n);
	vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	b->len += (size_t)n;
}

char *buf_detach(struct buf *b)
{
	char *s;
	buf_reserve(b, 0);
	s = b->data;
	buf_init(b);
	return s;
}

/* Beyond 16 bits as a surrogate pair. */
void buf_json_escape(struct buf *b, const char *s, int n)
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
	const char *at = strchr(from, *s);
	unsigned c = utf8_decode(s, n);
	if (at)
		buf_printf(b, "\\%c", to[at - from]);
	else if (c < 0x10000)
		buf_printf(b, "\\u%04x", c);
	else
		buf_printf(b, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
}

void buf_json_string(struct buf *b, const char *s)
{
	buf_putc(b, '"');
	while (*s) {
		int n = utf8_length(s);
		if (n == 0)
			buf_puts(b, "\xEF\xBF\xBD");   /* U+FFFD */
		else if (*s == '"' || *s == '\\' || !utf8_visible(s, n))
			buf_json_escape(b, s, n);
		else
			buf_add(b, s, (size_t)n);
		s += n ? n : 1;
	}
	buf_putc(b, '"');
}

void buf_json_double(struct buf *b, double v)
{
	char text[32];
	if (!isfinite(v)) {
		buf_puts(b, "null");
		return;
	}
	if (v == rint(v) && fabs(v) < 1e15) {   /* 600, not 6e+02 */
		buf_printf(b, "%.0f", v);
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_puts(b, text);
}

void buf_json_member(struct buf *b, const char *key, double v)
{
	buf_printf(b, ", \"%s\": ", key);
	buf_json_double(b, v);
}

void buf_shell_word(struct buf *b, const char *word)
{
	bool plain = word[0] != '\0';
	for (const char *p = word; *p; p++)
		plain &= isalnum((unsigned char)*p) || strchr("-_./:,=+@%", *p);
	if (!plain)
		buf_putc(b, '\'');
	for (const char *p = word; *p; p++) {
		if (*p == '\'')
			buf_puts(b, "'\\'");
		buf_putc(b, *p);
	}
	if (!plain)
		buf_putc(b, '\'');
}
