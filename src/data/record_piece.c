/* SPDX-License-Identifier: BSD-3-Clause */
#include "data/record_piece.h"

#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/round.h"
#include "data/record_codec.h"
#include "data/record_format.h"
#include "data/record_measure.h"

#define FEW_LABELS 4096            /* that the writer counts as quickly as it adds counts */

int record_statistics(const struct record_info *i, int k)
{
	const bool any = k == 0 || dtype_is_float(record_array_get(i, k)->dtype);
	return any ? (int)record_channels(i, k) : 0;
}

/* The number of rows that gives chunks of about RECORD_CHUNK bytes, all equal except the last. */
int64_t record_rows(const struct record_info *i, const struct shape *shape, int k)
{
	const int axis = record_axis(i, k);
	const int64_t bytes = shape_count(shape) * (int64_t)dtype_size(record_array_get(i, k)->dtype),
	              n = ceil_div(bytes, RECORD_CHUNK), extent = axis < 0 ? 0 : shape->d[axis];
	return n < 2 || extent < 2 ? 0 : ceil_div(extent, n < extent ? n : extent);
}

static int64_t pieces_of(const struct record_info *i, const struct shape *shape, int k)
{
	const int64_t rows = record_rows(i, shape, k);
	if (shape_count(shape) == 0)
		return 0;
	return rows ? ceil_div(shape->d[record_axis(i, k)], rows) : 1;
}

int64_t record_pieces(const struct record_info *i, const struct shape *shape)
{
	int64_t n = 0;
	for (int k = 0; k < record_arrays(i); k++)
		n += pieces_of(i, &shape[k], k);
	return n;
}

struct record_piece record_piece_get(const struct record_info *i, const struct shape *shape,
                                     int64_t p)
{
	struct record_piece out = { 0 };
	int64_t n, rows;
	while (p >= (n = pieces_of(i, &shape[out.array], out.array))) {
		p -= n;
		out.array++;
	}
	out.number = p;
	out.shape = shape[out.array];
	out.axis = record_axis(i, out.array);
	rows = record_rows(i, &out.shape, out.array);
	if (out.axis >= 0) {
		const int64_t extent = out.shape.d[out.axis];

		out.first = p * rows;
		out.rows = rows && extent - out.first > rows ? rows : extent - out.first;
		out.shape.d[out.axis] = out.rows;
	}
	out.bytes = (size_t)shape_count(&out.shape) * dtype_size(record_array_get(i, out.array)->dtype);
	return out;
}

/* --- coding --- */

struct record_coder {
	struct codec_writer codec;
	struct measure measure;        /* whose memory serves for one piece */
	struct moments *moments;
};

struct record_coder *record_coder_new(const struct record_info *i, int level)
{
	struct record_coder *c = mem_calloc(1, sizeof *c);
	int most = 1;
	for (int k = 0; k < record_arrays(i); k++)
		most = record_array_get(i, k)->nstats > most ? record_array_get(i, k)->nstats : most;
	if (codec_writer_open(&c->codec, level) < 0) {
		record_coder_free(c);
		return NULL;
	}
	measure_open(&c->measure, i);
	c->moments = mem_calloc((size_t)most, sizeof *c->moments);
	return c;
}

void record_coder_free(struct record_coder *c)
{
	if (!c)
		return;
	codec_writer_release(&c->codec);
	measure_release(&c->measure);
	mem_free(c->moments);
	mem_free(c);
}

size_t record_moments_bytes(void)
{
	return sizeof(struct moments);
}

/* Of many labels, which take long enough to be counted by several threads. */
static int count_labels(struct record_coder *c, const struct record_info *i, const void *raw,
                        int64_t n, int64_t sample, struct record_coded *out)
{
	struct measure *m = &c->measure;
	if (dtype_is_float(i->target.dtype) || n < FEW_LABELS)
		return 0;
	memset(m->counts, 0, (size_t)m->ncounts * sizeof *m->counts);
	m->ignored = 0;
	m->counted = true;
	TRY(measure_labels(m, i, raw, n, "the target", sample));
	out->counted = true;
	out->classes = m->counted;
	out->counts = m->counts;
	out->ncounts = m->ncounts;
	out->ignored = m->ignored;
	return 0;
}

int record_measure_piece(struct record_coder *c, const struct record_info *i,
                         const struct record_piece *p, const void *raw, int64_t sample,
                         struct record_coded *out)
{
	*out = (struct record_coded){ .piece = *p, .raw = raw, .moments = c->moments,
	                             .nmoments = record_array_get(i, p->array)->nstats };
	measure_moments(&c->measure, i, p->array, &p->shape, raw, c->moments);
	out->chunk.raw = p->bytes;
	out->content = hash_bytes(raw, p->bytes, 0);
	return p->array == 1 ? count_labels(c, i, raw, shape_count(&p->shape), sample, out) : 0;
}

int record_code(struct record_coder *c, const struct record_info *i, const struct record_piece *p,
                const void *raw, int64_t sample, struct record_coded *out)
{
	const struct record_array *a = record_array_get(i, p->array);
	TRY(record_measure_piece(c, i, p, raw, sample, out));
	out->stored = codec_encode(&c->codec, raw, p->bytes, dtype_size(a->dtype), &out->chunk);
	if (!out->stored)
		return err_context(E_BUG, "coding sample %lld", (long long)sample);
	out->stored_hash = record_hash_stored(&out->chunk, out->stored);
	return 0;
}
