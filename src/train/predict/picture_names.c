/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A file has at least one sample. So if there are as many samples as files, each file has exactly
 * one. */
#include "train/predict/picture_names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/record.h"

char *picture_path(const char *folder, const char *name)
{
	struct buf file = BUF_INIT;
	buf_printf(&file, "%s.png", name);
	char *path = io_join(folder, file.data);
	buf_release(&file);
	return path;
}

void picture_names_release(struct texts *names)
{
	for (int i = 0; i < names->n; i++)
		mem_free((char *)(uintptr_t)names->v[i]);
	mem_free(names->v);
	*names = (struct texts){ 0 };
}

static char *stem_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *stem = mem_strdup(slash ? slash + 1 : path), *dot = strrchr(stem, '.');
	if (dot && dot > stem)
		*dot = '\0';
	return stem;
}

/* spec: a pattern, or a file with names of variables after a colon. */
static int add_stems(struct texts *names, const char *spec)
{
	const char *colon = io_exists(spec) ? NULL : strrchr(spec, ':');
	char *path = mem_strdup(spec);
	struct io_paths found = { 0 };
	if (colon && colon > spec)
		path[colon - spec] = '\0';
	int rc = io_expand(&found, path);
	if (rc == 0)
		names->v = mem_realloc(names->v, ((size_t)names->n + found.n + 1) * sizeof *names->v);
	for (size_t i = 0; rc == 0 && i < found.n; i++)
		names->v[names->n++] = stem_of(found.v[i]);
	io_paths_release(&found);
	mem_free(path);
	return rc;
}

static int64_t count_samples(const struct texts *records)
{
	int64_t n = 0;
	for (int i = 0; i < records->n; i++) {
		struct record *r;
		if (record_open(&r, records->v[i]) < 0)
			return -1;
		n += record_info(r)->samples;
		record_free(r);
	}
	return n;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool all_differ(const struct texts *names)
{
	const char **sorted = mem_calloc((size_t)names->n + 1, sizeof *sorted);
	bool differ = true;
	for (int i = 0; i < names->n; i++)
		sorted[i] = names->v[i];
	qsort(sorted, (size_t)names->n, sizeof *sorted, by_text);
	for (int i = 1; i < names->n; i++)
		differ &= strcmp(sorted[i - 1], sorted[i]) != 0;
	mem_free(sorted);
	return differ;
}

static bool spares_inputs(const struct texts *names, const char *out)
{
	bool spares = true;
	for (int i = 0; i < names->n && spares; i++) {
		char *path = picture_path(out, names->v[i]);
		struct stat st;
		spares = stat(path, &st) < 0 || !io_input_find(&st);
		mem_free(path);
	}
	return spares;
}

static bool any_record(const struct texts *given, const struct texts *records)
{
	for (int i = 0; i < given->n; i++)
		for (int k = 0; k < records->n; k++)
			if (io_ends_in(given->v[i], ".dlx") || strcmp(given->v[i], records->v[k]) == 0)
				return true;
	return false;
}

void picture_names_find(const struct texts *given, const struct texts *records, const char *out,
                        struct texts *names)
{
	const int mark = err_count();
	bool found = !any_record(given, records);
	for (int i = 0; i < given->n && found; i++)
		found = add_stems(names, given->v[i]) == 0;
	if (!found || count_samples(records) != names->n || !all_differ(names) ||
	    !spares_inputs(names, out))
		picture_names_release(names);
	err_truncate(mark);
}
