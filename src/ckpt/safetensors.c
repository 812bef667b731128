/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads and writes safetensors files: a JSON header and the tensors' bytes without gaps. The reader
 * converts each header entry to a byte range, sorts the ranges and requires that they cover the
 * data exactly. */
#include "ckpt/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"

#define PREFIX 8                       /* the length field */
#define MAX_HEADER 100000000           /* the format's own limit */

static const struct {
	const char *name;
	enum dtype dtype;
} dtypes[] = {
	{ "F32", DTYPE_F32 }, { "F64", DTYPE_F64 }, { "F16", DTYPE_F16 }, { "BF16", DTYPE_BF16 },
	{ "I8", DTYPE_I8 },   { "U8", DTYPE_U8 },   { "I16", DTYPE_I16 }, { "U16", DTYPE_U16 },
	{ "I32", DTYPE_I32 }, { "I64", DTYPE_I64 },
};
#define NDTYPES (sizeof dtypes / sizeof dtypes[0])

/* A header entry while it is checked. */
struct entry {
	struct st_tensor t;
	uint64_t begin, end;           /* in the data */
	size_t at;                     /* of the entry in the file, for messages */
};

struct reader {
	const char *file;
	struct arena *a;
	const char *data;
	uint64_t data_size;
};

static int fail(const struct reader *r, const struct json *at, const char *name, const char *what)
{
	return ERR(E_DATA, NULL, "'%s': byte %zu: tensor '%.200s': %s", r->file, at->at, name, what);
}

static int read_dtype(const struct reader *r, const struct json *v, struct entry *e)
{
	if (v->kind != JSON_STRING)
		return fail(r, v, e->t.name, "expected the dtype's name");
	for (size_t i = 0; i < NDTYPES; i++)
		if (strcmp(dtypes[i].name, v->text) == 0) {
			e->t.dtype = dtypes[i].dtype;
			return 0;
		}
	return ERR(E_DATA, NULL, "'%s': byte %zu: tensor '%.200s': dtype '%.20s' is not supported",
	           r->file, v->at, e->t.name, v->text);
}

/* A zero axis makes an empty tensor, but the product of the others must be sane too. */
static int read_shape(const struct reader *r, const struct json *v, struct entry *e)
{
	int64_t room = INT64_MAX / 8;
	if (v->kind != JSON_ARRAY)
		return fail(r, v, e->t.name, "expected a list of axis sizes");
	if (v->n > MAXD)
		return fail(r, v, e->t.name, "more axes than the supported six");
	e->t.shape.nd = v->n;
	for (int i = 0; i < v->n; i++) {
		int64_t *d = &e->t.shape.d[i];
		if (!json_int(v->item[i], d) || *d < 0)
			return fail(r, v->item[i], e->t.name, "expected an axis size");
		if (*d > room)
			return fail(r, v->item[i], e->t.name, "a shape of too many elements");
		if (*d > 0)
			room /= *d;
	}
	return 0;
}

static int read_offsets(const struct reader *r, const struct json *v, struct entry *e)
{
	if (v->kind != JSON_ARRAY || v->n != 2 || !json_uint(v->item[0], &e->begin) ||
	    !json_uint(v->item[1], &e->end))
		return fail(r, v, e->t.name, "expected 'data_offsets' of two integers");
	if (e->begin > e->end)
		return fail(r, v, e->t.name, "its data ends before it begins");
	if (e->end > r->data_size)
		return ERR(E_DATA, NULL, "'%s': byte %zu: tensor '%.200s': data up to offset %" PRIu64
		           " exceeds the file's %" PRIu64 " bytes of data",
		           r->file, v->at, e->t.name, e->end, r->data_size);
	return 0;
}

