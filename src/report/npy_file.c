/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dictionary of the header is Python's, in a fixed order. */
#include "report/npy_file.h"

#include <inttypes.h>

#include "base/err.h"

static const char *const codes[DTYPE_COUNT] = {
	[DTYPE_F32] = "<f4", [DTYPE_F64] = "<f8", [DTYPE_F16] = "<f2", [DTYPE_I8] = "|i1",
	[DTYPE_U8] = "|u1", [DTYPE_I16] = "<i2", [DTYPE_U16] = "<u2", [DTYPE_I32] = "<i4",
	[DTYPE_I64] = "<i8",
};

/* Format version 1.0: the header's length with its ten leading bytes is a multiple of 64. */
static void put_header(struct buf *h, enum dtype dtype, int n, const int64_t *extent)
{
	uint8_t start[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0 };
	const size_t begin = h->len;
	BUG_IF(!codes[dtype], "NumPy has no %s", dtype_name(dtype));
	buf_add(h, start, sizeof start);
	buf_printf(h, "{'descr': '%s', 'fortran_order': False, 'shape': (", codes[dtype]);
	for (int i = 0; i < n; i++)
		buf_printf(h, "%s%" PRId64 ",", i ? " " : "", extent[i]);
	buf_puts(h, "), }");
	while ((h->len - begin + 1) % 64)
		buf_putc(h, ' ');
	buf_putc(h, '\n');
	h->data[begin + 8] = (char)((h->len - begin - sizeof start) & 0xff);
	h->data[begin + 9] = (char)((h->len - begin - sizeof start) >> 8);
}

void npy_array_header(struct buf *h, enum dtype dtype, const struct shape *s)
{
	put_header(h, dtype, s->nd, s->d);
}

void npy_header(struct buf *h, enum dtype dtype, int64_t samples, const struct shape *s)
{
	int64_t extent[MAXD + 1] = { samples };
	for (int i = 0; i < s->nd; i++)
		extent[i + 1] = s->d[i];
	put_header(h, dtype, s->nd + 1, extent);
}
