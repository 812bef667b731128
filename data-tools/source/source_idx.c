/* SPDX-License-Identifier: BSD-3-Clause
 *
 * IDX files, plain or gzipped: the format of MNIST and its successors. Two zero bytes, a type,
 * the number of axes, big-endian extents, big-endian values. */
#include "base/err.h"
#include "base/mem.h"
#include "data-tools/source/source_stored.h"

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

static int parse(struct source *s, const uint8_t *p, size_t n)
{
	struct stored *h = s->handle;
	int t;
	if (n < 4 || p[0] || p[1])
		return source_bad(s, "not an IDX file");
	t = dtype_of(p[2]);
	if (t < 0)
		return source_bad(s, "unknown element type");
	if (p[3] > MAXD)
		return source_bad(s, "too many axes");
	h->at = 4 + 4 * (uint64_t)p[3];
	if (n < h->at)
		return source_bad(s, "truncated header");
	s->dtype = (enum dtype)t;
	s->shape.nd = p[3];
	for (int i = 0; i < s->shape.nd; i++)
		s->shape.d[i] =
		    (int64_t)p[4 + 4 * i] << 24 | p[5 + 4 * i] << 16 | p[6 + 4 * i] << 8 | p[7 + 4 * i];
	h->element = dtype_size(s->dtype);
	h->big_endian = true;
	return stored_fits(s);
}

static bool is_idx(const uint8_t *head, size_t n)
{
	return n >= 2 && !head[0] && !head[1];
}

static int open_idx(struct source *s, const char *variable)
{
	struct stored *h;
	uint8_t head[4 + 4 * MAXD];
	size_t n;
	if (variable)
		return ERR(E_USAGE, NULL, "'%s' is one array without a name; '%s' cannot be chosen",
		           s->path, variable);
	s->handle = h = mem_calloc(1, sizeof(*h));
	source_take_stem(s);
	TRY(packed_open(&h->file, s->path, is_idx));
	TRY(stored_head(s, head, sizeof head, &n));
	return parse(s, head, n);
}

static const char *const extensions[] = {
	".idx", ".idx.gz", "-ubyte", "-ubyte.gz", ".ubyte", ".ubyte.gz", NULL
};

const struct source_format source_idx = {
	"idx", extensions, open_idx, stored_read, stored_close, stored_read_box, .ends = true,
};
