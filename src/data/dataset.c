/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Concatenates record files to one set of samples. Everything that must agree between files is
 * checked when they are opened; statistics and class counts are merged from the files'
 * descriptions. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/shown.h"
#include "data/dataset_files.h"
#include "data/description.h"

struct dataset_scratch {
	struct record_decoder *decoder;
	uint8_t *raw;
	struct dataset_scratch *next;
};

/* --- opening --- */

/* The first file whose channels have names of their own, else the first. */
static const struct record *first_named(const struct dataset *d)
{
	int k = 0;
	while (k < d->n && record_info(d->file[k])->input.named_by_file)
		k++;
	return d->file[k < d->n ? k : 0];
}

static int add_file(struct dataset *d, const char *path)
{
	struct record *r;
	TRY(record_open(&r, path));
	io_input(path);
	if (d->n == d->cap) {
		d->cap = d->cap ? 2 * d->cap : 8;
		d->file = mem_realloc(d->file, (size_t)d->cap * sizeof(*d->file));
	}
	d->file[d->n++] = r;
	TRY(dataset_fit(r, d->file[0]));
	return dataset_fit_names(r, first_named(d));
}

static int add_pattern(struct dataset *d, const char *pattern)
{
	struct io_paths found;
	int rc = io_expand(&found, pattern);
	for (size_t i = 0; rc == 0 && i < found.n; i++)
		rc = add_file(d, found.v[i]);
	io_paths_release(&found);
	return rc;
}

void dataset_note_inputs(const struct strings *paths)
{
	struct io_paths found;
	const int mark = err_count();
	for (int i = 0; i < paths->n; i++) {
		if (io_expand(&found, paths->v[i]) == 0)
			for (size_t k = 0; k < found.n; k++)
				io_input(found.v[k]);
		io_paths_release(&found);
	}
	err_truncate(mark);
}

static void merge_stats(struct channel_stats *m, const struct channel_stats *s)
{
	const double nm = (double)m->count, ns = (double)s->count, n = nm + ns, d = s->mean - m->mean;
	if (s->count == 0)
		return;
	if (m->count == 0) {
		*m = *s;
		return;
	}
	m->std = sqrt((nm * m->std * m->std + ns * s->std * s->std + d * d * nm * ns / n) / n);
	m->mean += d * ns / n;
	m->min = fmin(m->min, s->min);
	m->max = fmax(m->max, s->max);
	m->count += s->count;
}

static const struct channel_stats no_stats = { 0, NAN, NAN, NAN, NAN };

/* The input's statistics, or the target's, merged over all files. */
static const struct channel_stats *all_stats(struct dataset *d, bool target)
{
	const struct record_info *first = record_info(d->file[0]);
	const int n = target ? first->target.nstats : first->input.nstats;
	struct channel_stats *m = ARENA_ARRAY(d->a, struct channel_stats, n + 1);
	for (int c = 0; c < n; c++) {
		m[c] = no_stats;
		for (int k = 0; k < d->n; k++) {
			const struct record_info *f = record_info(d->file[k]);

			merge_stats(&m[c], target ? &f->target.stats[c] : &f->input.stats[c]);
		}
	}
	return m;
}

/* NULL where a file does not say. */
static const int64_t *all_counts(struct dataset *d, int nclasses)
{
	int64_t *counts = ARENA_ARRAY(d->a, int64_t, nclasses + 1);
	for (int f = 0; f < d->n; f++) {
		const struct record_info *i = record_info(d->file[f]);

		if (!i->class_counts)
			return NULL;
		for (int k = 0; k < i->nclasses; k++)
			counts[k] += i->class_counts[k];
	}
	return counts;
}

static void inform(struct dataset *d)
{
	const struct record_info *i = &d->whole;
	d->info = (struct dataset_info){
		.samples = i->samples, .input = i->input.shape, .target = i->target.shape,
		.has_target = record_has_target(i),
		.input_dtype = i->input.dtype, .target_dtype = i->target.dtype,
		.input_channels = i->input.channels, .target_channels = i->target.channels,
		.classes = i->classes, .nclasses = i->nclasses,
		.target_ignore = i->ignore, .mask = i->mask, .axes = i->axes,
	};
}

static struct axes all_axes(struct dataset *d)
{
	struct axes *of = mem_calloc((size_t)d->n, sizeof *of), all;
	for (int k = 0; k < d->n; k++)
		of[k] = record_info(d->file[k])->axes;
	all = axes_join(d->a, of, d->n);
	mem_free(of);
	return all;
}

