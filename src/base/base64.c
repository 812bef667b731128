/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/base64.h"

#include <string.h>

#include "base/buf.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_write(struct buf *out, const uint8_t *p, size_t n)
{
	buf_reserve(out, 4 * (n / 3 + 1));
	for (size_t i = 0; i < n; i += 3) {
		const size_t m = n - i < 3 ? n - i : 3;
		const uint32_t v = (uint32_t)p[i] << 16 | (m > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
		                   (m > 2 ? p[i + 2] : 0);

		buf_putc(out, digits[v >> 18]);
		buf_putc(out, digits[v >> 12 & 63]);
		buf_putc(out, m > 1 ? digits[v >> 6 & 63] : '=');
		buf_putc(out, m > 2 ? digits[v & 63] : '=');
	}
}

bool base64_read(const char *text, uint8_t *out, size_t n)
{
	uint8_t value[256];
	memset(value, 64, sizeof value);
	for (int i = 0; i < 64; i++)
		value[(uint8_t)digits[i]] = (uint8_t)i;
	if (strlen(text) != (n + 2) / 3 * 4)
		return false;
	for (size_t i = 0; i < n; i++) {
		const char *four = text + i / 3 * 4;
		const size_t k = i % 3;
		const uint8_t high = value[(uint8_t)four[k]], low = value[(uint8_t)four[k + 1]];

		if (high > 63 || low > 63)
			return false;
		out[i] = (uint8_t)(high << (2 + 2 * k) | low >> (4 - 2 * k));
	}
	return true;
}
