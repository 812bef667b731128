/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Eight bytes at a time: table[k][b] is the remainder of byte b with k zero bytes after it, for
 * the reflected polynomial 0x82f63b78. Sources of gigabytes are checked by it. */
#include "report/crc32c.h"

#include <pthread.h>

static uint32_t table[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_table(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		table[0][b] = b;
		for (int bit = 0; bit < 8; bit++)
			table[0][b] = table[0][b] >> 1 ^ (table[0][b] & 1 ? 0x82f63b78 : 0);
	}
	for (int k = 1; k < 8; k++)
		for (uint32_t b = 0; b < 256; b++)
			table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

static uint32_t little(const unsigned char *s)
{
	return (uint32_t)s[0] | (uint32_t)s[1] << 8 | (uint32_t)s[2] << 16 | (uint32_t)s[3] << 24;
}

uint32_t crc32c_more(uint32_t crc, const void *p, size_t n)
{
	const unsigned char *s = p;
	crc = ~crc;
	pthread_once(&once, fill_table);
	for (; n >= 8; n -= 8, s += 8) {
		const uint32_t a = crc ^ little(s), b = little(s + 4);

		crc = table[7][a & 255] ^ table[6][a >> 8 & 255] ^ table[5][a >> 16 & 255] ^
		      table[4][a >> 24] ^ table[3][b & 255] ^ table[2][b >> 8 & 255] ^
		      table[1][b >> 16 & 255] ^ table[0][b >> 24];
	}
	for (; n > 0; n--, s++)
		crc = crc >> 8 ^ table[0][(crc ^ *s) & 255];
	return ~crc;
}

uint32_t crc32c(const void *p, size_t n)
{
	return crc32c_more(0, p, n);
}

uint32_t crc32c_mask(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8;
}

uint32_t crc32c_masked(const void *p, size_t n)
{
	return crc32c_mask(crc32c(p, n));
}