static void summarise(struct dataset *d)
{
	struct record_info *w = &d->whole;
	*w = *record_info(d->file[0]);
	w->input.channels = record_info(first_named(d))->input.channels;
	w->input.units = record_info(first_named(d))->input.units;
	w->input.named_by_file = record_info(first_named(d))->input.named_by_file;
	w->nsources = 0;
	w->sources = NULL;
	w->hashes = NULL;
	w->command = NULL;
	w->nsizes = w->nextra = 0;
	w->axes = all_axes(d);
	w->samples = w->ignored = 0;
	d->first = ARENA_ARRAY(d->a, int64_t, d->n + 1);
	for (int k = 0; k < d->n; k++) {
		const struct record_info *f = record_info(d->file[k]);

		d->first[k + 1] = d->first[k] + f->samples;
		w->ignored += f->ignored;
		if (f->nclasses > w->nclasses)
			w->nclasses = f->nclasses;
	}
	w->samples = d->first[d->n];
	w->input.stats = all_stats(d, false);
	w->target.stats = all_stats(d, true);
	w->class_counts = all_counts(d, w->nclasses);
	inform(d);
}

static struct dataset *new_dataset(void)
{
	struct dataset *d = mem_calloc(1, sizeof(*d));
	d->a = arena_new();
	pthread_mutex_init(&d->lock, NULL);
	d->counts = data_counts_new();
	return d;
}

/* The index of the size with these shapes, which is added if it is new. */
static int number_size(struct dataset *d, const struct shape *input, const struct shape *target)
{
	int k = 0;
	while (k < d->nsizes && !(shape_equal(&d->size[k].input, input) &&
	                          shape_equal(&d->size[k].target, target)))
		k++;
	if (k < d->nsizes)
		return k;
	d->size[k] = d->info;
	d->size[k].input = *input;
	d->size[k].target = *target;
	return d->nsizes++;
}

/* Axes of the samples of size k: those of the files that contain only this size, if no file mixes
 * it with others. */
static struct axes size_axes(struct dataset *d, int k)
{
	struct axes *of = mem_calloc((size_t)d->n + 1, sizeof *of), all = { 0 };
	bool mixed = false;
	int n = 0;
	for (int f = 0; f < d->n; f++) {
		const int sizes = record_info(d->file[f])->nsizes;
		bool has = false;
		for (int i = 0; i < sizes; i++)
			has |= d->size_of[f][i] == k;
		mixed |= has && sizes > 1;
		if (has)
			of[n++] = record_info(d->file[f])->axes;
	}
	if (!mixed)
		all = axes_join(d->a, of, n);
	mem_free(of);
	return all;
}

/* A set made from a description has no files; its samples have one size. */
static void sort_sizes(struct dataset *d)
{
	int all = 1;
	for (int f = 0; f < d->n; f++)
		all += record_info(d->file[f])->nsizes;
	d->size_of = ARENA_ARRAY(d->a, int *, d->n + 1);
	d->size = ARENA_ARRAY(d->a, struct dataset_info, all);
	d->size[0] = d->info;
	d->nsizes = d->n == 0;
	for (int f = 0; f < d->n; f++) {
		const struct record_info *i = record_info(d->file[f]);

		d->size_of[f] = ARENA_ARRAY(d->a, int, i->nsizes);
		for (int k = 0; k < i->nsizes; k++)
			d->size_of[f][k] = number_size(d, record_shape(i, k, 0), record_shape(i, k, 1));
	}
	for (int k = 0; k < d->nsizes && d->nsizes > 1; k++)
		d->size[k].axes = size_axes(d, k);
}

int dataset_open(struct dataset **out, const struct strings *paths)
{
	struct dataset *d = new_dataset();
	int rc = 0;
	*out = NULL;
	d->pattern_end = ARENA_ARRAY(d->a, int, paths->n + 1);
	for (int i = 0; rc == 0 && i < paths->n; i++) {
		rc = add_pattern(d, paths->v[i]);
		d->pattern_end[i] = d->n;
		if (rc < 0 && paths->loc)
			err_locate(rc, &paths->loc[i]);
	}
	if (rc == 0 && d->n == 0)
		rc = ERR(E_NOINPUT, NULL, "no record files are named");
	if (rc < 0) {
		dataset_free(d);
		return rc;
	}
	summarise(d);
	sort_sizes(d);
	*out = d;
	return 0;
}

