/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/convert_split.h"

#include <ctype.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/suggest.h"
#include "data-tools/inspect/select.h"

#define SHARES_SUM 1e-6            /* 0.333333 three times is meant as all */

/* --- parts and shares --- */

struct parts {
	int n;
	const char **name;
	double *share;
};

/* The name becomes part of a file's. */
static bool is_name(const char *s, size_t n)
{
	size_t good = 0;
	while (good < n && (isalnum((unsigned char)s[good]) || s[good] == '_'))
		good++;
	return n > 0 && good == n;
}

static int read_part(struct parts *p, struct arena *a, const char *text)
{
	const char *equals = strchr(text, '=');
	const size_t n = equals ? (size_t)(equals - text) : 0;
	double share = 0;
	char *end = NULL;
	if (equals)
		share = strtod(equals + 1, &end);
	if (!equals || !is_name(text, n))
		return ERR(E_USAGE, NULL, "--split: part %d is '%s'; expected a name of letters, digits "
		           "and '_', '=' and a share, as in train=0.8", p->n + 1, text);
	if (end == equals + 1 || *end || !(share > 0) || share > 1)
		return ERR(E_USAGE, NULL, "--split: part %d, '%s': '%s' is no share between 0 and 1",
		           p->n + 1, text, equals + 1);
	for (int i = 0; i < p->n; i++)
		if (strlen(p->name[i]) == n && strncmp(p->name[i], text, n) == 0)
			return ERR(E_USAGE, NULL, "--split: part %d is called '%s' as part %d is", p->n + 1,
			           p->name[i], i + 1);
	p->name[p->n] = arena_printf(a, "%.*s", (int)n, text);
	p->share[p->n++] = share;
	return 0;
}

static int read_parts(struct parts *p, struct arena *a, const char *text)
{
	const char **piece;
	const int n = split_commas(text, &piece);
	double sum = 0;
	int rc = 0;
	*p = (struct parts){ 0, ARENA_ARRAY(a, const char *, n + 1), ARENA_ARRAY(a, double, n + 1) };
	for (int i = 0; i < n && rc == 0; i++)
		rc = read_part(p, a, piece[i]);
	mem_free(piece);
	TRY(rc);
	for (int i = 0; i < p->n; i++)
		sum += p->share[i];
	if (fabs(sum - 1) > SHARES_SUM)
		return ERR(E_USAGE, NULL, "--split: the shares add up to %g, not to 1", sum);
	return 0;
}

/* --- groups --- */

/* Folders that all files are in say nothing: a split does not depend on where the data lie. */
static size_t common_folder(const struct side *side)
{
	const int64_t n = side_samples(side);
	struct side_origin at = side_origin(side, 0);
	const char *first = at.file, *slash = strrchr(first, '/'), *last = first;
	size_t common = slash ? (size_t)(slash + 1 - first) : 0;
	for (int64_t i = 1; i < n && common > 0; i++) {
		at = side_origin(side, i);
		if (at.file == last)
			continue;
		last = at.file;
		while (common > 0 && strncmp(first, last, common) != 0)
			while (--common > 0 && first[common - 1] != '/')
				;
	}
	return common;
}

struct grouping {
	enum { BY_KEY, BY_FILE, BY_PATTERN } by;
	const char *pattern;
	regex_t regex;
	size_t common;
};

static int read_grouping(struct grouping *g, const char *text, const struct side *side)
{
	static const char *const words[] = { "file", "key", NULL };
	char why[200];
	*g = (struct grouping){ .pattern = text, .common = common_folder(side) };
	if (!text || strcmp(text, "key") == 0)
		return 0;
	g->by = strcmp(text, "file") == 0 ? BY_FILE : BY_PATTERN;
	if (g->by == BY_FILE)
		return 0;
	if (!strchr(text, '(')) {
		const char *guess = did_you_mean(text, words);

		return ERR(E_USAGE, NULL, "--group-by: '%s'%s%s%s; expected file, key, or a pattern of "
		           "files' names whose part in parentheses is the group, as in 'univ_([0-9]+)'",
		           text, guess ? "; did you mean '" : "", guess ? guess : "", guess ? "'?" : "");
	}
	const int bad = regcomp(&g->regex, text, REG_EXTENDED);
	if (bad) {
		regerror(bad, &g->regex, why, sizeof why);
		return ERR(E_USAGE, NULL, "--group-by: '%s' is no regular expression: %s", text, why);
	}
	return 0;
}