static int read_entry(const struct reader *r, const struct json *v, struct entry *e)
{
	const struct json *dtype = json_find(v, "dtype"), *shape = json_find(v, "shape"),
	                  *offsets = json_find(v, "data_offsets");
	char text[SHAPE_TEXT];
	e->t.name = v->key;
	e->at = v->at;
	if (v->kind != JSON_OBJECT || v->n != 3 || !dtype || !shape || !offsets)
		return fail(r, v, e->t.name, "expected exactly 'dtype', 'shape' and 'data_offsets'");
	TRY(read_dtype(r, dtype, e));
	TRY(read_shape(r, shape, e));
	TRY(read_offsets(r, offsets, e));
	if (e->end - e->begin != st_bytes(&e->t))
		return ERR(E_DATA, NULL,
		           "'%s': byte %zu: tensor '%.200s': %" PRIu64 " bytes of data do not fit %s %s",
		           r->file, offsets->at, e->t.name, e->end - e->begin,
		           dtype_name(e->t.dtype), shape_text(&e->t.shape, text));
	e->t.data = r->data + e->begin;
	return 0;
}

static int read_meta(const struct reader *r, const struct json *v, struct st_file *out)
{
	const char **meta;
	if (v->kind != JSON_OBJECT)
		return ERR(E_DATA, NULL, "'%s': byte %zu: '__metadata__' is not a map of strings",
		           r->file, v->at);
	meta = ARENA_ARRAY(r->a, const char *, 2 * (size_t)v->n);
	for (int i = 0; i < v->n; i++) {
		if (v->item[i]->kind != JSON_STRING)
			return ERR(E_DATA, NULL, "'%s': byte %zu: expected a string in '__metadata__'",
			           r->file, v->item[i]->at);
		meta[2 * i] = v->item[i]->key;
		meta[2 * i + 1] = v->item[i]->text;
	}
	out->meta = meta;
	out->nmeta = v->n;
	return 0;
}

static int by_data(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* The sorted ranges must follow one another and fill the data. */
static int check_tiling(const struct reader *r, const struct entry *e, int n)
{
	uint64_t end = 0;
	for (int i = 0; i < n; i++) {
		if (e[i].begin != end)
			return ERR(E_DATA, NULL, "'%s': byte %zu: tensor '%.200s': data starts at offset %"
			           PRIu64 " but the one before ends at %" PRIu64, r->file, e[i].at, e[i].t.name,
			           e[i].begin, end);
		end = e[i].end;
	}
	if (end != r->data_size)
		return ERR(E_DATA, NULL, "'%s': %" PRIu64 " bytes of data, but its tensors end at %" PRIu64,
		           r->file, r->data_size, end);
	return 0;
}

static int read_header(const struct reader *r, const struct json *header, struct st_file *out)
{
	struct entry *e = mem_calloc((size_t)header->n + 1, sizeof *e);
	int n = 0, rc = 0;
	for (int i = 0; i < header->n && rc == 0; i++) {
		const struct json *v = header->item[i];
		if (strcmp(v->key, "__metadata__") == 0)
			rc = read_meta(r, v, out);
		else
			rc = read_entry(r, v, &e[n++]);
	}
	if (rc < 0)
		goto out;
	qsort(e, (size_t)n, sizeof *e, by_data);
	rc = check_tiling(r, e, n);
	out->tensor = ARENA_ARRAY(r->a, struct st_tensor, n);
	out->n = n;
	for (int i = 0; i < n; i++)
		out->tensor[i] = e[i].t;
out:
	mem_free(e);
	return rc;
}

static uint64_t get_u64(const unsigned char *p)
{
	uint64_t v = 0;
	for (int i = 0; i < 8; i++)
		v |= (uint64_t)p[i] << 8 * i;
	return v;
}

int st_parse(struct st_file *out, struct arena *a, const char *file,
             const void *image, size_t size)
{
	struct reader r = { .file = file, .a = a };
	const char *p = image;
	struct json *header;
	uint64_t length;
	memset(out, 0, sizeof *out);
	if (size < PREFIX)
		return ERR(E_DATA, NULL, "'%s': %zu bytes are too few for a safetensors file", file, size);
	length = get_u64(image);
	if (length > size - PREFIX)
		return ERR(E_DATA, NULL,
		           "'%s': byte 0: a header of %" PRIu64 " bytes does not fit the file's %zu",
		           file, length, size);
	if (length > MAX_HEADER)
		return ERR(E_DATA, NULL,
		           "'%s': byte 0: a header of %" PRIu64 " bytes; the format's limit is %d",
		           file, length, MAX_HEADER);
	if (length == 0 || p[PREFIX] != '{')
		return ERR(E_DATA, NULL, "'%s': byte %d: expected '{': not a safetensors file", file,
		           PREFIX);
	TRY(json_parse(&header, a, file, PREFIX, p + PREFIX, (size_t)length));
	r.data = p + PREFIX + length;
	r.data_size = size - PREFIX - length;
	return read_header(&r, header, out);
}

const struct st_tensor *st_find(const struct st_file *f, const char *name)
{
	for (int i = 0; i < f->n; i++)
		if (strcmp(f->tensor[i].name, name) == 0)
			return &f->tensor[i];
	return NULL;
}

size_t st_bytes(const struct st_tensor *t)
{
	return (size_t)shape_count(&t->shape) * dtype_size(t->dtype);
}

/* --- writing --- */

static const char *dtype_text(enum dtype t)
{
	for (size_t i = 0; i < NDTYPES; i++)
		if (dtypes[i].dtype == t)
			return dtypes[i].name;
	BUG("dtype %d has no safetensors name", (int)t);
}

static void put_meta(struct buf *out, const char *const *meta, int nmeta)
{
	buf_puts(out, "\"__metadata__\":{");
	for (int i = 0; i < nmeta; i++) {
		if (i > 0)
			buf_putc(out, ',');
		buf_json_string(out, meta[2 * i]);
		buf_putc(out, ':');
		buf_json_string(out, meta[2 * i + 1]);
	}
	buf_putc(out, '}');
}

static void put_entry(struct buf *out, const struct st_tensor *t, uint64_t begin)
{
	buf_json_string(out, t->name);
	buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", dtype_text(t->dtype));
	for (int i = 0; i < t->shape.nd; i++)
		buf_printf(out, "%s%" PRId64, i ? "," : "", t->shape.d[i]);
	buf_printf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + st_bytes(t));
}

