/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Four bits at a time with a table of sixteen words: the texts are short and few. The table is the
 * remainders of the nibbles 0..15 for the reflected polynomial 0x82f63b78. */
#include "report/crc32c.h"

uint32_t crc32c(const void *p, size_t n)
{
	static const uint32_t table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362,
		0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab,
		0xe330a81a, 0xf36e6f75,
	};
	const unsigned char *s = p;
	uint32_t crc = 0xffffffff;

	for (size_t i = 0; i < n; i++) {
		crc ^= s[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return ~crc;
}

uint32_t crc32c_masked(const void *p, size_t n)
{
	uint32_t crc = crc32c(p, n);

	return (crc >> 15 | crc << 17) + 0xa282ead8;
}