static void grouping_release(struct grouping *g)
{
	if (g->by == BY_PATTERN)
		regfree(&g->regex);
}

static int match(const struct grouping *g, struct arena *a, const char *file, int64_t i,
                 const char **out)
{
	regmatch_t m[2];
	if (regexec(&g->regex, file, 2, m, 0) != 0 || m[1].rm_so < 0)
		return ERR(E_DATA, NULL, "--group-by: '%s', the file of sample %lld, does not match '%s'",
		           file, (long long)i, g->pattern);
	*out = arena_printf(a, "%.*s", (int)(m[1].rm_eo - m[1].rm_so), file + m[1].rm_so);
	return 0;
}

/* The group of each sample. Samples of a file often follow each other, and share a text. */
static int name_groups(const struct grouping *g, struct arena *a, const struct side *side,
                       const char **group)
{
	const char *last = NULL;
	for (int64_t i = 0; i < side_samples(side); i++) {
		const struct side_origin at = side_origin(side, i);

		if (g->by == BY_KEY && at.row >= 0)
			group[i] = arena_printf(a, "%s:%lld", at.file + g->common, (long long)at.row);
		else if (g->by != BY_PATTERN)
			group[i] = at.file + g->common;
		else if (at.file == last)
			group[i] = group[i - 1];
		else
			TRY(match(g, a, at.file, i, &group[i]));
		last = at.file;
	}
	return 0;
}

/* --- the cut --- */

struct member {
	uint64_t hash;
	const char *group;
	int64_t sample;
};

static int compare(const void *x, const void *y)
{
	const struct member *a = x, *b = y;
	const int names = a->hash == b->hash ? strcmp(a->group, b->group) : 0;
	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return names ? names : a->sample < b->sample ? -1 : a->sample > b->sample;
}

/* A group belongs where its middle lies among all samples. */
static int part_at(const struct parts *p, double middle)
{
	double end = 0;
	int k = 0;
	for (; k + 1 < p->n; k++) {
		end += p->share[k];
		if (middle < end)
			break;
	}
	return k;
}

/* The members of a group are in a row; returns how many groups there are. */
static int64_t cut(const struct parts *p, const struct member *m, int64_t n, int *of, bool *any)
{
	int64_t groups = 0, next;
	for (int64_t i = 0; i < n; i = next, groups++) {
		for (next = i + 1; next < n && strcmp(m[next].group, m[i].group) == 0;)
			next++;
		const int k = part_at(p, 0.5 * ((double)i + (double)next) / (double)n);

		any[k] = true;
		for (int64_t j = i; j < next; j++)
			of[m[j].sample] = k;
	}
	return groups;
}

static int cut_groups(const struct parts *p, const struct split_options *o, int64_t n,
                      const char *const *group, int *of)
{
	struct member *m = mem_calloc((size_t)n, sizeof *m);
	bool *any = mem_calloc((size_t)p->n, sizeof *any);
	int rc = 0;
	for (int64_t i = 0; i < n; i++)
		m[i] = (struct member){ hash_bytes(group[i], strlen(group[i]), (uint64_t)o->seed), group[i],
		                       i };
	qsort(m, (size_t)n, sizeof *m, compare);
	const int64_t groups = cut(p, m, n, of, any);
	for (int k = 0; k < p->n && rc == 0; k++)
		if (!any[k])
			rc = ERR(E_DATA, NULL, "--split: nothing is left for the part '%s=%g': there %s %lld "
			         "group%s, as '%s', which are not cut in two (--group-by)", p->name[k],
			         p->share[k], groups == 1 ? "is" : "are", (long long)groups,
			         groups == 1 ? "" : "s", group[0]);
	mem_free(any);
	mem_free(m);
	return rc;
}

int split_plan(struct split *out, struct arena *a, const struct split_options *o,
               const struct side *side)
{
	const int64_t n = side_samples(side);
	struct grouping g = { 0 };
	struct parts p = { 0 };
	*out = (struct split){ 0 };
	if (!o->split && !o->group_by)
		return 0;
	if (o->split)
		TRY(read_parts(&p, a, o->split));
	const char **group = ARENA_ARRAY(a, const char *, n + 1);
	int *of = ARENA_ARRAY(a, int, n + 1);
	TRY(read_grouping(&g, o->group_by, side));
	int rc = name_groups(&g, a, side, group);
	grouping_release(&g);
	if (rc == 0 && o->split)
		rc = cut_groups(&p, o, n, group, of);
	*out = (struct split){ p.n, p.name, of, o->group_by ? group : NULL };
	return rc;
}
