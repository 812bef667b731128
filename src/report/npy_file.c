/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dictionary of the header is Python's, in a fixed order. */
#include "report/npy_file.h"

#include <inttypes.h>

/* Format version 1.0: the header's length with its ten leading bytes is a multiple of 64. */
void npy_header(struct buf *h, enum dtype dtype, int64_t samples, const struct shape *s)
{
	uint8_t start[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0 };
	buf_add(h, start, sizeof start);
	buf_printf(h, "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRId64 ",",
	           dtype == DTYPE_I32 ? "<i4" : dtype == DTYPE_U8 ? "|u1" : "<f4", samples);
	for (int i = 0; i < s->nd; i++)
		buf_printf(h, " %" PRId64 ",", s->d[i]);
	buf_puts(h, "), }");
	while ((h->len + 1) % 64)
		buf_putc(h, ' ');
	buf_putc(h, '\n');
	h->data[8] = (char)((h->len - sizeof start) & 0xff);
	h->data[9] = (char)((h->len - sizeof start) >> 8);
}
