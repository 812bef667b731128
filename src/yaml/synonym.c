/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which of the names allowed a word means. The order: a name that differs in case and underscores
 * alone, the table of other programs' words, the nearest spelling. */
#include "yaml/synonym.h"

#include <ctype.h>
#include <string.h>

/* The next character of a word that counts, in lower case; 0 at its end. */
static int next_letter(const char **s)
{
	while (**s == '_' || **s == '-' || **s == ' ')
		++*s;
	return **s ? tolower((unsigned char)*(*s)++) : 0;
}

static bool same_word(const char *a, const char *b)
{
	int c;
	do {
		c = next_letter(&a);
		if (c != next_letter(&b))
			return false;
	} while (c);
	return true;
}

const struct synonym *synonym_next(const struct synonym *s)
{
	static const struct synonym *const tables[] = { synonyms_of_learning, synonyms_of_models,
		                                            synonyms_of_runs };
	const size_t n = sizeof tables / sizeof *tables;
	if (!s)
		return tables[0];
	if ((++s)->word)
		return s;
	for (size_t i = 0; i + 1 < n; i++) {
		const struct synonym *end = tables[i];
		while (end->word)
			end++;
		if (end == s)
			return tables[i + 1];
	}
	return NULL;
}

void hint_begin(struct hint *h, const char *word)
{
	const char *dot = strrchr(word, '.');   /* nn.Conv2d, torch.optim.Adam */
	*h = (struct hint){
		.near = { .word = dot && isalpha((unsigned char)dot[1]) ? dot + 1 : word } };
}

void hint_offer(struct hint *h, const char *candidate)
{
	suggest_offer(&h->near, candidate);
	if (same_word(h->near.word, candidate))
		h->same = candidate;
	for (const struct synonym *s = NULL; (s = synonym_next(s)) && s != h->row;) {
		if (s->name && !strcmp(s->name, candidate) && same_word(s->word, h->near.word)) {
			h->row = s;
			return;
		}
	}
}

static const struct synonym *find(const struct hint *h, bool advice)
{
	for (const struct synonym *s = NULL; (s = synonym_next(s)) != NULL;)
		if (same_word(s->word, h->near.word) && (!advice || s->advice))
			return s;
	return NULL;
}

const char *hint_name(const struct hint *h)
{
	if (h->same)
		return h->same;
	if (h->row)
		return h->row->name;
	return find(h, false) ? NULL : h->near.best;
}

const char *hint_advice(const struct hint *h)
{
	const struct synonym *s = hint_name(h) ? NULL : find(h, true);
	return s ? s->advice : NULL;
}

const char *hint_elsewhere(const struct hint *h)
{
	const struct synonym *s = hint_name(h) ? NULL : find(h, false);
	return s && !s->here ? s->name : NULL;
}

bool hint_put(struct buf *out, const struct hint *h)
{
	const char *name = hint_name(h), *advice = hint_advice(h);
	if (name && !h->same && h->row && h->row->from)
		buf_printf(out, "; did you mean '%s' (%s's '%s')?", name, h->row->from, h->row->word);
	else if (name)
		buf_printf(out, "; did you mean '%s'?", name);
	else if (advice)
		buf_printf(out, "; %s", advice);
	return name || advice;
}

bool hint_of(struct buf *out, const char *word, const char *const *names)
{
	struct hint h;
	hint_begin(&h, word);
	for (; *names; names++)
		hint_offer(&h, *names);
	return hint_put(out, &h);
}
