/* SPDX-License-Identifier: BSD-3-Clause
 *
 * NumPy arrays: .npy files, and .npz files, mapped, which are zip archives of them. The zip's
 * central directory is read; members may be stored or deflated, with 64-bit sizes. All lengths
 * are checked against the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/err.h"
#include "base/io.h"
#include "base/io_reader.h"
#include "base/mem.h"
#include "source.h"

struct handle {
	struct io_reader file;     /* an .npy file */
	uint64_t at;               /* of its values */
	struct io_map map;         /* an .npz file */
	uint8_t *inflated;         /* a member of it that was deflated, else NULL */
	const uint8_t *values;     /* of the member; NULL in an .npy file */
	size_t element;            /* bytes in the file */
	bool big_endian, u32;      /* u32: widened to i64, which is the next that holds it */
};

static uint64_t little(const uint8_t *p, int n)
{
	uint64_t v = 0;
	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

/* --- the array --- */

/* The text behind 'key': in the header's Python dictionary, or NULL. */
static const char *dict_value(const char *header, const char *key)
{
	char quoted[32];
	const char *p;
	snprintf(quoted, sizeof(quoted), "'%s':", key);
	p = strstr(header, quoted);
	if (!p)
		return NULL;
	p += strlen(quoted);
	return p + strspn(p, " ");
}

static int read_descr(struct source *s, const char *header)
{
	static const struct {
		const char *code;
		int dtype;
	} types[] = {
	    { "f2", DTYPE_F16 }, { "f4", DTYPE_F32 }, { "f8", DTYPE_F64 }, { "i1", DTYPE_I8 },
	    { "u1", DTYPE_U8 },  { "b1", DTYPE_U8 },  { "i2", DTYPE_I16 }, { "u2", DTYPE_U16 },
	    { "i4", DTYPE_I32 }, { "i8", DTYPE_I64 }, { "u4", DTYPE_I64 }, { "u8", DTYPE_I64 },
	};
	const char *p = dict_value(header, "descr");
	struct handle *h = s->handle;

	if (!p || p[0] != '\'' || !strchr("<>|=", p[1]))
		return source_bad(s, "an element type that is neither float nor integer");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strncmp(p + 2, types[i].code, 2) != 0 || p[4] != '\'')
			continue;
		s->dtype = (enum dtype)types[i].dtype;
		h->element = (size_t)(types[i].code[1] - '0');
		h->big_endian = p[1] == '>';
		h->u32 = strcmp(types[i].code, "u4") == 0;
		return 0;
	}
	return ERR(E_DATA, NULL, "'%s': element type %.6s is not supported", s->path, p);
}

static int read_shape(struct source *s, const char *header)
{
	const char *p = dict_value(header, "shape");
	if (!p || *p != '(')
		return source_bad(s, "no shape in the header");
	for (p++; *p != ')';) {
		char *end;
		const long long v = strtoll(p, &end, 10);

		if (end == p || v < 0)
			return source_bad(s, "bad shape in the header");
		if (s->shape.nd == MAXD)
			return source_bad(s, "too many axes");
		s->shape.d[s->shape.nd++] = v;
		p = end + strspn(end, ", ");
	}
	return 0;
}

static int read_header(struct source *s, const char *header)
{
	const char *fortran = dict_value(header, "fortran_order");
	TRY(read_descr(s, header));
	TRY(read_shape(s, header));
	if (!fortran || strncmp(fortran, "False", 5) != 0)
		return source_bad(s, "Fortran order; save numpy.ascontiguousarray(x) instead");
	return 0;
}

#define MOST_HEADER ((size_t)1 << 20)

