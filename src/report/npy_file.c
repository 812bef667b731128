/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dictionary of the header is Python's, in a fixed order. */
#include "report/npy_file.h"

#include <inttypes.h>

/* Format version 1.0: the header's length with its ten leading bytes is a multiple of 64. */
int npy_header(struct io_file *f, int64_t samples, const struct shape *s)
{
	struct buf h = BUF_INIT;
	uint8_t start[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0 };
	buf_printf(&h, "{'descr': '<f4', 'fortran_order': False, 'shape': (%" PRId64 ",", samples);
	for (int i = 0; i < s->nd; i++)
		buf_printf(&h, " %" PRId64 ",", s->d[i]);
	buf_puts(&h, "), }");
	while ((h.len + 1 + sizeof start) % 64)
		buf_putc(&h, ' ');
	buf_putc(&h, '\n');
	start[8] = (uint8_t)(h.len & 0xff);
	start[9] = (uint8_t)(h.len >> 8);
	int rc = io_write(f, start, sizeof start);
	if (rc == 0)
		rc = io_write(f, h.data, h.len);
	buf_release(&h);
	return rc;
}
