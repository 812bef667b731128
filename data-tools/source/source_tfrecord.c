/* SPDX-License-Identifier: BSD-3-Clause
 *
 * TFRecord files of tf.train.Example, plain or compressed as a whole by gzip or zlib: each record
 * is a sample, each feature a variable. A record is its length in 8 bytes, the masked CRC-32C of
 * these, its bytes, and the masked CRC-32C of those. The records' places are found when the file is
 * opened, which checks those of a compressed file too. Of a large record no more than a window is
 * in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/declared.h"
#include "data-tools/source/little.h"
#include "data-tools/source/packed_file.h"
#include "report/crc32c.h"
#include "data-tools/source/source.h"
#include "data-tools/source/tf_example.h"

#define FRAME 12                 /* bytes before a record; 4 follow it */
#define WINDOW 1048576           /* a record that is larger is not in memory as a whole */
#define RECORD_MOST ((uint64_t)1 << 40)

struct place {
	uint64_t at, size;           /* of the record's own bytes */
};

struct handle {
	struct packed_file *file;
	int64_t n;
	struct place *place;
	int64_t open;                /* the record that was checked; -1: none */
	struct message message;      /* its */
	struct feature found;        /* in it; of FEATURE_NONE: not looked for yet */
	struct declared as;
	enum feature_kind kind;
	uint64_t count;              /* of a record's values, or of bytes */
};

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

