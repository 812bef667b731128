/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A unit is a product of words with exponents, which are compared one after the other. */
#include "data/units.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORD 48

static const struct { const char *word, *means; } words[] = {
	{ "kelvin", "K" }, { "degK", "K" }, { "deg_K", "K" }, { "celsius", "degC" }, { "C", "degC" },
	{ "deg_C", "degC" }, { "degreesC", "degC" }, { "degree_Celsius", "degC" },
	{ "degrees_Celsius", "degC" }, { "degree_C", "degC" }, { "meter", "m" }, { "meters", "m" },
	{ "metre", "m" }, { "metres", "m" }, { "second", "s" }, { "seconds", "s" }, { "sec", "s" },
	{ "pascal", "Pa" }, { "percent", "%" }, { "degrees", "degree" }, { "deg", "degree" },
	{ "hour", "h" }, { "hours", "h" }, { "hr", "h" }, { "day", "d" }, { "days", "d" },
	{ "none", "" }, { "unitless", "" }, { "dimensionless", "" }, { "fraction", "" }, { "1", "" },
	{ "-", "" },
};

struct factor {
	char word[WORD];
	long exponent;
};

/* Some words differ from others by their case alone (mm, Mm); those of more letters do not. */
static const char *meaning(const char *word)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(word, words[i].word) == 0 ||
		    (strlen(word) > 3 && strcasecmp(word, words[i].word) == 0))
			return words[i].means;
	return word;
}

/* The exponent at *p, as in m2, m-2, m^2 and m**2; 1 where there is none. */
static long take_exponent(const char **p)
{
	const char *q = *p + strspn(*p, "*^");
	char *end;
	const long v = strtol(q, &end, 10);
	if (end == q)
		return 1;
	*p = end;
	return v;
}

/* The next factor that is not 1; false: there is none. */
static bool next(const char **p, bool *divide, struct factor *f)
{
	for (;;) {
		size_t n;

		for (; **p && strchr(" \t.*/", **p); ++*p)
			*divide |= **p == '/';
		n = strcspn(*p, " \t.*/^+-0123456789");
		n = n == 0 && **p ? 1 + strcspn(*p + 1, " \t*/") : n;       /* a number */
		if (n == 0)
			return false;
		n = n < WORD ? n : WORD - 1;
		memcpy(f->word, *p, n);
		f->word[n] = '\0';
		*p += n;
		if (strcmp(f->word, "per") == 0) {
			*divide = true;
			continue;
		}
		f->exponent = take_exponent(p) * (*divide ? -1 : 1);
		*divide = false;
		memmove(f->word, meaning(f->word), strlen(meaning(f->word)) + 1);
		if (*f->word)
			return true;
	}
}

bool units_same(const char *a, const char *b)
{
	struct factor x, y;
	bool divide_a = false, divide_b = false;
	for (;;) {
		const bool more = next(&a, &divide_a, &x);

		if (next(&b, &divide_b, &y) != more)
			return false;
		if (!more)
			return true;
		if (strcmp(x.word, y.word) != 0 || x.exponent != y.exponent)
			return false;
	}
}