/* p: the first n bytes, of `all`: its header at least. */
static int parse_npy(struct source *s, const uint8_t *p, size_t n, uint64_t all)
{
	struct handle *h = s->handle;
	size_t start, length;
	char *header;
	int rc;
	if (n < 12 || memcmp(p, "\x93NUMPY", 6) != 0)
		return source_bad(s, "not an .npy array");
	start = p[6] == 1 ? 10 : 12;
	length = (size_t)little(p + 8, p[6] == 1 ? 2 : 4);
	if (p[6] < 1 || p[6] > 3 || length > n - start)
		return source_bad(s, "damaged .npy header");
	header = mem_calloc(1, length + 8);   /* ends in zeros: nothing below reads past them */
	memcpy(header, p + start, length);
	rc = read_header(s, header);
	mem_free(header);
	TRY(rc);
	if (!source_fits(&s->shape, h->element, all - start - length))
		return source_bad(s, "truncated: the header promises more values than there are");
	h->at = start + length;
	return 0;
}

static int parse_file(struct source *s)
{
	const struct handle *h = s->handle;
	const size_t n = h->file.size < MOST_HEADER ? (size_t)h->file.size : MOST_HEADER;
	uint8_t *begin = mem_alloc(n);
	int rc = io_reader_read(&h->file, 0, begin, n);
	if (rc == 0)
		rc = parse_npy(s, begin, n, h->file.size);
	mem_free(begin);
	return rc;
}

static int open_npy(struct source *s, const char *variable)
{
	struct handle *h;
	if (variable)
		return ERR(E_USAGE, NULL, "'%s' is one array without a name; '%s' cannot be chosen",
		           s->path, variable);
	s->handle = h = mem_calloc(1, sizeof(*h));
	source_take_stem(s);
	TRY(io_reader_open(&h->file, s->path));
	return parse_file(s);
}

/* n bytes from byte `at` of the values. */
static int fetch(const struct handle *h, uint64_t at, void *out, size_t n)
{
	if (!h->values)
		return io_reader_read(&h->file, h->at + at, out, n);
	memcpy(out, h->values + at, n);
	return 0;
}

/* Values of four bytes are read into the second half of their room and widened from the first one
 * on. */
static int read_run(const struct handle *h, int64_t from, int64_t count, void *out)
{
	const size_t bytes = (size_t)count * h->element;
	uint8_t *src = (uint8_t *)out + (h->u32 ? bytes : 0);
	int64_t *wide = out;
	TRY(fetch(h, (uint64_t)from * h->element, src, bytes));
	if (!h->u32) {
		if (h->big_endian)
			source_swap(out, h->element, count);
		return 0;
	}
	for (int64_t i = 0; i < count; i++, src += 4) {
		uint8_t b[4] = { src[0], src[1], src[2], src[3] };

		if (h->big_endian)
			source_swap(b, 4, 1);
		wide[i] = (int64_t)little(b, 4);
	}
	return 0;
}

static int read_npy(struct source *s, int64_t first, int64_t n, void *out)
{
	const int64_t total = shape_count(&s->shape), row = s->shape.nd ? total / s->shape.d[0] : 1;
	return read_run(s->handle, first < 0 ? 0 : first * row, first < 0 ? total : n * row, out);
}

/* The axes from `run` on are whole: what is chosen of the axis before it lies in a row. */
static int read_npy_box(struct source *s, const int64_t *start, const int64_t *count, void *out)
{
	const int nd = s->shape.nd;
	int64_t at[MAXD] = { 0 }, values = 1;
	int run = nd;
	while (run > 0 && count[run - 1] == s->shape.d[run - 1])
		values *= s->shape.d[--run];
	values *= run ? count[--run] : 1;
	for (uint8_t *to = out;; to += (size_t)values * dtype_size(s->dtype)) {
		int64_t from = 0;
		int k = run - 1;

		for (int i = 0; i < nd; i++)
			from = from * s->shape.d[i] + start[i] + at[i];
		TRY(read_run(s->handle, from, values, to));
		while (k >= 0 && ++at[k] == count[k])
			at[k--] = 0;
		if (k < 0)
			return 0;
	}
}

static void close_npy(struct source *s)
{
	struct handle *h = s->handle;
	io_reader_close(&h->file);
	io_map_close(&h->map);
	mem_free(h->inflated);
	mem_free(h);
}

/* --- the zip archive around arrays --- */

struct member {
	char *name;                /* without ".npy" */
	int method;
	uint64_t packed, size, at;
	uint32_t crc;
};

struct directory {
	int n;
	struct member *v;
};

