/* SPDX-License-Identifier: BSD-3-Clause */
#include "train/predict/predict_input.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/file_kind.h"
#include "base/io.h"
#include "base/mem.h"
#include "train/predict/convert_program.h"
#include "train/run/ranks.h"

#define RECORDS "samples.dlx"
#define FIRST_RECORD "samples-000000.dlx"
#define PATTERN "samples-*.dlx"

static int describe(const struct session *s, const char *folder, char **path)
{
	struct buf text = BUF_INIT;
	*path = NULL;
	if (!s->train_set)
		return 0;
	dataset_describe(s->train_set, &text);
	*path = io_join(folder, "trained-on.json");
	int rc = io_write_file(*path, text.data, text.len);
	buf_release(&text);
	return rc;
}

/* Into the records of a new folder. */
static int convert(const struct session *s, const struct texts *given, const char *layout,
                   bool quiet, char **folder)
{
	char *like;
	const char *scratch;
	struct convert_program c;
	TRY(io_scratch(&scratch));
	*folder = mem_strdup(scratch);
	TRY(describe(s, scratch, &like));
	convert_program_new(&c);
	convert_program_add(&c, "--separate");
	for (int i = 0; i < given->n; i++)
		convert_program_option(&c, "input", given->v[i]);
	if (like)
		convert_program_option(&c, "like", like);
	if (layout)
		convert_program_option(&c, "input-layout", layout);
	if (dataset_matches_by_index())
		convert_program_option(&c, "match", "index");
	if (quiet)
		convert_program_add(&c, "--quiet");
	convert_program_option(&c, "level", "1");
	char *out = io_join(scratch, RECORDS);
	convert_program_option(&c, "output", out);
	int rc = convert_program_run(&c);
	mem_free(out);
	mem_free(like);
	convert_program_release(&c);
	return rc;
}

/* --- what is given --- */

/* Whether the first file that a text stands for is a record; missing files are taken for some, for
 * the message. */
static bool is_record(const char *given)
{
	struct io_paths found = { 0 };
	enum file_use use;
	const int mark = err_count();
	bool record = io_ends_in(given, ".dlx");
	if (!record && io_expand(&found, given) == 0 && found.n)
		record = file_kind_of(found.v[0], &use) && use == FILE_RECORD;
	io_paths_release(&found);
	err_truncate(mark);
	return record;
}

int predict_records(const struct texts *given)
{
	int n = 0;
	for (int i = 0; i < given->n; i++)
		n += is_record(given->v[i]);
	return n;
}

bool predict_converts(const struct texts *files)
{
	return predict_records(files) < files->n;
}

static int check_given(const struct texts *given, int records, const char *layout)
{
	if (records > 0 && records < given->n)
		return ERR(E_USAGE, NULL, "'--predict': record files and others cannot be mixed");
	if (records > 0 && layout)
		return ERR(E_USAGE, NULL, "'--input-layout' is for files that are no records, which say "
		           "themselves what their axes are");
	return 0;
}

/* Rank 0's folder, which this rank may see. */
static void share_folder(struct comm *c, char **folder)
{
	char path[4096] = "";
	if (!comm_many(c))
		return;
	if (*folder)
		snprintf(path, sizeof path, "%s", *folder);
	comm_broadcast(c, path, sizeof path, 0, "the temporary folder");
	char *first = io_join(path, FIRST_RECORD);
	if (!comm_first(c) && io_exists(first))
		*folder = mem_strdup(path);
	mem_free(first);
}

/* Of the records in a folder, whose own name is no pattern; mem_free. */
static char *records_pattern(const char *folder)
{
	struct buf b = BUF_INIT;
	for (const char *p = folder; *p; p++)
		buf_printf(&b, "%s%c", strchr("*?[\\", *p) ? "\\" : "", *p);
	char *pattern = io_join(b.data, PATTERN);
	buf_release(&b);
	return pattern;
}

static int add_records(struct texts *out, const char *pattern)
{
	struct io_paths found = { 0 };
	int rc = io_expand(&found, pattern);
	if (rc == 0)
		out->v = mem_realloc(out->v, ((size_t)out->n + found.n + 1) * sizeof *out->v);
	for (size_t i = 0; rc == 0 && i < found.n; i++)
		out->v[out->n++] = mem_strdup(found.v[i]);
	io_paths_release(&found);
	return rc;
}

int predict_input(struct session *s, const struct texts *given, const char *layout, bool quiet,
                  struct texts *out)
{
	struct comm *c = s->comm;
	char *folder = NULL;
	const int records = comm_first(c) ? predict_records(given) : 0;
	int converted = comm_first(c) && records < given->n, rc;
	rc = comm_first(c) ? check_given(given, records, layout) : 0;
	if (rc == 0 && converted)
		rc = convert(s, given, layout, quiet, &folder);
	rc = ranks_agree(c, rc, "reading the files to predict from");
	if (rc == 0 && comm_many(c))
		comm_broadcast(c, &converted, sizeof converted, 0, "the kind of the files");
	if (rc == 0 && converted) {
		share_folder(c, &folder);
		rc = folder ? 0 : convert(s, given, layout, true, &folder);
		rc = ranks_agree(c, rc, "reading the files to predict from");
	}
	if (rc == 0 && converted) {
		char *pattern = records_pattern(folder);
		rc = add_records(out, pattern);
		mem_free(pattern);
	}
	for (int i = 0; rc == 0 && !converted && i < given->n; i++)
		rc = add_records(out, given->v[i]);
	mem_free(folder);
	return ranks_agree(c, rc, "the files to predict from");
}

void predict_input_release(struct texts *records)
{
	for (int i = 0; i < records->n; i++)
		mem_free((char *)(uintptr_t)records->v[i]);
	mem_free(records->v);
	*records = (struct texts){ 0 };
}