/* Line breaks are between the parts of the text alone, never within a string. */
void dataset_describe(const struct dataset *d, struct buf *out)
{
	const size_t start = out->len;
	struct record_info whole = d->whole;
	struct arena *a = arena_new();
	whole.axes = axes_of_places(a, &d->whole.axes);
	description_write(out, &whole);
	arena_free(a);
	while (out->len > start && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
	for (size_t i = start; i < out->len; i++)
		if (out->data[i] == '\n')
			out->data[i] = ' ';
}

int dataset_from_description(struct dataset **out, const char *name, const char *text)
{
	struct dataset *d = new_dataset();
	const size_t n = strlen(text);
	int rc = description_read(d->a, name, 0, arena_strdup(d->a, text), n, &d->whole);
	*out = NULL;
	if (rc < 0) {
		dataset_free(d);
		return err_context(rc, "in the description of the training set");
	}
	d->described = hash_bytes(text, n, 0);
	d->name = arena_printf(d->a, "the training set of %s", name);
	inform(d);
	sort_sizes(d);
	*out = d;
	return 0;
}

bool dataset_has_samples(const struct dataset *d)
{
	return d->n > 0;
}

void dataset_free(struct dataset *d)
{
	if (!d)
		return;
	while (d->idle) {
		struct dataset_scratch *s = d->idle;

		d->idle = s->next;
		dataset_scratch_free(s);
	}
	for (int i = 0; i < d->n; i++)
		record_free(d->file[i]);
	mem_free(d->file);
	pthread_mutex_destroy(&d->lock);
	data_counts_free(d->counts);
	arena_free(d->a);
	mem_free(d);
}

/* --- questions --- */

const struct dataset_info *dataset_info(const struct dataset *d)
{
	return &d->info;
}

const struct channel_stats *dataset_statistics(const struct dataset *d)
{
	return d->whole.input.stats;
}

const struct record_array *dataset_target(const struct dataset *d)
{
	return &d->whole.target;
}

static int take(struct dataset *d, struct record_array *a, const struct record_array *from,
                const char *name, const char *what)
{
	const bool alike = a->dtype == from->dtype || (dtype_is_float(a->dtype) &&
	                                               dtype_is_float(from->dtype));
	char have[SHAPE_TEXT], want[SHAPE_TEXT];
	if (a->nstats != from->nstats || !alike)
		return ERR(E_DATA, NULL, "the statistics of %s are those of %ss of %s %s, but the training "
		           "set has %s %s", name, what, dtype_name(from->dtype),
		           shape_text(&from->shape, have), dtype_name(a->dtype),
		           shape_text(&a->shape, want));
	a->stats = arena_copy(d->a, from->stats, (size_t)a->nstats * sizeof(*a->stats));
	return 0;
}

int dataset_take_statistics(struct dataset *d, const struct dataset *from, const char *name,
                            bool target)
{
	TRY(take(d, &d->whole.input, &from->whole.input, name, "input"));
	return target ? take(d, &d->whole.target, &from->whole.target, name, "target") : 0;
}

uint64_t dataset_fingerprint(const struct dataset *d)
{
	uint64_t h = d->described;
	for (int i = 0; i < d->n; i++) {
		const uint64_t f = record_hash(d->file[i]);

		h = hash_bytes(&f, sizeof(f), h);
	}
	for (int k = 0; k < d->nsource; k++) {
		const struct dataset_source *s = &d->source[k];
		const double of[3] = { (double)s->first, (double)s->samples, s->share };

		h = hash_bytes(of, sizeof of, h);
	}
	return h;
}

static int file_of(const struct dataset *d, int64_t i)
{
	int lo = 0, hi = d->n - 1;
	while (lo < hi) {
		const int mid = (lo + hi + 1) / 2;

		if (d->first[mid] <= i)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

const char *dataset_locate(const struct dataset *d, int64_t i, int64_t *within)
{
	int f;
	*within = i;
	if (d->n == 0)
		return "the training set";
	f = file_of(d, i);
	*within = i - d->first[f];
	return record_path(d->file[f]);
}

const char *dataset_key(const struct dataset *d, int64_t i)
{
	const int f = file_of(d, i);
	return d->n ? record_key(d->file[f], i - d->first[f]) : NULL;
}

int dataset_sizes(const struct dataset *d)
{
	return d->nsizes;
}

const struct dataset_info *dataset_info_of(const struct dataset *d, int k)
{
	return &d->size[k];
}

int dataset_size_of(const struct dataset *d, int64_t i)
{
	const int f = file_of(d, i);
	return d->size_of[f][record_size_of(d->file[f], i - d->first[f])];
}

/* --- samples --- */

struct dataset_scratch *dataset_scratch_new(const struct dataset *d)
{
	struct dataset_scratch *s = mem_calloc(1, sizeof(*s));
	size_t most = 0;
	s->decoder = record_decoder_new();
	for (int f = 0; f < d->n; f++)
		record_decoder_reserve(s->decoder, d->file[f]);
	for (int f = 0; f < d->n; f++) {
		const size_t bytes = record_raw_bytes(record_info(d->file[f]));

		most = bytes > most ? bytes : most;
	}
	s->raw = mem_alloc(most);
	return s;
}

void dataset_scratch_free(struct dataset_scratch *s)
{
	if (!s)
		return;
	record_decoder_free(s->decoder);
	mem_free(s->raw);
	mem_free(s);
}

void *dataset_scratch_raw(struct dataset_scratch *s)
{
	return s->raw;
}

int64_t dataset_pieces(const struct dataset *d, int64_t i)
{
	const int f = file_of(d, i);
	return record_chunks(d->file[f], i - d->first[f]);
}

int dataset_decode_piece(const struct dataset *d, struct dataset_scratch *s, int64_t i, int64_t k,
                         const struct dataset_place *to)
{
	const int f = file_of(d, i);
	const int64_t within = i - d->first[f];
	const struct record *r = d->file[f];
	const struct record_chunk c = record_chunk_get(r, within, k);
	const uint64_t before = record_decoder_bytes(s->decoder);
	/* The input is the first array of a raw sample. */
	if (to->taker && c.array == 0)
		TRY(record_take_chunk(r, s->decoder, within, k, to->taker));
	else
		TRY(record_read_chunk(r, s->decoder, within, k,
		                      to->input && c.array == 0 ? to->input : to->raw));
	data_counts_add(d->counts, (struct data_bytes){
		.read = (int64_t)(record_decoder_bytes(s->decoder) - before),
		.decoded = (int64_t)c.raw });
	return 0;
}

void dataset_arrays(const struct dataset *d, int64_t i, const void *raw, const void **input,
                    const void **target)
{
	const int f = file_of(d, i);
	const int size = record_size_of(d->file[f], i - d->first[f]);
	*input = raw;
	*target = (const uint8_t *)raw + record_array_at(record_info(d->file[f]), size, 1);
}

int dataset_find_array(const struct dataset *d, const char *name, struct dataset_array *out)
{
	int *number = ARENA_ARRAY(d->a, int, d->n + 1);
	*out = (struct dataset_array){ .number = number };
	for (int f = 0; f < d->n; f++) {
		const struct record_info *i = record_info(d->file[f]);
		int k = 2;
		while (k < record_arrays(i) && strcmp(record_array_name(i, k), name) != 0)
			k++;
		if (k == record_arrays(i))
			return ERR(E_DATA, NULL, "'%s' has no array '%s'", record_path(d->file[f]),
			           shown(name));
		const struct record_array *a = record_array_get(i, k);
		if (f > 0 && (a->dtype != out->dtype || !shape_equal(&a->shape, &out->shape)))
			return ERR(E_DATA, NULL, "array '%s' of '%s' is not what that of '%s' is", shown(name),
			           record_path(d->file[f]), record_path(d->file[0]));
		out->dtype = a->dtype;
		out->shape = a->shape;
		number[f] = k;
	}
	return 0;
}

const void *dataset_array_of(const struct dataset *d, const struct dataset_array *a, int64_t i,
                             const void *raw)
{
	const int f = file_of(d, i);
	return (const char *)raw + record_array_at(record_info(d->file[f]), 0, a->number[f]);
}

int dataset_decode(const struct dataset *d, struct dataset_scratch *s, int64_t i,
                   const void **input, const void **target)
{
	const struct dataset_place to = { .raw = s->raw };
	const int64_t n = dataset_pieces(d, i);
	for (int64_t k = 0; k < n; k++)
		TRY(dataset_decode_piece(d, s, i, k, &to));
	dataset_arrays(d, i, s->raw, input, target);
	return 0;
}

struct dataset_scratch *dataset_borrow(struct dataset *d)
{
	struct dataset_scratch *s;
	pthread_mutex_lock(&d->lock);
	s = d->idle;
	if (s)
		d->idle = s->next;
	pthread_mutex_unlock(&d->lock);
	return s ? s : dataset_scratch_new(d);
}

void dataset_give_back(struct dataset *d, struct dataset_scratch *s)
{
	pthread_mutex_lock(&d->lock);
	s->next = d->idle;
	d->idle = s;
	pthread_mutex_unlock(&d->lock);
}

int dataset_read(struct dataset *d, int64_t i, void *input, void *target)
{
	const struct dataset_info *info;
	struct dataset_scratch *s;
	const void *in, *tg;
	int rc;
	BUG_IF(i < 0 || i >= d->info.samples, "sample %lld of %lld", (long long)i,
	       (long long)d->info.samples);
	info = dataset_info_of(d, dataset_size_of(d, i));
	s = dataset_borrow(d);
	rc = dataset_decode(d, s, i, &in, &tg);
	if (rc == 0 && input)
		memcpy(input, in, (size_t)shape_count(&info->input) * dtype_size(info->input_dtype));
	if (rc == 0 && target)
		memcpy(target, tg, (size_t)shape_count(&info->target) * dtype_size(info->target_dtype));
	dataset_give_back(d, s);
	return rc;
}
