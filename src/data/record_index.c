/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks the table of samples and the index of chunks completely when a file is opened, so that
 * later queries need no checks. */
#include "base/err.h"
#include "data/record_cut.h"
#include "data/record_file.h"

int record_check_parts(const struct record *r, uint64_t end)
{
	const struct record_footer *f = &r->footer;
	const uint64_t table = f->index - f->table, index = end - f->index;
	if (f->table == f->texts)
		return record_bad(r, end, "damaged footer: no texts");
	if (table % SAMPLE_BYTES != 0 || table / SAMPLE_BYTES != f->samples)
		return record_bad(r, end, "damaged footer: the table does not hold the samples it should");
	if (index % CHUNK_BYTES != 0 || index / CHUNK_BYTES != f->chunks)
		return record_bad(r, end, "damaged footer: the index does not hold the chunks it should");
	return 0;
}

/* --- checks --- */

static struct record_row row_of(const struct record *r, int64_t i)
{
	struct record_row row;
	record_row_read(record_tail_at(r, r->footer.table + (uint64_t)i * SAMPLE_BYTES), &row);
	return row;
}

static struct record_chunk entry_of(const struct record *r, uint64_t e)
{
	struct record_chunk c;
	record_chunk_read(record_tail_at(r, r->footer.index + e * CHUNK_BYTES), &c);
	return c;
}

static void keep_largest(uint64_t *largest, uint64_t n)
{
	*largest = n > *largest ? n : *largest;
}

/* What the chunks so far add up to. */
struct walk {
	uint64_t entry, offset;
};

static int check_chunk(struct record *r, struct walk *w, const struct record_cut *cut)
{
	const uint64_t raw = (uint64_t)(cut->strips * cut->rows) * cut->row,
	               at = r->footer.index + w->entry * CHUNK_BYTES;
	if (w->entry == r->footer.chunks)
		return record_bad(r, at, "damaged index: fewer chunks than samples have");
	const struct record_chunk c = entry_of(r, w->entry++);
	if (c.offset != w->offset || c.stored > r->footer.description - w->offset)
		return record_bad(r, at, "damaged index: chunks are not back to back");
	if (c.codec >= RECORD_CODECS)
		return record_bad(r, at + 24, "damaged index: no such codec");
	if (c.raw != raw || raw / CODEC_MAX_EXPANSION > c.stored ||
	    (c.codec == RECORD_RAW && c.stored != raw))
		return record_bad(r, at + 8, "damaged index: impossible size of a chunk");
	w->offset += c.stored;
	if (c.codec != RECORD_RAW) {
		keep_largest(&r->largest, c.stored);
		keep_largest(&r->largest_planes, raw);
	}
	return 0;
}

static int check_sample(struct record *r, struct walk *w, int64_t i, int64_t *samples)
{
	const struct record_info *info = &r->info;
	const struct record_row row = row_of(r, i);
	const uint64_t at = r->footer.table + (uint64_t)i * SAMPLE_BYTES,
	               texts = r->footer.table - r->footer.texts;
	if (row.first != w->entry)
		return record_bad(r, at, "damaged table of samples: not the next chunk");
	if (row.key >= texts || row.group >= texts)
		return record_bad(r, at + 8, "damaged table of samples: a text beyond the texts");
	if (row.size >= (uint64_t)info->nsizes)
		return record_bad(r, at + 24, "damaged table of samples: no such size");
	samples[row.size]++;
	for (int k = 0; k < record_arrays(info); k++) {
		const int64_t n = record_cuts(info, (int)row.size, k);

		for (int64_t c = 0; c < n; c++) {
			const struct record_cut cut = record_cut(info, (int)row.size, k, c);

			TRY(check_chunk(r, w, &cut));
		}
	}
	return 0;
}

/* A key and a group end where the texts do at the latest; byte 0 is the text of none. */
static int check_texts(const struct record *r)
{
	if (*record_tail_at(r, r->footer.texts) != 0 || *record_tail_at(r, r->footer.table - 1) != 0)
		return record_bad(r, r->footer.texts, "damaged texts: no zero at their ends");
	return 0;
}

static int check_ends(const struct record *r, const struct walk *w, const int64_t *samples)
{
	if (w->entry != r->footer.chunks)
		return record_bad(r, r->footer.index, "damaged index: more chunks than samples have");
	if (w->offset != r->footer.description)
		return record_bad(r, r->footer.index,
		                  "damaged index: bytes between chunks and description");
	for (int k = 0; k < r->info.nsizes; k++)
		if (samples[k] != r->info.size[k].samples)
			return record_bad(r, r->footer.description, "description and table of samples disagree "
			                  "on how many samples have a size");
	return 0;
}

int record_check_index(struct record *r)
{
	int64_t *samples = ARENA_ARRAY(r->a, int64_t, r->info.nsizes + 1);
	struct walk w = { 0, PREAMBLE_BYTES };
	if (r->info.nsizes == 0)
		return record_bad(r, r->footer.description, "a description of another version");
	TRY(check_texts(r));
	for (int64_t i = 0; i < r->info.samples; i++)
		TRY(check_sample(r, &w, i, samples));
	return check_ends(r, &w, samples);
}

/* --- questions --- */

int record_size_of(const struct record *r, int64_t i)
{
	return (int)row_of(r, i).size;
}

static const char *text_of(const struct record *r, uint64_t at)
{
	return at ? (const char *)record_tail_at(r, r->footer.texts + at) : NULL;
}

const char *record_key(const struct record *r, int64_t i)
{
	return text_of(r, row_of(r, i).key);
}

const char *record_group(const struct record *r, int64_t i)
{
	return text_of(r, row_of(r, i).group);
}

static uint64_t first_after(const struct record *r, int64_t i)
{
	return i + 1 < r->info.samples ? row_of(r, i + 1).first : r->footer.chunks;
}

int64_t record_chunks(const struct record *r, int64_t i)
{
	return (int64_t)(first_after(r, i) - row_of(r, i).first);
}

struct record_chunk record_chunk_get(const struct record *r, int64_t i, int64_t k)
{
	struct record_chunk c;
	int64_t n;
	const struct record_row row = row_of(r, i);
	c = entry_of(r, row.first + (uint64_t)k);
	for (c.array = 0; k >= (n = record_cuts(&r->info, (int)row.size, c.array)); c.array++)
		k -= n;
	c.number = k;
	return c;
}
