/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The samples of a record that is written. */
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/record_cut.h"
#include "data/record_piece.h"
#include "data/record_writer.h"

#define MOST_SIZES (1 << 16)

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
		rows[j] = record_rows(&w->info, &shape[j], j);
	return 0;
}

/* The index of the sample's size, which is added if it is new. */
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
		w->hash = mem_realloc(w->hash, (size_t)w->row_room * sizeof(*w->hash));
	}
	w->hash[w->n] = 0;
	w->row[w->n++] = (struct record_row){ (uint64_t)first, add_text(w, s->key),
	                                     add_group(w, s->group), (uint64_t)size };
	w->size[size].samples++;
}

int record_begin(struct record_writer *w, const struct record_sample *s)
{
	const int64_t first = w->chunks;
	int size;
	TRY(find_size(w, s, &size));
	add_row(w, s, size, first);
	return 0;
}

static int add_labels(struct record_writer *w, const struct record_coded *c)
{
	struct measure *m = &w->measure;
	if (dtype_is_float(w->info.target.dtype))
		return 0;
	if (!c->counted)
		return measure_labels(m, &w->info, c->raw, shape_count(&c->piece.shape), w->path, w->n - 1);
	m->counted &= c->classes;
	m->ignored += c->ignored;
	measure_add_counts(m, c->counts, c->ncounts);
	return 0;
}

int record_count_piece(struct record_writer *w, const struct record_coded *c,
                       const struct record_chunk *chunk)
{
	measure_add(&w->measure, &w->info, c->piece.array, c->moments);
	if (c->piece.array == 1)
		TRY(add_labels(w, c));
	w->at += chunk->stored;
	w->hash[w->n - 1] = hash_bytes((uint64_t[]){ w->hash[w->n - 1], c->content }, 16, 0);
	if (w->chunks == w->index_room) {
		w->index_room = w->index_room ? w->index_room * 2 : 256;
		w->index = mem_realloc(w->index, (size_t)w->index_room * sizeof(*w->index));
	}
	w->index[w->chunks++] = *chunk;
	return 0;
}

int record_put(struct record_writer *w, const struct record_coded *c)
{
	const struct record_piece *p = &c->piece;
	struct record_chunk chunk = c->chunk;
	chunk.offset = w->at;
	chunk.hash = record_chunk_hash(w->n - 1, p->array, p->number, c->content, c->stored_hash);
	TRY(record_again_end(w));
	TRY(io_write(w->file, c->stored, chunk.stored));
	return record_count_piece(w, c, &chunk);
}

const struct record_chunk *record_last_chunks(const struct record_writer *w, int64_t *n)
{
	const int64_t first = (int64_t)w->row[w->n - 1].first;
	*n = w->chunks - first;
	return w->index + first;
}

/* Labels are checked before any part of the sample is written. */
static int check_labels(struct record_writer *w, const struct record_sample *s)
{
	const struct record_info *i = &w->info;
	const bool checked = i->nclasses > 0 && !dtype_is_float(i->target.dtype);
	const int64_t n = checked ? shape_count(shape_of_array(w, s, 1)) : 0;
	return n ? measure_check_labels(i, s->data[1], n, w->path, w->n) : 0;
}

int record_add(struct record_writer *w, const struct record_sample *s)
{
	const struct record_info *i = &w->info;
	const struct record_size *size;
	if (!w->coder)
		w->coder = record_coder_new(i, w->level);
	if (!w->coder)
		return E_NOMEM;
	TRY(check_labels(w, s));
	TRY(record_begin(w, s));
	size = &i->size[w->row[w->n - 1].size];
	for (int64_t k = 0, n = record_pieces(i, size->shape); k < n; k++) {
		const struct record_piece p = record_piece_get(i, size->shape, k);
		const struct record_cut cut = record_cut(i, (int)(size - i->size), p.array, p.number);
		struct record_coded coded;

		TRY(record_code(w->coder, i, &p, gather(w, &cut, s->data[p.array]), w->n - 1, &coded));
		TRY(record_put(w, &coded));
	}
	return 0;
}

int record_append(struct record_writer *w, const void *input, const void *target)
{
	BUG_IF(w->info.nextra > 0, "a sample without its further arrays");
	return record_add(w, &(struct record_sample){ .data = (const void *const[]){ input, target } });
}