static void directory_release(struct directory *d)
{
	for (int i = 0; i < d->n; i++)
		mem_free(d->v[i].name);
	mem_free(d->v);
}

/* 64-bit sizes are in an extra field where the 32-bit ones are all ones. */
static void zip64(struct member *m, const uint8_t *extra, size_t n)
{
	while (n >= 4) {
		const size_t len = (size_t)little(extra + 2, 2);
		const uint8_t *p = extra + 4, *end = p + (len < n - 4 ? len : n - 4);
		uint64_t *const field[] = { &m->size, &m->packed, &m->at };

		for (int i = 0; little(extra, 2) == 1 && i < 3; i++) {
			if (*field[i] != UINT32_MAX || end - p < 8)
				continue;
			*field[i] = little(p, 8);
			p += 8;
		}
		if (len > n - 4)
			return;
		extra += 4 + len;
		n -= 4 + len;
	}
}

/* One entry of the central directory at p; returns its length, 0 if it is damaged. */
static size_t read_member(struct directory *d, const uint8_t *p, size_t n)
{
	size_t name, extra, comment;
	struct member m;
	if (n < 46 || little(p, 4) != 0x02014b50)
		return 0;
	name = (size_t)little(p + 28, 2);
	extra = (size_t)little(p + 30, 2);
	comment = (size_t)little(p + 32, 2);
	if (name + extra + comment > n - 46)
		return 0;
	m = (struct member){
		.method = (int)little(p + 10, 2), .crc = (uint32_t)little(p + 16, 4),
		.packed = little(p + 20, 4), .size = little(p + 24, 4), .at = little(p + 42, 4),
	};
	zip64(&m, p + 46 + name, extra);
	m.name = mem_calloc(1, name + 1);
	memcpy(m.name, p + 46, name);
	if (name > 4 && strcmp(m.name + name - 4, ".npy") == 0)
		m.name[name - 4] = '\0';
	d->v = mem_realloc(d->v, ((size_t)d->n + 1) * sizeof(*d->v));
	d->v[d->n++] = m;
	return 46 + name + extra + comment;
}

/* The record at byte `at` for archives of 4 GiB or many members, if it is there. */
static void read_end64(const struct io_map *f, uint64_t at, size_t *count, uint64_t *directory)
{
	if (f->size < 56 || at > f->size - 56 || little(f->data + at, 4) != 0x06064b50)
		return;
	*count = (size_t)little(f->data + at + 32, 8);
	*directory = little(f->data + at + 48, 8);
}

static int read_directory(const struct source *s, const struct io_map *f, struct directory *d)
{
	size_t at = f->size < 22 ? 0 : f->size - 22, count, length;
	uint64_t directory;
	const size_t stop = at > 65535 ? at - 65535 : 0;
	if (f->size < 22)
		return source_bad(s, "not a zip archive");
	while (little(f->data + at, 4) != 0x06054b50)   /* a comment may follow it */
		if (at-- == stop)
			return source_bad(s, "truncated zip archive: no directory at its end");
	count = (size_t)little(f->data + at + 10, 2);
	directory = little(f->data + at + 16, 4);
	if (at >= 20 && little(f->data + at - 20, 4) == 0x07064b50)
		read_end64(f, little(f->data + at - 12, 8), &count, &directory);
	at = directory < f->size ? (size_t)directory : f->size;
	for (size_t i = 0; i < count; i++, at += length) {
		length = at < f->size ? read_member(d, f->data + at, f->size - at) : 0;
		if (length == 0)
			return source_bad(s, "damaged zip directory");
	}
	return 0;
}

