/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IDX files, plain or gzipped: the format of MNIST and its successors. Two zero bytes, a type,
 * the number of axes, big-endian extents, big-endian values. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "source.h"

#define STEP (1 << 20)

/* The whole file, inflated if it is gzipped: zlib reads plain files as they are. */
static int read_file(const struct source *s, struct buf *b)
{
	gzFile f = gzopen(s->path, "rb");
	int n, rc = 0, code = 0;

	if (!f)
		return ERR(E_NOINPUT, NULL, "cannot open '%s'", s->path);
	do {
		buf_reserve(b, STEP);
		n = gzread(f, b->data + b->len, STEP);
		if (n > 0)
			b->len += (size_t)n;
	} while (n > 0);
	gzerror(f, &code);
	if (n < 0 || code != Z_OK)
		rc = source_bad(s, "damaged or truncated gzip data");
	gzclose(f);
	return rc;
}

static int dtype_of(int code)
{
	switch (code) {
	case 0x08: return DTYPE_U8;
	case 0x09: return DTYPE_I8;
	case 0x0b: return DTYPE_I16;
	case 0x0c: return DTYPE_I32;
	case 0x0d: return DTYPE_F32;
	case 0x0e: return DTYPE_F64;
	default: return -1;
	}
}

static int parse(struct source *s, struct buf *b)
{
	const uint8_t *p = (const uint8_t *)b->data;
	size_t start, size;
	int t;
	if (b->len < 4 || p[0] || p[1])
		return source_bad(s, "not an IDX file");
	t = dtype_of(p[2]);
	if (t < 0)
		return source_bad(s, "unknown element type");
	if (p[3] > MAXD)
		return source_bad(s, "too many axes");
	start = 4 + 4 * (size_t)p[3];
	if (b->len < start)
		return source_bad(s, "truncated header");
	s->dtype = (enum dtype)t;
	s->shape.nd = p[3];
	for (int i = 0; i < s->shape.nd; i++)
		s->shape.d[i] =
		    (int64_t)p[4 + 4 * i] << 24 | p[5 + 4 * i] << 16 | p[6 + 4 * i] << 8 | p[7 + 4 * i];
	size = dtype_size(s->dtype);
	if (!source_fits(&s->shape, size, b->len - start))
		return source_bad(s, "truncated: the header promises more values than there are");
	memmove(b->data, b->data + start, (size_t)shape_count(&s->shape) * size);
	source_swap(b->data, size, shape_count(&s->shape));
	return 0;
}

static int open_idx(struct source *s, const char *variable)
{
	struct buf *b;
	if (variable)
		return ERR(E_USAGE, NULL, "'%s' is one array without a name; '%s' cannot be chosen",
		           s->path, variable);
	s->handle = b = mem_alloc(sizeof(*b));
	buf_init(b);
	TRY(read_file(s, b));
	source_take_stem(s);
	return parse(s, b);
}

static int read_idx(struct source *s, int64_t first, int64_t n, void *out)
{
	const struct buf *b = s->handle;
	source_copy_rows(s, b->data, first, n, out);
	return 0;
}

static void close_idx(struct source *s)
{
	buf_release(s->handle);
	mem_free(s->handle);
}

static const char *const extensions[] = {
	".idx", ".idx.gz", "-ubyte", "-ubyte.gz", ".ubyte", ".ubyte.gz", NULL
};

const struct source_format source_idx = { "idx", extensions, open_idx, read_idx, close_idx };
