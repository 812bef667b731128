/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TFRecord files of tf.train.Example, plain or compressed as a whole by gzip or zlib: each record
 * is a sample, each feature a variable. A record is its length in 8 bytes, the masked CRC-32C of
 * these, its bytes, and the masked CRC-32C of those. The records' places are found when the file is
 * opened; one record at a time is in memory, of each thread where the file is plain. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "declared.h"
#include "packed_file.h"
#include "report/crc32c.h"
#include "source.h"
#include "source_tfrecord.h"
#include "tf_example.h"

#define FRAME 12                 /* bytes before a record; 4 follow it */
#define RECORD_MOST ((uint64_t)1 << 40)

struct place {
	uint64_t at, size;           /* of the record's own bytes */
};

struct handle {
	struct packed_file *file;
	int64_t n;
	struct place *place;
	int64_t open;                /* the record in memory; -1: none */
	uint8_t *record;
	struct declared as;
	enum feature_kind kind;
	uint64_t count;              /* of a record's values, or of bytes */
};

static uint64_t little(const uint8_t *p, int n)
{
	uint64_t v = 0;
	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

/* Whether the length that a file would begin with has its checksum. */
static bool is_frame(const uint8_t *head, size_t n)
{
	return n >= FRAME && crc32c_masked(head, 8) == little(head + 8, 4);
}

bool source_is_tfrecord(const char *path)
{
	struct packed_file *f;
	const int mark = err_count();
	uint8_t head[FRAME];
	size_t n = 0;
	bool is = packed_open(&f, path, is_frame) == 0;
	is = is && packed_read(f, 0, head, sizeof head, &n) == 0 && is_frame(head, n);
	packed_close(f);
	err_truncate(mark);
	return is;
}

/* --- records --- */

static int bad_at(const struct source *s, int64_t record, uint64_t at, const char *what)
{
	return ERR(E_DATA, NULL, "'%s': record %" PRId64 ": %s (byte %" PRIu64 " of the records)",
	           s->path, record, what, at);
}

static int add_place(const struct source *s, struct handle *h, uint64_t at, uint64_t size)
{
	const uint64_t have = packed_size(h->file);
	if (size > RECORD_MOST || (have != UINT64_MAX && size + 4 > have - at))
		return bad_at(s, h->n, at - FRAME, "its length is beyond the end of the file");
	if ((h->n & (h->n - 1)) == 0)
		h->place = mem_realloc(h->place, (size_t)(h->n ? 2 * h->n : 1) * sizeof *h->place);
	h->place[h->n++] = (struct place){ at, size };
	return 0;
}

static int find_records(const struct source *s, struct handle *h)
{
	uint8_t head[4 + FRAME];     /* the end of the record before, and the next one's frame */
	uint64_t at = 0;
	size_t got;
	for (;;) {
		const size_t before = h->n ? 4 : 0;

		TRY(packed_read(h->file, at, head, before + FRAME, &got));
		if (got < before)
			return bad_at(s, h->n - 1, at, "it is cut off");
		if (got == before)
			break;
		at += before;
		if (got < before + FRAME)
			return bad_at(s, h->n, at, "it is cut off");
		if (!is_frame(head + before, FRAME))
			return bad_at(s, h->n, at, h->n ? "the checksum of its length is wrong" :
			              "not a TFRecord file, or the checksum of its length is wrong");
		TRY(add_place(s, h, at + FRAME, little(head + before, 8)));
		at += FRAME + h->place[h->n - 1].size;
	}
	return h->n ? 0 : source_bad(s, "no records");
}

/* Has this record in memory. Its length is that of bytes which are there: find_records has seen
 * those behind it. */
static int load_record(const struct source *s, struct handle *h, int64_t i)
{
	const struct place *at = &h->place[i];
	uint8_t sum[4];
	size_t got, got_sum = 0;
	if (h->open == i)
		return 0;
	h->open = -1;
	mem_free(h->record);
	h->record = mem_alloc((size_t)at->size + 1);
	TRY(packed_read(h->file, at->at, h->record, (size_t)at->size, &got));
	if (got == at->size)
		TRY(packed_read(h->file, at->at + at->size, sum, 4, &got_sum));
	if (got_sum < 4)
		return bad_at(s, i, at->at, "it is cut off");
	if (crc32c_masked(h->record, (size_t)at->size) != little(sum, 4))
		return bad_at(s, i, at->at, "its bytes do not have their checksum");
	h->open = i;
	return 0;
}

static int bad_message(const struct source *s, int64_t i, const struct example *e)
{
	const struct handle *h = s->handle;
	char what[160];
	snprintf(what, sizeof what, "%s, where a tf.train.Example was expected", e->wrong);
	return bad_at(s, i, h->place[i].at + e->at, what);
}

static struct example begin(const struct handle *h, int64_t i)
{
	return (struct example){ .message = h->record, .n = (size_t)h->place[i].size };
}

/* --- the variable --- */

#define MOST_FEATURES 4096

/* The only feature of the first record, or an error that lists them. */
static int list_features(const struct source *s, struct handle *h, const char *wanted)
{
	struct example e = begin(h, 0);
	char **names = NULL;
	struct feature f;
	int n = 0, rc = 0;
	while (n < MOST_FEATURES && example_next(&e, &f)) {
		names = mem_realloc(names, ((size_t)n + 1) * sizeof *names);
		names[n] = mem_calloc(1, f.name_length + 1);
		memcpy(names[n++], f.name, f.name_length);
	}
	if (e.wrong)
		rc = bad_message(s, 0, &e);
	else if (wanted || n != 1)
		rc = source_no_variable(s->path, wanted, (const char *const *)names, n);
	else
		h->as.name = mem_strdup(names[0]);
	for (int i = 0; i < n; i++)
		mem_free(names[i]);
	mem_free(names);
	return rc;
}

static int find_feature(const struct source *s, struct handle *h, int64_t i, struct feature *f)
{
	struct example e = begin(h, i);
	if (example_find(&e, h->as.name, f))
		return 0;
	if (e.wrong)
		return bad_message(s, i, &e);
	return i == 0 ? list_features(s, h, h->as.name) :
	       ERR(E_DATA, NULL, "'%s': record %" PRId64 " has no feature '%s'", s->path, i,
	           h->as.name);
}

/* Numbers have a type; what the user says may be that one only. */
static int take_number_type(struct source *s, const struct handle *h)
{
	s->dtype = h->kind == FEATURE_FLOATS ? DTYPE_F32 : DTYPE_I64;
	if ((h->as.dtype >= 0 && h->as.dtype != (int)s->dtype) || h->as.big_endian)
		return ERR(E_USAGE, NULL, "'%s': the feature '%s' is a list of %s, %s; --dtype and "
		           "--target-dtype say what is stored", s->path, h->as.name,
		           h->kind == FEATURE_FLOATS ? "floats" : "integers", dtype_name(s->dtype));
	return 0;
}

static int take_type(struct source *s, struct handle *h)
{
	struct declared as = h->as;
	struct feature f;
	struct shape sample;
	uint64_t bytes;
	TRY(find_feature(s, h, 0, &f));
	h->kind = f.kind;
	h->count = f.count;
	if (f.kind == FEATURE_NONE || f.count == 0)
		return ERR(E_DATA, NULL, "'%s': the feature '%s' of record 0 is empty", s->path,
		           h->as.name);
	if (f.kind != FEATURE_BYTES) {
		TRY(take_number_type(s, h));
		as.dtype = (int)s->dtype;
	}
	bytes = f.kind == FEATURE_BYTES ? f.count : f.count * dtype_size(s->dtype);
	TRY(declared_shape(&as, s->path, h->as.name, bytes, &sample));
	s->dtype = (enum dtype)as.dtype;
	return source_take_samples(s, h->n, &sample);
}

static int open_tfrecord(struct source *s, const char *variable)
{
	struct handle *h = mem_calloc(1, sizeof *h);
	s->handle = h;
	h->open = -1;
	TRY(declared_read(&h->as, variable));
	TRY(packed_open(&h->file, s->path, is_frame));
	s->ranges = packed_size(h->file) != UINT64_MAX;
	TRY(find_records(s, h));
	TRY(load_record(s, h, 0));
	if (!h->as.name)
		TRY(list_features(s, h, NULL));
	TRY(take_type(s, h));
	s->name = mem_strdup(h->as.name);
	return 0;
}

static int read_record(struct source *s, int64_t i, void *out)
{
	struct handle *h = s->handle;
	struct feature f;
	TRY(load_record(s, h, i));
	TRY(find_feature(s, h, i, &f));
	if (f.kind != h->kind || f.count != h->count)
		return ERR(E_DATA, NULL, "'%s': the feature '%s' of record %" PRId64 " has %" PRIu64 " %s "
		           "(byte %" PRIu64 "), that of record 0 %" PRIu64, s->path, s->name, i, f.count,
		           f.kind == FEATURE_BYTES ? "bytes" : "values", h->place[i].at, h->count);
	feature_values(&f, out);
	if (h->as.big_endian)
		source_swap(out, dtype_size(s->dtype), (int64_t)(h->count / dtype_size(s->dtype)));
	return 0;
}

static int read_tfrecord(struct source *s, int64_t first, int64_t n, void *out)
{
	const int64_t row = shape_count(&s->shape) / s->shape.d[0];
	const int64_t from = first < 0 ? 0 : first, count = first < 0 ? s->shape.d[0] : n;
	for (int64_t i = 0; i < count; i++)
		TRY(read_record(s, from + i, (char *)out + (size_t)(i * row) * dtype_size(s->dtype)));
	return 0;
}

static void close_tfrecord(struct source *s)
{
	struct handle *h = s->handle;
	packed_close(h->file);
	declared_release(&h->as);
	mem_free(h->place);
	mem_free(h->record);
	mem_free(h);
}

static const char *const extensions[] = {
	".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz", NULL
};

const struct source_format source_tfrecord = {
	"tfrecord", extensions, open_tfrecord, read_tfrecord, close_tfrecord, .rows = true,
	.apart = true,
};
