/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a record file in one pass: each sample is measured, cut, hashed and coded as it comes;
 * the description with the statistics, the texts, the table of samples, the index and the footer
 * follow at the end. */
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/round.h"
#include "data/description.h"
#include "data/record_codec.h"
#include "data/record_cut.h"
#include "data/record_format.h"
#include "data/record_measure.h"

#define MOST_SIZES (1 << 16)

struct record_writer {
	struct arena *a;
	struct record_info info;      /* its sizes grow as samples of new ones come */
	struct record_array *extra;
	struct record_size *size;
	int size_room;
	struct io_file *file;
	char *path;
	struct codec_writer codec;
	struct measure measure;
	uint8_t *chunk;               /* the strips of a chunk in a row */
	size_t chunk_room;
	struct record_row *row;
	struct record_chunk *index;
	int64_t n, row_room, chunks, index_room;
	struct buf texts;
	uint64_t group;               /* the last sample's */
	uint64_t at;
};

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
	const bool stats = k == 0 || dtype_is_float(a.dtype);
	a.channels = copy_strings(w->a, a.channels, record_names(info, k));
	a.name = a.name ? arena_strdup(w->a, a.name) : NULL;
	a.nstats = stats ? (int)record_channels(info, k) : 0;
	return a;
}

static void copy_info(struct record_writer *w, const struct record_info *info)
{
	struct record_info *i = &w->info;
	*i = *info;
	i->samples = i->nsizes = 0;
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

static int begin_file(struct record_writer *w, int level)
{
	uint8_t preamble[PREAMBLE_BYTES];
	TRY(codec_writer_open(&w->codec, level));
	TRY(io_create(&w->file, w->path));
	record_preamble(preamble, RECORD_VERSION);
	w->at = PREAMBLE_BYTES;
	return io_write(w->file, preamble, PREAMBLE_BYTES);
}

int record_create(struct record_writer **out, const char *path, const struct record_info *info,
                  int level)
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
	copy_info(w, &one);
	measure_open(&w->measure, &w->info);
	buf_putc(&w->texts, '\0');
	rc = begin_file(w, level);
	if (rc < 0)
		record_discard(w);
	else
		*out = w;
	return rc;
}

/* --- sizes --- */

static const struct shape *shape_of_array(const struct record_writer *w,
                                          const struct record_sample *s, int k)
{
	return s->shape ? &s->shape[k] : &record_array_get(&w->info, k)->shape;
}

static bool has_size(const struct record_writer *w, const struct record_sample *s, int size)
{
	for (int k = 0; k < record_arrays(&w->info); k++)
		if (!shape_equal(&w->size[size].shape[k], shape_of_array(w, s, k)))
			return false;
	return true;
}

/* As many rows as make chunks of about RECORD_CHUNK bytes, all alike but the last. */
static int64_t rows_of_chunk(const struct record_info *i, int size, int k)
{
	const int axis = record_axis(i, k);
	const int64_t n = ceil_div((int64_t)record_array_bytes(i, size, k), RECORD_CHUNK);
	const int64_t extent = axis < 0 ? 0 : record_shape(i, size, k)->d[axis];
	return n < 2 || extent < 2 ? 0 : ceil_div(extent, n < extent ? n : extent);
}

static int add_size(struct record_writer *w, const struct record_sample *s)
{
	const int n = record_arrays(&w->info), k = w->info.nsizes;
	struct shape *shape = ARENA_ARRAY(w->a, struct shape, n);
	int64_t *rows = ARENA_ARRAY(w->a, int64_t, n);
	const char *why;
	if (k == MOST_SIZES)
		return ERR(E_DATA, NULL, "'%s': samples of more than %d sizes", w->path, MOST_SIZES);
	if (k == w->size_room) {
		w->size_room = k ? 2 * k : 4;
		w->size = mem_realloc(w->size, (size_t)w->size_room * sizeof(*w->size));
	}
	for (int j = 0; j < n; j++)
		shape[j] = *shape_of_array(w, s, j);
	w->size[k] = (struct record_size){ 0, shape, rows };
	w->info.size = w->size;
	w->info.nsizes++;
	why = record_info_fault(&w->info);
	if (why) {
		w->info.nsizes--;
		return ERR(E_DATA, NULL, "'%s': sample %lld: %s", w->path, (long long)w->n, why);
	}
	for (int j = 0; j < n; j++)
		rows[j] = rows_of_chunk(&w->info, k, j);
	return 0;
}

/* The number of the sample's size, a new one if need be. */
static int find_size(struct record_writer *w, const struct record_sample *s, int *out)
{
	int k = w->info.nsizes - 1;
	while (k >= 0 && !has_size(w, s, k))
		k--;
	*out = k < 0 ? w->info.nsizes : k;
	return k < 0 ? add_size(w, s) : 0;
}

/* --- samples --- */

