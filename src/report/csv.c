/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/csv.h"

#include <string.h>

void csv_text(struct buf *b, const char *text)
{
	if (!strpbrk(text, ",\"\n\r")) {
		buf_puts(b, text);
		return;
	}
	buf_putc(b, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_putc(b, '"');
		buf_putc(b, *text);
	}
	buf_putc(b, '"');
}
