/* SPDX-License-Identifier: BSD-3-Clause */
#include "data-tools/convert/convert_resume.h"

#include <string.h>
#include <zstd.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/io.h"
#include "config.h"

uint64_t resume_identity(const struct conversion *c)
{
	const uint64_t version[] = { RECORD_VERSION, ZSTD_versionNumber() };
	uint64_t h = hash_bytes(version, sizeof version, hash_name(PACKAGE_VERSION));
	h = hash_bytes(c->command, strlen(c->command), h);
	h = hash_bytes(c->sample, (size_t)c->nsamples * sizeof *c->sample, h);
	h = side_stamp(c->input, h);
	h = c->like_file ? io_stamp(c->like_file, h) : h;
	return c->target ? side_stamp(c->target, h) : h;
}

struct record_sample resume_sample(const struct conversion *c, int64_t at,
                                   const struct shape shape[2])
{
	const int64_t sample = c->sample[at];
	return (struct record_sample){ .shape = shape, .key = side_key(c->input, sample),
	                              .group = c->split.group ? c->split.group[sample] : NULL };
}

/* What the journal says of a sample's shapes is what made its chunks, or their hashes are wrong. */
static bool is_possible(const struct conversion *c, const struct journal_sample *s)
{
	for (int k = 0; k < 2; k++) {
		const struct shape *first = &record_array_get(&c->info, k)->shape;

		if (s->shape[k].nd != first->nd)
			return false;
	}
	return s->nchunks == record_pieces(&c->info, s->shape);
}

static int take_sample(struct files *f, const struct conversion *c, int64_t at,
                       const struct journal_sample *s, const struct record_chunk *chunks,
                       bool *good)
{
	const struct record_sample sample = resume_sample(c, at, s->shape);
	struct record_writer *w;
	*good = is_possible(c, s);
	if (!*good)
		return 0;
	TRY(files_next(f, at, &w));
	TRY(record_begin(w, &sample));
	for (int64_t k = 0; k < s->nchunks && *good; k++) {
		const struct record_piece p = record_piece_get(&c->info, s->shape, k);

		TRY(record_again(w, &p, &chunks[k], good));
	}
	return 0;
}

/* Takes the first n samples, or those up to one that is damaged; *done: how many these are. */
static int take(struct files *f, struct journal *j, const struct conversion *c, int64_t n,
                int64_t *done, struct piece_counts *counts, bool *good)
{
	const struct record_chunk *chunks;
	struct journal_sample s;
	*done = 0;
	*good = true;
	*counts = (struct piece_counts){ 0 };
	journal_rewind(j);
	while (*done < n && journal_next(j, &s, &chunks)) {
		TRY(take_sample(f, c, *done, &s, chunks, good));
		if (!*good)
			return 0;
		piece_counts_add(counts, &s.counts);
		(*done)++;
	}
	return 0;
}

/* A writer that has met a damaged sample is of no use: those before it are taken again. */
int resume_take(struct files *f, struct journal *j, const struct conversion *c, int64_t *done,
                struct piece_counts *counts)
{
	bool good = false;
	*done = c->nsamples;
	files_replay(f, true);
	while (!good) {
		TRY(take(f, j, c, *done, done, counts, &good));
		if (!good)
			files_drop(f);
	}
	files_replay(f, false);
	return journal_cut(j, *done);
}