/* The rows of the cut, in a row. */
static const uint8_t *gather(struct record_writer *w, const struct record_cut *cut,
                             const uint8_t *array)
{
	const size_t n = (size_t)cut->rows * cut->row;
	if (cut->strips == 1 || cut->rows == cut->extent)
		return array + (size_t)cut->first * cut->row;
	if ((size_t)cut->strips * n > w->chunk_room) {
		w->chunk_room = (size_t)cut->strips * n;
		w->chunk = mem_realloc(w->chunk, w->chunk_room);
	}
	for (int64_t s = 0; s < cut->strips; s++)
		memcpy(w->chunk + (size_t)s * n,
		       array + (size_t)(s * cut->extent + cut->first) * cut->row, n);
	return w->chunk;
}

static int write_chunk(struct record_writer *w, int k, int64_t number, const struct record_cut *cut,
                       const uint8_t *array)
{
	struct record_chunk c = { .offset = w->at,
	                         .raw = (uint64_t)(cut->strips * cut->rows) * cut->row };
	const uint8_t *raw = gather(w, cut, array), *stored;
	stored = codec_encode(&w->codec, raw, c.raw, dtype_size(record_array_get(&w->info, k)->dtype),
	                      &c);
	if (!stored)
		return err_context(E_BUG, "writing '%s'", w->path);
	c.hash = record_chunk_hash(w->n, k, number, raw, c.raw, &c, stored);
	TRY(io_write(w->file, stored, c.stored));
	w->at += c.stored;
	if (w->chunks == w->index_room) {
		w->index_room = w->index_room ? w->index_room * 2 : 256;
		w->index = mem_realloc(w->index, (size_t)w->index_room * sizeof(*w->index));
	}
	w->index[w->chunks++] = c;
	return 0;
}

/* Where a text begins; 0: there is none. */
static uint64_t add_text(struct record_writer *w, const char *text)
{
	const uint64_t at = w->texts.len;
	if (!text || !*text)
		return 0;
	buf_add(&w->texts, text, strlen(text) + 1);
	return at;
}

/* Samples of a group often follow each other, and then share its text. */
static uint64_t add_group(struct record_writer *w, const char *group)
{
	if (!w->group || !group || strcmp(w->texts.data + w->group, group) != 0)
		w->group = add_text(w, group);
	return w->group;
}

static void add_row(struct record_writer *w, const struct record_sample *s, int size,
                    int64_t first)
{
	if (w->n == w->row_room) {
		w->row_room = w->row_room ? w->row_room * 2 : 256;
		w->row = mem_realloc(w->row, (size_t)w->row_room * sizeof(*w->row));
	}
	w->row[w->n++] = (struct record_row){ (uint64_t)first, add_text(w, s->key),
	                                     add_group(w, s->group), (uint64_t)size };
	w->size[size].samples++;
}

int record_add(struct record_writer *w, const struct record_sample *s)
{
	const struct record_info *i = &w->info;
	const int64_t first = w->chunks;
	const int sizes = i->nsizes;
	int size, rc;
	TRY(find_size(w, s, &size));
	rc = measure_labels(&w->measure, i, s->data[1], shape_count(record_shape(i, size, 1)), w->path,
	                    w->n);
	if (rc < 0) {
		w->info.nsizes = sizes;
		return rc;
	}
	for (int k = 0; k < record_arrays(i); k++) {
		const int64_t n = record_cuts(i, size, k);

		measure_array(&w->measure, i, k, record_shape(i, size, k), s->data[k]);
		for (int64_t c = 0; c < n; c++) {
			const struct record_cut cut = record_cut(i, size, k, c);

			TRY(write_chunk(w, k, c, &cut, s->data[k]));
		}
	}
	add_row(w, s, size, first);
	return 0;
}

int record_append(struct record_writer *w, const void *input, const void *target)
{
	BUG_IF(w->info.nextra > 0, "a sample without its further arrays");
	return record_add(w, &(struct record_sample){ .data = (const void *const[]){ input, target } });
}

/* --- the end of the file --- */

static void finish_info(struct record_writer *w)
{
	struct record_info *i = &w->info;
	const struct measure *m = &w->measure;
	i->samples = w->n;
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
	uint8_t preamble[PREAMBLE_BYTES], bytes[FOOTER2_BYTES];
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
	f.size = w->at + tail->len + FOOTER2_BYTES;
	record_preamble(preamble, RECORD_VERSION);
	record_footer_put(bytes, &f, RECORD_VERSION);
	f.hash = record_footer_hash(preamble, tail->data, tail->len, bytes, RECORD_VERSION);
	record_footer_put(bytes, &f, RECORD_VERSION);
	buf_add(tail, bytes, FOOTER2_BYTES);
}

void record_set_axes(struct record_writer *w, const struct axes *axes)
{
	w->info.axes = axes_copy(w->a, axes);
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
	codec_writer_release(&w->codec);
	measure_release(&w->measure);
	buf_release(&w->texts);
	mem_free(w->size);
	mem_free(w->chunk);
	mem_free(w->row);
	mem_free(w->index);
	mem_free(w->path);
	arena_free(w->a);
	mem_free(w);
}
