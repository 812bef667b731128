/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Did you mean: the candidate with the smallest edit distance (insert, delete, replace, swap of
 * neighbours: the optimal string alignment form of Damerau and Levenshtein), if that is at most a
 * third of the longer word. Case does not count, and '-' is '_'. */
#include "base/suggest.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define LONGEST 63

static char fold(char c)
{
	return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

static int least(int a, int b, int c)
{
	int ab = a < b ? a : b;
	return ab < c ? ab : c;
}

static int distance(const char *a, int na, const char *b, int nb)
{
	int rows[3][LONGEST + 2], *before = rows[0], *last = rows[1], *row = rows[2];
	for (int k = 0; k <= nb; k++)
		last[k] = k;
	for (int i = 1; i <= na; i++) {
		int *t;
		row[0] = i;
		for (int k = 1; k <= nb; k++) {
			int cost = fold(a[i - 1]) != fold(b[k - 1]);
			row[k] = least(last[k] + 1, row[k - 1] + 1, last[k - 1] + cost);
			if (i > 1 && k > 1 && fold(a[i - 1]) == fold(b[k - 2]) &&
			    fold(a[i - 2]) == fold(b[k - 1]))
				row[k] = least(row[k], before[k - 2] + 1, row[k]);
		}
		t = before;
		before = last;
		last = row;
		row = t;
	}
	return last[nb];
}

void suggest_offer(struct suggest *s, const char *candidate)
{
	size_t n = strlen(s->word), m = strlen(candidate);
	int d;
	if (n > LONGEST || m > LONGEST)
		return;
	d = distance(s->word, (int)n, candidate, (int)m);
	if (d * 3 <= (int)(n > m ? n : m) && (!s->best || d < s->distance)) {
		s->best = candidate;
		s->distance = d;
	}
}

const char *did_you_mean(const char *s, const char *const *names)
{
	struct suggest best = { .word = s };
	for (; *names; names++)
		suggest_offer(&best, *names);
	return best.best;
}