void st_build_header(struct buf *out, const struct st_tensor *t, int n,
                     const char *const *meta, int nmeta)
{
	size_t start = out->len, length;
	uint64_t offset = 0;
	buf_add(out, "\0\0\0\0\0\0\0", PREFIX);
	buf_putc(out, '{');
	if (nmeta > 0)
		put_meta(out, meta, nmeta);
	for (int i = 0; i < n; i++) {
		if (i > 0 || nmeta > 0)
			buf_putc(out, ',');
		put_entry(out, &t[i], offset);
		offset += st_bytes(&t[i]);
	}
	buf_putc(out, '}');
	while ((out->len - start) % 8)
		buf_putc(out, ' ');
	length = out->len - start - PREFIX;
	for (int i = 0; i < PREFIX; i++)
		out->data[start + (size_t)i] = (char)(length >> 8 * i);
}

void st_build(struct buf *out, const struct st_tensor *t, int n,
              const char *const *meta, int nmeta)
{
	size_t bytes = 0;
	st_build_header(out, t, n, meta, nmeta);
	for (int i = 0; i < n; i++)
		bytes += st_bytes(&t[i]);
	buf_reserve(out, bytes);
	for (int i = 0; i < n; i++)
		buf_add(out, t[i].data, st_bytes(&t[i]));
}

int st_write_file(const char *path, const struct st_tensor *t, int n,
                  const char *const *meta, int nmeta)
{
	struct buf header = BUF_INIT;
	struct io_file *f;
	int rc = io_create(&f, path);
	if (rc < 0)
		return rc;
	st_build_header(&header, t, n, meta, nmeta);
	rc = io_write(f, header.data, header.len);
	for (int i = 0; i < n && rc == 0; i++)
		if (st_bytes(&t[i]))
			rc = io_write(f, t[i].data, st_bytes(&t[i]));
	buf_release(&header);
	if (rc == 0)
		return io_commit(f);
	io_discard(f);
	return rc;
}
