/* SPDX-License-Identifier: BSD-3-Clause */
#include "ckpt/version_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

bool version_valid_id(const char *name)
{
	const size_t digits = strspn(name, "0123456789");
	return digits >= 12 && digits < 20 && name[digits] == '-' &&
	       strspn(name + digits + 1, "0123456789abcdef") == 8 && !name[digits + 9];
}

bool version_id_of(char id[CKPT_ID], const char *name, const char *suffix)
{
	const size_t n = strlen(name), end = strlen(suffix);
	if (n <= end || n - end >= CKPT_ID || strcmp(name + n - end, suffix) != 0)
		return false;
	snprintf(id, CKPT_ID, "%.*s", (int)(n - end), name);
	return version_valid_id(id);
}

const char *version_bare_id(const char *id)
{
	while (id[0] == '0' && id[1] && id[1] != '-')
		id++;
	return id;
}

static enum version_fit fit(const char *word, const char *id, bool own)
{
	const size_t n = strlen(word);
	const bool number = n && !word[strspn(word, "0123456789")];
	const char *bare = strchr(word, '-') ? version_bare_id(id) : id;
	if (strcmp(id, word) == 0 || strcmp(bare, word) == 0)
		return FIT_ID;
	if (!own && number)
		return FIT_NONE;
	if (number && strtoull(word, NULL, 10) == strtoull(id, NULL, 10))
		return FIT_STEP;
	if (n && (strncmp(id, word, n) == 0 || strncmp(bare, word, n) == 0))
		return FIT_PREFIX;
	return FIT_NONE;
}

void version_match(struct version_search *s, const char *word, int i, const char *id, bool own)
{
	const enum version_fit f = fit(word, id, own);
	if (f == FIT_NONE || f < s->best)
		return;
	if (f > s->best) {
		s->best = f;
		s->hits = 0;
		buf_clear(&s->names);
	}
	buf_printf(&s->names, "%s'%s'", s->hits++ ? ", " : "", id);
	s->hit = i;
}

int version_search_end(struct version_search *s, const char *word)
{
	const int rc = s->hits < 2 ? s->hits : ERR(E_USAGE, NULL, "'%s' fits several versions: %s",
	                                           word, s->names.data);
	buf_release(&s->names);
	return rc;
}