static bool is_packed(const struct handle *h)
{
	return packed_size(h->file) == UINT64_MAX;
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

static int cut_off(const struct source *s, int64_t i, uint64_t at)
{
	return bad_at(s, i, at, "it is cut off");
}

/* Compares n bytes with the checksum after them. They come in parts by the window, of which the
 * first stays if it has all. */
static int check_record(const struct source *s, struct handle *h, int64_t i)
{
	const struct place *r = &h->place[i];
	struct message *m = &h->message;
	uint32_t crc = 0;
	uint8_t sum[4];
	size_t n, got;
	if (!m->window)
		m->window = mem_alloc(WINDOW);
	for (uint64_t at = 0; at < r->size; at += n) {
		n = r->size - at < WINDOW ? (size_t)(r->size - at) : WINDOW;
		TRY(packed_read(h->file, r->at + at, m->window, n, &got));
		if (got < n)
			return cut_off(s, i, r->at);
		crc = crc32c_more(crc, m->window, n);
	}
	TRY(packed_read(h->file, r->at + r->size, sum, sizeof sum, &got));
	if (got < sizeof sum)
		return cut_off(s, i, r->at);
	return crc32c_mask(crc) == little(sum, 4) ? 0 :
	       bad_at(s, i, r->at, "its bytes do not have their checksum");
}

/* The records of a compressed file are inflated here anyway, and not once more to be checked. */
static int find_records(const struct source *s, struct handle *h)
{
	uint8_t head[FRAME];
	uint64_t at = 0;
	size_t got;
	for (;;) {
		TRY(packed_read(h->file, at, head, FRAME, &got));
		if (got == 0)
			break;
		if (got < FRAME)
			return cut_off(s, h->n, at);
		if (!is_frame(head, FRAME))
			return bad_at(s, h->n, at, h->n ? "the checksum of its length is wrong" :
			              "not a TFRecord file, or the checksum of its length is wrong");
		TRY(add_place(s, h, at + FRAME, little(head, 8)));
		if (is_packed(h))
			TRY(check_record(s, h, h->n - 1));
		at += FRAME + h->place[h->n - 1].size + 4;
	}
	return h->n ? 0 : source_bad(s, "no records");
}

/* Bytes of the open record, which were there. */
static int read_bytes(void *user, uint64_t at, void *out, size_t n)
{
	const struct source *s = user;
	const struct handle *h = s->handle;
	const struct place *r = &h->place[h->open];
	size_t got;
	TRY(packed_read(h->file, r->at + at, out, n, &got));
	return got < n ? cut_off(s, h->open, r->at) : 0;
}

static int open_record(struct source *s, struct handle *h, int64_t i)
{
	struct message *m = &h->message;
	const uint64_t n = h->place[i].size;
	if (h->open == i)
		return 0;
	h->open = -1;
	feature_release(&h->found);
	if (!is_packed(h))
		TRY(check_record(s, h, i));
	h->open = i;
	*m = (struct message){ .n = n, .read = read_bytes, .user = s, .room = WINDOW,
	                       .window = m->window };
	m->have = !is_packed(h) && n <= WINDOW ? (size_t)n : 0;
	return 0;
}

static int bad_message(const struct source *s, int64_t i, const struct example *e)
{
	const struct handle *h = s->handle;
	char what[160];
	if (h->message.rc < 0)
		return h->message.rc;
	snprintf(what, sizeof what, "%s, where a tf.train.Example was expected", e->wrong);
	return bad_at(s, i, h->place[i].at + e->at, what);
}

/* --- the variable --- */

#define MOST_FEATURES 4096
#define MOST_NAME 4096           /* bytes of one that are shown */

static char *name_of(struct message *m, const struct feature *f)
{
	const size_t n = f->name_length < MOST_NAME ? (size_t)f->name_length : MOST_NAME;
	char *name = mem_calloc(1, n + 1);
	(void)message_read(m, f->name, name, n);         /* m->rc tells */
	return name;
}

/* The only feature of the first record, or an error that lists them. */
static int list_features(const struct source *s, struct handle *h, const char *wanted)
{
	struct example e = { .m = &h->message };
	char **names = NULL;
	struct feature f;
	int n = 0, rc = 0;
	while (n < MOST_FEATURES && example_next(&e, &f)) {
		names = mem_realloc(names, ((size_t)n + 1) * sizeof *names);
		names[n++] = name_of(e.m, &f);
		feature_release(&f);
	}
	if (e.wrong || e.m->rc < 0)
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

static int find_feature(const struct source *s, struct handle *h, int64_t i)
{
	struct example e = { .m = &h->message };
	if (h->found.kind != FEATURE_NONE || example_find(&e, h->as.name, &h->found))
		return 0;
	if (e.wrong || e.m->rc < 0)
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
	struct shape sample;
	uint64_t bytes;
	TRY(find_feature(s, h, 0));
	h->kind = h->found.kind;
	h->count = h->found.count;
	if (h->kind == FEATURE_NONE || h->count == 0)
		return ERR(E_DATA, NULL, "'%s': the feature '%s' of record 0 is empty", s->path,
		           h->as.name);
	if (h->kind != FEATURE_BYTES) {
		TRY(take_number_type(s, h));
		as.dtype = (int)s->dtype;
	}
	bytes = h->kind == FEATURE_BYTES ? h->count : h->count * dtype_size(s->dtype);
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
	s->ranges = !is_packed(h);
	TRY(find_records(s, h));
	TRY(open_record(s, h, 0));
	if (!h->as.name)
		TRY(list_features(s, h, NULL));
	TRY(take_type(s, h));
	s->name = mem_strdup(h->as.name);
	return 0;
}

/* n values of record i from value `first` on. */
static int read_values(struct source *s, int64_t i, int64_t first, int64_t n, void *out)
{
	static const char *const kinds[] = { [FEATURE_NONE] = "values", [FEATURE_BYTES] = "bytes",
		[FEATURE_FLOATS] = "floats", [FEATURE_INTS] = "integers" };
	struct handle *h = s->handle;
	const struct feature *f = &h->found;
	const uint64_t unit = h->kind == FEATURE_BYTES ? dtype_size(s->dtype) : 1;
	TRY(open_record(s, h, i));
	TRY(find_feature(s, h, i));
	if (f->kind != h->kind || f->count != h->count)
		return ERR(E_DATA, NULL, "'%s': the feature '%s' of record %" PRId64 " has %" PRIu64 " %s "
		           "(byte %" PRIu64 "), that of record 0 %" PRIu64 " %s", s->path, s->name, i,
		           f->count, kinds[f->kind], h->place[i].at, h->count, kinds[h->kind]);
	TRY(feature_read(&h->message, f, (uint64_t)first * unit, (uint64_t)n * unit, out));
	if (h->as.big_endian)
		source_swap(out, dtype_size(s->dtype), n);
	return 0;
}

/* n values of all records from value `from` on. */
static int read_run(struct source *s, int64_t from, int64_t n, void *out)
{
	const int64_t row = shape_count(&s->shape) / s->shape.d[0];
	for (int64_t k, at = 0; at < n; at += k) {
		const int64_t value = (from + at) % row;

		k = row - value < n - at ? row - value : n - at;
		TRY(read_values(s, (from + at) / row, value, k,
		                (char *)out + (size_t)at * dtype_size(s->dtype)));
	}
	return 0;
}

static int read_tfrecord(struct source *s, int64_t first, int64_t n, void *out)
{
	const int64_t total = shape_count(&s->shape), row = total / s->shape.d[0];
	return read_run(s, first < 0 ? 0 : first * row, first < 0 ? total : n * row, out);
}

static int read_tfrecord_box(struct source *s, const int64_t *start, const int64_t *count,
                             void *out)
{
	return source_read_runs(s, start, count, out, read_run);
}

static void close_tfrecord(struct source *s)
{
	struct handle *h = s->handle;
	packed_close(h->file);
	declared_release(&h->as);
	feature_release(&h->found);
	mem_free(h->place);
	mem_free(h->message.window);
	mem_free(h);
}

static const char *const extensions[] = {
	".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz", NULL
};

const struct source_format source_tfrecord = {
	"tfrecord", extensions, open_tfrecord, read_tfrecord, close_tfrecord, read_tfrecord_box,
	.rows = true, .apart = true, .ends = true,
};
