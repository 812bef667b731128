/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Writes a record file in one pass: each sample is packed, measured, hashed and compressed as
 * it comes; the description with the statistics, the index and the footer follow at the end.
 * Means and variances are merged sample by sample (Chan, Golub, LeVeque 1983), so their error
 * does not grow with the number of samples. */
#include <math.h>
#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/mem.h"
#include "data/description.h"
#include "data/record.h"
#include "data/record_format.h"

struct moments {
	int64_t n;
	double mean, m2, min, max;
};

struct record_writer {
	struct arena *a;
	struct record_info info;
	struct io_file *file;
	char *path;
	ZSTD_CCtx *zstd;
	uint8_t *raw;                 /* one packed sample */
	void *frame;
	size_t frame_cap;
	double *values, *mask;        /* one channel of the sample, and the mask channel */
	struct moments *input, *target;
	int64_t *counts;              /* per class value, ncounts of them */
	int ncounts;
	bool counted;                 /* false once a target value cannot be a class */
	int64_t ignored;
	struct record_entry *index;
	int64_t n, cap;
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

static int64_t channels_of(const struct record_array *a)
{
	return a->shape.nd ? a->shape.d[0] : 1;
}

static int64_t points_of(const struct record_array *a)
{
	return channels_of(a) ? shape_count(&a->shape) / channels_of(a) : 0;
}

static void copy_info(struct record_writer *w, const struct record_info *info)
{
	struct record_info *i = &w->info;

	*i = *info;
	i->samples = 0;
	i->input.channels = copy_strings(w->a, info->input.channels, channels_of(&info->input));
	i->target.channels = copy_strings(w->a, info->target.channels, channels_of(&info->target));
	i->classes = copy_strings(w->a, info->classes, info->nclasses);
	i->sources = copy_strings(w->a, info->sources, info->nsources);
	i->command = info->command ? arena_strdup(w->a, info->command) : NULL;
	i->axes = axes_copy(w->a, &info->axes);
	i->input.nstats = (int)channels_of(&i->input);
	i->target.nstats = dtype_is_float(i->target.dtype) ? (int)channels_of(&i->target) : 0;
}

static void start_buffers(struct record_writer *w)
{
	const struct record_info *i = &w->info;
	const int64_t points = points_of(&i->input), tpoints = points_of(&i->target);
	const size_t raw = record_raw_bytes(i);

	w->raw = mem_calloc(1, raw);
	w->frame_cap = ZSTD_compressBound(raw);
	w->frame = mem_alloc(w->frame_cap);
	w->values = mem_calloc((size_t)(points > tpoints ? points : tpoints), sizeof(double));
	w->mask = i->mask < 0 ? NULL : mem_calloc((size_t)points, sizeof(double));
	w->input = mem_calloc((size_t)i->input.nstats, sizeof(*w->input));
	w->target = mem_calloc((size_t)i->target.nstats, sizeof(*w->target));
	w->ncounts = i->nclasses;
	w->counts = mem_calloc((size_t)w->ncounts, sizeof(*w->counts));
	w->counted = !dtype_is_float(i->target.dtype);
}

int record_create(struct record_writer **out, const char *path, const struct record_info *info,
                  int level)
{
	const char *why = record_info_fault(info);
	struct record_writer *w;
	uint8_t preamble[PREAMBLE_BYTES];
	int rc;

	*out = NULL;
	if (why)
		return ERR(E_DATA, NULL, "'%s': %s", path, why);
	w = mem_calloc(1, sizeof(*w));
	w->a = arena_new();
	w->path = mem_strdup(path);
	copy_info(w, info);
	start_buffers(w);
	w->zstd = ZSTD_createCCtx();
	if (!w->zstd) {
		rc = ERR(E_NOMEM, NULL, "no memory for the compressor");
		goto out;
	}
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
	rc = io_create(&w->file, path);
	if (rc < 0)
		goto out;
	record_preamble(preamble);
	w->at = PREAMBLE_BYTES;
	rc = io_write(w->file, preamble, PREAMBLE_BYTES);
out:
	if (rc < 0)
		record_discard(w);
	else
		*out = w;
	return rc;
}

/* --- statistics --- */

static void moments_merge(struct moments *m, const struct moments *s)
{
	const double n = (double)m->n + (double)s->n, d = s->mean - m->mean;

	if (s->n == 0)
		return;
	if (m->n == 0) {
		*m = *s;
		return;
	}
	m->mean += d * (double)s->n / n;
	m->m2 += s->m2 + d * d * (double)m->n * (double)s->n / n;
	m->min = fmin(m->min, s->min);
	m->max = fmax(m->max, s->max);
	m->n += s->n;
}

/* n values, those where mask (if any) is not 0 and that are finite. Two passes: sum, then
 * squared deviations. */
static void moments_add(struct moments *m, const double *v, const double *mask, int64_t n)
{
	struct moments s = {.min = INFINITY, .max = -INFINITY};
	double sum = 0;

	for (int64_t i = 0; i < n; i++) {
		if (!isfinite(v[i]) || (mask && mask[i] == 0))
			continue;
		s.n++;
		sum += v[i];
		s.min = fmin(s.min, v[i]);
		s.max = fmax(s.max, v[i]);
	}
	if (s.n == 0)
		return;
	s.mean = sum / (double)s.n;
	for (int64_t i = 0; i < n; i++)
		if (isfinite(v[i]) && !(mask && mask[i] == 0))
			s.m2 += (v[i] - s.mean) * (v[i] - s.mean);
	moments_merge(m, &s);
}

static void measure_array(struct record_writer *w, const struct record_array *a,
                          const uint8_t *data, struct moments *m, int mask)
{
	const int64_t points = points_of(a);
	const size_t bytes = (size_t)points * dtype_size(a->dtype);

	if (mask >= 0)
		dtype_convert(DTYPE_F64, w->mask, a->dtype, data + (size_t)mask * bytes, points);
	for (int c = 0; c < a->nstats; c++) {
		dtype_convert(DTYPE_F64, w->values, a->dtype, data + (size_t)c * bytes, points);
		moments_add(&m[c], w->values, mask >= 0 && c != mask ? w->mask : NULL, points);
	}
}

static int64_t label(enum dtype t, const void *p, int64_t i)
{
	return t == DTYPE_I64 ? ((const int64_t *)p)[i] : (int64_t)dtype_get(t, p, i);
}

static void grow_counts(struct record_writer *w, int64_t v)
{
	if (v < w->ncounts)
		return;
	w->counts = mem_realloc(w->counts, ((size_t)v + 1) * sizeof(*w->counts));
	memset(w->counts + w->ncounts, 0, (size_t)(v + 1 - w->ncounts) * sizeof(*w->counts));
	w->ncounts = (int)v + 1;
}

static int count_labels(struct record_writer *w, const void *target)
{
	const struct record_info *i = &w->info;
	const int64_t n = shape_count(&i->target.shape);

	if (dtype_is_float(i->target.dtype))
		return 0;
	for (int64_t k = 0; k < n; k++) {
		const int64_t v = label(i->target.dtype, target, k);

		if (v == i->ignore) {
			w->ignored++;
		} else if (i->nclasses > 0 && (v < 0 || v >= i->nclasses)) {
			return ERR(E_DATA, NULL, "'%s': sample %lld: target value %lld is neither one of the "
			           "%d classes nor the ignore value", w->path, (long long)w->n, (long long)v,
			           i->nclasses);
		} else if (v < 0 || v >= RECORD_MAX_CLASSES) {
			w->counted = false;
		} else {
			grow_counts(w, v);
			w->counts[v]++;
		}
	}
	return 0;
}

/* --- samples --- */

static void index_add(struct record_writer *w, const struct record_entry *e)
{
	if (w->n == w->cap) {
		w->cap = w->cap ? w->cap * 2 : 256;
		w->index = mem_realloc(w->index, (size_t)w->cap * sizeof(*w->index));
	}
	w->index[w->n++] = *e;
	w->at += e->frame_bytes;
}

int record_append(struct record_writer *w, const void *input, const void *target)
{
	const struct record_info *i = &w->info;
	const size_t raw = record_raw_bytes(i), at = record_target_offset(i);
	struct record_entry e = {.offset = w->at, .raw_bytes = raw};
	size_t size;

	TRY(count_labels(w, target));
	memcpy(w->raw, input, record_input_bytes(i));
	memcpy(w->raw + at, target, record_target_bytes(i));
	measure_array(w, &i->input, w->raw, w->input, i->mask);
	measure_array(w, &i->target, w->raw + at, w->target, -1);
	size = ZSTD_compress2(w->zstd, w->frame, w->frame_cap, w->raw, raw);
	if (ZSTD_isError(size))
		return ERR(E_BUG, NULL, "'%s': zstd: %s", w->path, ZSTD_getErrorName(size));
	e.frame_bytes = size;
	e.frame_hash = hash_bytes(w->frame, size, 0);
	e.raw_hash = hash_bytes(w->raw, raw, 0);
	TRY(io_write(w->file, w->frame, size));
	index_add(w, &e);
	return 0;
}

/* --- the end of the file --- */

static const struct channel_stats *finish_stats(struct arena *a, const struct moments *m, int n)
{
	struct channel_stats *s = ARENA_ARRAY(a, struct channel_stats, n + 1);

	for (int i = 0; i < n; i++) {
		const bool any = m[i].n > 0;

		s[i] = (struct channel_stats){
			.count = m[i].n,
			.min = any ? m[i].min : NAN,
			.max = any ? m[i].max : NAN,
			.mean = any ? m[i].mean : NAN,
			.std = any ? sqrt(m[i].m2 / (double)m[i].n) : NAN,
		};
	}
	return s;
}

static void finish_info(struct record_writer *w)
{
	struct record_info *i = &w->info;

	i->samples = w->n;
	i->input.stats = finish_stats(w->a, w->input, i->input.nstats);
	i->target.stats = finish_stats(w->a, w->target, i->target.nstats);
	i->ignored = w->ignored;
	i->nclasses = w->counted ? w->ncounts : i->nclasses;
	i->class_counts = w->counted && w->ncounts > 0 ? w->counts : NULL;
}

static void build_tail(struct record_writer *w, struct buf *tail)
{
	uint8_t preamble[PREAMBLE_BYTES], entry[ENTRY_BYTES], footer[FOOTER_BYTES];
	struct record_footer f = {.description = w->at, .samples = (uint64_t)w->n};

	description_write(tail, &w->info);
	while ((w->at + tail->len) % 8 != 0)
		buf_putc(tail, ' ');
	f.index = w->at + tail->len;
	f.size = f.index + (uint64_t)w->n * ENTRY_BYTES + FOOTER_BYTES;
	for (int64_t i = 0; i < w->n; i++) {
		record_entry_put(entry, &w->index[i]);
		buf_add(tail, entry, ENTRY_BYTES);
	}
	record_preamble(preamble);
	record_footer_put(footer, &f);
	f.hash = record_footer_hash(preamble, tail->data, tail->len, footer);
	record_footer_put(footer, &f);
	buf_add(tail, footer, FOOTER_BYTES);
}

int record_commit(struct record_writer *w)
{
	struct buf tail = BUF_INIT;
	int rc;

	if (w->n == 0) {
		rc = ERR(E_DATA, NULL, "'%s': no samples to write", w->path);
		goto out;
	}
	finish_info(w);
	build_tail(w, &tail);
	rc = io_write(w->file, tail.data, tail.len);
	if (rc < 0)
		goto out;
	rc = io_commit(w->file);
	w->file = NULL;
out:
	buf_release(&tail);
	record_discard(w);
	return rc;
}

void record_discard(struct record_writer *w)
{
	if (!w)
		return;
	io_discard(w->file);
	ZSTD_freeCCtx(w->zstd);
	mem_free(w->raw);
	mem_free(w->frame);
	mem_free(w->values);
	mem_free(w->mask);
	mem_free(w->input);
	mem_free(w->target);
	mem_free(w->counts);
	mem_free(w->index);
	mem_free(w->path);
	arena_free(w->a);
	mem_free(w);
}