static int inflate_member(struct source *s, const struct member *m, const uint8_t *in)
{
	struct handle *h = s->handle;
	z_stream z = { 0 };
	size_t in_left = m->packed, out_left = m->size;
	int rc;

	if (m->size / 1040 > m->packed)   /* deflate packs no more than 1032 : 1 */
		return source_bad(s, "damaged zip member: impossible size");
	h->inflated = mem_alloc(m->size + 1);
	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return ERR(E_NOMEM, NULL, "no memory for the decompressor");
	z.next_in = (uint8_t *)(uintptr_t)in;
	z.next_out = h->inflated;
	do {
		if (z.avail_in == 0) {
			z.avail_in = in_left < UINT32_MAX ? (uInt)in_left : UINT32_MAX;
			in_left -= z.avail_in;
		}
		if (z.avail_out == 0) {
			z.avail_out = out_left < UINT32_MAX ? (uInt)out_left : UINT32_MAX;
			out_left -= z.avail_out;
		}
		rc = inflate(&z, Z_NO_FLUSH);
	} while (rc == Z_OK && (z.avail_in > 0 || in_left > 0) && (z.avail_out > 0 || out_left > 0));
	inflateEnd(&z);
	if (rc != Z_STREAM_END || z.avail_out > 0 || out_left > 0)
		return source_bad(s, "damaged zip member");
	return 0;
}

static int open_member(struct source *s, const struct member *m)
{
	struct handle *h = s->handle;
	const struct io_map *f = &h->map;
	const uint8_t *data;
	uint64_t skip;
	if (m->at > f->size || f->size - m->at < 30 || little(f->data + m->at, 4) != 0x04034b50)
		return source_bad(s, "damaged zip member");
	skip = 30 + little(f->data + m->at + 26, 2) + little(f->data + m->at + 28, 2);
	if (skip > f->size - m->at || m->packed > f->size - m->at - skip)
		return source_bad(s, "truncated zip member");
	data = f->data + m->at + skip;
	if (m->method == 8)
		TRY(inflate_member(s, m, data));
	else if (m->method != 0 || m->packed != m->size)
		return source_bad(s, "a zip method that is neither stored nor deflated");
	data = h->inflated ? h->inflated : data;
	if (crc32_z(0, data, m->size) != m->crc)
		return source_bad(s, "damaged zip member: checksum mismatch");
	TRY(parse_npy(s, data, m->size, m->size));
	h->values = data + h->at;
	return 0;
}

static int choose_member(struct source *s, const struct directory *d, const char *variable)
{
	const struct member *m = NULL;
	const char **names;
	int rc;
	for (int i = 0; i < d->n; i++)
		if (variable ? strcmp(d->v[i].name, variable) == 0 : d->n == 1)
			m = &d->v[i];
	if (m) {
		s->name = mem_strdup(m->name);
		return open_member(s, m);
	}
	names = mem_calloc((size_t)d->n + 1, sizeof(*names));
	for (int i = 0; i < d->n; i++)
		names[i] = d->v[i].name;
	rc = source_no_variable(s->path, variable, names, d->n);
	mem_free(names);
	return rc;
}

static int open_npz(struct source *s, const char *variable)
{
	struct directory d = { 0 };
	struct handle *h;
	int rc;
	s->handle = h = mem_calloc(1, sizeof(*h));
	TRY(io_map_open(&h->map, s->path));
	rc = read_directory(s, &h->map, &d);
	if (rc == 0)
		rc = choose_member(s, &d, variable);
	directory_release(&d);
	return rc;
}

int source_npz_names(const char *path, char ***names, int *n)
{
	struct source s = { .path = (char *)(uintptr_t)path };
	struct directory d = { 0 };
	struct io_map map;
	int rc;
	TRY(io_map_open(&map, path));
	rc = read_directory(&s, &map, &d);
	*n = rc == 0 ? d.n : 0;
	*names = rc == 0 ? mem_calloc((size_t)d.n + 1, sizeof **names) : NULL;
	for (int i = 0; i < *n; i++)
		(*names)[i] = mem_strdup(d.v[i].name);
	directory_release(&d);
	io_map_close(&map);
	return rc;
}

static const char *const npy_extensions[] = { ".npy", NULL }, *const npz_extensions[] = { ".npz",
                                                                                       NULL };

const struct source_format source_npy = {
	"npy", npy_extensions, open_npy, read_npy, close_npy, read_npy_box, .apart = true,
};
const struct source_format source_npz = {
	"npz", npz_extensions, open_npz, read_npy, close_npy, read_npy_box, .whole = true,
};
