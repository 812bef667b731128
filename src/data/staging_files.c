/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Divides the files into extents. */
#include "base/debug.h"
#include "base/mem.h"
#include "data/dataset_files.h"
#include "data/staging_state.h"

/* Extents begin where chunks begin. */
static void cut(struct staging_file *f)
{
	const uint64_t least = debug.stage_extent ? (uint64_t)debug.stage_extent : STAGING_EXTENT;
	const int64_t samples = record_info(f->r)->samples;
	uint64_t begin = 0, end = 0;
	int64_t room = 0;
	f->n = 0;
	for (int64_t i = 0; i < samples; i++) {
		const int64_t chunks = record_chunks(f->r, i);

		for (int64_t k = 0; k < chunks; k++) {
			const struct record_chunk c = record_chunk_get(f->r, i, k);

			if (f->n + 2 > room)
				f->start = mem_realloc(f->start, (size_t)(room = 2 * room + 16) * sizeof *f->start);
			if (end == 0 || end - begin >= least)
				f->start[f->n++] = begin = c.offset;
			end = c.offset + c.stored;
			f->start[f->n] = end;
		}
	}
	f->state = mem_calloc((size_t)f->n + 1, sizeof *f->state);
}

static bool same_content(const struct record *a, const struct record *b)
{
	return record_hash(a) == record_hash(b) && record_file_bytes(a) == record_file_bytes(b);
}

/* The file itself, or the first one of the same content. */
static struct staging_file *original(struct staging *s, struct staging_file *f)
{
	struct staging_file *o = s->file;
	while (!same_content(o->r, f->r))
		o++;
	return o;
}

void staging_files_find(struct staging *s, struct dataset *const *set, int n)
{
	int files = 0;
	for (int i = 0; i < n; i++)
		files += set[i] ? set[i]->n : 0;
	s->file = mem_calloc((size_t)files + 1, sizeof *s->file);
	for (int i = 0; i < n; i++)
		for (int k = 0; set[i] && k < set[i]->n; k++) {
			struct staging_file *f = &s->file[s->nfile];

			*f = (struct staging_file){ .s = s, .r = set[i]->file[k], .number = s->nfile++,
				.first = s->extents, .cache.fd = -1 };
			f->source = (struct record_source){ staging_read, original(s, f) };
			if (f->source.self == f)
				cut(f);
			s->extents += f->n;
		}
}

void staging_lend(struct staging *s, struct dataset *const *set, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; set[i] && k < set[i]->n; k++) {
			struct record *r = set[i]->file[k];
			int at = 0;

			while (at < s->nfile && !same_content(s->file[at].r, r))
				at++;
			if (at < s->nfile)
				record_read_from(r, &s->file[at].source);
		}
}

void staging_files_free(struct staging *s)
{
	for (int i = 0; i < s->nfile; i++) {
		struct staging_file *f = &s->file[i];

		record_read_from(f->r, NULL);
		staging_cache_close(&f->cache);
		mem_free(f->start);
		mem_free((void *)f->state);
	}
	mem_free(s->file);
}

int64_t staging_extent_of(const struct staging_file *f, uint64_t at)
{
	int64_t lo = 0, hi = f->n - 1;
	while (lo < hi) {
		const int64_t mid = (lo + hi + 1) / 2;

		if (f->start[mid] <= at)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

struct staging_file *staging_file_of(const struct staging *s, int64_t extent)
{
	int lo = 0, hi = s->nfile - 1;
	while (lo < hi) {
		const int mid = (lo + hi + 1) / 2;

		if (s->file[mid].first <= extent)
			lo = mid;
		else
			hi = mid - 1;
	}
	return &s->file[lo];
}
