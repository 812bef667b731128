/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/sources.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "data/dataset_files.h"

#define MOST_SOURCES 4096

static const struct field source_fields[] = {
	FIELD(struct data_source, files, FT_PATHS, .dflt = "", .flags = FIELD_SHORTHAND,
	      .doc = "record files: a path, a glob or a list of them"),
	FIELD(struct data_source, weight, FT_FLOAT, .dflt = "null", .min = 1e-6, .max = 1e6,
	      .flags = FIELD_NULLABLE,
	      .doc = "an epoch has samples of this source by this share of the sum of all weights; "
	             "null, in all entries: each sample once"),
	FIELD_END
};

const struct variant sources_row[] = {
	{ .name = "source", .doc = "files with a weight", .fields = source_fields,
	  .size = sizeof(struct data_source) },
	{ NULL }
};

int sources_check(const struct sections *train)
{
	const struct data_source *s = train->v;
	for (int i = 0; i < train->n; i++)
		if (s[i].files.n == 0)
			return ERR(E_CONFIG, &train->loc[i], "'train' names no file here");
	if (train->n > MOST_SOURCES && !isnan(s[0].weight))
		return ERR(E_CONFIG, &train->loc[0], "'train' has %d sources; expected at most %d",
		           train->n, MOST_SOURCES);
	for (int i = 1; i < train->n; i++)
		if (isnan(s[i].weight) != isnan(s[0].weight))
			return ERR(E_CONFIG, &train->loc[i], "this entry of 'train' has %s weight, the first "
			           "one has %s: give all of them one, {files: PATH, weight: 1}, or none",
			           isnan(s[i].weight) ? "no" : "a", isnan(s[i].weight) ? "one" : "none");
	return 0;
}

struct strings sources_files(const struct sections *train, struct arena *a)
{
	const struct data_source *s = train->v;
	int n = 0;
	for (int i = 0; i < train->n; i++)
		n += s[i].files.n;
	const char **v = ARENA_ARRAY(a, const char *, n + 1);
	struct loc *loc = ARENA_ARRAY(a, struct loc, n + 1);
	n = 0;
	for (int i = 0; i < train->n; i++)
		for (int k = 0; k < s[i].files.n; k++, n++) {
			v[n] = s[i].files.v[k];
			loc[n] = s[i].files.loc[k];
		}
	return (struct strings){ n, v, loc };
}

int shuffle_parse(const struct ynode *n, enum data_shuffle *out)
{
	bool all = false;
	*out = SHUFFLE_NOT;
	if (!n)
		return 0;
	if (y_bool(n, &all)) {
		*out = all ? SHUFFLE_ALL : SHUFFLE_NOT;
		return 0;
	}
	if (n->kind == Y_MAP && n->n == 1 && strcmp(n->pair[0].key, "within") == 0 &&
	    n->pair[0].value->kind == Y_SCALAR && strcmp(n->pair[0].value->text, "host") == 0) {
		*out = SHUFFLE_WITHIN_HOST;
		return 0;
	}
	return ERR(E_CONFIG, &n->loc, "'shuffle' must be true, false or {within: host}%s%s%s",
	           n->kind == Y_SCALAR ? ", not '" : "", n->kind == Y_SCALAR ? n->text : "",
	           n->kind == Y_SCALAR ? "'" : "");
}

/* --- the sources of an open set --- */

int dataset_open_sources(struct dataset **out, const struct sections *train)
{
	const struct data_source *s = train->v;
	struct arena *a = arena_new();
	const struct strings files = sources_files(train, a);
	int rc = dataset_open(out, &files), pattern = 0;
	double sum = 0;
	arena_free(a);
	TRY(rc);
	struct dataset *d = *out;
	if (train->n < 2 || isnan(s[0].weight))
		return 0;
	d->nsource = train->n;
	d->source = ARENA_ARRAY(d->a, struct dataset_source, train->n);
	for (int i = 0; i < train->n; i++)
		sum += s[i].weight;
	for (int i = 0, begin = 0; i < train->n; i++) {
		pattern += s[i].files.n;
		const int end = d->pattern_end[pattern - 1];

		d->source[i] = (struct dataset_source){ .files = arena_strdup(d->a, s[i].files.v[0]),
			.patterns = s[i].files.n,
			.weight = s[i].weight, .share = s[i].weight / sum, .first = d->first[begin],
			.samples = d->first[end] - d->first[begin], .loc = train->loc[i] };
		begin = end;
	}
	return 0;
}

int dataset_sources(const struct dataset *d)
{
	return d->nsource;
}

const struct dataset_source *dataset_source(const struct dataset *d, int k)
{
	return &d->source[k];
}
