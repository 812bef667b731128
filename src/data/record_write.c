/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a record file in one pass: samples as they come (record_add.c); the description with the
 * statistics, the texts, the table of samples, the index and the footer follow at the end. */
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/description.h"
#include "data/record_piece.h"
#include "data/record_writer.h"

static const char *const *copy_strings(struct arena *a, const char *const *v, int64_t n)
{
	const char **copy;
	if (!v)
		return NULL;
	copy = ARENA_ARRAY(a, const char *, n + 1);
	for (int64_t i = 0; i < n; i++)
		copy[i] = arena_strdup(a, v[i]);
	return copy;
}

static struct record_array copy_array(struct record_writer *w, const struct record_info *info,
                                      int k)
{
	struct record_array a = *record_array_get(info, k);
	a.channels = copy_strings(w->a, a.channels, record_names(info, k));
	a.units = copy_strings(w->a, a.units, record_names(info, k));
	a.name = a.name ? arena_strdup(w->a, a.name) : NULL;
	a.nstats = record_statistics(info, k);
	return a;
}

static void copy_info(struct record_writer *w, const struct record_info *info)
{
	struct record_info *i = &w->info;
	*i = *info;
	i->samples = i->nsizes = 0;
	i->hashes = NULL;
	i->input = copy_array(w, info, 0);
	i->target = copy_array(w, info, 1);
	w->extra = ARENA_ARRAY(w->a, struct record_array, i->nextra + 1);
	for (int k = 0; k < i->nextra; k++)
		w->extra[k] = copy_array(w, info, 2 + k);
	i->extra = w->extra;
	i->classes = copy_strings(w->a, info->classes, info->nclasses);
	i->sources = copy_strings(w->a, info->sources, info->nsources);
	i->command = info->command ? arena_strdup(w->a, info->command) : NULL;
	i->axes = axes_copy(w->a, &info->axes);
}

static int begin_file(struct record_writer *w)
{
	uint8_t preamble[PREAMBLE_BYTES];
	record_preamble(preamble);
	w->at = PREAMBLE_BYTES;
	return io_write(w->file, preamble, PREAMBLE_BYTES);
}

static int create(struct record_writer **out, const char *path, const struct record_info *info,
                  int level, bool part)
{
	struct record_info one = *info;
	struct record_writer *w;
	const char *why;
	int rc;
	*out = NULL;
	one.nsizes = 0;
	why = record_info_fault(&one);
	if (why)
		return ERR(E_DATA, NULL, "'%s': %s", path, why);
	w = mem_calloc(1, sizeof(*w));
	w->a = arena_new();
	w->path = mem_strdup(path);
	w->level = level;
	copy_info(w, &one);
	measure_open(&w->measure, &w->info);
	buf_putc(&w->texts, '\0');
	rc = part ? io_create_named(&w->file, path, ".part", false) : io_create(&w->file, path);
	if (rc == 0)
		rc = begin_file(w);
	if (rc < 0)
		record_discard(w);
	else
		*out = w;
	return rc;
}

int record_create(struct record_writer **out, const char *path, const struct record_info *info,
                  int level)
{
	return create(out, path, info, level, false);
}

int record_create_part(struct record_writer **out, const char *path, const struct record_info *info,
                       int level, bool keep)
{
	TRY(create(out, path, info, level, true));
	io_keep((*out)->file, keep);
	(*out)->uncut = true;
	return 0;
}

/* --- the end of the file --- */

static void finish_info(struct record_writer *w)
{
	struct record_info *i = &w->info;
	const struct measure *m = &w->measure;
	i->samples = w->n;
	i->hashes = w->hash;
	i->input.stats = measure_stats(m, w->a, 0, i->input.nstats);
	i->target.stats = measure_stats(m, w->a, 1, i->target.nstats);
	for (int k = 0; k < i->nextra; k++)
		w->extra[k].stats = measure_stats(m, w->a, 2 + k, w->extra[k].nstats);
	i->ignored = m->ignored;
	i->nclasses = m->counted ? m->ncounts : i->nclasses;
	i->class_counts = m->counted && m->ncounts > 0 ? m->counts : NULL;
	if (i->nsizes > 1)
		i->axes = (struct axes){ 0 };
}

static void pad(const struct record_writer *w, struct buf *tail, char with)
{
	while ((w->at + tail->len) % 8 != 0)
		buf_putc(tail, with);
}

static void build_tail(struct record_writer *w, struct buf *tail)
{
	uint8_t preamble[PREAMBLE_BYTES], bytes[FOOTER_BYTES];
	struct record_footer f = { .description = w->at, .samples = (uint64_t)w->n,
	                          .chunks = (uint64_t)w->chunks };
	description_write_arrays(tail, &w->info);
	pad(w, tail, ' ');
	f.texts = w->at + tail->len;
	buf_add(tail, w->texts.data, w->texts.len);
	pad(w, tail, '\0');
	f.table = w->at + tail->len;
	for (int64_t i = 0; i < w->n; i++) {
		record_row_put(bytes, &w->row[i]);
		buf_add(tail, bytes, SAMPLE_BYTES);
	}
	f.index = w->at + tail->len;
	for (int64_t i = 0; i < w->chunks; i++) {
		record_chunk_put(bytes, &w->index[i]);
		buf_add(tail, bytes, CHUNK_BYTES);
	}
	f.size = w->at + tail->len + FOOTER_BYTES;
	record_preamble(preamble);
	record_footer_put(bytes, &f);
	f.hash = record_footer_hash(preamble, tail->data, tail->len, bytes);
	record_footer_put(bytes, &f);
	buf_add(tail, bytes, FOOTER_BYTES);
}

void record_set_axes(struct record_writer *w, const struct axes *axes)
{
	w->info.axes = axes_copy(w->a, axes);
}

void record_set_target_names(struct record_writer *w, const char *const *names)
{
	const char **copy = ARENA_ARRAY(w->a, const char *, w->n + 1);
	for (int64_t i = 0; i < w->n; i++)
		copy[i] = arena_strdup(w->a, names[i]);
	w->info.target_names = copy;
}

int64_t record_written(const struct record_writer *w, uint64_t *bytes)
{
	*bytes = w->at;
	return w->n;
}

int record_finish(struct record_writer *w, struct io_file **file)
{
	struct buf tail = BUF_INIT;
	int rc;
	*file = NULL;
	if (w->n == 0) {
		rc = ERR(E_DATA, NULL, "'%s': no samples to write", w->path);
		goto out;
	}
	finish_info(w);
	build_tail(w, &tail);
	rc = record_again_end(w);
	if (rc == 0)
		rc = io_write(w->file, tail.data, tail.len);
	if (rc == 0)
		rc = io_finish(w->file);
	if (rc < 0)
		goto out;
	*file = w->file;
	w->file = NULL;
out:
	buf_release(&tail);
	record_discard(w);
	return rc;
}

int record_commit(struct record_writer *w)
{
	struct io_file *file;
	TRY(record_finish(w, &file));
	return io_commit(file);
}

void record_discard(struct record_writer *w)
{
	if (!w)
		return;
	io_discard(w->file);
	record_coder_free(w->coder);
	record_again_free(w->again);
	measure_release(&w->measure);
	buf_release(&w->texts);
	mem_free(w->size);
	mem_free(w->chunk);
	mem_free(w->row);
	mem_free(w->hash);
	mem_free(w->index);
	mem_free(w->path);
	arena_free(w->a);
	mem_free(w);
}
