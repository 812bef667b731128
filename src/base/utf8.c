/* SPDX-License-Identifier: BSD-3-Clause
 *
 * UTF-8 by the table of well-formed byte sequences (Unicode 15, table 3-7): the second byte's
 * range depends on the first, which is what keeps out overlong forms, surrogates and values past
 * U+10FFFF. */
#include "base/utf8.h"

struct row {
	unsigned char lo, hi;      /* the first byte */
	unsigned char lo2, hi2;    /* the second byte; later ones are 80..BF */
	unsigned char length;
};

static const struct row rows[] = {
	{ 0xC2, 0xDF, 0x80, 0xBF, 2 },
	{ 0xE0, 0xE0, 0xA0, 0xBF, 3 },
	{ 0xE1, 0xEC, 0x80, 0xBF, 3 },
	{ 0xED, 0xED, 0x80, 0x9F, 3 },
	{ 0xEE, 0xEF, 0x80, 0xBF, 3 },
	{ 0xF0, 0xF0, 0x90, 0xBF, 4 },
	{ 0xF1, 0xF3, 0x80, 0xBF, 4 },
	{ 0xF4, 0xF4, 0x80, 0x8F, 4 },
};

int utf8_length(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	if (u[0] == 0)
		return 0;
	if (u[0] < 0x80)
		return 1;
	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct row *r = &rows[i];
		if (u[0] < r->lo || u[0] > r->hi)
			continue;
		if (u[1] < r->lo2 || u[1] > r->hi2)
			return 0;
		for (int k = 2; k < r->length; k++)
			if (u[k] < 0x80 || u[k] > 0xBF)
				return 0;
		return r->length;
	}
	return 0;
}

unsigned utf8_decode(const char *s, int n)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned c = n == 1 ? u[0] : u[0] & (0x7Fu >> n);
	for (int i = 1; i < n; i++)
		c = c << 6 | (u[i] & 0x3Fu);
	return c;
}

/* Ranges of characters that are not shown (Unicode 15): controls; the soft hyphen; marks,
 * embeddings, overrides and isolates of direction; spaces and joiners without width; separators of
 * lines; annotations, tags and values that are no characters. */
static const unsigned hidden[][2] = {
	{ 0x00, 0x1F }, { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x61C, 0x61C }, { 0x115F, 0x1160 },
	{ 0x180E, 0x180E }, { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F },
	{ 0x3164, 0x3164 }, { 0xFEFF, 0xFEFF }, { 0xFFF0, 0xFFFB }, { 0xFFFE, 0xFFFF },
	{ 0xE0000, 0xE007F },
};

bool utf8_visible(const char *s, int n)
{
	unsigned c;
	if (n == 0)
		return false;
	c = utf8_decode(s, n);
	for (unsigned i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
		if (c >= hidden[i][0] && c <= hidden[i][1])
			return false;
	return true;
}
